//! A client repeats a call whose connection broke, with the same idempotency key. The result is one commit and one answer,
//! wherever the connection broke.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
};

use serde_json::{Value, json};
use tabellion_conformance::{http::Request, ledger, target::ANSWER_TIMEOUT};

use crate::{
    http::{Server, call_alone_with},
    support::{Library, edit, stateless},
};

/// Sends part of a request, before the connection breaks.
type Break = fn(&mut TcpStream, &[u8]);

/// The points at which the connection breaks.
const BREAKS: [(&str, Break); 5] = [
    ("within the head", |stream, whole| send(stream, &whole[..40])),
    ("within the body", |stream, whole| send(stream, &whole[..whole.len() - 10])),
    ("after the body", |stream, whole| send(stream, whole)),
    ("with an end to what it sends", |stream, whole| {
        send(stream, whole);
        stream.shutdown(Shutdown::Write).expect("a half-closed stream");
    }),
    ("within the answer", |stream, whole| {
        send(stream, whole);
        stream.read_exact(&mut [0]).expect("an answer that begins");
    }),
];
/// The number of repetitions of each break.
const ROUNDS: usize = 4;

#[test]
fn a_repeated_call_makes_one_commit_wherever_the_connection_broke() {
    let library = Library::with(&[("note.md", "# Note\n")]);
    let server = Server::start(library.command().args(["--http", "127.0.0.1:0"]));
    let mut keys = Vec::new();
    for round in 0..ROUNDS {
        for (name, broken) in BREAKS {
            let key = format!("{}-{round}", name.replace(' ', "-"));
            let request = append(&key);
            let whole = raw(&server, &request);
            let mut stream =
                TcpStream::connect((&*server.url().host, server.url().port)).expect("a connection");
            broken(&mut stream, &whole);
            drop(stream);
            let commits = [0, 1].map(|_| commit(&server, &request));
            assert_eq!(commits[0], commits[1], "{key}");
            keys.push(key);
        }
    }
    let text = String::from_utf8(library.get("note.md")).expect("text");
    for key in keys {
        let lines = text.lines().filter(|line| *line == format!("- {key}")).count();
        assert_eq!(lines, 1, "{key}: {text}");
    }
    let changes = ledger::git(library.root(), &["rev-list", "--count", "HEAD", "--", "note.md"]);
    let expected = 1 + ROUNDS * BREAKS.len();
    assert_eq!(changes.expect("git").trim(), expected.to_string());
}

fn send(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).expect("sent");
}

fn append(key: &str) -> Request {
    let mut meta = stateless(&json!({}));
    meta.insert("tabellion/idempotencyKey".into(), key.into());
    let arguments = edit("note.md", "append", "", &format!("- {key}\n"));
    call_alone_with("edit_markdown", arguments, &meta).with("Accept", "application/json, text/event-stream")
}

/// Returns the bytes of a request.
fn raw(server: &Server, Request { method, headers, body }: &Request) -> Vec<u8> {
    let url = server.url();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let (path, host, length) = (&url.path, url.authority(), body.len());
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Makes the call and returns the commit in its answer.
fn commit(server: &Server, request: &Request) -> String {
    let mut response = request.send(&server.url(), ANSWER_TIMEOUT).expect("a response");
    let text = String::from_utf8(response.bytes().expect("a body")).expect("text");
    let answer = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|_| panic!("{text}"));
    let commit = answer["result"]["structuredContent"]["git_commit_sha"].as_str();
    commit.unwrap_or_else(|| panic!("{answer}")).to_owned()
}
