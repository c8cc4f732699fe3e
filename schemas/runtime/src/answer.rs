//! The result of a call: an answer, or a rejection.

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

/// The reason that a call has no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Rejection {
    /// The contract has no such tool.
    UnknownTool,
    /// The contract has no such resource, prompt or argument of a prompt.
    Unknown,
    /// A person must approve first, and only the caller can ask them: it repeats the call with their answer. The store is unchanged.
    InputRequired(Box<Proposal>),
    /// An error that the contract declares.
    Declared(ErrorAnswer),
    /// The implementation broke the contract. The store is unchanged.
    Breach {
        /// Name of the tool, resource or prompt.
        tool: &'static str,
        /// A description of the breach, for the log.
        detail: String,
    },
}

impl Rejection {
    /// Returns the rejection for an implementation that broke the contract of the tool, resource or prompt `name`.
    pub(crate) fn breach(name: &'static str, detail: impl ToString) -> Self {
        Self::Breach { tool: name, detail: detail.to_string() }
    }
}
