//! Links in the text of notes, rewritten where an export has other names for files.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use tabellion_markdown::{Flavor, LinkTarget, link_targets};
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

use super::names::{Names, is_linkable, leaf};
use crate::{Entry, Note};

/// The paths in the library and those in an export.
pub(super) struct Links<'n> {
    names: &'n Names,
    old: Places,
    new: Places,
    is_any_moved: bool,
}

/// Notes by their paths.
#[derive(Default)]
struct Places {
    /// By path, and by its composed form unless that is another note's.
    by_path: HashMap<String, Uuid>,
    /// Paths by the name without extension, composed and in lower case.
    by_name: HashMap<String, Vec<String>>,
}

impl<'n> Links<'n> {
    pub(super) fn new(names: &'n Names, entries: &[Entry]) -> Self {
        Self {
            names,
            old: Places::new(entries.iter().map(|entry| (&*entry.path, entry.id))),
            new: Places::new(entries.iter().map(|entry| (names.path(entry.id), entry.id))),
            is_any_moved: entries.iter().any(|entry| names.path(entry.id) != entry.path),
        }
    }

    /// Returns a part of a note's text in which its links lead where they led in the library.
    pub(super) fn rewrite<'t>(&self, entry: &Entry, note: &'t Note, range: Range<usize>) -> Cow<'t, str> {
        let front_matter = wiki_targets(&note.text[note.outline.front_matter()]);
        let targets = front_matter.chain(link_targets(&note.text, Flavor::of_path(&entry.path)));
        self.replace(entry, &note.text, range, targets)
    }

    /// Returns front matter of a note in which its wiki links lead where they led in the library.
    pub(super) fn rewrite_front_matter<'t>(&self, entry: &Entry, text: &'t str) -> Cow<'t, str> {
        self.replace(entry, text, 0..text.len(), wiki_targets(text))
    }

    fn replace<'t>(
        &self,
        entry: &Entry,
        text: &'t str,
        range: Range<usize>,
        targets: impl Iterator<Item = LinkTarget>,
    ) -> Cow<'t, str> {
        if !self.is_any_moved {
            return text[range].into();
        }
        let mut rewritten = String::new();
        let mut at = range.start;
        for target in targets {
            let written = &text[target.range.clone()];
            let is_of_part = |c: char| c == '#' || (c == '?' && !target.is_wiki);
            let (link, part) = written.split_at(written.find(is_of_part).unwrap_or(written.len()));
            let is_bracketed = text[..target.range.start].ends_with('<');
            let other = if target.is_wiki {
                self.wiki(entry, link)
            } else {
                self.relative(entry, link).map(|path| encoded(&path, is_bracketed))
            };
            if let Some(other) = other.filter(|_| target.range.start >= at) {
                rewritten.extend([&text[at..target.range.start], &other, part]);
                at = target.range.end;
            }
        }
        rewritten.push_str(&text[at..range.end]);
        rewritten.into()
    }

    /// Returns a link from the text of a note to another.
    pub(super) fn link(&self, from: Uuid, to: Uuid) -> String {
        let [from, path] = [from, to].map(|id| self.names.path(id));
        let target = self.names.wiki_link(to);
        if is_linkable(target) {
            return format!("[[{target}]]");
        }
        let text = leaf(target).replace('[', "\\[").replace(']', "\\]");
        format!("[{text}]({})", encoded(&relative_path(folder(from), path), false))
    }

    /// Returns the new target of a wiki link; `None` if it stays.
    fn wiki(&self, entry: &Entry, link: &str) -> Option<String> {
        let link = link.trim();
        let (old_folder, new_folder) = (folder(&entry.path), folder(self.names.path(entry.id)));
        let Some((_, id)) = self.old.find(old_folder, link) else {
            // An attachment beside a note that is moved.
            let is_kept = !is_relative(link) || old_folder == new_folder;
            return if is_kept { None } else { join(old_folder, link) };
        };
        let is_kept =
            composed(link) == link && self.new.find(new_folder, link).is_some_and(|(_, to)| to == id);
        let is_path = link.contains('/');
        let target = || if is_path { stem(self.names.path(id)) } else { self.names.wiki_link(id) };
        (!is_kept).then(|| target().to_owned())
    }

    /// Returns the new path of a link, from the folder of the note's new path; `None` if it stays.
    fn relative(&self, entry: &Entry, link: &str) -> Option<String> {
        let is_elsewhere = link.split('/').next().is_some_and(|first| first.contains(':'));
        if link.is_empty() || is_elsewhere {
            return None;
        }
        let link = decoded(link);
        let new_folder = folder(self.names.path(entry.id));
        let old = join(folder(&entry.path), &link)?;
        // Obsidian's links may begin at the root.
        let found = self.old.find_by_path(&old);
        let found = found.or_else(|| self.old.find_by_path(link.trim_start_matches('/')));
        let new = found.map_or(old.as_str(), |(_, id)| self.names.path(id));
        let is_kept = found.is_none_or(|(path, _)| path == new && composed(&link) == link)
            && new_folder == folder(&entry.path);
        (!is_kept)
            .then(|| if link.starts_with('/') { format!("/{new}") } else { relative_path(new_folder, new) })
    }
}

