//! A person's editor: ways of saving a file, and the check that no save is lost.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// How an editor writes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Truncates the file and writes to it.
    InPlace,
    /// Writes another file and renames it over the first.
    Rename,
    /// Renames the file to a backup and writes a new one.
    Backup,
}

/// A save that takes longer than this is exempt: a program that replaces the file meanwhile can't know that more is to come.
const PROMPT: Duration = Duration::from_millis(3);

/// A save.
#[derive(Debug, Clone)]
pub(super) struct Save {
    pub(super) content: Vec<u8>,
    /// The content that the next save replaced.
    pub(super) later: Option<Vec<u8>>,
    /// Whether it was written without a pause in the middle.
    pub(super) prompt: bool,
}

impl Save {
    /// Whether the person has overwritten it before any program touched it.
    pub(super) fn is_overwritten(&self) -> bool {
        self.later.as_ref() == Some(&self.content)
    }

    /// Whether the person has overwritten a text with its last line.
    pub(super) fn is_line_overwritten(&self) -> bool {
        let later = self.later.as_deref().map(String::from_utf8_lossy);
        later.is_some_and(|later| later.lines().any(|line| line == self.last_line()))
    }

    /// Distinguishes this editor's saves from others.
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
        Self {
            path,
            style,
            saves: vec![],
        }
    }

    /// Saves `content`, whatever the file holds.
    pub(super) fn save(&mut self, content: impl Into<Vec<u8>>) {
        let content = content.into();
        let (replaced, prompt) = match self.style {
            Style::InPlace => write_in_place(&self.path, &content),
            Style::Rename => (self.rename_over(&content), true),
            Style::Backup => {
                let backup = self.beside("~");
                let there = fs::rename(&self.path, &backup).is_ok();
                let (late, prompt) = write_in_place(&self.path, &content);
                // A file created meanwhile is overwritten.
                let replaced = if there {
                    fs::read(&backup).expect("a backup")
                } else {
                    late
                };
                (replaced, prompt)
            }
        };
        if let Some(last) = self.saves.last_mut() {
            last.later = Some(replaced);
        }
        self.saves.push(Save {
            content,
            later: None,
            prompt,
        });
    }

    /// Puts a new file in the place of the old one, and looks at what it was.
    fn rename_over(&self, content: &[u8]) -> Vec<u8> {
        let aside = self.beside(".swp");
        fs::write(&aside, content).expect("written");
        // To others this is a rename; and it shows what was there in that very moment.
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

/// Empties a file and writes into it; what it held, and whether that was prompt.
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
    (replaced, since.elapsed() < PROMPT)
}

/// The last lines of saves that are in none of `versions`, though the person had not overwritten them.
pub(super) fn lost(saves: &[Save], versions: &HashSet<Vec<u8>>) -> Vec<String> {
    saves
        .iter()
        .filter(|save| save.prompt && !save.is_overwritten() && !versions.contains(&save.content))
        .map(Save::last_line)
        .collect()
}

/// The lines that were added in saves and that none of `versions` has.
pub(super) fn lost_lines(saves: &[Save], versions: &HashSet<Vec<u8>>) -> Vec<String> {
    let texts: Vec<_> = versions
        .iter()
        .map(|version| String::from_utf8_lossy(version))
        .collect();
    let lines: HashSet<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    let added = saves.iter().filter(|save| save.prompt).map(Save::last_line);
    added.filter(|line| !lines.contains(&**line)).collect()
}

#[test]
fn a_missing_save_is_reported_as_lost() {
    let folder = tempfile::TempDir::new().expect("a folder");
    for style in [Style::InPlace, Style::Rename, Style::Backup] {
        let path = folder.path().join("a.md");
        let mut editor = Editor::new(path.clone(), style);
        editor.save("one");
        editor.save("two");
        fs::write(&path, "another program's").expect("written");
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
fn a_missing_line_is_reported_as_lost() {
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
