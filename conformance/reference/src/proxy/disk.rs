//! Folders and repositories.

use std::{fs, io, path::Path, process::Command};

/// Visits all that is in a folder, except for git's own, without following links.
pub(super) fn walk(folder: &Path, depth: usize, visit: &mut impl FnMut(&Path)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        visit(&path);
        if depth > 1 && path.is_dir() && !path.is_symlink() && !path.ends_with(".git") {
            walk(&path, depth - 1, visit)?;
        }
    }
    Ok(())
}

/// Runs git in a repository; returns its output.
pub(super) fn git(root: &Path, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
