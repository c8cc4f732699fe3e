//! The error of a change to a section.

use super::super::{bounds::LimitError, display, section::Section};
use super::text;

/// A change to a section can't be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// The position is outside the document, or not possible for the moved section.
    #[error("position {position} is outside of the document: {}", range(*max, *moved))]
    Position {
        /// The position as given.
        position: usize,
        /// The last possible position.
        max: usize,
        /// The number of sections that move together; 0 if none moves.
        moved: usize,
    },
    /// The heading has more than one line.
    #[error("the heading has a line break; give one line, and what follows as content")]
    HeadingLines,
    /// The heading has no text.
    #[error("the heading is empty; give its text, with or without `#` before it")]
    HeadingEmpty,
    /// The text before the heading would swallow it.
    #[error(
        "\"{heading}\" would not be a heading there: the text before it opens a code block, comment, tag or front matter and \
         does not close it; close that first"
    )]
    NoHeading {
        /// The heading's line.
        heading: String,
    },
    /// The content has a heading of the section's own level or a higher one.
    #[error(
        "the content has the heading \"{heading}\" of level {found}, which would end the section (level {level}); use \
         level {} or below in it, or insert a section of its own",
        level + 1
    )]
    EndsSection {
        /// The heading in the content.
        heading: String,
        /// Its level.
        found: u8,
        /// The level of the section.
        level: u8,
    },
    /// A heading in the content would become the parent of a section that follows the content.
    #[error(
        "a heading in the content would take \"{heading}\" in, which stands below the section itself; use the level of \
         \"{heading}\" for it"
    )]
    Reparents {
        /// The heading that follows the content.
        heading: String,
    },
    /// A heading outside would no longer be a heading.
    #[error(
        "the heading \"{heading}\" (line {line}) would become part of the text before it; close the code blocks, comments \
         and tags in that text first"
    )]
    Swallows {
        /// The heading.
        heading: String,
        /// Its first line, counted from 1.
        line: usize,
    },
    /// Text outside would become a heading.
    #[error("text that is not a heading now would become the heading \"{heading}\" (line {line})")]
    Reveals {
        /// The new heading.
        heading: String,
        /// Its first line in the new text, counted from 1.
        line: usize,
    },
    /// The old or new text has too much structure to be parsed.
    #[error("the document can't be edited by its sections: {0}")]
    Limit(#[from] LimitError),
}

impl SectionError {
    pub(super) fn swallows(old: &str, section: &Section) -> Self {
        Self::Swallows { heading: shown(old, section), line: section.line }
    }

    pub(super) fn reveals(new: &str, section: &Section) -> Self {
        Self::Reveals { heading: shown(new, section), line: section.line }
    }

    pub(super) fn ends_section(new: &str, section: &Section, level: u8) -> Self {
        Self::EndsSection { heading: shown(new, section), found: section.level, level }
    }
}

/// Returns the heading of a section of `text`, for a message.
pub(super) fn shown(text: &str, section: &Section) -> String {
    display::one_line(&text::title(text, section))
}

fn range(max: usize, moved: usize) -> String {
    let positions = match max {
        0 => "the only one is 0".into(),
        max => format!("there are 0 to {max}"),
    };
    match moved {
        0 | 1 => positions,
        moved => {
            let below = moved - 1;
            format!(
                "{positions}, since the {below} below it move with the section and it can't stand in itself"
            )
        }
    }
}
