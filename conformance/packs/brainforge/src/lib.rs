//! Checks of contracts with a library of notes by people and agents, in which agents' notes wait for a person.
//!
//! A contract has one if its tools take the arguments of `tool::Tool`, and the answer of the one that creates notes can be pending. The
//! notes are the suite's own: each version has a unique word, which identifies it wherever it turns up.
//!
//! | module | is for |
//! |---|---|
//! | `tool` | the contract's tools |
//! | `shelf`, `written` | a library, its callers and their calls; the result of a call |
//! | `decision` | decisions of a person, by the commands that the operator names |
//! | `review`, `decided`, `program` | pending notes are unseen; decisions; random programs, compared with a model |
//! | `shown`, `parts` | decisions on the shown version, and on parts of it |
//! | `versions`, `crowd`, `commits` | numbers and contents; several servers at once; commits |
//! | `links` | links |
//! | `search`, `hit` | hits, filters and scores |
//! | `export`, `exported` | exports |

mod commits;
mod crowd;
mod decided;
mod decision;
mod export;
mod exported;
mod hit;
mod killed;
mod links;
mod parts;
mod program;
mod review;
mod search;
mod shelf;
mod shown;
mod tool;
mod versions;
mod written;

use tabellion_conformance::{
    check::Check,
    checks::{Family, Pack},
};
use tabellion_runtime::ContractSpec;

/// The families.
pub static PACK: Pack = Pack {
    families: &[
        Family::new(REVIEW, is_of).always(),
        Family::new(VERSIONS, is_of).always(),
        Family::new(LINKS, is_of).always(),
        Family::new(SEARCH, is_of).always(),
        Family::new(EXPORT, is_of).always(),
    ],
    smoke: &[
        "review/pending-unseen",
        "review/decided",
        "versions/conflict",
        "versions/by-hand",
        "notes/fresh",
        "export/whole",
    ],
};

const REVIEW: &[Check] = &[
    review::PENDING_UNSEEN,
    review::OWN,
    decided::DECIDED,
    decided::STALE,
    shown::CHECK,
    parts::EXACT,
    parts::UNKNOWN,
    program::CHECK,
    killed::CHECK,
];

const VERSIONS: &[Check] =
    &[versions::ALL, versions::BY_HAND, versions::CONFLICT, crowd::CHECK, commits::CHECK];

const LINKS: &[Check] = &[links::ENDS, links::ONCE];

const SEARCH: &[Check] =
    &[search::FRESH, search::FILTERS, search::SCORES, search::EXCERPTS, search::ANY_TEXT];

const EXPORT: &[Check] = &[export::WHOLE, export::ARCHIVES, export::FILTERS, export::EXPIRES];

/// Returns true if the contract has a library of notes.
fn is_of(contract: &ContractSpec) -> bool {
    let mut tools = tool::Tool::ALL.into_iter();
    tools.all(|tool| tool.find(contract).is_some())
        && tool::Tool::Create.find(contract).is_some_and(|create| create.pending.is_some())
}
