//! MCP over HTTP for one library: answers each request.

use std::{sync::Arc, time::Duration};

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Bytes,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use serde_json::{Map, Value};
use tabellion_gateway::{Budget, CallError, Gateway, Grant, Intake, RequestOrigin, Slot};
use tabellion_runtime::{Identity, rates};

use super::{
    body::Body,
    conversation::{Arrival, Conversation},
    headers::{self, EVENTS, JSON, LAST_EVENT, SESSION},
    refusal::Refusal,
    sessions::Sessions,
    stream::{Event, Reader},
};
use crate::{
    adapter::Adapter,
    message::{self, Incoming},
    render,
    shared::Era,
};

/// An answer within this time is plain JSON. Otherwise a stream is opened, so that the client sees that its request arrived.
const JSON_TIMEOUT: Duration = Duration::from_secs(2);
const METHODS: &str = "GET, POST, DELETE";
/// Keys that are required in `_meta` of a request since 2026-07-28.
const REQUIRED_META: [&str; 2] =
    ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"];

/// Limits of one endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests in flight, including those that wait for a person or for notifications. Further ones, and those of a caller with
    /// half of these, are refused with 503.
    pub in_flight: u32,
    /// Sessions. A further one, or a further one of a caller with half of these, ends the session that has been idle longest: of that
    /// caller, or otherwise of the caller with the most idle sessions.
    pub sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { in_flight: 256, sessions: 1024 }
    }
}

/// MCP over HTTP for one library.
pub struct Endpoint {
    adapter: Adapter,
    sessions: Sessions,
    intake: Arc<Intake>,
    limits: Limits,
    url: Option<Arc<str>>,
}

impl Endpoint {
    /// Creates an endpoint that serves `adapter`.
    pub fn new(adapter: Adapter, limits: Limits) -> Self {
        Self {
            adapter,
            sessions: Sessions::new(limits.sessions),
            intake: Arc::new(Intake::new(limits.in_flight)),
            limits,
            url: None,
        }
    }

    /// Sets the endpoint's URL for clients, below which contracts may offer other content than MCP.
    #[must_use]
    pub fn with_url(mut self, url: &str) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Answers a request. `name` identifies it in the log; `grant` has the caller's permissions if callers are authenticated;
    /// `budget` its remaining requests if they are limited.
    pub async fn answer(
        &self,
        request: Request<Bytes>,
        name: Arc<str>,
        grant: Option<Arc<dyn Grant>>,
        budget: Option<Arc<dyn Budget>>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        let origin = RequestOrigin {
            request: name,
            grant,
            url: self.url.clone(),
            headers: self
                .gateway()
                .catalog()
                .read_headers(|name| head.headers.get_all(name).iter().map(HeaderValue::as_bytes)),
            budget,
        };
        let answer = match head.method {
            _ if !self.intake.is_open() => Err(Refusal::busy("the server is stopping")),
            Method::POST => self.post(&head.headers, &body, origin).await,
            Method::GET => self.get(&head.headers, &origin),
            Method::DELETE => self.delete(&head.headers, &origin),
            _ => Err(Refusal::method_not_allowed(METHODS)),
        };
        answer.unwrap_or_else(Response::from)
    }

    /// Returns the gateway, which all clients share.
    pub fn gateway(&self) -> &Arc<Gateway> {
        self.adapter.gateway()
    }

    /// Returns the intake of requests, which MCP and REST share at this place.
    pub fn intake(&self) -> &Arc<Intake> {
        &self.intake
    }

    /// Returns the endpoint's URL for clients, if known.
    pub fn url(&self) -> Option<&Arc<str>> {
        self.url.as_ref()
    }

