//! Fetches an issuer's keys over HTTP/1.1.

use std::{io, sync::Arc, time::Duration};

use hyper::{Method, StatusCode, Uri, body::Bytes, header::ACCEPT};
use tokio_rustls::rustls::ClientConfig;

use super::{KeySet, KeySetError};
use crate::client;

/// Maximum size of a key set, in bytes.
const MAX_SET_BYTES: usize = 256 << 10;

/// The reason that keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// Connecting failed, or the connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The answer is not HTTP.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// The status is not 200. Redirects are not followed.
    #[error("the server answered with {0}")]
    Status(StatusCode),
    /// The answer is too long.
    #[error("the answer is longer than {MAX_SET_BYTES} bytes, or incomplete")]
    TooLong,
    /// The answer is not a key set.
    #[error(transparent)]
    Set(#[from] KeySetError),
    /// The answer took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
}

/// Fetches the keys at `url` within `timeout`; unencrypted without `tls`.
pub(super) async fn get(
    url: &Uri,
    tls: Option<&Arc<ClientConfig>>,
    timeout: Duration,
) -> Result<KeySet, FetchError> {
    let got = tokio::time::timeout(timeout, text(url, tls)).await;
    let text = got.unwrap_or(Err(FetchError::Timeout(timeout)))?;
    Ok(KeySet::parse(&text)?)
}

async fn text(url: &Uri, tls: Option<&Arc<ClientConfig>>) -> Result<Bytes, FetchError> {
    let request =
        client::request(Method::GET, url).header(ACCEPT, "application/jwk-set+json, application/json");
    let request = request.body(Default::default()).map_err(io::Error::other)?;
    let answer = client::send::<FetchError>(url, tls.cloned(), request).await?;
    if answer.status() != StatusCode::OK {
        return Err(FetchError::Status(answer.status()));
    }
    client::body(answer, MAX_SET_BYTES).await.ok_or(FetchError::TooLong)
}
