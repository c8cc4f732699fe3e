//! Classifies changes of workflows: a transition that was possible must stay possible.

use tabellion_runtime::spec::{StateKind, TransitionSpec};

use super::read::Workflow;
use crate::{changes::Changes, contract::Contract};

pub(super) fn workflows(changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
    let workflows = [old, new].map(|of| of.spec.workflows.iter().map(|(id, it)| (*id, it)));
    changes.by_name("workflow", workflows, workflow);
}

fn workflow(changes: &mut Changes<'_>, id: &str, old: &Workflow, new: &Workflow) {
    if (old.initial, old.starts) != (new.initial, new.starts) {
        changes.breaking(format!("workflow `{id}` starts otherwise"));
    }
    if old.parameters != new.parameters {
        changes.breaking(format!("workflow `{id}` takes other parameters"));
    }
    if old.takes != new.takes {
        changes.breaking(format!("decisions of workflow `{id}` take other data"));
    }
    for (name, before) in &old.about {
        if new.about.get(name) != Some(before) {
            changes.breaking(format!(
                "instances of workflow `{id}` no longer have `{name}`, or other values of it"
            ));
        }
    }
    for name in new.about.keys().filter(|name| !old.about.contains_key(*name)) {
        changes.compatible(format!("instances of workflow `{id}` have `{name}`"));
    }
    for (name, before) in &old.states {
        match new.states.get(name) {
            None => changes.breaking(format!("workflow `{id}` has no state `{name}` any more")),
            Some(after) if before.outcome() != after.outcome() => {
                changes.breaking(format!("`{name}` of workflow `{id}` ends otherwise"));
            }
            Some(after) => self::state(changes, id, (name, *before), (old, new), *after),
        }
    }
    for name in new.states.keys().filter(|name| !old.states.contains_key(*name)) {
        changes.compatible(format!("workflow `{id}` has the state `{name}`"));
    }
    let about = |workflow: &Workflow| {
        let Workflow { name, version, description, gates, .. } = workflow;
        (*name, *version, *description, gates.clone())
    };
    if about(old) != about(new) {
        changes.compatible(format!("workflow `{id}` is described otherwise"));
    }
}

/// Compares the transitions from a state.
fn state(
    changes: &mut Changes<'_>,
    id: &str,
    (name, before): (&str, StateKind),
    (old, new): (&Workflow, &Workflow),
    after: StateKind,
) {
    for was in old.from(name) {
        let words = format!("`{}` from `{name}` of workflow `{id}`", was.on);
        match new.from(name).find(|is| is.on == was.on) {
            None => changes.breaking(format!("{words} was taken away")),
            Some(is) => transition(changes, &words, (before, was), (after, is)),
        }
    }
    for is in new.from(name).filter(|is| !old.from(name).any(|was| was.on == is.on)) {
        changes.compatible(format!("`{}` leads from `{name}` of workflow `{id}`", is.on));
    }
}

fn transition(
    changes: &mut Changes<'_>,
    words: &str,
    (before, was): (StateKind, &TransitionSpec),
    (after, is): (StateKind, &TransitionSpec),
) {
    if (was.to, was.effect) != (is.to, is.effect) {
        changes.breaking(format!("{words} does something else"));
    }
    if was.by != is.by {
        changes.breaking(format!("{words} happens otherwise"));
    }
    let (hindered, hinders) = (was.unless, is.unless);
    if hinders.iter().any(|condition| !hindered.contains(condition)) {
        changes.breaking(format!("{words} is not always possible"));
    } else if hinders.len() < hindered.len() {
        changes.compatible(format!("{words} is possible more often"));
    }
    for need in is.needs.iter().filter(|need| !was.needs.contains(need)) {
        changes.breaking(format!("{words} needs `{need}`"));
    }
    for need in was.needs.iter().filter(|need| !is.needs.contains(need)) {
        changes.compatible(format!("{words} no longer needs `{need}`"));
    }
    let (had, has) = (was.roles_from(before), is.roles_from(after));
    for role in had.iter().filter(|role| !has.is_empty() && !has.contains(role)) {
        changes.breaking(format!("role `{role}` can no longer do {words}"));
    }
    for role in has.iter().filter(|role| !had.contains(role)) {
        if had.is_empty() {
            changes.breaking(format!("only role `{role}` can do {words}"));
        } else {
            changes.compatible(format!("role `{role}` can do {words}"));
        }
    }
    match (was.bars_author(before), is.bars_author(after)) {
        (false, true) => changes.breaking(format!("the author can no longer do {words}")),
        (true, false) => changes.compatible(format!("the author can do {words}")),
        _ => {}
    }
}