    /// Returns the number of open sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.count()
    }

    async fn post(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        origin: RequestOrigin,
    ) -> Result<Response<Body>, Refusal> {
        headers::accepts(headers, &[JSON, EVENTS])?;
        headers::is_json(headers)?;
        let message = message::object(body)?;
        match headers::era_of(headers, &message)? {
            Era::Session => self.in_session(headers, message, origin).await,
            Era::Stateless => {
                let is_complete = has_what_it_needs(&message);
                self.alone(message::envelope(message), is_complete, origin).await
            }
        }
    }

    /// Answers a stateless message. The status depends on whether its `_meta` is complete.
    async fn alone(
        &self,
        message: Incoming,
        is_complete: bool,
        origin: RequestOrigin,
    ) -> Result<Response<Body>, Refusal> {
        let (id, request) = match message {
            Incoming::Request(id, request) => (id, request),
            Incoming::Refused(id, error) => return Err((id, Box::new(error)).into()),
            // A stateless client has no request of the server to reply to, and no session to notify.
            Incoming::Notification(_) | Incoming::Reply(..) | Incoming::Nothing => return Ok(accepted()),
        };
        let grant = origin.grant.clone();
        let (mut reader, held) = self.begin_alone(id, *request, origin).await?;
        Ok(match soon(&mut reader).await {
            Some(answer) => {
                let status = status(answer.code, is_complete);
                json(status, answer)
            }
            None => events(Body::events(reader, None, false, grant, held)),
        })
    }

    /// Starts to answer a stateless request, which is cancelled if the returned guard is dropped before.
    async fn begin_alone(
        &self,
        id: RequestId,
        request: ClientRequest,
        origin: RequestOrigin,
    ) -> Result<(Reader, CancelOnDrop), Refusal> {
        let slot = self.slot(&id, &origin)?;
        let conversation = Conversation::single(self.adapter.for_another(), self.intake.closing());
        let asked = conversation.request(&id, request, Arrival { slot, origin }).await;
        let (_, stream) = asked.map_err(|error| Refusal::from((Some(id.clone()), error.into())))?;
        Ok((stream.read(None), CancelOnDrop { conversation, id }))
    }

    async fn in_session(
        &self,
        headers: &HeaderMap,
        message: Map<String, Value>,
        origin: RequestOrigin,
    ) -> Result<Response<Body>, Refusal> {
        let (id, request) = match message::envelope(message) {
            Incoming::Request(id, request) => (id, request),
            Incoming::Refused(id, error) => return Err((id, Box::new(error)).into()),
            other => {
                let session = self.session(headers, &origin)?;
                let message = match other {
                    Incoming::Notification(note) => JsonRpcMessage::notification(note),
                    Incoming::Reply(id, Ok(result)) => JsonRpcMessage::response(*result, id),
                    Incoming::Reply(id, Err(error)) => JsonRpcMessage::error(error, Some(id)),
                    _ => return Ok(accepted()),
                };
                session.hand_on(message).await;
                return Ok(accepted());
            }
        };
        if matches!(*request, ClientRequest::InitializeRequest(_)) {
            return self.begin(id, *request, origin).await;
        }
        if !headers.contains_key(SESSION) {
            // The adapter reports the missing keys, as over lines.
            return self.alone(Incoming::Request(id, request), false, origin).await;
        }
        let session = self.session(headers, &origin).map_err(|refusal| refusal.with_id(Some(id.clone())))?;
        let grant = origin.grant.clone();
        let arrival = Arrival { slot: self.slot(&id, &origin)?, origin };
        let asked = session.request(&id, *request, arrival).await;
        let (number, stream) = asked.map_err(|error| Refusal::from((Some(id), error.into())))?;
        let mut reader = stream.read(None);
        if let Some(answer) = soon(&mut reader).await {
            return Ok(json(StatusCode::OK, answer));
        }
        stream.keep();
        let begins_empty = headers::permit_empty_event(headers);
        Ok(events(Body::events(reader, Some(number), begins_empty, grant, ())))
    }

    /// Opens a session.
    async fn begin(
        &self,
        id: RequestId,
        request: ClientRequest,
        origin: RequestOrigin,
    ) -> Result<Response<Body>, Refusal> {
        let slot = self.slot(&id, &origin)?;
        let session = Arc::new(Conversation::session(self.adapter.for_another(), self.intake.closing()));
        let owner = owner(&origin).cloned();
        let arrival = Arrival { slot, origin };
        let asked = session.request(&id, request, arrival).await;
        let (_, stream) = asked.map_err(|error| Refusal::from((Some(id.clone()), error.into())))?;
        let answer = stream.read(None).next().await;
        let Some(answer) = answer else {
            return Err(Refusal::busy("the server is stopping").with_id(Some(id)));
        };
        if answer.code.is_some() {
            session.end();
            return Ok(json(StatusCode::OK, answer));
        }
        let Ok(name) = self.sessions.add(session.clone(), owner) else {
            session.end();
            let why = format!("{} sessions are in use; end one", self.limits.sessions);
            return Err(Refusal::busy(why).with_id(Some(id)));
        };
        let mut response = json(StatusCode::OK, answer);
        let name = HeaderValue::from_str(&name).expect("it is made of digits and letters");
        response.headers_mut().insert(SESSION, name);
        Ok(response)
    }

    /// Opens the session's own stream, or resumes a broken stream at `Last-Event-ID`.
    fn get(&self, headers: &HeaderMap, origin: &RequestOrigin) -> Result<Response<Body>, Refusal> {
        headers::accepts(headers, &[EVENTS])?;
        if headers::era_of_none(headers)? == Era::Stateless {
            return Err(Refusal::method_not_allowed("POST"));
        }
        let session = self.session(headers, origin)?;
        let routes = session.routes();
        let (number, after) = match headers::single(headers, LAST_EVENT)? {
            None => (0, None),
            Some(last) => {
                let place = last.split_once('-');
                let place = place.and_then(|(number, at)| Some((number.parse().ok()?, at.parse().ok()?)));
                let (number, at) = place.ok_or_else(|| {
                    Refusal::new(StatusCode::BAD_REQUEST, "`Last-Event-ID` is none of this server's")
                })?;
                (number, Some(at))
            }
        };
        // An error would make the client retry again and again.
        let Some(stream) = routes.resume(number) else {
            return Ok(events(Body::whole("")));
        };
        stream.keep();
        let (reader, grant) = (stream.read(after), origin.grant.clone());
        let begins_empty = headers::permit_empty_event(headers);
        Ok(events(Body::events(reader, Some(number), begins_empty, grant, session)))
    }

    fn delete(&self, headers: &HeaderMap, origin: &RequestOrigin) -> Result<Response<Body>, Refusal> {
        if headers::era_of_none(headers)? == Era::Stateless {
            return Err(Refusal::method_not_allowed("POST"));
        }
        let name = session_name(headers)?;
        if !self.sessions.end(name, owner(origin)) {
            return Err(no_session());
        }
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// Returns the session named by the headers. A session of another caller does not exist for this one.
    fn session(&self, headers: &HeaderMap, origin: &RequestOrigin) -> Result<Arc<Conversation>, Refusal> {
        let name = session_name(headers)?;
        self.sessions.get(name, owner(origin)).ok_or_else(no_session)
    }

    /// Takes a slot among the requests in flight.
    fn slot(&self, id: &RequestId, origin: &RequestOrigin) -> Result<Slot, Refusal> {
        let slot = self.intake.take(owner(origin));
        slot.map_err(|why| Refusal::busy(why).with_id(Some(id.clone())))
    }
}

