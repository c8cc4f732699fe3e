//! Packs: a contract together with its implementation.
//!
//! A pack is a crate with one or several statics of type [`Pack`]. The program lists them, opens the library or rows that each
//! requires, and serves it.

pub mod cards;
mod derived;
pub mod failures;
mod packs;
pub mod review;

use std::{path::Path, sync::Arc};

use tabellion_library::{Library, path::LibraryPath};
use tabellion_records::Records;
use tabellion_runtime::{Contract, ContractSpec, Failure, downloads::Downloads};
use tabellion_vcs::Workspaces;

use self::{cards::CardsOf, review::Review};
pub use self::{
    derived::{Count, Derived, IndexState},
    packs::{Grounds, Packs, ServiceError, WithRows},
};

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
    /// The review of proposals by people, if it has one.
    pub review: Option<Review>,
    /// Its rows as cards for people, if it shows any.
    pub cards: Option<CardsOf>,
    /// The documents of a library that it can't understand, if it has a form for them.
    pub problems: Option<ProblemsIn>,
    /// The folders that could not be indexed, if it has an index of code.
    pub unindexed: Option<UnindexedIn>,
}

impl Pack {
    /// Returns a pack of a contract and its implementation alone.
    pub const fn new(spec: &'static ContractSpec, implementation: Implementation) -> Self {
        Self {
            spec,
            implementation,
            words: None,
            downloads: None,
            review: None,
            cards: None,
            problems: None,
            unindexed: None,
        }
    }
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

/// Returns a contract over rows, whose callers can name paths in the workspaces. With `true`, dropping it waits for work in the background
/// that calls have begun.
pub type OverRows = fn(Arc<Records>, Arc<Workspaces>, bool) -> Arc<dyn Contract>;

/// Returns an index that is derived from rows.
pub type IndexOver = fn(Arc<Records>) -> Arc<dyn Derived>;

/// Returns the downloads of a library.
pub type DownloadsFrom = fn(&Library) -> Arc<dyn Downloads>;

/// Returns the documents with problems, each as its path and a sentence for each problem; none if the contract was never served from the
/// library.
pub type ProblemsIn = fn(&Library) -> Result<Vec<(String, Vec<String>)>, Failure>;

/// Returns the folders whose last run failed, each with the error, by the index in a data folder; or why the index can't be read.
pub type UnindexedIn = fn(&Path) -> Result<Vec<(String, String)>, String>;
