//! The lifetime of a service: from its first line to its last reply.

use std::{sync::Arc, time::Duration};

use rmcp::{service::serve_directly, transport::stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Adapter, ServeError, ending::Ending, in_flight::InFlight, transport::LineTransport};

/// Time for calls in flight after the end of input. rmcp itself waits this long for replies, but not if it can't write them.
const GRACE: Duration = Duration::from_secs(5);

/// Serves standard input and output until the input ends or `until` resolves. Calls in flight can finish within five seconds.
///
/// A read of standard input may then still block a thread of the runtime (not if both streams are pipes, on Linux). The
/// caller should end with [`Runtime::shutdown_background`](tokio::runtime::Runtime) and return from `main`; dropping the
/// runtime would wait for that read.
///
/// # Errors
/// See [`ServeError`]. A client that closes both streams is not an error.
pub async fn serve_stdio(adapter: Adapter, until: impl Future<Output = ()>) -> Result<(), ServeError> {
    let (reader, writer) = stdio_pipes();
    serve(reader, writer, adapter, until).await
}

/// Serves a pair of streams until the input ends or `until` resolves. Calls in flight can finish within five seconds.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve<R, W>(
    reader: R,
    writer: W,
    adapter: Adapter,
    until: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (in_flight, ending) = (Arc::new(InFlight::new()), Arc::new(Ending::default()));
    let transport = LineTransport::new(reader, writer, in_flight.clone(), ending.clone());
    let mut service = std::pin::pin!(serve_directly(adapter, transport, None).waiting());
    tokio::select! {
        ended = &mut service => ended?,
        () = until => {
            ending.stop();
            service.await?
        }
    };
    if tokio::time::timeout_at(ending.since() + GRACE, in_flight.idle()).await.is_err() {
        tracing::warn!("calls were still running when the service ended");
    }
    ending.outcome()
}
