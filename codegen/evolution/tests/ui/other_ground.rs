//! A method of one ground stages a change of another.

use tabellion_runtime::{Change, Content, Rows, Staged, WriteCx};

fn stages_a_document(cx: &WriteCx<'_, Rows>) -> Staged<(), Rows> {
    cx.stage(Change::one("note", Content::Delete, "delete", "deleted"), |_| ())
}

fn returns_a_document(cx: &WriteCx<'_>) -> Staged<(), Rows> {
    cx.stage(Change::one("note", Content::Delete, "delete", "deleted"), |_| ())
}

fn main() {}
