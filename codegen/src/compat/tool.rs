//! What has changed in one tool.

use std::collections::BTreeMap;

use serde_json::Value;
use tabellion_runtime::{Annotations, Approval};

use super::Changes;
use crate::{
    algebra,
    contract::{Contract, Effect, PathPolicy, RateLimit, Side, Tool},
    pointer, sample, schema, views,
};

/// Adds what has changed from `old` to `new`.
pub(super) fn compare(changes: &mut Changes, old: &Tool, new: &Tool) {
    hints(changes, old.spec.annotations, new.spec.annotations);
    let (before, after) = (&old.spec.errors, &new.spec.errors);
    for error in after.iter().filter(|error| !before.contains(error)) {
        changes.compatible(format!("it may answer with error `{error}`"));
    }
    for error in before.iter().filter(|error| !after.contains(error)) {
        changes.compatible(format!("it no longer answers with error `{error}`"));
    }
    effects(changes, &old.spec.effects, &new.spec.effects);
    values(changes, Side::Input, old, new);
    defaults(changes, old, new);
    values(changes, Side::Output, old, new);
    paths(changes, old.spec.paths.as_ref(), new.spec.paths.as_ref());
    approval(changes, old.spec.approval, new.spec.approval);
    if old.spec.path_in != new.spec.path_in {
        changes.breaking("its paths name files in another folder");
    }
    for (before, after, what) in [
        (
            &old.spec.path,
            &new.spec.path,
            "the path is elsewhere in the request",
        ),
        (
            &old.spec.commit,
            &new.spec.commit,
            "the commit is elsewhere in the response",
        ),
    ] {
        if before != after {
            changes.compatible(what);
        }
    }
    if old.spec.description != new.spec.description {
        changes.compatible("the description says something else");
    }
}

/// A hint is a promise in one direction: a client that relied on it must not lose it.
fn hints(changes: &mut Changes, old: Annotations, new: Annotations) {
    let promises = [
        ("read-only", old.read_only, new.read_only),
        ("not destructive", !old.destructive, !new.destructive),
        ("idempotent", old.idempotent, new.idempotent),
        ("closed to the outer world", !old.open_world, !new.open_world),
    ];
    for (promise, before, after) in promises {
        match (before, after) {
            (true, false) => changes.breaking(format!("it is no longer {promise}")),
            (false, true) => changes.compatible(format!("it is now {promise}")),
            _ => {}
        }
    }
}

/// A path that might be named must remain so. Globs are compared as they are written: what another one allows can't be
/// told from it.
fn paths(changes: &mut Changes, old: Option<&PathPolicy>, new: Option<&PathPolicy>) {
    let (old, new) = match (old, new) {
        (None, None) => return,
        (None, Some(_)) => return changes.breaking("not every path may be named any more"),
        (Some(_), None) => return changes.compatible("every path may be named"),
        (Some(old), Some(new)) => (old, new),
    };
    for glob in old.allow.iter().filter(|glob| !new.allow.contains(glob)) {
        changes.breaking(format!("paths `{glob}` are no longer allowed"));
    }
    for glob in new.deny.iter().filter(|glob| !old.deny.contains(glob)) {
        changes.breaking(format!("paths `{glob}` are denied"));
    }
    for glob in new.allow.iter().filter(|glob| !old.allow.contains(glob)) {
        changes.compatible(format!("paths `{glob}` are allowed"));
    }
    for glob in old.deny.iter().filter(|glob| !new.deny.contains(glob)) {
        changes.compatible(format!("paths `{glob}` are no longer denied"));
    }
}

/// Whether a person is asked is a promise to the person too: neither may a client be kept waiting all at once, nor a
/// person no longer be asked.
fn approval(changes: &mut Changes, old: Option<Approval>, new: Option<Approval>) {
    if old == new {
        return;
    }
    match (old, new) {
        (None, _) => changes.breaking("a person must approve of its calls"),
        (_, None) => changes.breaking("nobody approves of its calls any more"),
        (Some(_), Some(_)) => changes.compatible("a person who approves is shown something else"),
    }
}

