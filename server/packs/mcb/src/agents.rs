//! Agents' logs in their sessions: calls of tools, and delegated work.

use serde_json::Value;
use tabellion_contracts::mcb::{
    AgentLogDelegationRequest, AgentLogDelegationResponse, AgentLogToolRequest, AgentLogToolResponse,
    AgentTool,
};
use tabellion_runtime::{Row, Rows, Staged, WriteCx, rows::RowError};

use super::{
    call::{Call, entity, stage},
    sessions::{own_parent, register},
    state::{Memory, methods},
    values::{picked, required, typed, without_nulls},
};

const TOOL_CALL: &str = "tool_call";
const DELEGATION: &str = "delegation";

pub(super) async fn log_tool(
    cx: &WriteCx<'_, Rows>,
    req: AgentLogToolRequest,
) -> Result<Staged<AgentLogToolResponse, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut plan = call.plan();
    register(&call, &mut plan, &req.session_id, None).await?;
    let mut row = logged(&call, "tc_", req.data);
    row.insert("session_id".into(), req.session_id.into());
    let row = plan.create(entity(TOOL_CALL)?, row).await?;
    let mut answer = picked(&row, &["session_id", "tool_name"]);
    answer.insert("tool_call_id".into(), row["id"].clone());
    stage(cx, plan, "log_tool", (TOOL_CALL, &row), typed(answer)?)
}

pub(super) async fn log_delegation(
    cx: &WriteCx<'_, Rows>,
    req: AgentLogDelegationRequest,
) -> Result<Staged<AgentLogDelegationResponse, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut row = logged(&call, "del_", req.data);
    let child = required(&row, "child_session_id")?.to_owned();
    if child == req.session_id {
        return Err(own_parent());
    }
    let mut plan = call.plan();
    register(&call, &mut plan, &req.session_id, None).await?;
    register(&call, &mut plan, &child, Some(&req.session_id)).await?;
    if row.get("result").is_some_and(Value::is_string) {
        row.insert("completed_at".into(), call.now().into());
    }
    row.insert("parent_session_id".into(), req.session_id.into());
    let row = plan.create(entity(DELEGATION)?, row).await?;
    let mut answer = picked(&row, &["parent_session_id", "child_session_id"]);
    answer.insert("delegation_id".into(), row["id"].clone());
    stage(cx, plan, "log_delegation", (DELEGATION, &row), typed(answer)?)
}

/// Returns the row of a log entry, with an id whose prefix names its kind.
fn logged(call: &Call<'_>, prefix: &str, data: Row) -> Row {
    let mut row = without_nulls(data);
    row.insert("id".into(), format!("{prefix}{}", call.fresh_id()).into());
    row.insert("provenance".into(), call.provenance.to_value());
    row
}

impl AgentTool for Memory {
    methods! { WriteCx -> Change:
        agent_log_tool(AgentLogToolRequest) -> AgentLogToolResponse = |_, cx, req| log_tool(cx, req);
        agent_log_delegation(AgentLogDelegationRequest) -> AgentLogDelegationResponse =
            |_, cx, req| log_delegation(cx, req);
    }
}
