//! The built server over HTTP: its options and its end.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{ChildStderr, Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Map, Value, json};
use tabellion_conformance::{
    Target,
    era::Era,
    http::{Request, Url},
    ledger,
    target::ANSWER_TIMEOUT,
};

use crate::support::{Library, Running, TABELLION, ended, stateless};

/// A server over HTTP, stopped when dropped.
pub(crate) struct Server {
    process: Running,
    url: String,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::with_log(command).0
    }

    /// Starts the server; also returns its standard error after the line with its address.
    fn with_log(command: &mut Command) -> (Self, BufReader<ChildStderr>) {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the server starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("its standard error"));
        let mut said = String::new();
        while !said.contains("listening on") {
            let read = stderr.read_line(&mut said).expect("it says where it listens");
            assert!(read > 0, "{said}");
        }
        let url = said.split("listening on ").nth(1).expect("a URL").trim().to_owned();
        (Self { process: Running(child), url }, stderr)
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&self.url).expect("a URL")
    }

    pub(crate) fn connect(&self) -> Target {
        self.connect_to(self.url())
    }

    /// Opens a session at a different path, as in `/mcp/a`.
    pub(crate) fn connect_at(&self, path: &str) -> Target {
        let url = self.url.replace("/mcp", path);
        self.connect_to(Url::parse(&url).expect("a URL"))
    }

    /// Opens a session with a key or token.
    pub(crate) fn connect_with(&self, key: &str) -> Target {
        let mut target = self.unconnected();
        assert!(target.set_headers(vec![("Authorization".into(), format!("Bearer {key}"))]));
        target.initialize("2025-11-25").expect("a handshake");
        target
    }

    /// Returns a client that has not sent a message yet.
    pub(crate) fn unconnected(&self) -> Target {
        Target::connect(self.url(), Era::Session, ANSWER_TIMEOUT).expect("it answers")
    }

    fn connect_to(&self, url: Url) -> Target {
        let mut target = Target::connect(url, Era::Session, ANSWER_TIMEOUT).expect("it answers");
        target.initialize("2025-11-25").expect("a handshake");
        target
    }

    /// Returns the id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Kills the server.
    pub(crate) fn kill(&self) {
        let id = rustix::process::Pid::from_child(&self.process.0);
        // It may have ended already.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
    }

    /// Terminates the server; returns its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.process.0);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a signal");
        self.process.0.wait().expect("it ends").code()
    }
}

