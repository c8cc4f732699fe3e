//! The life of a service: from its first line to the last reply.

use std::{sync::Arc, time::Duration};

use rmcp::{service::serve_directly, transport::stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Adapter, ServeError, ending::Ending, in_flight::InFlight, transport::LineTransport};

/// How long calls may go on after the end of input. rmcp itself waits as long for replies, but not when it
/// can't write them.
const GRACE: Duration = Duration::from_secs(5);

/// Serves on standard input and output, until the input ends or `until` is over. Calls in flight
/// are finished first, within five seconds.
///
/// A read of standard input may then still be blocked in a thread of the runtime (it isn't where both streams
/// are pipes, on Linux). So the caller ends with [`Runtime::shutdown_background`](tokio::runtime::Runtime)
/// and returns from `main`; dropping the runtime would wait for that read.
///
/// # Errors
/// See [`ServeError`]. A client that closes both ends is no error.
pub async fn serve_stdio(adapter: Adapter, until: impl Future<Output = ()>) -> Result<(), ServeError> {
    let (reader, writer) = stdio_pipes();
    serve(reader, writer, adapter, until).await
}

/// Serves on a pair of streams, until the input ends or `until` is over. Calls in flight are finished first,
/// within five seconds.
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
            ending.ask();
            service.await?
        }
    };
    if tokio::time::timeout_at(ending.since() + GRACE, in_flight.idle())
        .await
        .is_err()
    {
        tracing::warn!("calls were still running when the service ended");
    }
    ending.outcome()
}
