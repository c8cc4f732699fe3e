//! Branch and commit of the caller's repository.

use tabellion_contracts::mcb::VcsContext;
use tabellion_vcs::{Checkout, GitRepository, Workspaces};

/// Returns branch and commit of the repository at `path`; `None` if there is none, or it is outside the workspaces: a caller can't
/// probe other folders of the machine.
pub(super) fn context(path: &str, workspaces: &Workspaces) -> Option<VcsContext> {
    let at = workspaces.folder(path).ok()?;
    let read = GitRepository::read(workspaces, &at, &|| false, |error| error, GitRepository::checkout);
    let Checkout { branch, commit } = read.ok()?;
    Some(VcsContext { branch, commit })
}
