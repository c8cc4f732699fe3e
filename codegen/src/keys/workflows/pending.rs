//! `pending` of an operation: the marks of an answer whose change waits.

use tabellion_runtime::{
    schema::compile,
    spec::{self, Starts},
};

use crate::{
    changes::Changes,
    contract::{Contract, Side, Tool},
    lint::pointers::leads_to,
    problem::Problem,
    views,
};

pub(super) fn lint(contract: &Contract, tool: &Tool, problems: &mut Vec<Problem>) {
    let Some(pending) = &tool.spec.pending else { return };
    let mut say = |at: &str, message: &str, help: &str| {
        problems.push(tool.document.problem(at, message, help));
    };
    if !tool.spec.mutating {
        say(
            "/pending",
            "a tool that changes nothing has nothing that waits",
            "remove the key, or set `mutating`",
        );
    }
    let is_started = |starts| contract.spec.workflows.values().any(|workflow| workflow.starts == starts);
    if !is_started(Starts::Tool) {
        say(
            "/pending",
            "no workflow of the contract is started by a tool",
            "declare one in `workflows` with `\"starts\": \"tool\"`",
        );
    }
    let output = tool.schema(Side::Output);
    leads_to(output, pending.instance, "string", &tool.document, "/pending/instance", problems);
    let Some(found) = leads_to(output, pending.at, "string", &tool.document, "/pending/at", problems) else {
        return;
    };
    let is_possible = compile(&views::enforced(found.schema))
        .map_or(true, |validator| validator.is_valid(&pending.is.into()));
    if !is_possible {
        problems.push(tool.document.problem(
            "/pending/is",
            format!("`{}` is never `{}`", pending.at, pending.is),
            "use a value that the schema permits there",
        ));
    }
}

/// A change that took effect at once must still do so.
pub(super) fn compare(changes: &mut Changes<'_>, old: &Tool, new: &Tool) {
    match (&old.spec.pending, &new.spec.pending) {
        (None, Some(_)) => changes.breaking("its changes can wait for a decision"),
        (Some(_), None) => changes.compatible("its changes no longer wait for a decision"),
        (Some(before), Some(after)) if before != after => {
            changes.breaking("its answer says otherwise that a change waits for a decision");
        }
        _ => {}
    }
}

pub(super) fn fill(tool: &Tool, entry: &mut spec::ToolSpec) {
    entry.pending = tool.spec.pending;
}
