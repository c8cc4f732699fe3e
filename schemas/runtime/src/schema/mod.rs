//! Exact validation of requests and responses.
//!
//! A [`Schema`] has two views of one text: *wire*, which clients see, and *enforced*, which adds the contract's `x-enforce` rules
//! ([`views`]). A violation consists of a rule's id, a JSON pointer and a sentence for people; it never quotes the value, which may be a
//! whole document.

use std::{borrow::Cow, fmt, sync::OnceLock};

use jsonschema::{
    JsonType, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde::Serialize;
use serde_json::Value;

pub use self::views::Rule;
use crate::{Text, pointer};

pub mod views;
pub mod walk;

/// Maximum number of violations that are reported for one value.
const MAX_VIOLATIONS: usize = 8;
/// Maximum number of an enumeration's values that are listed.
const MAX_OPTIONS: usize = 30;

/// Minimum [`likeness`] of a suggested name: a third of the letters may differ.
const MIN_LIKENESS: f64 = 0.65;

/// A schema in its two views, and its validator.
pub struct Schema {
    text: Text,
    /// True if the text may contain the contract's own keys and rules.
    is_authored: bool,
    wire: OnceLock<Value>,
    compiled: OnceLock<Compiled>,
}

/// The compiled form of a schema.
struct Compiled {
    validator: Validator,
    enforced: Value,
    rules: Vec<Rule>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The validator follows from `enforced`.
        f.debug_struct("Schema")
            .field("wire", &self.wire())
            .field("enforced", &self.enforced())
            .field("rules", &self.rules())
            .finish_non_exhaustive()
    }
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Id of the contract's rule, or the JSON Schema keyword.
    pub rule: Cow<'static, str>,
    /// JSON pointer to the value.
    pub pointer: String,
    /// The problem and its correction.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{place}: {}", self.message)
    }
}

impl Schema {
    const fn new(text: Text, is_authored: bool) -> Self {
        Self { text, is_authored, wire: OnceLock::new(), compiled: OnceLock::new() }
    }

    /// Creates a schema that enforces exactly its wire view.
    pub const fn plain(json: &'static str) -> Self {
        Self::exact(Text::Written(json))
    }

    /// As [`plain`](Self::plain), from any text.
    pub const fn exact(text: Text) -> Self {
        Self::new(text, false)
    }

    /// Creates a schema of an authored text, with the contract's own keys.
    pub const fn authored(text: Text) -> Self {
        Self::new(text, true)
    }

    /// Returns the schema that clients see.
    ///
    /// # Panics
    /// If the text is not JSON; generated code always is.
    pub fn wire(&self) -> Value {
        self.wire_ref().clone()
    }

    fn wire_ref(&self) -> &Value {
        self.wire.get_or_init(|| {
            let text = self.text.value();
            if self.is_authored { views::wire(&text) } else { text }
        })
    }

    /// Returns the enforced schema: the wire schema and the contract's rules.
    pub fn enforced(&self) -> Value {
        self.compiled().enforced.clone()
    }

