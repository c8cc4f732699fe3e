//! TLS 1.2 and 1.3, with `ring`: what is spoken as a server, and as a client of an issuer of tokens.

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

use crate::fresh::Fresh;

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
pub enum BadTls {
    /// The system doesn't let us read a file.
    #[error("`{path}`: {error}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A file holds something else.
    #[error("`{0}` has no {1} in PEM (`-----BEGIN {2}-----`)")]
    Empty(String, &'static str, &'static str),
    /// Certificate and key are no pair, or of a kind that is not served.
    #[error("`{0}` and `{1}` are not good for TLS: {2}")]
    Pair(String, String, #[source] tokio_rustls::rustls::Error),
    /// The system trusts nobody.
    #[error(
        "the system has no certificates of authorities, so that nobody can be trusted; install them, or name a file"
    )]
    NoRoots,
}

/// A server's certificate and key: those that are in their files now.
#[derive(Debug)]
pub struct Certificates {
    certificates: PathBuf,
    key: PathBuf,
    config: Fresh<ServerConfig>,
}

impl Certificates {
    /// Those of one file (its own first) and the key of another, both in PEM.
    ///
    /// # Errors
    /// When they can't be read, or are no pair.
    pub fn new(certificates: PathBuf, key: PathBuf) -> Result<Self, BadTls> {
        let paths = vec![certificates.clone(), key.clone()];
        let config = Fresh::new(paths, || server(&certificates, &key))?;
        Ok(Self {
            certificates,
            key,
            config,
        })
    }

    /// How to speak with the next client. Files that can't be used leave it at what they said before.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let config = self
            .config
            .current(|| match server(&self.certificates, &self.key) {
                Ok(config) => Some(config),
                Err(error) => {
                    tracing::error!(%error, "the certificate stays as it was");
                    None
                }
            });
        TlsAcceptor::from(config)
    }
}

/// How a server speaks, with the certificates of one file (its own first) and the key of another, both in PEM.
///
/// # Errors
/// When they can't be read, or are no pair.
fn server(certificates: &Path, key: &Path) -> Result<ServerConfig, BadTls> {
    let shown = |path: &Path| path.display().to_string();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificates)?).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| BadTls::Empty(shown(certificates), "certificate", "CERTIFICATE"))?;
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?);
    let secret = secret.map_err(|_| BadTls::Empty(shown(key), "private key", "PRIVATE KEY"))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map(|config| config.with_no_client_auth())
        .and_then(|config| config.with_single_cert(chain, secret));
    let mut config = config.map_err(|error| BadTls::Pair(shown(certificates), shown(key), error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// How a client speaks that trusts whom the system trusts.
///
/// # Errors
/// When that is nobody.
pub(crate) fn client() -> Result<ClientConfig, BadTls> {
    trusting(rustls_native_certs::load_native_certs().certs)
}

/// How a client speaks that trusts these authorities.
///
/// # Errors
/// When there are none.
pub(crate) fn trusting(
    authorities: impl IntoIterator<Item = CertificateDer<'static>>,
) -> Result<ClientConfig, BadTls> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities);
    if roots.is_empty() {
        return Err(BadTls::NoRoots);
    }
    let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.expect("ring has what both versions need");
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn read(path: &Path) -> Result<Vec<u8>, BadTls> {
    std::fs::read(path).map_err(|error| BadTls::Io {
        path: path.display().to_string(),
        error,
    })
}