fn write(target: &mut Target, path: &str) {
    let arguments = json!({ "path": path, "content": "# New\n" });
    let answer = target.call("write_markdown", arguments, Default::default());
    let answer = answer.expect("an answer");
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn the_server_prints_its_address_and_serves_until_terminated() {
    let library = Library::empty();
    // Over HTTP, a closed standard input does not end the server.
    let mut server = Server::start(
        library.command().args(["--http", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped()),
    );
    let mut output = server.process.0.stdout.take().expect("its output");
    write(&mut server.connect(), "a.md");
    write(&mut server.connect(), "b.md");
    assert_eq!(server.terminate(), Some(0));
    let mut said = String::new();
    output.read_to_string(&mut said).expect("lines");
    assert_eq!(said, "", "standard output is for a client there");
    assert_eq!(library.get("b.md"), b"# New\n");
    assert_eq!(library.ledger().status, "");
}

#[test]
fn the_server_serves_both_transports_until_its_input_ends() {
    let library = Library::empty();
    let mut command = library.command();
    command.args(["--http", "127.0.0.1:0", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = Server::start(&mut command);
    write(&mut server.connect(), "a.md");
    let mut input = server.process.0.stdin.take().expect("its input");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    writeln!(input, "{ping}").expect("sent");
    drop(input);
    assert_eq!(server.process.0.wait().expect("it ends").code(), Some(0));
    let mut said = String::new();
    let mut output = server.process.0.stdout.take().expect("its output");
    output.read_to_string(&mut said).expect("lines");
    assert!(said.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"#), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn the_server_refuses_addresses_that_it_can_not_serve() {
    let library = Library::empty();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("its address").to_string();
    for (arguments, code, why) in [
        (&["--http", "0.0.0.0:0"][..], 1, "other machines"),
        (&["--http", "[::]:0"], 1, "other machines"),
        (&["--http", "192.0.2.1:80"], 1, "other machines"),
        (&["--http", &taken], 1, "can't listen on"),
        (&["--http", "localhost"], 2, "write a port"),
        (&["--library", "other"], 2, "need a name"),
        (&["--library", "other=x"], 2, "add `--http`"),
        (&["--stdio", "--library", "other=x", "--http", "127.0.0.1:0"], 2, "one library"),
        (&["--http", "127.0.0.1:0", "--keys", "missing.json"], 1, "`tabellion key create"),
        (&["--keys", "keys.json"], 2, "--http"),
        (&["--oauth-issuer", "https://login.example"], 2, "--oauth-jwks"),
        (&["--http", "127.0.0.1:0", "--oauth-jwks", "jwks.json"], 2, "--oauth-issuer"),
        (&["--http", "127.0.0.1:0", "--oauth-issuer", "http://login.example"], 2, "is not encrypted"),
        (
            &[
                "--http",
                "127.0.0.1:0",
                "--oauth-issuer",
                "https://login.example",
                "--oauth-jwks",
                "missing.json",
                "--public-url",
                "https://notes.example",
            ],
            1,
            "missing.json",
        ),
        (&["--http", "127.0.0.1:0", "--public-url", "https://a/b"], 2, "has a path"),
        (&["--stdio"], 2, "--http"),
        (&["--allow-host", "notes.example"], 2, "--http"),
        (&["--http", "127.0.0.1:0", "--allow-host", "http://a"], 2, "is not a host"),
        (&["--http", "127.0.0.1:0", "--allow-origin", "a"], 2, "is not an origin"),
    ] {
        let (found, out, said) = ended(library.command().args(arguments));
        assert_eq!(found, Some(code), "{arguments:?}: {said}");
        assert!(said.contains(why), "{arguments:?}: {said}");
        assert!(out.is_empty());
    }
}

#[test]
fn one_server_serves_several_libraries_by_path() {
    let (first, second) = (Library::empty(), Library::empty());
    let mut command = Command::new(TABELLION);
    let named = |name: &str, library: &Library| format!("{name}={}", library.root().display());
    command
        .args(["serve", "--http", "127.0.0.1:0", "--library"])
        .arg(named("first", &first))
        .arg("--library")
        .arg(named("second", &second));
    let mut server = Server::start(&mut command);
    let base = server.url.strip_suffix("/first").expect("it is the first").to_owned();
    for name in ["first", "second"] {
        server.url = format!("{base}/{name}");
        write(&mut server.connect(), &format!("{name}.md"));
    }
    assert_eq!(first.get("first.md"), b"# New\n");
    assert_eq!(second.get("second.md"), b"# New\n");
    assert!(!first.path("second.md").exists() && !second.path("first.md").exists());
    for path in [&base, &format!("{base}/third"), &format!("{base}/first/")] {
        let response = Request::new("POST").send(&Url::parse(path).expect("a URL"), ANSWER_TIMEOUT);
        assert_eq!(response.expect("an answer").status, 404, "{path}");
    }
    let metrics = Url::parse(&base.replace("/mcp", "/metrics")).expect("a URL");
    let response = Request::new("GET").send(&metrics, ANSWER_TIMEOUT);
    let numbers = response.and_then(|mut it| it.bytes()).expect("numbers");
    let numbers = String::from_utf8(numbers).expect("a text");
    for name in ["first", "second"] {
        let line = format!("tabellion_commits_total{{library=\"{name}\"}} 1\n");
        assert!(numbers.contains(&line), "{line}{numbers}");
    }
}

/// Returns a stateless call of a tool, by the client `agent/7`.
pub(crate) fn call_alone(tool: &str, arguments: Value) -> Request {
    call_alone_with(tool, arguments, &stateless(&json!({})))
}

pub(crate) fn call_alone_with(tool: &str, arguments: Value, meta: &Map<String, Value>) -> Request {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut request = Request::new("POST")
        .with("Accept", "*/*")
        .with("Content-Type", "application/json")
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", tool);
    request.body = message.to_string().into_bytes();
    request
}

/// Runs `tabellion key …`; returns its standard output.
pub(crate) fn key(arguments: &[&str]) -> String {
    let (code, out, said) = ended(Command::new(TABELLION).arg("key").args(arguments));
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
    out
}

#[test]
fn the_keys_owner_is_the_author_until_the_key_is_revoked() {
    let library = Library::with(&[("plan.md", "# Plan\n")]);
    library.put("plan.md", "# Plan\n\nBy hand.\n");
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("keys.json");
    let file = file.to_str().expect("a path");
    let secret = key(&["create", "--keys", file, "--name", "Ada Example", "--scope", "write"]);
    let secret = secret.trim();
    let listed = key(&["list", "--keys", file]);
    let id = listed.split('\t').next().expect("an id").to_owned();
    assert!(listed.contains("Ada Example") && secret.contains(&id), "{listed}");
    assert!(!listed.contains(secret.rsplit('_').next().expect("a secret")), "{listed}");

    // With keys, the server may listen on any address.
    let arguments = ["--http", "0.0.0.0:0", "--keys", file, "--allow-host", "127.0.0.1"];
    let server = Server::start(library.command().args(arguments));
    let url = Url::parse(&server.url.replace("0.0.0.0", "127.0.0.1")).expect("a URL");
    let request = call_alone("write_markdown", json!({ "path": "plan.md", "content": "# New\n" }));
    let status = |request: &Request| request.send(&url, ANSWER_TIMEOUT).expect("an answer").status;
    assert_eq!(status(&request), 401);
    let request = request.with("Authorization", &format!("Bearer {secret}"));
    assert_eq!(status(&request), 200);
    key(&["revoke", "--keys", file, &id]);
    assert_eq!(status(&request), 401);

    let log = ledger::git(library.root(), &["log", "--format=%an <%ae>%n%B"]).expect("a log");
    let author = format!("Ada Example <key-{id}@tabellion.localhost>\noverwrite: plan.md");
    assert_eq!(log.matches("Ada Example").count(), 1, "what was done by hand is not hers: {log}");
    assert!(log.contains(&author) && log.contains("Tabellion-Client: agent/7"), "{log}");
}

/// Creates a token issuer with an Ed25519 key; returns its key set and a function that signs claims.
pub(crate) fn issuer() -> (String, impl Fn(&Value) -> String) {
    let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    let key = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key");
    let public = encoded(key.public_key().as_ref());
    let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "1", "x": public }] });
    let sign = move |claims: &Value| {
        let header = encoded(br#"{"alg":"EdDSA","kid":"1","typ":"at+jwt"}"#);
        let signed = format!("{header}.{}", encoded(claims.to_string().as_bytes()));
        format!("{signed}.{}", encoded(key.sign(signed.as_bytes()).as_ref()))
    };
    (keys.to_string(), sign)
}

#[test]
fn the_tokens_subject_is_author_and_in_the_log_and_the_token_is_nowhere() {
    let library = Library::empty();
    let folder = tempfile::TempDir::new().expect("a folder");
    let jwks = folder.path().join("jwks.json");
    let (keys, sign) = issuer();
    std::fs::write(&jwks, keys).expect("written");
    let mut command = library.command();
    command
        .args(["--http", "0.0.0.0:0", "--public-url", "http://localhost:8000"])
        .args(["--oauth-issuer", "https://login.example", "--oauth-jwks"])
        .arg(&jwks)
        .args(["--allow-host", "127.0.0.1"])
        .env("TABELLION_LOG", "trace");
    let (mut server, mut stderr) = Server::with_log(&mut command);
    let url = Url::parse(&server.url.replace("0.0.0.0", "127.0.0.1")).expect("a URL");
    let claims = |scope: &str| {
        json!({
            "iss": "https://login.example", "aud": "http://localhost:8000/mcp", "exp": 9_999_999_999u64,
            "sub": "ada", "client_id": "agent", "name": "Ada Example", "scope": scope,
        })
    };
    let (writer, reader) = (sign(&claims("write")), sign(&claims("read")));
    let mut tampered = writer.clone();
    tampered.replace_range(
        writer.len() - 10..writer.len() - 9,
        if writer.as_bytes()[writer.len() - 10] == b'A' { "B" } else { "A" },
    );
    for (token, expected) in [("", 401), (&*tampered, 401), (&reader, 403), (&writer, 200)] {
        let mut request = call_alone("write_markdown", json!({ "path": "a.md", "content": "# New\n" }));
        if !token.is_empty() {
            request = request.with("Authorization", &format!("Bearer {token}"));
        }
        let response = request.send(&url, ANSWER_TIMEOUT).expect("an answer");
        assert_eq!(response.status, expected);
    }
    server.process.0.kill().expect("it ends");
    let mut log = String::new();
    stderr.read_to_string(&mut log).expect("a log");
    assert!(log.contains("access_token:https%3A%2F%2Flogin.example/ada;client=agent"), "{log}");
    for token in [&tampered, &reader, &writer] {
        for part in token.split('.').skip(1) {
            assert!(!log.contains(part), "{part}\n{log}");
        }
    }
    let commits = ledger::git(library.root(), &["log", "--format=%an <%ae>%n%B"]).expect("a log");
    let author = commits.lines().find(|line| line.starts_with("ada <oauth-"));
    assert!(author.is_some_and(|line| line.ends_with("@tabellion.localhost>")), "{commits}");
}

#[test]
fn the_log_contains_no_content() {
    let library = Library::empty();
    let mut command = library.command();
    command.args(["--http", "127.0.0.1:0"]).env("TABELLION_LOG", "trace");
    let (mut server, mut stderr) = Server::with_log(&mut command);
    let mut log = String::new();
    let mut target = server.connect();
    let arguments = json!({ "path": "a.md", "content": "# Confidential\n" });
    target.call("write_markdown", arguments, Default::default()).expect("an answer");
    let request = Request::new("GET").with("X-Request-Id", "by-this-name");
    let url = Url::parse(&format!("{}?confidential", server.url)).expect("a URL");
    request.send(&url, ANSWER_TIMEOUT).expect("an answer");
    drop(target);
    server.process.0.kill().expect("it ends");
    stderr.read_to_string(&mut log).expect("a log");
    assert!(log.contains("by-this-name"), "{log}");
    assert!(!log.to_lowercase().contains("confidential"), "{log}");
}
