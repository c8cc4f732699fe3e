//! Answers to tool calls, in the contract's shape.

use serde_json::{Map, Value};

/// Answer to a tool call, in the contract's shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The call succeeded.
    Done(Success),
    /// The server refused the call.
    Refused(Refusal),
}

/// A success.
#[derive(Debug, Clone, PartialEq)]
pub struct Success {
    /// Structured result.
    pub response: Value,
    /// Members of `_meta`.
    pub meta: Map<String, Value>,
}

/// A refusal: a tool result marked as an error, or a JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// JSON-RPC error code, if any.
    pub code: Option<i64>,
    /// Message.
    pub message: String,
}

impl Reply {
    /// Returns the success, if the call succeeded.
    pub fn done(&self) -> Option<&Success> {
        match self {
            Self::Done(done) => Some(done),
            Self::Refused(_) => None,
        }
    }
}

impl Success {
    /// Returns a success with this response, and the `_meta` of the result.
    pub(crate) fn new(response: Value, result: &Value) -> Self {
        let meta = result["_meta"].as_object().cloned().unwrap_or_default();
        Self { response, meta }
    }
}

impl Refusal {
    /// Returns the refusal in a response message, if it is one.
    pub fn from_message(message: &Value) -> Option<Self> {
        if let Some(error) = message.get("error") {
            return Some(Self {
                code: error["code"].as_i64(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            });
        }
        let result = &message["result"];
        if result["resultType"] == "input_required" {
            return Some(Self { code: None, message: "the server asks for further input".to_owned() });
        }
        (result["isError"] == true).then(|| Self {
            code: result.pointer("/_meta/tabellion~1error/code").and_then(Value::as_i64),
            message: text(result),
        })
    }
}

/// Returns the text blocks of a result, concatenated.
pub fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}
