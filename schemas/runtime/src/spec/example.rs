//! Requests that a contract shows.

/// A request that the contract shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// What it shows; unique among a tool's examples.
    pub name: &'static str,
    /// The request, as JSON text.
    pub json: &'static str,
    /// Whether it satisfies the schema and all rules.
    pub valid: bool,
    /// JSON pointer to the value in it that is wrong. Of a member that is missing or unknown, this is the object, while
    /// a [`Violation`](crate::Violation) points at the member.
    pub at: Option<&'static str>,
    /// Id of the rule, or the JSON Schema keyword, that it breaks and no other.
    pub rule: Option<&'static str>,
}
