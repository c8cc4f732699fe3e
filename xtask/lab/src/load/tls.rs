//! TLS, with a certificate created for the run.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::Arc,
};

use rustls::crypto::ring;
use tempfile::TempDir;
use ureq::tls::{self, RootCerts, TlsConfig};

use xtask::Outcome;

/// Address of our servers.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A certificate for a server on this machine, and the options of clients that trust only it.
pub(super) struct Certificate {
    folder: TempDir,
    trusting: TlsConfig,
}

impl Certificate {
    pub(super) fn new() -> Outcome<Self> {
        let made = rcgen::generate_simple_self_signed([HERE.to_string()])?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("cert.pem"), made.cert.pem())?;
        fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem())?;
        let trusting = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&[tls::Certificate::from_der(made.cert.der()).to_owned()]))
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .build();
        Ok(Self { folder, trusting })
    }

    /// Returns the server's options with certificate and key.
    pub(super) fn options(&self) -> Vec<PathBuf> {
        let file = |name: &str| self.folder.path().join(name);
        vec!["--tls-cert".into(), file("cert.pem"), "--tls-key".into(), file("key.pem")]
    }

    /// Returns the options of a client that speaks TLS with the server.
    pub(super) fn trusting(&self) -> TlsConfig {
        self.trusting.clone()
    }
}
