//! Inserts a section.

use super::super::{lines, target::HeadingLine};
use super::{Parsed, SectionError, SectionPlan, check_below, splice, text};

/// Inserts a new section at `position`, before the section there, or at the end of the document.
///
/// Its level is that of the section at `position`, at the end that of the last one, so that the following sections keep their
/// parents; a heading with `#` states its own level. Blank lines separate the new section. If the content begins with the
/// section's own heading, that is not repeated.
///
/// # Errors
/// [`SectionError`].
pub fn insert(
    document: &Parsed<'_>,
    position: usize,
    heading: &str,
    content: &str,
) -> Result<SectionPlan, SectionError> {
    let sections = document.sections();
    if position > sections.len() {
        return Err(SectionError::Position {
            position,
            most: sections.len(),
            moved: 0,
        });
    }
    let displaced = sections.get(position);
    let level = displaced.or(sections.last()).map_or(1, |section| section.level);
    let heading = Heading::parse(heading, level)?;
    let content = text::given(content, document.flavor, heading.level, &heading.title);

    let at = displaced.map_or(document.text.len(), |section| section.heading.start);
    let (left, right) = document.text.split_at(at);
    let ending = lines::ending_of(document.text);
    let mut piece = String::new();
    if !left.trim_start_matches(lines::BOM).is_empty() && !text::ends_blank(left) {
        // The splice gives the last line an ending if it has none.
        piece.push_str(ending);
    }
    piece.push_str(&heading.line);
    piece.push_str(ending);
    if !content.is_empty() {
        piece.extend([ending, content, ending]);
    }
    if !right.is_empty() {
        piece.push_str(ending);
    }

    let done = splice(document, at..at, &piece)?;
    let after = done.outline.sections();
    let came = after.len() - sections.len();
    // Only line endings precede the heading.
    let inserted = &done.text[done.inserted.clone()];
    let heading_at = done.inserted.end - inserted.trim_start_matches(['\n', '\r']).len();
    if after
        .get(position)
        .is_none_or(|new| new.heading.start != heading_at)
    {
        return Err(SectionError::NoHeading {
            heading: super::super::shown::one_line(&heading.line),
        });
    }
    check_below(&after[position + 1..position + came], &done.text, heading.level)?;
    Ok(SectionPlan {
        text: done.text,
        outline: done.outline.into(),
        position,
        sections: came,
    })
}

/// The heading to write.
struct Heading {
    level: u8,
    /// Text of the heading.
    title: String,
    /// Line of the heading.
    line: String,
}

impl Heading {
    /// Parses a heading given by a caller: a text, or a whole line with its `#`.
    fn parse(given: &str, level: u8) -> Result<Self, SectionError> {
        if given.trim().contains(['\n', '\r']) {
            return Err(SectionError::HeadingLines);
        }
        let written = HeadingLine::parse(given.trim());
        let (level, title) = (written.level.unwrap_or(level), written.text);
        if title.is_empty() {
            return Err(SectionError::HeadingEmpty);
        }
        let marks = "#".repeat(level.into());
        let line = format!("{marks} {title}");
        // A text that ends with `#` would lose it as a closing sequence, unless more of them follow.
        let line = if HeadingLine::parse(&line).text == title {
            line
        } else {
            format!("{line} {marks}")
        };
        Ok(Self { level, title, line })
    }
}
