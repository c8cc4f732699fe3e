//! Raw connections to a server under test, over which arbitrary messages travel.
//!
//! Messages are JSON lines over the standard input and output of a child process, or travel over HTTP (`streamable`).
//! The interface is the same for both.

mod error;
pub(crate) mod process;
pub mod streamable;

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener},
    path::Path,
    process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
    io::Errno,
};
use serde_json::{Map, Value, json};

pub use self::error::{ANSWER_TIMEOUT, WireError};
use crate::{
    era::Era,
    http::{Request, Response, Url},
    stepper::{Counting, Stepper, StepperError},
    trace::Trace,
};
use process::Process;
use streamable::{ReceivedMessage, Streamable};

/// The name that the suite's clients give.
pub(crate) const CLIENT_NAME: &str = env!("CARGO_PKG_NAME");

/// How long a process may outlive its closed output to count as ended.
const EXIT_DELAY: Duration = Duration::from_millis(300);
/// Timeout for the exit of a listening server after a request to end; then it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Ports for servers: below the range that systems assign to clients.
const PORTS: std::ops::Range<u32> = 10_000..32_000;

/// Number of lines that are not JSON after which no message is waited for.
const MAX_STRAYS: usize = 1_000;
/// Number of messages since the last sent one after which no further one is waited for; more than any check requests at once.
const MAX_UNREQUESTED: usize = 100_000;
/// Length of a line of output, in bytes, after which no more is read; requests have up to 30 MB.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// The client's side of a connection to a server.
#[derive(Debug)]
pub struct Target {
    /// `None` for an external server, or if another target started it.
    process: Option<Process>,
    wire: Wire,
    incoming: Receiver<ReceivedMessage>,
    next_id: i64,
    /// Number of messages since the last sent one.
    unrequested: usize,
    /// Timeout for an answer or an exit: [`ANSWER_TIMEOUT`] unless set.
    pub patience: Duration,
    /// Lines of standard output that are not meant to be messages. They are skipped, so that each check judges its own subject.
    pub strays: Vec<String>,
    /// Trace that records the messages, if any.
    pub trace: Option<Trace>,
}

/// Transport of messages.
#[derive(Debug)]
enum Wire {
    /// Lines; `None` once standard input is closed.
    Lines(Option<ChildStdin>),
    Http(Streamable),
}

impl Target {
    /// Starts `command` with pipes to its standard input and output; standard error stays as `command` has it. The
    /// process and all its children end with this target, or at the latest with the suite.
    pub fn start(command: &mut Command) -> Result<Self, WireError> {
        let mut process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let (stdin, stdout) = process.pipes();
        Self::over(process, stdin, stdout)
    }

