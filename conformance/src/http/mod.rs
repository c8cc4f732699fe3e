//! A minimal HTTP/1.1 client: one connection per request, no redirects, no retries.
//!
//! General HTTP clients hide a server's errors and may repeat a request; this one does neither. It has no TLS: the
//! server is on this machine or behind a tunnel.

pub mod events;
mod url;

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

pub use url::Url;

/// Length of the longest header or chunk line, in bytes. The number of headers is limited to a 1024th of it.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// A request. `Host`, `Content-Length` and `Connection` are added unless given.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method, such as GET.
    pub method: &'static str,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// Body; without `Content-Length` if empty.
    pub body: Vec<u8>,
}

impl Request {
    /// Creates a request without headers and body.
    pub fn new(method: &'static str) -> Self {
        Self { method, headers: Vec::new(), body: Vec::new() }
    }

    /// Sets a header, and replaces one with the same name.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
        self
    }

    /// Sends the request, and reads the response up to its body.
    ///
    /// # Errors
    /// If the connection fails, or the response pauses for longer than `patience`.
    pub fn send(&self, url: &Url, patience: Duration) -> io::Result<Response> {
        let mut stream = TcpStream::connect((&*url.host, url.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let written = self.write(url, &mut stream);
        // A server may refuse a body before it has read all of it.
        let response = Response::read(stream);
        match written {
            Err(error) if response.is_err() => Err(error),
            _ => response,
        }
    }

    fn write(&self, url: &Url, stream: &mut TcpStream) -> io::Result<()> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, url.path);
        let mut add = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        let is_given = |name: &str| self.headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
        if !is_given("Host") {
            add("Host", &url.authority());
        }
        if !is_given("Connection") {
            add("Connection", "close");
        }
        if !self.body.is_empty() && !is_given("Content-Length") {
            add("Content-Length", &self.body.len().to_string());
        }
        for (name, value) in &self.headers {
            add(name, value);
        }
        head.push_str("\r\n");
        let mut head = head.into_bytes();
        // One write, so that a small request is one packet.
        head.extend_from_slice(&self.body);
        stream.write_all(&head)
    }
}

/// A response, up to the body.
#[derive(Debug)]
pub struct Response {
    /// Status, such as 200.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Body, not yet read.
    pub body: BufReader<Body>,
}

impl Response {
    fn read(stream: TcpStream) -> io::Result<Self> {
        let mut stream = BufReader::new(stream);
        loop {
            let first = line(&mut stream)?;
            let mut words = first.splitn(3, ' ');
            let version = words.next().unwrap_or_default();
            let status = words.next().and_then(|status| status.parse().ok());
            let (true, Some(status)) = (version.starts_with("HTTP/1."), status) else {
                return Err(malformed("the first line of a response", &first));
            };
            let reason = words.next().unwrap_or_default().to_owned();
            let headers = headers(&mut stream)?;
            // Interim responses only announce the final one.
            if (100..200).contains(&status) {
                continue;
            }
            let framing = Framing::from_headers(status, &headers)?;
            let body = BufReader::new(Body { stream, framing });
            return Ok(Self { status, reason, headers, body });
        }
    }

    /// Returns the value of the first header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(it, _)| it.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    /// Returns the media type in lower case, without parameters.
    pub fn media_type(&self) -> String {
        let whole = self.header("Content-Type").unwrap_or_default();
        let plain = whole.split(';').next().unwrap_or_default();
        plain.trim().to_ascii_lowercase()
    }

