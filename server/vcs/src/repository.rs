//! Opening a repository for a caller: where it is, and that all of it is in the workspaces.
//!
//! Nothing configured runs, and only the repository's own configuration is read, without what it includes.
//!
//! A repository can refer to other places of the host: a `.git` file, `commondir`, alternates, symbolic links in git's folder. Each is
//! resolved before the repository is opened, and must be in a workspace. There is one exception: git's folder of a linked work tree,
//! if it says in turn that this is its work tree. Only someone who can write to the other repository can make it say so, as
//! `git worktree add` does.

use std::{
    collections::HashSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use gix::{
    open::{Options, Permissions},
    sec::Trust,
};
use tabellion_platform as platform;

use crate::{
    error::{VcsError, check, with_causes},
    workspaces::{WorkspacePath, Workspaces},
};

/// Size limit of the files `.git`, `commondir` and `gitdir`, which have a path each, and of `alternates`.
const MAX_LINK_BYTES: u64 = 64 * 1024;

/// Size of the cache of trees and commits of an open repository.
const OBJECT_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// What is never read of git's folder, so that it may lead anywhere.
const NEVER_READ: [&str; 8] = [
    "branches",
    "hooks",
    "index",
    "info",
    "lfs",
    "logs",
    "modules",
    "worktrees",
];

/// An open repository, for reading.
#[derive(Debug)]
pub struct GitRepository {
    pub(crate) git: gix::Repository,
    path: PathBuf,
}

impl GitRepository {
    /// Opens the repository whose work tree contains `at`, or the bare repository there.
    ///
    /// # Errors
    /// If there is none in the workspace, or a part of it is outside of the workspaces, or it can't be read.
    pub fn open(
        workspaces: &Workspaces,
        at: &WorkspacePath,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, VcsError> {
        let inside = |folder: &&Path| folder.starts_with(at.root());
        let mut folders = at.path().ancestors().take_while(inside);
        let found = folders.find_map(|folder| Some((folder, Layout::of(folder)?)));
        let (top, layout) = found.ok_or_else(|| VcsError::NoRepository(at.path().to_owned()))?;
        Self::open_at(workspaces, top, layout, cancelled)
    }

    /// Opens the repository at `top`, which has this layout.
    pub(crate) fn open_at(
        workspaces: &Workspaces,
        top: &Path,
        layout: Layout,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, VcsError> {
        let folders = Folders::of(workspaces, top, layout)?;
        folders.check(cancelled)?;
        let options = isolated().open_path_as_is(true);
        let git = options
            .open(&folders.git)
            .map_err(|error| cant_open(top, &error))?;
        let mut git = git.to_thread_local();
        let storage = git.config_snapshot().string("extensions.refStorage");
        if storage.is_some_and(|storage| *storage != b"files"[..]) {
            let what = "keeps its references in another form than files (`git refs migrate --ref-format=files` changes it)";
            return Err(VcsError::Unsupported {
                path: top.to_owned(),
                what: what.into(),
            });
        }
        git.object_cache_size(OBJECT_CACHE_BYTES);
        Ok(Self {
            git,
            path: top.to_owned(),
        })
    }

    /// Returns the top of the work tree; of a bare repository, its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the error that something can't be read.
    pub(crate) fn damaged(&self, what: &'static str, error: &dyn std::error::Error) -> VcsError {
        let (path, message) = (self.path.clone(), with_causes(error));
        if message.contains("could not be found") && self.is_partial() {
            let remedy = "fetch the rest with `git fetch --refetch --no-filter`, or check the branch out";
            return VcsError::Incomplete { path, what, remedy };
        }
        VcsError::Damaged { path, what, message }
    }

    /// Returns whether git fetches objects of the repository only when it needs them.
    fn is_partial(&self) -> bool {
        let config = self.git.config_snapshot();
        let remotes = config.sections_by_name("remote");
        config.string("extensions.partialClone").is_some()
            || remotes
                .into_iter()
                .flatten()
                .any(|remote| remote.value("promisor").is_some())
    }
}

/// How a repository is found at a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The folder has an entry `.git`.
    WorkTree,
    /// The folder is git's own.
    Bare,
}

impl Layout {
    /// Returns the layout of the repository at a folder; `None` if there is none.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        if folder.join(".git").symlink_metadata().is_ok() {
            return Some(Self::WorkTree);
        }
        let has = |name: &str| folder.join(name).symlink_metadata();
        let is_bare = has("HEAD").is_ok_and(|found| !found.is_dir())
            && has("objects").is_ok_and(|found| !found.is_file())
            && has("refs").is_ok_and(|found| !found.is_file());
        is_bare.then_some(Self::Bare)
    }
}

