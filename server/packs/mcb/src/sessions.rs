//! Sessions of agents: their fields, their end, and counts of their logs.

use serde_json::Value;
use tabellion_contracts::mcb::{
    SessionCreateRequest, SessionCreateResponse, SessionGetRequest, SessionGetResponse, SessionListRequest,
    SessionListResponse, SessionReadSummaryRequest, SessionTool, SessionUpdateRequest, SessionUpdateResponse,
    StoredSummary, SummarizeRequest, Summary, tool,
};
use tabellion_runtime::{
    ReadCx, Row, Rows, Staged, WriteCx,
    rows::{Filter, Order, Plan, RowError, Select},
    spec::FieldType,
};

use super::{
    bound::AGENT_SESSION,
    call::{Call, entity, note_base, stage},
    repositories::note_cut,
    state::{Memory, methods},
    values::{fall_back, fold, folded, integer, invalid, join, picked, required, text, typed, without_nulls},
};

/// Agent and model of a session that is known only from its log.
const UNKNOWN: &str = "unknown";
/// The fields that count log entries, and the entity and field that refer to the session.
const COUNTED: [(&str, &str, &str); 2] = [
    ("tool_calls_count", "tool_call", "session_id"),
    ("delegations_count", "delegation", "parent_session_id"),
];
/// Fields that can be set once.
const ONCE: [&str; 2] = ["project_id", "worktree_id"];
/// Fields that follow from others.
const DERIVED: [&str; 2] = ["ended_at", "duration_ms"];

pub(super) async fn create(
    cx: &WriteCx<'_, Rows>,
    req: SessionCreateRequest,
) -> Result<Staged<SessionCreateResponse, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut data = without_nulls(req.data);
    join(&mut data, "project_id", req.project_id)?;
    join(&mut data, "worktree_id", req.worktree_id)?;
    join(&mut data, "agent_type", req.agent_type)?;
    if let Some(parent) = text(&data, "parent_session_id").map(String::from) {
        let project = project_of(&call.plan(), &parent).await?;
        data.extend(project.filter(|_| !data.contains_key("project_id")));
    }
    let is_sent = data.contains_key("project_id");
    fall_back(&mut data, "project_id", &call.provenance);
    required(&data, "project_id")?;
    data.insert("provenance".into(), call.provenance.to_value());
    let mut plan = call.plan();
    if let Some(project) = text(&data, "project_id").filter(|_| !is_sent)
        && plan.get(entity("project")?, &[project.into()]).await?.is_none()
    {
        let message = format!(
            "`project_id` is missing, and `{}`, where the call comes from, is the id of no project; send the id of one, or set it as \
             `project_id` in `.mcp-context.toml` there, and create it if it does not exist",
            project.escape_debug()
        );
        return Err(invalid("no_such", "/data", message));
    }
    if let Some(parent) = text(&data, "parent_session_id") {
        register(&call, &mut plan, parent, None).await?;
    }
    let row = plan.create(entity(AGENT_SESSION)?, data).await?;
    check_worktree(&plan, &row).await?;
    let mut answer = picked(&row, &["agent_type", "status"]);
    answer.insert("session_id".into(), row["id"].clone());
    stage(cx, plan, "create", (AGENT_SESSION, &row), typed(answer)?)
}

/// Plans a session with this id unless it exists: a log entry can be the first mention of a session.
///
/// # Errors
/// If the session's row is invalid.
pub(super) async fn register(
    call: &Call<'_>,
    plan: &mut Plan<'_>,
    id: &str,
    parent: Option<&str>,
) -> Result<(), RowError> {
    let sessions = entity(AGENT_SESSION)?;
    if plan.get(sessions, &[id.into()]).await?.is_some() {
        return Ok(());
    }
    let mut row = Row::new();
    row.insert("id".into(), id.into());
    row.insert("agent_type".into(), UNKNOWN.into());
    row.insert("model".into(), UNKNOWN.into());
    row.insert("provenance".into(), call.provenance.to_value());
    if let Some(parent) = parent {
        row.insert("parent_session_id".into(), parent.into());
        row.extend(project_of(plan, parent).await?);
    }
    // A log entry is kept even if its project does not exist.
    if !row.contains_key("project_id")
        && let Some(project) = call.provenance.text("project_id")
        && let Some(FieldType::Ref(reference)) = sessions.field("project_id").map(|field| field.kind)
        && plan.get(entity(reference.to)?, &[project.into()]).await?.is_some()
    {
        row.insert("project_id".into(), project.into());
    }
    plan.create(sessions, row).await?;
    Ok(())
}

