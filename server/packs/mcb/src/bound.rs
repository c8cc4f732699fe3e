//! Values that a session gives to calls and rows that name it.

use serde_json::Value;
use tabellion_contracts::mcb::CallProvenance;
use tabellion_runtime::{Row, provenance, rows::RowError};

use super::{
    call::Call,
    values::{text, texts},
};

/// Name of the entity.
pub(super) const AGENT_SESSION: &str = "agent_session";

/// Returns the provenance bound to a session: the fields that its creator sent; discovered ones are left out.
pub(super) async fn bound(call: &Call<'_>, id: &str) -> Result<CallProvenance, RowError> {
    let Some(row) = call.get(AGENT_SESSION, id).await? else {
        return Ok(CallProvenance::default());
    };
    let kept = row.get("provenance").and_then(Value::as_object).cloned().unwrap_or_default();
    let discovered = texts(&kept, provenance::DISCOVERED);
    let said = |field: &str| {
        let is_said = !discovered.iter().any(|name| name == field);
        text(&kept, field).filter(|_| is_said).map(String::from)
    };
    let own = |field: &str| text(&row, field).map(String::from).or_else(|| said(field));
    Ok(CallProvenance {
        project_id: own("project_id"),
        repo_id: said("repo_id"),
        repo_path: said("repo_path"),
        worktree_id: said("worktree_id"),
        parent_session_id: own("parent_session_id"),
        ..CallProvenance::default()
    })
}

/// If a row does not set its project or repository, takes them from the session to which it belongs.
pub(super) async fn fall_back_to_session(
    call: &Call<'_>,
    data: &mut Row,
    session: &str,
) -> Result<(), RowError> {
    let bound = bound(call, session).await?;
    for (field, value) in [("project_id", bound.project_id), ("repo_id", bound.repo_id)] {
        if let Some(value) = value {
            data.entry(field).or_insert_with(|| value.into());
        }
    }
    Ok(())
}
