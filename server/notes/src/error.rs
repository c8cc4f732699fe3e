//! Errors of writing a note.

use tabellion_markdown::FrontMatterError;

/// Reason why a note can't be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The front matter can't be read or changed.
    #[error("the note's front matter can't be changed: {0}")]
    FrontMatter(#[from] FrontMatterError),
    /// A key that tools set has a value that no tool has written.
    #[error(
        "the note's `{0}` is not one that this server has written, and would be lost; give it another name"
    )]
    Foreign(String),
    /// The content begins with front matter.
    #[error(
        "the content begins with front matter; give metadata as metadata, and begin the content with its text"
    )]
    ContentHasFrontMatter,
    /// `links` of the front matter is not a list.
    #[error("the note's `links` is not a list; write each link as an item `- ` of it")]
    LinksAreNoList,
}
