//! What is posted, and what comes back for it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{call, ensure_harmless, library, message, only_in, post, send};
use crate::{
    bytes::Bytes,
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    era::Era,
    judgement::{Judgement, Stop, ensure},
    talk::{Talk, is_answer},
};

pub(super) const ANSWERS: Check = Check {
    id: "http/answers",
    severity: Severity::Must,
    guarantees: &[],
    states: "A request is answered with one JSON object or with an event stream that contains its \
            answer, and the media type says which.",
    explains: "Clients choose by `Content-Type` how to read an answer. The list of tools, a good call, a refused one and a \
               method that there is not are asked for; what comes must be `application/json` with one object or \
               `text/event-stream`, and hold the answer, with the request's id.",
    cases: |_| {
        Ok(RequestKind::ALL
            .map(|asked| Case::new(asked.words(), asked))
            .into())
    },
    judge: answers,
    shrink: as_small_as_can_be,
};

pub(super) const NOTIFICATIONS: Check = Check {
    id: "http/notifications",
    severity: Severity::Must,
    guarantees: &[],
    states: "A notification is answered with 202 and no body or, if it is refused, with an error status.",
    explains: "There is nothing to say to a notification, and clients wait for what they are told to expect. Known and unknown \
               ones are posted; in sessions also an unsolicited response.",
    cases: notes,
    judge: notification,
    shrink: as_small_as_can_be,
};

pub(super) const BAD: Check = Check {
    id: "http/bad-bodies",
    severity: Severity::Must,
    guarantees: &["errors-write-nothing"],
    states: "An invalid body is refused, and the next request is answered.",
    explains: "Bodies that can't be parsed, are empty, no object, a batch, not UTF-8, without a method, or 3 MB long are \
               posted. None may be answered with a result, the server must answer the next request, and nothing on the \
               disk may change.",
    cases: bad,
    judge: |bench, case| bad_body(bench, case, false),
    shrink: as_small_as_can_be,
};

pub(super) const BAD_STATUS: Check = Check {
    id: "http/bad-bodies-status",
    severity: Severity::Should,
    guarantees: &[],
    states: "An invalid body is refused with a client error status.",
    explains: "As http/bad-bodies; the status must be one from 400 to 499. MCP says so of notifications and responses that are \
               not taken, and shows 400; of other bodies it says nothing.",
    cases: bad,
    judge: |bench, case| bad_body(bench, case, true),
    shrink: as_small_as_can_be,
};

pub(super) const UNKNOWN_METHOD: Check = Check {
    id: "http/unknown-method",
    severity: Severity::Must,
    guarantees: &[],
    states: "An unknown method is answered with 404 and error -32601.",
    explains: "By this a client tells a server without the method from a path without a server.",
    cases: |_| {
        let methods = ["conformance/unknown", "TOOLS/LIST", "tools"];
        Ok(methods.map(|method| Case::new(method, method)).into())
    },
    judge: unknown_method,
    shrink: as_small_as_can_be,
};

/// What is asked for.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RequestKind {
    Tools,
    Call,
    UnknownTool,
    UnknownMethod,
}

impl RequestKind {
    const ALL: [Self; 4] = [Self::Tools, Self::Call, Self::UnknownTool, Self::UnknownMethod];

    fn words(self) -> &'static str {
        match self {
            Self::Tools => "the list of tools",
            Self::Call => "a call",
            Self::UnknownTool => "a call of a tool that there is not",
            Self::UnknownMethod => "a method that there is not",
        }
    }
}

fn answers(bench: &Bench<'_>, case: &Case) -> Judgement {
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let unknown = json!({ "name": "conformance-unknown", "arguments": {} });
    let message = match case.read()? {
        RequestKind::Tools => message(&mut talk, "tools/list", json!({}))?,
        RequestKind::Call => call(bench, &scene, &mut talk)?,
        RequestKind::UnknownTool => message(&mut talk, "tools/call", unknown)?,
        RequestKind::UnknownMethod => message(&mut talk, "conformance/unknown", json!({}))?,
    };
    let said = send(&talk, &post(&talk, &message)?)?;
    let is_json = said.media == "application/json" && matches!(&*said.messages, [Value::Object(_)]);
    ensure(is_json || said.media == "text/event-stream", || {
        format!("it was answered with {}, as {:?}", said.shown(), said.media)
    })?;
    let is_mine = is_answer(said.answer()) && said.answer()["id"] == message["id"];
    ensure(is_mine, || {
        format!("of a request with the id {} came {}", message["id"], said.shown())
    })
}

