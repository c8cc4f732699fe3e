//! Timestamps: RFC 3339 times with an offset, and texts that only resemble them.

use super::effect::{AppendEffect, judge_call};
use crate::{checks::prelude::*, request::put};

pub(super) const CHECK: Check = Check {
    id: "append/timestamp",
    guarantees: &["timestamp-required"],
    states: "An entry without an RFC 3339 time, offset included, is refused; one with it is stored unchanged.",
    explains: "Wherever the contract's schema requires a date and time, entries are given without one, with other \
               types, with times without an offset, with impossible dates, and with valid but unusual times. A \
               refused entry must leave no trace.",
    cases,
    ..Check::must(judge)
};

/// Texts, each with true if it is a valid timestamp. Forms that RFC 3339 leaves to applications (blanks, lower-case letters,
/// leap seconds) are not included.
const TIMES: [(&str, bool); 24] = [
    ("2026-01-31T09:30:00Z", true),
    ("2026-01-31T09:30:00+01:00", true),
    ("2026-01-31T09:30:00-00:00", true),
    ("2026-01-31T23:59:59.999999999+14:00", true),
    ("2024-02-29T00:00:00-12:30", true),
    ("0001-01-01T00:00:00Z", true),
    ("9999-12-31T23:59:59.5Z", true),
    ("", false),
    ("now", false),
    ("2026-01-31", false),
    ("09:30:00Z", false),
    ("2026-01-31T09:30:00", false),
    ("2026-01-31T09:30Z", false),
    ("2026-01-31T09:30:00+0100", false),
    ("2026-01-31T09:30:00+01", false),
    ("2026-01-31T09:30:00+25:00", false),
    ("2026-01-31T25:00:00Z", false),
    ("2026-01-31T09:60:00Z", false),
    ("2026-13-01T09:30:00Z", false),
    ("2026-02-30T09:30:00Z", false),
    ("2023-02-29T09:30:00Z", false),
    ("2026-01-31T09:30:00.Z", false),
    ("26-01-31T09:30:00Z", false),
    ("1769848200", false),
];

/// A value for a member that must be a timestamp.
#[derive(Debug, Serialize, Deserialize)]
struct Timestamp {
    #[serde(rename = "way")]
    effect: AppendEffect,
    /// JSON pointer to the member in the arguments.
    at: String,
    /// `None` to remove the member.
    value: Option<Value>,
    /// True if the value is a valid timestamp.
    #[serde(rename = "is_one")]
    is_valid: bool,
}

/// Returns JSON pointers to the members that must be timestamps, by the tool's input schema.
fn timestamp_pointers(tool: &ToolSpec) -> Vec<String> {
    fn collect(schema: &Value, at: &str, found: &mut Vec<String>) {
        if schema["format"] == "date-time" {
            found.push(at.to_owned());
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            collect(member, &format!("{at}/{name}"), found);
        }
    }
    let mut found = Vec::new();
    collect(&tool.input.wire(), "", &mut found);
    found
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for effect in AppendEffect::all(bench.subject)? {
        if !effect.appends_lines(bench.subject)? {
            continue;
        }
        let call = effect.call(bench.subject, &json!({}))?;
        let all = timestamp_pointers(call.tool);
        for at in all.into_iter().filter(|at| call.arguments.pointer(at).is_some()) {
            let mut add = |value: Option<Value>, is_valid| {
                let shown = value.as_ref().map_or("nothing".into(), Value::to_string);
                let name = format!("{}: {shown}", call.path());
                let at = at.clone();
                cases.push(Case::new(name, Timestamp { effect, at, value, is_valid }));
            };
            for (text, is_valid) in TIMES {
                add(Some(text.into()), is_valid);
            }
            for other in [json!(null), json!(1_769_848_200), json!(["2026-01-31T09:30:00Z"])] {
                add(Some(other), false);
            }
            add(None, false);
        }
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let timestamp: Timestamp = case.read()?;
    let mut call = timestamp.effect.call(bench.subject, &json!({}))?;
    match &timestamp.value {
        Some(value) => put(&mut call.arguments, &timestamp.at, value.clone()),
        None => remove(&mut call.arguments, &timestamp.at),
    }
    let what = timestamp
        .value
        .map_or("an entry without a timestamp".into(), |value| format!("{value} as a timestamp"));
    judge_call(bench, &call, timestamp.is_valid, &what)
}

/// Removes the member that the JSON pointer `at` names.
fn remove(arguments: &mut Value, at: &str) {
    let (parent, name) = at.rsplit_once('/').unwrap_or(("", at));
    if let Some(Value::Object(members)) = arguments.pointer_mut(parent) {
        members.shift_remove(name);
    }
}
