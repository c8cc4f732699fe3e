//! Lints of an entity's operations: members and fields exist, and keys fit the operation's action.

use tabellion_runtime::spec::{Action, FilterBy};

use super::{
    lint::Lint,
    read::{ActionOf, OperationsOf, action},
};
use crate::{
    contract::{Contract, Side, Tool},
    pointer,
    problem::Problem,
};

/// Checks the operations of all entities.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    for entity in &contract.entities {
        all(&mut Lint { contract, entity, problems });
    }
}

/// Checks the operations of each tool.
fn all(lint: &mut Lint<'_>) {
    let (contract, entity) = (lint.contract, lint.entity);
    for (i, operations) in entity.file.operations.iter().enumerate() {
        let at = if entity.document.value["operations"].is_array() {
            format!("/operations/{i}")
        } else {
            "/operations".into()
        };
        let Some(tool) = contract.tool(operations.tool) else {
            let message = format!("there is no tool `{}`", operations.tool);
            lint.problem(format!("{at}/tool"), message, "name one of `tools`");
            continue;
        };
        if tool.spec.select.len() != 2 {
            let message = format!("`{}` has not two selectors", tool.spec.name);
            lint.problem(format!("{at}/tool"), message, "name a tool with `\"select\": [action, resource]`");
        }
        names(lint, &at, operations.by.keys());
        names(lint, &at, operations.required.iter());
        names(lint, &at, operations.key.keys());
        let members = operations.by.values().chain(operations.key.values());
        taken(lint, &at, tool, members.chain(operations.key_in_data.then_some(&operations.data)));
        for (word, of) in &operations.actions {
            operation(lint, &pointer::push(&at, word), tool, operations, (word, of));
        }
    }
}

fn operation(
    lint: &mut Lint<'_>,
    at: &str,
    tool: &Tool,
    operations: &OperationsOf,
    (word, of): (&str, &ActionOf),
) {
    let fields = &lint.entity.file.fields;
    names(lint, at, of.by.keys().chain(of.or_by.keys()));
    names(lint, at, of.required.iter().chain(&of.omit));
    names(lint, at, of.set.keys().chain(&of.after_by));
    for filter in of.filters.values() {
        let by = filter.by();
        names(lint, at, by.fields().iter());
        let is = |name: &'static str, kind: &str| fields.get(name).is_none_or(|field| field.kind == kind);
        match by {
            FilterBy::Item(name) if !is(name, "list") => {
                lint.problem(at, format!("`{name}` is no list"), "name a field of the type `list`");
            }
            FilterBy::Words(names) => {
                if let Some(name) = names.iter().find(|name| !is(name, "string")) {
                    lint.problem(at, format!("`{name}` is no text"), "name fields of the type `string`");
                }
            }
            _ => {}
        }
    }
    let filters = of.filters.keys().chain(&of.limit).chain(&of.after);
    let filters = filters.filter(|_| of.filters_in.is_none());
    let members = of.by.values().chain(of.or_by.values()).chain(&of.filters_in);
    taken(lint, at, tool, members.chain(filters));
    if let Some(name) = of.fields.iter().find(|name| !of.set.contains_key(*name)) {
        let help = "name fields of `set`";
        lint.problem(format!("{at}/fields"), format!("the operation does not set `{name}`"), help);
    }
    let (is_list, is_get) = (action(word) == Action::List, action(word) == Action::Get);
    for (key, is_given, is_possible, of_what) in [
        ("set", !of.set.is_empty(), action(word) == Action::Update, "operations that update"),
        ("omit", !of.omit.is_empty(), action(word) == Action::Create, "`create`"),
        ("orBy", !of.or_by.is_empty(), is_get && !operations.key_in_data, "`get` without `keyInData`"),
        ("filters", !of.filters.is_empty(), is_list, "`list`"),
        ("filtersIn", of.filters_in.is_some(), is_list, "`list`"),
        ("wildcard", of.wildcard.is_some(), is_list, "`list`"),
        ("afterBy", of.after_by.is_some(), of.after.is_some(), "lists with `after`"),
    ] {
        if is_given && !is_possible {
            let help = "remove it, or declare another operation";
            lint.problem(format!("{at}/{key}"), format!("`{key}` is for {of_what}"), help);
        }
    }
}

/// Checks that each name is a field's.
fn names<'n>(lint: &mut Lint<'_>, at: &str, names: impl Iterator<Item = &'n &'static str>) {
    lint.names(at, &names.copied().collect::<Vec<_>>());
}

/// Checks that each member is one of the tool's request.
fn taken<'n>(lint: &mut Lint<'_>, at: &str, tool: &Tool, members: impl Iterator<Item = &'n &'static str>) {
    let properties = &tool.schema(Side::Input)["properties"];
    for member in members.filter(|member| properties.get(*member).is_none()) {
        let message = format!("the request of `{}` has no `{member}`", tool.spec.name);
        lint.problem(at, message, "name one of its members, or add it there");
    }
}
