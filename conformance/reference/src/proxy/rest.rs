//! Defects of notices over HTTP: of REST, of the records of calls, and of sessions and their limits. Requests pass one by one.

use std::{
    env, fs,
    io::{self, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant, SystemTime},
};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tabellion_conformance::http::{Request, Url};

use super::{
    board::{CONTRACT, OWNER},
    disk::git,
    record::Record,
};
use crate::{
    http::{self, reason},
    mutant::{self, Mutant},
};

/// The environment variable that sets the server's clock ahead.
pub(crate) const CLOCK_OFFSET: &str = "TABELLION_CLOCK_OFFSET";
/// Time limit of a client's request, and of the server's start and answers.
const TIMEOUT: Duration = Duration::from_secs(20);
/// An id that no execution and no session has.
const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";
/// Paths of executions and sessions.
const EXECUTIONS: &str = "/mcp/executions/";
const SESSIONS: &str = "/mcp/sessions";
/// Fact of this process: it has permitted one call more.
const MORE: &str = "more";
/// Name of a shared list: the sessions that have ended.
const ENDED: &str = "ended";
/// Header of the session of a call.
const SESSION: &str = "x-session-id";

/// The scope of each role's key, and its agent.
const KEYS: [(&str, &str, Option<&str>); 4] = [
    (OWNER, "write", None),
    ("reviewer", "review", None),
    ("reader", "read", None),
    ("agent", "write", Some("helper@1")),
];

/// Returns the header by which each role's caller is known.
pub(crate) fn role_headers() -> Vec<(String, String, String)> {
    KEYS.iter().map(|(role, ..)| (String::from(*role), "Authorization".into(), bearer(role))).collect()
}

fn bearer(role: &str) -> String {
    format!("Bearer tbl_{}_{}", &digest(role)[..16], digest(role))
}