    /// Returns the contract's rules, with their locations in the enforced schema.
    pub fn rules(&self) -> &[Rule] {
        &self.compiled().rules
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let (text, wire) = (self.text.value(), self.wire_ref());
            let (enforced, rules) = if self.is_authored {
                (Some(views::enforced(&text)), views::rules(&text))
            } else {
                (None, vec![])
            };
            // Without additions, the wire schema is enforced as it is, descriptions included.
            let beyond = enforced.filter(|enforced| *enforced != views::bare(wire));
            let enforced = beyond.unwrap_or_else(|| wire.clone());
            let compile = if self.is_authored { compile } else { compile_any };
            let validator = compile(&enforced).expect("generated schemas compile");
            Compiled { validator, enforced, rules }
        })
    }

    /// Checks `value` against the enforced schema.
    ///
    /// # Errors
    /// The first violations, at most eight. A rule is reported once per value, however many of its keywords are broken. For a value of a
    /// wrong type, only the type is reported; for a text that is too short, only its length.
    pub fn check(&self, value: &Value) -> Result<(), Vec<Violation>> {
        let validator = &self.compiled().validator;
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
        let values = |rule: &str| -> Vec<_> {
            let of_rule = violations.iter().filter(|violation| violation.rule == rule);
            of_rule.map(|violation| violation.pointer.clone()).collect()
        };
        let (mistyped, short) = (values("type"), values("minLength"));
        violations.retain(|Violation { rule, pointer, .. }| match &**rule {
            "type" => true,
            "minLength" => !mistyped.iter().any(|value| is_below(pointer, value)),
            _ => !short.contains(pointer) && !mistyped.iter().any(|value| is_below(pointer, value)),
        });
        Err(violations)
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let clause = error.schema_path().as_str();
        let rules = self.rules().iter();
        let rule =
            rules.filter(|rule| is_below(clause, &rule.enforced)).max_by_key(|rule| rule.enforced.len());
        let (mut pointer, keyword) = (error.instance_path().as_str().to_string(), error.kind().keyword());
        if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind()
            && let [name] = unexpected.as_slice()
        {
            pointer = pointer::push(&pointer, name);
        }
        match rule {
            Some(rule) => Violation { rule: rule.id.clone().into(), pointer, message: rule.message.clone() },
            None => Violation {
                rule: keyword.to_string().into(),
                pointer,
                message: explain(error, "the value") + &self.suggestion(error),
            },
        }
    }

    /// Suggests a known member for an unknown one, as the end of a sentence; empty if none is similar.
    fn suggestion(&self, error: &ValidationError<'_>) -> String {
        let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() else {
            return String::new();
        };
        let schema = &self.compiled().enforced;
        let object = pointer::split_last(error.schema_path().as_str()).map_or("", |(object, _)| object);
        let known = schema.pointer(object).map_or(&Value::Null, |object| &object["properties"]);
        let known = known.as_object().into_iter().flatten();
        // It may belong to an object beside it. Of two names that are as similar, the one in this object is suggested.
        let known = known
            .clone()
            .flat_map(|(outer, schema)| {
                let inner = schema["properties"].as_object().into_iter().flatten();
                inner.map(move |(name, _)| (format!("{outer}.{name}"), name))
            })
            .chain(known.map(|(name, _)| (name.clone(), name)));
        let alike = known.flat_map(|(shown, name)| {
            unexpected.iter().map(move |other| (shown.clone(), likeness(name, other)))
        });
        let best = alike.max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.filter(|(_, likeness)| *likeness >= MIN_LIKENESS)
            .map_or_else(String::new, |(name, _)| format!("; did you mean `{name}`?"))
    }
}

/// Returns the known name that is most like `name`, if one is similar.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let alike = known.map(|known| (known, likeness(known, name)));
    let best = alike.max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.filter(|(_, likeness)| *likeness >= MIN_LIKENESS).map(|(name, _)| name)
}

/// Returns the similarity of two names, ignoring case and separators between words: 1 if they are equal.
fn likeness(a: &str, b: &str) -> f64 {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    strsim::normalized_damerau_levenshtein(&plain(a), &plain(b))
}

/// Compiles a schema as draft 2020-12, formats checked, patterns in linear time.
///
/// # Errors
/// If it is not a schema.
pub fn compile(schema: &Value) -> Result<Validator, String> {
    let options = options().with_pattern_options(jsonschema::PatternOptions::regex());
    options.build(schema).map_err(|error| error.to_string())
}

/// As [`compile`], for a schema of someone else: patterns may have look-around and back-references, which take more than linear time.
///
/// # Errors
/// If it is not a schema, or refers to one elsewhere.
pub fn compile_any(schema: &Value) -> Result<Validator, String> {
    options().build(schema).map_err(|error| error.to_string())
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true)
}

fn is_below(pointer: &str, prefix: &str) -> bool {
    pointer.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns a description of a format's values, with its article.
fn of_format(format: &str) -> String {
    match format {
        "date-time" => "a date and time like 2026-02-03T04:05:06Z".into(),
        "date" => "a date like 2026-02-03".into(),
        "time" => "a time like 04:05:06Z".into(),
        "duration" => "a duration like P1DT2H".into(),
        "email" | "idn-email" => "a valid email address".into(),
        "hostname" | "idn-hostname" => "a valid host name".into(),
        "ipv4" => "a valid IPv4 address".into(),
        "ipv6" => "a valid IPv6 address".into(),
        "uri" | "iri" => "a valid URI with a scheme, like https://example.org".into(),
        "uri-reference" | "iri-reference" => "a valid URI reference".into(),
        "uri-template" => "a valid URI template".into(),
        "uuid" => "a valid UUID".into(),
        "json-pointer" => "a valid JSON pointer like /a/b".into(),
        "relative-json-pointer" => "a valid relative JSON pointer".into(),
        "regex" => "a valid regular expression".into(),
        other => format!("a valid `{other}`"),
    }
}

/// Returns the name of a type, with its article.
fn of_type(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a text",
    }
}

