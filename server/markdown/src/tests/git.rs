//! Applies diffs with `git apply`.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Applies a diff to the file at `path` with the content `old`, and returns the new content. Returns `None`, with a
/// message, if git is not installed.
#[track_caller]
pub(super) fn apply(path: &str, old: &str, diff: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(path);
    fs::create_dir_all(file.parent().unwrap_or(folder.path())).expect("a folder for the file");
    fs::write(&file, old).expect("the old file");
    run(folder.path(), diff)?;
    Some(fs::read_to_string(&file).expect("the new file"))
}

#[track_caller]
fn run(folder: &Path, diff: &str) -> Option<()> {
    let started = Command::new("git")
        .args(["-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"])
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut git = match started {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("git is not installed: no diff was applied");
            return None;
        }
        started => started.expect("git starts"),
    };
    git.stdin.take().expect("a pipe").write_all(diff.as_bytes()).expect("git reads the diff");
    let output = git.wait_with_output().expect("git ends");
    assert!(output.status.success(), "{}of\n{diff}", String::from_utf8_lossy(&output.stderr));
    Some(())
}
