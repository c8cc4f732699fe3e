//! A person's editor: ways to save a file, and checks that no save is lost.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// The way an editor saves a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Truncates the file and writes into it.
    InPlace,
    /// Writes a temporary file and renames it over the file.
    Rename,
    /// Renames the file to a backup and writes a new one.
    Backup,
}

/// A save that left the file half written for longer than this does not count: a server that replaces the file meanwhile
/// can't know that the save is incomplete.
const MAX_HALF_WRITTEN: Duration = Duration::from_millis(3);

#[derive(Debug, Clone)]
pub(super) struct Save {
    pub(super) content: Vec<u8>,
    /// The content that the next save replaced.
    pub(super) later: Option<Vec<u8>>,
    /// True if it was written without a pause in the middle.
    pub(super) prompt: bool,
}

impl Save {
    /// Returns true if the person has overwritten it before another process changed it.
    pub(super) fn is_overwritten(&self) -> bool {
        self.later.as_ref() == Some(&self.content)
    }

    /// Returns true if the person has overwritten a text with its last line.
    pub(super) fn is_line_overwritten(&self) -> bool {
        let later = self.later.as_deref().map(String::from_utf8_lossy);
        later.is_some_and(|later| later.lines().any(|line| line == self.last_line()))
    }

    /// Returns the last line, which is unique.
    pub(super) fn last_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.content);
        text.lines().last().unwrap_or_default().to_owned()
    }
}

/// An editor with one file open.
#[derive(Debug)]
pub(super) struct Editor {
    path: PathBuf,
    style: Style,
    pub(super) saves: Vec<Save>,
}

impl Editor {
    pub(super) fn new(path: PathBuf, style: Style) -> Self {
        Self { path, style, saves: vec![] }
    }

    /// Saves `content`, without reading the file first.
    pub(super) fn save(&mut self, content: impl Into<Vec<u8>>) {
        let content = content.into();
        let (replaced, prompt) = match self.style {
            Style::InPlace => write_in_place(&self.path, &content),
            Style::Rename => (self.rename_over(&content), true),
            Style::Backup => {
                let backup = self.beside("~");
                let there = fs::rename(&self.path, &backup).is_ok();
                let (late, prompt) = write_in_place(&self.path, &content);
                // A file that another process created meanwhile is overwritten.
                let replaced = if there { fs::read(&backup).expect("a backup") } else { late };
                (replaced, prompt)
            }
        };
        if let Some(last) = self.saves.last_mut() {
            last.later = Some(replaced);
        }
        self.saves.push(Save { content, later: None, prompt });
    }

    /// Replaces the file by a new one, and returns the old content.
    fn rename_over(&self, content: &[u8]) -> Vec<u8> {
        let aside = self.beside(".swp");
        fs::write(&aside, content).expect("written");
        // Other processes see a rename; the exchange also returns the content at that moment.
        let exchanged = renameat_with(CWD, &aside, CWD, &self.path, RenameFlags::EXCHANGE);
        if exchanged.is_err() {
            fs::rename(&aside, &self.path).expect("renamed");
            return vec![];
        }
        let replaced = fs::read(&aside).expect("what was there");
        fs::remove_file(&aside).expect("removed");
        replaced
    }

    /// Reads the file, adds a line, and saves it.
    pub(super) fn add(&mut self, line: &str) {
        let mut content = fs::read(&self.path).expect("the file");
        content.extend(format!("{line}\n").into_bytes());
        self.save(content);
    }

    /// Closes the file.
    pub(super) fn close(self) -> Vec<Save> {
        let _ = fs::remove_file(self.beside("~"));
        self.saves
    }

    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(end);
        name.into()
    }
}

/// Truncates a file and writes into it; returns its old content, and true if the write was prompt.
fn write_in_place(path: &Path, content: &[u8]) -> (Vec<u8>, bool) {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).expect("opened");
    let since = Instant::now();
    let mut replaced = vec![];
    file.read_to_end(&mut replaced).expect("read");
    file.set_len(0).expect("emptied");
    file.rewind().expect("at its beginning");
    file.write_all(content).expect("written");
    (replaced, since.elapsed() < MAX_HALF_WRITTEN)
}

/// Returns the last lines of saves that are in none of `versions`, and that the person has not overwritten.
pub(super) fn lost(saves: &[Save], versions: &HashSet<Vec<u8>>) -> Vec<String> {
    saves
        .iter()
        .filter(|save| save.prompt && !save.is_overwritten() && !versions.contains(&save.content))
        .map(Save::last_line)
        .collect()
}

/// Returns the lines added in saves that are in none of `versions`.
pub(super) fn lost_lines(saves: &[Save], versions: &HashSet<Vec<u8>>) -> Vec<String> {
    let texts: Vec<_> = versions.iter().map(|version| String::from_utf8_lossy(version)).collect();
    let lines: HashSet<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    let added = saves.iter().filter(|save| save.prompt).map(Save::last_line);
    added.filter(|line| !lines.contains(&**line)).collect()
}

#[test]
fn the_check_reports_a_lost_save() {
    let folder = tempfile::TempDir::new().expect("a folder");
    for style in [Style::InPlace, Style::Rename, Style::Backup] {
        let path = folder.path().join("a.md");
        let mut editor = Editor::new(path.clone(), style);
        editor.save("one");
        editor.save("two");
        fs::write(&path, "other content").expect("written");
        editor.save("three");
        for save in &mut editor.saves {
            save.prompt = true;
        }
        let now = HashSet::from([fs::read(&path).expect("read")]);
        let saves = editor.close();
        assert_eq!(lost(&saves, &now), ["two"], "{style:?}");
    }
}

#[test]
fn the_check_reports_a_lost_line() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("a.md");
    fs::write(&path, "").expect("written");
    let mut editor = Editor::new(path.clone(), Style::Rename);
    editor.add("one");
    editor.add("two");
    fs::write(&path, "one\n").expect("put back");
    editor.add("three");
    let now = HashSet::from([fs::read(&path).expect("read")]);
    assert_eq!(lost_lines(&editor.close(), &now), ["two"]);
}
