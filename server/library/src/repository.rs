//! The git repository of a library: opening it, the paths of its files, and its state.
//!
//! No configured program ever runs: no hooks, filters or monitors. Of the environment only `HOME` and `XDG_CONFIG_HOME` are used,
//! to find the user's configuration. The system's configuration is read too, and all files that either includes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::{
    ObjectId, ThreadSafeRepository,
    bstr::{BStr, ByteSlice as _},
    head::Kind,
    open::{Options, Permissions},
    sec::{Permission, Trust},
    state::InProgress,
};
use tabellion_runtime::Failure;

use super::{
    commit::COMMITTER,
    failures::{InRepository, refused},
    folder::CreateFolders,
    git::{self, Git},
    init,
    open_error::OpenError,
    root::MAX_FILE_BYTES,
    sharing::Sharing,
};
use crate::path::LibraryPath;
use tabellion_platform::{self as platform, Journal};

/// The repository of a library.
#[derive(Debug)]
pub(super) struct Repository {
    git: Arc<Git>,
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    objects: PathBuf,
    own: PathBuf,
    prefix: String,
    keeps_logs: bool,
    keeps_modes: bool,
    sharing: Sharing,
    journal: Option<Journal>,
}

/// The checked-out branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The branch's full name.
    pub(super) branch: String,
    /// Its commit; `None` before the first one.
    pub(super) commit: Option<ObjectId>,
}

impl Repository {
    /// Opens the repository that contains the folder `root` (an absolute path without symbolic links). If there is none, creates
    /// one, unless `create` is [`CreateFolders::Nothing`]. Also returns true if it was created.
    pub(super) fn open(root: &Path, create: CreateFolders) -> Result<(Self, bool), OpenError> {
        if is_gits_own(root) {
            return Err(OpenError::Bare(root.to_owned()));
        }
        // Git's folder is found from it, even by an absolute path.
        if let Err(error) = std::env::current_dir() {
            let message = format!(
                "the working directory of this process is gone ({error}); start it in a folder that exists"
            );
            let source = std::io::Error::new(error.kind(), message);
            return Err(OpenError::Folder { path: root.to_owned(), source });
        }
        let (top, is_new) = match root
            .ancestors()
            .find(|folder| folder.join(".git").symlink_metadata().is_ok())
        {
            Some(top) => (top, false),
            None if create == CreateFolders::Nothing => return Err(OpenError::NoRepository(root.to_owned())),
            None => {
                let is_new = init::create(root)
                    .map_err(|source| OpenError::Folder { path: root.join(".git"), source })?;
                (root, is_new)
            }
        };
        if create != CreateFolders::Nothing {
            init::remove_leftovers(root);
        }
        check_git_files(top).map_err(|message| cant_open(top, &message))?;
        let git = options().open(top).map_err(|error| cant_open(top, &with_causes(&error)))?;
        Ok((Self::new(git, root, top)?, is_new))
    }

    fn new(git: ThreadSafeRepository, root: &Path, top: &Path) -> Result<Self, OpenError> {
        let local = git.to_thread_local();
        let unsupported = |what: &str| OpenError::Unsupported { path: top.to_owned(), what: what.to_owned() };
        let work_dir = local.workdir().ok_or_else(|| OpenError::Bare(top.to_owned()))?;
        let work_dir = platform::canonicalize(work_dir)
            .map_err(|source| OpenError::Folder { path: work_dir.to_owned(), source })?;
        let below = root.strip_prefix(&work_dir).ok();
        let segments: Option<Vec<_>> = below.and_then(|below| below.iter().map(OsStr::to_str).collect());
        let prefix = segments
            .map(|segments| segments.join("/"))
            .ok_or_else(|| unsupported("has its working tree elsewhere, or a name that is not UTF-8"))?;
        let config = local.config_snapshot();
        if config.string("extensions.refStorage").is_some_and(|format| format != "files") {
            return Err(unsupported("keeps its references in a format other than `files`"));
        }
        if let Some(name) = unknown_extension(&config) {
            return Err(unsupported(&format!("uses git's extension `{name}`")));
        }
        let absolute = |path: &Path| platform::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let git_dir = absolute(local.git_dir());
        let own = git_dir.join("tabellion");
        check_own(&own).map_err(|message| cant_open(top, &message))?;
        Ok(Self {
            top: work_dir.clone(),
            common_dir: absolute(local.common_dir()),
            objects: absolute(local.objects.store_ref().path()),
            own,
            journal: Journal::detect(&git_dir),
            git_dir,
            prefix: if prefix.is_empty() { String::new() } else { format!("{prefix}/") },
            keeps_logs: config.string("core.logAllRefUpdates").is_none_or(|value| value != "false"),
            keeps_modes: config.boolean("core.fileMode").unwrap_or(true),
            sharing: Sharing::configured(&config),
            git: Arc::new(Git::new(git)),
        })
    }

