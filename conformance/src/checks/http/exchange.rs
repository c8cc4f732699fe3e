//! Requests and responses of HTTP, and the calls in them.

use crate::{
    checks::prelude::*,
    era::Era,
    http::{Request, Response, events::Events},
    scene::View,
    talk::is_answer,
};

const DOCUMENT: &str = "notes/plan.md";

/// Stops with "not applicable" in the other era.
pub(super) fn only_in(bench: &Bench<'_>, era: Era) -> Judgement {
    if bench.subject.era == era {
        return Ok(());
    }
    let why = match era {
        Era::Session => "there are no sessions in this revision",
        Era::Stateless => "there is no such header or status in this revision",
    };
    Err(not_applicable(why))
}

/// A conversation about a library, with the library's state before it.
pub(super) struct Exchange<'a> {
    pub(super) talk: Talk<'a>,
    subject: &'a Subject,
    scene: Scene<'a>,
    before: View,
}

impl<'a> Exchange<'a> {
    /// Creates a library with one document, in memory, and opens a conversation with its server.
    pub(super) fn open(bench: &Bench<'a>) -> Result<Self, Stop> {
        let path = bench.subject.place(EffectKind::Read, DOCUMENT);
        let documents = [(&*path, "# Plan\n\n## Scope\n\nAll of it.\n")];
        let scene = Scene::in_memory(bench.subject, &bench.trace, &documents)?;
        let talk = Talk::open(bench.subject, &scene)?;
        let before = scene.view()?;
        Ok(Self { talk, subject: bench.subject, scene, before })
    }

    /// Sends an HTTP request and reads the response.
    pub(super) fn send(&self, request: &Request) -> Result<HttpAnswer, Stop> {
        HttpAnswer::read(self.talk.target.send_http(request)?)
    }

    /// Sends a message as a valid POST request, and reads the response.
    pub(super) fn say(&self, message: &Value) -> Result<HttpAnswer, Stop> {
        self.send(&self.post(message)?)
    }

    /// Returns the valid POST request for a message.
    pub(super) fn post(&self, message: &Value) -> Result<Request, Stop> {
        let request = self.talk.target.http_request(message);
        request.ok_or_else(|| not_applicable("the server does not speak HTTP"))
    }

    /// Returns the message of a request, with the members that the era requires.
    pub(super) fn message(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        Ok(serde_json::from_str(&self.talk.request(&json!("by hand"), method, params))?)
    }

    /// Returns a call that changes a document, or one that reads if the server has no tool that writes. If no tool is known to do either,
    /// it is a request for the list of tools.
    pub(super) fn call(&mut self) -> Result<Value, Stop> {
        let with = With { path: "notes/new.md", content: "# New\n", ..With::default() };
        let read = With { path: DOCUMENT, ..with };
        let call = self.subject.placed(EffectKind::Write, with);
        let call = call.or_else(|| self.subject.placed(EffectKind::Read, read));
        let Some(call) = call else {
            return self.message("tools/list", json!({}));
        };
        let params = self.talk.params(&self.scene, call.tool, &call.arguments)?;
        self.message("tools/call", params)
    }

    /// Fails unless the server answers the next request and no file has changed.
    pub(super) fn ensure_harmless(&mut self) -> Judgement {
        self.talk.settle(0)?;
        self.before.same(&self.scene.view()?, "a refused request")
    }
}

/// An HTTP response, read to its end or, if it is a stream, up to the answer.
pub(super) struct HttpAnswer {
    /// Status code and reason, for messages.
    pub(super) title: String,
    pub(super) status: u16,
    /// Media type without parameters.
    pub(super) media: String,
    /// The body as a message, or the messages of a stream.
    pub(super) messages: Vec<Value>,
    /// The body as text; empty for a stream.
    pub(super) text: String,
}

impl HttpAnswer {
    pub(super) fn read(mut response: Response) -> Result<Self, Stop> {
        let (title, status, media) = (response.title(), response.status, response.media_type());
        let (mut messages, mut text) = (Vec::new(), String::new());
        if media == "text/event-stream" {
            let mut events = Events::new(response.body);
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
        Ok(Self { title, status, media, messages, text })
    }

    /// Returns the first answer, or null.
    pub(super) fn answer(&self) -> &Value {
        self.messages.iter().find(|message| is_answer(message)).unwrap_or(&Value::Null)
    }

    /// Returns true if the request succeeded.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && self.answer().get("result").is_some()
    }

    /// Returns status and body, for messages.
    pub(super) fn describe(&self) -> String {
        let body: Vec<_> = self.messages.iter().map(ToString::to_string).collect();
        let body = if body.is_empty() { self.text.trim().to_owned() } else { body.join(" ") };
        let end = body.floor_char_boundary(300);
        if body.is_empty() {
            format!("{} and no body", self.title)
        } else {
            format!("{} and {}", self.title, &body[..end])
        }
    }
}
