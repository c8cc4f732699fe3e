//! Errors: their transport to clients, and the error table.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ContractSpec, ToolSpec};
use crate::{
    answer::Rejection,
    auth::REASON,
    failure::{ErrorAnswer, RETRY_AFTER},
    gates::VIOLATIONS,
    vocabulary::vocabulary,
};

/// JSON-RPC codes.
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;

/// Details of the runtime, and their names in an error's object.
const USUAL_DETAILS: [(&str, &str); 3] =
    [("rule", REASON), (RETRY_AFTER, RETRY_AFTER_SECONDS), ("requestId", "request")];
/// Number of seconds before a retry while a library can't be changed: a merge takes a person longer, a lock is soon released.
const UNAVAILABLE_SECONDS: u64 = 5;
/// Name, in an error's object, of the number of seconds before a retry.
pub const RETRY_AFTER_SECONDS: &str = "retry_after_seconds";

vocabulary! {
    /// The channel by which the errors of a contract reach the client.
    #[serde(rename_all = "kebab-case")]
    pub enum ErrorChannel {
        /// As a tool result with `isError: true`, which the model can read and act on.
        Result,
        /// As a JSON-RPC error object.
        JsonRpc,
    }
}

/// HTTP status of a server that can't answer now.
const UNAVAILABLE: u16 = 503;

/// Returns the reason, in one word for programs, of a refusal with this HTTP status and no other reason.
pub fn usual_reason(status: u16) -> Option<&'static str> {
    Some(match status {
        400 => "malformed",
        404 => "not_found",
        405 => "method",
        408 => "timeout",
        413 => "too_large",
        415 => "media_type",
        422 => "invalid",
        429 => "rate",
        UNAVAILABLE => "unavailable",
        _ => return None,
    })
}

/// One row of a contract's error table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorSpec {
    /// Name, as in `NOT_FOUND`.
    pub name: &'static str,
    /// JSON-RPC error code.
    pub code: i32,
    /// Meaning of the code, for people.
    pub message: &'static str,
}

/// The object that represents an error in the structured content of a result: the names of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ErrorBody {
    /// Member of the result that contains the object.
    pub at: &'static str,
    /// The error's name.
    pub code: &'static str,
    /// The message.
    pub message: &'static str,
    /// Details for programs.
    pub details: &'static str,
    /// The violations of gates; an empty list for other errors.
    pub violations: &'static str,
}

impl ErrorBody {
    /// The usual names.
    pub const USUAL: Self =
        Self { at: "error", code: "code", message: "message", details: "details", violations: "violations" };

    fn render(self, error: &ErrorAnswer, mut details: Map<String, Value>) -> Value {
        let violations = details.shift_remove(VIOLATIONS).unwrap_or_else(|| json!([]));
        json!({ self.at: {
            self.code: error.name,
            self.message: error.message,
            self.details: details,
            self.violations: violations,
        } })
    }
}

/// The HTTP status of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorStatus {
    /// Name of the error.
    pub error: &'static str,
    /// The `reason` (or `rule`) in the error's details that has this status; `None` for all others.
    pub reason: Option<&'static str>,
    /// The status.
    pub status: u16,
}

impl ContractSpec {
    /// Returns the object that represents an error, if the contract has one.
    pub fn error_object(&self, error: &ErrorAnswer) -> Option<Value> {
        let at = self.error_body?.at;
        self.error_body(error).map(|mut body| body[at].take())
    }

    /// Returns the contract's object for an error in a result's structured content, if it declares one.
    pub fn error_body(&self, error: &ErrorAnswer) -> Option<Value> {
        Some(self.error_body?.render(error, self.details(error)))
    }

    /// Returns the details of an error for clients. In a contract with an error object, the runtime's details `rule`, `retryAfterSeconds`
    /// and `requestId` are called `reason`, `retry_after_seconds` and `request`; a missing reason is that of the status, and 503 has a
    /// number of seconds.
    pub fn details(&self, error: &ErrorAnswer) -> Map<String, Value> {
        let mut details = error.data.clone();
        if self.error_body.is_none() {
            return details;
        }
        for (name, usual) in USUAL_DETAILS {
            if let Some(value) = details.shift_remove(name) {
                details.entry(usual).or_insert(value);
            }
        }
        let status = self.status(error);
        if let Some(reason) = status.and_then(usual_reason) {
            details.entry(REASON).or_insert_with(|| reason.into());
        }
        if status == Some(UNAVAILABLE) {
            details.entry(RETRY_AFTER_SECONDS).or_insert_with(|| UNAVAILABLE_SECONDS.into());
        }
        details
    }

