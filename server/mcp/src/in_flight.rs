//! The requests in flight: their number and their ids.
//!
//! A request holds a slot from before its line is read until its reply is written *and* its handler has finished. A client
//! that does not read replies, or cancels calls without waiting, therefore stops the reading instead of filling memory.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
};

use parking_lot::Mutex;
use rmcp::model::RequestId;
use tabellion_gateway::{Slot, WeakSlot};
use tokio::sync::{Notify, Semaphore};

/// Upper bound of requests in flight. At the limit, reading waits.
pub(super) const MAX: u32 = 256;

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
        Self { slots, unanswered: Mutex::default(), released: Notify::new() }
    }

    /// Waits for a free slot.
    pub(super) async fn slot(&self) -> Slot {
        let permit = self.slots.clone().acquire_owned().await;
        Arc::new(permit.expect("the semaphore is never closed").into())
    }

    /// Registers the request `id` unless an unanswered request has the same id.
    pub(super) fn admit(&self, id: &RequestId, slot: &Slot) -> bool {
        match self.unanswered.lock().entry(id.clone()) {
            hash_map::Entry::Occupied(_) => false,
            hash_map::Entry::Vacant(entry) => {
                entry.insert(slot.clone());
                true
            }
        }
    }

    /// Removes the request `id`, which is answered or will not be. The caller takes over its slot.
    pub(super) fn settle(&self, id: &RequestId) -> Option<Slot> {
        self.unanswered.lock().remove(id)
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
}
