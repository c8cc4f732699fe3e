//! Which contracts there are, and what implements each.
//!
//! A contract is served by naming it in `ALL`; its tools, schemas and errors come from its JSON. With the feature
//! `fixtures` there is one more, for the official conformance suite.

mod braindrive_markdown;
mod failures;
mod learning_os;
mod safe_markdown_editor;

use std::sync::Arc;

use tabellion_runtime::{Contract, ContractSpec};

use tabellion_library::{Library, path::LibraryPath};

/// Puts an implementation over a library behind a contract, with the document to work on; `None` where the contract works
/// on one and none is named.
type Over = fn(Arc<Library>, Option<&LibraryPath>) -> Option<Arc<dyn Contract>>;

/// One contract and how it is implemented.
struct Served {
    spec: &'static ContractSpec,
    over: Over,
}

static ALL: &[Served] = &[
    Served {
        spec: &tabellion_contracts::braindrive_markdown::CONTRACT,
        over: |library, _| Some(braindrive_markdown::over(library)),
    },
    Served {
        spec: &tabellion_contracts::learning_os::CONTRACT,
        over: |library, _| Some(learning_os::over(library)),
    },
    Served {
        spec: &tabellion_contracts::safe_markdown_editor::CONTRACT,
        over: |library, document| document.map(|path| safe_markdown_editor::over(library, path)),
    },
    #[cfg(feature = "fixtures")]
    Served {
        spec: tabellion_mcp::fixtures::OFFICIAL_SUITE,
        over: |library, _| Some(tabellion_mcp::fixtures::over(library)),
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
    served(name).and_then(|served| (served.over)(Arc::clone(library), document))
}

fn served(name: &str) -> Option<&'static Served> {
    ALL.iter().find(|served| served.spec.id == name)
}
