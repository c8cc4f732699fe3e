//! A mutating tool's method answers without staging a change.

#[path = "generated/unchanged.rs"]
mod notes;

use notes::*;
use tabellion_runtime::{ReadCx, WriteCx};

struct Server;

impl Notes for Server {
    async fn read_note(&self, _: &ReadCx<'_>, _: ReadNoteRequest) -> Result<ReadNoteResponse, ToolError> {
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
    ) -> Result<ChangeNoteResponse, ToolError> {
        Ok(ChangeNoteResponse { commit: "made up".into() })
    }

    async fn read_log(&self, _: &ReadCx<'_>, _: ReadLogRequest) -> Result<ReadLogResponse, ToolError> {
        unreachable!()
    }
}

fn main() {}
