//! Exact validation of requests and responses.
//!
//! A [`Schema`] has two views of one schema: *wire*, which clients see, and *enforced*, which adds the contract's
//! `x-enforce` clauses. Each violation has a rule's id, a JSON pointer and a sentence for people; it never quotes
//! the value, which may be a whole document.

use std::{borrow::Cow, fmt, sync::OnceLock};

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde::Serialize;
use serde_json::Value;

/// Number of violations that are reported for one value.
const MAX_VIOLATIONS: usize = 8;

/// The two views of a schema, as JSON texts, and its validator.
#[derive(Debug)]
pub struct Schema {
    /// What clients see.
    pub wire: &'static str,
    /// What is enforced: `wire` and the contract's own clauses.
    pub enforced: &'static str,
    /// The contract's own clauses, and where they stand in `enforced`.
    pub rules: &'static [Rule],
    validator: OnceLock<Validator>,
}

/// A clause of `x-enforce`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// JSON pointer to the clause in the enforced schema.
    pub at: &'static str,
    /// Stable id.
    pub id: &'static str,
    /// What is wrong when it is broken, for people.
    pub message: &'static str,
}

/// One rule broken at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Id of a contract's rule, or the JSON Schema keyword that was broken.
    pub rule: Cow<'static, str>,
    /// JSON pointer to the value.
    pub pointer: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() {
            "/"
        } else {
            &self.pointer
        };
        write!(f, "{place}: {}", self.message)
    }
}

impl Schema {
    /// Wraps the texts of generated code.
    pub const fn new(wire: &'static str, enforced: &'static str, rules: &'static [Rule]) -> Self {
        Self {
            wire,
            enforced,
            rules,
            validator: OnceLock::new(),
        }
    }

    /// Wraps the text of a schema that enforces what clients see, and no more.
    pub const fn plain(wire: &'static str) -> Self {
        Self::new(wire, wire, &[])
    }

    /// The schema that clients see.
    ///
    /// # Panics
    /// When `wire` is not JSON, which generated code never is.
    pub fn wire(&self) -> Value {
        serde_json::from_str(self.wire).expect("generated schemas are JSON")
    }

    /// Checks `value` against the enforced schema.
    ///
    /// # Errors
    /// The first violations, eight at most. A rule is violated once at one place, however many of its keywords are.
    pub fn check(&self, value: &Value) -> Result<(), Vec<Violation>> {
        let validator = self.validator.get_or_init(|| {
            let schema = serde_json::from_str(self.enforced).expect("generated schemas are JSON");
            compile(&schema).expect("generated schemas compile")
        });
        if validator.is_valid(value) {
            return Ok(());
        }
        let mut violations = Vec::with_capacity(MAX_VIOLATIONS);
        for error in validator.iter_errors(value) {
            let violation = self.violation(&error);
            if !violations.contains(&violation) {
                violations.push(violation);
            }
            if violations.len() == MAX_VIOLATIONS {
                break;
            }
        }
        Err(violations)
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let clause = error.schema_path().as_str();
        let rule = self
            .rules
            .iter()
            .filter(|rule| is_below(clause, rule.at))
            .max_by_key(|rule| rule.at.len());
        let (mut pointer, keyword) = (error.instance_path().as_str().to_string(), error.kind().keyword());
        if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind()
            && let [name] = unexpected.as_slice()
        {
            pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        }
        match rule {
            Some(rule) => Violation {
                rule: rule.id.into(),
                pointer,
                message: rule.message.into(),
            },
            None => Violation {
                rule: keyword.to_string().into(),
                pointer,
                message: explain(error),
            },
        }
    }
}

/// Compiles a schema as draft 2020-12, formats checked, patterns in linear time.
///
/// # Errors
/// When it is not a schema.
pub fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
        .map_err(|error| error.to_string())
}

fn is_below(pointer: &str, prefix: &str) -> bool {
    pointer
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A sentence for people about the keywords that contracts use; the value itself stays out of it.
fn explain(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Required { property } => format!("{property} is missing"),
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected
                .iter()
                .map(|name| format!("`{}`", name.escape_debug()))
                .collect();
            format!(
                "{} not known here",
                if names.len() == 1 {
                    "is".into()
                } else {
                    names.join(", ") + " are"
                }
            )
        }
        _ => error.masked_with("the value").to_string(),
    }
}
