//! Bodies of POST requests, and their responses.

use super::exchange::{Exchange, only_in};
use crate::{bytes::Bytes, checks::prelude::*, era::Era, talk::is_answer};

pub(super) const ANSWERS: Check = Check {
    id: "http/answers",
    guarantees: &[],
    states: "A request is answered with one JSON object or with an event stream that contains its answer, and the \
             media type says which.",
    explains: "Clients choose by `Content-Type` how to read an answer. The list of tools, a valid call, a refused \
               call and an unknown method are requested. The response must be `application/json` with one object or \
               `text/event-stream`, and contain the answer with the request's id.",
    cases: |_| Ok(RequestKind::ALL.map(|kind| Case::new(kind.name(), kind)).into()),
    ..Check::must(answers)
};

pub(super) const NOTIFICATIONS: Check = Check {
    id: "http/notifications",
    guarantees: &[],
    states: "A notification is answered with 202 and no body or, if it is refused, with an error status.",
    explains: "A notification has no answer, and clients rely on the specified status. Known and unknown \
               notifications are posted; in sessions also an unsolicited response.",
    cases: notification_cases,
    ..Check::must(notification)
};

pub(super) const BAD: Check = Check {
    id: "http/bad-bodies",
    guarantees: &["errors-write-nothing"],
    states: "An invalid body is refused, and the next request is answered.",
    explains: "The posted bodies can't be parsed, are empty, not an object, a batch, not UTF-8, without a method, or \
               3 MB long. None may be answered with a result, the server must answer the next request, and no file \
               may change.",
    cases: bad_bodies,
    ..Check::must(|bench, case| bad_body(bench, case, false))
};

pub(super) const BAD_STATUS: Check = Check {
    id: "http/bad-bodies-status",
    guarantees: &[],
    states: "An invalid body is refused with a client error status.",
    explains: "As http/bad-bodies; the status must be from 400 to 499. MCP requires this of refused notifications \
               and responses, with 400 as an example, and does not mention other bodies.",
    cases: bad_bodies,
    ..Check::should(|bench, case| bad_body(bench, case, true))
};

pub(super) const UNKNOWN_METHOD: Check = Check {
    id: "http/unknown-method",
    guarantees: &[],
    states: "An unknown method is answered with 404 and error -32601.",
    explains: "This status lets a client distinguish a server without the method from a path without a server.",
    cases: |_| {
        let methods = ["conformance/unknown", "TOOLS/LIST", "tools"];
        Ok(methods.map(|method| Case::new(method, method)).into())
    },
    ..Check::must(unknown_method)
};

named! {
    enum RequestKind {
        Tools = "the list of tools",
        Call = "a call",
        UnknownTool = "a call of an unknown tool",
        UnknownMethod = "an unknown method",
    }
}

fn answers(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut exchange = Exchange::open(bench)?;
    let unknown = json!({ "name": "conformance-unknown", "arguments": {} });
    let message = match case.read()? {
        RequestKind::Tools => exchange.message("tools/list", json!({}))?,
        RequestKind::Call => exchange.call()?,
        RequestKind::UnknownTool => exchange.message("tools/call", unknown)?,
        RequestKind::UnknownMethod => exchange.message("conformance/unknown", json!({}))?,
    };
    let response = exchange.say(&message)?;
    let is_json = response.media == "application/json" && matches!(&*response.messages, [Value::Object(_)]);
    ensure(is_json || response.media == "text/event-stream", || {
        format!("the request was answered with {}, with media type {:?}", response.describe(), response.media)
    })?;
    let has_answer = is_answer(response.answer()) && response.answer()["id"] == message["id"];
    ensure(has_answer, || {
        format!("a request with the id {} was answered with {}", message["id"], response.describe())
    })
}

fn notification_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let note = |method: &str| json!({ "jsonrpc": "2.0", "method": method, "params": {} });
    let mut notes = vec![
        ("an unknown notification", note("notifications/conformance-unknown")),
        (
            "a cancellation of an unknown request",
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } }),
        ),
    ];
    if bench.subject.era == Era::Session {
        let response = json!({ "jsonrpc": "2.0", "id": "unknown", "result": {} });
        notes.push(("a second `notifications/initialized`", note("notifications/initialized")));
        notes.push(("an unsolicited response", response));
    } else {
        for (_, note) in &mut notes {
            crate::client::prepare(Era::Stateless, &mut note["params"], &json!({}));
        }
    }
    Ok(notes.into_iter().map(|(name, note)| Case::new(name, note)).collect())
}

fn notification(bench: &Bench<'_>, case: &Case) -> Judgement {
    let note: Value = case.read()?;
    let mut exchange = Exchange::open(bench)?;
    let response = exchange.say(&note)?;
    let is_accepted = response.status == 202 && response.text.is_empty() && response.messages.is_empty();
    ensure(is_accepted || response.status >= 400, || {
        format!("the notification was answered with {} instead of 202 and no body", response.describe())
    })?;
    exchange.talk.settle(0)?;
    Ok(())
}

fn bad_bodies(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let list = r#"{"jsonrpc":"2.0","id":"by hand","method":"tools/list","params":{}}"#;
    let bodies: [(&str, Vec<u8>); 13] = [
        ("nonsense", b"nonsense".into()),
        ("half a request", list.as_bytes()[..list.len() / 2].into()),
        ("an empty body", Vec::new()),
        ("white space", b" \r\n\t".into()),
        ("a number", b"7".into()),
        ("null", b"null".into()),
        ("a string", b"\"tools/list\"".into()),
        ("an empty object", b"{}".into()),
        ("an empty batch", b"[]".into()),
        ("a request without a method", br#"{"jsonrpc":"2.0","id":"by hand"}"#.into()),
        ("a method that is a number", br#"{"jsonrpc":"2.0","id":"by hand","method":7}"#.into()),
        ("bytes that are not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\xc3\"}".into()),
        ("3 MB of brackets", vec![b'['; 3_000_000]),
    ];
    let bodies = bodies.map(|(name, body)| Case::new(name, Bytes(body)));
    Ok(bodies.into())
}

fn bad_body(bench: &Bench<'_>, case: &Case, strict: bool) -> Judgement {
    let Bytes(body) = case.read()?;
    let mut exchange = Exchange::open(bench)?;
    let mut list = exchange.message("tools/list", json!({}))?;
    list["params"]["name"] = Value::Null;
    let mut request = exchange.post(&list)?;
    if body.is_empty() {
        request = request.with("Content-Length", "0");
    }
    request.body = body;
    let response = exchange.send(&request)?;
    ensure(response.answer().get("result").is_none(), || {
        format!("the body was answered with {}", response.describe())
    })?;
    ensure(!strict || (400..500).contains(&response.status), || {
        format!("the body was answered with {} instead of a status from 400 to 499", response.describe())
    })?;
    exchange.ensure_harmless()
}

fn unknown_method(bench: &Bench<'_>, case: &Case) -> Judgement {
    only_in(bench, Era::Stateless)?;
    let method: String = case.read()?;
    let mut exchange = Exchange::open(bench)?;
    let message = exchange.message(&method, json!({}))?;
    let response = exchange.say(&message)?;
    ensure(response.status == 404 && response.answer()["error"]["code"] == -32601, || {
        format!("the method was answered with {} instead of 404 and error -32601", response.describe())
    })
}
