//! A server for its own contract: `schemas/notes` is the contract, `generated` is the output of [`tabellion_codegen::generate`], and only
//! this file is written by hand.
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
    TidyNoteArguments, TidyNoteValues, TodayResource, ToolError,
};
use serde_json::{Value, json};
use tabellion_runtime::{CallContext, Change, Content, Contract, ReadCx, Staged, WriteCx};

use memory::Memory;

/// The note that is a resource.
const TODAY: &str = "today";

/// The notes, which know nothing of commits, validation or JSON.
struct Plain;

impl Notes for Plain {
    async fn read_note(&self, cx: &ReadCx<'_>, req: ReadNoteRequest) -> Result<ReadNoteResponse, ToolError> {
        let text = text(cx.read(&req.name)?.map(|document| document.bytes))?;
        let Some(text) = text else {
            return Err(ToolError::not_found(format!("there is no note `{}`", req.name)));
        };
        let kind = kind(&text);
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
        let content = Content::Write(plan(&old, req.change)?.into_bytes());
        let summary = format!("change {}", req.name);
        let change = Change::one(req.name, content, "change", summary);
        Ok(cx.stage(change, |receipt| ChangeNoteResponse { commit: receipt.commit().into() }))
    }

    async fn read_log(&self, _: &ReadCx<'_>, _: ReadLogRequest) -> Result<ReadLogResponse, ToolError> {
        Ok(ReadLogResponse { entries: vec![] })
    }

    async fn today_resource(&self, cx: &ReadCx<'_>) -> Result<TodayResource, ToolError> {
        let text = text(cx.read(TODAY)?.map(|document| document.bytes))?.unwrap_or_default();
        Ok(TodayResource { kind: Some(kind(&text)), lines: Some(text.lines().count() as u64), text })
    }

    async fn today_version(&self, cx: &ReadCx<'_>) -> Result<String, ToolError> {
        Ok(cx.read(TODAY)?.map_or_else(String::new, |document| document.id.into()))
    }

    async fn tidy_note_prompt(
        &self,
        cx: &ReadCx<'_>,
        arguments: TidyNoteArguments,
    ) -> Result<TidyNoteValues, ToolError> {
        let text = text(cx.read(&arguments.name)?.map(|document| document.bytes))?;
        Ok(TidyNoteValues {
            style: arguments.style.unwrap_or_else(|| "plain".into()),
            text: text
                .ok_or_else(|| ToolError::not_found(format!("there is no note `{}`", arguments.name)))?,
        })
    }

    async fn complete_tidy_note_name(&self, cx: &ReadCx<'_>, value: &str) -> Result<Vec<String>, ToolError> {
        let there = cx.read(TODAY)?.is_some() && TODAY.starts_with(value);
        Ok(there.then(|| TODAY.into()).into_iter().collect())
    }
}

fn kind(text: &str) -> Kind {
    if text.contains('?') { Kind::Draft } else { Kind::Final }
}

/// Returns a note's text after a change. Preview and change call the same function.
fn plan(old: &str, change: NoteChange) -> Result<String, ToolError> {
    match change {
        NoteChange::Append { text } => Ok(old.to_string() + &text),
        NoteChange::Replace { text, line: None } => Ok(text),
        NoteChange::Replace { text, line: Some(line) } => {
            let mut lines: Vec<_> = old.split_inclusive('\n').collect();
            let place = usize::try_from(line).ok().and_then(|line| lines.get_mut(line - 1));
            *place.ok_or_else(|| ToolError::not_found(format!("there is no line {line}")))? = &text;
            Ok(lines.concat())
        }
        NoteChange::Clear => Ok(String::new()),
    }
}

fn text(bytes: Option<Vec<u8>>) -> Result<Option<String>, ToolError> {
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|error| ToolError::failed(format!("the note is not text: {error}")))
}

fn main() {
    let service = Service::new(Plain, Arc::new(Memory::default()));
    let append = json!({ "name": "shopping", "change": { "type": "append", "text": "eggs?\n" } });
    for (tool, arguments) in [
        ("preview_change", append.clone()),
        ("change_note", append),
        ("read_note", json!({ "name": "shopping" })),
        ("change_note", json!({ "name": "shopping", "change": { "type": "clear", "line": 1 } })),
        ("read_note", json!({ "name": "nowhere" })),
    ] {
        println!("{tool}: {:?}", call(&service, tool, arguments));
    }
}

fn call(service: &dyn Contract, tool: &str, arguments: Value) -> Result<Value, String> {
    let context = CallContext::default();
    let answer = done(service.call(&context, tool, arguments));
    answer.map(|answer| answer.response).map_err(|rejection| format!("{rejection:?}"))
}

