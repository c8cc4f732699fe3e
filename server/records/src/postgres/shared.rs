//! The pool of a contract's schema, and its locks.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::RwLock;
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
    /// Names of the entities with a unique index that is not built yet.
    unprotected: RwLock<BTreeSet<&'static str>>,
}

impl Shared {
    pub(crate) fn new(spec: &'static RowsSpec, pool: &Arc<Pool>, generation: String) -> Self {
        let lock = number(&schema(spec));
        Self { spec, pool: Arc::clone(pool), lock, generation, unprotected: RwLock::default() }
    }

    /// Returns true if no index ensures one of the entity's unique values yet: then its changes must be alone.
    pub(crate) fn is_unprotected(&self, entity: &str) -> bool {
        self.unprotected.read().contains(entity)
    }

    /// Replaces the names of the entities with a unique index that is not built yet.
    pub(crate) fn set_unprotected(&self, entities: BTreeSet<&'static str>) {
        *self.unprotected.write() = entities;
    }

    /// Returns the name of the schema.
    pub(crate) fn schema(&self) -> String {
        schema(self.spec)
    }

    /// Returns the key of a named lock in the schema.
    pub(crate) fn lock_of(&self, what: &str) -> i64 {
        number(&format!("{} {what}", self.lock))
    }
}

/// Returns the name of a contract's schema.
pub(crate) fn schema(spec: &RowsSpec) -> String {
    format!("tabellion_{}", spec.contract.replace('-', "_"))
}

/// Hashes a text to a number.
pub(crate) fn number(text: &str) -> i64 {
    let digest = Sha256::digest(text);
    digest.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
}
