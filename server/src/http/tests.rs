//! A server on a socket of its own, and clients that don't behave. All limits are small, and what is waited for is an
//! answer or an end, never a time.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rcgen::Certificate;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, SupportedProtocolVersion,
        pki_types::ServerName,
        version::{TLS12, TLS13},
    },
};

use super::{Credentials, Guard, Limits, OAuth, Place, Site, serve};
use crate::{
    keys::{KeyFile, Ring},
    mcp::{
        ApprovalPolicy,
        streamable::{self, Endpoint},
        tests::{
            client::adapter,
            contract::{Memory, NOTES},
        },
    },
    oauth::{
        Pace, Source, Tokens,
        tests::authority::{Authority, ISSUER, claims},
    },
    rates::Rate,
    tls::Certificates,
};

/// Longer than any answer takes, and much shorter than a test may.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);
/// The head of a record of TLS, and the first byte of what is in it.
const HALF_A_HANDSHAKE: &[u8] = b"\x16\x03\x01\x02\x00\x01";

struct Server {
    notes: Arc<Memory>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    folder: TempDir,
}

impl Server {
    async fn new(limits: Limits) -> Self {
        Self::with_keys(limits, |_| None).await
    }

    /// A server that asks for keys of a file, which are made in the folder.
    async fn with_keys(limits: Limits, keys: impl FnOnce(&Path) -> Option<Ring>) -> Self {
        let credentials = |folder: &Path| Credentials {
            keys: keys(folder).map(Arc::new),
            ..Credentials::default()
        };
        Self::with(limits, credentials).await
    }

    /// A server that asks for credentials, whose files are made in the folder.
    async fn with(limits: Limits, credentials: impl FnOnce(&Path) -> Credentials) -> Self {
        Self::over(limits, credentials, None).await
    }