/// Options for opening a repository of which only its own files are read.
pub(crate) fn isolated() -> Options {
    Options::default()
        .permissions(Permissions::isolated())
        .with(Trust::Full)
}

fn cant_open(top: &Path, error: &dyn std::error::Error) -> VcsError {
    let message = with_causes(error);
    let path = top.to_owned();
    let unsupported = [
        "sha256",
        "objectformat",
        "object format",
        "repositoryformatversion",
    ];
    if unsupported
        .iter()
        .any(|word| message.to_lowercase().contains(word))
    {
        let what = "has SHA-256 objects, or another format".into();
        return VcsError::Unsupported { path, what };
    }
    VcsError::Damaged {
        path,
        what: "the configuration",
        message,
    }
}

/// The folders of git that a repository is read from, without links.
struct Folders<'w> {
    workspaces: &'w Workspaces,
    top: PathBuf,
    git: PathBuf,
    common: PathBuf,
    /// Whether the common folder is that of a linked work tree, which it knows.
    linked: bool,
}

impl<'w> Folders<'w> {
    /// Finds git's folders of the repository at `top`.
    fn of(workspaces: &'w Workspaces, top: &Path, layout: Layout) -> Result<Self, VcsError> {
        let entry = match layout {
            Layout::WorkTree => top.join(".git"),
            Layout::Bare => top.to_owned(),
        };
        let mut folders = Self {
            workspaces,
            top: top.to_owned(),
            git: PathBuf::new(),
            common: PathBuf::new(),
            linked: false,
        };
        let outside = || {
            let remedy = "add the repository's folder with `--workspace`";
            folders.outside("its git folder".to_owned(), remedy)
        };
        // An error is the same whether something outside exists or not.
        let resolve = |path: &Path| platform::canonicalize(path).map_err(|_| outside());
        let entry = resolve(&entry)?;
        if !workspaces.contain(&entry) {
            return Err(outside());
        }
        let git = if entry.is_dir() {
            entry.clone()
        } else {
            let text = folders.read_link(&entry)?.unwrap_or_default();
            let target = text.strip_prefix("gitdir:").map(str::trim);
            let target = target.ok_or_else(|| VcsError::NoRepository(top.to_owned()))?;
            resolve(&top.join(target))?
        };
        if !workspaces.contain(&git) && !has_shape_of_linked(&git) {
            return Err(outside());
        }
        let common = match folders.read_link(&git.join("commondir"))? {
            Some(text) => resolve(&git.join(text.trim()))?,
            None => git.clone(),
        };
        let linked = folders.is_linked(&entry, &git, &common)?;
        if !(linked || workspaces.contain(&git) && workspaces.contain(&common)) {
            return Err(outside());
        }
        folders.git = git;
        folders.common = common;
        folders.linked = linked;
        Ok(folders)
    }

    fn outside(&self, what: String, remedy: &'static str) -> VcsError {
        VcsError::Outside {
            path: self.top.clone(),
            what,
            remedy,
        }
    }

    fn resolve(&self, path: &Path) -> Result<PathBuf, VcsError> {
        platform::canonicalize(path).map_err(|error| VcsError::Damaged {
            path: self.top.clone(),
            what: "the git folder",
            message: error.to_string(),
        })
    }

    /// Returns true if a path without links may be read.
    fn permit(&self, path: &Path) -> bool {
        self.workspaces.contain(path) || self.linked && path.starts_with(&self.common)
    }

    /// Checks that everything that is read of the repository is in the workspaces.
    fn check(&self, cancelled: &dyn Fn() -> bool) -> Result<(), VcsError> {
        let mut seen = HashSet::new();
        self.check_folder(&self.common, &NEVER_READ, &mut seen, cancelled)?;
        if self.git != self.common {
            self.check_folder(&self.git, &NEVER_READ, &mut seen, cancelled)?;
        }
        let objects = self.resolve(&self.common.join("objects"))?;
        self.check_alternates(&objects, &mut seen, cancelled)
    }

