//! Connections, from the first byte to the last.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{Site, patient::Patient};

/// How long to wait where the system gives no connection, which mostly is because it has no more of them.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// What one connection too many is told.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Serves `site` until `until` is over. Then nothing more is taken, and what is in flight is finished, within the
/// grace that the site's limits name.
pub async fn serve(listener: TcpListener, site: Arc<Site>, until: impl Future<Output = ()>) {
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(site.limits.connections));
    let mut until = std::pin::pin!(until);
    loop {
        let stream = tokio::select! {
            stream = accept(&listener) => stream,
            Some(_) = connections.join_next() => continue,
            () = &mut until => break,
        };
        match places.clone().try_acquire_owned() {
            Ok(place) => {
                let (site, ended) = (site.clone(), ended.clone());
                connections.spawn(async move {
                    connection(stream, site, ended).await;
                    drop(place);
                });
            }
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

/// The next connection.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
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

async fn connection(stream: TcpStream, site: Arc<Site>, mut ended: watch::Receiver<bool>) {
    // Answers are small, and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let limits = site.limits;
    let answer =
        service_fn(async |request: Request<Incoming>| Ok::<_, Infallible>(site.answer(request).await));
    let stream = TokioIo::new(Patient::new(stream, limits.unread));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(stream, answer);
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
