//! The contracts that can be served, and what implements each.
//!
//! An entry in `ALL` makes a contract available; its tools, schemas and errors come from its JSON. The feature `fixtures`
//! adds a contract for the official conformance suite.

mod braindrive_markdown;
mod failures;
mod learning_os;
pub mod mcb;
mod safe_markdown_editor;

use std::sync::Arc;

use tabellion_runtime::{Contract, ContractSpec};

use tabellion_library::{Library, path::LibraryPath};

/// Puts an implementation over a library behind a contract. The path is the document of contracts that work on one; returns
/// `None` if such a contract is given none.
type ServiceConstructor = fn(Arc<Library>, Option<&LibraryPath>) -> Option<Arc<dyn Contract>>;

/// A contract and its implementation.
struct Served {
    spec: &'static ContractSpec,
    service: ServiceConstructor,
}

static ALL: &[Served] = &[
    Served {
        spec: &tabellion_contracts::braindrive_markdown::CONTRACT,
        service: |library, _| Some(braindrive_markdown::service(library)),
    },
    Served {
        spec: &tabellion_contracts::learning_os::CONTRACT,
        service: |library, _| Some(learning_os::service(library)),
    },
    Served {
        spec: &tabellion_contracts::safe_markdown_editor::CONTRACT,
        service: |library, document| document.map(|path| safe_markdown_editor::service(library, path)),
    },
    #[cfg(feature = "fixtures")]
    Served {
        spec: tabellion_mcp::fixtures::OFFICIAL_SUITE,
        service: |library, _| Some(tabellion_mcp::fixtures::service(library)),
    },
];

/// Returns the name of the contract that is served by default.
pub fn default() -> &'static str {
    ALL[0].spec.id
}

/// Returns the names of all contracts.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|served| served.spec.id).collect()
}

/// Returns the declaration of the contract called `name`.
pub fn spec(name: &str) -> Option<&'static ContractSpec> {
    served(name).map(|served| served.spec)
}

/// Returns the contract called `name`, served from `library`. `document` is for contracts that work on one document.
pub fn service(
    name: &str,
    library: &Arc<Library>,
    document: Option<&LibraryPath>,
) -> Option<Arc<dyn Contract>> {
    served(name).and_then(|served| (served.service)(Arc::clone(library), document))
}

fn served(name: &str) -> Option<&'static Served> {
    ALL.iter().find(|served| served.spec.id == name)
}
