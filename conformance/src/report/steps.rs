//! Condenses a trace to one line per step.

use serde_json::{Map, Value};

use crate::trace::Event;

/// A step of a witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Actor.
    pub by: Actor,
    /// Action or message in one line, of any length.
    pub what: String,
}

/// The actor of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A person, or the suite.
    Hand,
    /// The client, which sends a message.
    Client,
    /// The server, which sends a message.
    Server,
}

impl Actor {
    /// Returns a sign for a list of steps.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Hand => "·",
            Self::Client => "→",
            Self::Server => "←",
        }
    }
}

/// Returns the steps of a trace, without those that open a session.
pub fn condense(trace: &[Event]) -> Vec<Step> {
    let mut opening = Vec::new();
    trace.iter().filter_map(|event| step(event, &mut opening)).collect()
}

/// Returns the step for an event; `opening` collects the ids of requests that open a session.
fn step(event: &Event, opening: &mut Vec<Value>) -> Option<Step> {
    let (by, line) = match event {
        Event::Did(what) => {
            return Some(Step { by: Actor::Hand, what: what.clone() });
        }
        Event::Sent(line) => (Actor::Client, line),
        Event::Received(line) => (Actor::Server, line),
    };
    let what = match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(message)) => describe(&message, opening)?,
        _ => line.clone(),
    };
    Some(Step { by, what })
}

/// Describes a message; returns `None` if the message only opens a session.
fn describe(message: &Map<String, Value>, opening: &mut Vec<Value>) -> Option<String> {
    let at = |pointer: &str| message.get("params").and_then(|params| params.pointer(pointer));
    let id = message.get("id").cloned().unwrap_or_default();
    match message.get("method").and_then(Value::as_str) {
        Some("initialize") => {
            opening.push(id);
            return None;
        }
        Some("notifications/initialized") => return None,
        Some("tools/call") if at("/name").is_some_and(Value::is_string) => {
            let name = at("/name").and_then(Value::as_str).unwrap_or_default();
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
    fn a_step_describes_a_message() {
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
            Event::Sent(r#"{"id":6,"method":"tools/call","params":["x"]}"#.into()),
        ];
        let steps: Vec<_> =
            condense(&trace).iter().map(|step| format!("{} {}", step.by.sign(), step.what)).collect();
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
                r#"→ tools/call ["x"]"#,
            ]
        );
    }
}
