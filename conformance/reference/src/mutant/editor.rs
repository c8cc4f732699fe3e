//! Mutants of the server of `safe-markdown-editor`.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const EDITOR: &[Specimen] = &[
    specimen(
        Mutant::CountsFromOne,
        "counts-from-one",
        "positions that are listed count from 1",
        &["outline/position"],
    ),
    specimen(
        Mutant::InsertsBehind,
        "inserts-behind",
        "a section comes behind the one at the position",
        &["outline/position"],
    ),
    specimen(
        Mutant::MovesBefore,
        "moves-before",
        "a place is counted as it was before the move",
        &["outline/position"],
    ),
    specimen(
        Mutant::ClampsPositions,
        "clamps-positions",
        "a position that there is not is the last one",
        &["outline/position"],
    ),
    specimen(
        Mutant::ReadsTheHeading,
        "reads-the-heading",
        "a section's text begins with its heading",
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
        "an update takes the sections in the section",
        &["outline/inside"],
    ),
    specimen(
        Mutant::KeepsChildren,
        "keeps-children",
        "a deletion leaves the sections in the section",
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
        "an id is a place",
        &["outline/ids"],
    ),
    specimen(
        Mutant::IdsComeAgain,
        "ids-come-again",
        "an id that is free is given again",
        &["outline/ids"],
    ),
    specimen(
        Mutant::IdsOfAProcess,
        "ids-of-a-process",
        "each process gives other ids",
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
        "after an undo all ids are new",
        &["undo/inverts"],
    ),
    specimen(
        Mutant::UndoEndsLines,
        "undo-ends-lines",
        "an undo ends the last line",
        &["undo/inverts"],
    ),
    specimen(
        Mutant::RedoDoesNothing,
        "redo-does-nothing",
        "a redo is only said to be made",
        &["undo/redo-inverts-undo"],
    ),
    specimen(
        Mutant::KeepsRedo,
        "keeps-redo",
        "an edit leaves what there is to redo",
        &["undo/edit-clears-redo"],
    ),
    specimen(
        Mutant::UndoResets,
        "undo-resets",
        "an undo takes the last commit away",
        &["undo/history-kept"],
    ),
    specimen(
        Mutant::UndoOverwrites,
        "undo-overwrites",
        "a person's edits are undone over",
        &["undo/hand-edit"],
    ),
    specimen(
        Mutant::RedoesOnce,
        "redoes-once",
        "a redo leaves nothing else to redo",
        &["undo/program"],
    ),
    specimen(
        Mutant::UndoOfNothing,
        "undo-of-nothing",
        "an undo of nothing is fine",
        &["undo/nothing"],
    ),
    specimen(
        Mutant::ThreeLevels,
        "three-levels",
        "three edits can be undone",
        &["undo/levels"],
    ),
    specimen(
        Mutant::UndoOfAProcess,
        "undo-of-a-process",
        "each process knows its own edits",
        &["undo/levels"],
    ),
    specimen(
        Mutant::UndoIsNotLogged,
        "undo-is-not-logged",
        "an undo is not in the history",
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
