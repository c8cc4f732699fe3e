//! What was done and said, each step in a line.

use serde_json::{Map, Value};

use crate::trace::Event;

/// A step of a witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The actor.
    pub by: By,
    /// What, in a line; it may be long.
    pub what: String,
}

/// The actor of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A person, or the tester.
    Hand,
    /// The client, who says something.
    Client,
    /// The server, who says something.
    Server,
}

impl By {
    /// A sign for a list of steps.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Hand => "·",
            Self::Client => "→",
            Self::Server => "←",
        }
    }
}

/// The steps of a trace, without what opens a session.
pub fn of(trace: &[Event]) -> Vec<Step> {
    let mut opening = Vec::new();
    trace
        .iter()
        .filter_map(|event| step(event, &mut opening))
        .collect()
}

/// The step that an event is; `opening` has the ids of requests that open a session.
fn step(event: &Event, opening: &mut Vec<Value>) -> Option<Step> {
    let (by, line) = match event {
        Event::Did(what) => {
            return Some(Step {
                by: By::Hand,
                what: what.clone(),
            });
        }
        Event::Sent(line) => (By::Client, line),
        Event::Received(line) => (By::Server, line),
    };
    let what = match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(message)) => said(&message, opening)?,
        _ => line.clone(),
    };
    Some(Step { by, what })
}

/// What a message says, or `None` if it opens a session and nothing more.
fn said(message: &Map<String, Value>, opening: &mut Vec<Value>) -> Option<String> {
    let at = |pointer: &str| message.get("params").and_then(|params| params.pointer(pointer));
    let id = message.get("id").cloned().unwrap_or_default();
    match message.get("method").and_then(Value::as_str) {
        Some("initialize") => {
            opening.push(id);
            return None;
        }
        Some("notifications/initialized") => return None,
        Some("tools/call") => {
            let name = at("/name")
                .and_then(Value::as_str)
                .unwrap_or("a tool without a name");
            return Some(format!("{name} {}", at("/arguments").unwrap_or(&Value::Null)));
        }
        Some(method) => {
            let params = message.get("params").cloned().unwrap_or_default();
            return Some(format!("{method} {}", without_meta(params)));
        }
        None => {}
    }
    if let Some(error) = message.get("error") {
        let text = error["message"].as_str().unwrap_or_default();
        return Some(format!("error {}: {text}", error["code"]));
    }
    if opening.contains(&id) {
        return None;
    }
    let result = message.get("result").cloned().unwrap_or_default();
    if result["isError"] == true {
        return Some(format!("refused: {}", crate::reply::text(&result)));
    }
    let content = result.get("structuredContent").cloned();
    Some(without_meta(content.unwrap_or(result)).to_string())
}

fn without_meta(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.remove("_meta");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_what_a_message_is_about() {
        let trace = [
            Event::Did("the server starts".into()),
            Event::Sent(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#.into()),
            Event::Received(r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{}}}"#.into()),
            Event::Sent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into()),
            Event::Sent(
                r#"{"id":2,"method":"tools/call","params":{"name":"w","arguments":{"path":"a"},"_meta":{}}}"#
                    .into(),
            ),
            Event::Received(
                r#"{"id":2,"result":{"content":[],"structuredContent":{"success":true}}}"#.into(),
            ),
            Event::Received(
                r#"{"id":3,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}"#.into(),
            ),
            Event::Received(r#"{"id":4,"error":{"code":-32602,"message":"bad"}}"#.into()),
            Event::Sent("{".into()),
            Event::Sent(r#"{"id":5,"method":"tools/list","params":{"_meta":{"v":1}}}"#.into()),
        ];
        let steps: Vec<_> = of(&trace)
            .iter()
            .map(|step| format!("{} {}", step.by.sign(), step.what))
            .collect();
        assert_eq!(
            steps,
            [
                "· the server starts",
                r#"→ w {"path":"a"}"#,
                r#"← {"success":true}"#,
                "← refused: no",
                "← error -32602: bad",
                "→ {",
                "→ tools/list {}",
            ]
        );
    }
}
