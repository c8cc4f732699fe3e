//! Tools that only add to the ends of files: what was there stays, what comes is there once and whole, and nothing else is
//! taken.
//!
//! Which files there are, and what an entry must have, stands in the contract; a check takes every effect that appends.

mod content;
mod crowd;
mod limits;
mod program;
mod targets;
mod timestamp;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::{
    ToolSpec,
    spec::{Effect, EffectKind},
};

use crate::{
    Subject,
    check::Check,
    judgement::{Judgement, Stop, ensure, fail},
    layout::DOCUMENT,
    reply::Reply,
    request::{self, Call, With, with_effect},
};

pub(super) const CHECKS: &[Check] = &[
    content::CHECK,
    program::CHECK,
    limits::ENTRIES,
    limits::READ,
    timestamp::CHECK,
    targets::NAMES,
    targets::LINKS,
    crowd::CHECK,
];

/// A way to add to a file: the number of an effect among those of the contract that do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct AppendEffect(usize);

impl AppendEffect {
    /// All that the server has.
    ///
    /// # Errors
    /// When it has none.
    fn all(subject: &Subject) -> Result<Vec<Self>, Stop> {
        let all: Vec<_> = (0..effects(subject).len()).map(Self).collect();
        if all.is_empty() {
            return Err(Stop::NotApplicable("the server has no tool that appends".into()));
        }
        Ok(all)
    }

    fn of(self, subject: &Subject) -> Result<(&'static ToolSpec, &'static Effect), Stop> {
        let found = effects(subject).get(self.0).copied();
        found.ok_or_else(|| Stop::NotApplicable("the server has no such tool".into()))
    }

    /// Whether what comes is an object, on a line of its own.
    fn adds_lines(self, subject: &Subject) -> Result<bool, Stop> {
        Ok(self.of(subject)?.1.kind == EffectKind::AppendLine)
    }

    /// The call that adds `what`: a text, or members of an object that come after those of the contract's example.
    fn call(self, subject: &Subject, what: &Value) -> Result<Call, Stop> {
        let (tool, effect) = self.of(subject)?;
        let with = With {
            path: DOCUMENT,
            ..With::default()
        };
        let lacking = || Stop::Harness("the contract has no example of an appending".into());
        let mut call = with_effect(tool, effect, with).ok_or_else(lacking)?;
        let at = effect.content.ok_or_else(lacking)?;
        let what = match what {
            Value::Object(members) => {
                let mut object = call.arguments.pointer(at).cloned().unwrap_or_default();
                let object = object.as_object_mut().ok_or_else(lacking)?;
                object.shift_remove("conformance");
                object.extend(members.clone());
                object.clone().into()
            }
            text => text.clone(),
        };
        request::put(&mut call.arguments, at, what);
        Ok(call)
    }

    /// As [`call`](Self::call), with a word that can be told from others.
    fn call_of(self, subject: &Subject, word: &str) -> Result<Call, Stop> {
        let what = if self.adds_lines(subject)? {
            json!({ "word": word })
        } else {
            format!("- {word}\n").into()
        };
        self.call(subject, &what)
    }
}

fn effects(subject: &Subject) -> Vec<(&'static ToolSpec, &'static Effect)> {
    let adds = |kind| matches!(kind, EffectKind::Append | EffectKind::AppendLine);
    let tools = subject.tools();
    let all = tools.flat_map(|tool| tool.effects.iter().map(move |effect| (tool, effect)));
    let known = all.filter(|(tool, effect)| adds(effect.kind) && subject.adapter.has(tool, Some(effect)));
    known.collect()
}

/// What a call adds.
fn added(call: &Call) -> Value {
    let effect = call.tool.effect(&call.arguments);
    let at = effect.and_then(|effect| effect.content);
    at.and_then(|at| call.arguments.pointer(at))
        .cloned()
        .unwrap_or_default()
}

