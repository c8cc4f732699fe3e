//! The pool of a contract's schema, and its locks.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tabellion_runtime::spec::RowsSpec;

use super::connection::Pool;

/// An open schema.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) spec: &'static RowsSpec,
    pub(crate) pool: Arc<Pool>,
    /// Key of the lock of all rows.
    pub(crate) lock: i64,
    /// Number of migrations that older programs are incompatible with.
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

    /// Returns the key of a named lock in the schema.
    pub(crate) fn lock_of(&self, what: &str) -> i64 {
        number(&format!("{} {what}", self.lock))
    }
}

/// Hashes a text to a number.
pub(crate) fn number(text: &str) -> i64 {
    let digest = Sha256::digest(text);
    digest.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
}
