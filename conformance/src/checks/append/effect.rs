//! Appending effects: their calls, and the only bytes that a call may add to its file.

use tabellion_runtime::spec::Effect;

use crate::{
    checks::prelude::*,
    judgement::{ensure_accepted, missing_tool},
    layout::DOCUMENT,
    request::{self, with_effect},
};

/// Index of an effect among the contract's effects that append to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AppendEffect(pub(super) usize);

impl AppendEffect {
    /// Returns all appending effects that the server supports.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn all(subject: &Subject) -> Result<Vec<Self>, Stop> {
        let all: Vec<_> = (0..effects(subject).len()).map(Self).collect();
        nonempty(all, "the server has no tool that appends")
    }

    pub(super) fn resolve(self, subject: &Subject) -> Result<(&'static ToolSpec, &'static Effect), Stop> {
        let found = effects(subject).get(self.0).copied();
        found.ok_or_else(missing_tool)
    }

    /// Returns true if the effect appends JSON objects, one per line.
    pub(super) fn appends_lines(self, subject: &Subject) -> Result<bool, Stop> {
        Ok(self.resolve(subject)?.1.kind == EffectKind::AppendLine)
    }

    /// Returns the call that appends `what`: a text, or an object whose members extend the contract's example.
    pub(super) fn call(self, subject: &Subject, what: &Value) -> Result<Call, Stop> {
        let (tool, effect) = self.resolve(subject)?;
        let with = With { path: DOCUMENT, ..With::default() };
        let no_example = || Stop::Harness("the contract has no example of an append".into());
        let mut call = with_effect(tool, effect, with).ok_or_else(no_example)?;
        let at = effect.content.ok_or_else(no_example)?;
        let what = match what {
            Value::Object(members) => {
                let mut object = call.arguments.pointer(at).cloned().unwrap_or_default();
                let object = object.as_object_mut().ok_or_else(no_example)?;
                object.shift_remove("conformance");
                object.extend(members.clone());
                object.clone().into()
            }
            text => text.clone(),
        };
        request::put(&mut call.arguments, at, what);
        Ok(call)
    }

    /// Returns the call that appends an entry containing `word`.
    pub(super) fn call_with_word(self, subject: &Subject, word: &str) -> Result<Call, Stop> {
        let what =
            if self.appends_lines(subject)? { json!({ "word": word }) } else { format!("- {word}\n").into() };
        self.call(subject, &what)
    }
}

/// Returns the appending effects that the server supports, with their tools.
pub(super) fn effects(subject: &Subject) -> Vec<(&'static ToolSpec, &'static Effect)> {
    let appends = |kind| matches!(kind, EffectKind::Append | EffectKind::AppendLine);
    let tools = subject.operations();
    let all = tools.flat_map(|tool| tool.effects.iter().map(move |effect| (tool, effect)));
    let supported =
        all.filter(|(tool, effect)| appends(effect.kind) && subject.adapter.has(tool, Some(effect)));
    supported.collect()
}

/// Returns the text or entry that a call appends.
pub(super) fn appended_value(call: &Call) -> Value {
    let effect = call.tool.effect(&call.arguments);
    let at = effect.and_then(|effect| effect.content);
    at.and_then(|at| call.arguments.pointer(at)).cloned().unwrap_or_default()
}

/// Fails unless `after` is `before` followed by exactly the entry of `call`.
pub(super) fn judge(call: &Call, before: Option<&[u8]>, after: Option<&[u8]>) -> Judgement {
    let path = call.path();
    let wrong = |what: String| Err(fail(format!("`{path}`: {what}")).showing(&path, before, after));
    let old = before.unwrap_or_default();
    let Some(found) = after else {
        return wrong("the call was acknowledged, but the file does not exist".into());
    };
    let Some(mut appended) = found.strip_prefix(old) else {
        return wrong("the file does not begin with its content before the call".into());
    };
    if !old.is_empty() && !old.ends_with(b"\n") {
        let Some(rest) = strip_leading_newline(appended) else {
            return wrong("the entry was appended to a last line without a line ending".into());
        };
        appended = rest;
    }
    match appended_value(call) {
        Value::String(text) => {
            let rest = appended.strip_prefix(text.as_bytes());
            let is_whole =
                rest.is_some_and(|rest| rest.is_empty() || strip_leading_newline(rest) == Some(b""));
            if !is_whole {
                return wrong("the appended bytes are not the text with at most one line ending".into());
            }
        }
        entry => {
            let Some(line) = strip_trailing_newline(appended) else {
                return wrong("the entry's line has no line ending".into());
            };
            if line.contains(&b'\n') || line.contains(&b'\r') {
                return wrong("more than one line was appended".into());
            }
            // Compared as text because the order of members matters.
            let line = serde_json::from_slice::<Value>(line).map(|line| line.to_string());
            if line.ok() != Some(entry.to_string()) {
                return wrong("the appended line is not the entry".into());
            }
        }
    }
    Ok(())
}

/// Makes a call on a file of one entry: a valid one must append its own, and any other must be refused and change nothing.
pub(super) fn judge_call(bench: &Bench<'_>, call: &Call, is_valid: bool, what: &str) -> Judgement {
    let path = call.path();
    let scene = bench.scene(&[(&*path, "{}\n")])?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    let reply = client.make(call)?;
    if is_valid {
        ensure_accepted(&reply, what)?;
        judge(call, Some(b"{}\n"), scene.read(&path).as_deref())
    } else {
        ensure_refused(&reply, what)?;
        before.same(&Moment::capture(&scene)?)
    }
}

/// Strips a leading line ending; returns `None` if there is none.
pub(super) fn strip_leading_newline(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(b"\r\n").or_else(|| bytes.strip_prefix(b"\n"))
}

/// Strips a trailing line ending; returns `None` if there is none.
pub(super) fn strip_trailing_newline(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_suffix(b"\r\n").or_else(|| bytes.strip_suffix(b"\n"))
}

/// Fails if a call that must be refused was accepted.
pub(super) fn ensure_refused(reply: &Reply, what: &str) -> Judgement {
    ensure(matches!(reply, Reply::Refused(_)), || format!("{what} was accepted"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Subject;
    use tabellion_contracts::learning_os::CONTRACT;

    pub(in crate::checks::append) fn subject() -> Subject {
        Subject::new(&CONTRACT, vec!["false".into()])
    }

    #[test]
    fn only_the_old_content_followed_by_the_entry_passes() {
        let subject = subject();
        let effect = |lines| {
            let mut all = AppendEffect::all(&subject).unwrap().into_iter();
            all.find(|effect| effect.appends_lines(&subject).unwrap() == lines).unwrap()
        };
        let entry = effect(true).call(&subject, &json!({ "b": 1, "a": "x\ny" })).unwrap();
        let text = effect(false).call(&subject, &json!("- new")).unwrap();
        let line = appended_value(&entry).to_string();
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
            (Some("{}\n"), format!("{{}}\n{}\n", line.replace("\"b\":1,", "")), false),
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
