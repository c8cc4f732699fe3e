//! Sources of keys: files that change, and servers that are slow, faulty or unavailable.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, date_time_ymd};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::{
    authority::{Authority, ISSUER, claims},
    *,
};
use crate::tls::{self, Certificates, TlsError};

const HERE: &str = "https://notes.example/mcp";

/// A server that answers every request with the bytes in `shown`, as soon as there are any, and closes the connection.
struct Site {
    url: String,
    shown: watch::Sender<Vec<u8>>,
    asked: Arc<AtomicUsize>,
}

impl Site {
    async fn new(shown: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let (shown, asked) = (watch::Sender::new(shown), Arc::<AtomicUsize>::default());
        let (answers, count) = (shown.subscribe(), asked.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(stream, answers.clone()));
            }
        });
        Self { url, shown, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn answer(mut stream: TcpStream, mut shown: watch::Receiver<Vec<u8>>) {
    let mut head = vec![0; 4096];
    let read = stream.read(&mut head).await.unwrap_or_default();
    assert!(head[..read].starts_with(b"GET /keys HTTP/1.1\r\n"));
    let bytes = tokio::select! {
        shown = shown.wait_for(|bytes| !bytes.is_empty()) => shown.unwrap().clone(),
        // The client closes the connection.
        _ = stream.read(&mut head) => return,
    };
    // The client may have closed the connection.
    let _ = stream.write_all(&bytes).await;
}

fn response(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn keys(authority: &Authority) -> Vec<u8> {
    response("200 OK", &authority.keys().to_string())
}

/// Its keys, each with a changed key id.
fn renamed(authority: &Authority) -> String {
    let mut keys = authority.keys();
    for key in keys["keys"].as_array_mut().unwrap() {
        key["kid"] = format!("{}-next", key["kid"].as_str().unwrap()).into();
    }
    keys.to_string()
}

fn tokens(url: &str, pace: PollingLimits) -> Tokens {
    Tokens::new(ISSUER.parse().unwrap(), vec![], Source::new(url, pace).unwrap())
}

/// Lets other tasks run until the condition holds; for at most a minute.
async fn until(so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it comes");
}

async fn found(tokens: &Tokens, token: &str) -> Result<(), AuthenticationError> {
    tokens.bearer(token, &[HERE.into()]).await.map(drop)
}

#[tokio::test]
async fn keys_from_a_url_stay_while_its_server_is_unavailable() {
    let (authority, next) = (Authority::new(), Authority::new());
    let site = Site::new(keys(&authority)).await;
    let pace = PollingLimits { between: Duration::ZERO, ..PollingLimits::default() };
    let tokens = tokens(&site.url, pace);
    assert!(!tokens.is_ready());
    let token = authority.token(&claims(HERE, "read"));
    found(&tokens, &token).await.unwrap();
    assert!(tokens.is_ready());
    for broken in [
        response("500 Internal Server Error", "{}"),
        response("302 Found", &next.keys().to_string()),
        response("200 OK", "nonsense"),
        response("200 OK", r#"{"keys":[]}"#),
        response("200 OK", &format!("{}{}", next.keys(), " ".repeat(300 << 10))),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_vec(),
        b"220 ready\r\n".to_vec(),
    ] {
        let asked = site.asked();
        site.shown.send_replace(broken);
        // An unknown key causes a request.
        let unknown = authority.sign(&json!({ "alg": "EdDSA", "kid": "new" }).to_string(), "{}");
        let denied = found(&tokens, &unknown).await;
        assert!(matches!(denied, Err(AuthenticationError::Token(TokenError::Key))), "{denied:?}");
        assert_eq!(site.asked(), asked + 1);
        found(&tokens, &token).await.unwrap();
        assert_eq!(site.asked(), asked + 1, "a key that is known is not asked for");
    }
}

#[tokio::test]
async fn a_token_with_an_unknown_key_causes_a_request_but_not_too_often() {
    let authority = Authority::new();
    let mut old = authority.keys();
    old["keys"].as_array_mut().unwrap().remove(0);
    let site = Site::new(response("200 OK", &old.to_string())).await;
    let tokens = tokens(&site.url, PollingLimits::default());
    let token = authority.token(&claims(HERE, "read"));
    let denied = found(&tokens, &token).await;
    assert!(matches!(denied, Err(AuthenticationError::Token(TokenError::Key))), "{denied:?}");
    site.shown.send_replace(keys(&authority));
    // Many tokens with unknown keys do not increase the number of requests.
    for _ in 0..20 {
        let denied = found(&tokens, &token).await;
        assert!(matches!(denied, Err(AuthenticationError::Token(TokenError::Key))), "{denied:?}");
    }
    assert_eq!(site.asked(), 1);
    tokio::time::pause();
    tokio::time::advance(PollingLimits::default().between).await;
    tokio::time::resume();
    let many = (0..20).map(|_| found(&tokens, &token));
    for found in futures_util::future::join_all(many).await {
        found.unwrap();
    }
    assert_eq!(site.asked(), 2, "all of them wait for one answer");
}

#[tokio::test]
async fn without_keys_no_token_is_called_invalid() {
    let authority = Authority::new();
    let site = Site::new(vec![]).await;
    let pace = PollingLimits {
        timeout: Duration::from_millis(50),
        between: Duration::ZERO,
        ..PollingLimits::default()
    };
    let tokens = tokens(&site.url, pace);
    let token = authority.token(&claims(HERE, "read"));
    assert!(matches!(found(&tokens, &token).await, Err(AuthenticationError::NoKeys)));
    assert!(!tokens.is_ready());
    // A text that is not a token causes no request.
    let asked = site.asked();
    assert!(matches!(found(&tokens, "nonsense").await, Err(AuthenticationError::Token(TokenError::Form))));
    assert_eq!(site.asked(), asked);
    site.shown.send_replace(keys(&authority));
    found(&tokens, &token).await.unwrap();
}

#[tokio::test]
async fn a_client_that_disconnects_does_not_cancel_a_request_for_keys() {
    let authority = Authority::new();
    let site = Site::new(vec![]).await;
    let tokens = Arc::new(tokens(&site.url, PollingLimits::default()));
    let token = authority.token(&claims(HERE, "read"));
    let impatient = tokio::spawn({
        let (tokens, token) = (tokens.clone(), token.clone());
        async move { found(&tokens, &token).await.is_ok() }
    });
    until(|| site.asked() > 0).await;
    impatient.abort();
    assert!(impatient.await.unwrap_err().is_cancelled());
    // The request continues, and is not repeated.
    site.shown.send_replace(keys(&authority));
    found(&tokens, &token).await.unwrap();
    assert_eq!(site.asked(), 1);
}

#[tokio::test]
async fn keys_are_fetched_before_the_first_token() {
    let authority = Authority::new();
    let site = Site::new(b"220 not yet\r\n".to_vec()).await;
    let pace = PollingLimits { first: Duration::from_millis(1), ..PollingLimits::default() };
    let tokens = Arc::new(tokens(&site.url, pace));
    let keeping = tokio::spawn({
        let tokens = tokens.clone();
        async move { tokens.keep_fresh().await }
    });
    until(|| site.asked() > 1).await;
    assert!(!tokens.is_ready());
    site.shown.send_replace(keys(&authority));
    until(|| tokens.is_ready()).await;
    keeping.abort();
}

#[tokio::test]
async fn a_regular_request_does_not_delay_one_for_an_unknown_key() {
    let (authority, next) = (Authority::new(), Authority::new());
    let site = Site::new(keys(&authority)).await;
    let tokens = Arc::new(tokens(&site.url, PollingLimits::default()));
    let keeping = tokio::spawn({
        let tokens = tokens.clone();
        async move { tokens.keep_fresh().await }
    });
    until(|| tokens.is_ready()).await;
    site.shown.send_replace(response("200 OK", &renamed(&next)));
    let token = next.sign(r#"{"alg":"EdDSA","kid":"ed-next"}"#, &claims(HERE, "read").to_string());
    found(&tokens, &token).await.unwrap();
    assert_eq!(site.asked(), 2);
    keeping.abort();
}

#[tokio::test]
async fn keys_are_fetched_over_tls_from_trusted_servers() {
    let folder = tempfile::TempDir::new().unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let signing_key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(&files[1], signing_key.serialize_pem()).unwrap();
    let [cert, key] = files;
    let certified = |change: fn(&mut CertificateParams), key: &rcgen::KeyPair| {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        change(&mut params);
        params.self_signed(key).unwrap()
    };
    let shown = Arc::new(parking_lot::Mutex::new(None));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let bytes = keys(&Authority::new());
    let acceptor = shown.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor: tokio_rustls::TlsAcceptor = acceptor.lock().clone().unwrap();
            if let Ok(mut stream) = acceptor.accept(stream).await {
                // All requests are for the one resource.
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
            }
        }
    });
    let good: fn(&mut CertificateParams) = |_| ();
    // The server's certificate, true if it is trusted, the requested host, and the expected result.
    for (change, is_trusted, host, expected) in [
        (good, true, "localhost", true),
        (good, true, "127.0.0.1", false),
        (good, false, "localhost", false),
        (|params| params.not_after = date_time_ymd(2001, 1, 1), true, "localhost", false),
        (|params| params.not_before = date_time_ymd(4000, 1, 1), true, "localhost", false),
        (
            |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth],
            true,
            "localhost",
            false,
        ),
        (|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained), true, "localhost", false),
        (|params| params.subject_alt_names.clear(), true, "localhost", false),
    ] {
        let shows = certified(change, &signing_key);
        let other = certified(good, &rcgen::KeyPair::generate().unwrap());
        std::fs::write(&cert, shows.pem()).unwrap();
        *shown.lock() = Some(Certificates::new(cert.clone(), key.clone()).unwrap().acceptor());
        let trusted = if is_trusted { &shows } else { &other };
        let config = tls::trusting([trusted.der().clone()]).unwrap();
        let url = format!("https://{host}:{port}/keys").parse().unwrap();
        let found = fetch::get(&url, Some(&config.into()), PollingLimits::default().timeout).await;
        assert_eq!(found.is_ok(), expected, "{host}: {found:?}");
    }
    assert!(matches!(tls::trusting([]), Err(TlsError::NoRoots)));
}

