//! Lists the files of a tree made by others: without leaving it, by the ignore rules in it, within a budget.
//!
//! Ignore rules are those of the crate `ignore`: `.ignore` before `.gitignore` before `.git/info/exclude` before the user's own, each
//! kind by its nearest folder. Those above the first folder count too, as far up as the root. Every file of rules is read through
//! [`Dir::read`]; one that is a link, a pipe or too large has no rules, and [`Files::unread`] names it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use super::{Dir, Kind, OpenError, read_regular};

/// Maximum number of entries that a walk visits.
pub const MAX_WALK_ENTRIES: usize = 1_000_000;
/// Bound of the depth of folders.
pub const MAX_WALK_DEPTH: usize = 256;
/// Size limit of the ignore files that apply in one folder: its own, and those above it.
const MAX_RULES_BYTES: u64 = 1 << 20;
/// Bound of the reports in [`Files::unread`].
const MAX_UNREAD: usize = 100;

/// A walk through a tree.
pub struct Walk<'w> {
    /// The folder that no path leads out of.
    pub root: &'w Dir,
    /// The folder below it whose files are listed, with `/`; `.` for all.
    pub start: &'w str,
    /// Paths from the root, with `/`, of files and folders that are left out.
    pub without: &'w [String],
    /// Filter of entries by their names; the flag is true for a folder.
    pub takes: &'w dyn Fn(&str, bool) -> bool,
    /// True if links to targets in `start` are followed.
    pub follows_links: bool,
    /// Called for each folder; true ends the walk.
    pub cancelled: &'w dyn Fn() -> bool,
}

/// The files of a walk.
#[derive(Debug, Default)]
pub struct Files {
    /// Paths from [`Walk::start`], with `/`, sorted.
    pub paths: Vec<String>,
    /// Folders that are left out: work trees within the work tree of another repository, such as submodules, and bare repositories.
    pub repositories: Vec<String>,
    /// Files and folders that are left out since their names are not UTF-8, with U+FFFD for other bytes.
    pub not_utf8: Vec<String>,
    /// Unreadable ignore files and folders, with the errors.
    pub unread: Vec<(String, OpenError)>,
}

/// Error when listing the files of a tree.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// There are too many, or they are too deep.
    #[error("the folder has {0}; choose a part of it, or leave folders out")]
    Budget(String),
    /// The folder itself can't be opened.
    #[error("the folder can't be listed: {0}")]
    Open(#[from] OpenError),
    /// The caller no longer wants the answer.
    #[error("cancelled")]
    Cancelled,
}

/// A folder that is still to be listed.
struct Pending {
    /// Its path from `start`, as listed; empty for `start` itself.
    listed: String,
    /// Its path from the root, without links.
    real: String,
    depth: usize,
    rules: Rules,
}

impl Walk<'_> {
    /// Lists the files.
    ///
    /// # Errors
    ///
    /// If there are more than [`MAX_WALK_ENTRIES`] entries or folders deeper than [`MAX_WALK_DEPTH`], or `start` can't be opened.
    pub fn files(&self) -> Result<Files, WalkError> {
        let mut files = Files::default();
        let start = if self.start == "." { "" } else { self.start };
        let mut rules = Rules::of_user();
        let mut above = String::new();
        for segment in start.split('/').filter(|segment| !segment.is_empty()) {
            let folder = self.root.open_dir(or_dot(&above))?;
            rules = rules.enter(&folder, &above, &mut files);
            above = join(&above, segment);
        }
        let mut pending = vec![Pending { listed: String::new(), real: start.to_owned(), depth: 0, rules }];
        let mut entries = 0;
        while let Some(at) = pending.pop() {
            if (self.cancelled)() {
                return Err(WalkError::Cancelled);
            }
            if at.depth > MAX_WALK_DEPTH {
                return Err(WalkError::Budget(format!("folders nested more than {MAX_WALK_DEPTH} deep")));
            }
            let folder = match self.root.open_dir(or_dot(&at.real)) {
                Ok(folder) => folder,
                Err(error) if at.depth == 0 => return Err(error.into()),
                Err(error) => {
                    files.leave_out(at.listed, error);
                    continue;
                }
            };
            let mut names = Vec::new();
            let listed = folder.entries(|name, kind| {
                entries += 1;
                if entries <= MAX_WALK_ENTRIES {
                    names.push((name.to_string_lossy().into_owned(), kind, name.to_str().is_some()));
                }
            });
            match listed {
                Err(error) if at.depth == 0 => return Err(OpenError::from(error).into()),
                Err(error) => files.leave_out(at.listed.clone(), error.into()),
                Ok(()) => {}
            }
            if entries > MAX_WALK_ENTRIES {
                return Err(WalkError::Budget(format!("more than {MAX_WALK_ENTRIES} entries")));
            }
            let is_nested = at.depth > 0 && at.rules.are_in_repository() && is_work_tree(&folder);
            if is_nested || is_bare(&names) {
                files.repositories.push(at.listed);
                continue;
            }
            let rules = at.rules.enter(&folder, &at.real, &mut files);
            for (name, kind, is_utf8) in names {
                let listed = join(&at.listed, &name);
                let Some((real, kind)) = self.target(start, &at.real, &name, kind) else {
                    continue;
                };
                if self.without.iter().any(|path| is_in(&real, path)) {
                    continue;
                }
                let is_folder = kind == Kind::Folder;
                // Rules apply to the names that a caller sees.
                if !(self.takes)(&name, is_folder) || rules.ignore(&join(start, &listed), is_folder) {
                    continue;
                }
                if !is_utf8 {
                    files.not_utf8.push(listed);
                } else if is_folder {
                    pending.push(Pending { listed, real, depth: at.depth + 1, rules: rules.clone() });
                } else {
                    files.paths.push(listed);
                }
            }
        }
        files.paths.sort_unstable();
        Ok(files)
    }

    /// Returns the path and kind of an entry's target: a file or folder; `None` for other kinds. A link to a folder that contains
    /// it is left out.
    fn target(&self, start: &str, folder: &str, name: &str, kind: Kind) -> Option<(String, Kind)> {
        let real = join(folder, name);
        if kind != Kind::Other {
            return Some((real, kind));
        }
        if !self.follows_links {
            return None;
        }
        let real = self.root.resolve_links(start, &real).ok()?;
        let is_around = real.is_empty() || format!("{folder}/").starts_with(&format!("{real}/"));
        let (above, last) = real.rsplit_once('/').unwrap_or(("", &real));
        let kind = self.root.open_dir(or_dot(above)).ok()?.kind(last).ok()??;
        (kind != Kind::Other && !is_around).then_some((real, kind))
    }
}

