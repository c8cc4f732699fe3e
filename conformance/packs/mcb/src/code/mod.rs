//! Checks of contracts that index, search, compare and judge source code in a workspace.
//!
//! A contract has a family if it has operations with the selectors' values of [`OPERATIONS`]. The sources are the suite's own: it writes
//! them into the folder that a server's command names as `{workspace}`, and knows their words and symbols.
//!
//! | module | is for |
//! |---|---|
//! | [`tree`] | trees of source files, as data: their words and functions |
//! | [`server`], [`hit`] | a server over a workspace, its calls, and the rules for its hits |
//! | [`index`], [`changes`], [`outside`] | the index: after restarts, kills and changes, and never of files outside of the workspace |
//! | [`search`], [`question`], [`words`] | filters, scores, hits; any text, exact names |
//! | [`repository`], [`branched`] | repositories, as data, and the git program's report on them |
//! | [`git_index`], [`branch_filter`], [`index_repository`] | branches and commits that are indexed without a checkout, and searched |
//! | [`vcs`], [`impact`] | branches, compared with the git program |
//! | [`repositories`] | lists of the repositories in a folder |
//! | [`validate`], [`metrics`] | rules and findings; functions that were counted by hand |

mod branch_filter;
mod branched;
mod changes;
mod git_index;
mod hit;
mod impact;
mod index;
mod index_repository;
mod metrics;
mod outside;
mod question;
mod repositories;
mod repository;
mod search;
mod server;
mod tree;
mod validate;
mod vcs;
mod words;

use tabellion_runtime::ContractSpec;

use crate::memory::find;
use tabellion_conformance::check::Check;

/// The operations of each family: the values of their selectors.
const OPERATIONS: &[(&str, &[&[&str]])] = &[
    ("index", &[server::START, server::STATUS, server::CLEAR, server::CODE]),
    ("search", &[server::START, server::STATUS, server::CODE]),
    ("vcs", &[vcs::COMPARE, vcs::SEARCH, impact::IMPACT]),
    ("validate", &[validate::RUN, validate::LIST, metrics::ANALYZE]),
];

pub(super) const INDEX: &[Check] = &[
    index::STATUS,
    index::RESTART,
    index::KILLED,
    changes::INCREMENTAL,
    index::CLEARED,
    git_index::INDEXED,
    git_index::MOVED,
    outside::CHECK,
];

pub(super) const SEARCH: &[Check] = &[
    search::FILTERS,
    branch_filter::CHECK,
    search::SCORES,
    words::ANY_TEXT,
    words::EXACT,
    search::ONE_HIT,
    changes::FRESH,
];

pub(super) const VCS: &[Check] = &[
    vcs::COMPARED,
    vcs::SEARCHED,
    impact::CHECK,
    repositories::CHECK,
    index_repository::INDEXED,
    index_repository::COMMITS,
];

pub(super) const VALIDATE: &[Check] = &[validate::FINDINGS, validate::RULES, metrics::METRICS];

/// Returns true if the contract has the operations of a family.
pub(super) fn is_of(contract: &ContractSpec, family: &str) -> bool {
    let mut operations = OPERATIONS.iter().filter(|(name, _)| *name == family);
    operations.any(|(_, all)| all.iter().all(|is| find(contract, is).is_some()))
}
