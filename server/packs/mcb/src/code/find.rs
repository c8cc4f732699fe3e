//! Searching code.

use std::{collections::HashMap, path::Path};

use data_encoding::HEXLOWER;
use tabellion_code::{CodeError, CodeFilters, CodeQuery, State, unquoted};
use tabellion_contracts::mcb::{CodeHit, CodeHits, SearchCodeRequest};
use tabellion_platform::blocking;
use tabellion_runtime::{ReadCx, Row, Rows, rows::RowError};

use super::{
    super::{
        call::Call,
        index::{RANKING, ranking},
        values::{invalid, text},
    },
    COLLECTION, Indexer, NAME, PATH, PROJECT_ID, collection, collections, is_same_name, refuse_token,
    unusable, within,
};

/// `_meta` key of an answer: names of collections that are not complete. Hits in their other files can be missing.
const INDEXING: &str = "tabellion/indexing";

/// The resource that is searched.
const CODE: &str = "code";

pub(in super::super) async fn code(
    cx: &ReadCx<'_, Rows>,
    indexer: &Indexer,
    req: SearchCodeRequest,
) -> Result<CodeHits, RowError> {
    refuse_token(req.token.as_ref())?;
    let call = Call::from_context(cx);
    let mut rows = match &req.collection {
        Some(name) => vec![collection(&call, indexer, name).await?],
        None => collections(&call, indexer).await?,
    };
    let mut warnings = vec![rows.is_empty().then(|| {
        let project = call.provenance.text(PROJECT_ID).unwrap_or_default();
        format!(
            "no code of the project `{project}` is indexed; begin with `index`, `action: start` and a `path`"
        )
    })];
    let mut filters = CodeFilters::default();
    filters.extensions(&req.extensions.unwrap_or_default());
    for (at, filter) in req.filters.iter().flatten().enumerate() {
        let wrong = |message: String| invalid("filter", &format!("/filters/{at}"), message);
        let (field, value) = filter.split_once(':').ok_or_else(|| wrong("must be `field:value`".into()))?;
        let (field, value) = (field.trim(), value.trim());
        if field == COLLECTION {
            collection(&call, indexer, value).await?;
            rows.retain(|row| text(row, NAME).is_some_and(|name| is_same_name(name, value)));
            continue;
        }
        let mut value = value;
        if field == PATH && Path::new(value).is_absolute() {
            let path = value;
            let within = |row: &Row| within(path, text(row, PATH)?);
            // The innermost of nested folders.
            let relative = rows.iter().filter_map(within).min_by_key(|path| path.len());
            value =
                relative.ok_or_else(|| wrong(format!("`{path}` is in no collection that is searched")))?;
            rows.retain(|row| within(row) == Some(value));
        }
        filters.add(field, value).map_err(|error| wrong(error.to_string()))?;
    }
    let names: HashMap<&str, &str> =
        rows.iter().filter_map(|row| Some((text(row, "id")?, text(row, NAME)?))).collect();
    let mut query = CodeQuery {
        text: req.query.clone(),
        collections: rows.iter().filter_map(|row| text(row, "id").map(String::from)).collect(),
        filters,
        limit: usize::try_from(req.limit).unwrap_or(usize::MAX),
        min_score: req.min_score.unwrap_or_default(),
    };
    let search = |query: &CodeQuery| {
        if query.collections.is_empty() {
            return Ok(tabellion_code::CodeHits::default());
        }
        blocking(|| indexer.search(query)).map_err(|error| match error {
            CodeError::Filter(message) => invalid("filter", "/filters", message),
            error => RowError::from(unusable(error)),
        })
    };
    let mut found = search(&query)?;
    if let (0, Some(plain)) = (found.total, unquoted(&req.query)) {
        query.text = plain;
        found = search(&query)?;
        warnings.push((found.total > 0).then(|| {
            "no chunk has what is in quotes or backticks as it stands; the hits are for its words".to_owned()
        }));
    }
    let results: Vec<CodeHit> = found
        .hits
        .into_iter()
        .map(|hit| CodeHit {
            collection: names.get(hit.collection.as_str()).copied().unwrap_or_default().to_owned(),
            file_path: hit.path,
            start_line: hit.start_line.into(),
            end_line: hit.end_line.into(),
            language: hit.language,
            kind: hit.kind,
            symbol: hit.symbol,
            branch: (!hit.branch.is_empty()).then_some(hit.branch),
            blob: Some(HEXLOWER.encode(&hit.blob)),
            content: hit.content,
            score: hit.score,
        })
        .collect();
    cx.note(RANKING, ranking(found.by_meaning));
    let mut unfinished = vec![];
    for row in &rows {
        let (state, status) = blocking(|| indexer.standing(row)).map_err(unusable)?;
        let name = text(row, NAME).unwrap_or_default();
        match state {
            State::Indexing | State::Interrupted => unfinished.push(name),
            State::Failed => {
                let error = status.and_then(|status| status.error).unwrap_or_default();
                warnings.push(Some(format!(
                    "the last run of the collection `{name}` failed, so hits are missing or old: {error}; index it again"
                )));
            }
            State::Idle => {
                let is_empty = status.is_some_and(|status| status.files_total == 0);
                warnings.push(is_empty.then(|| {
                    format!(
                        "the collection `{name}` has no files; check the `path` and `extensions` of its run"
                    )
                }));
            }
        }
    }
    if found.total == 0 {
        let mut fields: Vec<_> = req
            .filters
            .iter()
            .flatten()
            .filter_map(|filter| Some(filter.split_once(':')?.0.trim()))
            .chain(req.collection.as_ref().map(|_| COLLECTION))
            .collect();
        fields.sort_unstable();
        let twice = fields.windows(2).find(|pair| pair[0] == pair[1]);
        warnings.push(twice.map(|pair| {
            format!("all filters must hold, and no hit passes each of `{}`; search once for each", pair[0])
        }));
    }
    if !unfinished.is_empty() {
        cx.note(INDEXING, unfinished);
    }
    cx.warn(warnings);
    Ok(CodeHits {
        query: req.query,
        resource: CODE.into(),
        count: results.len() as u64,
        total: found.total as u64,
        results,
    })
}