    /// Checks a folder and the folders below it, each once.
    fn check_folder(
        &self,
        folder: &Path,
        except: &[&str],
        seen: &mut HashSet<PathBuf>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), VcsError> {
        check(cancelled)?;
        if !seen.insert(folder.to_owned()) {
            return Ok(());
        }
        let unreadable = |error: std::io::Error| VcsError::Damaged {
            path: self.top.clone(),
            what: "the git folder",
            message: error.to_string(),
        };
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            if except.iter().any(|except| name == *except) {
                continue;
            }
            let mut path = entry.path();
            let mut kind = entry.file_type().map_err(unreadable)?;
            if kind.is_symlink() {
                // Git ignores a link to nothing too.
                let Ok(target) = platform::canonicalize(&path) else {
                    continue;
                };
                if !self.permit(&target) {
                    let what = format!("`{}`", self.name_of(&path));
                    let remedy = "replace the symbolic link by what it leads to";
                    return Err(self.outside(what, remedy));
                }
                kind = target.metadata().map_err(unreadable)?.file_type();
                path = target;
            }
            if kind.is_dir() {
                self.check_folder(&path, &[], seen, cancelled)?;
            } else if !kind.is_file() {
                return Err(VcsError::Special {
                    path: self.top.clone(),
                    name: self.name_of(&path),
                });
            }
        }
        Ok(())
    }

    /// Checks the folders of objects that `objects` borrows from, and those that these borrow from.
    fn check_alternates(
        &self,
        objects: &Path,
        seen: &mut HashSet<PathBuf>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), VcsError> {
        let Some(text) = self.read_link(&objects.join("info/alternates"))? else {
            return Ok(());
        };
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let remedy = "add their folder with `--workspace`, or copy them with `git repack -a -d` and remove \
                          `objects/info/alternates`";
            let outside = || self.outside("objects".to_owned(), remedy);
            // A quoted path has escapes, for names that no one needs here.
            if line.starts_with('"') {
                return Err(outside());
            }
            let alternate = platform::canonicalize(&objects.join(line)).map_err(|_| outside())?;
            if !self.permit(&alternate) {
                return Err(outside());
            }
            if !seen.contains(&alternate) {
                self.check_folder(&alternate, &[], seen, cancelled)?;
                self.check_alternates(&alternate, seen, cancelled)?;
            }
        }
        Ok(())
    }

    /// Returns true if `git` is the folder of a linked work tree in the repository `common`, and says that its work tree has `entry`.
    fn is_linked(&self, entry: &Path, git: &Path, common: &Path) -> Result<bool, VcsError> {
        if git.parent() != Some(&common.join("worktrees")) || !entry.is_file() {
            return Ok(false);
        }
        let back = self.read_link(&git.join("gitdir"))?;
        let back = back.and_then(|back| platform::canonicalize(&git.join(back.trim())).ok());
        Ok(back.is_some_and(|back| back == entry))
    }

    /// Returns the text of a small file with paths; `None` if there is none. It may be no link, since git would read the file that it
    /// leads to; and no pipe, which git would wait for.
    fn read_link(&self, path: &Path) -> Result<Option<String>, VcsError> {
        let special = || VcsError::Special {
            path: self.top.clone(),
            name: self.name_of(path),
        };
        let Ok(found) = path.symlink_metadata() else {
            return Ok(None);
        };
        if !found.is_file() || found.len() > MAX_LINK_BYTES {
            return Err(special());
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(|_| special())?;
        file.take(MAX_LINK_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|_| special())?;
        String::from_utf8(bytes).map(Some).map_err(|_| special())
    }

    fn name_of(&self, path: &Path) -> String {
        let name = path
            .strip_prefix(&self.common)
            .or_else(|_| path.strip_prefix(&self.git));
        name.unwrap_or(path).display().to_string()
    }
}

/// Returns true if git's folder is where a linked work tree has it.
fn has_shape_of_linked(git: &Path) -> bool {
    git.parent().is_some_and(|parent| parent.ends_with("worktrees"))
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
