//! What is checked out in a working tree that is no library: its branch and commit.

use std::path::Path;

use gix::head::Kind;

use super::repository::options;

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Short name of the branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Id of the commit; `None` before the first one.
    pub commit: Option<String>,
}

impl Checkout {
    /// Returns what is checked out in the repository that contains `folder`, an absolute path without symbolic links. `None` if there
    /// is none, or it can't be read.
    pub fn of(folder: &Path) -> Option<Self> {
        let is_top = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let top = folder.ancestors().find(is_top)?;
        let git = options().open(top).ok()?.to_thread_local();
        let head = git.head().ok()?;
        let branch = match &head.kind {
            Kind::Symbolic(branch) => Some(branch.name.shorten().to_string()),
            Kind::Unborn(name) => Some(name.shorten().to_string()),
            Kind::Detached { .. } => None,
        };
        let commit = head.id().map(|id| id.to_string());
        Some(Self { branch, commit })
    }
}