    /// The same, over TLS where there are certificates.
    async fn over(
        limits: Limits,
        credentials: impl FnOnce(&Path) -> Credentials,
        certificates: Option<Arc<Certificates>>,
    ) -> Self {
        let notes = Memory::new(&NOTES);
        let adapter = adapter(vec![notes.clone()], ApprovalPolicy::default());
        let endpoint = Endpoint::new(adapter, streamable::Limits::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let guard = Guard::new(address, &[], &["https://app.example".into()]).unwrap();
        let folder = TempDir::new().unwrap();
        let place = Place {
            name: "notes".into(),
            folder: folder.path().into(),
            counts: Arc::default(),
            endpoint,
        };
        let site = Site::new(
            guard,
            credentials(folder.path()),
            BTreeMap::from([("/mcp".into(), place)]),
            limits,
        );
        let (stop, stopped) = oneshot::channel();
        let until = async { stopped.await.unwrap() };
        let served = tokio::spawn(serve(listener, site.into(), certificates, until));
        Self {
            notes,
            address,
            stop,
            served,
            folder,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// What is answered to these bytes, up to the end of the connection.
    async fn says(&self, bytes: &[u8]) -> String {
        said(self.connect().await, bytes).await
    }

    async fn end(self) {
        self.stop.send(()).unwrap();
        within(self.served).await.unwrap();
    }
}

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("it ends")
}

async fn said(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> String {
    // A server may answer and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut said = vec![];
    let _ = within(stream.read_to_end(&mut said)).await;
    String::from_utf8_lossy(&said).into_owned()
}

fn status(said: &str) -> &str {
    said.split(' ').nth(1).unwrap_or("nothing")
}

/// A call that stands for itself, as bytes.
fn call(tool: &str, text: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{text}"}},"_meta":{meta}}}}}"#
    );
    let headers = "Host: localhost\r\nConnection: close\r\nAccept: */*\r\nContent-Type: application/json\r\n\
                   MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n";
    format!(
        "POST /mcp HTTP/1.1\r\n{headers}Mcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn requests_are_answered_or_refused() {
    let limits = Limits {
        body: 1000,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let keep = call("keep", "x");
    let long = call("keep", &"x".repeat(1000));
    for (expected, bytes) in [
        ("200", keep.clone()),
        ("200", keep.replace("Host: localhost", "Host: 127.0.0.1:1")),
        ("404", keep.replace("/mcp ", "/ ")),
        ("404", keep.replace("/mcp ", "/mcp/ ")),
        ("404", keep.replace("/mcp ", "/mcp/../mcp ")),
        ("400", keep.replace("Host: localhost\r\n", "")),
        ("403", keep.replace("Host: localhost", "Host: attacker.example")),
        (
            "403",
            keep.replace("Accept:", "Origin: http://attacker.example\r\nAccept:"),
        ),
        ("413", long.clone()),
        (
            "413",
            format!(
                "{}Transfer-Encoding: chunked\r\n\r\n400\r\n{}\r\n0\r\n\r\n",
                keep.split("Content-Length").next().unwrap(),
                "x".repeat(1024)
            ),
        ),
        ("400", "nonsense\r\n\r\n".into()),
        (
            "431",
            format!(
                "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
                "x".repeat(400_000)
            ),
        ),
    ] {
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{bytes:.200}\n{said}");
    }
    assert_eq!(server.notes.kept(), ["x", "x"]);
    server.end().await;
}

#[tokio::test]
async fn a_known_page_may_read_what_it_is_answered() {
    let server = Server::new(Limits::default()).await;
    let page = "Host: localhost\r\nOrigin: https://app.example\r\nConnection: close\r\n";
    let asked = server
        .says(format!("OPTIONS /mcp HTTP/1.1\r\n{page}\r\n").as_bytes())
        .await;
    let called = call("keep", "x").replace("Host: localhost\r\n", page);
    let called = server.says(called.as_bytes()).await;
    assert_eq!((status(&asked), status(&called)), ("204", "200"));
    for said in [asked, called] {
        assert!(
            said.contains("access-control-allow-origin: https://app.example\r\n"),
            "{said}"
        );
    }
    let unknown = server.says(call("keep", "y").as_bytes()).await;
    assert!(!unknown.contains("access-control"), "{unknown}");
    server.end().await;
}

#[tokio::test]
async fn a_request_has_a_name_which_its_client_may_choose() {
    let server = Server::new(Limits::default()).await;
    for (given, taken) in [("mine-1", true), ("two words", false), ("", false)] {
        let bytes = call("keep", "x").replace("Accept:", &format!("X-Request-Id: {given}\r\nAccept:"));
        let said = server.says(bytes.as_bytes()).await;
        let name = said
            .split("x-request-id: ")
            .nth(1)
            .and_then(|it| it.lines().next());
        let name = name.expect("a name");
        assert_eq!(name == given, taken, "{given}: {name}");
        assert!(taken || name.len() == 16, "{name}");
    }
    server.end().await;
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn it_says_how_it_is() {
    let server = Server::new(Limits::default()).await;
    let asked = async |path: &str, host: &str| {
        let asked = get(path).replace("localhost", host);
        status(&server.says(asked.as_bytes()).await).to_owned()
    };
    for (path, host, expected) in [
        ("/healthz", "10.0.0.7", "200"),
        ("/readyz", "10.0.0.7", "200"),
        ("/metrics", "10.0.0.7", "403"),
        ("/metrics", "localhost", "200"),
    ] {
        assert_eq!(asked(path, host).await, expected, "{path} of {host}");
    }
    std::fs::remove_dir(server.folder.path()).unwrap();
    assert_eq!(asked("/healthz", "localhost").await, "200");
    assert_eq!(asked("/readyz", "localhost").await, "503");
    server.end().await;
}

#[tokio::test]
async fn what_was_done_is_told_in_numbers() {
    let server = Server::new(Limits::default()).await;
    for tool in ["keep", "keep", "refuse", "breach", "no_such_tool"] {
        server.says(call(tool, "Confidential").as_bytes()).await;
    }
    let said = server.says(get("/metrics").as_bytes()).await;
    for line in [
        r#"tabellion_calls_total{library="notes",tool="keep",outcome="ok"} 2"#,
        r#"tabellion_calls_total{library="notes",tool="refuse",outcome="NOT_FOUND"} 1"#,
        r#"tabellion_calls_total{library="notes",tool="breach",outcome="INTERNAL_ERROR"} 1"#,
        r#"tabellion_call_seconds_bucket{library="notes",tool="keep",le="+Inf"} 2"#,
        r#"tabellion_call_seconds_count{library="notes",tool="keep"} 2"#,
        r#"tabellion_commits_total{library="notes"} 0"#,
        r#"tabellion_requests_in_flight{library="notes"} 0"#,
    ] {
        assert!(said.contains(&format!("\n{line}\n")), "{line}\n{said}");
    }
    assert!(
        !said.contains("Confidential") && !said.contains("no_such_tool"),
        "{said}"
    );
    let body = said.split("\r\n\r\n").nth(1).unwrap();
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("tabellion_") && name.ends_with('}'), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    server.end().await;
}

#[tokio::test]
async fn who_has_no_key_is_not_served() {
    let mut made = None;
    let server = Server::with_keys(Limits::default(), |folder| {
        let file = KeyFile::at(folder.join("keys.json"));
        let scopes = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let new = |name, texts| file.create(name, None, scopes(texts)).unwrap().reveal();
        let keys = [
            new("writer", &["write"][..]),
            new("reader", &["read"]),
            new("stranger", &["write@plans"]),
            new("gone", &["write"]),
        ];
        let ring = Ring::new(file.clone()).unwrap();
        file.revoke(keys[3].split('_').nth(1).unwrap()).unwrap();
        made = Some(keys);
        Some(ring)
    })
    .await;
    let [writer, reader, stranger, gone] = made.unwrap();
    let bearer = |key: &str| format!("Authorization: Bearer {key}\r\n");
    for (expected, headers) in [
        ("401", String::new()),
        ("401", "Authorization: Bearer\r\n".into()),
        ("401", bearer("guess")),
        ("401", bearer(&gone)),
        ("401", format!("Authorization: Basic {writer}\r\n")),
        ("401", format!("Cookie: key={writer}\r\n")),
        ("400", bearer(&writer) + &bearer(&writer)),
        ("400", format!("{}X-API-Key: {writer}\r\n", bearer(&reader))),
        ("403", bearer(&reader)),
        ("403", bearer(&stranger)),
        ("200", bearer(&writer)),
        ("200", format!("authorization: bearer {writer}\r\n")),
        ("200", format!("X-API-Key: {writer}\r\n")),
    ] {
        let bytes = call("keep", "x").replace("Accept:", &format!("{headers}Accept:"));
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{headers}{said}");
        let challenge = said.contains("www-authenticate: Bearer ");
        assert_eq!(challenge, ["401", "403"].contains(&expected), "{said}");
        for key in [&writer, &reader, &stranger, &gone] {
            assert!(!said.contains(&key[25..]), "{said}");
        }
    }
    // Not in the URL, and not before it is known who asks.
    for (query, expected) in [
        ("key", "401"),
        ("access_token", "400"),
        ("a=b&access_token", "400"),
    ] {
        let in_url = call("keep", "x").replace("/mcp ", &format!("/mcp?{query}={writer} "));
        assert_eq!(status(&server.says(in_url.as_bytes()).await), expected, "{query}");
    }
    let nowhere = call("keep", "x").replace("/mcp ", "/secret ");
    assert_eq!(status(&server.says(nowhere.as_bytes()).await), "401");
    for (path, headers, expected) in [
        ("/metrics", String::new(), "401"),
        ("/metrics", bearer(&reader), "200"),
        ("/healthz", String::new(), "200"),
        ("/readyz", String::new(), "200"),
    ] {
        let asked = get(path).replace("Connection:", &format!("{headers}Connection:"));
        assert_eq!(status(&server.says(asked.as_bytes()).await), expected, "{path}");
    }
    assert_eq!(server.notes.kept(), ["x"; 3]);
    server.end().await;
}

/// Access tokens for `https://notes.example`, signed with the keys at `jwks`.
fn oauth(jwks: &str) -> OAuth {
    let source = Source::new(jwks, Pace::default()).unwrap();
    OAuth {
        tokens: Arc::new(Tokens::new(ISSUER.parse().unwrap(), vec![], source)),
        url: "https://notes.example".parse().unwrap(),
    }
}

#[tokio::test]
async fn who_has_no_token_is_told_where_to_get_one() {
    let (authority, mut made) = (Authority::new(), None);
    let server = Server::with(Limits::default(), |folder| {
        let (jwks, keys) = (folder.join("jwks.json"), KeyFile::at(folder.join("keys.json")));
        std::fs::write(&jwks, authority.keys().to_string()).unwrap();
        let key = keys.create("Bert", None, vec!["write".parse().unwrap()]).unwrap();
        made = Some(key.reveal());
        Credentials {
            keys: Some(Arc::new(Ring::new(keys).unwrap())),
            oauth: Some(oauth(jwks.to_str().unwrap())),
        }
    })
    .await;
    let key = made.unwrap();
    let metadata = "resource_metadata=\"https://notes.example/.well-known/oauth-protected-resource/mcp\"";
    let token = |aud: &str, scope: &str| authority.token(&claims(aud, scope));
    let here = "https://notes.example/mcp";
    let good = token(here, "write");
    let mut old = claims(here, "write");
    old["exp"] = 0.into();
    let bearer = |text: &str| format!("Authorization: Bearer {text}\r\n");
    for (expected, challenge, headers) in [
        ("401", "Bearer realm=\"tabellion\", scope=\"read\"", String::new()),
        ("401", "invalid_token", bearer("nonsense")),
        ("401", "invalid_token", bearer(&authority.token(&old))),
        (
            "401",
            "invalid_token",
            bearer(&token("https://other.example/mcp", "write")),
        ),
        (
            "401",
            "invalid_token",
            bearer(&Authority::new().token(&claims(here, "write"))),
        ),
        ("401", "invalid_token", format!("X-API-Key: {good}\r\n")),
        ("401", "invalid_token", bearer(&key.replace("tbl_", "tbl_0"))),
        (
            "403",
            "error=\"insufficient_scope\", scope=\"read\"",
            bearer(&token(here, "openid")),
        ),
        (
            "403",
            "error=\"insufficient_scope\", scope=\"write\"",
            bearer(&token(here, "read")),
        ),
        ("400", "", bearer(&good) + &bearer(&good)),
        ("200", "", bearer(&good)),
        (
            "200",
            "",
            bearer(&token("HTTPS://Notes.example/mcp", "read write@notes")),
        ),
        ("200", "", bearer(&key)),
        ("200", "", format!("X-API-Key: {key}\r\n")),
    ] {
        let bytes = call("keep", "x").replace("Accept:", &format!("{headers}Accept:"));
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{headers}{said}");
        let asked = said.lines().find(|line| line.starts_with("www-authenticate: "));
        assert_eq!(asked.is_some(), !challenge.is_empty(), "{said}");
        if let Some(asked) = asked {
            assert!(
                asked.contains(challenge) && asked.contains(metadata),
                "{headers}{asked}"
            );
        }
        assert!(!said.contains(&good[40..]), "{said}");
    }
    assert_eq!(server.notes.kept(), ["x"; 4]);
    for nowhere in ["/secret", "/mcp/%22", "/mcp/\""] {
        let said = server.says(get(nowhere).as_bytes()).await;
        assert!(
            !said.contains("resource_metadata") && !said.contains("secret"),
            "{said}"
        );
    }
    let in_url = call("keep", "y").replace("/mcp ", &format!("/mcp?access_token={good} "));
    let said = server.says(in_url.as_bytes()).await;
    assert!(
        status(&said) == "400" && said.contains("invalid_request"),
        "{said}"
    );

    for (path, expected) in [
        ("/.well-known/oauth-protected-resource/mcp", "200"),
        ("/.well-known/oauth-protected-resource", "200"),
        ("/.well-known/oauth-protected-resource/other", "404"),
        ("/.well-known/oauth-protected-resourcemcp", "404"),
        ("/.well-known/oauth-authorization-server", "401"),
    ] {
        let said = server.says(get(path).as_bytes()).await;
        assert_eq!(status(&said), expected, "{path}: {said}");
        if expected == "200" {
            let body: Value = serde_json::from_str(said.split("\r\n\r\n").nth(1).unwrap()).unwrap();
            assert_eq!(body["resource"], here);
            assert_eq!(body["authorization_servers"], json!([ISSUER]));
            assert_eq!(body["scopes_supported"], json!(["read", "write"]));
            assert_eq!(body["bearer_methods_supported"], json!(["header"]));
        }
    }
    let elsewhere = get("/.well-known/oauth-protected-resource").replace("localhost", "attacker.example");
    assert_eq!(status(&server.says(elsewhere.as_bytes()).await), "403");
    server.end().await;
}

#[tokio::test]
async fn without_the_issuers_keys_it_is_not_ready() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let jwks = format!("http://{}/keys", silent.local_addr().unwrap());
    // Whoever connects is hung up on.
    tokio::spawn(async move { while silent.accept().await.is_ok() {} });
    let server = Server::with(Limits::default(), |_| Credentials {
        keys: None,
        oauth: Some(oauth(&jwks)),
    })
    .await;
    assert_eq!(status(&server.says(get("/readyz").as_bytes()).await), "503");
    assert_eq!(status(&server.says(get("/healthz").as_bytes()).await), "200");
    // The token may be good, so that its client had better keep it.
    let token = Authority::new().token(&claims("https://notes.example/mcp", "write"));
    let bytes = call("keep", "x").replace("Accept:", &format!("Authorization: Bearer {token}\r\nAccept:"));
    let said = server.says(bytes.as_bytes()).await;
    assert!(status(&said) == "503" && said.contains("retry-after"), "{said}");
    assert_eq!(server.notes.kept(), [""; 0]);
    server.end().await;
}

/// Writes a certificate for `localhost` and its key into two files of a folder.
fn certify(folder: &Path) -> (Certificate, [PathBuf; 2]) {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = [folder.join("cert.pem"), folder.join("key.pem")];
    std::fs::write(&files[0], pair.cert.pem()).unwrap();
    std::fs::write(&files[1], pair.signing_key.serialize_pem()).unwrap();
    (pair.cert, files)
}

/// A client that trusts this certificate alone, and speaks these versions of TLS.
fn trusting(certificate: &Certificate, versions: &[&'static SupportedProtocolVersion]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_protocol_versions(versions).unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn over_tls_the_same_is_said() {
    let folder = TempDir::new().unwrap();
    let (old, [cert, key]) = certify(folder.path());
    let certificates = Arc::new(Certificates::new(cert.clone(), key.clone()).unwrap());
    let limits = Limits {
        // So that a test which waited for those that hold up nobody would fail.
        head: 2 * LONG,
        ..Limits::default()
    };
    let server = Server::over(limits, |_| Credentials::default(), Some(certificates)).await;
    let keep = call("keep", "x");
    let ask = async |connector: &TlsConnector| {
        let name = ServerName::try_from("localhost").unwrap();
        let stream = within(connector.connect(name, server.connect().await)).await?;
        Ok::<_, io::Error>(status(&said(stream, keep.as_bytes()).await).to_owned())
    };
    // Who says nothing, or half of a first word, holds up nobody.
    let _silent = server.connect().await;
    let mut half = server.connect().await;
    half.write_all(HALF_A_HANDSHAKE).await.unwrap();
    for version in [&TLS12, &TLS13] {
        assert_eq!(ask(&trusting(&old, &[version])).await.unwrap(), "200");
    }
    // A key that is no pair with the certificate changes nothing, until it is.
    let other = TempDir::new().unwrap();
    let (new, files) = certify(other.path());
    std::fs::copy(&files[1], &key).unwrap();
    assert_eq!(ask(&trusting(&old, &[&TLS13])).await.unwrap(), "200");
    std::fs::copy(&files[0], &cert).unwrap();
    assert_eq!(ask(&trusting(&new, &[&TLS13])).await.unwrap(), "200");
    assert!(ask(&trusting(&old, &[&TLS13])).await.is_err());
    // In the clear, one is told so, and nothing is done.
    let clear = server.says(keep.as_bytes()).await;
    assert!(status(&clear) == "400" && clear.contains("https"), "{clear}");
    for nonsense in [&b"\x16\x03\x01\xff\xff\x01"[..], &[0; 1000], b"\n"] {
        assert!(!server.says(nonsense).await.contains("200"));
    }
    assert_eq!(server.notes.kept(), ["x"; 4]);
    server.end().await;
}

#[tokio::test]
async fn who_is_slow_to_speak_tls_is_given_up() {
    let folder = TempDir::new().unwrap();
    let (_, [cert, key]) = certify(folder.path());
    let limits = Limits {
        head: SHORT,
        connections: 1,
        ..Limits::default()
    };
    let certificates = Some(Arc::new(Certificates::new(cert, key).unwrap()));
    let server = Server::over(limits, |_| Credentials::default(), certificates).await;
    for begun in [&b""[..], HALF_A_HANDSHAKE] {
        // The place is another's as soon as nobody has it: whoever comes too early is hung up on.
        assert_eq!(server.says(begun).await, "");
    }
    server.end().await;
}

#[test]
fn files_that_are_no_certificate_and_key_are_refused() {
    let folder = TempDir::new().unwrap();
    let (_, [cert, key]) = certify(folder.path());
    let other = TempDir::new().unwrap();
    let (_, others) = certify(other.path());
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let missing = folder.path().join("missing.pem");
    for (cert, key, why) in [
        (&missing, &key, "missing.pem"),
        (&cert, &missing, "missing.pem"),
        (&empty, &key, "no certificate in PEM"),
        (&key, &key, "no certificate in PEM"),
        (&cert, &empty, "no private key in PEM"),
        (&cert, &cert, "no private key in PEM"),
        (&cert, &others[1], "not good for TLS"),
    ] {
        let error = Certificates::new(cert.clone(), key.clone())
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn who_is_wrong_too_often_is_not_believed_for_a_while() {
    for local_failures in [true, false] {
        let mut made = None;
        let limits = Limits {
            failures: Rate::a_minute(1),
            local_failures,
            ..Limits::default()
        };
        let server = Server::with_keys(limits, |folder| {
            let file = KeyFile::at(folder.join("keys.json"));
            made = Some(
                file.create("Ada", None, vec!["write".parse().unwrap()])
                    .unwrap()
                    .reveal(),
            );
            Some(Ring::new(file).unwrap())
        })
        .await;
        let good = made.unwrap();
        let said = async |key: &str| {
            let header = if key.is_empty() {
                String::new()
            } else {
                format!("X-API-Key: {key}\r\n")
            };
            let bytes = call("keep", "x").replace("Accept:", &format!("{header}Accept:"));
            let said = server.says(bytes.as_bytes()).await;
            assert_eq!(status(&said) == "429", said.contains("retry-after: "), "{said}");
            status(&said).to_owned()
        };
        // Who says nothing is not wrong, and who is right is not counted.
        for key in ["", "", "", "", "", &good, &good, &good, &good, "a"] {
            let expected = if key == good { "200" } else { "401" };
            assert_eq!(said(key).await, expected, "{key}");
        }
        let believed = [said("d").await, said(&good).await, said("").await];
        let expected = if local_failures {
            ["429", "429", "401"]
        } else {
            ["401", "200", "401"]
        };
        assert_eq!(believed, expected);
        assert_eq!(server.notes.kept().len(), if local_failures { 4 } else { 5 });
        server.end().await;
    }
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let limits = Limits {
        writes: Rate::a_minute(1),
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    for (tool, expected) in [("keep", "200"), ("keep", "429"), ("echo", "200")] {
        let said = server.says(call(tool, "x").as_bytes()).await;
        assert_eq!(status(&said), expected, "{said}");
        assert_eq!(said.contains("\r\nretry-after: "), expected == "429", "{said}");
    }
    assert_eq!(server.notes.kept(), ["x"]);
    let numbers = server.says(get("/metrics").as_bytes()).await;
    for line in ["{of=\"read\"} 0", "{of=\"write\"} 1", "{of=\"credentials\"} 0"] {
        assert!(
            numbers.contains(&format!("tabellion_rate_limited_total{line}\n")),
            "{numbers}"
        );
    }
    server.end().await;
}

#[tokio::test]
async fn who_is_slow_is_given_up() {
    let limits = Limits {
        head: SHORT,
        upload: SHORT,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let keep = call("keep", "x");
    let (half_a_head, half_a_body) = (&keep[..20], &keep[..keep.len() - 5]);
    for (expected, bytes) in [("nothing", ""), ("nothing", half_a_head), ("408", half_a_body)] {
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{bytes}");
    }
    assert_eq!(server.notes.kept(), [""; 0]);
    server.end().await;
}

#[tokio::test]
async fn who_does_not_read_gives_up_the_place() {
    let limits = Limits {
        connections: 1,
        unread: SHORT,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let mut first = server.connect().await;
    let much = call("echo", &"x".repeat(16 << 20));
    first.write_all(much.as_bytes()).await.unwrap();
    server.notes.has_begun(1).await;
    let keep = call("keep", "x");
    // While the first one reads nothing, and does not hang up.
    within(async { while status(&server.says(keep.as_bytes()).await) != "200" {} }).await;
    drop(first);
    server.end().await;
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let first = server.connect().await;
    let keep = call("keep", "x");
    let said = server.says(b"").await;
    assert!(
        said.starts_with("HTTP/1.1 503 ") && said.contains("Retry-After"),
        "{said}"
    );
    drop(first);
    within(async { while status(&server.says(keep.as_bytes()).await) != "200" {} }).await;
    server.end().await;
}

#[tokio::test]
async fn what_is_received_at_once_is_bounded() {
    let limits = Limits {
        bodies: 64 << 10,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let much = call("echo", &"x".repeat(60 << 10));
    let mut first = server.connect().await;
    first.write_all(&much.as_bytes()[..much.len() - 1]).await.unwrap();
    // Once the first body is there but for its last byte, there is no room for the same again.
    within(async { while status(&server.says(much.as_bytes()).await) != "503" {} }).await;
    let rest = said(first, &much.as_bytes()[much.len() - 1..]).await;
    assert_eq!(status(&rest), "200");
    within(async { while status(&server.says(much.as_bytes()).await) != "200" {} }).await;
    server.end().await;
}

#[tokio::test]
async fn at_the_end_calls_are_finished() {
    let server = Server::new(Limits::default()).await;
    let Server {
        notes,
        address,
        stop,
        served,
        ..
    } = server;
    // A connection on which nothing is asked does not hold up the end.
    let _idle = TcpStream::connect(address).await.unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let slow = tokio::spawn(async move { said(stream, call("slow", "x").as_bytes()).await });
    notes.has_begun(1).await;
    stop.send(()).unwrap();
    within(async { while TcpStream::connect(address).await.is_ok() {} }).await;
    notes.open(1);
    let said = slow.await.unwrap();
    assert_eq!(status(&said), "200", "{said}");
    within(served).await.unwrap();
    assert_eq!(notes.kept(), ["x"]);
}

#[tokio::test]
async fn who_waits_for_news_does_not_hold_up_the_end() {
    let limits = Limits {
        grace: 2 * LONG,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    let headers = "Host: localhost\r\nConnection: close\r\nAccept: */*\r\n";
    let open = format!(
        "POST /mcp HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let opened = server.says(open.as_bytes()).await;
    let session = opened.lines().find(|line| line.starts_with("mcp-session-id: "));
    let session = session.expect("a session");
    let mut stream = server.connect().await;
    let listen = format!("GET /mcp HTTP/1.1\r\n{headers}{session}\r\n\r\n");
    stream.write_all(listen.as_bytes()).await.unwrap();
    let mut begun = [0; 15];
    stream.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    server.end().await;
    // The stream has its proper end.
    let rest = said(stream, b"").await;
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "{rest}");
}
