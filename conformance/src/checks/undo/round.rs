//! Checks of one change, its undo and its redo, on all kinds of documents.

use crate::{
    checks::{
        outline::{
            editor::{Editor, Entry},
            samples::{self, commit_document, sections},
        },
        prelude::*,
    },
    documents::Document,
    judgement::ensure_accepted,
    layout::DOCUMENT,
    ledger, settled,
};

pub(super) const UNDO: Check = Check {
    id: "undo/inverts",
    guarantees: &["undo-inverts", "ids-are-stable"],
    states: "Undo restores the document as it was before the change, byte for byte, and the ids of its \
            sections.",
    explains: "Inserts, updates, moves and deletes a section in a table of documents and in a missing document, and \
               undoes the change. The bytes and the list of sections must be as before the change.",
    cases: samples::cases,
    shrink: samples::shrink,
    ..Check::must(|bench, case| judge(bench, case, Aspect::Undo))
};

pub(super) const REDO: Check = Check {
    id: "undo/redo-inverts-undo",
    guarantees: &["redo-inverts-undo", "ids-are-stable"],
    states: "Redo restores the document as it was before the undo, byte for byte, and the ids of its \
            sections.",
    explains: "As undo/inverts, and then redoes the change. The bytes and the list of sections must be as after the \
               change.",
    cases: samples::cases,
    shrink: samples::shrink,
    ..Check::must(|bench, case| judge(bench, case, Aspect::Redo))
};

pub(super) const EDIT_CLEARS_REDO: Check = Check {
    id: "undo/edit-clears-redo",
    guarantees: &["edit-clears-redo"],
    states: "After an edit there is nothing to redo, whatever was undone before.",
    explains: "Undoes a change and makes a different one. A redo must then be refused and leave the document \
               unchanged; the second change can be undone and redone.",
    cases: samples::cases,
    shrink: samples::shrink,
    ..Check::must(|bench, case| judge(bench, case, Aspect::EditClearsRedo))
};

pub(super) const HISTORY_KEPT: Check = Check {
    id: "undo/history-kept",
    guarantees: &["history-is-kept", "commit-per-edit"],
    states: "Every edit, undo and redo adds one commit of the document to the history.",
    explains: "According to git, each change, undo and redo must add one commit to HEAD, which changes the document \
               alone and equals the folder; nothing may be left uncommitted.",
    cases: samples::cases,
    shrink: samples::shrink,
    ..Check::must(|bench, case| judge(bench, case, Aspect::History))
};

/// The aspect that a check judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aspect {
    Undo,
    Redo,
    EditClearsRedo,
    History,
}

/// The kinds of edits.
const EDITS: [&str; 4] = ["an insertion", "an update", "a move", "a deletion"];

fn judge(bench: &Bench<'_>, case: &Case, aspect: Aspect) -> Judgement {
    samples::for_each_document(bench, case, |scene, editor, document| {
        for (number, what) in EDITS.iter().enumerate() {
            // The quick profile makes two of the edits on each document.
            if bench.pick((number + document.name.len()) % 2 == 1, false) {
                continue;
            }
            commit_document(scene, &document.text())?;
            round(bench, scene, editor, document, number, aspect)
                .map_err(|stop| stop.about(format!("{what} in {}", document.name)))?;
        }
        if aspect == Aspect::EditClearsRedo {
            return Ok(());
        }
        // Starts from a missing document.
        scene.git(&["rm", "--quiet", "--force", DOCUMENT])?;
        scene.commit_all("no document")?;
        round(bench, scene, editor, document, 0, aspect)
    })
}

/// Bytes and sections of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) list: Vec<Entry>,
}

impl State {
    pub(super) fn read(scene: &Scene<'_>, editor: &mut Editor<'_>) -> Result<Self, Stop> {
        Ok(Self { bytes: scene.read(DOCUMENT), list: editor.list()? })
    }

    pub(super) fn same(&self, found: &Self, when: &str) -> Judgement {
        ensure(self.bytes == found.bytes, || format!("{when} the document has other bytes than expected"))
            .map_err(|stop| stop.showing(DOCUMENT, self.bytes.as_deref(), found.bytes.as_deref()))?;
        ensure(self.list == found.list, || {
            format!("{when} the sections are {:?} instead of {:?}", found.list, self.list)
        })
    }
}

