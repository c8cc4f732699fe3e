//! A person's editor saves the same document that the server edits; no save and no edit may be lost without a trace.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::edits::{self, Edit};
use crate::{
    checks::prelude::*,
    crowd::join,
    history::{self, lines_with},
    judgement::Shows,
    settled,
};

const NOTE: &str = "note.md";
/// Maximum duration of a save in place that counts.
///
/// A server can't know that a half-written file is incomplete, so a slower save that it replaces is not a failure. Nor can it know
/// that an editor has the file open: a save into a file that is no longer the document's does not count either.
const MAX_SAVE_TIME: Duration = Duration::from_millis(3);
/// Time that the editor waits for the answer to an edit before it saves again.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(50);

/// An editor and servers that change the same document.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct EditorCase {
    style: SaveStyle,
    saves: usize,
    servers: usize,
    /// Number of calls of each server.
    edits: usize,
}

/// The editor's way to save a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SaveStyle {
    /// Truncates the file and writes to it.
    InPlace,
    /// Writes a temporary file and renames it over the document.
    Rename,
}

impl EditorCase {
    fn case(self) -> Case {
        let Self { style, saves, servers, edits } = self;
        let style = match style {
            SaveStyle::InPlace => "in place",
            SaveStyle::Rename => "by renaming",
        };
        let name = format!("{saves} saves {style} beside {servers} servers with {edits} edits each");
        Case::new(name, self)
    }
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let case = |(style, servers)| {
        let (saves, edits) = (40, 40 / servers);
        EditorCase { style, saves, servers, edits }.case()
    };
    let all =
        [(SaveStyle::Rename, 1), (SaveStyle::InPlace, 1), (SaveStyle::Rename, 2), (SaveStyle::InPlace, 2)];
    Ok(all[..bench.pick(2, 4)].iter().copied().map(case).collect())
}

/// Returns cases with fewer saves and edits, several times each because the failure depends on timing.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    const ATTEMPTS: usize = 4;
    let Ok(editing) = case.read::<EditorCase>() else {
        return Vec::new();
    };
    let all = editing.saves + editing.servers * editing.edits;
    [(1, 1), (2, 2), (5, 5), (10, 10), (20, 20)]
        .into_iter()
        .filter(|(saves, edits)| saves + edits < all)
        .map(|(saves, edits)| EditorCase { saves, edits, servers: 1, ..editing }.case())
        .flat_map(|case| vec![case; ATTEMPTS])
        .collect()
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let editing: EditorCase = case.read()?;
    edits::ensure_partial(bench.subject, EffectKind::Append)?;
    let note = &*bench.subject.place(EffectKind::Append, NOTE);
    let scene = bench.scene(&[(note, "# Note\n")])?;
    let mut editor = Editor::new(scene.path(note), editing.style);
    let answers = AtomicUsize::new(0);
    let mut dice = bench.dice(&case.name);
    let serve = |server: usize| -> Result<Vec<Edit>, Stop> {
        let edit = |number| Edit::append(bench.subject, NOTE, &format!("s{server}-e{number}"));
        let edits: Result<Vec<_>, _> = (0..editing.edits).map(edit).collect();
        let mut edits = edits?;
        let mut client = scene.start()?;
        for edit in &mut edits {
            edit.make(&mut client)?;
            answers.fetch_add(1, Ordering::Relaxed);
        }
        Ok(edits)
    };
    let (serve, answers) = (&serve, &answers);
    let (edits, saved) = thread::scope(|scope| {
        let servers: Vec<_> = (0..editing.servers).map(|server| scope.spawn(move || serve(server))).collect();
        let saved = (0..editing.saves).try_for_each(|number| {
            let (since, seen) = (Instant::now(), answers.load(Ordering::Relaxed));
            while answers.load(Ordering::Relaxed) == seen && since.elapsed() < ANSWER_TIMEOUT {
                thread::sleep(Duration::from_micros(200));
            }
            thread::sleep(Duration::from_micros(dice.u64(..6_000)));
            bench.trace.did(format!("the editor saves version {number}"));
            editor.save(format!("# Note\n\nversion-{number}\n"))
        });
        let edits: Result<Vec<_>, _> = servers.into_iter().map(join).collect();
        (edits, saved)
    });
    saved?;
    let mut edits: Vec<_> = edits?.into_iter().flatten().collect();
    edits.push(edits::make_last(bench, &scene, NOTE)?);
    let judged = judge_versions(bench, &scene, note, &edits, &editor);
    judged.map_err(|stop| stop.shows(Shows::Documents))?;
    judge_agreement(bench, &scene, note, &edits)
}

