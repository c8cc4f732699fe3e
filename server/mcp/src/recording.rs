//! Calls whose executions are recorded: which session a call belongs to, and who waits for it.

use std::sync::Arc;

use serde_json::Value;
use tabellion_runtime::{
    CallContext, Connection, Contract, Rejection, ToolSpec, Violation,
    calls::{NewExecution, RecordedCall, SESSION, SessionOf},
    openapi::SESSION_HEADER,
    pointer,
};

use crate::{
    render,
    request_origin::RequestOrigin,
    shared::{Era, Shared},
};

/// What is known of a call before it begins.
pub(super) struct Asked<'a> {
    pub(super) tool: &'static ToolSpec,
    pub(super) arguments: &'a Value,
    pub(super) era: Era,
    pub(super) origin: Option<&'a RequestOrigin>,
}

/// Records that a call begins, if its contract wants that.
///
/// # Errors
/// If it may not begin.
pub(super) async fn begin(
    shared: &Shared,
    contract: &dyn Contract,
    connection: &Connection,
    asked: &Asked<'_>,
    mut call: CallContext,
) -> Result<(Option<RecordedCall>, CallContext), Rejection> {
    let spec = contract.spec();
    if spec.sessions.is_some() && call.session.is_none() {
        call.session = call.origin.header(SESSION_HEADER).map(Arc::from);
    }
    if spec.sessions.is_none() && call.session.is_some() {
        let violation = Violation {
            rule: "meta".into(),
            pointer: pointer::push("/_meta", SESSION),
            message: format!(
                "`{SESSION}` is for contracts with sessions, and `{}` has none",
                spec.id
            ),
        };
        return Err(render::bad_conditions(spec, &[violation]));
    }
    let (Some(store), Some(_)) = (shared.call_store.get(), spec.executions) else {
        return Ok((None, call));
    };
    let awaited = asked.origin.and_then(|origin| origin.awaited.as_ref());
    let new = NewExecution {
        session: match (&call.session, asked.era) {
            (Some(id), _) => SessionOf::Named(id),
            (None, Era::Session) => SessionOf::Connection(connection.id()),
            (None, Era::Stateless) => SessionOf::Caller,
        },
        is_pending: awaited.is_some_and(|awaited| awaited.is_pending),
        keeps_result: awaited.is_some(),
        ..NewExecution::of(spec, asked.tool, &call, asked.arguments)
    };
    let (recorded, call) = RecordedCall::begin(store, contract, &new, &call).await?;
    if let SessionOf::Connection(_) = new.session {
        connection.opens_session();
    }
    if let Some(awaited) = awaited {
        awaited.begun.send_replace(Some(recorded.id().clone()));
        if awaited.is_pending {
            store.start(recorded.id()).await;
        }
    }
    Ok((Some(recorded), call))
}
