//! Sentence embeddings in pure Rust: texts become vectors, and texts of similar meaning become vectors of a small angle.
//!
//! A [`Model`] is all-MiniLM-L6-v2 in memory; [`install()`] checks its weights and puts them into a folder. This crate knows no contract,
//! no file format of texts and no database: callers cut texts, and keep vectors by the hash of the text and [`Model::fingerprint`].
//!
//! | module | does |
//! |---|---|
//! | `model` | the public face of the model: opening, batches, progress |
//! | `parts` | long texts, cut into parts that the model reads whole |
//! | `tokenizer` | texts to token ids |
//! | `weights` | reads weights, and names their first defect |
//! | `encoder` | token ids to vectors |
//! | `compute` | products and the steps between them, for the processor at hand |
//! | `vectors` | vectors in 8 bits a value, and the nearest of many |
//! | `install` | puts weights into a folder, and checks them |
//! | `download` | fetches them first; feature `download` |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod compute;
#[cfg(feature = "download")]
mod download;
mod encoder;
mod error;
mod install;
mod model;
mod parts;
mod tokenizer;
mod vectors;
mod weights;

#[cfg(test)]
mod tests;

#[cfg(feature = "download")]
pub use self::download::{Received, download};
pub use self::{
    error::{Cancelled, ModelError},
    install::{Status, default_folder, install, status, weights_in},
    model::{DIMENSIONS, MAX_TOKENS, Model, Progress, Vector},
    parts::parts,
    vectors::{Match, Quantized, Query, cosine, nearest, nearest_of},
};
