//! Reads and writes the library's files; several in one commit.

use std::{fs, path::Path, process::Command, thread, time::Duration};

use serde_json::{Value, json};

use super::{Shelf, note::Note};
use crate::{
    mutant::{Mutant, is},
    small::{Refusal, failed},
};

/// Folder of proposals.
pub(super) const WAITING: &str = "workflows";

impl Shelf {
    /// Returns the notes that are part of the library.
    pub(super) fn notes(&self) -> Result<Vec<Note>, Refusal> {
        Ok(self
            .all()?
            .into_iter()
            .filter(|note| !note.path.starts_with(WAITING))
            .collect())
    }

    /// Returns the proposals, open or decided.
    pub(super) fn proposals(&self) -> Result<Vec<Note>, Refusal> {
        Ok(self
            .all()?
            .into_iter()
            .filter(|note| note.path.starts_with(WAITING))
            .collect())
    }

    pub(super) fn note(&self, id: &str) -> Result<Option<Note>, Refusal> {
        Ok(self.notes()?.into_iter().find(|note| note.id() == id))
    }

    fn all(&self) -> Result<Vec<Note>, Refusal> {
        let mut notes = Vec::new();
        read(&self.library.0, &self.library.0, &mut notes).map_err(failed)?;
        notes.sort_by(|one: &Note, other| {
            let key = |note: &Note| (note.said("created_at").to_owned(), note.id().to_owned());
            key(one).cmp(&key(other))
        });
        Ok(notes)
    }

    /// Writes files and commits them together. An interrupted write is completed by the next call.
    pub(super) fn write(&self, notes: &[Note], message: &str) -> Result<(), Refusal> {
        if is(Mutant::CommitsPartByPart) {
            for note in notes {
                self.library
                    .write(&note.path, Some(note.text().as_bytes()), message)?;
                thread::sleep(Duration::from_millis(100));
            }
            return Ok(());
        }
        for note in notes {
            // A person's uncommitted text is a version, too.
            let there = fs::read_to_string(self.library.0.join(&note.path)).ok();
            if there.is_some() && there != self.committed(&note.path) {
                self.library.git(&["add", "--force", "--", &note.path])?;
                self.library
                    .git(&["commit", "--quiet", "-m", "by hand", "--", &note.path])?;
            }
        }
        let files: Vec<Value> = notes.iter().map(|note| json!([note.path, note.text()])).collect();
        let journal = json!({ "files": files, "message": message });
        let (journals, new) = (self.library.own("journal")?, self.library.own("journal.new")?);
        fs::write(&new, journal.to_string()).map_err(failed)?;
        fs::rename(&new, &journals).map_err(failed)?;
        self.recover()
    }

    /// Completes the write in the journal, which is committed already if there are no changes left to commit.
    pub(super) fn recover(&self) -> Result<(), Refusal> {
        let path = self.library.own("journal")?;
        let Ok(text) = fs::read_to_string(&path) else {
            return Ok(());
        };
        let journal: Value = serde_json::from_str(&text).unwrap_or_default();
        // Killed git processes left them. The lock among servers is ours.
        for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
            let _ = fs::remove_file(self.library.0.join(".git").join(lock));
        }
        let mut paths = Vec::new();
        for file in journal["files"].as_array().into_iter().flatten() {
            let (Some(path), Some(text)) = (file[0].as_str(), file[1].as_str()) else {
                continue;
            };
            let at = self.library.0.join(path);
            fs::create_dir_all(at.parent().unwrap_or(&self.library.0)).map_err(failed)?;
            fs::write(&at, text).map_err(failed)?;
            self.library.git(&["add", "--force", "--", path])?;
            paths.push(path);
        }
        let mut commit = vec![
            "commit",
            "--quiet",
            "-m",
            journal["message"].as_str().unwrap_or_default(),
        ];
        if is(Mutant::CommitsOthersWork) {
            self.library.git(&["add", "--all"])?;
        } else {
            commit.push("--");
            commit.extend(&paths);
        }
        let is_there = |path: &&str| {
            self.committed(path)
                .is_some_and(|text| self.is_there(path, &text))
        };
        if !paths.iter().all(is_there) {
            self.library.git(&commit)?;
        }
        fs::remove_file(path).map_err(failed)
    }

    fn is_there(&self, path: &str, text: &str) -> bool {
        fs::read_to_string(self.library.0.join(path)).is_ok_and(|there| there == text)
    }

    fn committed(&self, path: &str) -> Option<String> {
        self.git_says(&["show", &format!("HEAD:{path}")])
    }

    /// Returns a git command's output; `None` if it fails.
    pub(super) fn git_says(&self, arguments: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        let output = git.arg("-C").arg(&self.library.0).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then_some(text)
    }
}

fn read(root: &Path, folder: &Path, notes: &mut Vec<Note>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
        if name.starts_with('.') || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            read(root, &path, notes)?;
        } else if name.ends_with(".md")
            && let Ok(text) = fs::read_to_string(&path)
        {
            notes.push(Note::parse(&name, &text));
        }
    }
    Ok(())
}
