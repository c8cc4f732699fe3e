//! Calls, parsed from a request's head and body, and run in tasks of their own.

use std::sync::Arc;

use hyper::{
    HeaderMap, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use serde_json::{Map, Value};
use tabellion_gateway::{
    Access, Awaited, CallError, CallRequest, Client, RequestOrigin, Requester, Slot, Unattended, connection,
    json,
};
use tabellion_runtime::{
    Answer, Caller, IdempotencyKey, Progress, ToolSpec,
    context::{IDEMPOTENCY_KEY, IF_BASE},
    openapi::MAX_ETAG,
};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use crate::{
    refusal::Refusal,
    rest::{Rest, client},
};

const KEY: &str = "Idempotency-Key";
const IF_MATCH: &str = "If-Match";
const IF_NONE_MATCH: &str = "If-None-Match";

/// A call, parsed from a request.
pub(super) struct Call {
    pub(super) tool: &'static ToolSpec,
    pub(super) arguments: Map<String, Value>,
    pub(super) origin: RequestOrigin,
    pub(super) client: Option<Client>,
    /// Its conditions and its key, by their names in `_meta`.
    pub(super) meta: Map<String, Value>,
    pub(super) awaited: Option<Awaited>,
}

impl Call {
    /// Returns the call of a tool with these arguments.
    ///
    /// # Errors
    /// If a condition in the headers can't be read, or the call changes nothing.
    pub(super) fn new(
        tool: &'static ToolSpec,
        headers: &HeaderMap,
        arguments: Map<String, Value>,
        origin: RequestOrigin,
    ) -> Result<Self, Refusal> {
        let unprocessable = |why: String| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
        let is_reading = tool.operation_of(&arguments).is_some_and(|operation| !operation.mutating);
        let sent = [KEY, IF_MATCH, IF_NONE_MATCH].into_iter().find(|name| headers.contains_key(*name));
        if let Some(name) = sent.filter(|_| is_reading) {
            let why =
                format!("`{name}` is for calls that change something, which this one does not: leave it out");
            return Err(unprocessable(why));
        }
        let mut meta = Map::new();
        if let Some(key) = single(headers, KEY)? {
            IdempotencyKey::parse(key).map_err(|error| unprocessable(format!("`{KEY}` {error}")))?;
            meta.insert(IDEMPOTENCY_KEY.into(), key.into());
        }
        if let Some(base) = base(headers)? {
            meta.insert(IF_BASE.into(), base);
        }
        Ok(Self { tool, arguments, origin, client: client(headers), meta, awaited: None })
    }

    async fn make(self, rest: Arc<Rest>, _slot: Slot, client: Waiting) -> Result<Answer, CallError> {
        let gateway = &rest.gateway;
        self.origin.count(Access::needed_by(self.tool, &self.arguments))?;
        let request = CallRequest {
            arguments: self.arguments,
            requester: Requester { origin: Some(&self.origin), client: self.client, meta: &self.meta },
            connection: connection(),
            in_session: false,
            awaited: self.awaited,
            client: Arc::new(client),
            approver: Box::new(|tool, _| Arc::new(Unattended::new(gateway.approval(), tool))),
        };
        gateway.call(gateway.tool_or_call(self.tool.name)?, request).await
    }
}

/// A running call, in a task of its own. It is cancelled when this is dropped.
pub(super) struct Ongoing {
    task: JoinHandle<Result<Answer, CallError>>,
    cancelling: DropGuard,
}

impl Ongoing {
    /// Begins a call.
    ///
    /// # Errors
    /// If too many requests are being answered.
    pub(super) fn begin(rest: &Arc<Rest>, call: Call) -> Result<Self, Refusal> {
        let caller = call.origin.grant.as_ref().map(|grant| grant.identity());
        let slot = rest.intake.take(caller).map_err(Refusal::busy)?;
        let (cancelled, span) = (CancellationToken::new(), call.origin.span());
        let call = call.make(rest.clone(), slot, Waiting(cancelled.clone()));
        Ok(Self {
            // The task survives a client's disconnection: a change is not left half made.
            task: tokio::spawn(call.instrument(span)),
            cancelling: cancelled.drop_guard(),
        })
    }

    /// Waits for the outcome.
    pub(super) async fn outcome(&mut self) -> Result<Answer, CallError> {
        let outcome = (&mut self.task).await;
        // A panic has been logged.
        outcome.unwrap_or_else(|_| Err(CallError::Internal { data: Map::new() }))
    }

    /// Lets the call continue after this is dropped.
    pub(super) fn release(self) {
        self.cancelling.disarm();
    }
}

/// A client that waits for the answer to a call, without notifications of progress.
struct Waiting(CancellationToken);

impl Caller for Waiting {
    fn has_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn hear(&self, _: Progress) {}
}

/// Returns the object in the body of a request; an empty one if there is no body.
///
/// # Errors
/// If the body is not a JSON object.
pub(super) fn body(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if body.is_empty() && !headers.contains_key(CONTENT_LENGTH) {
        return Ok(Map::new());
    }
    // A cross-origin page can't declare JSON without a CORS preflight.
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        let why = "`Content-Type` must be application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    match json::parse(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(bad("the body must be an object")),
        Err(error) => Err(bad(match json::advice(body, &error) {
            Some(advice) => format!("the body can't be read: {advice}"),
            None if error.is_data() => format!("the body can't be read: {error}"),
            None => format!("the body is not JSON: {error}"),
        })),
    }
}