    /// As [`start`](Self::start), but under a stepper: see [`Stepper::start`].
    ///
    /// # Errors
    /// If the process cannot be started or traced.
    pub fn start_stepped(
        mut command: Command,
        folders: &[&Path],
        counting: Counting,
    ) -> Result<(Self, Stepper), StepperError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let (stepper, pipes) = Stepper::start(command, folders, counting)?;
        let process = Process::Stepped(stepper.clone());
        let target = Self::over(process, pipes.stdin, pipes.stdout).map_err(io::Error::other)?;
        Ok((target, stepper))
    }

    /// Starts `command`, which should serve `url`, and waits until it answers there. The process and all its children
    /// end with this target, or at the latest with the suite.
    ///
    /// # Errors
    /// If the process cannot be started, or does not answer within `patience`.
    pub fn serve(command: &mut Command, url: Url, era: Era, patience: Duration) -> Result<Self, WireError> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self::once_up(Process::start(command)?, url, era, patience)
    }

    /// As [`serve`](Self::serve), but under a stepper.
    ///
    /// # Errors
    /// If the process cannot be started or traced. The inner error means that the server does not answer.
    pub fn serve_stepped(
        mut command: Command,
        folders: &[&Path],
        counting: Counting,
        url: Url,
        era: Era,
        patience: Duration,
    ) -> Result<Result<(Self, Stepper), WireError>, StepperError> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let (stepper, _) = Stepper::start(command, folders, counting)?;
        let process = Process::Stepped(stepper.clone());
        Ok(Self::once_up(process, url, era, patience).map(|target| (target, stepper)))
    }

    /// Returns the target of a process that should serve `url`, once it answers there. A process that does not is killed.
    fn once_up(mut process: Process, url: Url, era: Era, patience: Duration) -> Result<Self, WireError> {
        let up = wait_until_up(&url, &mut process, patience);
        let target = Self::over_http(url, era, Some(process));
        up.map(|()| target)
    }

    /// Connects to an external server, once it answers.
    ///
    /// # Errors
    /// If it does not answer within `patience`.
    pub fn connect(url: Url, era: Era, patience: Duration) -> Result<Self, WireError> {
        let since = Instant::now();
        while let Err(error) = is_up(&url, patience) {
            if since.elapsed() > patience {
                return Err(not_up(&url, error.to_string()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self::over_http(url, era, None))
    }

    /// Connects another client to the same server, which ends with this target; `None` unless over HTTP.
    pub fn beside(&self, era: Era) -> Option<Self> {
        let Wire::Http(http) = &self.wire else {
            return None;
        };
        let mut other = Self::over_http(http.url().clone(), era, None);
        (other.patience, other.trace) = (self.patience, self.trace.clone());
        Some(other)
    }

    fn over_http(url: Url, era: Era, process: Option<Process>) -> Self {
        let (http, incoming) = Streamable::new(url, era);
        Self::new(process, Wire::Http(http), incoming)
    }

    fn new(process: Option<Process>, wire: Wire, incoming: Receiver<ReceivedMessage>) -> Self {
        Self {
            process,
            wire,
            incoming,
            next_id: 0,
            unrequested: 0,
            strays: Vec::new(),
            patience: ANSWER_TIMEOUT,
            trace: None,
        }
    }

    fn over(
        process: Process,
        stdin: Option<ChildStdin>,
        stdout: Option<ChildStdout>,
    ) -> Result<Self, WireError> {
        let stdout = stdout.ok_or(WireError::Closed)?;
        if let Some(stdin) = &stdin {
            // A server that does not read must not block the suite forever.
            let flags = rustix::fs::fcntl_getfl(stdin).map_err(io::Error::from)?;
            rustix::fs::fcntl_setfl(stdin, flags | OFlags::NONBLOCK).map_err(io::Error::from)?;
        }
        // A server that writes more than is read waits.
        let (sender, incoming) = sync_channel(MAX_UNREQUESTED);
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            while let Some(line) = next_line(&mut stdout).transpose() {
                let is_broken = line.is_err();
                let line = line.map_err(WireError::Io).and_then(decoded);
                if sender.send(line).is_err() || is_broken {
                    break;
                }
            }
        });
        Ok(Self::new(Some(process), Wire::Lines(stdin), incoming))
    }

    /// Sends `line`, which may have any content.
    ///
    /// # Errors
    /// If the pipe is broken or the server does not read; over HTTP, if a message that is not a request does not
    /// arrive.
    pub fn send(&mut self, line: impl AsRef<[u8]>) -> Result<(), WireError> {
        self.unrequested = 0;
        if let Some(trace) = &self.trace {
            trace.sent(line.as_ref());
        }
        match &mut self.wire {
            Wire::Lines(stdin) => {
                let stdin = stdin.as_mut().ok_or(WireError::Closed)?;
                write_all(stdin, line.as_ref(), self.patience)?;
                write_all(stdin, b"\n", self.patience)
            }
            Wire::Http(http) => http.send(line.as_ref(), self.patience),
        }
    }

    /// Waits for the next message of the server.
    ///
    /// # Errors
    /// If none arrives, the message is not JSON, or too many have arrived since the last sent one.
    pub fn receive(&mut self) -> Result<Value, WireError> {
        let until = Instant::now() + self.patience;
        self.unrequested += 1;
        if self.unrequested > MAX_UNREQUESTED {
            return Err(WireError::Flood(MAX_UNREQUESTED));
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.incoming.recv_timeout(left) {
                Ok(line) => {
                    let line = line?;
                    if let Some(trace) = &self.trace {
                        trace.received(&line);
                    }
                    match (parse(&line), &self.wire) {
                        (Some(message), _) => return Ok(message),
                        (None, Wire::Lines(_)) if is_stray(&line) => {
                            if Instant::now() >= until || self.strays.len() >= MAX_STRAYS {
                                return Err(WireError::Silent(self.patience));
                            }
                            self.strays.push(line);
                        }
                        (None, _) => return Err(WireError::NotJson(line)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(WireError::Silent(self.patience)),
                Err(RecvTimeoutError::Disconnected) => return Err(WireError::Closed),
            }
        }
    }

    /// Sends a request without waiting for its response; returns its id.
    pub fn post(&mut self, method: &str, params: Value) -> Result<i64, WireError> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())?;
        Ok(id)
    }

    /// Sends a request and waits for its response; returns the whole message. Drops other messages.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, WireError> {
        let id = self.post(method, params)?;
        self.response(id)
    }

    /// Waits for the response to the request with this id; returns the whole message. Drops other messages.
    pub fn response(&mut self, id: i64) -> Result<Value, WireError> {
        loop {
            let message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    /// Opens a session with `initialize`; returns the response.
    pub fn initialize(&mut self, revision: &str) -> Result<Value, WireError> {
        self.initialize_as(revision, &json!({}))
    }

    /// As [`initialize`](Self::initialize), as a client with these capabilities.
    pub fn initialize_as(&mut self, revision: &str, capabilities: &Value) -> Result<Value, WireError> {
        let client = json!({ "name": CLIENT_NAME, "version": env!("CARGO_PKG_VERSION") });
        let params =
            json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let response = self.request("initialize", params)?;
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())?;
        Ok(response)
    }

    /// Calls a tool with `meta` as the request's `_meta`; returns the whole response message.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> Result<Value, WireError> {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if !meta.is_empty() {
            params["_meta"] = meta.into();
        }
        self.request("tools/call", params)
    }

    /// Returns the process id, if this target started the server.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Returns the POST that would send this message over HTTP, with the required headers, so that a check can modify
    /// it.
    pub fn http_request(&self, message: &Value) -> Option<Request> {
        match &self.wire {
            Wire::Lines(_) => None,
            Wire::Http(http) => Some(http.post(message.to_string().as_bytes(), message)),
        }
    }

    /// Sets the headers that each message gets from now on in addition to the required ones; returns false unless over HTTP.
    pub fn set_headers(&self, headers: Vec<(String, String)>) -> bool {
        let Wire::Http(http) = &self.wire else {
            return false;
        };
        http.set_headers(headers);
        true
    }

    /// Returns the id of the session over HTTP, if the server assigned one.
    pub fn session_id(&self) -> Option<String> {
        match &self.wire {
            Wire::Lines(_) => None,
            Wire::Http(http) => http.session_id(),
        }
    }

    /// Sends an arbitrary HTTP request. [`receive`](Self::receive) does not return its response.
    ///
    /// # Errors
    /// If no response arrives, or the server speaks over standard input and output.
    pub fn send_http(&self, request: &Request) -> Result<Response, WireError> {
        self.send_http_below("", request)
    }

    /// As [`send_http`](Self::send_http), to a path below that of the server's URL, such as `/tools`.
    pub fn send_http_below(&self, path: &str, request: &Request) -> Result<Response, WireError> {
        let Wire::Http(http) = &self.wire else {
            return Err(io::Error::other("the server does not speak HTTP").into());
        };
        let url = http.url().below(path);
        if let Some(trace) = &self.trace {
            let headers = request.headers.iter().map(|(name, value)| {
                // Reports are passed on.
                let shown = if http.is_secret(name) { "…" } else { value };
                format!("{name}: {shown}\n")
            });
            let head = format!("{} {}\n{}", request.method, url.path, headers.collect::<String>());
            trace.sent(&[head.as_bytes(), b"\n", &request.body].concat());
        }
        let response = request.send(&url, self.patience)?;
        if let Some(trace) = &self.trace {
            trace.did(format!("the server answers {}", response.title()));
        }
        Ok(response)
    }

    /// Closes the server's standard input, but still receives.
    pub fn hang_up(&mut self) {
        if let Wire::Lines(stdin) = &mut self.wire {
            *stdin = None;
        }
    }

    /// Closes the server's standard input and waits for its exit; returns the exit status. Over HTTP, ends the session
    /// and, unless the server is external, terminates the process.
    ///
    /// # Errors
    /// If it does not exit in time; then it is killed.
    pub fn close(mut self) -> Result<Option<ExitStatus>, WireError> {
        let is_http = matches!(self.wire, Wire::Http(_));
        match &mut self.wire {
            Wire::Lines(stdin) => *stdin = None,
            Wire::Http(http) => http.end(),
        }
        let Some(process) = &mut self.process else {
            return Ok(None);
        };
        if is_http {
            process.ask_to_end();
            process.wait(EXIT_TIMEOUT)?;
            return Ok(None);
        }
        let ended = process.wait(self.patience)?;
        ended.map(Some).ok_or(WireError::Silent(self.patience))
    }

    /// Returns the exit status of a server that has ended, or does so at once, unless it was killed, as some checks do.
    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.process.as_mut()?.wait(EXIT_DELAY).ok().flatten();
        status.filter(|status| status.signal() != Some(rustix::process::Signal::KILL.as_raw()))
    }

    /// Stops the server, such that it does nothing until [`resume`](Self::resume).
    pub(crate) fn pause(&self) {
        self.process.iter().for_each(Process::pause);
    }

    /// Lets a server that was stopped go on.
    pub(crate) fn resume(&self) {
        self.process.iter().for_each(Process::resume);
    }

    /// Kills the server without warning.
    pub fn kill(self) {}
}

