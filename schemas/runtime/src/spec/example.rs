//! Requests that a contract shows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request that the contract shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// What it shows; unique among a tool's examples.
    pub name: String,
    /// The request.
    pub input: Value,
    /// Whether it satisfies the schema and all rules.
    pub valid: bool,
    /// JSON pointer to the value in it that is wrong. Of a member that is missing or unknown, this is the object, while
    /// a [`Violation`](crate::Violation) points at the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Id of the rule, or the JSON Schema keyword, that it breaks and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}
