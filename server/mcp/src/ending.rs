//! How a service is told to end, and why it did.

use std::{
    future, io,
    sync::{Arc, Mutex, OnceLock},
};

use rmcp::model::Extensions;
use tokio::{sync::watch, time::Instant};

/// Why a service did not start, or did not end well. A client that goes away is a good end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The input broke off.
    #[error("can't read from the client: {0}")]
    Read(#[source] io::Error),
    /// The output broke off.
    #[error("can't write to the client: {0}")]
    Write(#[source] io::Error),
    /// The protocol library panicked.
    #[error("the service loop broke down: {0}")]
    Loop(#[from] tokio::task::JoinError),
}

/// The end of one service, shared by all that can bring it about.
#[derive(Debug, Default)]
pub(super) struct Ending {
    asked: watch::Sender<bool>,
    /// The end of what this service is part of, which is its own end too.
    of_all: Option<Arc<Ending>>,
    since: OnceLock<Instant>,
    fault: Mutex<Option<ServeError>>,
}

impl Ending {
    /// The end of a service that ends with others at the latest.
    pub(super) fn within(all: Arc<Self>) -> Self {
        Self {
            of_all: Some(all),
            ..Self::default()
        }
    }

    /// Asks for the end.
    pub(super) fn ask(&self) {
        self.since.get_or_init(Instant::now);
        self.asked.send_replace(true);
    }

    /// Asks for the end because of `fault`. The first fault is the one that is told.
    pub(super) fn fail(&self, fault: ServeError) {
        let mut first = self.fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.get_or_insert(fault);
        drop(first);
        self.ask();
    }

    /// Whether somebody has asked for the end.
    pub(super) fn is_asked(&self) -> bool {
        *self.asked.borrow() || self.of_all.as_ref().is_some_and(|all| *all.asked.borrow())
    }

    /// Waits until somebody asks for the end.
    pub(super) async fn asked(&self) {
        let mut all = self.of_all.as_ref().map(|all| all.asked.subscribe());
        let with_all = async {
            match &mut all {
                Some(all) => drop(all.wait_for(|asked| *asked).await),
                None => future::pending().await,
            }
        };
        let mut own = self.asked.subscribe();
        // Waiting fails only when the sender is gone, which `self` holds.
        tokio::select! {
            _ = own.wait_for(|asked| *asked) => {}
            () = with_all => {}
        }
    }

    /// When the end was first asked for. Now, if it never was.
    pub(super) fn since(&self) -> Instant {
        *self.since.get_or_init(Instant::now)
    }

    /// How it ended.
    pub(super) fn outcome(&self) -> Result<(), ServeError> {
        let fault = self
            .fault
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take();
        match fault {
            Some(ServeError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }
}

/// Waits until the service ends that a request with these extensions came in through. For ever where the request says
/// nothing of it.
pub(super) async fn of(request: &Extensions) {
    match request.get::<Arc<Ending>>() {
        Some(ending) => ending.asked().await,
        None => future::pending().await,
    }
}
