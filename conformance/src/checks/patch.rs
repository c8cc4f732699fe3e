//! Applies unified diffs with git.

use std::{fs, io, path::Path};

use crate::{ledger::git, watcher};

/// Returns true if a text is a diff with hunks, or empty as that of no change is.
pub(super) fn is_diff(text: &str) -> bool {
    text.trim().is_empty() || text.lines().any(|line| line.starts_with("@@ -"))
}

/// Returns the document that `git apply` makes from `before`, the document at `path` in the library at `root`, if there is one; the
/// inner error is git's message if the diff does not apply. A document that the diff deletes is empty.
pub(super) fn applied(
    root: &Path,
    path: &str,
    before: Option<&[u8]>,
    diff: &str,
) -> io::Result<Result<Vec<u8>, String>> {
    // The headers alone are the diff of a change without effect.
    if !diff.lines().any(|line| line.starts_with("@@")) {
        return Ok(Ok(before.unwrap_or_default().to_vec()));
    }
    let dir = watcher::folder()?;
    let (tree, patch) = (dir.path().join("tree"), dir.path().join("patch"));
    let document = tree.join(path);
    fs::create_dir_all(document.parent().unwrap_or(Path::new("/")))?;
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
    // Without git's own headers, the diff of a new document is one of an empty document.
    let starts = if before.is_none() { vec![None, Some(&b""[..])] } else { vec![before] };
    for start in starts {
        start.map_or(Ok(()), |start| fs::write(&document, start))?;
        for level in levels {
            match apply(level) {
                Ok(_) => {
                    let made = fs::read(&document).ok();
                    if made.as_deref() != start {
                        return Ok(Ok(made.unwrap_or_default()));
                    }
                    errors.push(format!("the diff changes a file other than `{path}`"));
                }
                Err(error) => errors.push(error.to_string()),
            }
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
        let applied = |path, before: &[u8], diff: &str| {
            super::applied(Path::new("/tmp/library"), path, Some(before), diff)
        };
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
    #[test]
    fn documents_are_created_and_deleted() {
        let new =
            "diff --git a/a.md b/a.md\nnew file mode 100644\n--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+x\n";
        let gone = "diff --git a/a.md b/a.md\ndeleted file mode 100644\n--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        for (before, diff, expected) in [
            (None, new, Some("x\n")),
            (None, "--- a/a.md\n+++ b/a.md\n@@ -0,0 +1 @@\n+x\n", Some("x\n")),
            (None, "", Some("")),
            (Some(&b"x\n"[..]), new, None),
            (Some(b"x\n"), gone, Some("")),
            (None, gone, None),
        ] {
            let made = applied(Path::new("/tmp/library"), "a.md", before, diff).unwrap();
            assert_eq!(made.ok().as_deref(), expected.map(str::as_bytes), "{diff}");
        }
    }
}
