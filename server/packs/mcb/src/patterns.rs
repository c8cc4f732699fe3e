//! Patterns of errors: the same signature in a project is one pattern, with a count of its occurrences.

use tabellion_contracts::mcb::{
    MemoryGetErrorPatternRequest, MemoryGetErrorPatternResponse, MemoryStoreErrorPatternRequest,
    MemoryStoreErrorPatternResponse,
};
use tabellion_runtime::{
    ReadCx, Row, Rows, Staged, WriteCx,
    rows::{Filter, Order, RowError, Select},
};

use super::{
    call::{Call, entity, stage},
    entries::{ERROR_PATTERN, Kind, Selection, spellings},
    index::{MemoryIndex, MemoryQuery},
    observations::{is_named, set_place},
    values::{fold, integer, invalid, joined, picked, required, texts, typed, without_nulls},
};

/// The lists that grow with each occurrence.
const JOINED: [&str; 3] = ["solutions", "affected_files", "tags"];
/// Maximum number of texts in each of these lists.
const MAX_JOINED: usize = 1000;
/// Number of patterns that are read by default.
const DEFAULT_LIMIT: u64 = 10;
/// Maximum number of ids in a request.
const MAX_IDS: u64 = 100;

pub(super) async fn store(
    cx: &WriteCx<'_, Rows>,
    req: MemoryStoreErrorPatternRequest,
) -> Result<Staged<MemoryStoreErrorPatternResponse, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut data = without_nulls(req.data);
    fold(&mut data, "category");
    set_place(&call, &mut data, [req.project_id, req.repo_id, req.session_id]).await?;
    // Repository and session of the last occurrence are in the provenance.
    let (repo, session) = (data.shift_remove("repo_id"), data.shift_remove("session_id"));
    let mut provenance = call.provenance.to_value();
    for (field, value) in [("repo_id", repo), ("session_id", session)] {
        if let Some(value) = value {
            provenance[field] = value;
        }
    }
    data.insert("provenance".into(), provenance);
    data.insert("last_seen_at".into(), call.now().into());
    let mut plan = call.plan();
    let patterns = entity(ERROR_PATTERN)?;
    let mut same = Select::new(patterns, vec![Filter::is("project_id", required(&data, "project_id")?)]);
    let spelled = spellings(required(&data, "pattern_signature")?).into_iter();
    same.any.push(spelled.map(|text| Filter::is("pattern_signature", text)).collect());
    let earlier = plan.select(same).await?.pop();
    let is_again = earlier.is_some();
    let row = match earlier {
        Some(earlier) => {
            let set = occurred(&earlier, data)?;
            plan.update(patterns, &[earlier["id"].clone()], set).await?
        }
        None => {
            data.insert("first_seen_at".into(), call.now().into());
            for field in JOINED {
                data.insert(field.into(), joined(texts(&data, field), vec![]).into());
            }
            plan.create(patterns, data).await?
        }
    };
    let answer = MemoryStoreErrorPatternResponse {
        id: required(&row, "id")?.into(),
        occurrence_count: integer(&row, "occurrence_count").unwrap_or_default(),
        deduplicated: is_again,
    };
    let operation = if is_again { "count" } else { "create" };
    stage(cx, plan, operation, (ERROR_PATTERN, &row), answer)
}

/// Returns the fields that another occurrence sets: the newest description, a count, and lists with the new items added.
fn occurred(earlier: &Row, mut data: Row) -> Result<Row, RowError> {
    // The signature is fixed, and may be spelled with decomposed letters in one of the two.
    data.shift_remove("pattern_signature");
    let count = integer(earlier, "occurrence_count").unwrap_or_default();
    data.insert("occurrence_count".into(), (count + 1).into());
    for field in JOINED {
        let all = joined(texts(earlier, field), texts(&data, field));
        if all.len() > MAX_JOINED {
            let message = format!("this pattern would have more than {MAX_JOINED} {field}; leave some out");
            return Err(invalid("value", &format!("/data/{field}"), message));
        }
        data.insert(field.into(), all.into());
    }
    Ok(data)
}

pub(super) async fn get(
    cx: &ReadCx<'_, Rows>,
    index: &dyn MemoryIndex,
    req: MemoryGetErrorPatternRequest,
) -> Result<MemoryGetErrorPatternResponse, RowError> {
    const FIELDS: [&str; 13] = [
        "id",
        "project_id",
        "pattern_signature",
        "description",
        "category",
        "solutions",
        "affected_files",
        "tags",
        "occurrence_count",
        "first_seen_at",
        "last_seen_at",
        "provenance",
        "seq",
    ];
    let call = Call::from_context(cx);
    let project = req.project_id;
    let limit = req.limit.unwrap_or(if req.ids.is_some() { MAX_IDS } else { DEFAULT_LIMIT });
    let (mut rows, mut missing) = (vec![], vec![]);
    if let Some(ids) = req.ids {
        for id in joined(ids, vec![]) {
            let row = call.get(ERROR_PATTERN, &id).await?;
            match row.filter(|row| is_named(row, "project_id", project.as_deref())) {
                Some(row) => rows.push(row),
                None => missing.push(id),
            }
        }
        rows.truncate(limit as usize);
    } else if let Some(query) = req.query {
        let selection = Selection { project_id: project, ..Selection::new(Kind::ErrorPattern) };
        let found = index.search(&MemoryQuery::new(&call, &selection, query, limit)).await?;
        for hit in found.hits {
            rows.extend(call.get(ERROR_PATTERN, &hit.id).await?);
        }
    } else {
        let filters = project.map(|project| Filter::is("project_id", project));
        let order = vec![("last_seen_at", Order::Down), ("seq", Order::Down)];
        let filters = filters.into_iter().collect();
        rows = call.select(ERROR_PATTERN, filters, order, limit).await?;
    }
    let patterns = rows.iter().map(|row| typed(picked(row, &FIELDS))).collect::<Result<Vec<_>, _>>()?;
    Ok(MemoryGetErrorPatternResponse { count: patterns.len() as i64, missing, patterns })
}