impl Places {
    fn new<'e>(notes: impl Iterator<Item = (&'e str, Uuid)> + Clone) -> Self {
        let mut places = Self::default();
        for (path, id) in notes.clone() {
            let name = composed(leaf(stem(path))).to_lowercase();
            places.by_name.entry(name).or_default().push(path.to_owned());
            places.by_path.insert(path.to_owned(), id);
        }
        for (path, id) in notes {
            places.by_path.entry(composed(path)).or_insert(id);
        }
        places
    }

    /// Returns the path and the id of the note that a wiki link in a folder leads to.
    fn find(&self, folder: &str, link: &str) -> Option<(&str, Uuid)> {
        if is_relative(link) {
            return self.find_by_path(&join(folder, link)?);
        }
        let link = link.trim_start_matches('/');
        self.find_by_path(link).or_else(|| self.find_by_name(link))
    }

    /// Returns the path and the id of a note, for a path with or without the extension.
    fn find_by_path(&self, path: &str) -> Option<(&str, Uuid)> {
        let paths = [path.to_owned(), format!("{path}.md")];
        let known = |path: &String| self.by_path.get_key_value(path);
        let found = paths.iter().find_map(|path| known(path).or_else(|| known(&composed(path))))?;
        Some((found.0, *found.1))
    }

    /// Returns the path and the id of the note that a wiki link names by the end of its path, in any case: the shortest, then the first.
    fn find_by_name(&self, link: &str) -> Option<(&str, Uuid)> {
        let link = composed(link).to_lowercase();
        let link = link.strip_suffix(".md").unwrap_or(&link);
        let paths = self.by_name.get(leaf(link))?.iter();
        let is_named = |path: &&String| {
            format!("/{}", composed(stem(path)).to_lowercase()).ends_with(&format!("/{link}"))
        };
        let path = paths.filter(is_named).min_by_key(|path| (path.len(), path.as_str()))?;
        Some((path, self.by_path[path]))
    }
}

/// Finds the wiki links in front matter, whose values are no Markdown.
fn wiki_targets(text: &str) -> impl Iterator<Item = LinkTarget> {
    text.match_indices("[[").filter_map(|(at, mark)| {
        let start = at + mark.len();
        let length = text[start..].find(['|', ']', '\n'])?;
        Some(LinkTarget { range: start..start + length, is_wiki: true })
    })
}

fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// Returns true for a link from the folder of its note.
fn is_relative(link: &str) -> bool {
    link.starts_with("../") || link.starts_with("./")
}

/// Returns a path without its extension.
fn stem(path: &str) -> &str {
    path.rsplit_once('.').filter(|(_, extension)| !extension.contains('/')).map_or(path, |(stem, _)| stem)
}

/// Returns the folder of a path; the empty string for the root.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the path that `link` has from a folder; `None` if it is outside of the library.
fn join(folder: &str, link: &str) -> Option<String> {
    let begin = if link.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = vec![];
    for part in begin.split('/').chain(link.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the link that a path has from a folder.
fn relative_path(folder: &str, path: &str) -> String {
    let mut above: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let mut below: Vec<&str> = path.split('/').collect();
    while below.len() > 1 && above.first() == below.first() {
        above.remove(0);
        below.remove(0);
    }
    above.iter().map(|_| "..").chain(below).collect::<Vec<_>>().join("/")
}

/// Decodes `%20` and the like.
fn decoded(link: &str) -> Cow<'_, str> {
    let Some((start, rest)) = link.split_once('%') else { return link.into() };
    let mut bytes = start.as_bytes().to_vec();
    for part in rest.split('%') {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (byte, kept) = code.map_or((b'%', part), |byte| (byte, &part[2..]));
        bytes.push(byte);
        bytes.extend(kept.as_bytes());
    }
    String::from_utf8(bytes).map_or(link.into(), Cow::from)
}

/// Encodes characters that end a path in a link.
fn encoded(path: &str, is_bracketed: bool) -> String {
    let ends = |c: char| {
        matches!(c, '%' | '#' | '?' | '"' | '\'') || (!is_bracketed && matches!(c, ' ' | '(' | ')'))
    };
    let encode = |c: char| if ends(c) { format!("%{:02X}", u32::from(c)) } else { c.into() };
    path.chars().map(encode).collect()
}
