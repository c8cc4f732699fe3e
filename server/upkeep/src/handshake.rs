//! Starts or calls a server as a client would, and asks for its tools.

use std::{
    io::{self, Read},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_clients::Server;

use crate::client::Client;

/// Minimum time that a client waits for a server: 10 seconds.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes that are kept of a server's standard error.
const MAX_STDERR_BYTES: usize = 8 << 10;
/// Time limit for the rest of a server's standard error.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);

/// A server's answers.
#[derive(Debug)]
pub struct Handshake {
    /// Names of its tools.
    pub tools: Vec<String>,
    /// Length of their list as JSON, in bytes.
    pub bytes: usize,
    /// Time from the start to the list of tools.
    pub elapsed: Duration,
}

/// The reason that a server did not answer.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// It can't be started.
    #[error("`{command}` can't be started: {source}")]
    Start {
        /// The program.
        command: String,
        /// The cause.
        source: Box<dyn std::error::Error>,
    },
    /// It was started, but did not answer correctly.
    #[error("{reason}{}", stderr_note(.stderr))]
    Stdio {
        /// The error.
        reason: String,
        /// Its standard error, shortened.
        stderr: String,
    },
    /// It can't be reached, or refused.
    #[error("`{url}`: {reason}")]
    Http {
        /// Its URL.
        url: String,
        /// The error.
        reason: String,
    },
}

fn stderr_note(stderr: &str) -> String {
    match stderr.trim() {
        "" => "; it wrote nothing to standard error".into(),
        text => format!("; it wrote to standard error:\n{text}"),
    }
}

/// Opens a session with `server` and lists its tools, within `timeout`.
///
/// # Errors
/// [`HandshakeError`].
pub fn handshake(server: &Server, timeout: Duration) -> Result<Handshake, HandshakeError> {
    let start = Instant::now();
    let listed = match server {
        Server::Stdio { command, arguments, env } => {
            let mut program = Command::new(command);
            // Clients start servers in a folder of their own choice.
            program.args(arguments).envs(env).current_dir(folder());
            over_stdio(&mut program, timeout)?
        }
        Server::Http { url, key } => over_http(url, key.as_deref(), timeout).map_err(|error| {
            let (url, reason) = (url.clone(), error.to_string());
            HandshakeError::Http { url, reason }
        })?,
    };
    let tools = listed["tools"].as_array().into_iter().flatten();
    Ok(Handshake {
        bytes: listed["tools"].to_string().len(),
        tools: tools.filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect(),
        elapsed: start.elapsed(),
    })
}

fn folder() -> std::path::PathBuf {
    std::env::home_dir().filter(|home| home.is_dir()).unwrap_or_else(|| Path::new("/").to_owned())
}

fn over_stdio(command: &mut Command, timeout: Duration) -> Result<Value, HandshakeError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let started = Client::spawn(command.stderr(Stdio::piped()), Some(timeout));
    let mut client = started.map_err(|source| HandshakeError::Start { command: program, source })?;
    let (send, stderr) = mpsc::channel();
    if let Some(mut pipe) = client.child().stderr.take() {
        thread::spawn(move || {
            let mut kept = vec![];
            let _ = pipe.by_ref().take(MAX_STDERR_BYTES as u64).read_to_end(&mut kept);
            let _ = send.send(String::from_utf8_lossy(&kept).into_owned());
            // The server must not block on a full pipe.
            let _ = io::copy(&mut pipe, &mut io::sink());
        });
    }
    let listed = client.initialize("tabellion-install").and_then(|_| client.request("tools/list", json!({})));
    let listed = listed.and_then(|listed| {
        let is_list = listed["tools"].is_array();
        is_list.then_some(listed).ok_or_else(|| "its answer to `tools/list` has no tools".into())
    });
    listed.map_err(|error| {
        let reason = error.to_string();
        drop(client);
        let stderr = stderr.recv_timeout(STDERR_TIMEOUT).unwrap_or_default();
        HandshakeError::Stdio { reason, stderr }
    })
}

fn over_http(url: &str, key: Option<&str>, timeout: Duration) -> Result<Value, Box<dyn std::error::Error>> {
    let post =
        |body: &Value, session: Option<&str>| tabellion_http::post::post(url, key, session, body, timeout);
    let info = json!({ "name": "tabellion-install", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let (_, session) = post(&hello, None)?;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(&initialized, session.as_deref())?;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let (mut listed, _) = post(&list, session.as_deref())?;
    match listed.get("error") {
        Some(error) => Err(error.to_string().into()),
        None if listed["result"]["tools"].is_array() => Ok(listed["result"].take()),
        None => Err("its answer to `tools/list` has no tools".into()),
    }
}
