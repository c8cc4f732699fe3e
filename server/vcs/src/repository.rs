//! Opening a repository for a caller: finds its folders, and checks that all of it is in the workspaces.
//!
//! No configured program runs, and only the repository's configuration file is read, without its includes.
//!
//! A repository can refer to other places of the host: a `.git` file, `commondir`, alternates. Each is resolved before the repository is
//! opened, and must be in a workspace. Symbolic links and pipes are refused in all files and folders that are read. There is one
//! exception: git's folder of a linked work tree, if it names this work tree in turn. Only a person who can write to the other repository
//! can make it do so, as `git worktree add` does.

use std::{
    cell::RefCell,
    collections::HashSet,
    ffi::OsStr,
    io,
    path::{Component, Path, PathBuf},
};

use gix::{
    open::{Options, Permissions},
    sec::Trust,
};
use tabellion_platform::{self as platform, Dir, Kind, OpenError};

use crate::{
    error::{VcsError, check, with_causes},
    seal::Seal,
    workspaces::{WorkspacePath, Workspaces},
};

/// Size limit of the files `.git`, `commondir` and `gitdir`, which contain a path each, and of `alternates`.
const MAX_LINK_BYTES: u64 = 64 * 1024;

/// Size limits of other files of git that are read completely.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
const MAX_PACKED_BYTES: u64 = 256 << 20;

/// Size of the cache of trees and commits of an open repository.
const OBJECT_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// Entries of git's folder that are read. Others are not checked, and may be links to anywhere.
const READ: [&str; 9] =
    ["HEAD", "commondir", "config", "config.worktree", "gitdir", "objects", "packed-refs", "refs", "shallow"];

/// Upper bound of the entries of git's folder that are checked. Without packs, each object is one.
const MAX_ENTRIES: usize = 1_000_000;

/// Upper bound of the folders that are checked; all of them are checked again after an answer.
const MAX_FOLDERS: usize = 100_000;

/// Upper bound of the folders of objects that a repository borrows from, directly or indirectly. Git's limit is 5 in a chain.
const MAX_ALTERNATES: usize = 64;

/// Size limit of any object, regardless of the size in its header.
const MAX_OBJECT_BYTES: u64 = 128 << 20;

/// Number of attempts to read a repository that changes meanwhile.
const MAX_TRIES: usize = 8;

/// An open repository, for reading.
#[derive(Debug)]
pub struct GitRepository {
    pub(crate) git: gix::Repository,
    path: PathBuf,
    pub(crate) seal: RefCell<Seal>,
}

impl GitRepository {
    /// Returns true if a folder is a repository without a work tree.
    pub fn is_bare(folder: &WorkspacePath) -> bool {
        Layout::detect(folder.path()) == Some(Layout::Bare)
    }

