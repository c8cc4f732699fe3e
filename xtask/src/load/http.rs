//! Many callers with a connection each, and such as hold theirs up.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::{
    http::{Url, events::Events},
    subject::Era,
};
use ureq::Agent;

use super::{LARGE, PATIENCE, caller::Caller, tally::Memory};
use crate::{Outcome, measure::resident};

/// So many send half a request, and so many ask for much and read next to nothing.
const IDLERS: usize = 10;

/// Lets all callers call for so long, each over one connection that is kept.
pub(super) fn run(
    url: &Url,
    process: u32,
    mut callers: Vec<Caller>,
    length: Duration,
) -> Outcome<(Vec<Caller>, Memory)> {
    let mut memory = Memory::begins(resident(process));
    let idlers = idle(url)?;
    let ready = Barrier::new(callers.len() + 1);
    thread::scope(|scope| {
        for caller in &mut callers {
            let ready = &ready;
            scope.spawn(move || {
                let connection = Connection::to(url);
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
        memory.is_half_way(|| resident(process));
    });
    memory.ends(resident(process));
    drop(idlers);
    Ok((callers, memory))
}

/// Connections that must hold nobody up.
fn idle(url: &Url) -> Outcome<Vec<TcpStream>> {
    let whole = request("read_markdown", &json!({ "path": LARGE })).to_string();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
        url.path,
        url.authority()
    );
    let rest: String = headers("read_markdown")
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let wholly = format!("{head}{rest}Content-Length: {}\r\n\r\n{whole}", whole.len());
    let send = |text: &str| {
        let mut stream = TcpStream::connect((&*url.host, url.port))?;
        stream.write_all(text.as_bytes())?;
        Ok(stream)
    };
    let mut connections: Vec<_> = (0..IDLERS).map(|_| send(&head)).collect::<io::Result<_>>()?;
    for _ in 0..IDLERS {
        let mut stream = send(&wholly)?;
        // When it has begun, all of the answer has been made.
        stream.read_exact(&mut [0])?;
        connections.push(stream);
    }
    Ok(connections)
}

/// One client's connection, kept between calls.
struct Connection {
    agent: Agent,
    url: String,
}

impl Connection {
    fn to(url: &Url) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false);
        Self {
            agent: config.build().into(),
            url: url.to_string(),
        }
    }

    /// The answer, or why there is none.
    fn call(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let mut post = self
            .agent
            .post(&self.url)
            .content_type("application/json")
            .header("Accept", "application/json, text/event-stream");
        for (name, value) in headers(tool) {
            post = post.header(name, value);
        }
        let sent = post.send(request(tool, arguments).to_string());
        let response = sent.map_err(|error| error.to_string())?;
        let status = response.status();
        let is_stream = response.body().mime_type() == Some("text/event-stream");
        let mut body = BufReader::new(response.into_body().into_reader());
        let mut text = String::new();
        let read = if is_stream {
            last(Events::of(body)).map(|answer| text = answer)
        } else {
            body.read_to_string(&mut text).map(drop)
        };
        read.map_err(|error| format!("{status}: {error}"))?;
        serde_json::from_str(&text).map_err(|_| format!("{status}: {text}"))
    }
}

/// The last message of a stream, which is the answer.
fn last(mut events: Events<impl BufRead>) -> io::Result<String> {
    let mut last = String::new();
    while let Some(data) = events.next_data()? {
        last = data;
    }
    Ok(last)
}

/// What 2026-07-28 wants of each request beside its body.
fn headers(tool: &str) -> [(&'static str, &str); 3] {
    [
        ("MCP-Protocol-Version", Era::Stateless.revision()),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ]
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