/// Returns the name of a value's type, with its article.
fn of_value(value: &Value) -> &'static str {
    of_type(match value {
        Value::Array(_) => JsonType::Array,
        Value::Bool(_) => JsonType::Boolean,
        Value::Null => JsonType::Null,
        Value::Number(_) => JsonType::Number,
        Value::Object(_) => JsonType::Object,
        Value::String(_) => JsonType::String,
    })
}

/// Returns a sentence for people about a broken keyword: `value` is the subject, such as "the value". It never quotes the value
/// itself.
pub fn explain(error: &ValidationError<'_>, value: &str) -> String {
    match error.kind() {
        ValidationErrorKind::Required { property } => match property.as_str() {
            Some(name) => format!("`{}` is missing", name.escape_debug()),
            None => format!("{property} is missing"),
        },
        ValidationErrorKind::Format { format } => format!("{value} is not {}", of_format(format)),
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(one) => of_type(*one).to_owned(),
                TypeKind::Multiple(types) => {
                    let mut types: Vec<_> = types.iter().map(of_type).collect();
                    // `null` comes last.
                    types.reverse();
                    types.join(" or ")
                }
            };
            format!("{expected} was expected, {} was given", of_value(error.instance()))
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut shown: Vec<_> = options.iter().take(MAX_OPTIONS).map(ToString::to_string).collect();
            if options.len() > MAX_OPTIONS {
                shown.push(format!("{} more", options.len() - MAX_OPTIONS));
            }
            let last = shown.pop().unwrap_or_default();
            match shown.as_slice() {
                [] => format!("{value} is not {last}"),
                others => format!("{value} is not one of {} or {last}", others.join(", ")),
            }
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
            format!(
                "{} not known here",
                if names.len() == 1 { "is".into() } else { names.join(", ") + " are" }
            )
        }
        _ => error.masked_with(value).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_member_is_said_with_the_one_that_was_probably_meant() {
        static SCHEMA: Schema = Schema::plain(
            r#"{ "properties": { "filters": { "properties": { "tags": {} }, "additionalProperties": false }, "note_type": {} },
                 "additionalProperties": false }"#,
        );
        for (value, pointer, says) in [
            (json!({ "filter": 1 }), "/filter", "is not known here; did you mean `filters`?"),
            (json!({ "filters": { "tag": 1 } }), "/filters/tag", "is not known here; did you mean `tags`?"),
            (json!({ "tags": 1 }), "/tags", "is not known here; did you mean `filters.tags`?"),
            (json!({ "noteType": 1 }), "/noteType", "is not known here; did you mean `note_type`?"),
            (json!({ "nope": 1 }), "/nope", "is not known here"),
            (json!({ "": 1, "x": 1 }), "", "``, `x` are not known here"),
        ] {
            let [violation] = &SCHEMA.check(&value).unwrap_err()[..] else { panic!("{value}") };
            let said = (violation.pointer.as_str(), violation.message.trim_start_matches("the value "));
            assert_eq!(said, (pointer, says));
        }
    }

    #[test]
    fn messages_name_what_is_expected() {
        let many: Vec<_> = (0..MAX_OPTIONS + 2).collect();
        for (schema, value, expected) in [
            (json!({ "format": "email" }), json!("x"), "the value is not a valid email address"),
            (
                json!({ "format": "date-time" }),
                json!("x"),
                "the value is not a date and time like 2026-02-03T04:05:06Z",
            ),
            (
                json!({ "format": "json-pointer" }),
                json!("x"),
                "the value is not a valid JSON pointer like /a/b",
            ),
            (json!({ "required": ["a\nb"] }), json!({}), "`a\\nb` is missing"),
            (
                json!({ "enum": ["append", "prepend", "write", null] }),
                json!(1),
                r#"the value is not one of "append", "prepend", "write" or null"#,
            ),
            (json!({ "enum": [1] }), json!(2), "the value is not 1"),
            (json!({ "enum": many }), json!("x"), "28, 29 or 2 more"),
            (json!({ "maximum": 3 }), json!(4), "the value is greater than"),
            (json!({ "type": "object" }), json!("{}"), "an object was expected, a text was given"),
            (
                json!({ "type": ["array", "null"] }),
                json!(true),
                "a list or null was expected, true or false was given",
            ),
            (json!({ "type": "integer" }), json!(1.5), "an integer was expected, a number was given"),
        ] {
            let text: &'static str = schema.to_string().leak();
            let violations = Schema::plain(text).check(&value).unwrap_err();
            assert!(violations[0].message.contains(expected), "{}", violations[0].message);
        }
    }
}