    /// Returns status and reason, for people.
    pub fn title(&self) -> String {
        format!("HTTP {} {}", self.status, self.reason).trim_end().to_owned()
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// If the body is truncated or stalls.
    pub fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Body of a response, as a stream.
#[derive(Debug)]
pub struct Body {
    stream: BufReader<TcpStream>,
    framing: Framing,
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    /// This many bytes remain.
    Length(u64),
    /// This many bytes of the current chunk remain.
    Chunk(u64),
    /// The first chunk has not begun.
    Chunks,
    /// The body ends with the connection.
    UntilEnd,
}

impl Framing {
    fn from_headers(status: u16, headers: &[(String, String)]) -> io::Result<Self> {
        let header = |name: &str| headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        if status == 204 || status == 304 {
            return Ok(Self::Length(0));
        }
        if let Some((_, coding)) = header("Transfer-Encoding") {
            return if coding.eq_ignore_ascii_case("chunked") {
                Ok(Self::Chunks)
            } else {
                Err(malformed("Transfer-Encoding", coding))
            };
        }
        match header("Content-Length") {
            Some((_, length)) => {
                let length = length.parse().map_err(|_| malformed("Content-Length", length))?;
                Ok(Self::Length(length))
            }
            None => Ok(Self::UntilEnd),
        }
    }
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if matches!(self.framing, Framing::Chunks) {
            self.framing = next_chunk(&mut self.stream)?;
        }
        let left = match self.framing {
            Framing::Length(left) | Framing::Chunk(left) => left,
            Framing::UntilEnd | Framing::Chunks => u64::MAX,
        };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 {
            return Ok(0);
        }
        let read = self.stream.read(&mut into[..most])?;
        let left = left - read as u64;
        match self.framing {
            Framing::Length(_) | Framing::Chunk(_) if read == 0 => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Framing::Length(_) => self.framing = Framing::Length(left),
            Framing::Chunk(_) if left == 0 => {
                line(&mut self.stream)?;
                self.framing = Framing::Chunks;
            }
            Framing::Chunk(_) => self.framing = Framing::Chunk(left),
            Framing::UntilEnd | Framing::Chunks => {}
        }
        Ok(read)
    }
}

/// Reads the head of the next chunk. Skips the trailers after the last one.
fn next_chunk(stream: &mut BufReader<TcpStream>) -> io::Result<Framing> {
    let head = line(stream)?;
    let size = head.split(';').next().unwrap_or_default().trim();
    let size = u64::from_str_radix(size, 16).map_err(|_| malformed("a chunk's size", &head))?;
    if size > 0 {
        return Ok(Framing::Chunk(size));
    }
    headers(stream)?;
    Ok(Framing::Length(0))
}

fn headers(stream: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = line(stream)?;
        if line.is_empty() {
            return Ok(headers);
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(malformed("a header", &line));
        };
        if headers.len() as u64 > MAX_LINE_BYTES >> 10 {
            return Err(malformed("one header too many", &line));
        }
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
}

/// Reads a line, without its line ending.
fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = String::from_utf8_lossy(&line);
    Ok(text.strip_suffix('\r').unwrap_or(&text).to_owned())
}

fn malformed(what: &str, found: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed HTTP from the server: {what} is {found:?}"))
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    const READ_TIMEOUT: Duration = Duration::from_secs(10);

    /// Returns the response to a POST with this body, from a server that sends `response`.
    fn answered(response: &'static str) -> io::Result<(u16, String)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 512];
            let read = stream.read(&mut head).unwrap();
            stream.write_all(response.as_bytes()).unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        let url = Url::parse(&format!("http://127.0.0.1:{port}/mcp?a=b")).unwrap();
        let mut request = Request::new("POST").with("Accept", "x").with("accept", "y");
        request.body = b"{}".to_vec();
        let response = request.send(&url, READ_TIMEOUT);
        let head = server.join().unwrap();
        assert!(head.starts_with("POST /mcp?a=b HTTP/1.1\r\nHost: 127.0.0.1:"), "{head}");
        assert!(head.ends_with("Content-Length: 2\r\naccept: y\r\n\r\n{}"), "{head}");
        let mut response = response?;
        let body = response.bytes()?;
        Ok((response.status, String::from_utf8_lossy(&body).into_owned()))
    }

    #[test]
    fn bodies_end_at_the_announced_length() {
        for (response, status, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more", 200, "{}"),
            ("HTTP/1.1 404\r\ncontent-length:0\r\n\r\n", 404, ""),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n", 202, ""),
            ("HTTP/1.0 200 OK\n\nuntil the end", 200, "until the end"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nA: b\r\n\r\nmore",
                200,
                "abcd",
            ),
        ] {
            assert_eq!(answered(response).unwrap(), (status, body.to_owned()), "{response}");
        }
    }

    #[test]
    fn truncated_responses_are_errors() {
        for response in [
            "",
            "HTTP/1.1 200",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "SSH-2.0-x\r\n\r\n",
        ] {
            assert!(answered(response).is_err(), "{response}");
        }
    }
}
