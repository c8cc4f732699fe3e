//! Targets: how a caller names a section, and the errors if the name fits none or several.
//!
//! Taking the first match would corrupt notes, so an ambiguous name is refused with the candidates. Three readings are tried
//! in turn; the first with a match decides.

use std::fmt;

use super::lines::squash;
use super::outline::Section;
use super::{nearest, shown};

/// Upper bound of the headings in an error message; the error itself has all of them.
const MAX_SHOWN: usize = 10;

/// Why a target does not name one section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No heading has that name.
    #[error(
        "section \"{}\" not found; {}",
        shown::one_line(target),
        advice(target, nearest)
    )]
    NotFound {
        /// The target as given.
        target: String,
        /// Similar headings, the most similar first, at most five.
        nearest: Vec<Candidate>,
    },
    /// Several headings have that name.
    #[error(
        "section \"{}\" names {} headings; say which by its slug: {}",
        shown::one_line(target),
        candidates.len(),
        listed(candidates)
    )]
    Ambiguous {
        /// The target as given.
        target: String,
        /// The headings with that name, in order.
        candidates: Vec<Candidate>,
    },
}

/// A heading that may be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// First line of the heading, from 1.
    pub line: usize,
    /// The heading's line as written, without a setext underline.
    pub heading: String,
    /// Its slug, which is unique.
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
    /// Formats as `"## Scope" (line 12, #scope)`, always on one line.
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
    let wanted = HeadingLine::parse(&squash(target));
    let line = wanted.line();
    if line.is_empty() {
        return Err(TargetError::NotFound {
            target: target.into(),
            nearest: vec![],
        });
    }
    let written: Vec<HeadingLine> = sections
        .iter()
        .map(|section| HeadingLine::of(section, text))
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

/// A heading's line in a file or a target, normalized for comparison.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadingLine {
    /// Number of opening `#`; `None` for plain text, and so for a setext heading.
    pub(super) level: Option<u8>,
    /// The text without closing `#` and surrounding white space.
    pub(super) text: String,
}

impl HeadingLine {
    /// Parses the heading of a section of `text`.
    pub(super) fn of(section: &Section, text: &str) -> Self {
        let line = as_written(section, text);
        match HeadingLine::parse(&line) {
            written if written.level == Some(section.level) => written,
            _ => HeadingLine {
                level: None,
                text: line,
            },
        }
    }

    /// Parses one line by the rules for ATX headings in CommonMark 0.31, section 4.2.
    pub(super) fn parse(line: &str) -> Self {
        let running_text = HeadingLine {
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
        HeadingLine {
            level: Some(marks as u8),
            text: text.trim().into(),
        }
    }

    /// Returns the line in canonical form.
    fn line(&self) -> String {
        match self.level {
            Some(level) => format!("{} {}", "#".repeat(level.into()), self.text)
                .trim_end()
                .into(),
            None => self.text.clone(),
        }
    }
}

/// Returns a heading's line without surrounding white space; a setext heading's lines as one, without the underline.
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
    let shown: Vec<String> = candidates
        .iter()
        .take(MAX_SHOWN)
        .map(Candidate::to_string)
        .collect();
    match candidates.len() - shown.len() {
        0 => shown.join(" or "),
        more => format!("{} or {more} more", shown.join(", ")),
    }
}
