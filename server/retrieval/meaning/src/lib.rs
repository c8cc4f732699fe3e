//! Vectors of texts: made in the background, kept by the hash of the text, and compared with a query.
//!
//! A [`Meaning`] belongs to a data folder. Its [`Corpus`]es list the texts that want vectors; a thread makes these one batch after
//! another, and [`Meaning::near`] compares a query with the existing ones. No call waits for a vector. This crate knows no contract, and
//! no index: indexes keep the [`TextKey`](tabellion_retrieval::TextKey)s of their texts, and ask for cosines.
//!
//! | module | does |
//! |---|---|
//! | `meaning` | the public face: comparing, counting, and waking the thread |
//! | `corpus` | texts, and the vectors that the servers of a team share |
//! | `background` | the thread: the choice of the next texts, one process at a time |
//! | `model` | the source of the model, and its time in memory |
//! | `vectors`, `memory` | vectors in SQLite, and those in memory |
//! | `file` | the SQLite file |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod background;
mod corpus;
mod error;
mod file;
mod meaning;
mod memory;
mod model;
#[cfg(test)]
mod tests;
mod vectors;

pub use self::{
    corpus::{Corpus, CorpusError, Team, Wanted},
    error::MeaningError,
    meaning::Meaning,
    model::{Embedder, Installed, Models, NoModel},
};