fn digest(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// Serves at `address` with the server that `command` starts, until the process ends.
///
/// # Errors
/// If the server does not start, or an address is in use.
pub fn serve_at(command: &[String], address: SocketAddr) -> io::Result<()> {
    let mut server = Server::start(command)?;
    for stream in TcpListener::bind(address)?.incoming() {
        let stream = stream?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let answer = ClientRequest::read(&stream).and_then(|asked| server.answer(asked));
        // A client that disconnects only loses its answer.
        drop(answer.and_then(|answer| answer.write(&stream)));
    }
    Ok(())
}

/// The server behind the proxy, and the memory of a defect.
struct Server {
    url: Url,
    library: PathBuf,
    record: Record,
}

/// An answer of the server.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Server {
    fn start(command: &[String]) -> io::Result<Self> {
        let [program, .., library] = command else {
            return Err(io::Error::other("name the correct server after `--`"));
        };
        let library = PathBuf::from(library);
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let keys = write_keys(&library)?;
        Command::new(program).args(&command[1..]).arg(address.to_string()).arg(keys).spawn()?;
        let until = Instant::now() + TIMEOUT;
        while TcpStream::connect(address).is_err() {
            if Instant::now() > until {
                return Err(io::Error::other("the server does not start"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        let url = Url::parse(&format!("http://{address}/")).map_err(io::Error::other)?;
        Ok(Self { url, record: Record::open(&library)?, library })
    }

    fn send(&self, path: &str, request: &Request) -> io::Result<Answer> {
        let mut response = request.send(&Url { path: path.to_owned(), ..self.url.clone() }, TIMEOUT)?;
        let body = response.bytes()?;
        Ok(Answer { status: response.status, headers: response.headers, body })
    }

    /// Answers a request as the mutant does.
    fn answer(&mut self, mut asked: ClientRequest) -> io::Result<Answer> {
        let Some(mutant) = mutant::current() else {
            return self.send(&asked.path, &asked.request);
        };
        let is_call = asked.is_call();
        match mutant {
            Mutant::RestIgnoresKeys => asked.request = asked.request.without("idempotency-key"),
            Mutant::RestIgnoresIfMatch => asked.request = asked.request.without("if-match"),
            Mutant::CallsAreNoUse => self.name_no_session_if_old(&mut asked),
            Mutant::LimitsOfCallers if is_call => {
                if let Some(exhausted) = self.record.here(&asked.caller).and_then(Value::as_str) {
                    asked.request = asked.request.with(SESSION, exhausted);
                }
            }
            _ => {}
        }
        let mut answer = self.send(&asked.path, &asked.request)?;
        if answer.status >= 400 {
            return self.after_refusal(mutant, &asked, answer);
        }
        self.remember(&asked, &answer.json())?;
        match mutant {
            Mutant::RestLosesMembers if is_call => answer.edit(|body| remove(&mut body["result"], "status")),
            Mutant::RestSaysNumbers if is_call => answer.edit(|body| body["created_at"] = 0.into()),
            Mutant::RestDescribesOneLess if asked.path.ends_with("/openapi.json") => answer.edit(|body| {
                if let Some(paths) = body["paths"].as_object_mut() {
                    paths.retain(|path, _| !path.contains(CONTRACT.tools[0].name));
                }
            }),
            Mutant::CommitsNameNoExecution if is_call && answer.json()["commit"].is_string() => {
                let message = git(&self.library, &["log", "-1", "--format=%s"])?;
                git(&self.library, &["commit", "--quiet", "--amend", "-m", &message])?;
            }
            _ => {}
        }
        if asked.path.starts_with(EXECUTIONS) {
            let is_ours = self.record.list_here(EXECUTIONS).contains(&asked.path.as_str().into());
            match mutant {
                Mutant::ExecutionsNameNoCommit => answer.edit(|body| remove(body, "commit")),
                Mutant::ExecutionsSucceed => answer.edit(|body| body["status"] = "success".into()),
                Mutant::ExecutionsRunForEver if !is_ours => {
                    answer.edit(|body| body["status"] = "running".into())
                }
                Mutant::ExecutionsOfAProcess if !is_ours => {
                    answer = self.send(&[EXECUTIONS, UNKNOWN].concat(), &asked.request)?;
                }
                _ => {}
            }
        }
        Ok(answer)
    }

    /// Answers a request that the server refused.
    fn after_refusal(
        &mut self,
        mutant: Mutant,
        asked: &ClientRequest,
        mut answer: Answer,
    ) -> io::Result<Answer> {
        let ClientRequest { path, request, session, caller } = asked;
        let as_owner = || request.clone().with("Authorization", &bearer(OWNER));
        let (exceeds, is_unknown) = (answer.status == 429, answer.status == 401);
        if asked.is_call() && self.forgives(mutant, session, exceeds, is_unknown) {
            return self.in_new_session(asked);
        }
        match mutant {
            Mutant::RestRefusesWith200 => answer.status = 200,
            Mutant::RestRefusesAsProblem => {
                let status = answer.status;
                answer.edit(|body| {
                    let detail = body["error"]["message"].take();
                    *body = json!({ "status": status, "title": reason(status), "detail": detail });
                });
                answer.set_header("Content-Type", "application/problem+json");
            }
            Mutant::RestMakesThenRefuses if asked.is_call() && is_unknown => {
                self.send(path, &as_owner())?;
            }
            Mutant::RestSaysNoTime => {
                answer.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("retry-after"))
            }
            Mutant::ExecutionsOfAnyone if path.starts_with(EXECUTIONS) => {
                return self.send(path, &as_owner());
            }
            Mutant::RefusalsAreCommits if asked.is_call() => {
                git(&self.library, &["commit", "--quiet", "--allow-empty", "-m", "refused"])?;
            }
            Mutant::LimitsOfCallers if asked.is_call() && exceeds => {
                self.record.set_here(caller, session.as_str().into())
            }
            Mutant::AnySessions if path == SESSIONS && exceeds => {
                answer.status = 201;
                answer.body = json!({ "session_id": UNKNOWN, "status": "active" }).to_string().into();
            }
            _ => {}
        }
        Ok(answer)
    }

    /// Returns true if the mutant makes a call that exceeds the limit of its session, or whose session is unknown.
    fn forgives(&mut self, mutant: Mutant, session: &str, exceeds: bool, is_unknown: bool) -> bool {
        let age = self.age(session);
        let has_ended = self.record.find(ENDED, |it| *it == session).is_some();
        let most = CONTRACT.sessions.map_or(0.0, |spec| spec.seconds.into());
        match mutant {
            Mutant::LimitIsIgnored => exceeds,
            Mutant::LimitPermitsOneMore if exceeds => {
                let is_first = self.record.here(MORE).is_none();
                self.record.set_here(MORE, true.into());
                is_first
            }
            Mutant::LimitsOfAProcess => {
                let calls = self.record.list_here(session).len();
                exceeds && calls < CONTRACT.rate_limits[0].calls.get() as usize
            }
            Mutant::EndedSessionsLive => is_unknown && has_ended,
            Mutant::SessionsOfAnyone => is_unknown && age.is_some() && !has_ended,
            Mutant::IdleSessionsLive => is_unknown && age.is_some_and(|age| age < most),
            Mutant::OldSessionsLive => is_unknown && age.is_some_and(|age| age >= most),
            _ => false,
        }
    }

    /// Returns the time in seconds since a session was opened; `None` if none has this id.
    fn age(&self, session: &str) -> Option<f64> {
        let opened = self.record.find(SESSIONS, |it| it[0] == session)?;
        Some(seconds() - opened[1].as_f64()?)
    }

    /// Remembers the sessions and executions of a request that was not refused.
    fn remember(&mut self, asked: &ClientRequest, body: &Value) -> io::Result<()> {
        if asked.path == SESSIONS {
            self.record.keep(SESSIONS, json!([body["session_id"], seconds()]))?;
        }
        if asked.request.method == "DELETE" {
            self.record.keep(ENDED, body["session_id"].clone())?;
        }
        if asked.is_call() {
            self.record.list_here(&asked.session).push(true.into());
            let id = body["execution_id"].as_str().unwrap_or_default();
            self.record.list_here(EXECUTIONS).push([EXECUTIONS, id].concat().into());
        }
        Ok(())
    }

    /// Makes a call in a session that exists for it alone.
    fn in_new_session(&self, asked: &ClientRequest) -> io::Result<Answer> {
        let with = |method| Request { method, body: Vec::new(), ..asked.request.clone() };
        let opened = self.send(SESSIONS, &with("POST"))?.json();
        let id = opened["session_id"].as_str().unwrap_or_default();
        let answer = self.send(&asked.path, &asked.request.clone().with(SESSION, id))?;
        self.send(&format!("{SESSIONS}/{id}"), &with("DELETE"))?;
        Ok(answer)
    }

    /// Names a session that does not exist in place of one that was opened longer ago than it may be idle.
    fn name_no_session_if_old(&self, asked: &mut ClientRequest) {
        let in_path = asked.path.strip_prefix(SESSIONS).and_then(|id| id.strip_prefix('/'));
        let named = in_path.unwrap_or(&asked.session);
        let idle = CONTRACT.sessions.map_or(0.0, |spec| spec.idle_seconds.into());
        if self.age(named).is_some_and(|age| age >= idle) {
            asked.path = asked.path.replace(named, UNKNOWN);
            asked.request = asked.request.clone().with(SESSION, UNKNOWN);
        }
    }
}

/// A client's request.
struct ClientRequest {
    path: String,
    request: Request,
    /// The session that it names; empty if none.
    session: String,
    /// The caller's credentials.
    caller: String,
}

impl ClientRequest {
    fn read(stream: &TcpStream) -> io::Result<Self> {
        let incoming = http::Request::read(stream)?;
        let header = |name| incoming.header(name).unwrap_or_default().to_owned();
        let (session, caller) = (header(SESSION), header("authorization"));
        let methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];
        let method = methods.into_iter().find(|method| *method == incoming.method).unwrap_or("OPTIONS");
        let mut headers: Vec<_> = incoming.headers.into_iter().collect();
        headers.retain(|(name, _)| name != "host" && name != "connection");
        let request = Request { method, headers, body: incoming.body };
        Ok(Self { path: incoming.path, request, session, caller })
    }

    /// Returns true if it is a call of a tool.
    fn is_call(&self) -> bool {
        self.path.ends_with("/execute")
    }
}

impl Answer {
    /// Returns the body; null if it is not JSON.
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        let mut body = self.json();
        change(&mut body);
        self.body = body.to_string().into();
    }

    fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    fn write(mut self, mut stream: &TcpStream) -> io::Result<()> {
        self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("transfer-encoding"));
        self.set_header("Content-Length", &self.body.len().to_string());
        self.set_header("Connection", "close");
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(&[head.as_bytes(), b"\r\n", &self.body].concat())
    }
}

fn remove(body: &mut Value, name: &str) {
    if let Some(members) = body.as_object_mut() {
        members.shift_remove(name);
    }
}

/// Writes the file with the keys of all roles, unless it is there; returns its path.
fn write_keys(library: &Path) -> io::Result<PathBuf> {
    let keys = KEYS.map(|(role, scope, agent)| {
        let (id, sha256) = (&digest(role)[..16], digest(&digest(role)));
        let email = format!("{role}@reference.localhost");
        let created = "2026-01-01T00:00:00Z";
        json!({ "id": id, "name": "Ada", "email": email, "scopes": [scope], "agent": agent, "created": created, "sha256": sha256 })
    });
    let path = library.join(".git/keys.json");
    let file = fs::File::options().write(true).create_new(true).mode(0o600).open(&path);
    match file {
        Ok(mut file) => file.write_all(json!({ "keys": keys }).to_string().as_bytes())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(path)
}

/// Returns the time of the server's clock, in seconds since 1970.
fn seconds() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let ahead = env::var(CLOCK_OFFSET).ok().and_then(|text| text.parse::<f64>().ok());
    since.as_secs_f64() + ahead.unwrap_or_default()
}
