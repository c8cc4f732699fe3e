//! A search index over texts, derived from a source and rebuilt from it at any time.
//!
//! An [`Index`] takes [`Document`]s and answers a [`Search`] with their ids, best first. It keeps no text, knows no contract and no
//! entity, and records the last change of its [`Source`] that it has, so a search never lacks a change that the caller needs:
//! [`Index::search`] brings the index up to date first, or fails with the reason.
//!
//! A score is in (0, 1) and falls from hit to hit. 0.5 means that the query's words in the document and its context are worth as much
//! as all of these words once, the rare ones counting more. Scores of different queries are comparable only roughly.
//!
//! | module | does |
//! |---|---|
//! | [`engine`] | mechanisms that the index of code uses too |
//! | `document` | documents, changes, and the source that an index follows |
//! | `index` | the index: bringing it up to date, searching, rebuilding |
//! | `words`, `dates`, `terms` | words, dates and terms of texts and queries |
//! | `postings`, `columns` | the documents of each term; the data of each document that ranking needs |
//! | `write` | a batch of changes |
//! | `filter`, `search`, `ranking` | the documents that are searched; their values; the weights, with reasons |
//! | `file` | the SQLite file |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod columns;
mod dates;
mod document;
pub mod engine;
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
    document::{Change, Changes, Document, Facet, Reported, Source, SourceError, Text},
    error::IndexError,
    filter::{AnyOf, Filters},
    index::{Index, Status, inspect},
    nearness::{Nearby, Nearness, TextKey},
    search::{Hit, Hits, Search},
    words::{Word, query_terms, words},
};
