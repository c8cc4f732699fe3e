//! One change, its undo and its redo, on all kinds of documents.

use crate::{
    check::{Bench, Case, Check, Severity},
    checks::outline::{
        editor::{Editor, Entry, accepted},
        samples::{self, begin, sections},
    },
    documents::Document,
    judgement::{Judgement, Stop, ensure, fail},
    layout::DOCUMENT,
    ledger,
    reply::Reply,
    scene::Scene,
    settled,
};

pub(super) const UNDO: Check = Check {
    id: "undo/inverts",
    severity: Severity::Must,
    guarantees: &["undo-inverts", "ids-are-stable"],
    states: "Undo restores the document as it was before the change, byte for byte, and the ids of its \
            sections.",
    explains: "On a table of documents, and where there is no document yet, a section is inserted, updated, moved and deleted, \
               and the change is undone. Bytes and list of sections must be what they were before it.",
    cases: samples::cases,
    judge: |bench, case| judge(bench, case, Aspect::Undo),
    shrink: samples::shrink,
};

pub(super) const REDO: Check = Check {
    id: "undo/redo-inverts-undo",
    severity: Severity::Must,
    guarantees: &["redo-inverts-undo", "ids-are-stable"],
    states: "Redo restores the document as it was before the undo, byte for byte, and the ids of its \
            sections.",
    explains: "As undo/inverts, and the undo is then undone: bytes and list of sections must be those after the change.",
    cases: samples::cases,
    judge: |bench, case| judge(bench, case, Aspect::Redo),
    shrink: samples::shrink,
};

pub(super) const CLEARED: Check = Check {
    id: "undo/edit-clears-redo",
    severity: Severity::Must,
    guarantees: &["edit-clears-redo"],
    states: "After an edit there is nothing to redo, whatever was undone before.",
    explains: "A change is undone and a different one is made. A redo must be refused then, and the document stay as it is; the \
               other change can be undone, and after that done again.",
    cases: samples::cases,
    judge: |bench, case| judge(bench, case, Aspect::Cleared),
    shrink: samples::shrink,
};

pub(super) const KEPT: Check = Check {
    id: "undo/history-kept",
    severity: Severity::Must,
    guarantees: &["history-is-kept", "commit-per-edit"],
    states: "Every edit, undo and redo adds one commit of the document to the history.",
    explains: "Around each change, its undo and its redo git is asked: one commit more, whose only parent was HEAD, which \
               changes the document alone and has what lies in the folder; nothing is left uncommitted.",
    cases: samples::cases,
    judge: |bench, case| judge(bench, case, Aspect::Kept),
    shrink: samples::shrink,
};

/// What a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aspect {
    Undo,
    Redo,
    Cleared,
    Kept,
}

/// The kinds of edits.
const EDITS: [&str; 4] = ["an insertion", "an update", "a move", "a deletion"];

fn judge(bench: &Bench<'_>, case: &Case, aspect: Aspect) -> Judgement {
    samples::each(bench, case, |scene, editor, document| {
        for (number, what) in EDITS.iter().enumerate() {
            // In the quick profile, each document has two of them.
            if bench.pick((number + document.name.len()) % 2 == 1, false) {
                continue;
            }
            begin(scene, &document.text())?;
            round(bench, scene, editor, document, number, aspect)
                .map_err(|stop| saying(stop, what, document))?;
        }
        if aspect == Aspect::Cleared {
            return Ok(());
        }
        // Where there is no document, it comes, goes and comes again.
        scene.git(&["rm", "--quiet", "--force", DOCUMENT])?;
        scene.commit_all("no document")?;
        round(bench, scene, editor, document, 0, aspect)
    })
}

fn saying(stop: Stop, what: &str, document: &Document) -> Stop {
    match stop {
        Stop::Fail(mut failure) => {
            failure.what = format!("{what} in {}: {}", document.name, failure.what);
            Stop::Fail(failure)
        }
        other => other,
    }
}

/// Bytes and sections at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    bytes: Option<Vec<u8>>,
    list: Vec<Entry>,
}

impl State {
    fn of(scene: &Scene<'_>, editor: &mut Editor<'_>) -> Result<Self, Stop> {
        Ok(Self {
            bytes: scene.read(DOCUMENT),
            list: editor.list()?,
        })
    }