    /// Returns a handle for one thread and one task.
    pub(super) fn git(&self) -> gix::Repository {
        self.git.to_thread_local()
    }

    /// Returns a handle that can be kept.
    pub(super) fn shared(&self) -> Arc<Git> {
        Arc::clone(&self.git)
    }

    /// Returns the folder of HEAD and the index; a linked working tree has its own.
    pub(super) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the folder of the branches.
    pub(super) fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the folder of the objects.
    pub(super) fn objects(&self) -> &Path {
        &self.objects
    }

    /// Returns the path of the file `name` in our own folder; the folder itself for the empty name.
    pub(super) fn own(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.own.clone() } else { self.own.join(name) }
    }

    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Returns the library's place in the repository: empty, or a folder with a trailing `/`.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the git path of the document at `path`.
    pub(super) fn git_path(&self, path: &LibraryPath) -> String {
        format!("{}{}", self.prefix, path.as_str())
    }

    /// Returns the top of the working tree.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// Returns true if the last commit has files of the library, or can't be read.
    pub(super) fn tracks_library(&self) -> bool {
        let git = self.git();
        let folder = self.prefix.trim_end_matches('/');
        let in_commit = || {
            let Some(commit) = self.head_commit(&git).ok()? else {
                return Some(false);
            };
            let tree = git.find_commit(commit).ok()?.tree().ok()?;
            Some(tree.lookup_entry_by_path(folder).ok()?.is_some())
        };
        in_commit().unwrap_or(true)
    }

    /// Sets the permissions of the new file or folder at `path` according to `core.sharedRepository`.
    pub(super) fn share(&self, path: &Path) {
        self.sharing.apply(path);
    }

    /// Returns the permissions of new files according to `core.sharedRepository`.
    pub(super) fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Returns true if git keeps reflogs.
    pub(super) fn keeps_logs(&self) -> bool {
        self.keeps_logs
    }

    /// Returns the journal that keeps the order of writes in our own folder, if that is known.
    pub(super) fn journal(&self) -> Option<Journal> {
        self.journal
    }

    /// Returns true if executable bits are tracked.
    pub(super) fn keeps_modes(&self) -> bool {
        self.keeps_modes
    }

    /// Returns HEAD's commit, on a branch or not; `None` before the first one.
    pub(super) fn head_commit(&self, git: &gix::Repository) -> Result<Option<ObjectId>, Failure> {
        // A branch names a commit, never a tag, so no peeling is needed.
        Ok(git.head().reading("HEAD")?.id().map(gix::Id::detach))
    }

    /// Returns the checked-out branch.
    ///
    /// # Errors
    /// Refused if HEAD is detached.
    pub(super) fn head(&self, git: &gix::Repository) -> Result<Head, Failure> {
        match git.head().reading("HEAD")?.kind {
            Kind::Symbolic(branch) => {
                let name = branch.name.as_bstr().to_string();
                let Some(commit) = branch.target.try_id() else {
                    return Err(refused(format!(
                        "the branch `{name}` is a symbolic reference; check out the branch that it names"
                    )));
                };
                Ok(Head { branch: name, commit: Some(commit.to_owned()) })
            }
            Kind::Unborn(name) => Ok(Head { branch: name.as_bstr().to_string(), commit: None }),
            Kind::Detached { .. } => {
                Err(refused("no branch is checked out (HEAD is detached); `git switch` to one first"))
            }
        }
    }

    /// # Errors
    /// Refused during a merge, rebase or the like.
    pub(super) fn check_idle(&self, git: &gix::Repository) -> Result<(), Failure> {
        match git.state() {
            None => Ok(()),
            Some(state) => {
                let (what, command) = in_progress(&state);
                let message = format!(
                    "a {what} is in progress; finish it, or end it with `git {command}`, and try again"
                );
                Err(refused(message))
            }
        }
    }

    /// Returns the author of commits: the configured user, or this program.
    pub(super) fn author(&self, git: &gix::Repository) -> (String, String) {
        let config = git.config_snapshot();
        let value = |key: &str| {
            config.string(key).map(|value| value.to_string()).filter(|value| !value.trim().is_empty())
        };
        let name = value("author.name").or_else(|| value("user.name"));
        let email = value("author.email").or_else(|| value("user.email"));
        match (name, email) {
            (Some(name), Some(email)) => (without_markers(&name), without_markers(&email)),
            _ => (COMMITTER.0.to_owned(), COMMITTER.1.to_owned()),
        }
    }
}

