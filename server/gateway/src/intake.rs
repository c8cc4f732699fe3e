//! The requests that arrive over HTTP for one gateway: the limit of requests in flight, and the end of acceptance.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tabellion_runtime::Identity;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// A slot among the requests in flight. It is free when the last clone is dropped.
pub type Slot = Arc<Permits>;

/// A reference to a slot that does not keep it occupied.
pub type WeakSlot = Weak<Permits>;

/// A slot's share of the limits.
#[derive(Debug)]
pub struct Permits {
    _of_all: OwnedSemaphorePermit,
    _of_caller: Option<OwnedSemaphorePermit>,
}

impl From<OwnedSemaphorePermit> for Permits {
    fn from(of_all: OwnedSemaphorePermit) -> Self {
        Self { _of_all: of_all, _of_caller: None }
    }
}

/// The requests in flight of several callers, none of which has more than half of the slots.
#[derive(Debug)]
pub struct Intake {
    all: Arc<Semaphore>,
    limit: u32,
    /// The remaining slots of callers with requests in flight.
    callers: Mutex<HashMap<Identity, Arc<Semaphore>>>,
    closing: CancellationToken,
}

impl Intake {
    /// Accepts `limit` requests at a time.
    pub fn new(limit: u32) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limit as usize)),
            limit,
            callers: Mutex::default(),
            closing: CancellationToken::new(),
        }
    }

    /// Returns a free slot for a request. `caller` is set if callers are distinguished.
    ///
    /// # Errors
    /// A sentence about the slots, if all are in use: the caller's, or all.
    pub fn take(&self, caller: Option<&Identity>) -> Result<Slot, String> {
        let share = self.limit.div_ceil(2);
        let busy = |slots: u32, whose| format!("{slots} requests{whose} are being answered; try again");
        let of_caller = caller.map(|caller| self.left_to(caller, share).try_acquire_owned());
        let of_all = self.all.clone().try_acquire_owned();
        let of_all = of_all.map_err(|_| busy(self.limit, ""))?;
        let of_caller = of_caller.transpose().map_err(|_| {
            let whose = if share == self.limit { "" } else { " of yours" };
            busy(share, whose)
        })?;
        Ok(Arc::new(Permits { _of_all: of_all, _of_caller: of_caller }))
    }

    fn left_to(&self, caller: &Identity, share: u32) -> Arc<Semaphore> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        // A permit holds its semaphore.
        callers.retain(|_, left| Arc::strong_count(left) > 1);
        let left = callers.entry(caller.clone());
        left.or_insert_with(|| Arc::new(Semaphore::new(share as usize))).clone()
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> usize {
        self.limit as usize - self.all.available_permits()
    }

    /// Waits until no request is in flight.
    pub async fn idle(&self) {
        let _all = self.all.acquire_many(self.limit).await;
    }

    /// Refuses further requests.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Returns true if requests are accepted.
    pub fn is_open(&self) -> bool {
        !self.closing.is_cancelled()
    }

    /// Returns the token that is cancelled when further requests are refused.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}
