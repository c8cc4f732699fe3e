//! Times: what is one, with its offset, and what only looks like it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::ToolSpec;

use super::{Way, accepted, judge as judge_added, refused};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop},
    moment::Moment,
    request::put,
};

pub(super) const CHECK: Check = Check {
    id: "append/timestamp",
    severity: Severity::Must,
    guarantees: &["timestamp-required"],
    states: "An entry without a time in the form of RFC 3339, offset included, is refused; one with it is kept as it came.",
    explains: "Wherever the contract's schema wants a date and time, every entry is given without one, with something else, \
               with times that lack their offset, days that are on no calendar, and times that are fine though unusual. A \
               refused entry must leave nothing.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

/// Times, and whether they are. What RFC 3339 leaves to applications (blanks, small letters, leap seconds) is not here.
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

/// What stands where a time should.
#[derive(Debug, Serialize, Deserialize)]
struct Time {
    way: Way,
    /// Pointer in the arguments.
    at: String,
    /// `None` where nothing stands there.
    value: Option<Value>,
    is_one: bool,
}

/// Where the schema of the arguments wants a time.
fn places(tool: &ToolSpec) -> Vec<String> {
    fn look(schema: &Value, at: &str, found: &mut Vec<String>) {
        if schema["format"] == "date-time" {
            found.push(at.to_owned());
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            look(member, &format!("{at}/{name}"), found);
        }
    }
    let mut found = Vec::new();
    look(&tool.input.wire(), "", &mut found);
    found
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for way in Way::all(bench.subject)? {
        if !way.adds_lines(bench.subject)? {
            continue;
        }
        let call = way.call(bench.subject, &json!({}))?;
        let all = places(call.tool);
        for at in all.into_iter().filter(|at| call.arguments.pointer(at).is_some()) {
            let mut add = |value: Option<Value>, is_one| {
                let shown = value.as_ref().map_or("nothing".into(), Value::to_string);
                let name = format!("{}: {shown}", call.path());
                let at = at.clone();
                cases.push(Case::new(
                    name,
                    Time {
                        way,
                        at,
                        value,
                        is_one,
                    },
                ));
            };
            for (text, is_one) in TIMES {
                add(Some(text.into()), is_one);
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
    let time: Time = case.read()?;
    let mut call = time.way.call(bench.subject, &json!({}))?;
    match &time.value {
        Some(value) => put(&mut call.arguments, &time.at, value.clone()),
        None => remove(&mut call.arguments, &time.at),
    }
    let path = call.path();
    let scene = bench.scene(&[(&*path, "{}\n")])?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    let reply = client.make(&call)?;
    let what = time.value.map_or("an entry without a time".into(), |value| {
        format!("{value} as a time")
    });
    if time.is_one {
        accepted(&reply, &what)?;
        judge_added(&call, Some(b"{}\n"), scene.read(&path).as_deref())
    } else {
        refused(&reply, &what)?;
        before.same(&Moment::of(&scene)?)
    }
}

fn remove(arguments: &mut Value, at: &str) {
    let (parent, name) = at.rsplit_once('/').unwrap_or(("", at));
    if let Some(Value::Object(members)) = arguments.pointer_mut(parent) {
        members.shift_remove(name);
    }
}
