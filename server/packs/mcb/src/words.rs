//! The index of words next to the rows: its documents, and its updates from the log.

use std::{
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
};

use serde_json::Value;
use tabellion_meaning::Meaning;
use tabellion_platform::blocking;
use tabellion_records::{FollowedRow, Records};
use tabellion_retrieval::{
    Change, Changes, Document, Facet, Filters, Index, IndexError, Nearness, Search, Source, SourceError, Text,
};
use tabellion_runtime::{BoxFuture, Failure, FailureKind, Row, text::composed};
use tabellion_sqlite::unwritable;

use super::{
    code::{COLLECTION, Collections},
    entries::{ERROR_PATTERN, Entry, Kind},
    index::{MemoryIndex, MemoryQuery, QueryResult},
    observations::OBSERVATION,
    summaries::SESSION_SUMMARY,
    values::{text, texts},
};

/// Version of the conversion of rows to documents. A new name has the index rebuilt.
pub(super) const RECIPE: &str = "memory 4";
/// Name of the file, next to that of the rows.
const FILE: &str = "mcb-words.db";
/// Maximum number of log entries in one transaction of the index.
const MAX_ENTRIES: u32 = 1000;
/// The entities with searchable rows.
pub(super) const ENTITIES: [&str; 3] = [OBSERVATION, ERROR_PATTERN, SESSION_SUMMARY];

/// Names of facets.
const ORG: &str = "org";
const ENTITY: &str = "of";
const TYPE: &str = "type";
const TAG: &str = "tag";
const PROJECT_ID: &str = "project_id";
const REPO_ID: &str = "repo_id";
const SESSION_ID: &str = "session_id";
const FILE_PATH: &str = "file_path";
const BRANCH: &str = "branch";

/// Weight of the words of a pattern's signature, compared with those of its description.
const OF_SIGNATURE: u32 = 2;

/// The index of the rows in a data folder. The first search opens it, so rows can be served even if no file can be created.
pub(super) struct Words {
    pub(super) path: PathBuf,
    index: OnceLock<Index>,
    pub(super) rows: Rows,
    pub(super) meaning: Arc<Meaning>,
    /// The last change that the embedding thread was notified of.
    embedded: AtomicI64,
}

/// The rows, as the source of an index.
pub(super) struct Rows(pub(super) Arc<Records>);

impl Words {
    /// Returns the index of `records`, whose vectors are in `meaning`.
    pub(super) fn new(records: Arc<Records>, meaning: Arc<Meaning>) -> Self {
        Self {
            path: records.beside(FILE),
            index: OnceLock::new(),
            rows: Rows(records),
            meaning,
            embedded: AtomicI64::new(0),
        }
    }

    /// Returns the index, opened. A missing one is filled by its first search.
    pub(super) fn index(&self) -> Result<&Index, IndexError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        if !self.path.exists() {
            self.begin_with_shared();
        }
        let opened = Index::open(&self.path, RECIPE)?;
        Ok(self.index.get_or_init(|| opened))
    }
}

impl MemoryIndex for Words {
    fn search<'a>(&'a self, query: &'a MemoryQuery) -> BoxFuture<'a, Result<QueryResult, Failure>> {
        Box::pin(async move {
            let needed = self.rows.0.end()?;
            let search = asked(query);
            if self.embedded.swap(needed, Ordering::Relaxed) != needed {
                self.meaning.wake();
            }
            let hits = blocking(|| {
                let index = self.index()?;
                let near = |near: Option<&dyn Nearness>| index.search_near(&self.rows, needed, &search, near);
                self.meaning.near(&search.query, near)
            });
            let mut found = hits.map_err(failure)?;
            for hit in &mut found.hits {
                hit.id = row_id(&hit.id);
            }
            Ok(found)
        })
    }

    fn expect(&self) {
        self.meaning.wake();
    }
}

/// Returns the failure for the client: the path of the index is only logged, and so is the cause unless the client can have it mended.
pub(super) fn failure(error: IndexError) -> Failure {
    let failure = match error {
        IndexError::Busy => Failure::busy(error.to_string()),
        _ => {
            tracing::error!(%error, "the index of words can't be used");
            let reason = unwritable(&error).unwrap_or("the server's log says why");
            let message = format!(
                "the words can't be searched now: {reason}. `get`, and `list` without a query, need no index"
            );
            Failure::new(FailureKind::Io, message)
        }
    };
    failure.with_source(error)
}

fn asked(query: &MemoryQuery) -> Search {
    let mut filters = Filters::default().with(ORG, &query.org).with(ENTITY, query.entity);
    let given = [
        (PROJECT_ID, &query.project_id),
        (REPO_ID, &query.repo_id),
        (SESSION_ID, &query.session_id),
        (FILE_PATH, &query.file_path),
        (BRANCH, &query.branch),
    ];
    for (facet, value) in given {
        if let Some(value) = value {
            filters = filters.with(facet, &composed(value));
        }
    }
    for tag in &query.tags {
        filters = filters.with(TAG, &composed(tag));
    }
    if !query.types.is_empty() {
        filters = filters.with_any(TYPE, query.types.iter().map(String::as_str));
    }
    (filters.since, filters.until) = (query.since, query.until);
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    Search::new(query.text.as_str(), limit).filtered(filters).at_least(query.min_score)
}

