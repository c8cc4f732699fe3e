//! Which contracts there are, and what implements each.
//!
//! A contract is served by naming it in `ALL`; its tools, schemas and errors come from its JSON.

mod braindrive_markdown;
mod failures;
mod learning_os;

use std::sync::Arc;

use tabellion_schemas::{Contract, ContractSpec, generated};

use crate::{library::Library, path::LibraryPath};

/// One contract and how to put an implementation over a library behind it.
struct Served {
    spec: &'static ContractSpec,
    /// With the document to work on, where the contract works on one.
    over: fn(Arc<Library>, Option<&LibraryPath>) -> Arc<dyn Contract>,
}

static ALL: [Served; 2] = [
    Served {
        spec: &generated::braindrive_markdown::CONTRACT,
        over: |library, _| braindrive_markdown::over(library),
    },
    Served {
        spec: &generated::learning_os::CONTRACT,
        over: |library, _| learning_os::over(library),
    },
];

/// The contract that is served unless another is asked for.
pub fn default() -> &'static str {
    ALL[0].spec.id
}

/// The names of all contracts.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|served| served.spec.id).collect()
}

/// What the contract of that name says of itself.
pub fn spec(name: &str) -> Option<&'static ContractSpec> {
    served(name).map(|served| served.spec)
}

/// The contract of that name over `library`; `document` is the one to work on, where the contract works on one.
pub fn over(name: &str, library: &Arc<Library>, document: Option<&LibraryPath>) -> Option<Arc<dyn Contract>> {
    served(name).map(|served| (served.over)(Arc::clone(library), document))
}

fn served(name: &str) -> Option<&'static Served> {
    ALL.iter().find(|served| served.spec.id == name)
}
