//! The person behind the tester's client, whom a server may have asked before it changes something (MCP's elicitation).
//!
//! Until 2025-11-25 the server asks while the call waits. Since 2026-07-28 the call is answered with the question, and made
//! again with the answer and the server's `requestState`.

use serde_json::{Map, Value, json};

/// What the person does when they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Person {
    /// They approve of everything.
    Accepts,
    /// They want nothing of it.
    Declines,
    /// They close the question without an answer.
    Cancels,
    /// The client declares that it can't ask.
    Absent,
}

impl Person {
    /// What the client says that it can do.
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

    /// The response to a request of the server's; `None` if it is none.
    pub fn respond(self, message: &Value) -> Option<Value> {
        let (id, method) = (message.get("id")?, message.get("method")?);
        let result = match method.as_str() {
            Some("ping") => Some(json!({})),
            Some(ASKING) => self.answer(),
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

/// The method that asks.
const ASKING: &str = "elicitation/create";

/// The question that a request of the server's is.
pub fn question(message: &Value) -> Option<&Value> {
    (message["method"] == ASKING).then(|| &message["params"])
}

/// What a call is answered with that is to be made again, with what it asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The questions, by the names that their answers have.
    pub questions: Map<String, Value>,
    /// What the server wants to have back, if anything.
    pub state: Option<Value>,
}

impl Pending {
    /// The questions that a response message is, if it is that.
    pub fn of(message: &Value) -> Option<Self> {
        let result = &message["result"];
        (result["resultType"] == "input_required").then(|| Self {
            questions: result["inputRequests"].as_object().cloned().unwrap_or_default(),
            state: result.get("requestState").cloned(),
        })
    }

    /// Puts what `person` says, and the state, into the parameters of the call that is made again.
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
    fn a_request_of_the_servers_is_answered_and_nothing_else() {
        let asked = json!({ "jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": { "message": "?" } });
        let said = |person: Person| person.respond(&asked).unwrap();
        assert_eq!(said(Person::Accepts)["result"]["action"], "accept");
        assert_eq!(said(Person::Declines)["result"]["action"], "decline");
        assert_eq!(said(Person::Absent)["error"]["code"], -32601);
        assert_eq!(question(&asked).unwrap()["message"], "?");
        for other in [
            json!({ "id": 7, "result": {} }),
            json!({ "method": "notifications/message" }),
        ] {
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
        Pending::of(&message)
            .unwrap()
            .repeat(&mut params, Person::Cancels);
        assert_eq!(
            params,
            json!({ "name": "tool", "inputResponses": { "a": { "action": "cancel" } }, "requestState": "s" })
        );
        assert_eq!(
            Pending::of(&json!({ "result": { "resultType": "complete" } })),
            None
        );
    }
}