impl Collections for Rows {
    fn all(&self) -> Result<Vec<Row>, Failure> {
        let entity = self.0.spec().entity(COLLECTION);
        entity.map_or(Ok(vec![]), |entity| self.0.page(entity, None, i64::MAX as u64))
    }
}

impl Source for Rows {
    fn changes(&self, after: i64) -> Result<Changes, SourceError> {
        let followed = self.0.follow(after, MAX_ENTRIES, &ENTITIES)?;
        Ok(Changes { changes: followed.rows.iter().map(change).collect(), to: followed.to })
    }

    fn mark(&self, at: i64) -> Result<Option<String>, SourceError> {
        Ok(self.0.entry_id(at)?)
    }
}

fn change(followed: &FollowedRow) -> Change {
    let id = document_id(followed.entity.name, &followed.key);
    match &followed.row {
        Some(row) => Change::Put(document(id, followed.entity.name, row)),
        None => Change::Remove(id),
    }
}

/// Returns the id of a row's document. Names of entities and ids of rows have no `/`.
pub(super) fn document_id(entity: &str, key: &[Value]) -> String {
    let parts = key.iter().map(|part| part.as_str().unwrap_or_default());
    [entity].into_iter().chain(parts).collect::<Vec<_>>().join("/")
}

fn row_id(document: &str) -> String {
    let id = document.rsplit('/').next();
    id.unwrap_or_default().to_owned()
}

pub(super) fn document(id: String, entity: &'static str, row: &Row) -> Document {
    let kind = match entity {
        ERROR_PATTERN => Kind::ErrorPattern,
        SESSION_SUMMARY => Kind::Session,
        _ => Kind::Observation,
    };
    let entry = kind.entry(row);
    let org = text(row, "org_id").unwrap_or_default();
    Document {
        id,
        texts: searched(kind, &entry, row),
        meaning: Some(compared(kind, &entry, row)),
        owner: org.into(),
        facets: facets(entity, org, &entry, row),
        group: group(entity, org, &entry),
        time: Some(entry.at.time),
        seq: entry.at.seq,
    }
}

/// Returns the searchable texts of an entry.
fn searched(kind: Kind, entry: &Entry, row: &Row) -> Vec<Text> {
    let mut found = match kind {
        Kind::ErrorPattern => {
            let part = |field| text(row, field).unwrap_or_default();
            let mut parts = vec![
                Text::weighted(part("pattern_signature"), OF_SIGNATURE),
                Text::plain(part("description")),
            ];
            let lists = ["solutions", "affected_files"].into_iter().flat_map(|field| texts(row, field));
            parts.extend(lists.map(Text::plain));
            parts
        }
        _ => vec![Text::plain(entry.content.as_str())],
    };
    found.extend(entry.tags.iter().chain(&entry.file_path).map(Text::plain));
    found
}

/// Returns the text that is compared with the meaning of a query: sentences, without tags and names of files.
fn compared(kind: Kind, entry: &Entry, row: &Row) -> String {
    match kind {
        Kind::ErrorPattern => {
            let fields = ["pattern_signature", "description"];
            let said = fields.into_iter().filter_map(|field| text(row, field));
            let said = said.map(String::from);
            said.chain(texts(row, "solutions")).collect::<Vec<_>>().join(". ")
        }
        _ => entry.content.clone(),
    }
}

fn facets(entity: &str, org: &str, entry: &Entry, row: &Row) -> Vec<Facet> {
    let branch = text(row, "branch");
    let place = [
        (PROJECT_ID, entry.project_id.as_deref()),
        (REPO_ID, entry.repo_id.as_deref()),
        (SESSION_ID, entry.session_id.as_deref()),
        (FILE_PATH, entry.file_path.as_deref()),
        (BRANCH, branch),
    ];
    let own = [(ORG, org), (ENTITY, entity), (TYPE, entry.word.as_str())];
    let place = place.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let tags = entry.tags.iter().map(|tag| (TAG, tag.as_str()));
    let all = own.into_iter().chain(place).chain(tags);
    all.map(|(name, value)| Facet::new(name, &*composed(value))).collect()
}

/// Returns the name of an entry's group: the entries of its session, which were written one after the other.
fn group(entity: &str, org: &str, entry: &Entry) -> Option<String> {
    let session = entry.session_id.as_deref()?;
    let project = entry.project_id.as_deref().unwrap_or_default();
    Some([org, entity, project, session].join("\n"))
}
