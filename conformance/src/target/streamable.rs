//! The client's side of MCP's Streamable HTTP: sends each message as a POST, and forwards the messages of the
//! responses.
//!
//! Requests are sent concurrently. Every other message is awaited, so that messages arrive in the order in which they
//! were sent. If the server refuses a request by HTTP status alone, the refusal is forwarded as a JSON-RPC error
//! without a code. The client does not open the optional GET stream for unsolicited messages.

use std::{
    io::{self, BufRead},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::error::WireError;
use crate::{
    era::Era,
    http::{Request, Response, Url, events::Events},
    report::visible,
};

/// A message received over this transport.
pub(super) type ReceivedMessage = Result<String, WireError>;

/// Header with the session's id.
pub const SESSION: &str = "Mcp-Session-Id";
/// Header with the protocol revision.
pub const REVISION: &str = "MCP-Protocol-Version";
/// Header with the method, since 2026-07-28.
pub const METHOD: &str = "Mcp-Method";
/// Header with the name of the tool or resource, since 2026-07-28.
pub const NAME: &str = "Mcp-Name";
/// Pointer to the revision in a message, since 2026-07-28.
const REVISION_IN_BODY: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// Timeout for the end of a session.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay before resuming an interrupted stream, unless the server sends one.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Number of attempts to resume a stream.
const MAX_RETRIES: usize = 20;
/// Length to which an invalid answer is cut, in characters.
const MAX_SHOWN_CHARS: usize = 300;

/// The client's side of a connection.
#[derive(Debug, Clone)]
pub(super) struct Streamable {
    shared: Arc<Shared>,
    heard: Sender<ReceivedMessage>,
}

#[derive(Debug)]
struct Shared {
    url: Url,
    era: Era,
    session: Mutex<Session>,
    /// Headers that each message gets in addition to the required ones.
    further: Mutex<Vec<(String, String)>>,
}

/// Session id and revision from `initialize`.
#[derive(Debug, Default, Clone)]
struct Session {
    id: Option<String>,
    revision: Option<String>,
}

impl Streamable {
    /// Creates a connection without a session.
    pub(super) fn new(url: Url, era: Era) -> (Self, Receiver<ReceivedMessage>) {
        let (heard, receiver) = channel();
        let session = Mutex::default();
        let further = Mutex::default();
        let shared = Arc::new(Shared { url, era, session, further });
        (Self { shared, heard }, receiver)
    }

    /// Sends a message with any content.
    ///
    /// # Errors
    /// If the message is not a request and does not arrive.
    pub(super) fn send(&self, body: &[u8], patience: Duration) -> Result<(), WireError> {
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let request = self.post(body, &message);
        let is_request =
            message["method"].is_string() && (message["id"].is_string() || message["id"].is_number());
        let talk = Exchange {
            wire: self.clone(),
            id: is_request.then(|| message["id"].clone()),
            begins: message["method"] == "initialize",
            patience,
        };
        if is_request {
            thread::spawn(move || talk.run(&request));
            return Ok(());
        }
        talk.deliver(&request)
    }

    /// Returns the POST of a message, with the required headers.
    pub(super) fn post(&self, body: &[u8], message: &Value) -> Request {
        let mut request = Request { body: body.to_vec(), ..Request::new("POST") }
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream");
        for (name, value) in self.headers(message) {
            request = request.with(name, &value);
        }
        let further = self.shared.further.lock();
        for (name, value) in &*further.unwrap_or_else(PoisonError::into_inner) {
            request = request.with(name, value);
        }
        request
    }

    /// Sets the headers that each message gets from now on in addition to the required ones.
    pub(super) fn set_headers(&self, headers: Vec<(String, String)>) {
        let mut further = self.shared.further.lock().unwrap_or_else(PoisonError::into_inner);
        *further = headers;
    }

    /// Returns true if a header identifies the caller, so that its value is a secret.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        let further = self.shared.further.lock().unwrap_or_else(PoisonError::into_inner);
        further.iter().any(|(it, _)| it.eq_ignore_ascii_case(name))
    }

    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let method = message["method"].as_str();
        if self.shared.era == Era::Session {
            // `initialize` belongs to no session yet.
            let session = match method {
                Some("initialize") => Session::default(),
                _ => self.session().clone(),
            };
            let id = session.id.map(|id| (SESSION, id));
            let revision = session.revision.map(|revision| (REVISION, revision));
            return id.into_iter().chain(revision).collect();
        }
        let revision = message.pointer(REVISION_IN_BODY).and_then(Value::as_str);
        let revision = revision.unwrap_or(self.shared.era.revision());
        let named = match method {
            Some("resources/read") => &message["params"]["uri"],
            _ => &message["params"]["name"],
        };
        let method = method.map(|method| (METHOD, encoded(method)));
        let name = named.as_str().map(|name| (NAME, encoded(name)));
        [(REVISION, encoded(revision))].into_iter().chain(method).chain(name).collect()
    }

    /// Returns the server's URL.
    pub(super) fn url(&self) -> &Url {
        &self.shared.url
    }

    /// Returns the session's id, if the server assigned one.
    pub(super) fn session_id(&self) -> Option<String> {
        self.session().id.clone()
    }

    /// Ends the session, if there is one. Ignores a refusal, which the specification permits.
    pub(super) fn end(&self) {
        let Session { id: Some(id), revision } = self.session().clone() else {
            return;
        };
        let request = Request::new("DELETE").with(SESSION, &id);
        let request = revision.iter().fold(request, |request, it| request.with(REVISION, it));
        let _ = request.send(&self.shared.url, SESSION_END_TIMEOUT);
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.shared.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Encodes a header value: unchanged if possible, else in base64.
fn encoded(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let is_sentinel = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_plain && !is_sentinel && value.trim() == value {
        return value.to_owned();
    }
    in_base64(value)
}

/// Encodes a header value in base64.
pub(crate) fn in_base64(value: &str) -> String {
    format!("=?base64?{}?=", BASE64.encode(value.as_bytes()))
}

/// A message in transit, and its response.
struct Exchange {
    wire: Streamable,
    /// Id, if the message is a request.
    id: Option<Value>,
    /// True if the message begins a session.
    begins: bool,
    patience: Duration,
}

impl Exchange {
    /// Sends a request and forwards the response, or an error if the response is not an answer.
    fn run(self, request: &Request) {
        let mut answered = false;
        let why = match self.converse(request, &mut answered) {
            _ if answered => return,
            Ok(why) => self.refusal(&why),
            Err(error) => Err(error),
        };
        // The receiver is gone once the target is dropped.
        let _ = self.wire.heard.send(why);
    }

    /// Sends a message that is not a request. The response is forwarded if the server accepted it; otherwise it is dropped.
    fn deliver(&self, request: &Request) -> Result<(), WireError> {
        let sent = request.send(&self.wire.shared.url, self.patience);
        let mut response = sent.map_err(|error| self.error(error))?;
        if response.media_type() == "text/event-stream" {
            let talk = Self { wire: self.wire.clone(), id: None, ..*self };
            thread::spawn(move || talk.forward_all(&mut Events::new(response.body), &mut false));
            return Ok(());
        }
        let body = response.bytes().map_err(|error| self.error(error))?;
        if (200..300).contains(&response.status) && !body.trim_ascii().is_empty() {
            let _ = self.wire.heard.send(Ok(String::from_utf8_lossy(&body).into_owned()));
        }
        Ok(())
    }

    /// Sends the request and forwards all messages; returns why there was no answer.
    fn converse(&self, request: &Request, answered: &mut bool) -> Result<MissingAnswer, WireError> {
        let sent = request.send(&self.wire.shared.url, self.patience);
        let mut response = sent.map_err(|error| self.error(error))?;
        if self.begins {
            // Set before the answer is forwarded, so that the next message belongs to the session.
            self.wire.session().id = response.header(SESSION).map(str::to_owned);
        }
        for _ in 0..MAX_RETRIES {
            if response.media_type() != "text/event-stream" {
                return self.whole(response, answered);
            }
            let title = response.title();
            let mut events = Events::new(response.body);
            let ended = self.forward_all(&mut events, answered);
            let resumable = events.last_id.is_some() && self.wire.shared.era == Era::Session;
            let id = events.last_id.filter(|_| resumable && !*answered);
            let Some(id) = id else {
                ended?;
                return Ok(MissingAnswer::new(format!("{title}, with a stream that ended")));
            };
            thread::sleep(events.retry.unwrap_or(RETRY_INTERVAL));
            let again = Request::new("GET").with("Accept", "text/event-stream").with("Last-Event-ID", &id);
            let headers = self.wire.headers(&Value::Null);
            let again = headers.iter().fold(again, |again, (name, value)| again.with(name, value));
            let sent = again.send(&self.wire.shared.url, self.patience);
            response = sent.map_err(|error| self.error(error))?;
        }
        Ok(MissingAnswer::new("a stream that was interrupted too often".to_owned()))
    }

    /// Forwards every message of a stream, up to its end.
    fn forward_all(&self, events: &mut Events<impl BufRead>, answered: &mut bool) -> Result<(), WireError> {
        loop {
            match events.next_data() {
                Ok(Some(data)) => self.forward(data, answered),
                Ok(None) => return Ok(()),
                Err(_) if *answered => return Ok(()),
                Err(error) => return Err(self.error(error)),
            }
        }
    }

    /// Forwards the message in a body.
    fn whole(&self, mut response: Response, answered: &mut bool) -> Result<MissingAnswer, WireError> {
        let body = response.bytes().map_err(|error| self.error(error))?;
        let text = String::from_utf8_lossy(&body).into_owned();
        let message: Value = serde_json::from_str(&text).unwrap_or_default();
        let is_fine = (200..300).contains(&response.status);
        let is_mine = self.id.as_ref() == message.get("id");
        let is_json = response.media_type() == "application/json" && !text.trim().is_empty();
        if is_mine || (is_fine && is_json) {
            self.forward(text.clone(), answered);
        }
        let excerpt = visible::cut(text.trim(), MAX_SHOWN_CHARS);
        let excerpt = if excerpt.is_empty() { "nothing".to_owned() } else { format!("`{excerpt}`") };
        Ok(MissingAnswer {
            why: format!("{}, and {excerpt}", response.title()),
            code: message["error"]["code"].as_i64(),
        })
    }

    fn forward(&self, text: String, answered: &mut bool) {
        let message: Value = serde_json::from_str(&text).unwrap_or_default();
        if message.get("method").is_none() && self.id.is_some() && self.id.as_ref() == message.get("id") {
            *answered = true;
            if self.begins
                && let Some(revision) = message["result"]["protocolVersion"].as_str()
            {
                self.wire.session().revision = Some(revision.to_owned());
            }
        }
        let _ = self.wire.heard.send(Ok(text));
    }

    /// Returns the error that replaces a missing answer.
    fn refusal(&self, missing: &MissingAnswer) -> ReceivedMessage {
        let mut error = json!({ "message": format!("no answer, but {}", missing.why) });
        if let Some(code) = missing.code {
            error["code"] = code.into();
        }
        Ok(json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string())
    }

    fn error(&self, error: io::Error) -> WireError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => WireError::Closed,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => WireError::Silent(self.patience),
            _ => WireError::Io(error),
        }
    }
}

/// Reason why a request has no answer.
struct MissingAnswer {
    why: String,
    /// Code of an error response without the request's id.
    code: Option<i64>,
}

impl MissingAnswer {
    fn new(why: String) -> Self {
        Self { why, code: None }
    }
}

#[cfg(test)]
mod tests;
