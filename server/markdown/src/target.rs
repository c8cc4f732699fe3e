//! Targets: how a caller names a section, and what to answer when the name fits none or several.
//!
//! First match wins is how notes get corrupted, so a name that fits two headings is refused with both of them shown.
//! Three readings are tried in turn; the first that fits any heading decides.

use std::fmt;

use super::lines::squash;
use super::outline::Section;
use super::{nearest, shown};

/// How many headings an error message shows; the error itself holds all of them.
const SHOWN: usize = 10;

/// Why a target names no section to edit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No heading is named so.
    #[error(
        "section \"{}\" not found; {}",
        shown::one_line(target),
        advice(target, nearest)
    )]
    NotFound {
        /// The target as given.
        target: String,
        /// The headings it may have meant, the most similar first, at most five.
        nearest: Vec<Candidate>,
    },
    /// More than one heading is named so.
    #[error(
        "section \"{}\" names {} headings; say which by its slug: {}",
        shown::one_line(target),
        candidates.len(),
        listed(candidates)
    )]
    Ambiguous {
        /// The target as given.
        target: String,
        /// The headings it names, in their order.
        candidates: Vec<Candidate>,
    },
}

/// A heading to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its first line, counted from 1.
    pub line: usize,
    /// Its line as written, a setext heading's without the underline.
    pub heading: String,
    /// Its slug, which names it and no other.
    pub slug: String,
}

impl Candidate {
    fn new(section: &Section, text: &str) -> Self {
        Candidate {
            line: section.line,
            heading: as_written(section, text),
            slug: section.slug.clone(),
        }
    }
}

impl fmt::Display for Candidate {
    /// `"## Scope" (line 12, #scope)`, on one line whatever the heading holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (heading, slug) = (shown::one_line(&self.heading), shown::one_line(&self.slug));
        write!(f, "\"{heading}\" (line {}, #{slug})", self.line)
    }
}

/// Returns the section that `target` names among those of `text`; see [`super::Outline::find`].
pub(super) fn find<'s>(
    sections: &'s [Section],
    text: &str,
    target: &str,
) -> Result<&'s Section, TargetError> {
    let wanted = Written::parse(&squash(target));
    let line = wanted.line();
    if line.is_empty() {
        return Err(TargetError::NotFound {
            target: target.into(),
            nearest: vec![],
        });
    }
    let written: Vec<Written> = sections
        .iter()
        .map(|section| Written::of(section, text))
        .collect();
    let as_line = |index: usize| wanted.level.is_some() && written[index] == wanted;
    let as_text = |index: usize| sections[index].text.trim() == line || written[index].text == line;
    let anchor = line.strip_prefix('#').unwrap_or(&line);
    let as_slug = |index: usize| sections[index].slug == anchor;
    let readings: [&dyn Fn(usize) -> bool; 3] = [&as_line, &as_text, &as_slug];
    for names in readings {
        let named: Vec<&Section> = (0..sections.len())
            .filter(|&index| names(index))
            .map(|i| &sections[i])
            .collect();
        match named[..] {
            [] => {}
            [section] => return Ok(section),
            _ => {
                let candidates = named
                    .into_iter()
                    .map(|section| Candidate::new(section, text))
                    .collect();
                return Err(TargetError::Ambiguous {
                    target: target.into(),
                    candidates,
                });
            }
        }
    }
    let nearest = nearest::sections(sections, &wanted.text);
    let nearest = nearest
        .into_iter()
        .map(|section| Candidate::new(section, text))
        .collect();
    Err(TargetError::NotFound {
        target: target.into(),
        nearest,
    })
}

/// A heading's line as it stands in a file or in a target, read so far that two ways to write the same compare equal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The number of opening `#`; none for running text, so for a setext heading.
    pub(super) level: Option<u8>,
    /// What follows them, without closing `#` and white space around it.
    pub(super) text: String,
}

impl Written {
    /// Reads a section's heading in the text that the section is of.
    pub(super) fn of(section: &Section, text: &str) -> Self {
        let line = as_written(section, text);
        match Written::parse(&line) {
            written if written.level == Some(section.level) => written,
            _ => Written {
                level: None,
                text: line,
            },
        }
    }

    /// Reads one line by the rules of CommonMark 0.31, section 4.2, ATX headings.
    pub(super) fn parse(line: &str) -> Self {
        let running_text = Written {
            level: None,
            text: line.into(),
        };
        let marks = line.bytes().take_while(|&byte| byte == b'#').count();
        let rest = &line[marks..];
        if !(1..=6).contains(&marks) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return running_text;
        }
        let unclosed = rest.trim_end_matches('#');
        let closed = unclosed.ends_with([' ', '\t']) || unclosed.is_empty();
        let text = if closed { unclosed } else { rest };
        Written {
            level: Some(marks as u8),
            text: text.trim().into(),
        }
    }

    /// Returns the line in its plainest form.
    fn line(&self) -> String {
        match self.level {
            Some(level) => format!("{} {}", "#".repeat(level.into()), self.text)
                .trim_end()
                .into(),
            None => self.text.clone(),
        }
    }
}

/// Returns a heading's line without the white space around it; a setext heading's lines as one, without the underline.
fn as_written(section: &Section, text: &str) -> String {
    let heading = text[section.heading.clone()].trim();
    match heading.rsplit_once(['\n', '\r']) {
        Some((lines, _underline)) => squash(lines),
        None => heading.into(),
    }
}

fn advice(target: &str, nearest: &[Candidate]) -> String {
    if target.trim().is_empty() {
        return "name a heading by its line, its text or its slug".into();
    }
    match nearest {
        [] => "no heading is like it".into(),
        _ => format!("did you mean {}?", listed(nearest)),
    }
}

fn listed(candidates: &[Candidate]) -> String {
    let shown: Vec<String> = candidates.iter().take(SHOWN).map(Candidate::to_string).collect();
    match candidates.len() - shown.len() {
        0 => shown.join(" or "),
        more => format!("{} or {more} more", shown.join(", ")),
    }
}
