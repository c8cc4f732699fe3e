//! Branch and commit of the caller's repository.

use std::{
    env,
    path::{Path, PathBuf},
};

use tabellion_contracts::mcb::VcsContext;
use tabellion_library::Checkout;

/// Returns the folders whose repositories may be told of: the work tree around the current folder, or that folder.
pub(super) fn workspaces() -> Vec<PathBuf> {
    let Ok(current) = env::current_dir() else {
        return vec![];
    };
    let top = current.ancestors().find(|folder| folder.join(".git").exists());
    vec![top.unwrap_or(&current).to_owned()]
}

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
