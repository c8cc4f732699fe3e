//! Markdown as bytes: finds a document's sections, plans edits, and previews them.
//!
//! Everything here is pure: text in, text out. Nothing is rendered from a syntax tree; an edit is one splice, and every byte
//! outside it stays. pulldown-cmark parses a mask of the same length, so that each reported position is a position in the
//! file. Every function is linear in its input, up to a constant factor that the modules name where they need one.
//!
//! | module | answers |
//! |---|---|
//! | [`outline`] | the sections, with their byte ranges and slugs |
//! | [`target`] | which section a caller means, and what to say when that is unclear |
//! | [`edit`] | the five operations, and their [`plan`] |
//! | [`editor`] | inserting, deleting, updating and moving sections by position |
//! | [`lineage`] | the identity of sections across versions of a document, and what can be undone |
//! | [`mod@preview`] | how a plan looks before it runs: diff, summary, risk |
//! | [`diff`] | unified diffs that `git apply` turns into exactly the new bytes |
//!
//! Left to others: files and paths (the library), commits, MDX validation, search.

mod blocks;
mod bounds;
pub mod diff;
pub mod edit;
pub mod editor;
mod front_matter;
pub mod lineage;
mod lines;
mod mdx;
mod nearest;
pub mod outline;
mod outside;
pub mod preview;
mod seams;
mod shown;
mod slug;
pub mod target;
#[cfg(test)]
mod tests;

pub use bounds::{MAX_LINES, MAX_MARKS, StructureError};
pub use edit::{Edit, EditError, Plan, plan};
pub use outline::{Outline, Section};
pub use preview::{Preview, Risk, preview, summarize};
pub use target::{Candidate, TargetError};

/// The dialect of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// CommonMark with GitHub's tables, footnotes, task lists and strikethrough.
    CommonMark,
    /// The same, after masking MDX's `import`, `export` and JSX lines.
    Mdx,
}

impl Flavor {
    /// Returns the dialect of a path by its extension: `.mdx` is MDX, everything else CommonMark.
    pub fn of_path(path: &str) -> Self {
        match path.rsplit_once('.') {
            Some((_, extension)) if extension.eq_ignore_ascii_case("mdx") => Flavor::Mdx,
            _ => Flavor::CommonMark,
        }
    }
}
