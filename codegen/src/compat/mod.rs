//! Whether a client that was right about a contract is still right about a later version of it.
//!
//! Requests and responses are compared as sets of values and not by keywords: a change is compatible when every
//! request that was valid still is, and every response that may come now might have come before. What can't be
//! decided counts as breaking.

mod offers;
mod tool;

use serde_json::Value;
use tabellion_runtime::FailureKind;

use crate::contract::Contract;

/// One difference between two versions of a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Whether a client of the old version may fail with the new one.
    pub breaking: bool,
    /// The tool, unless it is about the contract as a whole.
    pub tool: Option<String>,
    /// What has changed.
    pub what: String,
    /// A request that is now refused, or a response that could not come before.
    pub example: Option<Value>,
}

/// What has changed from `old` to `new`: first the contract as a whole, then tool by tool in wire order, then resources
/// and prompts.
pub fn compare(old: &Contract, new: &Contract) -> Vec<Change> {
    let mut changes = Changes::default();
    about(&mut changes, old, new);
    errors(&mut changes, old, new);
    promises(&mut changes, old, new);
    for before in &old.tools {
        changes.tool = Some(before.spec.name.clone());
        match new.tool(&before.spec.name) {
            Some(after) => {
                tool::compare(&mut changes, before, after);
                tool::limits(&mut changes, (old, before), (new, after));
            }
            None => changes.breaking("the tool was removed"),
        }
    }
    for after in new
        .tools
        .iter()
        .filter(|after| old.tool(&after.spec.name).is_none())
    {
        changes.tool = Some(after.spec.name.clone());
        changes.compatible("the tool was added");
    }
    changes.tool = None;
    offers::compare(&mut changes, &old.spec, &new.spec);
    changes.all
}

/// The changes so far, and the tool that the next ones are about.
#[derive(Debug, Default)]
struct Changes {
    tool: Option<String>,
    all: Vec<Change>,
}

impl Changes {
    fn breaking(&mut self, what: impl Into<String>) {
        self.push(true, what.into(), None);
    }

    fn compatible(&mut self, what: impl Into<String>) {
        self.push(false, what.into(), None);
    }

    fn push(&mut self, breaking: bool, what: String, example: Option<Value>) {
        self.all.push(Change {
            breaking,
            tool: self.tool.clone(),
            what,
            example,
        });
    }
}

fn about(changes: &mut Changes, old: &Contract, new: &Contract) {
    let (before, after) = (&old.document.value, &new.document.value);
    for key in ["title", "description", "source", "rust"] {
        if before[key] != after[key] {
            changes.compatible(format!("`{key}` says something else"));
        }
    }
    if old.spec.document != new.spec.document {
        changes.breaking("what it is about is said by somebody else");
    }
    let (before, after) = (&old.spec.tools, &new.spec.tools);
    let kept = |names: &[String], others: &[String]| -> Vec<String> {
        names
            .iter()
            .filter(|name| others.contains(name))
            .cloned()
            .collect()
    };
    if kept(before, after) != kept(after, before) {
        changes.compatible("the tools are listed in another order");
    }
}

fn errors(changes: &mut Changes, old: &Contract, new: &Contract) {
    if old.spec.error_channel != new.spec.error_channel {
        changes.breaking("errors reach clients on another way");
    }
    if old.spec.error_details != new.spec.error_details {
        match &old.spec.error_details {
            Some(key) => changes.breaking(format!("errors no longer say what happened in `{key}`")),
            None => changes.compatible("errors say in their data what happened, too"),
        }
    }
    for (name, before) in &old.spec.errors {
        let Some(after) = new.spec.errors.get(name) else {
            changes.breaking(format!("error `{name}` was removed"));
            continue;
        };
        if before.code != after.code {
            changes.breaking(format!(
                "error `{name}` had code {} and has {}",
                before.code, after.code
            ));
        }
        if before.message != after.message {
            changes.compatible(format!("error `{name}` has another message"));
        }
    }
    for name in new
        .spec
        .errors
        .keys()
        .filter(|name| !old.spec.errors.contains_key(*name))
    {
        changes.compatible(format!("error `{name}` was added"));
    }
    for kind in FailureKind::ALL {
        if let (Some(before), Some(after)) = (old.error_for(*kind), new.error_for(*kind))
            && before != after
        {
            changes.breaking(format!("failure `{kind}` was error `{before}` and is `{after}`"));
        }
    }
}

fn promises(changes: &mut Changes, old: &Contract, new: &Contract) {
    for before in &old.spec.guarantees {
        match new.spec.guarantees.iter().find(|after| after.id == before.id) {
            None => changes.breaking(format!("guarantee `{}` was removed", before.id)),
            Some(after) if after.text != before.text => {
                changes.compatible(format!("guarantee `{}` is worded otherwise", before.id));
            }
            Some(after) if after.kind != before.kind => {
                changes.compatible(format!("guarantee `{}` is of another kind", after.id));
            }
            Some(_) => {}
        }
    }
    for after in &new.spec.guarantees {
        if !old.spec.guarantees.iter().any(|before| before.id == after.id) {
            changes.compatible(format!("guarantee `{}` was added", after.id));
        }
    }
    for pair in old
        .spec
        .previews
        .iter()
        .filter(|pair| !new.spec.previews.contains(pair))
    {
        changes.breaking(format!(
            "`{}` no longer previews `{}` in that form",
            pair.preview, pair.applies
        ));
    }
    for pair in new
        .spec
        .previews
        .iter()
        .filter(|pair| !old.spec.previews.contains(pair))
    {
        changes.compatible(format!("`{}` previews `{}`", pair.preview, pair.applies));
    }
    match (&old.spec.log, &new.spec.log) {
        (before, after) if before == after => {}
        (None, _) => changes.compatible("the activity log can be read"),
        _ => changes.breaking("the activity log is elsewhere, or gone"),
    }
}
