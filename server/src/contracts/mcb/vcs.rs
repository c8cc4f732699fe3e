//! Branch and commit of the caller's repository.

use std::path::{Path, PathBuf};

use tabellion_contracts::mcb::VcsContext;
use tabellion_library::Checkout;

/// Returns branch and commit of the repository at `path`; `None` if there is none, or it is in no workspace: a caller learns
/// nothing of other folders of the machine.
pub(super) fn context(path: &str, workspaces: &[PathBuf]) -> Option<VcsContext> {
    let path = Path::new(path).canonicalize().ok()?;
    let is_in = |workspace: &PathBuf| {
        workspace
            .canonicalize()
            .is_ok_and(|workspace| path.starts_with(workspace))
    };
    if !workspaces.iter().any(is_in) {
        return None;
    }
    let Checkout { branch, commit } = Checkout::of(&path)?;
    Some(VcsContext { branch, commit })
}
