//! The ranking of documents, with the reason for each number.
//!
//! The value of a document is
//!
//! ```text
//! own + NEIGHBORS[0] × (beside) + NEIGHBORS[1] × (two away) + GROUP × group
//! ```
//!
//! where *own* is BM25 of the document's words plus [`DATE`] × the rarity of the calendar units that it shares with dates in the
//! query, *beside* and *two away* are BM25 of the words that it lacks in the documents at these distances, and *group* is BM25 of all documents of its group taken together. The score is `value / (value + weight of the query)`.
//!
//! All statistics (numbers of documents and groups, documents with a word, lengths) are those of the documents that pass the
//! filters, so no score depends on documents that the caller may not see.

use crate::engine::Bm25;

/// For single documents. Memories and chunks are short: repeated or additional words are less significant in them than in
/// articles, for which 1.2 and 0.75 are usual.
pub(crate) const DOCUMENT: Bm25 = Bm25 { k1: 0.6, b: 0.3 };
/// For groups, whose lengths differ as those of articles do.
pub(crate) const GROUP_TEXT: Bm25 = Bm25 { k1: 1.2, b: 0.75 };

/// Share of the neighbours at distance 1 and 2. An answer often lacks the words of its question, which the sentence before it has. What a
/// document has itself is not counted again: in the middle of others about Anna, it would come before the one that answers.
pub(crate) const NEIGHBORS: [f32; 2] = [0.5, 0.25];
/// Share of the group's value: a conversation about the subject is a better place to look than one that mentions a word.
pub(crate) const GROUP: f32 = 0.8;
/// Share of an occurrence as a part of an identifier: "Java" is meant less by `JavaScript` than by itself.
pub(crate) const PART: f32 = 0.5;
/// Share of a date's rarity. Less than a word's: events are written about later than they happen.
pub(crate) const DATE: f32 = 0.7;
