//! A server for a contract of its own: `schemas/notes` is the contract, `generated` is what
//! [`tabellion_codegen::generate`] makes of it, this file is all that a person writes.
//!
//! `cargo run -p tabellion-codegen --example notes` calls each tool once.

mod generated;
mod memory;

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use generated::notes::{
    ChangeNoteRequest, ChangeNoteResponse, Kind, NoteChange, Notes, PreviewChangeRequest,
    PreviewChangeResponse, ReadLogRequest, ReadLogResponse, ReadNoteRequest, ReadNoteResponse, Service,
    ToolError,
};
use serde_json::{Value, json};
use tabellion_schemas::{CallContext, Change, Content, Contract, ReadCx, Staged, WriteCx};

use memory::Memory;

/// The notes, which know nothing of commits, validation or JSON.
struct Plain;

impl Notes for Plain {
    async fn read_note(&self, cx: &ReadCx<'_>, req: ReadNoteRequest) -> Result<ReadNoteResponse, ToolError> {
        let text = text(cx.read(&req.name)?.map(|document| document.bytes))?;
        let Some(text) = text else {
            return Err(ToolError::not_found(format!("there is no note `{}`", req.name)));
        };
        let kind = if text.contains('?') {
            Kind::Draft
        } else {
            Kind::Final
        };
        let text = text.split_inclusive('\n').take(req.lines as usize).collect();
        Ok(ReadNoteResponse { text, kind })
    }

    async fn preview_change(
        &self,
        cx: &ReadCx<'_>,
        req: PreviewChangeRequest,
    ) -> Result<PreviewChangeResponse, ToolError> {
        let old = text(cx.read(&req.name)?.map(|document| document.bytes))?.unwrap_or_default();
        let diff = format!("-{old}+{}", plan(&old, req.change)?);
        Ok(PreviewChangeResponse { diff })
    }

    async fn change_note(
        &self,
        cx: &WriteCx<'_>,
        req: ChangeNoteRequest,
    ) -> Result<Staged<ChangeNoteResponse>, ToolError> {
        let old = text(cx.read(&req.name)?.map(|document| document.bytes))?.unwrap_or_default();
        let change = Change {
            content: Content::Write(plan(&old, req.change)?.into_bytes()),
            operation: "change",
            summary: format!("change {}", req.name),
            path: req.name,
        };
        Ok(cx.stage(change, |receipt| ChangeNoteResponse {
            commit: receipt.commit().into(),
        }))
    }

    async fn read_log(&self, _: &ReadCx<'_>, _: ReadLogRequest) -> Result<ReadLogResponse, ToolError> {
        Ok(ReadLogResponse { entries: vec![] })
    }
}

/// What a note says after a change. Preview and change ask the same function.
fn plan(old: &str, change: NoteChange) -> Result<String, ToolError> {
    match change {
        NoteChange::Append { text } => Ok(old.to_string() + &text),
        NoteChange::Replace { text, line: None } => Ok(text),
        NoteChange::Replace {
            text,
            line: Some(line),
        } => {
            let mut lines: Vec<_> = old.split_inclusive('\n').collect();
            let place = usize::try_from(line)
                .ok()
                .and_then(|line| lines.get_mut(line - 1));
            *place.ok_or_else(|| ToolError::not_found(format!("there is no line {line}")))? = &text;
            Ok(lines.concat())
        }
        NoteChange::Clear => Ok(String::new()),
    }
}

fn text(bytes: Option<Vec<u8>>) -> Result<Option<String>, ToolError> {
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|error| ToolError::failed(format!("the note is no text: {error}")))
}

fn main() {
    let service = Service::new(Plain, Arc::new(Memory::default()));
    let append = json!({ "name": "shopping", "change": { "type": "append", "text": "eggs?\n" } });
    for (tool, arguments) in [
        ("preview_change", append.clone()),
        ("change_note", append),
        ("read_note", json!({ "name": "shopping" })),
        (
            "change_note",
            json!({ "name": "shopping", "change": { "type": "clear", "line": 1 } }),
        ),
        ("read_note", json!({ "name": "nowhere" })),
    ] {
        println!("{tool}: {:?}", call(&service, tool, arguments));
    }
}

fn call(service: &dyn Contract, tool: &str, arguments: Value) -> Result<Value, String> {
    let context = CallContext::default();
    let mut answer = pin!(service.call(&context, tool, arguments));
    loop {
        // Nothing here waits, so the first poll is ready; a server has a runtime such as tokio.
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return answer
                .map(|answer| answer.response)
                .map_err(|rejection| format!("{rejection:?}"));
        }
    }
}

#[test]
fn each_tool_answers_as_its_contract_says() {
    let service = Service::new(Plain, Arc::new(Memory::default()));
    let append = json!({ "name": "shopping", "change": { "type": "append", "text": "eggs?\n" } });
    assert_eq!(
        call(&service, "preview_change", append.clone()),
        Ok(json!({ "diff": "-+eggs?\n" }))
    );
    assert_eq!(
        call(&service, "change_note", append),
        Ok(json!({ "commit": "c1" }))
    );
    assert_eq!(
        call(&service, "read_note", json!({ "name": "shopping" })),
        Ok(json!({ "text": "eggs?\n", "kind": "draft" }))
    );
    for (tool, arguments, error) in [
        (
            "change_note",
            json!({ "name": "a", "change": { "type": "clear", "line": 1 } }),
            "clear_alone",
        ),
        (
            "read_note",
            json!({ "name": "a", "more": 1 }),
            "additionalProperties",
        ),
        ("read_note", json!({ "name": "nowhere" }), "NOT_FOUND"),
        ("no_such_tool", json!({}), "UnknownTool"),
    ] {
        let answer = call(&service, tool, arguments).unwrap_err();
        assert!(answer.contains(error), "{answer}");
    }
}
