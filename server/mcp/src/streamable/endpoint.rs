//! One library's MCP over HTTP: each request, and what it is answered with.

use std::{sync::Arc, time::Duration};

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Bytes,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use serde_json::{Map, Value};
use tabellion_runtime::rates;
use tokio::sync::Semaphore;

use super::{
    body::Body,
    conversation::{Arrival, Conversation},
    headers::{self, EVENTS, JSON, LAST_EVENT, SESSION},
    refusal::Refusal,
    sessions::Sessions,
    stream::{Event, Reader},
};
use crate::{
    access::Budget,
    access::Grant,
    adapter::{self, Adapter, Provenance},
    calls::Calls,
    ending::Ending,
    handler::Era,
    in_flight::Slot,
    message::{self, Incoming},
};

/// An answer that comes this soon is plain JSON. For what takes longer, a stream is opened, so that the client sees that
/// it was heard.
const SOON: Duration = Duration::from_secs(2);
const METHODS: &str = "GET, POST, DELETE";
/// What a request since 2026-07-28 must have in `_meta`.
const NEEDED: [&str; 2] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
];

/// How much one endpoint does at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests that are being answered, also those that wait for a person or for news. More are refused with 503.
    pub in_flight: u32,
    /// Sessions. For one more, the one ends in which nothing has happened for the longest time.
    pub sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 256,
            sessions: 1024,
        }
    }
}

/// One library's MCP over HTTP.
pub struct Endpoint {
    adapter: Adapter,
    sessions: Sessions,
    slots: Arc<Semaphore>,
    limits: Limits,
    ending: Arc<Ending>,
}

impl Endpoint {
    /// Serves what `adapter` has.
    pub fn new(adapter: Adapter, limits: Limits) -> Self {
        Self {
            adapter,
            sessions: Sessions::new(limits.sessions),
            slots: Arc::new(Semaphore::new(limits.in_flight as usize)),
            limits,
            ending: Arc::default(),
        }
    }

    /// Answers a request, which the log calls `name`; `grant` says who makes it and what they may do, if anybody is asked,
    /// and `budget` how often they may, if that is counted.
    pub async fn answer(
        &self,
        request: Request<Bytes>,
        name: Arc<str>,
        grant: Option<Arc<dyn Grant>>,
        budget: Option<Arc<dyn Budget>>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        let provenance = Provenance {
            request: name,
            grant,
            budget,
        };
        let answer = match head.method {
            _ if !self.is_open() => Err(Refusal::busy("the server is about to end")),
            Method::POST => self.post(&head.headers, &body, provenance).await,
            Method::GET => self.get(&head.headers, &provenance),
            Method::DELETE => self.delete(&head.headers, &provenance),
            _ => Err(Refusal::method_not_allowed(METHODS)),
        };
        answer.unwrap_or_else(Response::from)
    }

    /// Takes no more requests, and lets go whoever waits for a person or for news.
    pub fn end(&self) {
        self.ending.ask();
    }

    /// Waits until nothing is in flight.
    pub async fn idle(&self) {
        let _all = self.slots.acquire_many(self.limits.in_flight).await;
    }

    /// Whether it takes requests.
    pub fn is_open(&self) -> bool {
        !self.ending.is_asked()
    }

    /// How many requests are being answered.
    pub fn in_flight(&self) -> usize {
        self.limits.in_flight as usize - self.slots.available_permits()
    }

    /// How many sessions are open.
    pub fn sessions(&self) -> usize {
        self.sessions.count()
    }

    /// The calls of tools that there were.
    pub fn calls(&self) -> &Calls {
        self.adapter.calls()
    }

    async fn post(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        provenance: Provenance,
    ) -> Result<Response<Body>, Refusal> {
        headers::accepts(headers, &[JSON, EVENTS])?;
        headers::is_json(headers)?;
        let message = message::object(body)?;
        match headers::era_of(headers, &message)? {
            Era::Session => self.in_session(headers, message, provenance).await,
            Era::Stateless => {
                let is_complete = has_what_it_needs(&message);
                self.alone(message::envelope(message), is_complete, provenance)
                    .await
            }
        }
    }

