//! A method of one ground stages a change of another.

use tabellion_runtime::{Change, Content, ContentId, Failure, Ground, Shows, Staged, WriteCx};

enum Rows {}

impl Ground for Rows {
    type View<'v> = ();
    type Change = ();
    type Before = ();

    fn names(_: &()) -> Vec<&str> {
        vec![]
    }

    fn before(_: (), _: &()) -> Result<(), Failure> {
        Ok(())
    }

    fn base(_: &()) -> Option<&ContentId> {
        None
    }

    fn appended(_: &(), _: &()) -> Result<String, String> {
        Ok(String::new())
    }

    fn approved<'c>(_: &'c (), _: &'c (), _: Shows) -> Result<Vec<Option<&'c [u8]>>, String> {
        Ok(vec![])
    }
}

fn stages_a_document(cx: &WriteCx<'_, Rows>) -> Staged<(), Rows> {
    cx.stage(Change::one("note", Content::Delete, "delete", "deleted"), |_| ())
}

fn returns_a_document(cx: &WriteCx<'_>) -> Staged<(), Rows> {
    cx.stage(Change::one("note", Content::Delete, "delete", "deleted"), |_| ())
}

fn main() {}
