//! Libraries for measurements: of given numbers of files and commits, always the same ones.

use std::{
    fmt::Write as _,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use tabellion_conformance::ledger;
use tempfile::TempDir;

use xtask::{Outcome, root};

/// Number of files in a folder.
const IN_FOLDER: usize = 100;
/// Approximate size of a file in bytes.
const FILE_BYTES: usize = 3000;

/// A library in a temporary folder.
pub(super) struct Library {
    folder: TempDir,
    files: usize,
    commits: usize,
}

impl Library {
    /// Creates a library of `files` files inside a folder; the first of `commits` commits contains all of them.
    pub(super) fn make(within: &Path, files: usize, commits: usize) -> Outcome<Self> {
        let folder = tempfile::tempdir_in(root().join(within))?;
        let library = Self { folder, files, commits };
        let top = library.root();
        ledger::git(top, &["init", "--quiet", "--initial-branch=main"])?;
        library.import()?;
        ledger::git(top, &["reset", "--quiet", "--hard"])?;
        Ok(library)
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn files(&self) -> usize {
        self.files
    }

    pub(super) fn commits(&self) -> usize {
        self.commits
    }

    /// Returns the path of one of the files, spread over all of them.
    pub(super) fn path(&self, i: usize) -> String {
        path(i * 7919 % self.files)
    }

    /// Writes the history as one pack.
    fn import(&self) -> Outcome {
        let mut git = Command::new("git")
            .arg("-C")
            .arg(self.root())
            .args(["fast-import", "--quiet", "--done"])
            .stdin(Stdio::piped())
            .spawn()?;
        let mut stream = std::io::BufWriter::new(git.stdin.take().ok_or("git has no input")?);
        for commit in 0..self.commits {
            let person = format!("A Person <person@localhost> {} +0000", 1_700_000_000 + commit);
            write!(stream, "commit refs/heads/main\ncommitter {person}\ndata 5\nedit\n\n")?;
            let changed = if commit == 0 { 0..self.files } else { 0..1 };
            for file in changed {
                let number = if commit == 0 { file } else { commit * 7919 % self.files };
                let text = words(number + commit, FILE_BYTES);
                write!(stream, "M 100644 inline {}\ndata {}\n{text}\n", path(number), text.len())?;
            }
        }
        writeln!(stream, "done")?;
        drop(stream.into_inner()?);
        if git.wait()?.success() { Ok(()) } else { Err("git fast-import failed".into()) }
    }
}

fn path(number: usize) -> String {
    let folder = number / IN_FOLDER;
    format!("area-{:02}/topic-{folder:04}/note-{number:06}.md", folder % 10)
}

/// Returns about `bytes` of Markdown made of words, different for each `seed`.
pub(super) fn words(seed: usize, bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "plan", "review", "the", "of", "library", "note", "section", "change", "and", "history", "to", "a",
        "decision", "reader", "commit", "is",
    ];
    let mut text = format!("# Note {seed}\n\n");
    let mut state = seed as u64;
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS[(state >> 60) as usize];
        let end = if state >> 32 & 15 == 0 { ".\n\n" } else { " " };
        let _ = write!(text, "{word}{end}");
    }
    text
}