/// Returns the field with the project of a session, if it is known.
async fn project_of(plan: &Plan<'_>, session: &str) -> Result<Option<(String, Value)>, RowError> {
    let row = plan.get(entity(AGENT_SESSION)?, &[session.into()]).await?;
    let project = row.and_then(|mut row| row.shift_remove_entry("project_id"));
    Ok(project.filter(|(_, project)| !project.is_null()))
}

pub(super) async fn get(
    cx: &ReadCx<'_, Rows>,
    req: SessionGetRequest,
) -> Result<SessionGetResponse, RowError> {
    let call = Call::from_context(cx);
    let row = find(&call, &req.session_id).await?;
    for (field, guard) in [("project_id", req.project_id), ("worktree_id", req.worktree_id)] {
        if guard.is_some_and(|guard| text(&row, field) != Some(&guard)) {
            return Err(not_found(&req.session_id));
        }
    }
    let mut answer = picked(
        &row,
        &[
            "id",
            "agent_type",
            "model",
            "parent_session_id",
            "project_id",
            "worktree_id",
            "started_at",
            "ended_at",
            "duration_ms",
            "status",
            "prompt_summary",
            "result_summary",
            "token_count",
            "seq",
        ],
    );
    for (field, value) in computed(&call, &row).await? {
        answer.insert(field.into(), value);
    }
    note_base(cx, AGENT_SESSION, &row)?;
    typed(answer)
}

pub(super) async fn update(
    cx: &WriteCx<'_, Rows>,
    req: SessionUpdateRequest,
) -> Result<Staged<SessionUpdateResponse, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut data = req.data.unwrap_or_default();
    fold(&mut data, "status");
    join(&mut data, "status", req.status.as_deref().map(folded))?;
    let old = find(&call, &req.session_id).await?;
    let computed = computed(&call, &old).await?;
    let mut set = Row::new();
    for (name, value) in data {
        let current = old.get(&name).unwrap_or(&Value::Null);
        let computed = computed.iter().find(|(field, _)| *field == name);
        let is_as_read = value == *current || computed.is_some_and(|(_, computed)| value == *computed);
        if is_as_read {
            continue;
        }
        let once = ONCE.into_iter().find(|field| *field == name);
        let derived = DERIVED.into_iter().find(|field| *field == name);
        if let Some(field) = once.filter(|_| !current.is_null()).or(derived) {
            return Err(RowError::Immutable { field, on_create: false });
        }
        set.insert(name, value);
    }
    end_or_reopen(&old, &mut set, call.now());
    let mut plan = call.plan();
    let row = plan.update(entity(AGENT_SESSION)?, &[old["id"].clone()], set).await?;
    if ONCE.iter().any(|field| row[*field] != old[*field]) {
        check_worktree(&plan, &row).await?;
    }
    let mut answer = picked(&row, &["id", "status"]);
    answer.insert("updated".into(), true.into());
    stage(cx, plan, "update", (AGENT_SESSION, &row), typed(answer)?)
}

/// Checks that the worktree of a session is in a repository of its project.
async fn check_worktree(plan: &Plan<'_>, session: &Row) -> Result<(), RowError> {
    let (project, worktree) = (&session["project_id"], &session["worktree_id"]);
    if project.is_null() || worktree.is_null() {
        return Ok(());
    }
    let worktree = plan.get(entity("worktree")?, std::slice::from_ref(worktree)).await?;
    let Some(repository) = worktree.map(|row| row["repository_id"].clone()) else { return Ok(()) };
    let repository = plan.get(entity("repository")?, &[repository]).await?;
    if repository.is_none_or(|row| row["project_id"] == *project) {
        return Ok(());
    }
    Err(RowError::Elsewhere { field: "worktree_id", same: "project_id" })
}

/// Sets the fields that follow from a new status: a session that is no longer active has ended.
fn end_or_reopen(old: &Row, set: &mut Row, now: i64) {
    let Some(status) = text(set, "status") else { return };
    let is_active = status == "active";
    let was_active = text(old, "status") == Some("active");
    if is_active && !was_active {
        set.insert("ended_at".into(), Value::Null);
        set.insert("duration_ms".into(), Value::Null);
    }
    if !is_active && was_active {
        let started = integer(old, "started_at").unwrap_or(now);
        set.insert("ended_at".into(), now.into());
        set.insert("duration_ms".into(), (now - started).max(0).saturating_mul(1000).into());
    }
}

