//! Markdown as bytes: where a document's sections are, what an edit makes of it, and how to show that beforehand.
//!
//! Everything here is pure: text in, text out. Nothing is ever rendered back from a syntax tree; an edit is one splice,
//! and every byte outside it stays. Parsing is pulldown-cmark's, on a mask of the same length, so that each
//! position it reports is a position in the file. Every function is linear in its input up to a constant factor that
//! the modules name where they need one.
//!
//! | module | answers |
//! |---|---|
//! | [`outline`] | which sections there are, with their byte ranges and slugs |
//! | [`target`] | which section a caller means, and what to say when that is unclear |
//! | [`edit`] | what the five operations make of the text: [`plan`] |
//! | [`editor`] | what becomes of the text when sections come, go, change or move, each known by its position |
//! | [`lineage`] | which section is which from one version of a document to the next, and what can be undone |
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

pub use bounds::{MAX_LINES, MAX_MARKS, TooMuch};
pub use edit::{Edit, EditError, Plan, plan};
pub use outline::{Outline, Section};
pub use preview::{Preview, Risk, preview, summarize};
pub use target::{Candidate, TargetError};

/// The dialect a file is parsed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// CommonMark with GitHub's tables, footnotes, task lists and strikethrough.
    CommonMark,
    /// The same, with MDX's `import`, `export` and JSX lines set aside first.
    Mdx,
}

impl Flavor {
    /// Returns the dialect that a path's extension says: `.mdx` is MDX, all else CommonMark.
    pub fn of_path(path: &str) -> Self {
        match path.rsplit_once('.') {
            Some((_, extension)) if extension.eq_ignore_ascii_case("mdx") => Flavor::Mdx,
            _ => Flavor::CommonMark,
        }
    }
}
