//! Finds the section that a caller's target names, or returns the candidates.
//!
//! Editing the first of several matches corrupts notes, so a target that matches two headings is refused and both are listed. A
//! target is compared with lines, then with texts, then with both without an id (`{#setup}`), then with texts in any case, then with
//! slugs and ids; the first of these that matches any heading decides. If none does, they are compared in Unicode's normal form C.

use std::{borrow::Cow, fmt};

use super::lines::{composed, join_lines};
use super::section::Section;
use super::{display, nearest};

/// Upper bound of the headings that an error message lists; the error itself contains all of them.
const MAX_LISTED: usize = 10;

/// A target does not name exactly one section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No heading matches.
    #[error("section \"{}\" not found; {}", display::one_line(target), advice(target, nearest, headings))]
    NotFound {
        /// The target as given.
        target: String,
        /// Similar headings, the most similar first, at most five.
        nearest: Vec<Candidate>,
        /// All headings in their order, if none is similar.
        headings: Vec<Candidate>,
    },
    /// More than one heading matches.
    #[error(
        "section \"{}\" names {} headings; say which by its slug: {}",
        display::one_line(target),
        candidates.len(),
        listed(candidates)
    )]
    Ambiguous {
        /// The target as given.
        target: String,
        /// The matching headings, in their order.
        candidates: Vec<Candidate>,
    },
}

/// A heading that the caller may have meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The heading's first line, counted from 1.
    pub line: usize,
    /// The heading's line as written; a setext heading's without the underline.
    pub heading: String,
    /// The heading's slug, unique in the document.
    pub slug: String,
}

impl Candidate {
    fn new(section: &Section, text: &str) -> Self {
        Candidate { line: section.line, heading: as_written(section, text), slug: section.slug.clone() }
    }
}

impl fmt::Display for Candidate {
    /// Writes `"## Scope" (line 12, #scope)`, always on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (heading, slug) = (display::one_line(&self.heading), display::one_line(&self.slug));
        write!(f, "\"{heading}\" (line {}, #{slug})", self.line)
    }
}

/// Returns the section that `target` names among those of `text`; see [`super::Outline::find`].
pub(super) fn find<'s>(
    sections: &'s [Section],
    text: &str,
    target: &str,
) -> Result<&'s Section, TargetError> {
    if join_lines(target).is_empty() {
        return Err(TargetError::NotFound { target: target.into(), nearest: vec![], headings: vec![] });
    }
    // Letters with accents are written in two ways, which look alike.
    let forms: [fn(&str) -> Cow<'_, str>; 2] = [|text| text.into(), composed];
    for form in forms {
        match &named(sections, text, target, form)[..] {
            [] => {}
            [section] => return Ok(section),
            several => {
                let candidates = several.iter().map(|section| Candidate::new(section, text));
                return Err(TargetError::Ambiguous {
                    target: target.into(),
                    candidates: candidates.collect(),
                });
            }
        }
    }
    let candidate = |section| Candidate::new(section, text);
    let nearest = nearest::sections(sections, &HeadingLine::parse(&join_lines(target)).text);
    let all = sections.iter().filter(|_| nearest.is_empty());
    Err(TargetError::NotFound {
        target: target.into(),
        headings: all.map(candidate).collect(),
        nearest: nearest.into_iter().map(candidate).collect(),
    })
}

/// Returns the sections that `target` names, if all texts are compared in `form`.
fn named<'s>(
    sections: &'s [Section],
    text: &str,
    target: &str,
    form: impl Fn(&str) -> Cow<'_, str>,
) -> Vec<&'s Section> {
    let joined = join_lines(&form(target));
    let wanted = HeadingLine::parse(&joined);
    let line = wanted.line();
    let is_written = |section: &Section| join_lines(&form(&text[section.heading.clone()])) == joined;
    let is_line = |section: &Section| {
        wanted.level.is_some() && HeadingLine::from_section(section, text).in_form(&form) == wanted
    };
    let is_text = |section: &Section| {
        let seen = form(section.text.trim());
        seen == line || seen == joined || HeadingLine::from_section(section, text).in_form(&form).text == line
    };
    let is_without_id = |section: &Section| {
        let mut heading = HeadingLine::from_section(section, text).in_form(&form);
        let Some((without_id, _)) = split_id(&heading.text) else { return false };
        heading.text = without_id.into();
        heading == wanted || heading.text == line
    };
    // A word in lower case is more than a slug: it may be the text of two headings, of which the slug would name one.
    let is_in_any_case = |section: &Section| {
        let text = section.text.trim();
        let (without_id, _) = split_id(text).unwrap_or((text, ""));
        [text, without_id].iter().any(|text| form(text).to_lowercase() == line.to_lowercase())
    };
    let anchor = line.strip_prefix('#').unwrap_or(&line);
    let is_anchor = |section: &Section| {
        form(&section.slug) == anchor
            || split_id(section.text.trim()).is_some_and(|(_, id)| form(id) == anchor)
    };
    let readings: [&dyn Fn(&Section) -> bool; 6] =
        [&is_written, &is_line, &is_text, &is_without_id, &is_in_any_case, &is_anchor];
    readings
        .into_iter()
        .map(|names| sections.iter().filter(|section| names(section)).collect::<Vec<_>>())
        .find(|named| !named.is_empty())
        .unwrap_or_default()
}