/// Returns the options for opening repositories: all configuration that git would read, and only the home folder of the
/// environment. Objects larger than any document are not read, regardless of the size they claim.
pub(super) fn options() -> Options {
    let mut permissions = Permissions::isolated();
    permissions.config = gix::open::permissions::Config { env: false, ..Default::default() };
    permissions.attributes = Default::default();
    permissions.env.home = Permission::Allow;
    permissions.env.xdg_config_home = Permission::Allow;
    let limit = format!("gitoxide.objects.allocLimit={MAX_FILE_BYTES}");
    Options::default()
        .object_store_slots(git::SLOTS)
        .permissions(permissions)
        .with(Trust::Full)
        .config_overrides([limit])
}

/// Returns true if the folder is `.git`, is inside one, or has its layout.
fn is_gits_own(root: &Path) -> bool {
    let in_dot_git = root.components().any(|segment| segment.as_os_str().eq_ignore_ascii_case(".git"));
    in_dot_git || (root.join("HEAD").is_file() && root.join("objects").is_dir() && root.join("refs").is_dir())
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Files of git that opening a repository reads by their paths.
const READ_AT_OPENING: [&str; 8] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "index",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
];

/// Maximum number of files of configuration, with those that they include.
const MAX_CONFIGS: usize = 64;

/// Checks that git's files, and the files included by the repository's configuration, are regular files: opening a pipe waits, and
/// a device may never end.
fn check_git_files(top: &Path) -> Result<(), String> {
    let git = top.join(".git");
    let mut folders = vec![git.clone()];
    if !git.is_dir() {
        let text = platform::read_text(&git).map_err(|error| format!("`.git`: {error}"))?;
        folders =
            text.trim().strip_prefix("gitdir:").map(|folder| top.join(folder.trim())).into_iter().collect();
    }
    if let Some(common) =
        folders.first().and_then(|folder| platform::read_text(&folder.join("commondir")).ok())
    {
        folders.push(folders[0].join(common.trim()));
    }
    for folder in &folders {
        let head = platform::read_text(&folder.join("HEAD")).unwrap_or_default();
        for name in READ_AT_OPENING.into_iter().chain(head.trim().strip_prefix("ref: ")) {
            match platform::open_regular(&folder.join(name)) {
                // Git has a name for each of the other errors.
                Ok(_) | Err(platform::OpenError::Io(_)) => {}
                Err(error) => return Err(format!("`{}`: {error}", folder.join(name).display())),
            }
        }
    }
    let configs = |folder: &PathBuf| ["config", "config.worktree"].map(|name| folder.join(name));
    let mut left: Vec<_> = folders.iter().flat_map(configs).collect();
    for _ in 0..MAX_CONFIGS {
        let Some(file) = left.pop() else { return Ok(()) };
        match platform::read_regular(&file, platform::MAX_OWN_BYTES) {
            Ok(text) => left.extend(included(&file, &text)),
            Err(platform::OpenError::Io(_)) => {}
            Err(error) => return Err(format!("`{}`: {error}", file.display())),
        }
    }
    Err(format!("its configuration has more than {MAX_CONFIGS} files"))
}

