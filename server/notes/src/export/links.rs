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
    /// Notes by their path in the library, and by its composed form unless that is another note's.
    by_path: HashMap<String, Uuid>,
    /// Paths in the library by the name without extension, composed and in lower case.
    by_name: HashMap<String, Vec<String>>,
    is_any_moved: bool,
}

impl<'n> Links<'n> {
    pub(super) fn new(names: &'n Names, entries: &[Entry]) -> Self {
        let mut links = Self {
            names,
            by_path: HashMap::new(),
            by_name: HashMap::new(),
            is_any_moved: entries.iter().any(|entry| names.path(entry.id) != entry.path),
        };
        for entry in entries {
            let name = composed(leaf(stem(&entry.path))).to_lowercase();
            links.by_name.entry(name).or_default().push(entry.path.clone());
            links.by_path.insert(entry.path.clone(), entry.id);
        }
        for entry in entries {
            links.by_path.entry(composed(&entry.path)).or_insert(entry.id);
        }
        links
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
        let is_path = link.contains('/');
        let path = if link.starts_with("../") || link.starts_with("./") {
            self.find_by_path(&join(folder(&entry.path), link)?)
        } else {
            self.find_by_path(link).or_else(|| self.find_by_name(link))
        }?;
        let id = self.by_path[path];
        let (old, new) = (stem(path), stem(self.names.path(id)));
        let is_kept = composed(link) == link && if is_path { old == new } else { leaf(old) == leaf(new) };
        (!is_kept).then(|| if is_path { new.to_owned() } else { self.names.wiki_link(id).to_owned() })
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
        let found = self.find_by_path(&old).or_else(|| self.find_by_path(link.trim_start_matches('/')));
        let new = found.map_or(old.as_str(), |path| self.names.path(self.by_path[path]));
        let is_kept = found.is_none_or(|path| path == new && composed(&link) == link)
            && new_folder == folder(&entry.path);
        (!is_kept)
            .then(|| if link.starts_with('/') { format!("/{new}") } else { relative_path(new_folder, new) })
    }

    /// Returns the path of a note, for a path with or without the extension.
    fn find_by_path(&self, path: &str) -> Option<&str> {
        let paths = [path.to_owned(), format!("{path}.md")];
        let known = |path: &String| self.by_path.get_key_value(path);
        let found = paths.iter().find_map(|path| known(path).or_else(|| known(&composed(path))))?;
        Some(found.0)
    }

    /// Returns the path of the note that a wiki link names by the end of its path, in any case: the shortest, then the first.
    fn find_by_name(&self, link: &str) -> Option<&str> {
        let link = composed(link).to_lowercase();
        let link = link.strip_suffix(".md").unwrap_or(&link);
        let paths = self.by_name.get(leaf(link))?.iter();
        let is_named = |path: &&String| {
            format!("/{}", composed(stem(path)).to_lowercase()).ends_with(&format!("/{link}"))
        };
        paths.filter(is_named).min_by_key(|path| (path.len(), path.as_str())).map(String::as_str)
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
    let ends = |c: char| matches!(c, '%' | '#' | '?') || (!is_bracketed && matches!(c, ' ' | '(' | ')'));
    let encode = |c: char| if ends(c) { format!("%{:02X}", u32::from(c)) } else { c.into() };
    path.chars().map(encode).collect()
}