/// Fails if a save or an acknowledged edit is in no version, or a refused edit in any.
fn judge_versions(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    note: &str,
    edits: &[Edit],
    editor: &Editor,
) -> Judgement {
    let mut versions = history::versions(&scene.library())?;
    let saves = &editor.saves;
    let keeps = if bench.subject.should_commit() { Keeps::Exactly } else { Keeps::Within };
    let lost: Vec<_> = saves.iter().filter(|save| save.is_lost(&versions, keeps)).collect();
    if let Some(first) = lost.first() {
        let (all, of) = (lost.len(), saves.len());
        let what = format!(
            "{all} of {of} saves of the editor are neither in `{note}` nor in any stored version, although the editor did \
             not overwrite them itself"
        );
        return Err(fail(what).showing(note, Some(&first.content), scene.read(note).as_deref()));
    }
    if matches!(keeps, Keeps::Within) {
        // Without a history, the editor is responsible for text that it overwrote; and if both write in place, the suite
        // can't tell which of them truncated the file.
        let is_unknown = |save: &Save| save.is_followed && save.replaced_by_next.is_none();
        if editor.style == SaveStyle::InPlace || saves.iter().any(is_unknown) {
            return Ok(());
        }
        versions.extend(saves.iter().filter_map(|save| save.replaced_by_next.clone()));
        versions.extend(editor.replaced_first.clone());
    }
    let texts: Vec<_> = versions.iter().map(|version| String::from_utf8_lossy(version)).collect();
    for edit in edits {
        let token = &edit.token;
        let most = texts.iter().map(|text| lines_with(token, text.lines())).max();
        match (edit.is_done(), most.unwrap_or_default()) {
            (true, 1) | (false, 0) => Ok(()),
            (true, 0) => Err(fail(format!(
                "the edit {token} was acknowledged, but is neither in `{note}` nor in any stored version"
            ))),
            (false, _) => Err(fail(format!("the edit {token} was refused, but a version contains it"))),
            (true, times) => Err(fail(format!("a version contains the edit {token} {times} times"))),
        }?;
    }
    Ok(())
}

/// Fails unless folder, index, HEAD and log agree and no other file remains.
fn judge_agreement(bench: &Bench<'_>, scene: &Scene<'_>, note: &str, edits: &[Edit]) -> Judgement {
    edits::ensure_in_history(bench, &scene.library(), scene.own(), edits)
        .map_err(|stop| stop.shows(Shows::Commits))?;
    let view = settled::view(scene)?;
    if bench.subject.should_commit() {
        ensure(view.library.status.is_empty(), || {
            let status = view.library.status.trim();
            format!("folder, index and HEAD do not agree; git status says: {status}")
        })?;
    }
    let others = view.library.files.keys().find(|path| path.to_str() != Some(note));
    ensure_none(others, |path| format!("`{}` is left over", path.display()))?;
    settled::ensure_sound(scene)?;
    edits::ensure_in_log(bench, &mut scene.start()?, edits)
}

/// The form in which a version keeps a save.
#[derive(Debug, Clone, Copy)]
enum Keeps {
    /// As a version of its own: a server that commits records a person's save before it adds to it.
    Exactly,
    /// Within a version that the server has added to.
    Within,
}

impl Keeps {
    fn is_in(self, save: &[u8], version: &[u8]) -> bool {
        match self {
            Self::Exactly => version == save,
            Self::Within => version.starts_with(save),
        }
    }
}

/// One save of the editor.
#[derive(Debug)]
struct Save {
    content: Vec<u8>,
    /// Content that the next save replaced, if known.
    replaced_by_next: Option<Vec<u8>>,
    /// True if another save followed.
    is_followed: bool,
    /// True if the save was fast enough to count, and went into the document.
    is_prompt: bool,
}

impl Save {
    /// Returns true if no version contains the save, and the editor did not overwrite it itself.
    fn is_lost(&self, versions: &HashSet<Vec<u8>>, keeps: Keeps) -> bool {
        let is_overwritten = match &self.replaced_by_next {
            Some(replaced) => keeps.is_in(&self.content, replaced),
            None => self.is_followed,
        };
        let is_kept = versions.iter().any(|version| keeps.is_in(&self.content, version));
        self.is_prompt && !is_overwritten && !is_kept
    }
}

