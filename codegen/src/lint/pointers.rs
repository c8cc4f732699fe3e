//! JSON pointers in contracts: each must lead to a declared property of the right type.

use serde_json::Value;

use crate::{
    contract::{Contract, Side, Tool},
    document::Document,
    pointer::{self, Described},
    problem::Problem,
};

/// Checks `path` and `commit` of the tools, `previews` and `log`.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    for tool in &contract.tools {
        self::tool(tool, problems);
    }
    previews(contract, problems);
    log(contract, problems);
}

fn tool(tool: &Tool, problems: &mut Vec<Problem>) {
    if let Some(path) = &tool.spec.path {
        let input = tool.schema(Side::Input);
        leads_to(input, path, "string", &tool.document, "/path", problems);
    }
    if let (Some(commit), true) = (&tool.spec.commit, tool.spec.mutating) {
        let output = tool.schema(Side::Output);
        let found = leads_to(output, commit, "string", &tool.document, "/commit", problems);
        if found.is_some_and(|found| !found.always_there) {
            problems.push(tool.document.problem(
                "/commit",
                format!("a response may lack `{commit}`"),
                "make the property required, all the way down to it",
            ));
        }
    }
}

fn previews(contract: &Contract, problems: &mut Vec<Problem>) {
    for (i, pair) in contract.spec.previews.iter().enumerate() {
        let at = format!("/previews/{i}");
        let preview = named(contract, &pair.preview, &format!("{at}/preview"), problems);
        let applies = named(contract, &pair.applies, &format!("{at}/applies"), problems);
        if let Some(tool) = preview {
            let output = tool.schema(Side::Output);
            leads_to(
                output,
                &pair.diff,
                "string",
                &contract.document,
                &format!("{at}/diff"),
                problems,
            );
            mutates(contract, tool, false, &format!("{at}/preview"), problems);
        }
        if let Some(tool) = applies {
            mutates(contract, tool, true, &format!("{at}/applies"), problems);
        }
    }
}

fn log(contract: &Contract, problems: &mut Vec<Problem>) {
    let Some(log) = &contract.spec.log else { return };
    let Some(tool) = named(contract, &log.tool, "/log/tool", problems) else {
        return;
    };
    let document = &contract.document;
    let output = tool.schema(Side::Output);
    let Some(entries) = leads_to(output, &log.entries, "array", document, "/log/entries", problems) else {
        return;
    };
    let item = &entries.schema["items"];
    leads_to(item, &log.path, "string", document, "/log/path", problems);
    leads_to(item, &log.commit, "string", document, "/log/commit", problems);
}

/// The part of `schema` that `pointer` leads to, if it is one of `kind`.
pub(super) fn leads_to<'a>(
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
        Some(found) => format!(
            "`{pointer}` leads to {} and not to `{kind}`",
            found.schema["type"]
        ),
        None => format!("`{pointer}` leads nowhere"),
    };
    let help = format!("point at a declared property that is {}", article(kind));
    problems.push(document.problem(at, message, help));
    None
}

fn article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i', 'o']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
}

fn named<'a>(contract: &'a Contract, name: &str, at: &str, problems: &mut Vec<Problem>) -> Option<&'a Tool> {
    let tool = contract.tool(name);
    if tool.is_none() {
        let message = format!("there is no tool `{name}`");
        problems.push(contract.document.problem(at, message, "name one of `tools`"));
    }
    tool
}

fn mutates(contract: &Contract, tool: &Tool, expected: bool, at: &str, problems: &mut Vec<Problem>) {
    if tool.spec.mutating == expected {
        return;
    }
    let name = &tool.spec.name;
    let message = if expected {
        format!("`{name}` changes nothing that could be previewed")
    } else {
        format!("`{name}` changes what it should only show")
    };
    problems.push(
        contract
            .document
            .problem(at, message, "correct the pair, or the tool's `mutating`"),
    );
}
