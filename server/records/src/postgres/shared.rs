//! What all connections to a contract's schema have in common.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tabellion_runtime::spec::RowsSpec;

use super::connection::Pool;

/// What all connections have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) spec: &'static RowsSpec,
    pub(crate) pool: Arc<Pool>,
    /// Key of the lock of all rows.
    pub(crate) lock: i64,
    /// Counts the migrations that older programs can't go on beside.
    pub(crate) generation: String,
}

impl Shared {
    pub(crate) fn new(spec: &'static RowsSpec, pool: &Arc<Pool>, lock: i64, generation: String) -> Self {
        Self {
            spec,
            pool: Arc::clone(pool),
            lock,
            generation,
        }
    }

    /// Returns the key of an org's lock.
    pub(crate) fn lock_of(&self, org: &str) -> (i32, i32) {
        let [_, _, _, _, class @ ..] = self.lock.to_be_bytes();
        (i32::from_be_bytes(class), first(org))
    }
}

/// Returns the first bytes of a text's digest.
pub(crate) fn first<N: FirstBytes>(text: &str) -> N {
    N::first(&Sha256::digest(text))
}

pub(crate) trait FirstBytes {
    fn first(digest: &[u8]) -> Self;
}

impl FirstBytes for i32 {
    fn first(digest: &[u8]) -> Self {
        digest
            .first_chunk()
            .map_or(0, |bytes| Self::from_be_bytes(*bytes))
    }
}

impl FirstBytes for i64 {
    fn first(digest: &[u8]) -> Self {
        digest
            .first_chunk()
            .map_or(0, |bytes| Self::from_be_bytes(*bytes))
    }
}
