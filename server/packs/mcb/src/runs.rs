//! Executions and quality gates: each run is a separate row, next to an observation that searches and timelines find.

use serde_json::Value;
use tabellion_contracts::mcb::{
    GetRunsRequest, MemoryGetExecutionResponse, MemoryGetQualityGateResponse, MemoryStoreExecutionRequest,
    MemoryStoreExecutionResponse, MemoryStoreQualityGateRequest, MemoryStoreQualityGateResponse,
};
use tabellion_runtime::{
    ReadCx, Row, Rows, Staged, WriteCx,
    rows::{Filter, Order, Plan, RowError},
};

use super::{
    call::{Call, entity, stage},
    observations::{OBSERVATION, PLACE, add, is_named, set_place},
    values::{fold, joined, picked, required, typed, without_nulls},
};

/// Name of the entity, and type of its observations.
pub(super) const EXECUTION: &str = "execution";
/// Name of the entity, and type of its observations.
pub(super) const QUALITY_GATE: &str = "quality_gate";

/// Number of runs that are read by default.
const DEFAULT_LIMIT: u64 = 10;
/// Maximum number of ids in a request.
const MAX_IDS: u64 = 100;

pub(super) async fn store_execution(
    cx: &WriteCx<'_, Rows>,
    req: MemoryStoreExecutionRequest,
) -> Result<Staged<MemoryStoreExecutionResponse, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut data = without_nulls(req.data);
    fold(&mut data, "execution_type");
    set_place(&call, &mut data, [req.project_id, req.repo_id, req.session_id]).await?;
    let succeeded = data.get("success") == Some(&true.into());
    let content = format!(
        "Execution: {} (exit_code={}, success={succeeded})",
        required(&data, "command")?,
        data.get("exit_code").unwrap_or(&Value::Null),
    );
    let outcome = if succeeded { "success" } else { "failure" };
    let tags = vec![EXECUTION.into(), required(&data, "execution_type")?.into(), outcome.into()];
    let mut plan = call.plan();
    let (observation, mut data) = observe(&call, &mut plan, EXECUTION, content, tags, data).await?;
    if let Some(id) = data.shift_remove("execution_id") {
        data.insert("id".into(), id);
    }
    let row = plan.create(entity(EXECUTION)?, data).await?;
    let answer = MemoryStoreExecutionResponse {
        observation_id: required(&observation, "id")?.into(),
        execution_id: required(&row, "id")?.into(),
        deduplicated: false,
    };
    stage(cx, plan, "create", (OBSERVATION, &observation), answer)
}

pub(super) async fn store_quality_gate(
    cx: &WriteCx<'_, Rows>,
    req: MemoryStoreQualityGateRequest,
) -> Result<Staged<MemoryStoreQualityGateResponse, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut data = without_nulls(req.data);
    fold(&mut data, "status");
    set_place(&call, &mut data, [req.project_id, req.repo_id, req.session_id]).await?;
    let (name, status) = (required(&data, "gate_name")?, required(&data, "status")?);
    let content = format!("Quality Gate: {name} (status={status})");
    let tags = vec![QUALITY_GATE.into(), status.into()];
    data.entry("timestamp").or_insert_with(|| call.now().into());
    let mut plan = call.plan();
    let (observation, data) = observe(&call, &mut plan, QUALITY_GATE, content, tags, data).await?;
    plan.create(entity(QUALITY_GATE)?, data).await?;
    let answer = MemoryStoreQualityGateResponse {
        observation_id: required(&observation, "id")?.into(),
        deduplicated: false,
    };
    stage(cx, plan, "create", (OBSERVATION, &observation), answer)
}

/// Plans the observation of a run. Returns it, and the data of the run that refers to it.
async fn observe(
    call: &Call<'_>,
    plan: &mut Plan<'_>,
    kind: &str,
    content: String,
    tags: Vec<String>,
    mut data: Row,
) -> Result<(Row, Row), RowError> {
    let mut observation = Row::new();
    for field in PLACE {
        if let Some(value) = data.shift_remove(field) {
            observation.insert(field.into(), value);
        }
    }
    data.insert("project_id".into(), observation["project_id"].clone());
    observation.insert("observation_type".into(), kind.into());
    observation.insert("content".into(), content.into());
    observation.insert("tags".into(), tags.into());
    let observation = add(call, plan, observation).await?;
    data.insert("observation_id".into(), observation["id"].clone());
    Ok((observation, data))
}

