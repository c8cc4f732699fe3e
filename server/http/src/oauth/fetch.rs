//! The keys of an issuer, by HTTP/1.1.

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

use super::{BadSet, KeySet};

/// The longest set of keys, in bytes.
const LONGEST: usize = 256 << 10;

/// Why keys could not be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotHad {
    /// There is no connection, or it broke off.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// What came is no HTTP.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// Something else was answered. Redirections are not followed.
    #[error("it answers with {0}")]
    Status(StatusCode),
    /// There is more than any issuer needs.
    #[error("it is longer than {LONGEST} bytes, or broke off")]
    Long,
    /// Something else came.
    #[error(transparent)]
    Set(#[from] BadSet),
    /// It took too long.
    #[error("it took longer than {0:?}")]
    Slow(Duration),
}

/// Gets the keys at `url`, within `patience`. Without `tls`, in the clear.
pub(super) async fn get(
    url: &Uri,
    tls: Option<&Arc<ClientConfig>>,
    patience: Duration,
) -> Result<KeySet, NotHad> {
    let got = tokio::time::timeout(patience, connect(url, tls)).await;
    let text = got.unwrap_or(Err(NotHad::Slow(patience)))?;
    Ok(KeySet::parse(&text)?)
}

async fn connect(url: &Uri, tls: Option<&Arc<ClientConfig>>) -> Result<Bytes, NotHad> {
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

async fn ask<S>(url: &Uri, stream: S) -> Result<Bytes, NotHad>
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
            return Err(NotHad::Status(response.status()));
        }
        let body = Limited::new(response.into_body(), LONGEST).collect().await;
        body.map(|body| body.to_bytes()).map_err(|_| NotHad::Long)
    };
    // The connection works while it is asked, and may be closed before its answer is read.
    tokio::pin!(connection, answer);
    tokio::select! {
        answer = &mut answer => answer,
        _ = &mut connection => answer.await,
    }
}
