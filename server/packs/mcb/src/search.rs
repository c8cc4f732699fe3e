//! Searching observations by words and by meaning.

use tabellion_contracts::mcb::{
    MemoryHit, MemoryHits, SearchCodeRequest, SearchCodeResponse, SearchRequest, SearchTool, tool,
};
use tabellion_runtime::{ReadCx, Rows, rows::RowError};

use super::{
    call::Call,
    code::{find, refuse_token},
    entries::{Kind, Selection},
    index::{MemoryIndex, MemoryQuery, RANKING, ranking},
    state::{Memory, methods},
    values::{folded, invalid, picked, typed},
};

/// Type of the observations with a separate resource, and that resource.
const CONTEXT: &str = "context";

/// The observations to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Everything,
    /// Those of the type `context`.
    Context,
}

pub(super) async fn search(
    cx: &ReadCx<'_, Rows>,
    index: &dyn MemoryIndex,
    among: Among,
    req: SearchRequest,
) -> Result<MemoryHits, RowError> {
    refuse_token(req.token.as_ref())?;
    let call = Call::from_context(cx);
    let mut selection = Selection::new(Kind::Observation);
    selection.tags = req.tags.unwrap_or_default();
    selection.session_id = req.session_id;
    if among == Among::Context {
        selection.observation_types = vec![CONTEXT.into()];
    }
    let mut query = MemoryQuery::new(&call, &selection, req.query, req.limit);
    query.min_score = req.min_score.unwrap_or_default();
    let mut contradicts = false;
    for (at, filter) in req.filters.iter().flatten().enumerate() {
        contradicts |= !narrow(&mut query, filter)
            .ok_or_else(|| invalid("filter", &format!("/filters/{at}"), "must be `field:value`"))?;
    }
    let found = if contradicts { Default::default() } else { index.search(&query).await? };
    let mut results: Vec<MemoryHit> = vec![];
    for hit in found.hits {
        // Rows removed since the index was read are left out.
        let Some(row) = call.get(selection.kind.entity(), &hit.id).await? else {
            continue;
        };
        let fields = [
            "project_id",
            "content",
            "observation_type",
            "tags",
            "session_id",
            "repo_id",
            "file_path",
            "branch",
            "commit",
            "created_at",
            "provenance",
        ];
        let mut answer = picked(&row, &fields);
        answer.insert("observation_id".into(), row["id"].clone());
        answer.insert("similarity_score".into(), hit.score.into());
        results.push(typed(answer)?);
    }
    cx.note(RANKING, ranking(found.by_meaning));
    Ok(MemoryHits {
        query: query.text,
        resource: match among {
            // The resource has the name of a tool.
            Among::Everything => tool::MEMORY.into(),
            Among::Context => CONTEXT.into(),
        },
        count: results.len() as i64,
        total: found.total as i64,
        results,
    })
}

/// Adds a filter `field:value` to a query. Returns false if no row can pass it and the earlier ones; `None` if its form is not the one
/// that the contract demands.
fn narrow(query: &mut MemoryQuery, filter: &str) -> Option<bool> {
    let (field, value) = filter.split_once(':')?;
    let value = value.trim();
    Some(match field.trim() {
        // The field has the name of a tool.
        "project" => agrees(&mut query.project_id, value),
        "type" => {
            let word = folded(value);
            let passes = query.types.is_empty() || query.types.contains(&word);
            query.types = vec![word];
            passes
        }
        "file" => agrees(&mut query.file_path, value),
        "branch" => agrees(&mut query.branch, value),
        "repo" => agrees(&mut query.repo_id, value),
        "since" => {
            query.since = query.since.max(Some(value.parse().ok()?));
            true
        }
        "until" => {
            let time = value.parse().ok()?;
            query.until = Some(query.until.map_or(time, |until| until.min(time)));
            true
        }
        _ => return None,
    })
}

/// Sets the required value of a field. Returns false if a different value was required before.
fn agrees(asked: &mut Option<String>, value: &str) -> bool {
    asked.get_or_insert_with(|| value.into()) == value
}

impl SearchTool for Memory {
    methods! { ReadCx -> Answer:
        search_code(SearchCodeRequest) -> SearchCodeResponse =
            |memory, cx, req| find::code(cx, &memory.code, req);
        search_memory(SearchRequest) -> MemoryHits =
            |memory, cx, req| search(cx, &*memory.index, Among::Everything, req);
        search_context(SearchRequest) -> MemoryHits =
            |memory, cx, req| search(cx, &*memory.index, Among::Context, req);
    }
}
