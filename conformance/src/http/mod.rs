//! HTTP/1.1 from the client's side, as it is: a connection for each request, nothing followed, nothing tried again.
//!
//! A client that is made for use hides what a server says wrongly, and may send a request twice; this one must do neither.
//! It is for a server on this machine or behind a tunnel: there is no TLS.

pub mod events;
mod url;

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

pub use url::Url;

/// The longest header or chunk line; the number of headers is limited to this in kilobytes.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// What is sent. `Host`, `Content-Length` and `Connection` are added, unless they are given.
#[derive(Debug, Clone)]
pub struct Request {
    /// GET, POST, …
    pub method: &'static str,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body's bytes; an empty one is not announced.
    pub body: Vec<u8>,
}

impl Request {
    /// A request with nothing more than a method.
    pub fn new(method: &'static str) -> Self {
        Self {
            method,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// With one more header, which takes the place of any of that name.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without this header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
        self
    }

    /// Sends it, and reads up to the body of the response.
    ///
    /// # Errors
    /// When there is no connection, or no response within `patience` of the last byte.
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
        let mut say = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        let is_given = |name: &str| self.headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
        if !is_given("Host") {
            say("Host", &url.authority());
        }
        if !is_given("Connection") {
            say("Connection", "close");
        }
        if !self.body.is_empty() && !is_given("Content-Length") {
            say("Content-Length", &self.body.len().to_string());
        }
        for (name, value) in &self.headers {
            say(name, value);
        }
        head.push_str("\r\n");
        let mut head = head.into_bytes();
        // In one packet, where it fits into one.
        head.extend_from_slice(&self.body);
        stream.write_all(&head)
    }
}

/// What came back, up to the body.
#[derive(Debug)]
pub struct Response {
    /// 200, 404, …
    pub status: u16,
    /// What stands behind the status.
    pub reason: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body, which has not been read yet.
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
            // What comes before the response proper says only that one is to come.
            if (100..200).contains(&status) {
                continue;
            }
            let framing = Framing::of(status, &headers)?;
            let body = BufReader::new(Body { stream, framing });
            return Ok(Self {
                status,
                reason,
                headers,
                body,
            });
        }
    }

    /// The value of the first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(it, _)| it.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    /// The media type, without parameters and in small letters.
    pub fn media_type(&self) -> String {
        let whole = self.header("Content-Type").unwrap_or_default();
        let plain = whole.split(';').next().unwrap_or_default();
        plain.trim().to_ascii_lowercase()
    }

    /// Status and reason, for people.
    pub fn title(&self) -> String {
        format!("HTTP {} {}", self.status, self.reason)
            .trim_end()
            .to_owned()
    }

    /// All of the body.
    ///
    /// # Errors
    /// When it ends too early, or does not go on.
    pub fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The body of a response, as it comes.
#[derive(Debug)]
pub struct Body {
    stream: BufReader<TcpStream>,
    framing: Framing,
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    /// So many bytes are to come.
    Length(u64),
    /// So many of the chunk that is being read.
    Chunk(u64),
    /// The first chunk is to come.
    Chunks,
    /// Whatever comes before the connection ends.
    UntilEnd,
}

impl Framing {
    fn of(status: u16, headers: &[(String, String)]) -> io::Result<Self> {
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

/// The head of the next chunk; the last one is followed by headers that say nothing here.
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

/// A line, without its end.
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
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the server's HTTP can't be understood: {what} is {found:?}"),
    )
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    const READ_TIMEOUT: Duration = Duration::from_secs(10);

    /// What comes of it when a server says `said` to a POST with this body.
    fn answered(said: &'static str) -> io::Result<(u16, String)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 512];
            let read = stream.read(&mut head).unwrap();
            stream.write_all(said.as_bytes()).unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        let url = Url::parse(&format!("http://127.0.0.1:{port}/mcp?a=b")).unwrap();
        let mut request = Request::new("POST").with("Accept", "x").with("accept", "y");
        request.body = b"{}".to_vec();
        let response = request.send(&url, READ_TIMEOUT);
        let head = server.join().unwrap();
        assert!(
            head.starts_with("POST /mcp?a=b HTTP/1.1\r\nHost: 127.0.0.1:"),
            "{head}"
        );
        assert!(
            head.ends_with("Content-Length: 2\r\naccept: y\r\n\r\n{}"),
            "{head}"
        );
        let mut response = response?;
        let body = response.bytes()?;
        Ok((response.status, String::from_utf8_lossy(&body).into_owned()))
    }

    #[test]
    fn bodies_end_where_they_are_said_to() {
        for (said, status, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more", 200, "{}"),
            ("HTTP/1.1 404\r\ncontent-length:0\r\n\r\n", 404, ""),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n",
                202,
                "",
            ),
            ("HTTP/1.0 200 OK\n\nuntil the end", 200, "until the end"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nA: b\r\n\r\nmore",
                200,
                "abcd",
            ),
        ] {
            assert_eq!(answered(said).unwrap(), (status, body.to_owned()), "{said}");
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        for said in [
            "",
            "HTTP/1.1 200",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "SSH-2.0-x\r\n\r\n",
        ] {
            assert!(answered(said).is_err(), "{said}");
        }
    }
}