    /// A message that stands for itself. Whether its `_meta` is complete makes a difference to the answer's status.
    async fn alone(
        &self,
        message: Incoming,
        is_complete: bool,
        provenance: Provenance,
    ) -> Result<Response<Body>, Refusal> {
        let (id, request) = match message {
            Incoming::Request(id, request) => (id, request),
            Incoming::Refused(id, error) => return Err((id, Box::new(error)).into()),
            // What is not asked for can only be about something else, which there is not.
            Incoming::Notification(_) | Incoming::Reply(..) | Incoming::Nothing => return Ok(accepted()),
        };
        let slot = self.slot(&id)?;
        let conversation = Conversation::single(self.adapter.for_another(), &self.ending);
        let grant = provenance.grant.clone();
        let arrival = Arrival { slot, provenance };
        let asked = conversation.request(&id, *request, arrival).await;
        let (_, stream) = asked.map_err(|error| Refusal::from((Some(id.clone()), error.into())))?;
        let held = Patron { conversation, id };
        let mut reader = stream.read(None);
        Ok(match soon(&mut reader).await {
            Some(answer) => {
                let status = status(answer.code, is_complete);
                json(status, answer)
            }
            None => events(Body::events(reader, None, grant, held)),
        })
    }

    async fn in_session(
        &self,
        headers: &HeaderMap,
        message: Map<String, Value>,
        provenance: Provenance,
    ) -> Result<Response<Body>, Refusal> {
        let (id, request) = match message::envelope(message) {
            Incoming::Request(id, request) => (id, request),
            Incoming::Refused(id, error) => return Err((id, Box::new(error)).into()),
            other => {
                let session = self.session(headers, &provenance)?;
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
            return self.begin(id, *request, provenance).await;
        }
        if !headers.contains_key(SESSION) {
            // It is told what it lacks, as it would be over lines.
            return self
                .alone(Incoming::Request(id, request), false, provenance)
                .await;
        }
        let session = self
            .session(headers, &provenance)
            .map_err(|refusal| refusal.of(Some(id.clone())))?;
        let grant = provenance.grant.clone();
        let arrival = Arrival {
            slot: self.slot(&id)?,
            provenance,
        };
        let asked = session.request(&id, *request, arrival).await;
        let (number, stream) = asked.map_err(|error| Refusal::from((Some(id), error.into())))?;
        let mut reader = stream.read(None);
        if let Some(answer) = soon(&mut reader).await {
            return Ok(json(StatusCode::OK, answer));
        }
        stream.keep();
        Ok(events(Body::events(reader, Some(number), grant, ())))
    }

    /// Begins a session.
    async fn begin(
        &self,
        id: RequestId,
        request: ClientRequest,
        provenance: Provenance,
    ) -> Result<Response<Body>, Refusal> {
        let slot = self.slot(&id)?;
        let session = Arc::new(Conversation::session(self.adapter.for_another(), &self.ending));
        let owner = owner(&provenance).map(str::to_owned);
        let arrival = Arrival { slot, provenance };
        let asked = session.request(&id, request, arrival).await;
        let (_, stream) = asked.map_err(|error| Refusal::from((Some(id.clone()), error.into())))?;
        let answer = stream.read(None).next().await;
        let Some(answer) = answer else {
            return Err(Refusal::busy("the server is about to end").of(Some(id)));
        };
        if answer.code.is_some() {
            session.end();
            return Ok(json(StatusCode::OK, answer));
        }
        let Ok(name) = self.sessions.add(session.clone(), owner) else {
            session.end();
            let why = format!("{} sessions are in use; end one", self.limits.sessions);
            return Err(Refusal::busy(why).of(Some(id)));
        };
        let mut response = json(StatusCode::OK, answer);
        let name = HeaderValue::from_str(&name).expect("it is made of digits and letters");
        response.headers_mut().insert(SESSION, name);
        Ok(response)
    }

    /// What the session has to say by itself, or a stream that broke, from the place on where it did.
    fn get(&self, headers: &HeaderMap, provenance: &Provenance) -> Result<Response<Body>, Refusal> {
        headers::accepts(headers, &[EVENTS])?;
        if headers::era_of_none(headers)? == Era::Stateless {
            return Err(Refusal::method_not_allowed("POST"));
        }
        let session = self.session(headers, provenance)?;
        let routes = session.routes();
        let (number, after) = match headers::single(headers, LAST_EVENT)? {
            None => (0, None),
            Some(last) => {
                let place = last.split_once('-');
                let place = place.and_then(|(number, at)| Some((number.parse().ok()?, at.parse().ok()?)));
                let (number, at) = place.ok_or_else(|| {
                    Refusal::new(
                        StatusCode::BAD_REQUEST,
                        "`Last-Event-ID` is none of this server's",
                    )
                })?;
                (number, Some(at))
            }
        };
        // A client that were told of an error would ask for it again and again.
        let Some(stream) = routes.again(number) else {
            return Ok(events(Body::whole("")));
        };
        stream.keep();
        let (reader, grant) = (stream.read(after), provenance.grant.clone());
        Ok(events(Body::events(reader, Some(number), grant, session)))
    }

    fn delete(&self, headers: &HeaderMap, provenance: &Provenance) -> Result<Response<Body>, Refusal> {
        if headers::era_of_none(headers)? == Era::Stateless {
            return Err(Refusal::method_not_allowed("POST"));
        }
        let name = session_name(headers)?;
        if !self.sessions.end(name, owner(provenance)) {
            return Err(no_session());
        }
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// The session that is named. Somebody else's is none.
    fn session(&self, headers: &HeaderMap, provenance: &Provenance) -> Result<Arc<Conversation>, Refusal> {
        let name = session_name(headers)?;
        self.sessions.get(name, owner(provenance)).ok_or_else(no_session)
    }

    /// A place among the requests in flight.
    fn slot(&self, id: &RequestId) -> Result<Slot, Refusal> {
        let slot = self.slots.clone().try_acquire_owned();
        slot.map(Arc::new).map_err(|_| {
            let why = format!("{} requests are being answered; try again", self.limits.in_flight);
            Refusal::busy(why).of(Some(id.clone()))
        })
    }
}

/// Whoever waits for the answer to a request that stands for itself. When they hang up, it is cancelled.
struct Patron {
    conversation: Conversation,
    id: RequestId,
}

impl Drop for Patron {
    fn drop(&mut self) {
        self.conversation.hang_up(&self.id);
    }
}

fn has_what_it_needs(message: &Map<String, Value>) -> bool {
    let meta = message.get("params").and_then(|params| params.get("_meta"));
    meta.is_some_and(|meta| NEEDED.iter().all(|key| meta.get(key).is_some()))
}

/// The answer, if it is the first thing that is said, and soon.
async fn soon(reader: &mut Reader) -> Option<Event> {
    // In vain is not too late.
    let _ = tokio::time::timeout(SOON, reader.ready()).await;
    reader.answer()
}

/// The status of an answer since 2026-07-28, by its error's code.
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

/// Whose a session is.
fn owner(provenance: &Provenance) -> Option<&str> {
    let grant = provenance.grant.as_ref()?;
    Some(grant.id())
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

/// An answer. In both eras, who may not do what they ask for, or not yet, is told so by the status as well.
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

/// What HTTP says of an answer that there is nothing because of who asks.
fn refused(answer: &Event) -> Option<(StatusCode, HeaderName, HeaderValue)> {
    let code = answer.code.map(ErrorCode)?;
    let message: Value = serde_json::from_slice(&answer.message).ok()?;
    let data = &message["error"]["data"];
    if let Some(seconds) = data[rates::RETRY_AFTER].as_u64() {
        return Some((StatusCode::TOO_MANY_REQUESTS, RETRY_AFTER, seconds.into()));
    }
    if code != adapter::FORBIDDEN {
        return None;
    }
    let scope = data["scope"].as_str()?;
    let challenge = format!(r#"Bearer realm="tabellion", error="insufficient_scope", scope="{scope}""#);
    let challenge = HeaderValue::from_str(&challenge).expect("a scope is of visible ASCII");
    Some((StatusCode::FORBIDDEN, WWW_AUTHENTICATE, challenge))
}

fn events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // A proxy that gathers a stream before it hands it on would hold up a question.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
