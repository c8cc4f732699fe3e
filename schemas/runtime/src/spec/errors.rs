//! How errors reach clients, and the error table.

use serde_json::{Map, Value};

use super::{ContractSpec, ToolSpec};
use crate::{answer::Rejection, failure::ErrorAnswer, vocabulary::vocabulary};

vocabulary! {
    /// How the errors of a contract reach the client.
    #[serde(rename_all = "kebab-case")]
    pub enum ErrorChannel {
        /// As a tool result with `isError: true`, which the model can read and act on.
        Result,
        /// As a JSON-RPC error object.
        JsonRpc,
    }
}

/// One row of a contract's error table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorSpec {
    /// Name, as in `NOT_FOUND`.
    pub name: &'static str,
    /// JSON-RPC error code.
    pub code: i32,
    /// What the code means, for people.
    pub message: &'static str,
}

impl ContractSpec {
    /// Returns an error of the table for one case. `detail` says what happened, where, and what to do; if it is empty, the
    /// message is the table's.
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
        ErrorAnswer {
            name: error.name,
            code: error.code,
            message,
            data,
        }
    }

    /// Returns the rejection of a call of `tool` with the error of this name and a sentence that the contract words. Both are linted, so
    /// that a contract without them is broken.
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
            None => Rejection::breach(
                tool.name,
                format!("`{error}`, or a value of its sentence, is missing"),
            ),
        }
    }
}