/// An editor with one file open.
struct Editor {
    path: PathBuf,
    style: SaveStyle,
    /// Content that the first save replaced, if known.
    replaced_first: Option<Vec<u8>>,
    saves: Vec<Save>,
}

impl Editor {
    fn new(path: PathBuf, style: SaveStyle) -> Self {
        Self { path, style, replaced_first: None, saves: Vec::new() }
    }

    /// Saves `content` without regard to the current content.
    fn save(&mut self, content: impl Into<Vec<u8>>) -> Judgement {
        let content = content.into();
        let (replaced, is_prompt) = match self.style {
            SaveStyle::InPlace => self.write_in_place(&content)?,
            SaveStyle::Rename => (self.rename_over(&content)?, true),
        };
        if let Some(last) = self.saves.last_mut() {
            last.replaced_by_next = replaced;
            last.is_followed = true;
        } else {
            self.replaced_first = replaced;
        }
        self.saves.push(Save { content, replaced_by_next: None, is_followed: false, is_prompt });
        Ok(())
    }

    /// Truncates the file and writes to it; returns the replaced content and whether the save counts: it was fast enough, and
    /// the document's file was not exchanged meanwhile.
    fn write_in_place(&self, content: &[u8]) -> Result<(Option<Vec<u8>>, bool), Stop> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let since = Instant::now();
        let mut file = options.open(&self.path)?;
        let mut replaced = Vec::new();
        file.read_to_end(&mut replaced)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(content)?;
        let is_prompt = since.elapsed() < MAX_SAVE_TIME;
        let written = file.metadata()?;
        let is_there = fs::metadata(&self.path).is_ok_and(|now| now.ino() == written.ino());
        Ok((Some(replaced), is_prompt && is_there))
    }

    /// Renames a new file over the old one; returns the replaced content if the file system can exchange files.
    fn rename_over(&self, content: &[u8]) -> Result<Option<Vec<u8>>, Stop> {
        let mut aside = self.path.clone().into_os_string();
        aside.push("~");
        fs::write(&aside, content)?;
        // Other programs see a rename, and the exchange keeps the replaced file.
        if renameat_with(CWD, &aside, CWD, &self.path, RenameFlags::EXCHANGE).is_err() {
            fs::rename(&aside, &self.path)?;
            return Ok(None);
        }
        let replaced = fs::read(&aside)?;
        fs::remove_file(&aside)?;
        Ok(Some(replaced))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_in_no_version_is_lost() {
        let folder = tempfile::TempDir::new().unwrap();
        for style in [SaveStyle::InPlace, SaveStyle::Rename] {
            let path = folder.path().join("a.md");
            let mut editor = Editor::new(path.clone(), style);
            for content in ["one", "two"] {
                editor.save(content).unwrap();
            }
            fs::write(&path, "another program's").unwrap();
            editor.save("three").unwrap();
            for save in &mut editor.saves {
                save.is_prompt = true;
            }
            let now = HashSet::from([fs::read(&path).unwrap()]);
            let lost =
                |keeps| -> Vec<_> { editor.saves.iter().map(|save| save.is_lost(&now, keeps)).collect() };
            assert_eq!(lost(Keeps::Exactly), [false, true, false], "{style:?}");
            assert_eq!(lost(Keeps::Within), [false, true, false], "{style:?}");
        }
    }

    #[test]
    fn a_save_that_the_server_added_to_is_kept_within_a_version() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("a.md");
        let mut editor = Editor::new(path.clone(), SaveStyle::Rename);
        let add = || fs::write(&path, [&fs::read(&path).unwrap(), b"- added\n".as_slice()].concat()).unwrap();
        editor.save("one\n").unwrap();
        add();
        editor.save("two\n").unwrap();
        add();
        let now = HashSet::from([fs::read(&path).unwrap()]);
        let lost = |keeps| -> Vec<_> { editor.saves.iter().map(|save| save.is_lost(&now, keeps)).collect() };
        assert_eq!(lost(Keeps::Within), [false, false]);
        assert_eq!(lost(Keeps::Exactly), [true, true]);
    }
}
