//! How a call ends: with an answer, or with a rejection.

use serde_json::{Map, Value};

use crate::{approver::Proposal, failure::ErrorAnswer};

/// The answer of a tool, or the content of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The response, valid against the output schema of the tool or the schema of the resource.
    pub response: Value,
    /// Members of the result's `_meta`.
    pub meta: Map<String, Value>,
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Rejection {
    /// The contract has no such tool.
    UnknownTool,
    /// The contract has no such resource, prompt or argument of a prompt.
    Unknown,
    /// A person must approve first, and only the caller can ask them: it repeats the call with their answer. Nothing
    /// was written.
    InputRequired(Box<Proposal>),
    /// An error that the contract declares.
    Declared(ErrorAnswer),
    /// The implementation broke the contract. Nothing was written.
    Breach {
        /// Name of the tool, resource or prompt.
        tool: &'static str,
        /// How it was broken, for the log.
        detail: String,
    },
}

impl Rejection {
    /// Returns the rejection for an implementation that broke the contract of the tool, resource or prompt `name`.
    pub(crate) fn breach(name: &'static str, detail: impl ToString) -> Self {
        Self::Breach {
            tool: name,
            detail: detail.to_string(),
        }
    }
}
