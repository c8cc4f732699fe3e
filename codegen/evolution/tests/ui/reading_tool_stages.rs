//! A reading tool's method stages a change, although its context can't stage.

#[path = "generated/unchanged.rs"]
mod notes;

use notes::*;
use tabellion_runtime::{Change, Content, ReadCx, Staged, WriteCx};

struct Server;

impl Notes for Server {
    async fn read_note(&self, cx: &ReadCx<'_>, _: ReadNoteRequest) -> Result<ReadNoteResponse, ToolError> {
        let change = Change::one("note", Content::Delete, "delete", "deleted");
        cx.stage(change, |_| ());
        unreachable!()
    }

    async fn preview_change(
        &self,
        _: &ReadCx<'_>,
        _: PreviewChangeRequest,
    ) -> Result<PreviewChangeResponse, ToolError> {
        unreachable!()
    }

    async fn change_note(
        &self,
        _: &WriteCx<'_>,
        _: ChangeNoteRequest,
    ) -> Result<Staged<ChangeNoteResponse>, ToolError> {
        unreachable!()
    }

    async fn read_log(&self, _: &ReadCx<'_>, _: ReadLogRequest) -> Result<ReadLogResponse, ToolError> {
        unreachable!()
    }
}

fn main() {}
