//! The end of a service: how it is requested, and its cause.

use std::{
    future, io,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use rmcp::model::Extensions;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The reason that a service failed to start or to end in order. A client that disconnects is a normal end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Reading the input failed.
    #[error("can't read from the client: {0}")]
    Read(#[source] io::Error),
    /// Writing the output failed.
    #[error("can't write to the client: {0}")]
    Write(#[source] io::Error),
    /// The protocol library panicked.
    #[error("the service loop broke down: {0}")]
    Loop(#[from] tokio::task::JoinError),
}

/// The end of one service, shared by all possible causes of it.
#[derive(Debug, Default)]
pub(super) struct Ending {
    asked: CancellationToken,
    /// Cancelled when the whole server stops.
    stopping: CancellationToken,
    since: OnceLock<Instant>,
    fault: Mutex<Option<ServeError>>,
}

impl Ending {
    /// Creates the end of a service that ends with `all` at the latest.
    pub(super) fn within(all: &CancellationToken) -> Self {
        Self { asked: all.child_token(), stopping: all.clone(), ..Self::default() }
    }

    /// Requests the end.
    pub(super) fn ask(&self) {
        self.since.get_or_init(Instant::now);
        self.asked.cancel();
    }

    /// Requests the end because the server stops.
    pub(super) fn stop(&self) {
        self.stopping.cancel();
        self.ask();
    }

    /// Requests the end because of `fault`. Only the first fault is reported.
    pub(super) fn fail(&self, fault: ServeError) {
        self.fault.lock().get_or_insert(fault);
        self.ask();
    }

    /// Waits until the end is requested.
    pub(super) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Returns the time of the first request of the end; now, if there was none.
    pub(super) fn since(&self) -> Instant {
        *self.since.get_or_init(Instant::now)
    }

    /// Returns the outcome of the service.
    pub(super) fn outcome(&self) -> Result<(), ServeError> {
        match self.fault.lock().take() {
            Some(ServeError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }
}

/// Waits for the end of the service that received the request with these extensions, and returns its reason. Never returns if the
/// extensions name none.
pub(super) async fn wait(request: &Extensions) -> &'static str {
    let Some(ending) = request.get::<Arc<Ending>>() else {
        return future::pending().await;
    };
    ending.asked().await;
    if ending.stopping.is_cancelled() {
        "the server is stopping; repeat the call once it runs again"
    } else {
        "the client disconnected"
    }
}
