//! Files of a folder: the choice of those to index, and their blocks.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source::{Origin, Source};
use crate::mutant::{Mutant, is};

/// Maximum depth of nested folders.
const MAX_DEPTH: usize = 20;

/// An indexed text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) branch: Option<String>,
    /// Id of the blob, or of the commit.
    pub(super) blob: String,
    pub(super) is_commit: bool,
    size: usize,
    pub(super) chunks: Vec<Chunk>,
}

/// Lines of a file that belong together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Chunk {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) symbol: Option<String>,
    pub(super) content: String,
}

impl File {
    pub(super) fn new(source: &Source, text: &str) -> Self {
        let is_commit = matches!(source.origin, Origin::Message { .. });
        Self {
            path: source.path.clone(),
            branch: source.branch.clone(),
            blob: source.id(text),
            is_commit,
            size: text.len(),
            chunks: if is_commit {
                vec![whole(text)]
            } else {
                chunks(text)
            },
        }
    }

    /// Returns true if it is indexed with this content.
    pub(super) fn is_of(&self, source: &Source, text: &str) -> bool {
        if is(Mutant::SkipsSameSize) {
            return self.size == text.len();
        }
        self.blob == source.id(text)
    }
}

/// Returns a text as one chunk.
fn whole(text: &str) -> Chunk {
    Chunk {
        start: 1,
        end: text.lines().count().max(1),
        symbol: None,
        content: text.to_owned(),
    }
}

/// Returns the blocks of a text, each with the empty lines after it.
fn chunks(text: &str) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut was_blank = true;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let is_blank = line.trim().is_empty();
        match chunks.last_mut() {
            Some(chunk) if is_blank || !was_blank => {
                chunk.end = number;
                chunk.content += line;
            }
            _ => chunks.push(Chunk {
                start: number,
                end: number,
                symbol: None,
                content: line.to_owned(),
            }),
        }
        was_blank = is_blank;
    }
    for chunk in &mut chunks {
        chunk.symbol = chunk.content.lines().find_map(function).map(str::to_owned);
    }
    chunks
}

/// Returns the name of the function that a line defines.
pub(super) fn function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let before = ["fn ", "def ", "function ", "func "];
    let rest = before.iter().find_map(|word| line.strip_prefix(word))?;
    let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_')?;
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// Returns the name of a file's language.
pub(super) fn language(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("rs") => "rust",
        Some("py") => "python",
        Some("js") => "javascript",
        Some("go") => "go",
        Some("md") => "markdown",
        _ => "text",
    }
}

/// Returns the files that a request takes, by their paths in the folder.
pub(super) fn taken(workspace: Option<&Path>, folder: &Path, request: &Value) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let walk = Walk { workspace, request };
    walk.folder(folder, "", 0, &mut found);
    found
}

/// Returns true if a request takes a path of a tree.
pub(super) fn takes(request: &Value, path: &str) -> bool {
    let walk = Walk {
        workspace: None,
        request,
    };
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let above = folders
        .match_indices('/')
        .map(|(at, _)| &folders[..at])
        .chain([folders]);
    let mut above = above.filter(|folder| !folder.is_empty());
    let is_left_out = |folder: &str| {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        walk.has("exclude_dirs", name) || walk.is_ignored(folder, true)
    };
    walk.takes(path, name) && !above.any(is_left_out)
}

struct Walk<'w> {
    workspace: Option<&'w Path>,
    request: &'w Value,
}

impl Walk<'_> {
    fn folder(&self, folder: &Path, above: &str, depth: usize, found: &mut BTreeMap<String, PathBuf>) {
        if depth > MAX_DEPTH {
            return;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if above.is_empty() {
                name.clone()
            } else {
                format!("{above}/{name}")
            };
            let place = entry.path();
            if name == ".git" || place.is_symlink() && !self.follows(&place) {
                continue;
            }
            if place.is_dir() {
                if !self.has("exclude_dirs", &name) && !self.is_ignored(&path, true) {
                    self.folder(&place, &path, depth + 1, found);
                }
            } else if self.takes(&path, &name) {
                found.insert(path, place);
            }
        }
    }

    /// Returns true if a link is followed: only if requested, and only inside of the workspace.
    fn follows(&self, link: &Path) -> bool {
        let is_inside = || {
            let target = link.canonicalize().ok();
            let both = target.zip(self.workspace);
            both.is_some_and(|(target, workspace)| target.starts_with(workspace))
        };
        self.request["follow_symlinks"] == true && (is(Mutant::FollowsLinksOut) || is_inside())
    }

    fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let all = self.request[name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str)
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.texts(name).any(|it| it == value)
    }

    fn takes(&self, path: &str, name: &str) -> bool {
        let extension = name.rsplit('.').next().unwrap_or_default();
        let mut extensions = self.texts("extensions").peekable();
        (extensions.peek().is_none() || extensions.any(|it| it.trim_start_matches('.') == extension))
            && !self.is_ignored(path, false)
    }

    /// Returns true if one of the patterns fits: `/folder/`, `*.extension` or `name.*`.
    fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        self.texts("ignore_patterns").any(|pattern| {
            if let Some(folder) = pattern.strip_prefix('/').and_then(|it| it.strip_suffix('/')) {
                return is_folder && path == folder;
            }
            let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
            name.starts_with(before) && name.ends_with(after)
        })
    }
}