fn notes(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let note = |method: &str| json!({ "jsonrpc": "2.0", "method": method, "params": {} });
    let mut notes = vec![
        (
            "an unknown notification",
            note("notifications/conformance-unknown"),
        ),
        (
            "a cancellation of nothing",
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } }),
        ),
    ];
    if bench.subject.era == Era::Session {
        let response = json!({ "jsonrpc": "2.0", "id": "unknown", "result": {} });
        notes.push((
            "that the session has begun, again",
            note("notifications/initialized"),
        ));
        notes.push(("an unsolicited response", response));
    } else {
        for (_, note) in &mut notes {
            crate::client::prepare(Era::Stateless, &mut note["params"], &json!({}));
        }
    }
    Ok(notes
        .into_iter()
        .map(|(name, note)| Case::new(name, note))
        .collect())
}

fn notification(bench: &Bench<'_>, case: &Case) -> Judgement {
    let note: Value = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let said = send(&talk, &post(&talk, &note)?)?;
    let is_taken = said.status == 202 && said.text.is_empty() && said.messages.is_empty();
    ensure(is_taken || said.status >= 400, || {
        format!("it was answered with {} instead of 202 and no body", said.shown())
    })?;
    talk.settle(0)?;
    Ok(())
}

fn bad(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let list = r#"{"jsonrpc":"2.0","id":"by hand","method":"tools/list","params":{}}"#;
    let bodies: [(&str, Vec<u8>); 13] = [
        ("nonsense", b"nonsense".into()),
        ("half a request", list.as_bytes()[..list.len() / 2].into()),
        ("nothing", Vec::new()),
        ("blanks", b" \r\n\t".into()),
        ("a number", b"7".into()),
        ("null", b"null".into()),
        ("a text", b"\"tools/list\"".into()),
        ("an empty object", b"{}".into()),
        ("an empty batch", b"[]".into()),
        (
            "a request without a method",
            br#"{"jsonrpc":"2.0","id":"by hand"}"#.into(),
        ),
        (
            "a method that is a number",
            br#"{"jsonrpc":"2.0","id":"by hand","method":7}"#.into(),
        ),
        (
            "bytes that are not UTF-8",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\xc3\"}".into(),
        ),
        ("3 MB of brackets", vec![b'['; 3_000_000]),
    ];
    let bodies = bodies.map(|(name, body)| Case::new(name, Bytes(body)));
    Ok(bodies.into())
}

fn bad_body(bench: &Bench<'_>, case: &Case, strict: bool) -> Judgement {
    let Bytes(body) = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let before = scene.view()?;
    let mut list = message(&mut talk, "tools/list", json!({}))?;
    list["params"]["name"] = Value::Null;
    let mut request = post(&talk, &list)?;
    if body.is_empty() {
        request = request.with("Content-Length", "0");
    }
    request.body = body;
    let said = send(&talk, &request)?;
    ensure(said.answer().get("result").is_none(), || {
        format!("it was answered with {}", said.shown())
    })?;
    ensure(!strict || (400..500).contains(&said.status), || {
        format!(
            "it was answered with {} instead of a status from 400 to 499",
            said.shown()
        )
    })?;
    ensure_harmless(&scene, &mut talk, &before)
}

fn unknown_method(bench: &Bench<'_>, case: &Case) -> Judgement {
    only_in(bench, Era::Stateless)?;
    let method: String = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let message = message(&mut talk, &method, json!({}))?;
    let said = send(&talk, &post(&talk, &message)?)?;
    ensure(
        said.status == 404 && said.answer()["error"]["code"] == -32601,
        || {
            format!(
                "it was answered with {} instead of 404 and error -32601",
                said.shown()
            )
        },
    )
}
