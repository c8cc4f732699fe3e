//! Indexed collections, and the progress of runs.

use tabellion_code::State;
use tabellion_contracts::mcb::{
    IndexState, IndexStatusRequest, IndexStatusResponse, IndexedCollection, UnindexedFile,
};
use tabellion_platform::blocking;
use tabellion_runtime::{ReadCx, Row, Rows, rows::RowError};

use super::{
    super::{
        call::Call,
        values::{integer, text, typed},
    },
    Indexer, NAME, OPERATION_ID, PATH, collection, collections, refuse_token,
    trees::request,
    unusable,
};

pub(in super::super) async fn status(
    cx: &ReadCx<'_, Rows>,
    indexer: &Indexer,
    req: IndexStatusRequest,
) -> Result<IndexStatusResponse, RowError> {
    refuse_token(req.token.as_ref())?;
    let call = Call::from_context(cx);
    let rows = match &req.collection {
        Some(name) => vec![collection(&call, indexer, name).await?],
        None => collections(&call, indexer).await?,
    };
    let told: Vec<IndexedCollection> = rows.iter().map(|row| told(indexer, row)).collect::<Result<_, _>>()?;
    Ok(IndexStatusResponse { count: told.len() as u64, collections: told })
}

fn told(indexer: &Indexer, row: &Row) -> Result<IndexedCollection, RowError> {
    let field = |field: &str| text(row, field).unwrap_or_default().to_owned();
    let (state, status) = blocking(|| indexer.standing(row)).map_err(unusable)?;
    let vectors = blocking(|| indexer.vectors(&field("id"))).map_err(unusable)?;
    let request = request(row).unwrap_or_default();
    let failed = status.iter().flat_map(|status| &status.failures);
    let failures = failed.map(|failed| UnindexedFile {
        path: failed.path.clone(),
        branch: (!failed.branch.is_empty()).then(|| failed.branch.clone()),
        reason: failed.reason.clone(),
    });
    let count = |of: fn(&tabellion_code::Status) -> u64| status.as_ref().map_or(0, of);
    Ok(IndexedCollection {
        collection: field(NAME),
        path: field(PATH),
        kind: typed([("kind".to_owned(), row["kind"].clone())].into_iter().collect())
            .map(|kind: Kind| kind.kind)?,
        branches: request.branches,
        extensions: request.extensions,
        exclude_dirs: request.exclude_dirs,
        ignore_patterns: request.ignore_patterns,
        state: match state {
            State::Idle => IndexState::Idle,
            State::Indexing => IndexState::Indexing,
            State::Failed => IndexState::Failed,
            State::Interrupted => IndexState::Interrupted,
        },
        operation_id: field(OPERATION_ID),
        files_total: count(|status| status.files_total),
        files_done: count(|status| status.files_done),
        files_failed: count(|status| status.files_failed),
        failures: failures.collect(),
        files_left_out: count(|status| status.files_left_out),
        chunks: count(|status| status.chunks),
        // The index may have progressed since the chunks were counted.
        vectors_done: count(|status| status.chunks).min(vectors as u64),
        started_at: status
            .as_ref()
            .map_or(integer(row, "started_at").unwrap_or_default(), |status| status.started_at),
        finished_at: status.as_ref().and_then(|status| status.finished_at),
        error: match state {
            State::Interrupted => Some(format!(
                "`{}` is not in a workspace of this server: a server that may read it goes on; `index start` with a folder of this machine \
                 indexes that one",
                field(PATH)
            )),
            _ => status.and_then(|status| status.error),
        },
    })
}

#[derive(serde::Deserialize)]
struct Kind {
    kind: tabellion_contracts::mcb::CollectionKind,
}
