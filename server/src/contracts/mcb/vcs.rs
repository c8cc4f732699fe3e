//! Branch and commit of the caller's repository.

use tabellion_contracts::mcb::VcsContext;
use tabellion_vcs::{Checkout, GitRepository, Workspaces};

/// Returns branch and commit of the repository at `path`; `None` if there is none, or it is in no workspace: a caller learns
/// nothing of other folders of the machine.
pub(super) fn context(path: &str, workspaces: &Workspaces) -> Option<VcsContext> {
    let at = workspaces.folder(path).ok()?;
    let repository = GitRepository::open(workspaces, &at, &|| false).ok()?;
    let Checkout { branch, commit } = repository.checkout().ok()?;
    Some(VcsContext { branch, commit })
}
