//! Fetches an issuer's keys over HTTP/1.1.

use std::{io, sync::Arc, time::Duration};

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{
    Request, StatusCode, Uri,
    body::Bytes,
    client::conn::http1,
    header::{ACCEPT, HOST},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::{KeySet, KeySetError};

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
    let got = tokio::time::timeout(timeout, connect(url, tls)).await;
    let text = got.unwrap_or(Err(FetchError::Timeout(timeout)))?;
    Ok(KeySet::parse(&text)?)
}

async fn connect(url: &Uri, tls: Option<&Arc<ClientConfig>>) -> Result<Bytes, FetchError> {
    let host = url.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let stream = TcpStream::connect((bare, port)).await?;
    match tls {
        None => ask(url, stream).await,
        Some(config) => {
            let name = ServerName::try_from(bare.to_owned()).map_err(io::Error::other)?;
            let connector = TlsConnector::from(config.clone());
            ask(url, connector.connect(name, stream).await?).await
        }
    }
}

async fn ask<S>(url: &Uri, stream: S) -> Result<Bytes, FetchError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let host = url.authority().map(|it| it.as_str()).unwrap_or_default();
    let request = Request::get(path)
        .header(HOST, host)
        .header(ACCEPT, "application/jwk-set+json, application/json")
        .body(Empty::<Bytes>::new());
    let request = request.map_err(io::Error::other)?;
    let answer = async {
        let response = sender.send_request(request).await?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let body = Limited::new(response.into_body(), MAX_SET_BYTES).collect().await;
        body.map(|body| body.to_bytes()).map_err(|_| FetchError::TooLong)
    };
    // The connection must be polled for the request to progress, and may close before the answer is read.
    tokio::pin!(connection, answer);
    tokio::select! {
        answer = &mut answer => answer,
        _ = &mut connection => answer.await,
    }
}
