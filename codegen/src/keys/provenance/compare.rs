//! Classifies changes of `provenance`: a call that carried enough must still do so, under the same names.

use std::fmt::Display;

use tabellion_runtime::spec::ProvenanceUse;

use super::read::{Provenance, ProvenanceField};
use crate::changes::Changes;

pub(super) fn contract(changes: &mut Changes<'_>, old: Option<&Provenance>, new: Option<&Provenance>) {
    let (old, new) = match (old, new) {
        (None, None) => return,
        // The effect on each tool is listed under the tool.
        (None, Some(_)) => return changes.compatible("calls have provenance"),
        (Some(_), None) => return changes.breaking("calls no longer have provenance"),
        (Some(old), Some(new)) => (old, new),
    };
    let fields = [old, new].map(|of| of.fields.iter().map(|(name, it)| (*name, it)));
    changes.by_name("provenance", fields, field);
    for name in new.required.iter().filter(|name| !old.required.contains(name)) {
        changes.breaking(format!("provenance `{name}` is required"));
    }
    for name in old.required.iter().filter(|name| !new.required.contains(name)) {
        changes.compatible(format!("provenance `{name}` is no longer required"));
    }
    let needs = |of: &Provenance| -> Vec<_> {
        let also = of.also_if.iter();
        also.flat_map(|also| also.then.iter().map(|then| (also.field, *then))).collect()
    };
    let (before, after) = (needs(old), needs(new));
    for (field, then) in after.iter().filter(|need| !before.contains(need)) {
        if !old.required.contains(then) {
            changes.breaking(format!("provenance `{then}` is required if `{field}` is true"));
        }
    }
    for (field, then) in before.iter().filter(|need| !after.contains(need)) {
        if !new.required.contains(then) {
            changes.compatible(format!("provenance `{then}` is no longer required if `{field}` is true"));
        }
    }
    if old.session != new.session {
        changes.breaking("another field of provenance identifies the session");
    }
    if old.missing.error != new.missing.error {
        changes.breaking(format!(
            "missing provenance is error `{}` and no longer `{}`",
            new.missing.error, old.missing.error
        ));
    }
    if old.missing.message != new.missing.message {
        changes.compatible("the sentence about missing provenance changed");
    }
}

/// Compares the sources of a field.
fn field(changes: &mut Changes<'_>, name: &str, old: &ProvenanceField, new: &ProvenanceField) {
    if old.kind != new.kind {
        changes
            .breaking(format!("provenance `{name}` changed its type from `{}` to `{}`", old.kind, new.kind));
    }
    places(changes, name, "key", &old.keys, &new.keys);
    places(changes, name, "header", &old.headers, &new.headers);
    let words = |field: &ProvenanceField| -> Vec<_> {
        let from = field.from.iter().map(ToString::to_string);
        let discovered = field.discover.iter().map(|discovery| format!("discovered {discovery}"));
        from.chain(discovered).collect()
    };
    places(changes, name, "source", &words(old), &words(new));
    match (&old.default, &new.default) {
        (None, Some(_)) => changes.compatible(format!("provenance `{name}` has a default")),
        (Some(_), None) => changes.breaking(format!("provenance `{name}` no longer has a default")),
        (before, after) if before != after => {
            changes.breaking(format!("provenance `{name}` has another default"));
        }
        _ => {}
    }
}

/// Compares the sources of one kind.
fn places<S: Display + PartialEq>(
    changes: &mut Changes<'_>,
    name: &str,
    what: &str,
    before: &[S],
    after: &[S],
) {
    let lost: Vec<_> = before.iter().filter(|place| !after.contains(place)).collect();
    let added: Vec<_> = after.iter().filter(|place| !before.contains(place)).collect();
    for place in &lost {
        changes.breaking(format!("provenance `{name}` is no longer read from {what} `{place}`"));
    }
    for place in &added {
        changes.compatible(format!("provenance `{name}` is read from {what} `{place}`"));
    }
    if lost.is_empty() && added.is_empty() && before != after {
        changes.breaking(format!("provenance `{name}` is read from another {what} first"));
    }
}

pub(super) fn tool(changes: &mut Changes<'_>, old: Option<ProvenanceUse>, new: Option<ProvenanceUse>) {
    let rank = |used| match used {
        None => 0,
        Some(ProvenanceUse::Kept) => 1,
        Some(ProvenanceUse::Required) => 2,
    };
    match (old, new) {
        (old, new) if old == new => {}
        (_, Some(ProvenanceUse::Required)) => changes.breaking("it requires provenance"),
        (Some(old), None) => changes.breaking(format!("provenance is no longer {}", word(old))),
        (_, Some(new)) if rank(Some(new)) > rank(old) => changes.compatible("it keeps provenance"),
        _ => changes.compatible("it no longer requires provenance"),
    }
}

/// Returns the word of a tool's use in the spelling of contracts.
fn word(used: ProvenanceUse) -> &'static str {
    match used {
        ProvenanceUse::Required => "required",
        ProvenanceUse::Kept => "kept",
    }
}
