//! Why a change of sections is not made.

use super::super::{bounds::TooMuch, outline::Section, shown};
use super::text;

/// Why a change of sections can't be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// There is no such position, or none that the section can have.
    #[error("position {position} is outside of the document: {}", range(*most, *moved))]
    Position {
        /// The position as given.
        position: usize,
        /// The last one that can be had.
        most: usize,
        /// How many sections move together; 0 when none does.
        moved: usize,
    },
    /// A heading is one line.
    #[error("the heading has a line break; give one line, and what follows as content")]
    HeadingLines,
    /// A heading has a text.
    #[error("the heading is empty; give its text, with or without `#` before it")]
    HeadingEmpty,
    /// What stands before would take the heading in.
    #[error(
        "\"{heading}\" would be no heading there: the text before it opens a code block, comment, tag or front matter and \
         does not close it; close that first"
    )]
    NoHeading {
        /// The heading's line.
        heading: String,
    },
    /// The content has a heading that is not below the section's own.
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
    /// A heading in the content would have sections below it that are not.
    #[error(
        "a heading in the content would take \"{heading}\" in, which stands below the section itself; use the level of \
         \"{heading}\" for it"
    )]
    Reparents {
        /// The heading that stands after the content.
        heading: String,
    },
    /// A heading outside would no longer be one.
    #[error(
        "the heading \"{heading}\" (line {line}) would become part of the text before it; close the code blocks, comments \
         and tags in the content"
    )]
    Swallows {
        /// The heading.
        heading: String,
        /// Its first line, counted from 1.
        line: usize,
    },
    /// Text outside would become a heading.
    #[error("text that is no heading now would become the heading \"{heading}\" (line {line})")]
    Reveals {
        /// The heading that it would be.
        heading: String,
        /// Its first line in the new text, counted from 1.
        line: usize,
    },
    /// The text has too much structure to be parsed, or would have.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
}

impl SectionError {
    pub(super) fn swallows(old: &str, section: &Section) -> Self {
        Self::Swallows {
            heading: shown(old, section),
            line: section.line,
        }
    }

    pub(super) fn reveals(new: &str, section: &Section) -> Self {
        Self::Reveals {
            heading: shown(new, section),
            line: section.line,
        }
    }

    pub(super) fn ends_section(new: &str, section: &Section, level: u8) -> Self {
        Self::EndsSection {
            heading: shown(new, section),
            found: section.level,
            level,
        }
    }
}

/// The heading of a section of `text`, for people.
pub(super) fn shown(text: &str, section: &Section) -> String {
    shown::one_line(&text::title(text, section))
}

fn range(most: usize, moved: usize) -> String {
    let positions = match most {
        0 => "the only one is 0".into(),
        most => format!("there are 0 to {most}"),
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
