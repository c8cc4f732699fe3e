//! TLS 1.2 and 1.3 with `ring`: for the server, and for requests to an issuer of tokens.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::{CryptoProvider, ring},
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use crate::fresh::{Fresh, Read};

/// The reason that TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("`{path}`: {error}")]
    Io {
        /// Path of the file.
        path: String,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// A file contains no certificate or no key.
    #[error("`{0}` has no {1} in PEM (`-----BEGIN {2}-----`)")]
    Empty(String, &'static str, &'static str),
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("`{0}` and `{1}` cannot be used for TLS: {2}")]
    Pair(String, String, #[source] tokio_rustls::rustls::Error),
    /// The system has no trusted root certificates.
    #[error(
        "the system has no root certificates; install them (`ca-certificates`), or give the issuer's keys as a file"
    )]
    NoRoots,
}

/// A server's certificate and key, read again when their files change.
#[derive(Debug)]
pub struct Certificates {
    certificates: PathBuf,
    key: PathBuf,
    config: Fresh<ServerConfig>,
}

impl Certificates {
    /// Reads a certificate chain (the server's own certificate first) and a private key, both in PEM.
    ///
    /// # Errors
    /// If a file can't be read, or certificate and key do not match.
    pub fn new(certificates: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        let paths = vec![certificates.clone(), key.clone()];
        let config = Fresh::new(paths, || server(&certificates, &key))?;
        Ok(Self { certificates, key, config })
    }

    /// Returns the configuration for the next connection. If the files have become unusable, the previous one stays in use.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let config = self
            .config
            .current(|| match server(&self.certificates, &self.key) {
                Ok(config) => Read::Done(config),
                Err(error) => {
                    tracing::error!(%error, "the changed certificate can't be used; the previous one stays in use");
                    Read::Failed { instead: None }
                }
            });
        TlsAcceptor::from(config)
    }
}

/// Returns a server's configuration.
fn server(certificates: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let shown = |path: &Path| path.display().to_string();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificates)?).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| TlsError::Empty(shown(certificates), "certificate", "CERTIFICATE"))?;
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?);
    let secret = secret.map_err(|_| TlsError::Empty(shown(key), "private key", "PRIVATE KEY"))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map(|config| config.with_no_client_auth())
        .and_then(|config| config.with_single_cert(chain, secret));
    let mut config = config.map_err(|error| TlsError::Pair(shown(certificates), shown(key), error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns a client's configuration with the system's root certificates.
///
/// # Errors
/// If the system has none.
pub(crate) fn client() -> Result<ClientConfig, TlsError> {
    trusting(rustls_native_certs::load_native_certs().certs)
}

/// Returns a client's configuration that trusts these authorities.
///
/// # Errors
/// If there are none.
pub(crate) fn trusting(
    authorities: impl IntoIterator<Item = CertificateDer<'static>>,
) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities);
    if roots.is_empty() {
        return Err(TlsError::NoRoots);
    }
    let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.expect("ring has what both versions need");
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    tabellion_platform::read_regular(path, tabellion_platform::MAX_OWN_BYTES)
        .map_err(|error| TlsError::Io { path: path.display().to_string(), error: error.into() })
}
