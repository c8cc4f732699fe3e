//! Rows as cards for people.

use tabellion_runtime::{BoxFuture, CallContext, Contract};

/// Returns cards of the rows that the caller may see, read through the contract's own tools: the newest, or those around the best match of
/// a query. A query without a match is not an error.
pub type CardsOf = for<'a> fn(
    &'a dyn Contract,
    &'a CallContext,
    Rows,
    Option<&'a str>,
) -> BoxFuture<'a, Result<Vec<Card>, CardsError>>;

/// The rows to show as cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Observations, by time.
    Observations,
    /// Sessions with their summaries.
    Sessions,
    /// Issues of all projects.
    Issues,
    /// Indexes of code.
    Collections,
}

/// A row, as people look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Title, or the first line of the text.
    pub title: String,
    /// The rest of the text.
    pub text: String,
    /// State or type, as the contract names it; empty if it has none.
    pub state: String,
    /// Seconds since 1970, if it has a time.
    pub seconds: Option<i64>,
    /// Further facts, short.
    pub facts: Vec<String>,
    /// True for the best match.
    pub best: bool,
}

/// Failure to read cards: the message of the tool's error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CardsError(pub String);
