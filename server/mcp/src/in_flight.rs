//! The requests that are being answered: how many there may be, and which ids they have.
//!
//! A request holds a slot from before its line is read until its reply is written *and* its handler is done,
//! whichever is later: a client that doesn't read its replies, or cancels calls without waiting, makes
//! reading wait and not memory grow.

use std::{
    collections::{HashMap, hash_map},
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use rmcp::model::RequestId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many requests may be in flight. Beyond, reading waits.
pub(super) const MOST: u32 = 256;

/// A place among the requests in flight. It is free again when the last clone is dropped.
pub(super) type Slot = Arc<OwnedSemaphorePermit>;

/// A slot of somebody else.
pub(super) type WeakSlot = Weak<OwnedSemaphorePermit>;

/// The requests in flight.
#[derive(Debug)]
pub(super) struct InFlight {
    slots: Arc<Semaphore>,
    unanswered: Mutex<HashMap<RequestId, Slot>>,
    released: Notify,
}

impl InFlight {
    pub(super) fn new() -> Self {
        let slots = Arc::new(Semaphore::new(MOST as usize));
        Self {
            slots,
            unanswered: Mutex::default(),
            released: Notify::new(),
        }
    }

    /// Waits for a free slot.
    pub(super) async fn slot(&self) -> Slot {
        let permit = self.slots.clone().acquire_owned().await;
        Arc::new(permit.expect("the semaphore is never closed"))
    }

    /// Takes the request `id` in, unless one of that id is unanswered.
    pub(super) fn admit(&self, id: &RequestId, slot: &Slot) -> bool {
        match self.unanswered().entry(id.clone()) {
            hash_map::Entry::Occupied(_) => false,
            hash_map::Entry::Vacant(entry) => {
                entry.insert(slot.clone());
                true
            }
        }
    }

    /// The request `id` has its answer, or is no longer to have one. Its slot is the caller's.
    pub(super) fn settle(&self, id: &RequestId) -> Option<Slot> {
        self.unanswered().remove(id)
    }

    /// The answer is written: its slot is free.
    pub(super) fn release(&self, slot: Option<Slot>) {
        drop(slot);
        self.released.notify_one();
    }

    /// Waits until `slot` is free. For one caller at a time.
    pub(super) async fn released(&self, slot: &WeakSlot) {
        while slot.strong_count() > 0 {
            self.released.notified().await;
        }
    }

    /// Waits until nothing is in flight.
    pub(super) async fn idle(&self) {
        let _all = self.slots.acquire_many(MOST).await;
    }

    fn unanswered(&self) -> MutexGuard<'_, HashMap<RequestId, Slot>> {
        self.unanswered
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
