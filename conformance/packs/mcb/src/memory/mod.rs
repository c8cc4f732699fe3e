//! Checks of contracts with a memory: what agents store of what they did and learned, and find again.
//!
//! A contract has a memory if it has operations with the selectors' values of [`ask::OPERATIONS`]. Nothing else of it is
//! assumed: the model of what is stored is this module's own.
//!
//! | module | is for |
//! |---|---|
//! | [`ask`] | the callers, with their provenance, and their calls |
//! | [`program`] | random programs of what is stored, as data |
//! | [`shelf`], [`note`] | the model: what is stored, and which of it is asked for |
//! | [`kept`] | storing and reading: what is kept, counted, and never merged |
//! | [`listed`], [`timeline`], [`inject`] | lists, timelines and contexts |
//! | [`words`], [`search`] | any text as a query; what is found, filtered and scored |

mod ask;
mod inject;
mod kept;
mod listed;
mod note;
mod program;
mod search;
mod shelf;
mod timeline;
mod words;

use tabellion_runtime::ContractSpec;

pub(crate) use ask::{find, request, said};

use tabellion_conformance::check::Check;

pub(super) const CHECKS: &[Check] = &[
    kept::KEPT,
    kept::COUNTED,
    kept::RUNS,
    listed::LISTED,
    listed::NO_FILTER,
    timeline::CHECK,
    inject::CHECK,
    words::ANY_TEXT,
    words::FOUND,
    search::FILTERS,
    search::SCORES,
];

/// Returns true if the contract has a memory.
pub(super) fn is_of(contract: &ContractSpec) -> bool {
    ask::OPERATIONS.iter().all(|is| ask::find(contract, is).is_some())
}
