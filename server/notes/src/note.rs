//! A note, parsed from a document's path and bytes.

use std::{collections::HashSet, ops::Range};

use tabellion_markdown::{Flavor, Outline};
use uuid::Uuid;

use crate::{Metadata, Problem, derived_id, front_matter, is_named_for, tag};

/// Maximum characters of a title.
pub const MAX_TITLE_CHARS: usize = 200;

/// A note. Every Markdown document is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Path of its document.
    pub path: String,
    /// Its front matter; the default if that can't be read.
    pub metadata: Metadata,
    /// Title in the front matter, or else the heading that the text begins with; or else, if a tool has named the file, [`title_of`] the
    /// content, and otherwise the file's name without its extension. At most [`MAX_TITLE_CHARS`].
    pub title: String,
    /// Problems found in the file.
    pub problems: Vec<Problem>,
    pub(crate) text: String,
    pub(crate) outline: Outline,
}

impl Note {
    /// Reads a document. Any bytes are a note.
    pub fn parse(path: &str, bytes: &[u8]) -> Self {
        let mut problems = vec![];
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                problems.push(Problem::NotUtf8);
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        let outline = Outline::parse(&text, Flavor::of_path(path));
        let (metadata, wrong) = front_matter::read(&text, outline.front_matter().end);
        problems.extend(wrong);
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let body = &text[outline.front_matter().end..];
        let is_made = metadata.id.is_some_and(|id| is_named_for(path, id));
        let otherwise = || if is_made { line_as_title(&metadata, body) } else { stem.to_owned() };
        let title = title(&metadata, &outline, otherwise);
        Self { path: path.into(), metadata, title, problems, text, outline }
    }

    /// Returns the id in the file, or else the one derived from its path.
    ///
    /// Several files may claim one id. [`Catalogue`](crate::Catalogue) decides which of them owns it.
    pub fn id(&self) -> Uuid {
        self.metadata.id.unwrap_or_else(|| derived_id(&self.path))
    }

    /// Returns its tags: those of the front matter, and those in the text. Of several spellings that a filter takes for one tag, the first.
    pub fn tags(&self) -> Vec<String> {
        let mut keys = HashSet::new();
        let in_text = tag::in_text(self.content(), Flavor::of_path(&self.path));
        let all = self.metadata.tags.iter().cloned().chain(in_text);
        all.filter(|tag| keys.insert(tag::key(tag))).collect()
    }

    /// Returns the content: the text below the front matter, or the whole text if the front matter can't be read.
    pub fn content(&self) -> &str {
        &self.text[self.content_range()]
    }

    /// Returns the number of front matter bytes in a document of `length` bytes.
    pub(crate) fn front_matter_bytes(&self, length: usize) -> usize {
        // In a file that is not UTF-8, positions in the text differ from those in the bytes.
        let is_text = !self.problems.contains(&Problem::NotUtf8);
        if is_text { self.content_range().start.min(length) } else { 0 }
    }

    pub(crate) fn content_range(&self) -> Range<usize> {
        let start = if self.is_front_matter_read() { self.outline.front_matter().end } else { 0 };
        start..self.text.len()
    }

    /// Returns false if there is front matter that can't be read.
    pub(crate) fn is_front_matter_read(&self) -> bool {
        !self.problems.iter().any(|problem| matches!(problem, Problem::FrontMatter { .. }))
    }
}

fn title(metadata: &Metadata, outline: &Outline, otherwise: impl FnOnce() -> String) -> String {
    let written = metadata.title.clone().filter(|title| !is_blank(title));
    one_line(&written.or_else(|| heading(outline)).unwrap_or_else(otherwise))
}

/// Returns the title of a note whose file has no name yet: as of a note, or else its first line; `note` if it is sensitive, since titles are
/// for all.
pub fn title_of(metadata: &Metadata, content: &str) -> String {
    let outline = Outline::parse(content, Flavor::of_path("note.md"));
    title(metadata, &outline, || line_as_title(metadata, content))
}

fn heading(outline: &Outline) -> Option<String> {
    let section = outline.opening_section()?;
    Some(section.text.clone()).filter(|text| !is_blank(text))
}

/// Returns the first line with a letter or digit, without marks of lists and quotes; `note` if there is none, or the note is sensitive.
fn line_as_title(metadata: &Metadata, content: &str) -> String {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '>' | '-' | '*' | '+');
    let line = content.lines().find(|line| line.contains(char::is_alphanumeric));
    let line = line.filter(|_| !metadata.sensitive);
    line.map_or("note", |line| line.trim_start_matches(is_mark)).to_owned()
}

fn one_line(title: &str) -> String {
    let title = title.replace(char::is_control, " ");
    title.trim().chars().take(MAX_TITLE_CHARS).collect()
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control())
}