impl Files {
    fn leave_out(&mut self, path: String, error: OpenError) {
        if self.unread.len() < MAX_UNREAD {
            self.unread.push((path, error));
        }
    }
}

/// The ignore rules that apply in one folder.
#[derive(Clone)]
struct Rules(Arc<Level>);

struct Level {
    above: Option<Rules>,
    /// The rules of the files in [`RULE_FILES`], in their order.
    here: [Gitignore; 3],
    /// True if git's rules of the folders above end here.
    is_repository: bool,
    bytes: u64,
}

/// The files of rules, the strongest first.
const RULE_FILES: [&str; 3] = [".ignore", ".gitignore", ".git/info/exclude"];

impl Rules {
    /// Returns the user's rules for all repositories.
    fn of_user() -> Self {
        let text = gitconfig_excludes_path().and_then(|path| read_regular(&path, MAX_RULES_BYTES).ok());
        let user = text.map_or_else(Gitignore::empty, |text| matcher(Path::new("/"), &text));
        let here = [Gitignore::empty(), Gitignore::empty(), user];
        Self(Arc::new(Level { above: None, here, is_repository: false, bytes: 0 }))
    }

    /// Returns the rules of a folder at `path`, below the folder of these rules.
    fn enter(&self, folder: &Dir, path: &str, files: &mut Files) -> Self {
        let base: PathBuf = Path::new("/").join(path);
        let mut bytes = self.0.bytes;
        let here = RULE_FILES.map(|name| {
            match folder.read(name, MAX_RULES_BYTES.saturating_sub(bytes)) {
                Ok(text) => {
                    bytes += text.len() as u64;
                    return matcher(&base, &text);
                }
                // A linked work tree has a file `.git`.
                Err(OpenError::Io(error))
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                    ) => {}
                Err(error) => files.leave_out(join(path, name), error),
            }
            Gitignore::empty()
        });
        let is_repository = is_work_tree(folder);
        if !is_repository && here.iter().all(Gitignore::is_empty) {
            return self.clone();
        }
        Self(Arc::new(Level { above: Some(self.clone()), here, is_repository, bytes }))
    }

    /// Returns true if the folder is in the work tree of a repository.
    fn are_in_repository(&self) -> bool {
        let Self(level) = self;
        level.is_repository || level.above.as_ref().is_some_and(Self::are_in_repository)
    }

    /// Returns true if the entry at `path` is ignored, provided that no folder above it is.
    fn ignore(&self, path: &str, is_folder: bool) -> bool {
        let path = Path::new("/").join(path);
        let mut found = [Match::None, Match::None, Match::None];
        let (mut at, mut in_repository) = (Some(self), true);
        while let Some(Self(level)) = at {
            for (index, rules) in level.here.iter().enumerate() {
                // `.ignore` applies everywhere, and so do the user's own rules, which are the last.
                let counts = index == 0 || in_repository || level.above.is_none();
                if counts && found[index].is_none() {
                    found[index] = rules.matched(&path, is_folder);
                }
            }
            in_repository &= !level.is_repository;
            at = level.above.as_ref();
        }
        let [first, second, third] = found;
        first.or(second).or(third).is_ignore()
    }
}

/// Returns the rules in a text, which apply below `base`. An invalid pattern is skipped, as in git.
fn matcher(base: &Path, text: &[u8]) -> Gitignore {
    let mut rules = GitignoreBuilder::new(base);
    for line in String::from_utf8_lossy(text).trim_start_matches('\u{feff}').lines() {
        let _ = rules.add_line(None, line);
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Returns true if a folder is the top of a work tree.
fn is_work_tree(folder: &Dir) -> bool {
    matches!(folder.kind(".git"), Ok(Some(_)))
}

/// Returns true if a folder with these entries is a repository without a work tree.
fn is_bare(entries: &[(String, Kind, bool)]) -> bool {
    let parts = [("HEAD", Kind::File), ("objects", Kind::Folder), ("refs", Kind::Folder)];
    parts.iter().all(|(part, is)| entries.iter().any(|(name, kind, _)| name == part && kind == is))
}

/// Returns true if a path is `other`, or below it.
fn is_in(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn or_dot(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
