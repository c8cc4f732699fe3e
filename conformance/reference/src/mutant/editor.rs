//! Mutants of the server of `safe-markdown-editor`.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const EDITOR: &[Specimen] = &[
    specimen(
        Mutant::CountsFromOne,
        "counts-from-one",
        "listed positions count from 1",
        &["outline/position"],
    ),
    specimen(
        Mutant::InsertsBehind,
        "inserts-behind",
        "a section is inserted after the one at the position",
        &["outline/position"],
    ),
    specimen(
        Mutant::MovesBefore,
        "moves-before",
        "a move counts positions as before the move",
        &["outline/position"],
    ),
    specimen(
        Mutant::ClampsPositions,
        "clamps-positions",
        "a position out of range means the last one",
        &["outline/position"],
    ),
    specimen(
        Mutant::ReadsTheHeading,
        "reads-the-heading",
        "a section's text includes its heading",
        &["outline/get-update"],
    ),
    specimen(
        Mutant::AddsNewlines,
        "adds-newlines",
        "an update adds a blank line",
        &["outline/get-update"],
    ),
    specimen(
        Mutant::EatsChildren,
        "eats-children",
        "an update removes the subsections",
        &["outline/inside"],
    ),
    specimen(
        Mutant::KeepsChildren,
        "keeps-children",
        "a deletion keeps the subsections",
        &["outline/inside"],
    ),
    specimen(
        Mutant::TrimsDocuments,
        "trims-documents",
        "the end of the document is trimmed",
        &["outline/inside"],
    ),
    specimen(
        Mutant::IdsArePlaces,
        "ids-are-places",
        "an id is a position",
        &["outline/ids"],
    ),
    specimen(
        Mutant::IdsComeAgain,
        "ids-come-again",
        "a freed id is reused",
        &["outline/ids"],
    ),
    specimen(
        Mutant::IdsOfAProcess,
        "ids-of-a-process",
        "each process assigns different ids",
        &["outline/ids"],
    ),
    specimen(
        Mutant::GoneIsTheFirst,
        "gone-is-the-first",
        "an unknown id means the first section",
        &["outline/gone-id"],
    ),
    specimen(
        Mutant::UndoForgetsIds,
        "undo-forgets-ids",
        "an undo changes all ids",
        &["undo/inverts"],
    ),
    specimen(
        Mutant::UndoEndsLines,
        "undo-ends-lines",
        "an undo adds a newline at the end",
        &["undo/inverts"],
    ),
    specimen(
        Mutant::RedoDoesNothing,
        "redo-does-nothing",
        "a redo reports success and does nothing",
        &["undo/redo-inverts-undo"],
    ),
    specimen(
        Mutant::KeepsRedo,
        "keeps-redo",
        "an edit does not clear the redo history",
        &["undo/edit-clears-redo"],
    ),
    specimen(
        Mutant::UndoResets,
        "undo-resets",
        "an undo removes the last commit",
        &["undo/history-kept"],
    ),
    specimen(
        Mutant::UndoOverwrites,
        "undo-overwrites",
        "an undo overwrites a person's edits",
        &["undo/hand-edit"],
    ),
    specimen(
        Mutant::RedoesOnce,
        "redoes-once",
        "a redo clears the redo history",
        &["undo/program"],
    ),
    specimen(
        Mutant::UndoOfNothing,
        "undo-of-nothing",
        "an undo without an edit succeeds",
        &["undo/nothing"],
    ),
    specimen(
        Mutant::ThreeLevels,
        "three-levels",
        "only three edits can be undone",
        &["undo/levels"],
    ),
    specimen(
        Mutant::UndoOfAProcess,
        "undo-of-a-process",
        "a process can undo only its own edits",
        &["undo/levels"],
    ),
    specimen(
        Mutant::UndoIsNotLogged,
        "undo-is-not-logged",
        "the history lacks undos",
        &["mutation/recorded"],
    ),
];

const fn specimen(
    mutant: Mutant,
    name: &'static str,
    breaks: &'static str,
    detected_by: &'static [&'static str],
) -> Specimen {
    Specimen {
        mutant,
        name,
        server: CorrectServer::Editor,
        breaks,
        imitates: None,
        detected_by,
    }
}
