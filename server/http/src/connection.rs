//! Connections: accepts them within limits, handles TLS and HTTP/1.1 on them, and closes them gracefully at the end.
//!
//! `axum::serve` is not used because it can't keep these limits: it bounds neither connections nor the time for a TLS
//! handshake, the head of a request or the client's reading, and it waits without limit for open connections at the end.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Router, body::Body};
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::{
    Limits, Site,
    layers::ClientAddress,
    router::router,
    slots::{self, Slot, Slots},
    write_timeout::WriteTimeout,
};
use crate::tls::Certificates;

/// Pause after a failed `accept`, which mostly means that the process has no file descriptors left.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// Time limit for a rejected client to close the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// The answer to a connection above the limit.
const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service SourceError\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// The answer to plain HTTP on a TLS port.
const USE_HTTPS: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 26\r\nConnection: close\r\n\r\nuse https, not http, here\n";

/// Binds a listener to `address`.
///
/// # Errors
/// Those of the system, with the address.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| io::Error::new(error.kind(), format!("can't listen on {address}: {error}")))
}

/// Serves `site` until `shutdown` completes; over TLS if there are `certificates`.
///
/// Then stops accepting connections and finishes the requests in flight, within the grace period of the site's limits.
pub async fn serve(
    listener: TcpListener,
    site: Arc<Site>,
    certificates: Option<Arc<Certificates>>,
    shutdown: impl Future<Output = ()>,
) {
    let (shutting_down, _) = watch::channel(false);
    let server = Server {
        router: router(site.clone()),
        limits: site.limits,
        certificates,
        shutdown: shutting_down.subscribe(),
    };
    let slots = Slots::new(site.limits);
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let (stream, address) = tokio::select! {
            accepted = accept(&listener) => accepted,
            Some(_) = connections.join_next() => continue,
            () = &mut shutdown => break,
        };
        match slots.take(address) {
            Some(slot) => {
                let (server, slot) = (server.clone(), Arc::new(slot));
                connections.spawn(async move {
                    tokio::select! {
                        () = server.connection(stream, address, slot.clone()) => {}
                        () = slot.gives_way() => tracing::debug!("an idle connection gave way to a new one"),
                    }
                });
            }
            None if server.certificates.is_some() => drop(stream),
            None => turn_away(stream),
        }
    }
    drop(listener);
    site.end();
    shutting_down.send_replace(true);
    let finished = async {
        while connections.join_next().await.is_some() {}
        site.idle().await;
    };
    if tokio::time::timeout(site.limits.grace, finished).await.is_err() {
        tracing::warn!("calls were still running when the service ended");
    }
}

/// Accepts the next connection; returns it with the client's address.
async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => return (stream, address.ip()),
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
}

/// Answers a connection above the limit, without waiting for a client that does not read.
fn turn_away(mut stream: TcpStream) {
    let _ = stream.try_write(TOO_MANY_CONNECTIONS);
    tokio::spawn(async move {
        drop(tokio::time::timeout(CLOSE_TIMEOUT, stream.shutdown()).await);
    });
}

/// The server's data for each connection.
#[derive(Clone)]
struct Server {
    router: Router,
    limits: Limits,
    certificates: Option<Arc<Certificates>>,
    /// Becomes true when the server shuts down.
    shutdown: watch::Receiver<bool>,
}

impl Server {
    async fn connection(self, stream: TcpStream, address: IpAddr, slot: Arc<Slot>) {
        match self.certificates.clone() {
            Some(certificates) => self.tls(stream, address, slot, &certificates).await,
            None => {
                let stream = self.with_write_timeout(stream);
                self.http(stream, address, slot).await;
            }
        }
    }

    /// Does the TLS handshake, within the time for a request's head, and serves HTTP.
    async fn tls(self, stream: TcpStream, address: IpAddr, slot: Arc<Slot>, certificates: &Certificates) {
        let acceptor = certificates.acceptor();
        let handshake = async {
            let mut first = [0];
            stream.peek(&mut first).await?;
            // A TLS record begins with a control character.
            if first[0].is_ascii_alphabetic() {
                answer_plain_http(stream).await;
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
            let stream = self.with_write_timeout(stream);
            acceptor.accept(stream).await
        };
        let mut shutdown = self.shutdown.clone();
        let handshake = tokio::select! {
            result = tokio::time::timeout(self.limits.head, handshake) => result,
            _ = shutdown.wait_for(|is_shutdown| *is_shutdown) => return,
        };
        match handshake {
            Ok(Ok(stream)) => self.http(stream, address, slot).await,
            Ok(Err(error)) => tracing::debug!(%error, "the TLS handshake failed"),
            Err(_) => tracing::debug!("the TLS handshake took too long"),
        }
    }

    async fn http(mut self, stream: impl AsyncRead + AsyncWrite + Unpin, address: IpAddr, slot: Arc<Slot>) {
        let router = TowerToHyperService::new(self.router);
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(ClientAddress(address));
            let answer = router.call(request.map(|body| slots::arriving(Body::new(body), slot.clone())));
            let slot = slot.clone();
            async { Ok::<_, Infallible>(answer.await?.map(|body| slots::leaving(body, slot))) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let shutdown = async { drop(self.shutdown.wait_for(|is_shutdown| *is_shutdown).await) };
        let served = tokio::select! {
            served = &mut connection => served,
            () = shutdown => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "the connection broke");
        }
    }

    fn with_write_timeout(&self, stream: TcpStream) -> WriteTimeout<TcpStream> {
        // Answers are small and clients wait for them.
        let _ = stream.set_nodelay(true);
        WriteTimeout::new(stream, self.limits.unread)
    }
}

/// Answers a client that sends plain HTTP to a TLS port. Its request is read first, or it would not see the answer.
async fn answer_plain_http(mut stream: TcpStream) {
    let _ = stream.try_write(USE_HTTPS);
    let closed = async {
        let _ = stream.shutdown().await;
        let mut unread = [0; 4096];
        while stream.read(&mut unread).await.is_ok_and(|read| read > 0) {}
    };
    drop(tokio::time::timeout(CLOSE_TIMEOUT, closed).await);
}
