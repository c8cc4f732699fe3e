//! What a server answered to a call of a tool.

use serde_json::{Map, Value};

/// An answer, in the contract's shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The call succeeded.
    Done(Success),
    /// It did not.
    Refused(Refusal),
}

/// A success.
#[derive(Debug, Clone, PartialEq)]
pub struct Success {
    /// The structured result.
    pub response: Value,
    /// What rode along in `_meta`.
    pub meta: Map<String, Value>,
}

/// A refusal, as a tool's result or as a JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The JSON-RPC code, where one was given.
    pub code: Option<i64>,
    /// What it said.
    pub message: String,
}

impl Reply {
    /// The success, if it is one.
    pub fn done(&self) -> Option<&Success> {
        match self {
            Self::Done(done) => Some(done),
            Self::Refused(_) => None,
        }
    }
}

impl Refusal {
    /// The refusal that a response message is, if it is one.
    pub fn of(message: &Value) -> Option<Self> {
        if let Some(error) = message.get("error") {
            return Some(Self {
                code: error["code"].as_i64(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            });
        }
        let result = &message["result"];
        if result["resultType"] == "input_required" {
            return Some(Self {
                code: None,
                message: "the server asks for something first".to_owned(),
            });
        }
        (result["isError"] == true).then(|| Self {
            code: result
                .pointer("/_meta/tabellion~1error/code")
                .and_then(Value::as_i64),
            message: text(result),
        })
    }
}

/// The text blocks of a result.
pub fn text(result: &Value) -> String {
    let blocks = result["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}
