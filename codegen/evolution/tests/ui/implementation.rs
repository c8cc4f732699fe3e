//! An implementation of the contract as it was before the change. No case edits it.

use crate::notes::*;
use tabellion_runtime::{Change, Content, ReadCx, Staged, WriteCx};

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
        let content = Content::Write(plan(req.change).into_bytes());
        let change = Change::one(req.name, content, "change", "changed");
        Ok(cx.stage(change, |receipt| ChangeNoteResponse {
            commit: receipt.commit().into(),
        }))
    }

    async fn read_log(&self, _: &ReadCx<'_>, _: ReadLogRequest) -> Result<ReadLogResponse, ToolError> {
        Ok(ReadLogResponse { entries: vec![] })
    }

    async fn today_resource(&self, _: &ReadCx<'_>) -> Result<TodayResource, ToolError> {
        Ok(TodayResource { text: "today".into(), kind: None, lines: None })
    }

    async fn today_version(&self, _: &ReadCx<'_>) -> Result<String, ToolError> {
        Ok("1".into())
    }

    async fn tidy_note_prompt(
        &self,
        _: &ReadCx<'_>,
        arguments: TidyNoteArguments,
    ) -> Result<TidyNoteValues, ToolError> {
        let style = arguments.style.unwrap_or_default();
        Ok(TidyNoteValues { style, text: arguments.name })
    }

    async fn complete_tidy_note_name(&self, _: &ReadCx<'_>, value: &str) -> Result<Vec<String>, ToolError> {
        Ok(vec![value.into()])
    }
}

fn plan(change: NoteChange) -> String {
    match change {
        NoteChange::Append { text } | NoteChange::Replace { text, .. } => text,
        NoteChange::Clear => String::new(),
    }
}
