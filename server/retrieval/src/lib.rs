//! A search index over texts, derived from a source and rebuilt from it at any time.
//!
//! An [`Index`] takes [`Document`]s and answers a [`Search`] with their ids, best first. It keeps no text, knows no contract and no
//! entity, and records up to which change of its [`Source`] it has everything, so a search never answers from less than the caller
//! needs: [`Index::search`] brings the index up to date first, or says why it can't.
//!
//! A score is in (0, 1) and falls from hit to hit. 0.5 means that what the document and its context have of the query's words is worth
//! as much as all of these words once, the rare ones counting more. Scores of different queries are comparable only roughly.
//!
//! | module | does |
//! |---|---|
//! | `document` | documents, changes, and the source that an index follows |
//! | `index` | the index: bringing it up to date, searching, rebuilding |
//! | `words`, `dates`, `terms` | what texts and queries are cut into |
//! | `postings`, `columns` | which documents have a term; what ranking needs of each document |
//! | `write` | a batch of changes |
//! | `filter`, `search`, `ranking` | which documents are searched; how they are added up; the weights, with reasons |
//! | `file` | the SQLite file |

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests open what they have made")
)]

mod columns;
mod dates;
mod document;
mod error;
mod file;
mod filter;
mod fusion;
mod index;
mod nearness;
mod postings;
mod ranking;
mod search;
mod terms;
mod words;
mod write;

#[cfg(test)]
mod tests;

pub use self::{
    document::{Change, Changes, Document, Facet, Source, SourceError, Text},
    error::IndexError,
    filter::{AnyOf, Filters},
    index::{Index, Status, inspect},
    nearness::{Nearby, Nearness, TextKey},
    search::{Hit, Hits, Search},
    words::{Word, words},
};
