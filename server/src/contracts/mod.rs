//! Which contracts there are, and what implements each.
//!
//! A contract is served by naming it in `ALL`; its tools, schemas and errors come from its JSON.

mod braindrive_markdown;
mod failures;
mod learning_os;

use std::sync::Arc;

use tabellion_schemas::{Contract, ContractSpec, generated};

use crate::library::Library;

/// One contract and how to put an implementation over a library behind it.
struct Served {
    spec: &'static ContractSpec,
    over: fn(Arc<Library>) -> Arc<dyn Contract>,
}

const ALL: [Served; 2] = [
    Served {
        spec: &generated::braindrive_markdown::CONTRACT,
        over: braindrive_markdown::over,
    },
    Served {
        spec: &generated::learning_os::CONTRACT,
        over: learning_os::over,
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

/// The contract of that name over `library`.
pub fn over(name: &str, library: &Arc<Library>) -> Option<Arc<dyn Contract>> {
    let served = ALL.iter().find(|served| served.spec.id == name)?;
    Some((served.over)(Arc::clone(library)))
}
