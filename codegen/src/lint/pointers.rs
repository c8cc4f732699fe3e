//! References in keys: JSON pointers, which must lead to a declared property of the right type, and names of tools.

use serde_json::Value;

use crate::{
    contract::{Contract, Tool},
    document::Document,
    pointer::{self, Described},
    problem::Problem,
};

/// Returns the part of `schema` that `pointer` leads to, if it is one of `kind`.
pub(crate) fn leads_to<'a>(
    schema: &'a Value,
    pointer: &str,
    kind: &str,
    document: &Document,
    at: &str,
    problems: &mut Vec<Problem>,
) -> Option<Described<'a>> {
    let found = pointer::describe(schema, pointer);
    let message = match &found {
        Some(found) if found.schema["type"] == kind => return Some(Described { ..*found }),
        Some(found) => format!("`{pointer}` leads to {}, not to `{kind}`", found.schema["type"]),
        None => format!("`{pointer}` leads nowhere"),
    };
    let help = format!("point at a declared property that is {}", article(kind));
    problems.push(document.problem(at, message, help));
    None
}

/// Like [`leads_to`], for a property that every response must have.
pub(crate) fn always_leads_to<'a>(
    schema: &'a Value,
    pointer: &str,
    kind: &str,
    document: &Document,
    at: &str,
    problems: &mut Vec<Problem>,
) -> Option<Described<'a>> {
    let found = leads_to(schema, pointer, kind, document, at, problems)?;
    if !found.always_there {
        problems.push(document.problem(
            at,
            format!("a response can lack `{pointer}`"),
            "make the property and all objects on its path required",
        ));
    }
    Some(found)
}

/// Returns a noun with its indefinite article.
pub(crate) fn article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// Returns the tool of that name, if it is one operation.
pub(crate) fn named<'a>(
    contract: &'a Contract,
    name: &str,
    at: &str,
    problems: &mut Vec<Problem>,
) -> Option<&'a Tool> {
    let (message, help) = match contract.tool(name) {
        Some(tool) if tool.spec.select.is_empty() => return Some(tool),
        Some(_) => (format!("`{name}` has operations"), "name a tool without `select`"),
        None => (format!("there is no tool `{name}`"), "name one of `tools`"),
    };
    problems.push(contract.document.problem(at, message, help));
    None
}
