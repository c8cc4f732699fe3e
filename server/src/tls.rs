//! TLS 1.2 and 1.3, with `ring`, as a client of an issuer of tokens.

use std::sync::Arc;

use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
};

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
pub enum BadTls {
    /// The system trusts nobody.
    #[error(
        "the system has no certificates of authorities, so that nobody can be trusted; install them, or name a file"
    )]
    NoRoots,
}

/// How a client speaks that trusts whom the system trusts.
///
/// # Errors
/// When that is nobody.
pub(crate) fn client() -> Result<ClientConfig, BadTls> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
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