    fn same(&self, later: &Self, when: &str) -> Judgement {
        let bytes = |state: &Self| state.bytes.clone();
        ensure(bytes(self) == bytes(later), || {
            format!("{when} the document is not what it should be")
        })
        .map_err(|stop| stop.showing(DOCUMENT, self.bytes.as_deref(), later.bytes.as_deref()))?;
        ensure(self.list == later.list, || {
            format!(
                "{when} the sections are {:?} instead of {:?}",
                later.list, self.list
            )
        })
    }
}

/// Makes an edit; false where it may be refused, and was, or there is no section for it.
fn edit(
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    document: &Document,
    number: usize,
) -> Result<bool, Stop> {
    let text = samples::held(scene);
    let (list, seen) = (editor.list()?, sections(&text));
    if number > 0 && list.is_empty() {
        return Ok(false);
    }
    let last = list.len().saturating_sub(1);
    let reply = match number {
        0 => editor.insert("New one", "Some text.\n", list.len())?,
        1 => editor.update(&list[last].id, "Another text.\n")?,
        2 if list.len() < 2 || seen.len() != list.len() || seen[last].size != 1 => return Ok(false),
        2 => editor.relocate(&list[last].id, 0)?,
        _ => editor.delete(&list[0].id)?,
    };
    if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
        return Ok(false);
    }
    accepted(&reply, EDITS[number])?;
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
    let before = State::of(scene, editor)?;
    let commits = settled::view(scene)?.library.commits;
    if !edit(scene, editor, document, number)? {
        return Ok(());
    }
    let after = State::of(scene, editor)?;
    let mut kept = HistoryCheck { bench, commits };
    if aspect == Aspect::Kept {
        kept.one_more(scene, "an edit")?;
    }
    accepted(&editor.undo()?, "an undo")?;
    match aspect {
        Aspect::Undo => return before.same(&State::of(scene, editor)?, "after the undo"),
        Aspect::Kept => kept.one_more(scene, "an undo")?,
        Aspect::Redo | Aspect::Cleared => {}
    }
    if aspect == Aspect::Cleared {
        let other = editor.insert("Another", "Other text.\n", 0)?;
        if matches!(other, Reply::Refused(_)) {
            return ensure(samples::may_refuse(document), || {
                "an insertion after an undo was refused".into()
            });
        }
        let other = State::of(scene, editor)?;
        let reply = editor.redo()?;
        ensure(matches!(reply, Reply::Refused(_)), || {
            "a redo was accepted after an edit that came after the undo".into()
        })?;
        other.same(&State::of(scene, editor)?, "after the refused redo")?;
        accepted(&editor.undo()?, "an undo of the other edit")?;
        before.same(&State::of(scene, editor)?, "after its undo")?;
        accepted(&editor.redo()?, "a redo of the other edit")?;
        return other.same(&State::of(scene, editor)?, "after its redo");
    }
    accepted(&editor.redo()?, "a redo")?;
    match aspect {
        Aspect::Kept => kept.one_more(scene, "a redo"),
        _ => after.same(&State::of(scene, editor)?, "after the redo"),
    }
}

/// The history so far.
struct HistoryCheck<'a, 'b> {
    bench: &'a Bench<'b>,
    /// Newest first.
    commits: Vec<String>,
}

impl HistoryCheck<'_, '_> {
    /// Fails unless there is one commit more, of the document alone, on top of all others.
    fn one_more(&mut self, scene: &Scene<'_>, what: &str) -> Judgement {
        if !self.bench.subject.should_commit() {
            return Err(fail("the server makes no commits"));
        }
        let library = settled::view(scene)?.library;
        let is_on_top = library.commits.get(1..) == Some(&self.commits[..]);
        ensure(is_on_top, || {
            let (old, new) = (self.commits.len(), library.commits.len());
            format!("{what} made of {old} commits {new}, or not on top of them")
        })?;
        let changed = ledger::git(&scene.library(), &["show", "--format=", "--name-only", "HEAD"])?;
        ensure(changed.trim() == DOCUMENT, || {
            format!(
                "the commit of {what} changes {:?} instead of `{DOCUMENT}`",
                changed.trim()
            )
        })?;
        ensure(library.status.is_empty(), || {
            format!(
                "after {what} git finds changes that are not committed: {}",
                library.status
            )
        })?;
        self.commits = library.commits;
        Ok(())
    }
}