/// Splits `Setup {#install}`, as many site generators have it, into the text and the id.
fn split_id(text: &str) -> Option<(&str, &str)> {
    let (text, id) = text.strip_suffix('}')?.rsplit_once("{#")?;
    let is_id = !id.is_empty() && !id.contains([' ', '}']);
    is_id.then(|| (text.trim_end(), id))
}

/// A heading's line, from a file or a target, normalized: equivalent notations compare equal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadingLine {
    /// The number of opening `#`; `None` for other text, which includes setext headings.
    pub(super) level: Option<u8>,
    /// The text after them, without closing `#` and surrounding white space.
    pub(super) text: String,
}

impl HeadingLine {
    /// Returns the heading of a section of `text`.
    pub(super) fn from_section(section: &Section, text: &str) -> Self {
        let line = as_written(section, text);
        match HeadingLine::parse(&line) {
            written if written.level == Some(section.level) => written,
            _ => HeadingLine { level: None, text: line },
        }
    }

    /// Parses one line by the rules of CommonMark 0.31, section 4.2, ATX headings.
    pub(super) fn parse(line: &str) -> Self {
        let running_text = HeadingLine { level: None, text: line.into() };
        let marks = line.bytes().take_while(|&byte| byte == b'#').count();
        let rest = &line[marks..];
        if !(1..=6).contains(&marks) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return running_text;
        }
        let unclosed = rest.trim_end_matches('#');
        let closed = unclosed.ends_with([' ', '\t']) || unclosed.is_empty();
        let text = if closed { unclosed } else { rest };
        HeadingLine { level: Some(marks as u8), text: text.trim().into() }
    }

    fn in_form(mut self, form: impl Fn(&str) -> Cow<'_, str>) -> Self {
        self.text = form(&self.text).into_owned();
        self
    }

    /// Returns the line in its normal form.
    fn line(&self) -> String {
        match self.level {
            Some(level) => format!("{} {}", "#".repeat(level.into()), self.text).trim_end().into(),
            None => self.text.clone(),
        }
    }
}

/// Returns a heading's trimmed line; a setext heading's lines joined, without the underline.
fn as_written(section: &Section, text: &str) -> String {
    let heading = text[section.heading.clone()].trim();
    match heading.rsplit_once(['\n', '\r']) {
        Some((lines, _underline)) => join_lines(lines),
        None => heading.into(),
    }
}

fn advice(target: &str, nearest: &[Candidate], headings: &[Candidate]) -> String {
    if target.trim().is_empty() {
        return "name a heading by its line, its text or its slug".into();
    }
    match (nearest, headings) {
        ([], []) => "the document has no headings".into(),
        ([], headings) => format!("the headings are {}", and_listed(headings)),
        _ => format!("did you mean {}?", listed(nearest)),
    }
}

fn listed(candidates: &[Candidate]) -> String {
    let (shown, more) = shown(candidates);
    match more {
        0 => shown.join(" or "),
        more => format!("{} or {more} more", shown.join(", ")),
    }
}

fn and_listed(candidates: &[Candidate]) -> String {
    let (shown, more) = shown(candidates);
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns the candidates for a message, and the number of those left out.
fn shown(candidates: &[Candidate]) -> (Vec<String>, usize) {
    let shown = candidates.iter().take(MAX_LISTED).map(Candidate::to_string);
    let shown: Vec<_> = shown.collect();
    let more = candidates.len() - shown.len();
    (shown, more)
}
