//! One request to a server over HTTP/1.1, over a connection of its own.

use std::{io, sync::Arc};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, Response, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::HOST,
    http::request::Builder,
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

/// Begins a request of the resource at `url`.
pub(crate) fn request(method: Method, url: &Uri) -> Builder {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let host = url.authority().map_or("", |authority| authority.as_str());
    Request::builder().method(method).uri(path).header(HOST, host)
}

/// Sends a request to the server at `url`, unencrypted without `tls`, and returns the answer once its head is there.
///
/// # Errors
/// If the server can't be reached, or does not answer in HTTP.
pub(crate) async fn send<E: From<io::Error> + From<hyper::Error>>(
    url: &Uri,
    tls: Option<Arc<ClientConfig>>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, E> {
    let host = url.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let stream = TcpStream::connect((bare, port)).await?;
    let answer = match tls {
        None => send_over(stream, request).await,
        Some(config) => {
            let name = ServerName::try_from(bare.to_owned()).map_err(io::Error::other)?;
            send_over(TlsConnector::from(config).connect(name, stream).await?, request).await
        }
    };
    Ok(answer?)
}

async fn send_over<S>(stream: S, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

/// Returns the body of an answer; `None` if it is longer than `max` bytes, or incomplete.
pub(crate) async fn body(answer: Response<Incoming>, max: usize) -> Option<Bytes> {
    let body = Limited::new(answer.into_body(), max).collect().await;
    Some(body.ok()?.to_bytes())
}
