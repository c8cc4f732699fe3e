//! Applies unified diffs with git.

use std::{fs, io, path::Path};

use crate::{ledger::git, watcher};

/// Returns true if a text is a diff with hunks, or empty as that of no change is.
pub(super) fn is_diff(text: &str) -> bool {
    text.trim().is_empty() || text.lines().any(|line| line.starts_with("@@ -"))
}

/// Returns the document that `git apply` makes from `before`, the document at `path` in the library at `root`; the inner
/// error is git's message if the diff does not apply.
pub(super) fn applied(
    root: &Path,
    path: &str,
    before: &[u8],
    diff: &str,
) -> io::Result<Result<Vec<u8>, String>> {
    // The headers alone are the diff of a change without effect.
    if !diff.lines().any(|line| line.starts_with("@@")) {
        return Ok(Ok(before.to_vec()));
    }
    let dir = watcher::folder()?;
    let (tree, patch) = (dir.path().join("tree"), dir.path().join("patch"));
    let document = tree.join(path);
    fs::create_dir_all(document.parent().unwrap_or(Path::new("/")))?;
    fs::write(&document, before)?;
    fs::write(&patch, diff)?;
    // A repository of its own: git would otherwise find one above the temporary folder.
    git(&tree, &["init", "--quiet"])?;
    let apply = |level: usize| {
        let level = format!("-p{level}");
        git(&tree, &["apply", "--whitespace=nowarn", &level, "../patch"])
    };
    // A diff can name the file with or without the prefixes `a/` and `b/`, or by its absolute path.
    let levels = [1, 0, root.components().count()];
    let mut errors = Vec::new();
    for level in levels {
        match apply(level) {
            Ok(_) => return Ok(fs::read(&document).map_err(|error| error.to_string())),
            Err(error) => errors.push(error.to_string()),
        }
    }
    // The error at the right level is more specific than those at the others, at which git finds no such file.
    let is_of_level = |error: &&String| error.contains("does not apply");
    let is_specific = |error: &&String| !["No such file", "invalid path"].iter().any(|it| error.contains(it));
    let found = || errors.iter();
    let error = found().find(is_of_level).or_else(|| found().find(is_specific)).or(errors.first());
    Ok(Err(error.cloned().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_applies_at_every_level_or_returns_gits_message() {
        let diff =
            "--- a/a b.md\t\n+++ b/a b.md\t\n@@ -1,2 +1,2 @@\n x\r\n-y\n+z\n\\ No newline at end of file\n";
        let applied =
            |path, before, diff: &str| super::applied(Path::new("/tmp/library"), path, before, diff);
        let made = applied("a b.md", b"x\r\ny\n", diff).unwrap();
        assert_eq!(made.as_deref(), Ok(&b"x\r\nz"[..]));
        assert!(applied("a b.md", b"x\ny\n", diff).unwrap().is_err());
        for empty in ["", "--- a/a b.md\n+++ b/a b.md\n"] {
            assert_eq!(applied("a b.md", b"x\n", empty).unwrap().as_deref(), Ok(&b"x\n"[..]));
        }
        let absolute = diff.replace(" a/", " /tmp/library/").replace(" b/", " /tmp/library/");
        let made = applied("a b.md", b"x\r\ny\n", &absolute).unwrap();
        assert_eq!(made.as_deref(), Ok(&b"x\r\nz"[..]));
        let refused = applied("a b.md", b"x\ny\n", &absolute).unwrap().unwrap_err();
        assert!(refused.contains("patch does not apply"), "{refused}");
        assert_eq!(applied("a.md", b"x", "").unwrap().as_deref(), Ok(&b"x"[..]));
    }
}
