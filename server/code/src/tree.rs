//! What can be indexed: the files of a folder, or anything that lists and reads texts.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use ignore::{WalkBuilder, gitignore::GitignoreBuilder};

use crate::CodeError;

/// Folders that hold what was made or fetched, not written; skipped unless they are named.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The branch that it is of; empty where there are none.
    pub branch: String,
    /// Its path from the tree's root, with `/`.
    pub path: String,
    /// SHA-1 of its blob, where it is known without reading the file.
    pub blob: Option<[u8; 20]>,
}

/// Files to be indexed.
pub trait Tree: Sync {
    /// Lists the files.
    ///
    /// # Errors
    /// If they can't be listed, so that none is taken for removed.
    fn entries(&self) -> Result<Vec<Entry>, CodeError>;

    /// Reads a file.
    ///
    /// # Errors
    /// If it can't be read: it counts as failed, and is not indexed.
    fn read(&self, entry: &Entry) -> io::Result<Vec<u8>>;
}

/// Which files of a folder are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Extensions, with or without the dot; without any, all files are taken.
    pub extensions: Vec<String>,
    /// Names of folders that are left out.
    pub exclude_dirs: Vec<String>,
    /// Lines as in `.gitignore`.
    pub ignore_patterns: Vec<String>,
    /// Bytes of a file, at most; larger ones fail.
    pub max_file_size: u64,
    /// Whether links to folders and files are followed, as far as they lead to what is in the folder.
    pub follow_symlinks: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            extensions: vec![],
            exclude_dirs: vec![],
            ignore_patterns: vec![],
            max_file_size: 1 << 20,
            follow_symlinks: false,
        }
    }
}

impl Selection {
    /// Returns whether a path's extension and folders are wanted. Ignore rules are for those who walk.
    pub fn wants(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = Path::new(name)
            .extension()
            .and_then(|extension| extension.to_str());
        let wanted = |given: &String| Some(given.trim_start_matches('.')) == extension;
        let mut folders = path.split('/').rev().skip(1);
        (self.extensions.is_empty() || self.extensions.iter().any(wanted))
            && !folders.any(|folder| self.exclude_dirs.iter().any(|left_out| left_out == folder))
    }

    /// Returns a function that says whether a file is ignored by the given lines.
    ///
    /// # Errors
    /// If a line is no pattern.
    pub fn ignores(&self, root: &Path) -> Result<impl Fn(&str) -> bool + use<>, CodeError> {
        let mut builder = GitignoreBuilder::new(root);
        for line in &self.ignore_patterns {
            let added = builder.add_line(None, line);
            added.map_err(|error| CodeError::Filter(format!("`{line}` is no pattern: {error}")))?;
        }
        let built = builder.build();
        let rules = built.map_err(|error| CodeError::Filter(error.to_string()))?;
        let root = root.to_owned();
        Ok(move |path: &str| {
            rules
                .matched_path_or_any_parents(root.join(path), false)
                .is_ignore()
        })
    }
}

/// The files of a folder that its ignore rules let through.
pub struct Folder {
    root: PathBuf,
    selection: Selection,
}

impl Folder {
    /// Makes a tree of a folder. `root` is without links.
    pub fn new(root: impl Into<PathBuf>, selection: Selection) -> Self {
        Self {
            root: root.into(),
            selection,
        }
    }
}

impl Tree for Folder {
    fn entries(&self) -> Result<Vec<Entry>, CodeError> {
        std::fs::read_dir(&self.root).map_err(CodeError::at(&self.root))?;
        let ignored = self.selection.ignores(&self.root)?;
        let left_out = self.selection.exclude_dirs.clone();
        let mut walk = WalkBuilder::new(&self.root);
        walk.hidden(false)
            .require_git(false)
            .follow_links(self.selection.follow_symlinks)
            .filter_entry(move |entry| {
                let name = entry.file_name().to_string_lossy();
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let skipped = SKIPPED.contains(&&*name) || left_out.iter().any(|folder| *folder == name);
                // The root is taken by whatever name.
                entry.depth() == 0 || name != ".git" && !(is_folder && skipped)
            });
        let mut entries = vec![];
        for entry in walk.build() {
            // A folder that can't be listed is left out; the rest is taken.
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let Ok(path) = entry.path().strip_prefix(&self.root) else {
                continue;
            };
            let Some(path) = path.to_str() else { continue };
            let path = path.replace(std::path::MAIN_SEPARATOR, "/");
            if self.selection.wants(&path) && !ignored(&path) {
                entries.push(Entry {
                    branch: String::new(),
                    path,
                    blob: None,
                });
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    fn read(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let path = self.root.join(&entry.path);
        // A link that was followed may lead anywhere; what is outside is not read.
        if self.selection.follow_symlinks && !path.canonicalize()?.starts_with(&self.root) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is outside of the folder",
            ));
        }
        let file = File::open(&path)?;
        let limit = self.selection.max_file_size;
        let mut bytes = Vec::with_capacity(file.metadata()?.len().min(limit) as usize);
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it has more than {limit} bytes"),
            ));
        }
        Ok(bytes)
    }
}
