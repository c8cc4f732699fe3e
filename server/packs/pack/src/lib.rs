//! Packs: a contract together with its implementation.
//!
//! A pack is a crate with one or several statics of type [`Pack`]. The program lists them, opens the library or rows that each
//! requires, and serves it.

mod derived;
pub mod failures;

use std::sync::Arc;

use tabellion_library::{Library, path::LibraryPath};
use tabellion_records::Records;
use tabellion_runtime::{Contract, ContractSpec, downloads::Downloads};
use tabellion_vcs::Workspaces;

pub use self::derived::{Count, Derived, IndexState};

/// A contract and its implementation.
pub struct Pack {
    /// The contract's declaration.
    pub spec: &'static ContractSpec,
    /// Its implementation.
    pub implementation: Implementation,
    /// Its index of words, if it has one.
    pub words: Option<IndexOver>,
    /// The files of a library that clients can download in addition to its answers, if it has any.
    pub downloads: Option<DownloadsFrom>,
}

/// Creates an implementation over the documents or rows that the contract reads and changes.
pub enum Implementation {
    /// Over a library.
    Documents(OverDocuments),
    /// Over rows in a data folder.
    Rows(OverRows),
}

/// Returns a contract over a library. The path is that of the document, for contracts over a single one; such a contract is `None` without
/// a path.
pub type OverDocuments = fn(Arc<Library>, Option<&LibraryPath>) -> Option<Arc<dyn Contract>>;

/// Returns a contract over rows, whose callers can name paths in the workspaces.
pub type OverRows = fn(Arc<Records>, Arc<Workspaces>) -> Arc<dyn Contract>;

/// Returns an index that is derived from rows.
pub type IndexOver = fn(Arc<Records>) -> Arc<dyn Derived>;

/// Returns the downloads of a library.
pub type DownloadsFrom = fn(&Library) -> Arc<dyn Downloads>;