pub(super) async fn list(
    cx: &ReadCx<'_, Rows>,
    req: SessionListRequest,
) -> Result<SessionListResponse, RowError> {
    let call = Call::from_context(cx);
    let status = req.status.as_deref().map(folded);
    let given = [
        ("project_id", req.project_id),
        ("worktree_id", req.worktree_id),
        ("agent_type", req.agent_type),
        ("status", status),
    ];
    check_references(&call, &given).await?;
    let filters: Vec<_> =
        given.into_iter().filter_map(|(field, value)| Some(Filter::is(field, value?))).collect();
    let total = call.count(Select::new(entity(AGENT_SESSION)?, filters.clone())).await?;
    let order = vec![("seq", Order::Down)];
    let rows = call.select(AGENT_SESSION, filters, order, req.limit).await?;
    note_cut(cx, total > rows.len() as u64, total);
    let fields = [
        "id",
        "parent_session_id",
        "agent_type",
        "model",
        "status",
        "project_id",
        "started_at",
        "ended_at",
        "duration_ms",
        "seq",
    ];
    let sessions = rows.iter().map(|row| typed(picked(row, &fields))).collect::<Result<Vec<_>, _>>()?;
    Ok(SessionListResponse { count: sessions.len() as i64, total: total as i64, sessions })
}

/// Checks that the rows exist to which the conditions of a list refer.
///
/// # Errors
/// If one does not: that is no list without sessions.
async fn check_references(call: &Call<'_>, given: &[(&'static str, Option<String>)]) -> Result<(), RowError> {
    let sessions = entity(AGENT_SESSION)?;
    for (field, value) in given {
        let (Some(value), Some(FieldType::Ref(reference))) = (value, sessions.field(field).map(|it| it.kind))
        else {
            continue;
        };
        if call.get(reference.to, value).await?.is_none() {
            let message = format!("there is no {} `{}` in this org", reference.to, value.escape_debug());
            return Err(invalid("no_such", &format!("/{field}"), message));
        }
    }
    Ok(())
}

/// Returns the counts of a session: those that were set, or else the numbers of its log entries; and the id of its newest summary, if any.
async fn computed(call: &Call<'_>, row: &Row) -> Result<Vec<(&'static str, Value)>, RowError> {
    let summary = super::summaries::newest_row(call, text(row, "id").unwrap_or_default(), None).await?;
    let mut computed = vec![("session_summary_id", summary.map_or(Value::Null, |row| row["id"].clone()))];
    for (field, logged, by) in COUNTED {
        let count = match integer(row, field) {
            Some(told) => told,
            None => {
                let of_session = vec![Filter::is(by, row["id"].clone())];
                call.count(Select::new(entity(logged)?, of_session)).await? as i64
            }
        };
        computed.push((field, count.into()));
    }
    Ok(computed)
}

async fn find(call: &Call<'_>, id: &str) -> Result<Row, RowError> {
    let row = call.get(AGENT_SESSION, id).await?;
    row.ok_or_else(|| not_found(id))
}

fn not_found(id: &str) -> RowError {
    // As the tools name it.
    RowError::NotFound { entity: tool::SESSION, key: format!("`{}`", id.escape_debug()) }
}

/// Returns the refusal of a session that would be its own parent.
pub(super) fn own_parent() -> RowError {
    let message = "a session can't delegate to itself; name the session that got the work";
    invalid("circular", "/data/child_session_id", message)
}

impl SessionTool for Memory {
    methods! { WriteCx -> Change:
        session_create(SessionCreateRequest) -> SessionCreateResponse = |_, cx, req| create(cx, req);
        session_update(SessionUpdateRequest) -> SessionUpdateResponse = |_, cx, req| update(cx, req);
        session_summarize(SummarizeRequest) -> StoredSummary =
            |memory, cx, req| {
                let session = Some(req.session_id);
                memory.expecting(super::summaries::store(cx, req.data, session, req.project_id, None))
            };
    }

    methods! { ReadCx -> Answer:
        session_get(SessionGetRequest) -> SessionGetResponse = |_, cx, req| get(cx, req);
        session_list(SessionListRequest) -> SessionListResponse = |_, cx, req| list(cx, req);
        session_read_summary(SessionReadSummaryRequest) -> Summary =
            |_, cx, req| super::summaries::newest(cx, req.session_id, req.project_id);
    }
}