#[tokio::test]
async fn a_file_is_read_again_when_it_changes() {
    let (authority, next) = (Authority::new(), Authority::new());
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("jwks.json");
    let path = file.to_str().unwrap();
    assert!(matches!(Source::new(path, PollingLimits::default()), Err(SourceError::Io { .. })));
    std::fs::write(&file, "{}").unwrap();
    assert!(matches!(Source::new(path, PollingLimits::default()), Err(SourceError::Set { .. })));
    std::fs::write(&file, authority.keys().to_string()).unwrap();
    let tokens = tokens(path, PollingLimits::default());
    assert!(tokens.is_ready());
    let (old, new) = (authority.token(&claims(HERE, "read")), next.token(&claims(HERE, "read")));
    let good = async |token: &str| found(&tokens, token).await.is_ok();
    assert_eq!((good(&old).await, good(&new).await), (true, false));
    std::fs::write(&file, "half").unwrap();
    assert_eq!((good(&old).await, good(&new).await), (true, false));
    std::fs::write(&file, format!("{}\n", next.keys())).unwrap();
    assert_eq!((good(&old).await, good(&new).await), (false, true));
    std::fs::remove_file(&file).unwrap();
    assert_eq!((good(&old).await, good(&new).await), (false, true));
}

#[test]
fn keys_are_not_fetched_unencrypted_over_a_network() {
    for url in ["http://login.example/keys", "ftp://login.example/keys", "https://user@login.example/keys"] {
        let source = Source::new(url, PollingLimits::default());
        assert!(matches!(source, Err(SourceError::Url(_))), "{url}");
    }
}