/// Cancels a stateless request when dropped, as happens if its client disconnects.
struct CancelOnDrop {
    conversation: Conversation,
    id: RequestId,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.conversation.hang_up(&self.id);
    }
}

fn has_what_it_needs(message: &Map<String, Value>) -> bool {
    let meta = message.get("params").and_then(|params| params.get("_meta"));
    meta.is_some_and(|meta| REQUIRED_META.iter().all(|key| meta.get(key).is_some()))
}

/// Returns the answer if it is the first message and arrives within [`JSON_TIMEOUT`].
async fn soon(reader: &mut Reader) -> Option<Event> {
    // A timeout is fine: the answer may still be ready.
    let _ = tokio::time::timeout(JSON_TIMEOUT, reader.ready()).await;
    reader.answer()
}

/// Returns the status of an answer since 2026-07-28, from its error's code.
fn status(code: Option<i32>, has_needed_meta: bool) -> StatusCode {
    match code.map(ErrorCode) {
        Some(ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH,
        ) => StatusCode::BAD_REQUEST,
        Some(ErrorCode::INVALID_PARAMS) if !has_needed_meta => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Returns the caller, who owns the session; `None` without authentication.
fn owner(origin: &RequestOrigin) -> Option<&Identity> {
    let grant = origin.grant.as_ref()?;
    Some(grant.identity())
}

fn session_name(headers: &HeaderMap) -> Result<&str, Refusal> {
    headers::single(headers, SESSION)?.ok_or_else(|| {
        let why = "send `initialize` first, then its answer's `Mcp-Session-Id` with every request; or speak \
                   2026-07-28, with `MCP-Protocol-Version`";
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })
}

fn no_session() -> Refusal {
    let why = "there is no such session, or it has ended; open one with `initialize`";
    Refusal::new(StatusCode::NOT_FOUND, why)
}

fn accepted() -> Response<Body> {
    empty(StatusCode::ACCEPTED)
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::whole(""));
    *response.status_mut() = status;
    response
}

/// Returns an answer as JSON. In both eras, missing scopes and exceeded rates also determine the status.
fn json(status: StatusCode, answer: Event) -> Response<Body> {
    let refused = refused(&answer);
    let mut response = Response::new(Body::whole(answer.message));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    if let Some((status, header, value)) = refused {
        headers.insert(header, value);
        *response.status_mut() = status;
    }
    response
}

/// Returns the status and header for an answer that exceeds the caller's scope or rate.
fn refused(answer: &Event) -> Option<(StatusCode, HeaderName, HeaderValue)> {
    let code = answer.code.map(ErrorCode)?;
    let message: Value = serde_json::from_slice(&answer.message).ok()?;
    let data = &message["error"]["data"];
    if let Some(seconds) = data[rates::RETRY_AFTER].as_u64() {
        return Some((StatusCode::TOO_MANY_REQUESTS, RETRY_AFTER, seconds.into()));
    }
    if code != render::FORBIDDEN {
        return None;
    }
    let challenge = HeaderValue::from_str(&CallError::challenge(data)?).expect("a scope is of visible ASCII");
    Some((StatusCode::FORBIDDEN, WWW_AUTHENTICATE, challenge))
}

fn events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Otherwise a buffering proxy would hold back a question.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
