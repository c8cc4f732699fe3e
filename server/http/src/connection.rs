//! Connections, from the first byte to the last.

use std::{convert::Infallible, io, net::IpAddr, sync::Arc, time::Duration};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{Site, patient::Patient};
use crate::tls::Certificates;

/// How long to wait where the system gives no connection, which mostly is because it has no more of them.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// What one connection too many is told.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// What is told who speaks in the clear where TLS is spoken.
const CLEAR: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 26\r\nConnection: close\r\n\r\nuse https, not http, here\n";

/// Serves `site` until `until` is over, over TLS where there are `certificates`. Then nothing more is taken, and what is in flight is finished, within the
/// grace that the site's limits name.
pub async fn serve(
    listener: TcpListener,
    site: Arc<Site>,
    certificates: Option<Arc<Certificates>>,
    until: impl Future<Output = ()>,
) {
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(site.limits.connections));
    let mut until = std::pin::pin!(until);
    loop {
        let (stream, from) = tokio::select! {
            accepted = accept(&listener) => accepted,
            Some(_) = connections.join_next() => continue,
            () = &mut until => break,
        };
        match places.clone().try_acquire_owned() {
            Ok(place) => {
                let (site, ended) = (site.clone(), ended.clone());
                let certificates = certificates.clone();
                connections.spawn(async move {
                    match certificates {
                        Some(certificates) => secure(stream, from, &certificates, site, ended).await,
                        None => connection(patient(stream, &site), from, site, ended).await,
                    }
                    drop(place);
                });
            }
            Err(_) if certificates.is_some() => drop(stream),
            Err(_) => turn_away(stream),
        }
    }
    drop(listener);
    site.end();
    ending.send_replace(true);
    let all = async {
        while connections.join_next().await.is_some() {}
        site.idle().await;
    };
    if tokio::time::timeout(site.limits.grace, all).await.is_err() {
        tracing::warn!("calls were still running when the service ended");
    }
}

/// The next connection, and whose it is.
async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => return (stream, from.ip()),
            Err(error) => {
                tracing::warn!(%error, "no connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Says that there are too many. Who doesn't take that at once is not waited for.
fn turn_away(stream: TcpStream) {
    let _ = stream.try_write(FULL);
    tokio::spawn(async move {
        let mut stream = stream;
        drop(tokio::time::timeout(PAUSE, stream.shutdown()).await);
    });
}

/// A stream whose other side has to read.
fn patient(stream: TcpStream, site: &Site) -> Patient<TcpStream> {
    // Answers are small, and somebody waits for each.
    let _ = stream.set_nodelay(true);
    Patient::new(stream, site.limits.unread)
}

/// Agrees on how to be secret, within the time that the head of a request may take, and goes on.
async fn secure(
    stream: TcpStream,
    from: IpAddr,
    certificates: &Certificates,
    site: Arc<Site>,
    mut ended: watch::Receiver<bool>,
) {
    let acceptor = certificates.acceptor();
    let agreed = async {
        let mut first = [0];
        stream.peek(&mut first).await?;
        // A record of TLS begins with a control character.
        if first[0].is_ascii_alphabetic() {
            speaks_in_the_clear(stream).await;
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        acceptor.accept(patient(stream, &site)).await
    };
    let agreed = tokio::select! {
        agreed = tokio::time::timeout(site.limits.head, agreed) => agreed,
        _ = ended.wait_for(|ended| *ended) => return,
    };
    match agreed {
        Ok(Ok(stream)) => connection(stream, from, site, ended).await,
        Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
        Err(_) => tracing::debug!("TLS took too long"),
    }
}

/// Tells who doesn't speak TLS. What they said is read, or they would not hear the answer.
async fn speaks_in_the_clear(mut stream: TcpStream) {
    let _ = stream.try_write(CLEAR);
    let gone = async {
        let _ = stream.shutdown().await;
        let mut unread = [0; 4096];
        while stream.read(&mut unread).await.is_ok_and(|read| read > 0) {}
    };
    drop(tokio::time::timeout(PAUSE, gone).await);
}

async fn connection<S>(stream: S, from: IpAddr, site: Arc<Site>, mut ended: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let limits = site.limits;
    let answer =
        service_fn(async |request: Request<Incoming>| Ok::<_, Infallible>(site.answer(request, from).await));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    let ended = async { drop(ended.wait_for(|ended| *ended).await) };
    let served = tokio::select! {
        served = &mut connection => served,
        () = ended => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Where `address` says to listen.
///
/// # Errors
/// When the system doesn't let us; the error says where.
pub async fn listen(address: std::net::SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| io::Error::new(error.kind(), format!("can't listen on {address}: {error}")))
}
