//! Requests over TLS.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::Certificate;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, SupportedProtocolVersion,
        pki_types::ServerName,
        version::{TLS12, TLS13},
    },
};

use super::{Credentials, LONG, Limits, SHORT, Server, call, said, status, within};
use crate::tls::Certificates;

/// The head of a TLS record, and the first byte of its content.
const HALF_A_HANDSHAKE: &[u8] = b"\x16\x03\x01\x02\x00\x01";

/// Writes a certificate for `localhost` and its key into two files of a folder.
fn certify(folder: &Path) -> (Certificate, [PathBuf; 2]) {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = [folder.join("cert.pem"), folder.join("key.pem")];
    std::fs::write(&files[0], pair.cert.pem()).unwrap();
    std::fs::write(&files[1], pair.signing_key.serialize_pem()).unwrap();
    (pair.cert, files)
}

/// A client that trusts only this certificate, and supports these versions of TLS.
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
async fn requests_are_answered_over_tls() {
    let folder = TempDir::new().unwrap();
    let (old, [cert, key]) = certify(folder.path());
    let certificates = Arc::new(Certificates::new(cert.clone(), key.clone()).unwrap());
    let limits = Limits {
        // Longer than the test waits: a server that waited for a stalled client would fail it.
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
    // A silent client, or one that sends half a handshake, does not block other clients.
    let _silent = server.connect().await;
    let mut half = server.connect().await;
    half.write_all(HALF_A_HANDSHAKE).await.unwrap();
    for version in [&TLS12, &TLS13] {
        assert_eq!(ask(&trusting(&old, &[version])).await.unwrap(), "200");
    }
    // A key that does not match the certificate has no effect until the certificate is replaced too.
    let other = TempDir::new().unwrap();
    let (new, files) = certify(other.path());
    std::fs::copy(&files[1], &key).unwrap();
    assert_eq!(ask(&trusting(&old, &[&TLS13])).await.unwrap(), "200");
    std::fs::copy(&files[0], &cert).unwrap();
    assert_eq!(ask(&trusting(&new, &[&TLS13])).await.unwrap(), "200");
    assert!(ask(&trusting(&old, &[&TLS13])).await.is_err());
    // A request in the clear is answered with advice, and not executed.
    let clear = server.says(keep.as_bytes()).await;
    assert!(status(&clear) == "400" && clear.contains("https"), "{clear}");
    for nonsense in [&b"\x16\x03\x01\xff\xff\x01"[..], &[0; 1000], b"\n"] {
        assert!(!server.says(nonsense).await.contains("200"));
    }
    assert_eq!(server.notes.stored_texts(), ["x"; 4]);
    server.end().await;
}

#[tokio::test]
async fn a_stalled_handshake_times_out() {
    let folder = TempDir::new().unwrap();
    let (_, [cert, key]) = certify(folder.path());
    let limits = Limits { head: SHORT, connections: 1, ..Limits::default() };
    let certificates = Some(Arc::new(Certificates::new(cert, key).unwrap()));
    let server = Server::over(limits, |_| Credentials::default(), certificates).await;
    for begun in [&b""[..], HALF_A_HANDSHAKE] {
        // The slot is free as soon as the connection is closed; a client that connects earlier is rejected.
        assert_eq!(server.says(begun).await, "");
    }
    server.end().await;
}

#[test]
fn files_without_certificate_or_key_are_rejected() {
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
        (&cert, &others[1], "cannot be used for TLS"),
    ] {
        let error = Certificates::new(cert.clone(), key.clone()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