/// Who kept to a limit must still do so by calling as often as before.
pub(super) fn limits(changes: &mut Changes, old: (&Contract, &Tool), new: (&Contract, &Tool)) {
    let [before, after] = [old, new].map(|(contract, tool)| {
        let name = tool.spec.rate_limit.as_ref()?;
        Some((name, *contract.spec.rate_limits.get(name)?))
    });
    let (before, after) = match (before, after) {
        (None, None) => return,
        (None, Some((_, RateLimit { calls, seconds }))) => {
            return changes.breaking(format!(
                "it may be called only {calls} times in {seconds} seconds"
            ));
        }
        (Some(_), None) => return changes.compatible("it may be called as often as anybody likes"),
        (Some(before), Some(after)) => (before, after),
    };
    let often = |limit: RateLimit, other: RateLimit| u64::from(limit.calls) * u64::from(other.seconds);
    let (now, then) = (often(after.1, before.1), often(before.1, after.1));
    if now < then || after.1.calls < before.1.calls {
        changes.breaking("it may be called less often");
    } else if before.1 != after.1 {
        changes.compatible("it may be called more often");
    }
    let shares = |contract: &Contract, limit: &String, name: &String| {
        contract
            .tool(name)
            .is_some_and(|other| other.spec.rate_limit.as_ref() == Some(limit))
    };
    for other in old.0.tools.iter().map(|tool| &tool.spec.name) {
        if shares(new.0, after.0, other) && !shares(old.0, before.0, other) {
            changes.breaking(format!("calls of `{other}` count as calls of it"));
        }
    }
}

/// A request must go on having the effect that it had.
fn effects(changes: &mut Changes, old: &[Effect], new: &[Effect]) {
    for before in old.iter().filter(|before| !new.contains(before)) {
        changes.breaking(format!("its effect {} is gone or another", words(before)));
    }
    for after in new.iter().filter(|after| !old.contains(after)) {
        changes.compatible(format!("it says that it has effect {}", words(after)));
    }
}

fn words(effect: &Effect) -> String {
    let word = effect.kind;
    let pointer = |name: &str, pointer: &Option<String>| {
        pointer
            .as_ref()
            .map_or_else(String::new, |pointer| format!(", {name} `{pointer}`"))
    };
    let when = effect.when.as_ref().map_or_else(String::new, |when| {
        format!(" where `{}` is `{}`", when.at, when.is)
    });
    let content = pointer("content", &effect.content);
    let target = pointer("target", &effect.target);
    let section = pointer("section", &effect.section);
    let position = pointer("position", &effect.position);
    format!("`{word}`{when}{content}{target}{section}{position}")
}

/// Requests must remain valid, and responses must have been possible before.
fn values(changes: &mut Changes, side: Side, old: &Tool, new: &Tool) {
    let (kept, other) = match side {
        Side::Input => (old, new),
        Side::Output => (new, old),
    };
    let narrow = views::enforced(kept.schema(side));
    let wide = views::enforced(other.schema(side));
    if narrow != wide {
        let (breaks, widens) = match side {
            Side::Input => ("requests are refused that were valid", "more requests are valid"),
            Side::Output => (
                "responses may come that could not come before",
                "fewer responses may come",
            ),
        };
        match (algebra::covers(&wide, &narrow), algebra::covers(&narrow, &wide)) {
            (Some(true), Some(true)) => {}
            (Some(true), _) => return changes.compatible(widens),
            (decided, _) => {
                let example = sample::between(side, &narrow, &wide, [kept, other]);
                let what = match (&example, algebra::difference(&narrow, &wide)) {
                    (Some(_), _) => breaks.into(),
                    (None, Some(lost)) if decided == Some(false) => format!("{breaks}, namely {lost}"),
                    (None, _) => format!("it can't be proved that no {breaks}"),
                };
                return changes.push(true, what, example);
            }
        }
    }
    if old.schema(side) != new.schema(side) {
        changes.compatible(match side {
            Side::Input => "the same requests are described otherwise",
            Side::Output => "the same responses are described otherwise",
        });
    }
}

/// A request that leaves a value out must mean what it meant.
fn defaults(changes: &mut Changes, old: &Tool, new: &Tool) {
    let [before, after] = [old, new].map(|tool| {
        let mut defaults = BTreeMap::new();
        collect(tool.schema(Side::Input), "", &mut defaults);
        defaults
    });
    for (at, default) in before {
        match after.get(&at) {
            Some(now) if *now == default => {}
            Some(now) => changes.breaking(format!("the default of `{at}` was {default} and is {now}")),
            None => changes.breaking(format!("the default of `{at}`, {default}, is gone")),
        }
    }
}

fn collect<'a>(schema: &'a Value, at: &str, defaults: &mut BTreeMap<String, &'a Value>) {
    if let Some(default) = schema.get("default") {
        defaults.insert(at.into(), default);
    }
    for (step, part) in schema::parts(schema) {
        let step = step.last().cloned().unwrap_or_default();
        collect(part, &pointer::push(at, &step), defaults);
    }
}