/// Writes all of `bytes` to a non-blocking pipe, as long as it accepts some of them within `patience`.
fn write_all(pipe: &mut ChildStdin, mut bytes: &[u8], patience: Duration) -> Result<(), WireError> {
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(0) => return Err(WireError::Closed),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let patient = Timespec::try_from(patience).map_err(io::Error::other)?;
                let mut pipes = [PollFd::new(pipe, PollFlags::OUT)];
                match poll(&mut pipes, Some(&patient)) {
                    Ok(0) => return Err(WireError::Silent(patience)),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(io::Error::from(error).into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Drop for Target {
    fn drop(&mut self) {
        match (&mut self.process, &self.wire) {
            (Some(process), _) => process.kill(),
            (None, Wire::Http(http)) => http.end(),
            (None, Wire::Lines(_)) => {}
        }
    }
}

/// Returns a free port, which is not reused soon.
///
/// # Errors
/// If none is free.
pub fn free_port() -> io::Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Other processes of the suite begin elsewhere.
    let first = std::process::id().wrapping_mul(97);
    for _ in PORTS {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + number % (PORTS.end - PORTS.start);
        let port = u16::try_from(port).map_err(io::Error::other)?;
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::other("no port is free"))
}

fn wait_until_up(url: &Url, process: &mut Process, patience: Duration) -> Result<(), WireError> {
    let since = Instant::now();
    while let Err(error) = is_up(url, patience) {
        if let Some(status) = process.status()? {
            return Err(not_up(url, format!("the process ended ({status})")));
        }
        if since.elapsed() > patience {
            let seconds = patience.as_secs();
            return Err(not_up(url, format!("after {seconds} s, {error}")));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Checks that a server answers: an open port may belong to a proxy.
fn is_up(url: &Url, patience: Duration) -> io::Result<()> {
    Request::new("OPTIONS").send(url, patience).map(drop)
}

fn not_up(url: &Url, why: String) -> WireError {
    let url = url.to_string();
    WireError::NotUp { url, why }
}

/// Returns the next line without its end; `None` at the end of the output.
pub(crate) fn next_line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if io::Read::take(&mut *from, MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 == MAX_LINE_BYTES {
        return Err(io::Error::other(format!("a line has more than {MAX_LINE_BYTES} bytes")));
    }
    line.pop_if(|last| *last == b'\r');
    Ok(Some(line))
}

/// Returns a line as text. MCP's messages are UTF-8; other lines may be in any encoding.
fn decoded(line: Vec<u8>) -> Result<String, WireError> {
    let text = String::from_utf8(line).or_else(|error| {
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        if is_stray(&text) { Ok(text) } else { Err(text) }
    });
    text.map_err(WireError::NotUtf8)
}

/// Parses a message. A string may have half of a surrogate pair, as JSON's grammar permits and other parsers read it.
fn parse(line: &str) -> Option<Value> {
    let message = serde_json::from_str(line).ok();
    message.or_else(|| serde_json::from_str(&without_halves(line)).ok())
}

/// Returns true if a line that is not JSON is not even meant to be a message: it begins neither as an object with a member does
/// nor as an array of such. Logs have `[INFO] ready`, and printed objects `{ port: 1 }`.
pub(crate) fn is_stray(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix('[').unwrap_or(line).trim_start();
    !line.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}

/// Replaces each escape of half a surrogate pair by that of U+FFFD.
fn without_halves(json: &str) -> String {
    let unit = |at: usize| {
        let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut whole = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
        let is_pair = |high| {
            (0xD800..0xDC00).contains(&high)
                && unit(at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low))
        };
        let length = match unit(at) {
            Some(high) if is_pair(high) => 12,
            Some(0xD800..0xE000) => {
                whole.push_str("\\ufffd");
                at += 6;
                continue;
            }
            Some(_) => 6,
            // An escape of one character, which may be a backslash.
            None if rest.starts_with('\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            None => rest.chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&rest[..length]);
        at += length;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_read_times_out() {
        let mut target = Target::start(Command::new("sleep").arg("60")).unwrap();
        target.patience = Duration::from_millis(50);
        let sent = target.send(vec![b'x'; 4 << 20]);
        assert!(matches!(sent, Err(WireError::Silent(_))), "{sent:?}");
    }

    #[test]
    fn a_server_that_never_stops_is_not_read_forever() {
        for (said, expected) in [("yes 1", "100000 messages"), ("cat /dev/zero", "bytes")] {
            let mut target = Target::start(Command::new("sh").args(["-c", said])).unwrap();
            let error = target.request("ping", json!({})).unwrap_err().to_string();
            assert!(error.contains(expected), "{said}: {error}");
        }
    }

    #[test]
    fn a_message_must_be_utf8_and_a_log_need_not() {
        assert_eq!(decoded(b"{\"id\":1}".to_vec()).unwrap(), "{\"id\":1}");
        assert_eq!(decoded(b"gr\xfc\xdfe".to_vec()).unwrap(), "gr\u{fffd}\u{fffd}e");
        let error = decoded(b"{\"id\":\"\xff\"}".to_vec()).unwrap_err();
        assert!(matches!(error, WireError::NotUtf8(_)), "{error}");
    }

    #[test]
    fn a_line_meant_as_a_message_is_no_stray() {
        for stray in [
            "",
            "ready",
            "[INFO] ready",
            "[2026-01-01] {\"a\"",
            "[]]",
            "{ port: 1 }",
            "{",
            "}",
            "\u{1b}[32mok",
        ] {
            assert!(is_stray(stray), "{stray}");
        }
        for message in
            [r#"{"jsonrpc":"2.0","id":1"#, r#" { "id" : NaN}"#, r#"[{"jsonrpc""#, r#"{"a":1} trailing"#]
        {
            assert!(!is_stray(message), "{message}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_json() {
        let cases = [
            (r#"{"a":"\ud800.md"}"#, Some("\u{fffd}.md")),
            (r#"{"a":"\ude00\ud83d\ude00"}"#, Some("\u{fffd}\u{1f600}")),
            (r#"{"a":"é\\ud800\ud800"}"#, Some("é\\ud800\u{fffd}")),
            (r#"{"a":"\ud800"#, None),
            ("\\", None),
        ];
        for (line, text) in cases {
            let found = parse(line);
            assert_eq!(found.as_ref().and_then(|message| message["a"].as_str()), text, "{line}");
        }
    }

    #[test]
    fn long_lines_are_sent() {
        let mut target = Target::start(&mut Command::new("cat")).unwrap();
        let line = Value::from("x".repeat(4 << 20));
        target.send(line.to_string()).unwrap();
        assert!(target.receive().unwrap() == line);
    }
}
