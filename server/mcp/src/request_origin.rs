//! The origin of a request: its name, its caller and their permissions, as the transport knows them.

use std::sync::Arc;

use rmcp::{
    ErrorData,
    model::{ErrorCode, Extensions, JsonObject},
};
use serde_json::json;
use tabellion_runtime::{CallOrigin, ContractSpec, Transport, rates::RETRY_AFTER, token_bucket::seconds};
use tokio::sync::watch;

use super::access::{Access, Budget, Grant};

/// What a transport knows about a request beside its message.
#[derive(Debug, Clone)]
pub(super) struct RequestOrigin {
    /// Name of the request in the log.
    pub(super) request: Arc<str>,
    /// Caller and permissions; `None` without authentication, which permits everything.
    pub(super) grant: Option<Arc<dyn Grant>>,
    /// The URL that clients have for the endpoint.
    pub(super) url: Option<Arc<str>>,
    /// The headers of its HTTP request that a contract reads.
    pub(super) headers: Arc<[(String, String)]>,
    /// Budget of the caller; `None` if requests are not limited.
    pub(super) budget: Option<Arc<dyn Budget>>,
    /// Whether it came over REST, and the server made its message.
    pub(super) is_rest: bool,
    /// What a request that waits for its execution wants to know; `None` over MCP, where clients wait for answers.
    pub(super) awaited: Option<Awaited>,
}

/// What a request that waits for its execution wants to know.
#[derive(Debug, Clone)]
pub(super) struct Awaited {
    /// Whether the request is answered before the call begins.
    pub(super) is_pending: bool,
    /// Is told the execution when it is recorded.
    pub(super) begun: watch::Sender<Option<Arc<str>>>,
}

/// Ends the e-mail addresses of keys that were made without one.
const MADE_UP: &str = ".localhost";

/// Error code for a caller without the needed scope.
pub(super) const FORBIDDEN: ErrorCode = ErrorCode(403);
/// Error code for a caller that exceeded its rate limit.
pub(super) const TOO_MANY: ErrorCode = ErrorCode(429);

/// Returns the caller's permissions; `None` without authentication.
pub(super) fn grant(request: &Extensions) -> Option<&Arc<dyn Grant>> {
    request.get::<RequestOrigin>()?.grant.as_ref()
}

/// Returns whether a request came over REST.
pub(super) fn is_rest(request: &Extensions) -> bool {
    request
        .get::<RequestOrigin>()
        .is_some_and(|origin| origin.is_rest)
}

/// Returns the name under which the caller is counted; `None` if callers are not told apart.
pub(super) fn counted_as(request: &Extensions) -> Option<&Arc<str>> {
    let budget = request.get::<RequestOrigin>()?.budget.as_ref();
    budget.map(|budget| budget.caller())
}

/// Returns where a request comes from, but for what its client's requests have in common.
pub(super) fn of(request: &Extensions, meta: &JsonObject) -> CallOrigin {
    let meta = Arc::new(meta.clone());
    let Some(origin) = request.get::<RequestOrigin>() else {
        return CallOrigin {
            meta,
            ..CallOrigin::default()
        };
    };
    let holder = origin.grant.as_ref().map(|grant| holder(&**grant));
    CallOrigin {
        transport: Transport::Http,
        url: origin.url.clone(),
        meta,
        headers: origin.headers.clone(),
        holder: holder.map(Arc::from),
        ..CallOrigin::default()
    }
}

/// Returns the shown name of the holder of a key or a token: the address, or the name if there is no address.
pub(super) fn holder(grant: &dyn Grant) -> String {
    let author = grant.author();
    if author.email.ends_with(MADE_UP) {
        author.name
    } else {
        author.email
    }
}

/// Refuses a request for which the caller lacks the scope. Contracts that know their callers refuse it themselves.
pub(super) fn allow(request: &Extensions, contract: &ContractSpec, access: Access) -> Result<(), ErrorData> {
    if contract.auth.is_some() {
        return Ok(());
    }
    let Some(grant) = grant(request).filter(|grant| !grant.allows(contract.id, access)) else {
        return Ok(());
    };
    let needed = access.as_str();
    let message = format!(
        "{} may not do this: it needs a key or a token with the scope `{needed}:{}`",
        grant.author().name,
        contract.id
    );
    Err(ErrorData::new(
        FORBIDDEN,
        message,
        Some(json!({ "scope": needed })),
    ))
}

/// Counts the request, or refuses it if the caller has exhausted its budget.
pub(super) fn count(request: &Extensions, access: Access) -> Result<(), ErrorData> {
    let budget = request.get::<RequestOrigin>().and_then(|it| it.budget.as_ref());
    let Some(Err(wait)) = budget.map(|budget| budget.take(access)) else {
        return Ok(());
    };
    let seconds = seconds(wait);
    let message = format!("too many requests in a minute; nothing was done, try again in {seconds} s");
    Err(ErrorData::new(
        TOO_MANY,
        message,
        Some(json!({ RETRY_AFTER: seconds })),
    ))
}
