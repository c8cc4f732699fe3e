//! Lists: the best matches of a query, or the newest entries.

use std::ops::ControlFlow;

use tabellion_contracts::mcb::{
    ListRequest, Listed, ListedPattern, Listing, MemoryListErrorPatternRequest, MemoryListSessionRequest,
    PatternListing,
};
use tabellion_runtime::{
    ReadCx, Rows,
    rows::{Order, RowError},
};

use super::{
    call::Call,
    entries::{Entry, Kind, Selection},
    index::{MemoryIndex, MemoryQuery, QueryResult},
    walk::Walk,
};

/// Hint in a list: the tools that read more.
const HINT: &str =
    "previews are cut; `get` reads whole entries by their ids, and `timeline` what came before and after one";

/// Request for a list.
pub(super) struct ListQuery {
    selection: Selection,
    query: Option<String>,
    limit: u64,
}

impl ListQuery {
    pub(super) fn new(kind: Kind, req: ListRequest) -> Self {
        Self {
            selection: Selection {
                tags: req.tags.unwrap_or_default(),
                ..Selection::in_place(kind, [req.project_id, req.repo_id, req.session_id])
            },
            query: req.query,
            limit: req.limit,
        }
    }
}

impl From<MemoryListErrorPatternRequest> for ListQuery {
    fn from(req: MemoryListErrorPatternRequest) -> Self {
        Self {
            selection: Selection {
                project_id: req.project_id,
                tags: req.tags.unwrap_or_default(),
                ..Selection::new(Kind::ErrorPattern)
            },
            query: req.query,
            limit: req.limit,
        }
    }
}

impl From<MemoryListSessionRequest> for ListQuery {
    fn from(req: MemoryListSessionRequest) -> Self {
        Self {
            selection: Selection::in_place(Kind::Session, [req.project_id, req.repo_id, req.session_id]),
            query: req.query,
            limit: req.limit,
        }
    }
}

pub(super) async fn list(
    cx: &ReadCx<'_, Rows>,
    index: &dyn MemoryIndex,
    asked: ListQuery,
) -> Result<Listing, RowError> {
    let (ranked, total) = rank(&Call::from_context(cx), index, &asked).await?;
    let results = ranked.into_iter().map(|(entry, score)| Listed {
        content_preview: entry.preview(),
        id: entry.id,
        observation_type: entry.word,
        relevance_score: score,
        tags: entry.tags,
        session_id: entry.session_id,
        repo_id: entry.repo_id,
        file_path: entry.file_path,
        created_at: entry.at.time,
        seq: entry.at.seq,
    });
    let results: Vec<_> = results.collect();
    Ok(Listing { query: asked.query, count: results.len() as i64, total, hint: HINT.into(), results })
}

pub(super) async fn list_patterns(
    cx: &ReadCx<'_, Rows>,
    index: &dyn MemoryIndex,
    asked: ListQuery,
) -> Result<PatternListing, RowError> {
    let (ranked, total) = rank(&Call::from_context(cx), index, &asked).await?;
    let results = ranked.into_iter().map(|(entry, score)| ListedPattern {
        content_preview: entry.preview(),
        id: entry.id,
        observation_type: entry.word,
        relevance_score: score,
        tags: entry.tags,
        session_id: entry.session_id,
        repo_id: entry.repo_id,
        file_path: entry.file_path,
        created_at: entry.at.time,
        seq: entry.at.seq,
        category: entry.category.unwrap_or_default(),
        occurrence_count: entry.occurrences.unwrap_or_default(),
    });
    let results: Vec<_> = results.collect();
    Ok(PatternListing { query: asked.query, count: results.len() as i64, total, hint: HINT.into(), results })
}

/// Returns the entries of a list with their scores, and the total number of matches.
async fn rank(
    call: &Call<'_>,
    index: &dyn MemoryIndex,
    asked: &ListQuery,
) -> Result<(Vec<(Entry, f64)>, i64), RowError> {
    let Some(text) = &asked.query else {
        return newest(call, &asked.selection, asked.limit).await;
    };
    let query = MemoryQuery::new(call, &asked.selection, text.clone(), asked.limit);
    let found = index.search(&query).await?;
    let total = found.total as i64;
    Ok((read(call, &asked.selection, found).await?, total))
}

/// Reads the entries that were found. Rows that no longer match the index are left out.
pub(super) async fn read(
    call: &Call<'_>,
    selection: &Selection,
    found: QueryResult,
) -> Result<Vec<(Entry, f64)>, RowError> {
    let mut entries = vec![];
    for hit in found.hits {
        let row = call.get(selection.kind.entity(), &hit.id).await?;
        let entry = row.map(|row| selection.kind.entry(&row));
        if let Some(entry) = entry.filter(|entry| selection.passes(entry)) {
            entries.push((entry, hit.score));
        }
    }
    Ok(entries)
}

async fn newest(
    call: &Call<'_>,
    selection: &Selection,
    limit: u64,
) -> Result<(Vec<(Entry, f64)>, i64), RowError> {
    let counted = if selection.is_of_fields() { Some(call.count(selection.select()?).await?) } else { None };
    let (mut entries, mut seen) = (vec![], 0);
    let walk = Walk {
        call,
        selection,
        from: None,
        order: Order::Down,
        // If the total is counted on the way, all entries are read.
        wanted: counted.map_or(u64::MAX, |_| limit),
    };
    let take = |entry| {
        seen += 1;
        if seen <= limit {
            entries.push((entry, 1.0));
        }
        match counted {
            Some(_) if seen >= limit => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    walk.run(take).await?;
    Ok((entries, counted.unwrap_or(seen) as i64))
}
