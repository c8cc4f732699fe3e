//! Observations that agents store. Repeated content of the same type and project is counted instead of added.

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tabellion_contracts::mcb::{
    MemoryGetObservationRequest, MemoryGetObservationResponse, MemoryStoreObservationRequest,
    StoredObservation,
};
use tabellion_runtime::{
    ReadCx, Row, Rows, Staged, WriteCx,
    rows::{Filter, Plan, RowError, Select},
};

use super::{
    bound::fall_back_to_session,
    call::{Call, entity, stage},
    values::{fall_back, fold, integer, join, joined, picked, required, text, texts, typed, without_nulls},
};

/// Name of the entity.
pub(super) const OBSERVATION: &str = "observation";

/// The fields of an observation that answers contain.
pub(super) const FIELDS: [&str; 16] = [
    "id",
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
    "seq",
    "content_hash",
    "times_seen",
    "last_seen_at",
    "provenance",
];

/// The subject of an observation: fields that keep equal texts apart.
const ABOUT: [&str; 3] = ["file_path", "branch", "commit"];

/// The fields of a row that say where it was made.
pub(super) const PLACE: [&str; 3] = ["project_id", "repo_id", "session_id"];

/// Sets project, repository and session of a row: from the arguments, or else the data, or else the session that these name, or else the
/// call's provenance.
///
/// # Errors
/// If an argument and the data differ, or there is no project.
pub(super) async fn set_place(
    call: &Call<'_>,
    data: &mut Row,
    arguments: [Option<String>; 3],
) -> Result<(), RowError> {
    for (field, argument) in PLACE.into_iter().zip(arguments) {
        join(data, field, argument)?;
    }
    if let Some(session) = text(data, "session_id").map(String::from) {
        fall_back_to_session(call, data, &session).await?;
    }
    for field in PLACE {
        fall_back(data, field, &call.provenance);
    }
    required(data, "project_id")?;
    Ok(())
}

pub(super) async fn store(
    cx: &WriteCx<'_, Rows>,
    req: MemoryStoreObservationRequest,
) -> Result<Staged<StoredObservation, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut data = without_nulls(req.data);
    fold(&mut data, "observation_type");
    set_place(&call, &mut data, [req.project_id, req.repo_id, req.session_id]).await?;
    let hash = content_hash(required(&data, "content")?);
    data.insert("content_hash".into(), hash.into());
    let mut plan = call.plan();
    let earlier = same(&plan, &data).await?;
    let is_again = earlier.is_some();
    let row = match earlier {
        Some(earlier) => count(&call, &mut plan, &earlier, texts(&data, "tags")).await?,
        None => add(&call, &mut plan, data).await?,
    };
    let answer = StoredObservation { observation_id: required(&row, "id")?.into(), deduplicated: is_again };
    let operation = if is_again { "count" } else { "create" };
    stage(cx, plan, operation, (OBSERVATION, &row), answer)
}

/// Returns the oldest observation with the content, type and project of `data`, and with the file, branch and commit that `data` names,
/// if there is one.
async fn same(plan: &Plan<'_>, data: &Row) -> Result<Option<Row>, RowError> {
    let fields = ["project_id", "observation_type", "content_hash"];
    let filters = fields.map(|field| Filter::is(field, data.get(field).cloned().unwrap_or_default()));
    // Only runs have several equal ones. With a limit, the database would scan all rows of the org in the order of their keys.
    let select = Select::new(entity(OBSERVATION)?, filters.into());
    let rows = plan.select(select).await?;
    let is_same = |row: &Row| {
        ABOUT.iter().all(|field| !data.contains_key(*field) || data.get(*field) == row.get(*field))
    };
    Ok(rows.into_iter().filter(is_same).min_by_key(|row| row["seq"].as_i64()))
}

async fn count(
    call: &Call<'_>,
    plan: &mut Plan<'_>,
    earlier: &Row,
    tags: Vec<String>,
) -> Result<Row, RowError> {
    let mut set = Row::new();
    let times = integer(earlier, "times_seen").unwrap_or_default();
    set.insert("times_seen".into(), (times + 1).into());
    set.insert("last_seen_at".into(), call.now().into());
    set.insert("tags".into(), joined(texts(earlier, "tags"), tags).into());
    plan.update(entity(OBSERVATION)?, &[earlier["id"].clone()], set).await
}

/// Plans a new observation, and returns it.
///
/// # Errors
/// If a value is invalid.
pub(super) async fn add(call: &Call<'_>, plan: &mut Plan<'_>, mut data: Row) -> Result<Row, RowError> {
    let hash = content_hash(required(&data, "content")?);
    let tags = joined(texts(&data, "tags"), vec![]);
    data.insert("tags".into(), tags.into());
    data.insert("content_hash".into(), hash.into());
    data.insert("last_seen_at".into(), call.now().into());
    data.insert("provenance".into(), call.provenance.to_value());
    plan.create(entity(OBSERVATION)?, data).await
}

fn content_hash(content: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(content))
}

pub(super) async fn get(
    cx: &ReadCx<'_, Rows>,
    req: MemoryGetObservationRequest,
) -> Result<MemoryGetObservationResponse, RowError> {
    let call = Call::from_context(cx);
    let (mut observations, mut missing) = (vec![], vec![]);
    for id in joined(req.ids, vec![]) {
        let row = call.get(OBSERVATION, &id).await?;
        let is_of_project = |row: &Row| is_named(row, "project_id", req.project_id.as_deref());
        match row.filter(is_of_project) {
            Some(row) => observations.push(typed(picked(&row, &FIELDS))?),
            None => missing.push(id),
        }
    }
    Ok(MemoryGetObservationResponse { count: observations.len() as i64, missing, observations })
}

/// Returns true if a field has the value of an argument, or the argument is absent.
pub(super) fn is_named(row: &Row, field: &str, argument: Option<&str>) -> bool {
    argument.is_none_or(|argument| row.get(field).and_then(Value::as_str) == Some(argument))
}
