//! What has changed in the resources and prompts.

use super::Changes;
use crate::{
    algebra,
    contract::{ContractSpec, Prompt, Resource},
    views,
};

/// Adds what has changed from `old` to `new`.
pub(super) fn compare(changes: &mut Changes, old: &ContractSpec, new: &ContractSpec) {
    for before in &old.resources {
        match new.resources.iter().find(|after| after.name == before.name) {
            Some(after) => resource(changes, before, after),
            None => changes.breaking(format!("resource `{}` was removed", before.name)),
        }
    }
    for after in &new.resources {
        if !old.resources.iter().any(|before| before.name == after.name) {
            changes.compatible(format!("resource `{}` was added", after.name));
        }
    }
    for before in &old.prompts {
        match new.prompts.iter().find(|after| after.name == before.name) {
            Some(after) => prompt(changes, before, after),
            None => changes.breaking(format!("prompt `{}` was removed", before.name)),
        }
    }
    for after in &new.prompts {
        if !old.prompts.iter().any(|before| before.name == after.name) {
            changes.compatible(format!("prompt `{}` was added", after.name));
        }
    }
}

/// What it reads must have been possible before.
fn resource(changes: &mut Changes, old: &Resource, new: &Resource) {
    let name = &old.name;
    if old.uri != new.uri {
        changes.breaking(format!(
            "resource `{name}` was `{}` and is `{}`",
            old.uri, new.uri
        ));
    }
    if old.mime_type != new.mime_type {
        changes.breaking(format!("resource `{name}` is of another media type"));
    }
    if (&old.title, &old.description) != (&new.title, &new.description) {
        changes.compatible(format!("resource `{name}` is described otherwise"));
    }
    let [before, after] = [old, new].map(|resource| views::enforced(&resource.schema));
    if before == after {
        return;
    }
    match (algebra::covers(&before, &after), algebra::covers(&after, &before)) {
        (Some(true), Some(true)) => {}
        (Some(true), _) => changes.compatible(format!("resource `{name}` reads less than before")),
        (Some(false), _) => changes.breaking(format!("resource `{name}` may read what it could not before")),
        (None, _) => changes.breaking(format!(
            "it can't be proved that resource `{name}` reads nothing that it could not before"
        )),
    }
}

/// What a client says must remain right.
fn prompt(changes: &mut Changes, old: &Prompt, new: &Prompt) {
    let name = &old.name;
    let of = |argument: &str| format!("argument `{argument}` of prompt `{name}`");
    for before in &old.arguments {
        let Some(after) = new.arguments.iter().find(|after| after.name == before.name) else {
            changes.breaking(format!("{} was removed", of(&before.name)));
            continue;
        };
        match (before.required, after.required) {
            (false, true) => changes.breaking(format!("{} is required now", of(&before.name))),
            (true, false) => changes.compatible(format!("{} is no longer required", of(&before.name))),
            _ => {}
        }
        match (before.completes, after.completes) {
            (true, false) => changes.breaking(format!("{} no longer completes", of(&before.name))),
            (false, true) => changes.compatible(format!("{} completes", of(&before.name))),
            _ => {}
        }
        if before.description != after.description {
            changes.compatible(format!("{} is described otherwise", of(&before.name)));
        }
    }
    for after in &new.arguments {
        if old.arguments.iter().any(|before| before.name == after.name) {
            continue;
        }
        if after.required {
            changes.breaking(format!("{} was added and is required", of(&after.name)));
        } else {
            changes.compatible(format!("{} was added", of(&after.name)));
        }
    }
    if old.description != new.description {
        changes.compatible(format!("prompt `{name}` is described otherwise"));
    }
    if old.template != new.template {
        changes.compatible(format!("prompt `{name}` says something else"));
    }
}
