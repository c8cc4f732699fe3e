//! What a unified diff makes of a document, which is for git to say.

use std::{fs, io, path::Path};

use tempfile::TempDir;

use crate::ledger::git;

/// What `git apply` makes of the document at `path` in the library at `root`, which holds `before`; inside, what git says if it
/// does not apply.
///
/// # Errors
/// When the disk fails.
pub(super) fn applied(
    root: &Path,
    path: &str,
    before: &[u8],
    diff: &str,
) -> io::Result<Result<Vec<u8>, String>> {
    if diff.trim().is_empty() {
        return Ok(Ok(before.to_vec()));
    }
    let dir = TempDir::with_prefix("conformance-patch-")?;
    let (tree, patch) = (dir.path().join("tree"), dir.path().join("patch"));
    let document = tree.join(path);
    fs::create_dir_all(document.parent().unwrap_or(Path::new("/")))?;
    fs::write(&document, before)?;
    fs::write(&patch, diff)?;
    // Its own repository, so that one around the folder for temporary files does not count.
    git(&tree, &["init", "--quiet"])?;
    let apply = |level: usize| {
        let level = format!("-p{level}");
        git(&tree, &["apply", "--whitespace=nowarn", &level, "../patch"])
    };
    // A diff may name the file with or without `a/` and `b/` before it, or from the disk's root on.
    let levels = [1, 0, root.components().count()];
    let mut complaints = Vec::new();
    for level in levels {
        match apply(level) {
            Ok(_) => return Ok(fs::read(&document).map_err(|error| error.to_string())),
            Err(said) => complaints.push(said.to_string()),
        }
    }
    // What git says of the file under the name that it knows tells more than that it knows none.
    let knows = |complaint: &&String| !complaint.contains("No such file");
    let telling = complaints.iter().find(knows).or(complaints.first());
    Ok(Err(telling.cloned().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_makes_what_it_says_or_does_not_apply() {
        let diff =
            "--- a/a b.md\t\n+++ b/a b.md\t\n@@ -1,2 +1,2 @@\n x\r\n-y\n+z\n\\ No newline at end of file\n";
        let applied =
            |path, before, diff: &str| super::applied(Path::new("/tmp/library"), path, before, diff);
        let made = applied("a b.md", b"x\r\ny\n", diff).unwrap();
        assert_eq!(made.as_deref(), Ok(&b"x\r\nz"[..]));
        assert!(applied("a b.md", b"x\ny\n", diff).unwrap().is_err());
        let absolute = diff
            .replace(" a/", " /tmp/library/")
            .replace(" b/", " /tmp/library/");
        let made = applied("a b.md", b"x\r\ny\n", &absolute).unwrap();
        assert_eq!(made.as_deref(), Ok(&b"x\r\nz"[..]));
        let refused = applied("a b.md", b"x\ny\n", &absolute).unwrap().unwrap_err();
        assert!(refused.contains("patch does not apply"), "{refused}");
        assert_eq!(applied("a.md", b"x", "").unwrap().as_deref(), Ok(&b"x"[..]));
    }
}
