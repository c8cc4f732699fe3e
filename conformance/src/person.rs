//! The person behind the suite's client, whom a server may ask before it changes something (MCP's elicitation).
//!
//! Until 2025-11-25 the server asks while the call waits. Since 2026-07-28 the server answers the call with the
//! question, and the client repeats the call with the person's answer and the server's `requestState`.

use serde_json::{Map, Value, json};

/// The person's way to answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Person {
    /// Accepts every question.
    Accepts,
    /// Declines every question.
    Declines,
    /// Closes every question without an answer.
    Cancels,
    /// No person: the client declares no elicitation.
    Absent,
}

impl Person {
    /// Returns the client's capabilities.
    pub fn capabilities(self) -> Value {
        match self {
            Self::Absent => json!({}),
            _ => json!({ "elicitation": {} }),
        }
    }

    /// Returns the answer to a question; `None` if no person can be asked.
    pub fn answer(self) -> Option<Value> {
        match self {
            Self::Accepts => Some(json!({ "action": "accept", "content": {} })),
            Self::Declines => Some(json!({ "action": "decline" })),
            Self::Cancels => Some(json!({ "action": "cancel" })),
            Self::Absent => None,
        }
    }

    /// Returns the response to the server's request; `None` if the message is not a request.
    pub fn respond(self, message: &Value) -> Option<Value> {
        let (id, method) = (message.get("id")?, message.get("method")?);
        let result = match method.as_str() {
            Some("ping") => Some(json!({})),
            Some(ELICITATION) => self.answer(),
            _ => None,
        };
        Some(match result {
            Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            None => {
                let error = json!({ "code": -32601, "message": "not offered" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        })
    }
}

/// Method of a question to the person.
const ELICITATION: &str = "elicitation/create";

/// Returns the parameters of the server's request, if it is a question.
pub fn question(message: &Value) -> Option<&Value> {
    (message["method"] == ELICITATION).then(|| &message["params"])
}

/// Answer to a call that must be repeated with further input.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// Questions, by the names of their answers.
    pub questions: Map<String, Value>,
    /// State to send back to the server, if any.
    pub state: Option<Value>,
}

impl Pending {
    /// Returns the questions in a response message, if it has any.
    pub fn from_message(message: &Value) -> Option<Self> {
        let result = &message["result"];
        (result["resultType"] == "input_required").then(|| Self {
            questions: result["inputRequests"].as_object().cloned().unwrap_or_default(),
            state: result.get("requestState").cloned(),
        })
    }

    /// Adds the person's answers and the state to the parameters of the repeated call.
    pub fn repeat(&self, params: &mut Value, person: Person) {
        let answer = |name: &String| Some((name.clone(), person.answer()?));
        let answers: Map<_, _> = self.questions.keys().filter_map(answer).collect();
        params["inputResponses"] = answers.into();
        if let Some(state) = &self.state {
            params["requestState"] = state.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_of_the_server_are_answered() {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": { "message": "?" } });
        let response = |person: Person| person.respond(&request).unwrap();
        assert_eq!(response(Person::Accepts)["result"]["action"], "accept");
        assert_eq!(response(Person::Declines)["result"]["action"], "decline");
        assert_eq!(response(Person::Absent)["error"]["code"], -32601);
        assert_eq!(question(&request).unwrap()["message"], "?");
        for other in [json!({ "id": 7, "result": {} }), json!({ "method": "notifications/message" })] {
            assert_eq!(Person::Accepts.respond(&other), None);
        }
    }

    #[test]
    fn a_call_is_repeated_with_answers_and_state() {
        let message = json!({ "result": {
            "resultType": "input_required",
            "inputRequests": { "a": { "method": "elicitation/create" } },
            "requestState": "s",
        } });
        let mut params = json!({ "name": "tool" });
        Pending::from_message(&message).unwrap().repeat(&mut params, Person::Cancels);
        assert_eq!(
            params,
            json!({ "name": "tool", "inputResponses": { "a": { "action": "cancel" } }, "requestState": "s" })
        );
        assert_eq!(Pending::from_message(&json!({ "result": { "resultType": "complete" } })), None);
    }
}
