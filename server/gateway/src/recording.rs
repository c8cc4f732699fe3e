//! Calls with recorded executions: the session of a call, and the requests that wait for an execution.

use std::sync::Arc;

use serde_json::Value;
use tabellion_runtime::{
    CallContext, Contract, Rejection, ToolSpec, Violation,
    calls::{CallStore, NewExecution, RecordedCall, SESSION, SessionOf},
    openapi::SESSION_HEADER,
    pointer,
};
use tokio::sync::watch;

use crate::error;

/// A request that waits for its execution rather than for the answer.
#[derive(Debug, Clone)]
pub struct Awaited {
    /// True if the request is answered before the call begins.
    pub is_pending: bool,
    /// Receives the execution's id when it is recorded.
    pub begun: watch::Sender<Option<Arc<str>>>,
}

/// A call that is about to begin.
pub(crate) struct Beginning<'a> {
    pub(crate) tool: &'static ToolSpec,
    pub(crate) arguments: &'a Value,
    /// True if its connection is a session, which is the call's if it names none.
    pub(crate) in_session: bool,
    pub(crate) awaited: Option<Awaited>,
}

/// Records the beginning of a call, if its contract requires that.
///
/// # Errors
/// If it may not begin.
pub(crate) async fn begin(
    store: Option<&Arc<dyn CallStore>>,
    contract: &dyn Contract,
    beginning: &Beginning<'_>,
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
            message: format!("`{SESSION}` is for contracts with sessions, and `{}` has none", spec.id),
        };
        return Err(error::invalid_conditions(spec, &[violation]));
    }
    let (Some(store), Some(_)) = (store, spec.executions) else {
        return Ok((None, call));
    };
    let awaited = beginning.awaited.as_ref();
    let connection = call.origin.connection.clone();
    let new = NewExecution {
        session: match (&call.session, connection.as_ref().filter(|_| beginning.in_session)) {
            (Some(id), _) => SessionOf::Named(id),
            (None, Some(connection)) => SessionOf::Connection(connection.id()),
            (None, None) => SessionOf::Caller,
        },
        is_pending: awaited.is_some_and(|awaited| awaited.is_pending),
        keeps_result: awaited.is_some(),
        ..NewExecution::new(spec, beginning.tool, &call, beginning.arguments)
    };
    let (recorded, call) = RecordedCall::begin(store, contract, &new, &call).await?;
    if let (SessionOf::Connection(_), Some(connection)) = (&new.session, &connection) {
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
