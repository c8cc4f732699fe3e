//! Git's ignore rules in a library, collected per folder.
//!
//! gix matches the rules, with a translation of git's own matcher; `.ignore` and `.rgignore` have no effect. Two unusual
//! forms of a rule match less than in git: a `**` glued to other characters (`a**/**`), and `//`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix_ignore::glob::pattern::Case;
use gix_ignore::glob::search::Pattern;
use gix_ignore::glob::search::pattern::List;
use gix_ignore::search::Ignore;

use super::root::Root;
use crate::path::LibraryDir;
use tabellion_platform::{self as platform, Dir, read_regular};

/// Size limit of a file of rules or attributes. Git's own is 100 MiB.
pub(super) const MAX_RULES_BYTES: u64 = 16 << 20;

/// Location of git's rules for a library. The files are read again for each walk.
#[derive(Clone, Debug)]
pub struct IgnoreRules {
    repository: Option<Repository>,
}

#[derive(Clone, Debug)]
struct Repository {
    work_dir: PathBuf,
    /// The library's folder in the work tree, `/`-separated; empty if it is the whole work tree.
    library: String,
    common_dir: PathBuf,
    excludes_file: Option<PathBuf>,
    case: Case,
}

impl IgnoreRules {
    /// Returns no rules, for a library without a repository.
    pub fn none() -> Self {
        Self { repository: None }
    }

    /// Returns the rules of the repository with the work tree `work_dir`, which contains the library: each `.gitignore` from
    /// there down, `common_dir/info/exclude`, and `excludes_file` (git's `core.excludesFile`). `ignore_case` is git's
    /// `core.ignoreCase`.
    ///
    /// # Errors
    ///
    /// If `root` is not in `work_dir`, or `work_dir` can't be read.
    pub fn new(
        root: &Root,
        work_dir: &Path,
        common_dir: &Path,
        excludes_file: Option<PathBuf>,
        ignore_case: bool,
    ) -> io::Result<Self> {
        let work_dir = platform::canonicalize(work_dir)?;
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "the library is not in the work tree");
        let library = root.path().strip_prefix(&work_dir).map_err(|_| outside())?;
        let segments: Option<Vec<&str>> = library.iter().map(|segment| segment.to_str()).collect();
        let repository = Repository {
            library: segments.ok_or_else(outside)?.join("/"),
            work_dir,
            common_dir: common_dir.to_owned(),
            excludes_file,
            case: if ignore_case { Case::Fold } else { Case::Sensitive },
        };
        Ok(Self { repository: Some(repository) })
    }

    /// Returns the rules according to `repository`'s configuration.
    ///
    /// # Errors
    ///
    /// As for [`IgnoreRules::new`]; also if the repository is bare, or its configured path is invalid.
    pub fn of_repository(root: &Root, repository: &gix::Repository) -> io::Result<Self> {
        let bare = || io::Error::new(io::ErrorKind::InvalidInput, "the repository has no work tree");
        let config = repository.config_snapshot();
        let configured = config.trusted_path("core.excludesFile").map_err(io::Error::other)?;
        Self::new(
            root,
            repository.workdir().ok_or_else(bare)?,
            repository.common_dir(),
            configured.or_else(default_excludes_file),
            config.boolean("core.ignoreCase").unwrap_or(false),
        )
    }

    /// Returns the rules from above the library's root; `None` if they ignore the library itself.
    pub(super) fn scope(&self) -> Option<Scope> {
        let mut scope = Scope { rules: Arc::default(), case: Case::Sensitive, library: "".into() };
        let Some(repository) = &self.repository else {
            return Some(scope);
        };
        scope.case = repository.case;
        // From the weakest to the strongest. Unreadable files have no rules, as in git; pipes and devices have none either.
        let configured = repository.excludes_file.as_ref();
        scope.add("", configured.and_then(|file| read_regular(file, MAX_RULES_BYTES).ok()));
        let common = Dir::open(&repository.common_dir).ok();
        scope.add("", common.and_then(|dir| dir.read("info/exclude", MAX_RULES_BYTES).ok()));
        let mut above = String::new();
        let work_dir = Dir::open(&repository.work_dir).ok();
        for segment in repository.library.split('/').filter(|segment| !segment.is_empty()) {
            let rules = format!("{above}.gitignore");
            let text = work_dir.as_ref().and_then(|dir| dir.read(&rules, MAX_RULES_BYTES).ok());
            scope.add(&above, text);
            above.push_str(segment);
            if scope.matches(&above, true) {
                return None;
            }
            above.push('/');
        }
        scope.library = above.into();
        Some(scope)
    }
}

/// Returns git's default for `core.excludesFile`.
fn default_excludes_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("git/ignore"))
}

/// The rules that apply in one folder: its own, those of all folders above, and those of the whole repository.
#[derive(Clone)]
pub(super) struct Scope {
    rules: Arc<gix_ignore::Search>,
    case: Case,
    /// The library's folder in the work tree with a trailing `/`; empty if it is the whole work tree.
    library: Arc<str>,
}

impl Scope {
    /// Returns the scope of the folder `dir`, directly below this scope's.
    pub(super) fn enter(&self, dir: &LibraryDir, handle: &Dir) -> Self {
        let mut scope = self.clone();
        let base = if dir.is_root() {
            self.library.to_string()
        } else {
            format!("{}{}/", self.library, dir.as_str())
        };
        scope.add(&base, handle.read(".gitignore", MAX_RULES_BYTES).ok());
        scope
    }

    /// Adds the rules in `text`, which apply below the folder `base` of the work tree (with a trailing `/`).
    fn add(&mut self, base: &str, text: Option<Vec<u8>>) {
        let Some(text) = text else { return };
        let patterns = Ignore::default().bytes_to_patterns(&text, Path::new(""));
        if !patterns.is_empty() {
            let base = (!base.is_empty()).then(|| base.into());
            Arc::make_mut(&mut self.rules).patterns.push(List { patterns, source: None, base });
        }
    }

    /// Returns true if `path` is ignored, provided that no folder above it is.
    pub(super) fn ignores(&self, path: &str, is_folder: bool) -> bool {
        if self.rules.patterns.is_empty() {
            return false;
        }
        if self.library.is_empty() {
            self.matches(path, is_folder)
        } else {
            self.matches(&format!("{}{path}", self.library), is_folder)
        }
    }

    fn matches(&self, path: &str, is_folder: bool) -> bool {
        self.rules
            .pattern_matching_relative_path(path.into(), Some(is_folder), self.case)
            .is_some_and(|found| !found.pattern.is_negative())
    }
}
