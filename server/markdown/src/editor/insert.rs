//! Inserts a section.

use super::super::{lines, target::HeadingLine};
use super::{ParsedDocument, SectionError, SectionPlan, check_below, splice, text};

/// Inserts a section at `position`, before the current section there, or at the end of the document.
///
/// A heading with `#` sets the level. Otherwise the new section has the level of the section that it displaces, or of the last
/// section: no section changes its parent. Blank lines separate the new section. Content may begin with the section's own heading.
///
/// # Errors
/// If the position or heading is not valid, or the change would alter the structure outside the section.
pub fn insert(
    document: &ParsedDocument<'_>,
    position: usize,
    heading: &str,
    content: &str,
) -> Result<SectionPlan, SectionError> {
    let sections = document.sections();
    if position > sections.len() {
        return Err(SectionError::Position { position, max: sections.len(), moved: 0 });
    }
    let displaced = sections.get(position);
    let level = displaced.or(sections.last()).map_or(1, |section| section.level);
    let heading = NewHeading::parse(heading, level)?;
    let content = text::trim_content(content, document.flavor, heading.level, &heading.title);

    let at = displaced.map_or(document.text.len(), |section| section.heading.start);
    let (left, right) = document.text.split_at(at);
    let ending = lines::ending_of(document.text);
    let mut piece = String::new();
    if !left.trim_start_matches(lines::BOM).is_empty() && !lines::ends_with_blank_line(left) {
        // The splice adds the ending that the last line may lack.
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
    let added = after.len() - sections.len();
    // The splice adds only line endings before the heading.
    let inserted = &done.text[done.inserted.clone()];
    let heading_at = done.inserted.end - inserted.trim_start_matches(['\n', '\r']).len();
    if after.get(position).is_none_or(|new| new.heading.start != heading_at) {
        return Err(SectionError::NoHeading { heading: super::super::display::one_line(&heading.line) });
    }
    check_below(&after[position + 1..position + added], &done.text, heading.level)?;
    Ok(SectionPlan { text: done.text, outline: done.outline.into(), position, sections: added })
}

/// The heading of a new section.
struct NewHeading {
    level: u8,
    title: String,
    /// The heading as written, with `#`.
    line: String,
}

impl NewHeading {
    /// Parses a heading from a caller: a text, or a whole line with `#`.
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
        // A closing sequence keeps the parser from taking a `#` at the end of the text for one.
        let line = if HeadingLine::parse(&line).text == title { line } else { format!("{line} {marks}") };
        Ok(Self { level, title, line })
    }
}