/// Returns the precondition on the document: the content with this ETag, or (`null`) its absence.
fn base(headers: &HeaderMap) -> Result<Option<Value>, Refusal> {
    let matched = single(headers, IF_MATCH)?;
    let unmatched = single(headers, IF_NONE_MATCH)?;
    match (matched, unmatched) {
        (None, None) => Ok(None),
        (None, Some("*")) => Ok(Some(Value::Null)),
        (None, Some(_)) => Err(bad(format!("`{IF_NONE_MATCH}` must be `*`: the document must not be there"))),
        (Some(etag), None) => {
            let quoted = etag.strip_prefix('"').and_then(|etag| etag.strip_suffix('"'));
            let id = quoted.unwrap_or(etag);
            let is_id =
                (1..=MAX_ETAG).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if !is_id {
                return Err(bad(format!("`{IF_MATCH}` must be one `ETag` of this server")));
            }
            Ok(Some(id.into()))
        }
        (Some(_), Some(_)) => {
            Err(bad(format!("`{IF_MATCH}` and `{IF_NONE_MATCH}` exclude each other; send one of them")))
        }
    }
}

/// Returns the value of a header that may occur at most once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(bad(format!("`{name}` occurs more than once")));
    }
    let value = value.to_str().map(|value| Some(value.trim()));
    value.map_err(|_| bad(format!("`{name}` is not visible ASCII")))
}

fn bad(why: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_body_that_is_no_object_is_refused_with_its_fault() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, 1.into());
        let deep = "[".repeat(200) + &"]".repeat(200);
        for (text, fault) in [
            ("", "the body is not JSON"),
            ("{", "the body is not JSON"),
            ("[]", "the body must be an object"),
            (r#"{"a":1,"a":2}"#, "the body can't be read: an object has the same key twice"),
            (r#"{"a":"\ud800"}"#, "the body can't be read: a text has half of a surrogate pair"),
            (r#"{"a":1e999}"#, "the body can't be read: a number is larger"),
            (r#"{"a":[-18446744073709551616]}"#, "the body can't be read: an integer has more than 64 bits"),
            (&deep, "the body can't be read: values are nested more than 127 deep"),
        ] {
            let refusal = body(&headers, text.as_bytes()).unwrap_err();
            assert!(refusal.message.starts_with(fault), "{text}: {}", refusal.message);
        }
    }
}
