//! An index of source files in SQLite, and the search of it.
//!
//! A [`CodeIndex`] has collections. A [`Run`] brings one up to date with a [`Tree`]: the files of a [`Folder`], or
//! blobs of branches. [`CodeIndex::search`] finds chunks by words, best first.
//!
//! | module | does |
//! |---|---|
//! | `index`, `run` | collections, their runs and states; reading and cutting files on several threads |
//! | `tree` | trees of files; folders by their ignore rules |
//! | `terms`, `names`, `values` | terms of files and queries; names of symbols in queries; values of filters as callers write them |
//! | `facts`, `segment`, `filter`, `write` | facts about chunks; words of some files and the chunks that have them; filters of words; transactions |
//! | `columns`, `parts`, `search`, `ranking` | data in memory; the collections that are searched; a search; the formula, with its reasons |
//! | `content` | texts of files, and places in them |
//! | `file` | the SQLite file |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod abbreviations;
mod columns;
mod content;
mod corpus;
mod error;
mod facts;
mod file;
mod filter;
mod fusion;
mod index;
mod meaning;
mod names;
mod parts;
mod query;
mod ranking;
mod run;
mod search;
mod segment;
mod stop;
mod terms;
#[cfg(test)]
mod tests;
mod tree;
mod values;
mod write;

pub use self::{
    error::CodeError,
    facts::commit_path,
    index::{CodeIndex, MAX_FAILURES, Outcome, Run, State, Status, failures},
    query::{CodeFilters, CodeQuery, unquoted},
    run::{Failed, blob_id},
    search::{CodeHit, CodeHits},
    stop::Stop,
    tree::{Choice, Entry, Folder, Selection, Tree},
};