/// Makes an edit. Returns false if it was legitimately refused, or there is no section for it.
fn edit(
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    document: &Document,
    number: usize,
) -> Result<bool, Stop> {
    let text = samples::document_text(scene);
    let (list, parsed) = (editor.list()?, sections(&text)?);
    if number > 0 && list.is_empty() {
        return Ok(false);
    }
    let last = list.len().saturating_sub(1);
    let reply = match number {
        0 => editor.insert("New one", "Some text.\n", list.len())?,
        1 => editor.update(&list[last].id, "Another text.\n")?,
        2 if list.len() < 2 || parsed.len() != list.len() || parsed[last].size != 1 => return Ok(false),
        2 => editor.relocate(&list[last].id, 0)?,
        _ => editor.delete(&list[0].id)?,
    };
    if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
        return Ok(false);
    }
    ensure_accepted(&reply, EDITS[number])?;
    Ok(true)
}

fn round(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    document: &Document,
    number: usize,
    aspect: Aspect,
) -> Judgement {
    let before = State::read(scene, editor)?;
    let commits = settled::view(scene)?.library.commits;
    if !edit(scene, editor, document, number)? {
        return Ok(());
    }
    let after = State::read(scene, editor)?;
    let mut history = HistoryCheck { bench, commits };
    if aspect == Aspect::History {
        history.ensure_one_commit(scene, "an edit")?;
    }
    ensure_accepted(&editor.undo()?, "an undo")?;
    match aspect {
        Aspect::Undo => return before.same(&State::read(scene, editor)?, "after the undo"),
        Aspect::History => history.ensure_one_commit(scene, "an undo")?,
        Aspect::Redo | Aspect::EditClearsRedo => {}
    }
    if aspect == Aspect::EditClearsRedo {
        let other = editor.insert("Another", "Other text.\n", 0)?;
        if matches!(other, Reply::Refused(_)) {
            return ensure(samples::may_refuse(document), || "an insertion after an undo was refused".into());
        }
        let other = State::read(scene, editor)?;
        let reply = editor.redo()?;
        ensure(matches!(reply, Reply::Refused(_)), || {
            "a redo was accepted although an edit followed the undo".into()
        })?;
        other.same(&State::read(scene, editor)?, "after the refused redo")?;
        ensure_accepted(&editor.undo()?, "an undo of the other edit")?;
        before.same(&State::read(scene, editor)?, "after the undo of the other edit")?;
        ensure_accepted(&editor.redo()?, "a redo of the other edit")?;
        return other.same(&State::read(scene, editor)?, "after the redo of the other edit");
    }
    ensure_accepted(&editor.redo()?, "a redo")?;
    match aspect {
        Aspect::History => history.ensure_one_commit(scene, "a redo"),
        _ => after.same(&State::read(scene, editor)?, "after the redo"),
    }
}

/// The history before the next change.
struct HistoryCheck<'a, 'b> {
    bench: &'a Bench<'b>,
    /// Commit ids, newest first.
    commits: Vec<String>,
}

impl HistoryCheck<'_, '_> {
    /// Fails unless HEAD has one new commit, of the document alone.
    fn ensure_one_commit(&mut self, scene: &Scene<'_>, what: &str) -> Judgement {
        if !self.bench.subject.should_commit() {
            return Err(fail("the server makes no commits"));
        }
        let library = settled::view(scene)?.library;
        let is_on_top = library.commits.get(1..) == Some(&self.commits[..]);
        ensure(is_on_top, || {
            let (old, new) = (self.commits.len(), library.commits.len());
            format!("{what} changed the history from {old} to {new} commits, or not by one commit on top")
        })?;
        let named = scene.own().except(&["show", "--format=", "--name-only", "HEAD"]);
        let changed = ledger::git(&scene.library(), &named)?;
        ensure(changed.trim() == DOCUMENT, || {
            format!("the commit of {what} changes {:?} instead of `{DOCUMENT}`", changed.trim())
        })?;
        ensure(library.status.is_empty(), || {
            format!("after {what} `git status` lists uncommitted changes: {}", library.status)
        })?;
        self.commits = library.commits;
        Ok(())
    }
}
