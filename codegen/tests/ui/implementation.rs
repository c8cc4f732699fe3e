//! An implementation of the contract as it was before the change. No case edits it.

use crate::notes::*;
use tabellion_schemas::{Change, Content, ReadCx, Staged, WriteCx};

pub struct Server;

impl Notes for Server {
    async fn read_note(&self, _: &ReadCx<'_>, req: ReadNoteRequest) -> Result<ReadNoteResponse, ToolError> {
        let text = format!("the first {} lines", req.lines);
        Ok(ReadNoteResponse { text, kind: Kind::Draft })
    }

    async fn preview_change(
        &self,
        _: &ReadCx<'_>,
        req: PreviewChangeRequest,
    ) -> Result<PreviewChangeResponse, ToolError> {
        let diff = plan(req.change);
        Ok(PreviewChangeResponse { diff })
    }

    async fn change_note(
        &self,
        cx: &WriteCx<'_>,
        req: ChangeNoteRequest,
    ) -> Result<Staged<ChangeNoteResponse>, ToolError> {
        let change = Change {
            path: req.name,
            content: Content::Write(plan(req.change).into_bytes()),
            operation: "change",
            summary: "changed".into(),
        };
        Ok(cx.stage(change, |receipt| ChangeNoteResponse {
            commit: receipt.commit().into(),
        }))
    }

    async fn read_log(&self, _: &ReadCx<'_>, _: ReadLogRequest) -> Result<ReadLogResponse, ToolError> {
        Ok(ReadLogResponse { entries: vec![] })
    }
}

fn plan(change: NoteChange) -> String {
    match change {
        NoteChange::Append { text } | NoteChange::Replace { text, .. } => text,
        NoteChange::Clear => String::new(),
    }
}