    /// Returns the result of `work` on the repository whose work tree contains `at`, or on the bare repository there. If git's folder
    /// changed meanwhile, the result is discarded, and `work` begins again.
    ///
    /// # Errors
    /// If there is no repository in the workspace, a part of it is outside of the workspaces, or it can't be read; the error of `work`;
    /// [`VcsError::Changing`] if the repository changes in every attempt.
    pub fn read<T, E>(
        workspaces: &Workspaces,
        at: &WorkspacePath,
        cancelled: &dyn Fn() -> bool,
        fail: impl Fn(VcsError) -> E,
        mut work: impl FnMut(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        for _ in 0..MAX_TRIES {
            let repository = Self::open(workspaces, at, cancelled).map_err(&fail)?;
            let found = work(&repository);
            if repository.seal.borrow().holds() {
                return found;
            }
            check(cancelled).map_err(&fail)?;
        }
        Err(fail(VcsError::Changing(at.path().to_owned())))
    }

    /// Opens the repository whose work tree contains `at`, or the bare repository there.
    pub(crate) fn open(
        workspaces: &Workspaces,
        at: &WorkspacePath,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, VcsError> {
        let inside = |folder: &&Path| folder.starts_with(at.root());
        let mut folders = at.path().ancestors().take_while(inside);
        let found = folders.find_map(|folder| Some((folder, Layout::detect(folder)?)));
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
        for _ in 0..MAX_TRIES {
            let folders = Folders::find(workspaces, top, layout)?;
            let seal = folders.check(cancelled)?;
            if seal.is_settled() {
                return Self::open_judged(top, &folders, seal);
            }
        }
        Err(VcsError::Changing(top.to_owned()))
    }

    fn open_judged(top: &Path, folders: &Folders<'_>, seal: Seal) -> Result<Self, VcsError> {
        let options = isolated().open_path_as_is(true);
        let git = options.open(&folders.git).map_err(|error| cant_open(top, &error))?;
        let mut git = git.to_thread_local();
        let storage = git.config_snapshot().string("extensions.refStorage");
        if storage.is_some_and(|storage| *storage != b"files"[..]) {
            let what = "keeps its references in another form than files (`git refs migrate --ref-format=files` changes it)";
            return Err(VcsError::Unsupported { path: top.to_owned(), what: what.into() });
        }
        git.object_cache_size(OBJECT_CACHE_BYTES);
        Ok(Self { git, path: top.to_owned(), seal: seal.into() })
    }

    /// Returns the top of the work tree; for a bare repository, its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the error for an unreadable part of the repository.
    pub(crate) fn damaged(&self, what: &'static str, error: &dyn std::error::Error) -> VcsError {
        let (path, message) = (self.path.clone(), with_causes(error));
        if message.contains("could not be found") && self.is_partial() {
            let remedy = "fetch the rest with `git fetch --refetch --no-filter`, or check the branch out";
            return VcsError::Incomplete { path, what, remedy };
        }
        VcsError::Damaged { path, what, message }
    }

    /// Returns true if git fetches objects of the repository only when it needs them.
    fn is_partial(&self) -> bool {
        let config = self.git.config_snapshot();
        let remotes = config.sections_by_name("remote");
        config.string("extensions.partialClone").is_some()
            || remotes.into_iter().flatten().any(|remote| remote.value("promisor").is_some())
    }
}

/// Place of git's folder in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The folder has an entry `.git`.
    WorkTree,
    /// The folder is git's folder itself.
    Bare,
}

impl Layout {
    /// Returns the layout of the repository at a folder; `None` if there is none.
    pub(crate) fn detect(folder: &Path) -> Option<Self> {
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

/// Options for opening a repository without reading files outside of it.
fn isolated() -> Options {
    Options::default()
        .permissions(Permissions::isolated())
        .with(Trust::Full)
        .config_overrides([format!("gitoxide.objects.allocLimit={MAX_OBJECT_BYTES}")])
}

fn cant_open(top: &Path, error: &dyn std::error::Error) -> VcsError {
    let message = with_causes(error);
    let path = top.to_owned();
    let unsupported = ["sha256", "objectformat", "object format", "repositoryformatversion"];
    if unsupported.iter().any(|word| message.to_lowercase().contains(word)) {
        let what = "has SHA-256 objects, or another format".into();
        return VcsError::Unsupported { path, what };
    }
    VcsError::Damaged { path, what: "the configuration", message }
}

/// The folders of git from which a repository is read, without links.
struct Folders<'w> {
    workspaces: &'w Workspaces,
    top: PathBuf,
    git: PathBuf,
    common: PathBuf,
    /// True if the common folder belongs to a linked work tree that it lists.
    linked: bool,
}

impl<'w> Folders<'w> {
    /// Finds git's folders of the repository at `top`.
    fn find(workspaces: &'w Workspaces, top: &Path, layout: Layout) -> Result<Self, VcsError> {
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
        // The error does not reveal whether a file outside exists.
        let resolve = |path: &Path| platform::canonicalize(path).map_err(|_| outside());
        let is_folder = match entry.symlink_metadata() {
            Ok(found) if found.is_dir() => true,
            Ok(found) if found.is_file() => false,
            _ => return Err(folders.special(".git".to_owned())),
        };
        let git = if is_folder {
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
            Some(text) => {
                let given = git.join(text.trim());
                let common = resolve(&given)?;
                if without_steps_up(&given) != common {
                    return Err(folders.special("commondir".to_owned()));
                }
                common
            }
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
        VcsError::Outside { path: self.top.clone(), what, remedy }
    }

    fn special(&self, name: String) -> VcsError {
        VcsError::Special { path: self.top.clone(), name }
    }

    /// Returns the folder below which a path without links is opened, if reading it is permitted: a workspace, or the repository of a
    /// linked work tree.
    fn root_of(&self, path: &Path) -> Option<&Path> {
        let common = (self.linked && path.starts_with(&self.common)).then_some(self.common.as_path());
        self.workspaces.root_of(path).map(PathBuf::as_path).or(common)
    }

    /// Checks that all files and folders to read are in the workspaces, and that none is a link. Returns the folders.
    fn check(&self, cancelled: &dyn Fn() -> bool) -> Result<Seal, VcsError> {
        let mut seal = Seal::default();
        let mut entries = 0;
        // The folder of the entry `.git`, which may be a file.
        self.open(&mut seal, &self.top)?;
        let mut pending = vec![(self.common.clone(), Part::Top)];
        if self.git != self.common {
            pending.push((self.git.clone(), Part::Top));
        }
        let mut objects = vec![self.common.join("objects")];
        let mut borrowed = HashSet::from([objects[0].clone()]);
        loop {
            while let Some((path, part)) = pending.pop() {
                check(cancelled)?;
                let folder = self.open(&mut seal, &path)?;
                let (mut files, mut below, mut special) = (Vec::new(), Vec::new(), None);
                let listed = folder.entries(|name, kind| {
                    entries += 1;
                    if entries > MAX_ENTRIES || part == Part::Top && !READ.iter().any(|read| name == *read) {
                        return;
                    }
                    match kind {
                        Kind::File if part == Part::Objects => {}
                        Kind::File => files.push(name.to_owned()),
                        Kind::Folder if part == Part::Objects || name == "objects" => {
                            below.push((path.join(name), Part::Objects));
                        }
                        Kind::Folder => below.push((path.join(name), Part::References)),
                        Kind::Other => special = Some(name.to_owned()),
                    }
                });
                listed.map_err(|error| self.unreadable(&error))?;
                for name in files {
                    if !is_small(&folder, &name) {
                        special = Some(name);
                    }
                }
                if let Some(special) = special {
                    return Err(self.special(self.name_of(&path.join(special))));
                }
                pending.append(&mut below);
                if entries > MAX_ENTRIES || seal.len() > MAX_FOLDERS {
                    let what = format!(
                        "has more than {MAX_ENTRIES} files or {MAX_FOLDERS} folders in its git folder"
                    );
                    return Err(self.too_much(what));
                }
            }
            let Some(folder) = objects.pop() else { break };
            for alternate in self.alternates(&folder)? {
                if borrowed.insert(alternate.clone()) {
                    pending.push((alternate.clone(), Part::Objects));
                    objects.push(alternate);
                }
            }
            if borrowed.len() > MAX_ALTERNATES {
                let what = format!("borrows objects from more than {MAX_ALTERNATES} others");
                return Err(self.too_much(what));
            }
        }
        // `commondir` was read before its folder was checked; compare it again.
        let common = self.read_link(&self.git.join("commondir"))?;
        let common = common.map_or(self.git.clone(), |text| without_steps_up(&self.git.join(text.trim())));
        if common != self.common {
            return Err(VcsError::Changing(self.top.clone()));
        }
        Ok(seal)
    }

    fn open(&self, seal: &mut Seal, path: &Path) -> Result<Dir, VcsError> {
        let root = self.root_of(path);
        let root = root.ok_or_else(|| {
            self.outside(format!("`{}`", self.name_of(path)), "add its folder with `--workspace`")
        })?;
        seal.open(root, path).map_err(|error| match error {
            OpenError::Symlink => self.special(self.name_of(path)),
            error => self.unreadable(&error),
        })
    }

    fn unreadable(&self, error: &dyn std::error::Error) -> VcsError {
        VcsError::Damaged { path: self.top.clone(), what: "the git folder", message: error.to_string() }
    }

    fn too_much(&self, what: String) -> VcsError {
        VcsError::Budget { path: self.top.clone(), what }
    }

    /// Returns the folders of objects that `objects` borrows from. They must be without links, since git follows them.
    fn alternates(&self, objects: &Path) -> Result<Vec<PathBuf>, VcsError> {
        let Some(text) = self.read_link(&objects.join("info/alternates"))? else {
            return Ok(Vec::new());
        };
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let found = lines.take(MAX_ALTERNATES + 1).map(|line| {
            let remedy = "add their folder with `--workspace`, or copy them with `git repack -a -d` and remove \
                          `objects/info/alternates`";
            let outside = || self.outside("objects".to_owned(), remedy);
            // A quoted path has escapes, for unusual names; it is not supported.
            if line.starts_with('"') {
                return Err(outside());
            }
            let given = objects.join(line);
            let alternate = platform::canonicalize(&given).map_err(|_| outside())?;
            if self.root_of(&alternate).is_none() {
                return Err(outside());
            }
            // Git follows the path as it is written there.
            if without_steps_up(&given) != alternate {
                return Err(self.special("objects/info/alternates".to_owned()));
            }
            Ok(alternate)
        });
        found.collect()
    }

    /// Returns true if `git` is the folder of a linked work tree in the repository `common`, and names `entry` as its work tree's.
    fn is_linked(&self, entry: &Path, git: &Path, common: &Path) -> Result<bool, VcsError> {
        if git.parent() != Some(&common.join("worktrees")) || entry == git {
            return Ok(false);
        }
        let back = self.read_link(&git.join("gitdir"))?;
        let back = back.and_then(|back| platform::canonicalize(&git.join(back.trim())).ok());
        Ok(back.is_some_and(|back| back == entry))
    }

    /// Returns the text of a small file with paths; `None` if there is none. A link is refused, since git would read its target;
    /// a pipe is refused, since git would wait for it.
    fn read_link(&self, path: &Path) -> Result<Option<String>, VcsError> {
        let special = || self.special(self.name_of(path));
        let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
        else {
            return Err(special());
        };
        // The file contains the path of git's folder, so it is read before that is checked.
        let read = Dir::open(folder).map_err(OpenError::from);
        match read.and_then(|folder| folder.read(name, MAX_LINK_BYTES)) {
            Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| special()),
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) => Err(special()),
        }
    }

    fn name_of(&self, path: &Path) -> String {
        let name = path.strip_prefix(&self.common).or_else(|_| path.strip_prefix(&self.git));
        name.unwrap_or(path).display().to_string()
    }
}

/// A part of git's folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Top,
    References,
    Objects,
}

/// Returns true if git's file is small enough to be read completely, as git does. The file of a branch contains an id.
fn is_small(folder: &Dir, name: &OsStr) -> bool {
    let limit = match name.to_str() {
        Some("packed-refs") => MAX_PACKED_BYTES,
        Some("config" | "config.worktree" | "shallow") => MAX_CONFIG_BYTES,
        Some(_) => MAX_LINK_BYTES,
        // Names of branches may be in any encoding. They are listed, and never opened by name.
        None => return true,
    };
    let file = name.to_str().and_then(|name| folder.open_entry(name).ok());
    file.and_then(|file| file.metadata().ok()).is_some_and(|found| found.len() <= limit)
}

/// Returns a path without its segments `..`, which is equivalent if no folder in it is a link.
fn without_steps_up(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Returns true if git's folder is where linked work trees have theirs.
fn has_shape_of_linked(git: &Path) -> bool {
    git.parent().is_some_and(|parent| parent.ends_with("worktrees"))
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