    /// Returns the body of an error over REST: that of its result, with the usual names of members if the contract does not declare names.
    pub fn rest_body(&self, error: &ErrorAnswer) -> Value {
        let usual = || ErrorBody::USUAL.render(error, error.data.clone());
        self.error_body(error).unwrap_or_else(usual)
    }

    /// Returns the error for an HTTP status, for refusals of requests that are not tool calls. A forbidden caller gets the error of an
    /// unknown one: errors with 403 can be about any forbidden item.
    pub fn error_of(&self, status: u16) -> Option<&'static ErrorSpec> {
        let status = if status == 403 { 401 } else { status };
        let named = |reasoned: bool| {
            let mut statuses = self.statuses.iter();
            let found = statuses.find(|it| it.status == status && it.reason.is_some() == reasoned)?;
            self.errors.iter().find(|error| error.name == found.error)
        };
        let code = if status < 500 { INVALID_PARAMS } else { INTERNAL_ERROR };
        let general = || self.errors.iter().find(|error| error.code == code);
        named(false).or_else(|| named(true)).or_else(general)
    }

    /// Returns the HTTP status of an error: that of its `reason` or `rule`, else its own; `None` if the contract declares neither.
    pub fn status(&self, error: &ErrorAnswer) -> Option<u16> {
        let said = |key: &str| error.data.get(key).and_then(Value::as_str);
        let reason = said("reason").or(said("rule"));
        let find = |reason: Option<&str>| {
            let mut of_error = self.statuses.iter().filter(|it| it.error == error.name);
            of_error.find(|it| it.reason == reason).map(|it| it.status)
        };
        find(reason).or_else(|| find(None))
    }

    /// Returns an error of the table for one case. `detail` describes the event, its place and its remedy; if it is empty, the message is
    /// the table's.
    pub fn answer(&self, error: &ErrorSpec, detail: String, mut data: Map<String, Value>) -> ErrorAnswer {
        let message = match self.error_details {
            _ if detail.is_empty() => error.message.into(),
            None => detail,
            Some(key) => {
                let message = format!("{}: {detail}", error.message);
                data.insert(key.into(), detail.into());
                message
            }
        };
        ErrorAnswer { name: error.name, code: error.code, message, data }
    }

    /// Returns the rejection of a call of `tool` with the error of this name and a message that the contract words. Both are linted, so a
    /// contract without them is broken.
    pub(crate) fn reject(
        &self,
        error: &str,
        tool: &'static ToolSpec,
        sentence: Option<String>,
        data: Map<String, Value>,
    ) -> Rejection {
        let found = self.errors.iter().find(|entry| entry.name == error);
        match found.zip(sentence) {
            Some((entry, sentence)) => Rejection::Declared(self.answer(entry, sentence, data)),
            None => {
                Rejection::breach(tool.name, format!("`{error}`, or a value of its sentence, is missing"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errors_object_has_the_usual_names_of_details() {
        let with = |error_body| ContractSpec { error_body, ..ContractSpec::EMPTY };
        for (data, usual) in [
            (json!({ "rule": "stale" }), json!({ "reason": "stale" })),
            (json!({ "rule": "meta", "reason": "role" }), json!({ "reason": "role" })),
            (
                json!({ "limit": "notes", "retryAfterSeconds": 7 }),
                json!({ "limit": "notes", "retry_after_seconds": 7, "reason": "rate" }),
            ),
            (
                json!({ "rule": "internal", "requestId": "1-2" }),
                json!({ "reason": "internal", "request": "1-2" }),
            ),
        ] {
            let error = ErrorAnswer {
                name: "E",
                code: 1,
                message: "no".into(),
                data: data.as_object().cloned().unwrap_or_default(),
            };
            let statuses = &[ErrorStatus { error: "E", reason: None, status: 429 }];
            let spec = ContractSpec { statuses, ..with(Some(ErrorBody::USUAL)) };
            let object = spec.error_body(&error).unwrap();
            assert_eq!(object["error"]["details"], usual);
            assert_eq!(with(None).error_body(&error), None);
            assert_eq!(with(None).rest_body(&error)["error"]["details"], data);
        }
    }

    #[test]
    fn a_refusal_has_a_reason_and_an_unavailable_library_a_number_of_seconds() {
        for (status, details) in [
            (422, json!({ "reason": "invalid" })),
            (503, json!({ "reason": "unavailable", "retry_after_seconds": UNAVAILABLE_SECONDS })),
            (403, json!({})),
        ] {
            let statuses: &'static [_] =
                Box::leak(Box::new([ErrorStatus { error: "E", reason: None, status }]));
            let spec = ContractSpec { statuses, error_body: Some(ErrorBody::USUAL), ..ContractSpec::EMPTY };
            let error = ErrorAnswer { name: "E", code: 1, message: "no".into(), data: Map::new() };
            assert_eq!(json!(spec.details(&error)), details);
        }
    }
}
