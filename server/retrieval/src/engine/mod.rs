//! The mechanisms of an inverted index that memories and code share. The tables of each index, and the weights of its ranking, are its
//! own: those of memories are in this crate, those of code in `tabellion-code`.

mod best;
mod bm25;
mod candidates;
mod codec;

pub use self::{
    best::keep_best,
    bm25::{Bm25, rarity, score},
    candidates::Candidates,
    codec::{entries, pull_bytes, pull_number, push_bytes, push_entry, push_number},
};
