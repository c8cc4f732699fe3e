//! Markdown as bytes: a document's sections, edits of it, and previews of those edits.
//!
//! All functions are pure: text in, text out. An edit never renders a syntax tree: it replaces one range of bytes, and every byte
//! outside that range stays. Parsing is pulldown-cmark's, on a mask of the same length: each position it reports is a position in
//! the file. [`mdx_error`] and [`mod@front_matter`] use other parsers, `markdown` and `saphyr-parser`. Every function but
//! [`merge()`] and [`merge_documents`] takes time linear in its input, up to constant factors that the modules name.
//!
//! | module | contents |
//! |---|---|
//! | [`outline`] | a document's sections, with their byte ranges and slugs |
//! | [`target`] | finds the section that a caller names, or lists the candidates |
//! | [`edit`] | the five edit operations, and the [`plan`] of an edit |
//! | [`editor`] | inserts, deletes, updates and moves sections, each identified by its position |
//! | [`mod@front_matter`] | reads YAML front matter, and sets and removes one key |
//! | [`merge()`] | two changes of one text, merged by lines |
//! | [`merge_documents`] | two changes of one document, merged by sections |
//! | [`lineage`] | section ids across the versions of a document, and the undo and redo stacks |
//! | [`link_targets`] | the targets of a document's links, as written |
//! | [`code_ranges`] | code and HTML, which are not text |
//! | [`unresolved_conflict`] | a merge conflict that git left in a text |
//! | [`mod@preview`] | diff, summary and risk of a plan |
//! | [`diff`] | parts that can be taken or left, changed words, unified diffs that `git apply` turns into exactly the new bytes |
//!
//! Left to others: files and paths (the library), commits, search.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod blocks;
mod bounds;
mod code;
mod conflict;
pub mod diff;
mod display;
pub mod edit;
pub mod editor;
pub mod front_matter;
pub mod lineage;
mod lines;
mod links;
mod mdx;
mod mdx_error;
mod merge;
mod nearest;
pub mod outline;
mod outside;
pub mod preview;
mod seams;
mod section;
mod slug;
mod splice;
pub mod target;
#[cfg(test)]
mod tests;

pub use bounds::{LimitError, MAX_LINES, MAX_MARKS};
pub use code::code_ranges;
pub use conflict::{UnresolvedConflict, unresolved_conflict};
pub use display::one_line;
pub use edit::{Edit, EditError, Plan, plan};
pub use front_matter::{FrontMatter, FrontMatterError, with_body};
pub use lines::{ending_of, with_endings_of};
pub use links::{LinkTarget, link_targets};
pub use mdx_error::{MdxError, mdx_error};
pub use merge::{MergeConflict, Merged, merge, merge_documents};
pub use outline::Outline;
pub use preview::{Preview, Risk, preview, summarize};
pub use section::Section;
pub use target::{Candidate, TargetError};

/// The dialect a file is parsed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// CommonMark with GitHub's tables, footnotes, task lists and strikethrough.
    CommonMark,
    /// CommonMark as above, after MDX's `import`, `export` and JSX lines are masked.
    Mdx,
}

impl Flavor {
    /// Returns the dialect of the file at `path`: MDX for the extension `.mdx`, CommonMark for all others.
    pub fn of_path(path: &str) -> Self {
        match path.rsplit_once('.') {
            Some((_, extension)) if extension.eq_ignore_ascii_case("mdx") => Flavor::Mdx,
            _ => Flavor::CommonMark,
        }
    }
}
