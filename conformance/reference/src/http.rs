//! MCP's Streamable HTTP at `/mcp`, in both eras: with sessions, and with self-contained requests.
//!
//! Each connection carries one request, and has its own thread and library. Requests of a session are answered with
//! event streams, self-contained requests with plain JSON; the specification permits both.

use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    library::Library,
    mutant::{self, Mutant},
    wire::{
        INVALID_REQUEST, PARSE_ERROR, SESSIONS, STATELESS, Session, UNKNOWN_METHOD, UNSUPPORTED_VERSION,
        VERSION_KEY, error,
    },
};

/// Size of the largest body.
const MAX_BODY_BYTES: u64 = 64 << 20;
/// Error code: the headers of a message contradict its body.
const HEADER_MISMATCH: i64 = -32020;

/// Serves the library at `root` until the process ends.
pub(super) fn serve(root: &Path, address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let sessions = Mutex::default();
    thread::scope(|scope| {
        for stream in listener.incoming() {
            let (stream, sessions) = (stream?, &sessions);
            // A client that disconnects only loses its answer.
            scope.spawn(move || drop(answer(root, sessions, &stream)));
        }
        Ok(())
    })
}

/// Answers the one request of a connection.
fn answer(root: &Path, sessions: &Mutex<Sessions>, stream: &TcpStream) -> io::Result<()> {
    let request = Request::read(stream)?;
    let library = Library::open(root).map_err(|failure| io::Error::other(failure.message))?;
    let server = Server { library: &library, sessions };
    let written = server.answer(&request).write(stream);
    library.finish();
    written
}

struct Server<'a> {
    library: &'a Library,
    sessions: &'a Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    open: HashSet<String>,
    begun: usize,
    /// Answers of a mutant, by request id.
    answered: HashMap<String, Value>,
}