async fn observation_of(call: &Call<'_>, run: &Row) -> Result<Option<Row>, RowError> {
    call.get(OBSERVATION, required(run, "observation_id")?).await
}

pub(super) async fn get_executions(
    cx: &ReadCx<'_, Rows>,
    req: GetRunsRequest,
) -> Result<MemoryGetExecutionResponse, RowError> {
    const FIELDS: [&str; 11] = [
        "observation_id",
        "command",
        "exit_code",
        "duration_ms",
        "success",
        "execution_type",
        "coverage",
        "files_affected",
        "output_summary",
        "warnings_count",
        "errors_count",
    ];
    let call = Call::from_context(cx);
    let (runs, missing) = read(&call, EXECUTION, req).await?;
    let executions = runs
        .iter()
        .map(|run| {
            let mut answer = run.answer(&FIELDS);
            answer.insert("execution_id".into(), run.row["id"].clone());
            typed(answer)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(MemoryGetExecutionResponse { count: executions.len() as i64, missing, executions })
}

pub(super) async fn get_quality_gates(
    cx: &ReadCx<'_, Rows>,
    req: GetRunsRequest,
) -> Result<MemoryGetQualityGateResponse, RowError> {
    const FIELDS: [&str; 6] =
        ["observation_id", "gate_name", "status", "message", "timestamp", "execution_id"];
    let call = Call::from_context(cx);
    let (runs, missing) = read(&call, QUALITY_GATE, req).await?;
    let quality_gates = runs.iter().map(|run| typed(run.answer(&FIELDS))).collect::<Result<Vec<_>, _>>()?;
    Ok(MemoryGetQualityGateResponse { count: quality_gates.len() as i64, missing, quality_gates })
}

/// A run and its observation.
struct Run {
    observation: Row,
    row: Row,
}

impl Run {
    /// Returns fields of the run, and its position in the order of time.
    fn answer(&self, fields: &[&str]) -> Row {
        let mut answer = picked(&self.row, fields);
        answer.extend(picked(&self.observation, &["created_at", "seq"]));
        answer
    }

    /// Returns the run's position in the order of time.
    fn place(&self) -> (Option<i64>, Option<i64>) {
        let number = |field: &str| self.observation.get(field).and_then(Value::as_i64);
        (number("created_at"), number("seq"))
    }
}

/// Reads the requested runs of a kind, newest first, and returns the ids that do not exist.
async fn read(
    call: &Call<'_>,
    kind: &'static str,
    req: GetRunsRequest,
) -> Result<(Vec<Run>, Vec<String>), RowError> {
    let place = [req.project_id, req.repo_id, req.session_id];
    let named = || PLACE.into_iter().zip(&place);
    let (mut runs, mut missing) = (vec![], vec![]);
    let Some(ids) = req.ids else {
        let given = named().filter_map(|(field, value)| Some(Filter::is(field, value.clone()?)));
        let filters = [Filter::is("observation_type", kind)].into_iter().chain(given);
        let order = vec![("created_at", Order::Down), ("seq", Order::Down)];
        let limit = req.limit.unwrap_or(DEFAULT_LIMIT);
        for observation in call.select(OBSERVATION, filters.collect(), order, limit).await? {
            if let Some(row) = run_of(call, kind, required(&observation, "id")?).await? {
                runs.push(Run { observation, row });
            }
        }
        return Ok((runs, missing));
    };
    for id in joined(ids, vec![]) {
        let row = match call.get(kind, &id).await? {
            Some(row) => Some(row),
            None => run_of(call, kind, &id).await?,
        };
        let observation = match &row {
            Some(row) => observation_of(call, row).await?,
            None => None,
        };
        let is_there = |row: &Row| named().all(|(field, value)| is_named(row, field, value.as_deref()));
        match (row, observation.filter(is_there)) {
            // One run can be named by both of its ids.
            (Some(row), Some(observation)) if runs.iter().all(|run: &Run| run.observation != observation) => {
                runs.push(Run { observation, row });
            }
            (Some(_), Some(_)) => {}
            _ => missing.push(id),
        }
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.place()));
    runs.truncate(req.limit.unwrap_or(MAX_IDS) as usize);
    Ok((runs, missing))
}

async fn run_of(call: &Call<'_>, kind: &'static str, observation: &str) -> Result<Option<Row>, RowError> {
    let filters = vec![Filter::is("observation_id", observation)];
    Ok(call.select(kind, filters, vec![], 1).await?.pop())
}