/// Returns a future's result. No future here waits, so the first poll is ready; a server has a runtime such as tokio.
fn done<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

#[test]
fn each_tool_answers_as_its_contract_says() {
    let service = Service::new(Plain, Arc::new(Memory::default()));
    let append = json!({ "name": "shopping", "change": { "type": "append", "text": "eggs?\n" } });
    assert_eq!(call(&service, "preview_change", append.clone()), Ok(json!({ "diff": "-+eggs?\n" })));
    assert_eq!(call(&service, "change_note", append), Ok(json!({ "commit": "c1" })));
    assert_eq!(
        call(&service, "read_note", json!({ "name": "shopping" })),
        Ok(json!({ "text": "eggs?\n", "kind": "draft" }))
    );
    for (tool, arguments, error) in [
        ("change_note", json!({ "name": "a", "change": { "type": "clear", "line": 1 } }), "clear_alone"),
        ("read_note", json!({ "name": "a", "more": 1 }), "additionalProperties"),
        ("read_note", json!({ "name": "nowhere" }), "NOT_FOUND"),
        ("no_such_tool", json!({}), "UnknownTool"),
    ] {
        let answer = call(&service, tool, arguments).unwrap_err();
        assert!(answer.contains(error), "{answer}");
    }
}

#[test]
fn a_caller_beyond_the_limit_waits() {
    let service = Service::new(Plain, Arc::new(Memory::default()));
    let call = |who: &str, tool, arguments| {
        let context = CallContext { counted_as: Some(who.into()), ..CallContext::default() };
        done(service.call(&context, tool, arguments))
    };
    for who in ["ada", "bert"] {
        for _ in 0..59 {
            call(who, "read_log", json!({})).expect("an answer");
        }
        // Wrong calls are counted too.
        let wrong = call(who, "read_log", json!({ "more": 1 }));
        assert!(format!("{wrong:?}").contains("additionalProperties"), "{wrong:?}");
        let Err(tabellion_runtime::Rejection::Declared(error)) = call(who, "read_log", json!({})) else {
            panic!("one call too many is refused");
        };
        assert_eq!((error.name, error.code), ("TOO_OFTEN", -32003));
        assert_eq!(error.data["retryAfterSeconds"], 1);
        let elsewhere = call(who, "read_note", json!({ "name": "nowhere" }));
        assert!(format!("{elsewhere:?}").contains("NOT_FOUND"), "{elsewhere:?}");
    }
}

#[test]
fn resources_and_prompts_are_what_the_contract_says() {
    let service = Service::new(Plain, Arc::new(Memory::default()));
    let context = CallContext::default();
    let version = || done(service.resource_version("today")).expect("a version");
    let empty = version();
    let append = json!({ "name": "today", "change": { "type": "append", "text": "{style}\n" } });
    call(&service, "change_note", append).expect("changed");
    assert_ne!(version(), empty);
    assert_eq!(
        done(service.read_resource(&context, "today")).map(|answer| answer.response),
        Ok(json!({ "text": "{style}\n", "kind": "final", "lines": 1 }))
    );
    let prompt = |name: &str, arguments: Value| {
        done(service.get_prompt(&context, name, arguments)).map_err(|rejection| format!("{rejection:?}"))
    };
    assert_eq!(
        prompt("tidy_note", json!({ "name": "today", "style": "terse" })),
        Ok("Tidy this note up, in a terse style:\n\n{style}\n".into())
    );
    for (name, arguments, error) in [
        ("tidy_note", json!({}), "`name` is missing"),
        ("tidy_note", json!({ "name": "today", "more": "x" }), "`more` is not known here"),
        ("tidy_note", json!({ "name": 1 }), "must be a string"),
        ("tidy_note", json!([]), "arguments are an object"),
        ("tidy_note", json!({ "name": "nowhere" }), "NOT_FOUND"),
        ("no_such_prompt", json!({}), "Unknown"),
    ] {
        let answer = prompt(name, arguments).unwrap_err();
        assert!(answer.contains(error), "{answer}");
    }
    for (argument, value, expected) in [
        ("name", "to", Ok(vec!["today".to_string()])),
        ("name", "x", Ok(vec![])),
        ("style", "t", Ok(vec![])),
        ("more", "", Err(tabellion_runtime::Rejection::Unknown)),
    ] {
        let values = done(service.complete(&context, "tidy_note", argument, value));
        assert_eq!(values, expected, "{argument} {value}");
    }
}