/// An HTTP request, with the parts that this server reads.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// Headers, with names in lower case.
    pub(super) headers: HashMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut stream = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            stream.by_ref().take(1 << 16).read_line(&mut line)?;
            io::Result::Ok(line.trim_end().to_owned())
        };
        let first = line()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = HashMap::new();
        loop {
            let header = line()?;
            let Some((name, value)) = header.split_once(':') else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let mut body = Vec::new();
        let length = headers.get("content-length").and_then(|length| length.parse().ok());
        stream.take(length.unwrap_or(0).min(MAX_BODY_BYTES)).read_to_end(&mut body)?;
        Ok(Self { method, path, headers, body })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// An HTTP response.
struct Answer {
    status: u16,
    /// Id of a new session.
    session: Option<String>,
    body: Option<Value>,
    /// True if the body is sent as an event.
    is_event: bool,
}

impl Answer {
    fn new(status: u16, body: Option<Value>) -> Self {
        Self { status, session: None, body, is_event: false }
    }

    fn refusal(status: u16, id: Option<Value>, code: i64, message: &str) -> Self {
        Self::new(status, Some(error(id, code, message)))
    }

    fn write(&self, mut stream: &TcpStream) -> io::Result<()> {
        let (media, body) = match &self.body {
            None => (None, String::new()),
            Some(body) if self.is_event => {
                // The first event has an id and no data, as the specification recommends.
                let events = format!("id: 1\ndata:\n\nevent: message\nid: 2\ndata: {body}\n\n");
                (Some("text/event-stream"), events)
            }
            Some(body) => (Some("application/json"), body.to_string()),
        };
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let mut add = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
        let media = media.filter(|_| !mutant::is(Mutant::HttpNoMediaType));
        media.into_iter().for_each(|media| add("Content-Type", media));
        self.session.iter().for_each(|id| add("Mcp-Session-Id", id));
        if self.status == 405 {
            add("Allow", "POST, DELETE");
        }
        add("Connection", "close");
        if self.is_event {
            add("Transfer-Encoding", "chunked");
            head.push_str(&format!("\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()));
        } else {
            add("Content-Length", &body.len().to_string());
            head.push_str(&format!("\r\n{body}"));
        }
        stream.write_all(head.as_bytes())
    }
}

pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Method Not Allowed",
    }
}

impl Server<'_> {
    fn answer(&self, request: &Request) -> Answer {
        let is_known = request.header("origin").is_none_or(is_local) || mutant::is(Mutant::HttpAnyOrigin);
        if !is_known {
            return Answer::refusal(403, None, INVALID_REQUEST, "the origin is not allowed");
        }
        match (request.path.as_str(), request.method.as_str()) {
            ("/mcp", "POST") => self.post(request),
            ("/mcp", "PUT") if mutant::is(Mutant::HttpServesPut) => self.post(request),
            ("/mcp", "DELETE") => self.delete(request),
            ("/mcp", "GET") if mutant::is(Mutant::HttpGetSaysHello) => Answer::new(200, Some(json!("hello"))),
            ("/mcp", _) => Answer::new(405, None),
            _ => Answer::new(404, None),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn delete(&self, request: &Request) -> Answer {
        let id = request.header("mcp-session-id").unwrap_or_default();
        if mutant::is(Mutant::HttpSessionStays) {
            return Answer::new(200, None);
        }
        if self.sessions().open.remove(id) {
            Answer::new(200, None)
        } else {
            Answer::refusal(404, None, INVALID_REQUEST, "the session does not exist")
        }
    }

    fn post(&self, request: &Request) -> Answer {
        mutant::before_line(&request.body);
        let message = match serde_json::from_slice::<Value>(&request.body) {
            Ok(message @ Value::Object(_)) => message,
            Ok(_) if mutant::is(Mutant::HttpBadBodyIsFine) => return Answer::new(202, None),
            Ok(_) => {
                return Answer::refusal(
                    malformed_status(),
                    None,
                    INVALID_REQUEST,
                    "a message must be an object",
                );
            }
            Err(wrong) => return Answer::refusal(malformed_status(), None, PARSE_ERROR, &wrong.to_string()),
        };
        let stated = message["params"]["_meta"][VERSION_KEY].as_str();
        let version = request.header("mcp-protocol-version");
        if version == Some(STATELESS) || stated.is_some() {
            return self.stateless(request, &message, version, stated);
        }
        let is_known = version.is_none_or(|version| SESSIONS.contains(&version));
        if !is_known && !mutant::is(Mutant::HttpAnyVersion) {
            let id = message.get("id").cloned();
            return Answer::refusal(400, id, INVALID_REQUEST, "this protocol revision is not supported");
        }
        self.in_session(request, &message)
    }

    /// Answers a self-contained request.
    fn stateless(
        &self,
        request: &Request,
        message: &Value,
        version: Option<&str>,
        stated: Option<&str>,
    ) -> Answer {
        let method = message["method"].as_str();
        let name = message["params"]["name"].as_str().filter(|_| method == Some("tools/call"));
        let says = |header: &str, value: &str| {
            let encoded = format!("=?base64?{}?=", BASE64_STANDARD.encode(value));
            request.header(header).is_some_and(|it| it == value || it == encoded)
        };
        let agrees = stated.is_none_or(|stated| version == Some(stated))
            && method.is_none_or(|method| says("mcp-method", method))
            && name.is_none_or(|name| says("mcp-name", name));
        let id = message.get("id").cloned();
        if !agrees && id.is_some() && !mutant::is(Mutant::HttpIgnoresHeaders) {
            let why = "the headers contradict the body";
            return Answer::refusal(400, id, HEADER_MISMATCH, why);
        }
        match self.session_answer(Session::new(self.library), request, message) {
            None => Answer::new(accepted_status(), None),
            Some(answer) => {
                let status = match answer["error"]["code"].as_i64() {
                    Some(UNKNOWN_METHOD) if !mutant::is(Mutant::HttpUnknownMethodIsFine) => 404,
                    Some(UNSUPPORTED_VERSION | PARSE_ERROR | INVALID_REQUEST) => malformed_status(),
                    _ => 200,
                };
                Answer::new(status, Some(answer))
            }
        }
    }

    fn in_session(&self, request: &Request, message: &Value) -> Answer {
        let id = message.get("id").cloned();
        if message["method"] == "initialize" {
            let answer = Session::new(self.library).answer(&request.body);
            let mut sessions = self.sessions();
            sessions.begun += 1;
            let name = format!("{}-{}", std::process::id(), sessions.begun);
            sessions.open.insert(name.clone());
            return Answer { session: Some(name), is_event: true, ..Answer::new(200, answer) };
        }
        let Some(name) = request.header("mcp-session-id") else {
            let why = "send `initialize` first, or the session's id in `Mcp-Session-Id`";
            return Answer::refusal(400, id, INVALID_REQUEST, why);
        };
        if !self.sessions().open.contains(name) {
            let status = if mutant::is(Mutant::HttpUnknownSessionIsBad) { 400 } else { 404 };
            return Answer::refusal(status, id, INVALID_REQUEST, "the session does not exist");
        }
        match self.session_answer(Session::opened(self.library), request, message) {
            None => Answer::new(accepted_status(), None),
            Some(answer) if answer["error"]["code"] == INVALID_REQUEST => {
                Answer::new(malformed_status(), Some(answer))
            }
            Some(answer) => Answer { is_event: true, ..Answer::new(200, Some(answer)) },
        }
    }

    /// Returns a session's answer; a mutant may return another client's.
    fn session_answer(&self, mut session: Session<'_>, request: &Request, message: &Value) -> Option<Value> {
        let answer = session.answer(&request.body)?;
        if mutant::is(Mutant::HttpMixesClients) && message["method"] == "tools/call" {
            let mut sessions = self.sessions();
            let first = sessions.answered.entry(message["id"].to_string()).or_insert(answer);
            return Some(first.clone());
        }
        Some(answer)
    }
}

/// Returns the status for a malformed message.
fn malformed_status() -> u16 {
    if mutant::is(Mutant::HttpBadBodyIsFine) { 200 } else { 400 }
}

/// Returns the status for a message without an answer.
fn accepted_status() -> u16 {
    if mutant::is(Mutant::HttpNotificationsAreOk) { 200 } else { 202 }
}

/// Returns true if pages of this origin may send requests.
fn is_local(origin: &str) -> bool {
    let host = origin.split("://").nth(1).unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}
