//! TLS 1.2 and 1.3 with `ring`: as a server, and as a client of an issuer.

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

use crate::cached_files::CachedFiles;

/// Why TLS can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("`{path}`: {error}")]
    Io {
        /// Path of the file.
        path: String,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// A file has no certificate or key.
    #[error("`{0}` has no {1} in PEM (`-----BEGIN {2}-----`)")]
    Empty(String, &'static str, &'static str),
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("`{0}` and `{1}` can't be used for TLS: {2}")]
    Pair(String, String, #[source] tokio_rustls::rustls::Error),
    /// The system has no trusted certificate authorities.
    #[error("the system has no trusted certificate authorities; install them, or name a file")]
    NoRoots,
}

/// A server's certificate and key, read again when their files change.
#[derive(Debug)]
pub struct Certificates {
    certificates: PathBuf,
    key: PathBuf,
    config: CachedFiles<ServerConfig>,
}

impl Certificates {
    /// Reads the certificates of one file (the server's own first) and the key of another, both in PEM.
    ///
    /// # Errors
    /// If they can't be read, or do not match.
    pub fn new(certificates: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        let paths = vec![certificates.clone(), key.clone()];
        let config = CachedFiles::new(paths, || server(&certificates, &key))?;
        Ok(Self {
            certificates,
            key,
            config,
        })
    }

    /// Returns the acceptor for the next connection. If the files are invalid, the last valid pair stays.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let config = self
            .config
            .current(|| match server(&self.certificates, &self.key) {
                Ok(config) => Some(config),
                Err(error) => {
                    tracing::error!(%error, "the certificate can't be read; the last one stays in use");
                    None
                }
            });
        TlsAcceptor::from(config)
    }
}

/// Returns a server's configuration with the certificates of one file (its own first) and the key of another, both in PEM.
///
/// # Errors
/// If they can't be read, or do not match.
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

/// Returns a client's configuration that trusts the system's certificate authorities.
///
/// # Errors
/// If there are none.
pub(crate) fn client() -> Result<ClientConfig, TlsError> {
    trusting(rustls_native_certs::load_native_certs().certs)
}

/// Returns a client's configuration that trusts these certificate authorities.
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
    std::fs::read(path).map_err(|error| TlsError::Io {
        path: path.display().to_string(),
        error,
    })
}
