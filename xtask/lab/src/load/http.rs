//! Many callers with a connection each, and obstructive clients.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use ureq::{Agent, BodyReader, http::Uri};

use super::{caller::Caller, shared::LARGE, tally::Usage, tls::Certificate};
use xtask::Outcome;

use crate::call;

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

impl Address<'_> {
    /// Returns a client with a persistent connection.
    fn client(self) -> Agent {
        call::client(self.certificate.map(Certificate::trusting))
    }
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
                let client = door.client();
                ready.wait();
                let since = Instant::now();
                while since.elapsed() < length {
                    let (tool, arguments) = caller.next();
                    let response = call::send(&client, door.url, &[], tool, &arguments);
                    caller.answered(response.map_err(|error| error.to_string()).and_then(call::answer));
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
        let request = json!({ "path": LARGE });
        let response = call::send(&door.client(), door.url, &[], "read_markdown", &request)?;
        let mut body = response.into_body().into_reader();
        // Once the first byte arrives, the whole answer was made.
        body.read_exact(&mut [0])?;
        Ok(body)
    });
    Ok((halves, slow.collect::<Outcome<_>>()?))
}
