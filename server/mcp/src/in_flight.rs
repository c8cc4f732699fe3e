//! The requests in flight: their number and their ids.
//!
//! A request holds a slot from before its line is read until its reply is written *and* its handler has finished. A client
//! that does not read replies, or cancels calls without waiting, therefore stops the reading instead of filling memory.

use std::{
    collections::{HashMap, hash_map},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use rmcp::model::RequestId;
use tabellion_runtime::Identity;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Upper bound of requests in flight. At the limit, reading waits.
pub(super) const MAX: u32 = 256;

/// A slot among the requests in flight. It is free when the last clone is dropped.
pub(super) type Slot = Arc<Permits>;

/// A reference to a slot that does not keep it occupied.
pub(super) type WeakSlot = Weak<Permits>;

/// What a slot takes of the limits.
#[derive(Debug)]
pub(super) struct Permits {
    _of_all: OwnedSemaphorePermit,
    _of_caller: Option<OwnedSemaphorePermit>,
}

/// Slots for the requests of several callers, none of which has more than half.
#[derive(Debug)]
pub(super) struct SharedSlots {
    all: Arc<Semaphore>,
    limit: u32,
    /// The slots that are left to callers with requests in flight.
    callers: Mutex<HashMap<Identity, Arc<Semaphore>>>,
}

impl SharedSlots {
    pub(super) fn new(limit: u32) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limit as usize)),
            limit,
            callers: Mutex::default(),
        }
    }

    /// Returns a free slot for a request of `caller`, if callers are told apart.
    ///
    /// # Errors
    /// The number of slots that are all in use: of the caller's, or of all.
    pub(super) fn take(&self, caller: Option<&Identity>) -> Result<Slot, u32> {
        let share = self.limit.div_ceil(2);
        let of_caller = caller.map(|caller| self.left_to(caller, share).try_acquire_owned());
        let of_all = self.all.clone().try_acquire_owned().map_err(|_| self.limit)?;
        Ok(Arc::new(Permits {
            _of_all: of_all,
            _of_caller: of_caller.transpose().map_err(|_| share)?,
        }))
    }

    fn left_to(&self, caller: &Identity, share: u32) -> Arc<Semaphore> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        // A permit holds its semaphore.
        callers.retain(|_, left| Arc::strong_count(left) > 1);
        let left = callers.entry(caller.clone());
        left.or_insert_with(|| Arc::new(Semaphore::new(share as usize)))
            .clone()
    }

    /// Returns the number of slots in use.
    pub(super) fn in_use(&self) -> usize {
        self.limit as usize - self.all.available_permits()
    }

    /// Waits until no request is in flight.
    pub(super) async fn idle(&self) {
        let _all = self.all.acquire_many(self.limit).await;
    }
}

/// The requests in flight.
#[derive(Debug)]
pub(super) struct InFlight {
    slots: Arc<Semaphore>,
    unanswered: Mutex<HashMap<RequestId, Slot>>,
    released: Notify,
}

impl InFlight {
    pub(super) fn new() -> Self {
        let slots = Arc::new(Semaphore::new(MAX as usize));
        Self {
            slots,
            unanswered: Mutex::default(),
            released: Notify::new(),
        }
    }

    /// Waits for a free slot.
    pub(super) async fn slot(&self) -> Slot {
        let permit = self.slots.clone().acquire_owned().await;
        Arc::new(Permits {
            _of_all: permit.expect("the semaphore is never closed"),
            _of_caller: None,
        })
    }

    /// Registers the request `id` unless an unanswered request has the same id.
    pub(super) fn admit(&self, id: &RequestId, slot: &Slot) -> bool {
        match self.unanswered().entry(id.clone()) {
            hash_map::Entry::Occupied(_) => false,
            hash_map::Entry::Vacant(entry) => {
                entry.insert(slot.clone());
                true
            }
        }
    }

    /// Removes the request `id`, which is answered or will not be. The caller takes over its slot.
    pub(super) fn settle(&self, id: &RequestId) -> Option<Slot> {
        self.unanswered().remove(id)
    }

    /// Frees the slot of a written answer.
    pub(super) fn release(&self, slot: Option<Slot>) {
        drop(slot);
        self.released.notify_one();
    }

    /// Waits until `slot` is free. Supports one waiter at a time.
    pub(super) async fn released(&self, slot: &WeakSlot) {
        while slot.strong_count() > 0 {
            self.released.notified().await;
        }
    }

    /// Waits until no request is in flight.
    pub(super) async fn idle(&self) {
        let _all = self.slots.acquire_many(MAX).await;
    }

    fn unanswered(&self) -> MutexGuard<'_, HashMap<RequestId, Slot>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