/// Fails unless a file that held `before` holds that and what `call` adds, and no more.
fn judge(call: &Call, before: Option<&[u8]>, after: Option<&[u8]>) -> Judgement {
    let path = call.path();
    let wrong = |what: String| Err(fail(format!("`{path}`: {what}")).showing(&path, before, after));
    let held = before.unwrap_or_default();
    let Some(found) = after else {
        return wrong("the call was acknowledged, and there is no file".into());
    };
    let Some(mut came) = found.strip_prefix(held) else {
        return wrong("what was there before the call is no longer what the file begins with".into());
    };
    if !held.is_empty() && !held.ends_with(b"\n") {
        let Some(rest) = after_ending(came) else {
            return wrong("the last line had no end, and what came stands on it".into());
        };
        came = rest;
    }
    match added(call) {
        Value::String(text) => {
            let rest = came.strip_prefix(text.as_bytes());
            let is_whole = rest.is_some_and(|rest| rest.is_empty() || after_ending(rest) == Some(b""));
            if !is_whole {
                return wrong("what came is not the text, with at most a line ending after it".into());
            }
        }
        entry => {
            let Some(line) = without_ending(came) else {
                return wrong("the entry's line has no end".into());
            };
            if line.contains(&b'\n') || line.contains(&b'\r') {
                return wrong("what came is more than one line".into());
            }
            // As text, since the order of members counts.
            let line = serde_json::from_slice::<Value>(line).map(|line| line.to_string());
            if line.ok() != Some(entry.to_string()) {
                return wrong("the line that came is not the entry".into());
            }
        }
    }
    Ok(())
}

/// What comes after the line ending that `bytes` begin with.
fn after_ending(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(b"\r\n").or_else(|| bytes.strip_prefix(b"\n"))
}

fn without_ending(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_suffix(b"\r\n").or_else(|| bytes.strip_suffix(b"\n"))
}

/// Fails if a call that must be accepted was not.
fn accepted(reply: &Reply, what: &str) -> Judgement {
    match reply {
        Reply::Done(_) => Ok(()),
        Reply::Refused(refusal) => Err(fail(format!("{what} was refused: {}", refusal.message))),
    }
}

/// Fails if a call that must be refused was not.
fn refused(reply: &Reply, what: &str) -> Judgement {
    ensure(matches!(reply, Reply::Refused(_)), || {
        format!("{what} was accepted")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subject;
    use tabellion_contracts::learning_os::CONTRACT;

    pub(super) fn subject() -> Subject {
        Subject::new(&CONTRACT, vec!["false".into()])
    }

    #[test]
    fn only_what_was_there_and_the_entry_pass() {
        let subject = subject();
        let way = |lines| {
            let mut all = AppendEffect::all(&subject).unwrap().into_iter();
            all.find(|way| way.adds_lines(&subject).unwrap() == lines)
                .unwrap()
        };
        let entry = way(true).call(&subject, &json!({ "b": 1, "a": "x\ny" })).unwrap();
        let text = way(false).call(&subject, &json!("- new")).unwrap();
        let line = added(&entry).to_string();
        let judged = |call: &Call, before: Option<&str>, after: &str| {
            judge(call, before.map(str::as_bytes), Some(after.as_bytes())).is_ok()
        };
        for (before, after, holds) in [
            (None, format!("{line}\n"), true),
            (Some("{}\n"), format!("{{}}\n{line}\n"), true),
            (Some("{}"), format!("{{}}\n{line}\n"), true),
            (Some("{}"), format!("{{}}\r\n{line}\r\n"), true),
            (Some("{}"), format!("{{}}{line}\n"), false),
            (Some("{}\n"), format!("{{}}\n{line}"), false),
            (Some("{}\n"), format!("{line}\n"), false),
            (Some("{}\n"), format!("{{}}\n{line}\n{line}\n"), false),
            (Some("{}\n"), format!("{{}}\n\n{line}\n"), false),
            (
                Some("{}\n"),
                format!("{{}}\n{}\n", line.replace("\"b\":1,", "")),
                false,
            ),
            (Some("{}\r\n"), format!("{{}}\n{line}\n"), false),
            (Some("{}\n"), "{}\n".into(), false),
        ] {
            assert_eq!(judged(&entry, before, &after), holds, "{before:?} {after:?}");
        }
        for (before, after, holds) in [
            (None, "- new", true),
            (Some("- old"), "- old\n- new\n", true),
            (Some("- old\n"), "- old\n- new", true),
            (Some("- old"), "- old- new", false),
            (Some("- old\n"), "- old\n- newer", false),
            (Some("- old\n"), "- new\n", false),
            (Some("- old\n"), "- old\n- new\n- new\n", false),
        ] {
            assert_eq!(judged(&text, before, after), holds, "{before:?} {after:?}");
        }
    }
}
