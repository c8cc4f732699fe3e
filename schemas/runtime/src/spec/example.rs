//! Examples of requests in a contract.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An example of a request in the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Its subject; unique among a tool's examples.
    pub name: String,
    /// The request.
    pub input: Value,
    /// True if it satisfies the schema and all rules.
    pub valid: bool,
    /// JSON pointer to the wrong value in it. For a missing or unknown member, this is the object, while a [`Violation`](crate::Violation)
    /// points at the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Id of the only rule, or JSON Schema keyword, that it breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}
