//! What MCP's Streamable HTTP asks of a server beyond its messages; only for servers that are spoken to over HTTP.
//!
//! A check that must pass is a MUST of the specification (2025-11-25, basic/transports; 2026-07-28,
//! basic/transports/streamable-http). What it leaves to servers is not demanded; what it advises is a SHOULD.

mod bodies;
mod clients;
mod headers;
mod sessions;

use serde_json::{Value, json};
use tabellion_runtime::spec::EffectKind;

use crate::{
    check::{Bench, Check},
    era::Era,
    http::{Request, Response, events::Events},
    judgement::{Judgement, Stop, ensure},
    request::With,
    scene::Scene,
    talk::{Talk, is_answer},
};

/// The family of these checks.
pub(crate) const FAMILY: &str = "http";

pub(super) const CHECKS: &[Check] = &[
    headers::ORIGIN,
    bodies::ANSWERS,
    bodies::NOTIFICATIONS,
    bodies::BAD,
    bodies::BAD_STATUS,
    bodies::UNKNOWN_METHOD,
    headers::REVISION,
    headers::AGREE,
    sessions::ENDS,
    sessions::UNKNOWN,
    sessions::GET,
    sessions::OTHER_METHODS,
    clients::APART,
    clients::AT_ONCE,
];

const DOCUMENT: &str = "notes/plan.md";

/// A library with one document, in memory.
fn library<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let documents = [(DOCUMENT, "# Plan\n\n## Scope\n\nAll of it.\n")];
    Scene::in_memory(bench.subject, &bench.trace, &documents)
}

/// Leaves out the other era.
fn only_in(bench: &Bench<'_>, era: Era) -> Judgement {
    if bench.subject.era == era {
        return Ok(());
    }
    let why = match era {
        Era::Session => "there are no sessions in this revision",
        Era::Stateless => "there is no such header or status in this revision",
    };
    Err(Stop::NotApplicable(why.into()))
}

/// What came back, read to its end or, of a stream, up to the answer.
struct HttpAnswer {
    title: String,
    status: u16,
    media: String,
    /// The body, or the messages of a stream.
    messages: Vec<Value>,
    /// As it came, if it is no stream.
    text: String,
}

impl HttpAnswer {
    fn of(mut response: Response) -> Result<Self, Stop> {
        let (title, status, media) = (response.title(), response.status, response.media_type());
        let (mut messages, mut text) = (Vec::new(), String::new());
        if media == "text/event-stream" {
            let mut events = Events::of(response.body);
            while let Some(data) = events.next_data()? {
                messages.push(serde_json::from_str(&data).unwrap_or(Value::String(data)));
                if messages.last().is_some_and(is_answer) {
                    break;
                }
            }
        } else {
            text = String::from_utf8_lossy(&response.bytes()?).into_owned();
            messages.extend(serde_json::from_str::<Value>(&text));
        }
        Ok(Self {
            title,
            status,
            media,
            messages,
            text,
        })
    }

    /// The first answer, or nothing.
    fn answer(&self) -> &Value {
        self.messages
            .iter()
            .find(|said| is_answer(said))
            .unwrap_or(&Value::Null)
    }

    /// Whether something was done as asked.
    fn is_served(&self) -> bool {
        (200..300).contains(&self.status) && self.answer().get("result").is_some()
    }

    /// All of it, for people.
    fn shown(&self) -> String {
        let body: Vec<_> = self.messages.iter().map(ToString::to_string).collect();
        let body = if body.is_empty() {
            self.text.trim().to_owned()
        } else {
            body.join(" ")
        };
        let end = body.floor_char_boundary(300);
        if body.is_empty() {
            format!("{} and no body", self.title)
        } else {
            format!("{} and {}", self.title, &body[..end])
        }
    }
}

/// Sends a request by hand.
fn send(talk: &Talk<'_>, request: &Request) -> Result<HttpAnswer, Stop> {
    HttpAnswer::of(talk.target.send_http(request)?)
}

/// The POST of a message, as it must be.
fn post(talk: &Talk<'_>, message: &Value) -> Result<Request, Stop> {
    let request = talk.target.http_request(message);
    request.ok_or_else(|| Stop::NotApplicable("the server does not speak HTTP".into()))
}

/// A request's message, with what the era wants in it.
fn message(talk: &mut Talk<'_>, method: &str, params: Value) -> Result<Value, Stop> {
    Ok(serde_json::from_str(&talk.request(
        &json!("by hand"),
        method,
        params,
    ))?)
}

/// A call that changes something if it is served; one that reads, where there is none.
fn call(bench: &Bench<'_>, scene: &Scene<'_>, talk: &mut Talk<'_>) -> Result<Value, Stop> {
    let with = With {
        path: "notes/new.md",
        content: "# New\n",
        ..With::default()
    };
    let reading = With {
        path: DOCUMENT,
        ..with
    };
    let call = bench.subject.request(EffectKind::Write, with);
    let call = call.or_else(|| bench.subject.request(EffectKind::Read, reading));
    let call = call.ok_or_else(|| Stop::NotApplicable("the server has no such tools".into()))?;
    let params = talk.params(scene, call.tool, &call.arguments)?;
    message(talk, "tools/call", params)
}

/// Fails unless the next request is answered, and nothing on the disk has changed.
fn ensure_harmless(scene: &Scene<'_>, talk: &mut Talk<'_>, before: &crate::scene::View) -> Judgement {
    talk.settle(0)?;
    ensure(scene.view()? == *before, || {
        "it was refused, but something on the disk has changed".into()
    })
}
