//! Many callers with a connection each, and obstructive clients.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::{era::Era, http::events::Events};
use ureq::{
    Agent, Body, BodyReader,
    http::{Response, Uri},
};

use super::{
    caller::Caller,
    shared::{ANSWER_TIMEOUT, LARGE},
    tally::Usage,
    tls::Certificate,
};
use xtask::Outcome;

/// Number of clients that send half a request or half a handshake, and of those that request much and hardly read.
const IDLERS: usize = 10;
/// The header of a TLS record, and the first byte of its content.
const HALF_A_HANDSHAKE: &[u8] = b"\x16\x03\x01\x02\x00\x01";

/// The server's address, and its certificate if it uses TLS.
#[derive(Clone, Copy)]
pub(super) struct Address<'a> {
    pub(super) url: &'a str,
    pub(super) certificate: Option<&'a Certificate>,
}

/// Lets all callers call for this time, each over one persistent connection.
pub(super) fn run(
    door: Address<'_>,
    process: u32,
    mut callers: Vec<Caller>,
    length: Duration,
) -> Outcome<(Vec<Caller>, Usage)> {
    let mut usage = Usage::begins(process);
    let idlers = idle(door)?;
    let ready = Barrier::new(callers.len() + 1);
    thread::scope(|scope| {
        for caller in &mut callers {
            let ready = &ready;
            scope.spawn(move || {
                let connection = Connection::to(door);
                ready.wait();
                let since = Instant::now();
                while since.elapsed() < length {
                    let (tool, arguments) = caller.next();
                    caller.answered(connection.call(tool, &arguments));
                }
            });
        }
        ready.wait();
        thread::sleep(length / 2);
        usage.is_half_way();
    });
    usage.ends();
    drop(idlers);
    Ok((callers, usage))
}

/// Opens connections that must not block others.
fn idle(door: Address<'_>) -> Outcome<(Vec<TcpStream>, Vec<BodyReader<'static>>)> {
    let url: Uri = door.url.parse()?;
    let address = url.authority().ok_or("a server that is nowhere")?.as_str();
    let head = format!("POST {} HTTP/1.1\r\nHost: {address}\r\n", url.path());
    let half = match door.certificate {
        None => head.as_bytes(),
        Some(_) => HALF_A_HANDSHAKE,
    };
    let halves = (0..IDLERS).map(|_| {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(half)?;
        Ok(stream)
    });
    let halves = halves.collect::<io::Result<_>>()?;
    let slow = (0..IDLERS).map(|_| {
        let response = Connection::to(door).ask("read_markdown", &json!({ "path": LARGE }))?;
        let mut body = response.into_body().into_reader();
        // Once the first byte arrives, the whole answer was made.
        body.read_exact(&mut [0])?;
        Ok(body)
    });
    Ok((halves, slow.collect::<Outcome<_>>()?))
}

/// A client's persistent connection.
struct Connection<'a> {
    agent: Agent,
    url: &'a str,
}

impl<'a> Connection<'a> {
    fn to(door: Address<'a>) -> Self {
        let config =
            Agent::config_builder().timeout_global(Some(ANSWER_TIMEOUT)).http_status_as_error(false).build();
        Self {
            agent: match door.certificate {
                None => config.into(),
                Some(certificate) => certificate.agent(config),
            },
            url: door.url,
        }
    }

    /// Returns the answer, or the reason why there is none.
    fn call(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let response = self.ask(tool, arguments).map_err(|error| error.to_string())?;
        let status = response.status();
        let is_stream = response.body().mime_type() == Some("text/event-stream");
        let mut body = BufReader::new(response.into_body().into_reader());
        let mut text = String::new();
        let read = if is_stream {
            last(Events::new(body)).map(|answer| text = answer)
        } else {
            body.read_to_string(&mut text).map(drop)
        };
        read.map_err(|error| format!("{status}: {error}"))?;
        serde_json::from_str(&text).map_err(|_| format!("{status}: {text}"))
    }

    /// Sends a call, and receives the head of the response.
    fn ask(&self, tool: &str, arguments: &Value) -> Result<Response<Body>, ureq::Error> {
        let mut post = self
            .agent
            .post(self.url)
            .content_type("application/json")
            .header("Accept", "application/json, text/event-stream");
        for (name, value) in headers(tool) {
            post = post.header(name, value);
        }
        post.send(request(tool, arguments).to_string())
    }
}

/// Returns the last message of a stream, which is the answer.
fn last(mut events: Events<impl BufRead>) -> io::Result<String> {
    let mut last = String::new();
    while let Some(data) = events.next_data()? {
        last = data;
    }
    Ok(last)
}

/// Headers that 2026-07-28 requires of each request.
fn headers(tool: &str) -> [(&'static str, &str); 3] {
    [("MCP-Protocol-Version", Era::Stateless.revision()), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)]
}

fn request(tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": Era::Stateless.revision(),
        "io.modelcontextprotocol/clientInfo": { "name": "load", "version": env!("CARGO_PKG_VERSION") },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}
