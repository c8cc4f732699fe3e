//! Checks of contracts with a memory, in which agents store their actions and lessons, and find them again.
//!
//! A contract has a memory if it has operations with the selectors' values that [`ask::is_of`] looks for. The module assumes no more of
//! it: the model of stored notes is its own.
//!
//! | module | is for |
//! |---|---|
//! | [`ask`] | the callers, with their provenance, and their calls |
//! | [`program`] | random programs of stored notes, as data |
//! | [`shelf`], [`note`] | the model: stored notes, and the filters of queries |
//! | [`kept`] | storing and reading: notes are kept, counted, and never merged |
//! | [`listed`], [`timeline`], [`inject`] | lists, timelines and contexts |
//! | [`words`], [`search`] | any text as a query; hits, filters and scores |

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

pub(crate) use ask::{find, is_of, request, said};

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
