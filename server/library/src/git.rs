//! The repository as gix opens it, with a store of objects that is replaced from time to time.
//!
//! gix gives each new pack the next slot, even while old packs are removed. After the last slot it starts again with the first, and
//! if a pack there has just been removed, it can lose sight of the new one for good. So the store is replaced long before.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use gix::{
    ThreadSafeRepository,
    odb::{
        Store,
        store::init::{Options, Slots},
    },
    parallel::OwnShared,
};
use parking_lot::RwLock;

use super::root::MAX_FILE_BYTES;

/// Slots of a store. gix fails at the first pack without one; git itself merges all packs into one from 50 on.
pub(super) const SLOTS: Slots =
    Slots::AsNeededByDiskState { multiplier: 2.0, minimum: if cfg!(test) { 252 } else { 2048 } };
/// The number of packs of ours after which the store is replaced. Including gathered packs, they need an eighth more slots.
const MAX_PACKS: u32 = if cfg!(test) { 64 } else { 256 };
/// The time after which it is replaced: other processes make packs too. Opening it takes a fraction of a millisecond.
const MAX_AGE: Duration = Duration::from_secs(1);

/// A repository, for all threads.
#[derive(Debug)]
pub(super) struct Git {
    opened: RwLock<Opened>,
    /// Packs of ours since the store was opened.
    packs: AtomicU32,
}

#[derive(Debug)]
struct Opened {
    repository: ThreadSafeRepository,
    since: Instant,
}

impl Git {
    pub(super) fn new(repository: ThreadSafeRepository) -> Self {
        let since = Instant::now();
        Self { opened: RwLock::new(Opened { repository, since }), packs: AtomicU32::new(0) }
    }

    /// Returns a handle for one thread and one task.
    pub(super) fn to_thread_local(&self) -> gix::Repository {
        if self.is_old(&self.opened.read()) {
            self.renew();
        }
        self.opened.read().repository.to_thread_local()
    }

    /// Reports a new pack of ours.
    pub(super) fn has_new_pack(&self) {
        self.packs.fetch_add(1, Ordering::Relaxed);
    }

    fn is_old(&self, opened: &Opened) -> bool {
        self.packs.load(Ordering::Relaxed) >= MAX_PACKS || opened.since.elapsed() >= MAX_AGE
    }

    fn renew(&self) {
        let mut opened = self.opened.write();
        if !self.is_old(&opened) {
            return;
        }
        let old = &opened.repository.objects;
        let replacements: Vec<_> = old.replacements().collect();
        let options = Options {
            slots: SLOTS,
            use_multi_pack_index: old.use_multi_pack_index(),
            alloc_limit_bytes: Some(MAX_FILE_BYTES as usize),
            ..Options::default()
        };
        match Store::at_opts(old.path().to_owned(), old.object_hash(), &mut replacements.into_iter(), options)
        {
            Ok(store) => opened.repository.objects = OwnShared::new(store),
            Err(error) => tracing::warn!(%error, "the store of objects can't be opened again"),
        }
        opened.since = Instant::now();
        self.packs.store(0, Ordering::Relaxed);
    }
}