/// Maximum depth of the search in our own folder; no file of ours is deeper.
const OWN_DEPTH: usize = 8;

/// Checks that our own folder has only files and folders. A packed repository can bring links, pipes and devices, which the server would
/// write through or wait for.
fn check_own(own: &Path) -> Result<(), String> {
    // A file in its place prevents changes, but not reading.
    let found = own.symlink_metadata();
    let is_other = found.is_ok_and(|found| !found.is_dir() && !found.is_file());
    let mut other = is_other.then(|| own.to_owned());
    platform::each_below(own, OWN_DEPTH, |path, kind| {
        if kind == platform::Kind::Other {
            other.get_or_insert_with(|| path.to_owned());
        }
        true
    });
    other.map_or(Ok(()), |path| {
        let path = path.display();
        Err(format!("`{path}` is neither a regular file nor a folder; remove it"))
    })
}

/// Returns the files that a file of configuration includes, under any condition.
fn included(file: &Path, text: &[u8]) -> Vec<PathBuf> {
    let Ok(config) = gix::config::File::try_from(text.as_bstr()) else {
        return vec![];
    };
    let is_include = |name: &BStr| name.to_str_lossy().to_ascii_lowercase().starts_with("include");
    let sections = config.sections().filter(|section| is_include(section.header().name()));
    let paths = sections.flat_map(|section| section.values("path"));
    let resolved = paths.filter_map(|path| {
        let path = path.to_str().ok()?;
        Some(match (path.strip_prefix("~/"), gix::path::env::home_dir()) {
            (Some(below), Some(home)) => home.join(below),
            _ => file.parent()?.join(path),
        })
    });
    resolved.collect()
}

fn cant_open(top: &Path, message: &str) -> OpenError {
    let path = top.to_owned();
    if message.contains("sha256") || message.contains("objectFormat") || message.contains("object format") {
        return OpenError::Unsupported { path, what: "has SHA-256 objects".into() };
    }
    OpenError::Damaged { path, message: message.to_owned() }
}

/// The extensions of git that are irrelevant here, or that gix supports.
const EXTENSIONS: [&str; 7] = [
    "noop",
    "objectFormat",
    "partialClone",
    "preciousObjects",
    "refStorage",
    "relativeWorktrees",
    "worktreeConfig",
];

/// Returns an extension that is not supported. Before format version 1, extensions have no effect.
fn unknown_extension(config: &gix::config::Snapshot<'_>) -> Option<String> {
    if config.integer("core.repositoryFormatVersion").unwrap_or(0) < 1 {
        return None;
    }
    let sections = config.plumbing().sections_by_name("extensions")?;
    sections
        .flat_map(|section| section.body().value_names().map(|name| name.to_string()).collect::<Vec<_>>())
        .find(|name| !EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

fn in_progress(state: &InProgress) -> (&'static str, &'static str) {
    match state {
        InProgress::ApplyMailbox | InProgress::ApplyMailboxRebase => ("mailbox", "am --abort"),
        InProgress::Bisect => ("bisection", "bisect reset"),
        InProgress::CherryPick | InProgress::CherryPickSequence => ("cherry-pick", "cherry-pick --abort"),
        InProgress::Merge => ("merge", "merge --abort"),
        InProgress::Rebase | InProgress::RebaseInteractive => ("rebase", "rebase --abort"),
        InProgress::Revert | InProgress::RevertSequence => ("revert", "revert --abort"),
    }
}

/// Returns a name or address without line ends and angle brackets, which would end it early in a commit.
fn without_markers(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\r' | '\0')).collect()
}
