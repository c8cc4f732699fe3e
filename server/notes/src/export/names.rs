//! Names of notes in an archive.
//!
//! Files named by people keep their folders and names. A name that some system can't unpack is replaced by one that all can, and that
//! no file has.

use std::{
    collections::{HashMap, HashSet},
    iter,
};

use tabellion_library::path::LibraryPath;
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

use crate::{Entry, identity::is_named_for};

/// Maximum bytes of a name made of a title, without its number and extension.
const MAX_TITLE_BYTES: usize = 200;
/// Characters that file systems refuse in names.
const REFUSED: [char; 9] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|'];
/// Characters that Obsidian refuses in links.
const REFUSED_IN_LINKS: [char; 5] = ['#', '^', '[', ']', '%'];

/// Unique paths in an archive by note; names that differ only in case count as equal.
#[derive(Default)]
pub(super) struct Names {
    paths: HashMap<Uuid, String>,
    taken: HashSet<String>,
    /// Number of files by the last part of their path, folded.
    leaves: HashMap<String, usize>,
}

impl Names {
    /// Returns the paths that the notes have in the library.
    pub(super) fn as_in_library(entries: &[Entry]) -> Self {
        let mut names = Self::default();
        names.add_all(entries, portable_path);
        names
    }

    /// Adds notes with the names that they wish. Those that keep their paths come before those that get others.
    fn add_all<'e>(&mut self, entries: impl IntoIterator<Item = &'e Entry>, wish: impl Fn(&str) -> String) {
        let wishes = entries.into_iter().map(|entry| (entry, wish(&entry.path)));
        let (kept, renamed): (Vec<_>, Vec<_>) = wishes.partition(|(entry, wish)| entry.path == *wish);
        for (entry, wish) in kept.into_iter().chain(renamed) {
            self.add(entry.id, &wish);
        }
    }

    /// Returns the paths in a vault. A file with a name made by a tool is named by its title, unless a note mentions that name.
    pub(super) fn in_vault(entries: &[Entry], mentioned: &HashSet<Uuid>) -> Self {
        let is_made = |entry: &&Entry| is_named_for(&entry.path, entry.id) && !mentioned.contains(&entry.id);
        let (made, others): (Vec<_>, Vec<_>) = entries.iter().partition(is_made);
        let mut names = Self::default();
        names.add_all(others, |path| {
            let path = portable_path(path);
            let stem = path.rsplit_once('.').map_or(&*path, |(stem, _)| stem);
            format!("{stem}.md")
        });
        for entry in made {
            names.add(entry.id, &format!("{}.md", from_title(&entry.title)));
        }
        names
    }

    /// Adds a note with this path; if it is taken, adds a number.
    fn add(&mut self, id: Uuid, path: &str) {
        let (stem, extension) = path.rsplit_once('.').unwrap_or((path, ""));
        let numbered = (2..).map(|number| format!("{stem} ({number}).{extension}"));
        let free =
            iter::once(path.to_owned()).chain(numbered).find(|path| self.taken.insert(path.to_lowercase()));
        if let Some(path) = free {
            *self.leaves.entry(leaf(&path).to_lowercase()).or_default() += 1;
            self.paths.insert(id, path);
        }
    }

    /// Returns a note's path.
    pub(super) fn path(&self, id: Uuid) -> &str {
        self.paths.get(&id).map_or("", String::as_str)
    }

    /// Returns the target of a wiki link to a note: the name of its file, with the folder if several have that name.
    pub(super) fn wiki_link(&self, id: Uuid) -> &str {
        let path = self.path(id);
        let name = leaf(path);
        let is_only = self.leaves.get(&name.to_lowercase()) == Some(&1);
        let target = if is_only { name } else { path };
        target.trim_end_matches(".md")
    }
}

/// Returns true if a wiki link can have this target.
pub(super) fn is_linkable(target: &str) -> bool {
    !target.contains(REFUSED_IN_LINKS)
}

/// Returns the last part of a path.
pub(super) fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn portable_path(path: &str) -> String {
    path.split('/').map(portable).collect::<Vec<_>>().join("/")
}

/// Returns a name that all systems can unpack: composed, without refused characters, and not the name of a device.
fn portable(name: &str) -> String {
    let composed: String = name.nfc().collect();
    let permitted = composed.replace(|c: char| REFUSED.contains(&c) || c.is_control(), "_");
    let name = permitted.trim_end_matches(['.', ' ']);
    let is_portable = LibraryPath::of_any_file(name).is_ok_and(|path| path.check_new(0).is_ok());
    if is_portable { name.to_owned() } else { format!("_{name}") }
}

fn from_title(title: &str) -> String {
    let is_refused = |c: char| REFUSED.contains(&c) || REFUSED_IN_LINKS.contains(&c) || c.is_control();
    let permitted = title.replace(is_refused, " ");
    let name = permitted.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = &name[..name.floor_char_boundary(MAX_TITLE_BYTES)];
    let name = name.trim_matches(['.', ' ']);
    if name.is_empty() { "Untitled".into() } else { portable(name) }
}
