//! The tools that a server offers, independently of its contract and adapter, and calls of them that are made up from their
//! schemas.

use crate::{adapter::offer, checks::prelude::*, sample};

/// A tool with arguments that are paths.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OfferedTool {
    pub name: String,
    schema: Value,
    pub paths: Vec<PathArgument>,
}

/// An argument that is a path, a list of paths, or a list of objects with a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathArgument {
    /// Name of the argument.
    pub name: String,
    pub is_list: bool,
    /// Name of the path in the list's objects.
    pub member: Option<String>,
}

/// Parts of the names of arguments that are paths.
const PARTS: [&str; 9] = ["path", "file", "dir", "folder", "source", "destination", "target", "note", "uri"];
/// Whole names of arguments that are paths.
const NAMES: [&str; 2] = ["from", "to"];

/// Forms of the path of a document, of which a server takes one or both.
pub(super) const FORMS: [&str; 2] = ["{library}/", ""];

/// Returns the tools with paths among those that a server offers. A contract's own tools are left out, since they have checks of their own.
///
/// # Errors
/// If the server does not list its tools.
pub(super) fn tools(bench: &Bench<'_>, scene: &Scene<'_>) -> Result<Vec<OfferedTool>, Stop> {
    let offered = offer::ask(&mut scene.start()?).map_err(fail)?;
    let contracts = bench.subject.contract.tools;
    let is_contracts = |name: &str| contracts.iter().any(|tool| tool.name == name);
    let others = offered.into_iter().filter(|(name, _)| !(bench.subject.is_native() && is_contracts(name)));
    let with_paths = others.filter_map(|(name, listed)| {
        let schema = listed["inputSchema"].clone();
        let members = schema["properties"].as_object()?.iter();
        let paths: Vec<_> = members.flat_map(|(name, schema)| paths(name, schema)).collect();
        (!paths.is_empty()).then_some(OfferedTool { name, schema, paths })
    });
    Ok(with_paths.collect())
}

fn paths(name: &str, schema: &Value) -> Vec<PathArgument> {
    let path = |is_list, member: Option<&String>| PathArgument {
        name: name.to_owned(),
        is_list,
        member: member.cloned(),
    };
    if is_path(name, schema) {
        return vec![path(false, None)];
    }
    let items = &schema["items"];
    if schema["type"] != "array" {
        return Vec::new();
    }
    if is_path(name, items) {
        return vec![path(true, None)];
    }
    let members = items["properties"].as_object().into_iter().flatten();
    members.filter(|(name, schema)| is_path(name, schema)).map(|(name, _)| path(true, Some(name))).collect()
}

fn is_path(name: &str, schema: &Value) -> bool {
    let name = name.to_lowercase();
    let is_text = schema["type"] == "string" && schema.get("enum").is_none();
    is_text && (NAMES.contains(&&*name) || PARTS.iter().any(|part| name.contains(part)))
}

impl OfferedTool {
    pub(super) fn lists(&self) -> impl Iterator<Item = &PathArgument> {
        self.paths.iter().filter(|path| path.is_list)
    }

    /// Returns the parameters of a call with these paths, of which a list has as many as there are; other paths that the schema
    /// requires are `inside`.
    pub(super) fn call(&self, paths: &[(&PathArgument, &[&str])], inside: &str) -> Value {
        let mut arguments = sample::request(&self.schema, false);
        let inside = [inside];
        for argument in &self.paths {
            let named = paths.iter().find(|(named, _)| *named == argument);
            let given = named.map_or(&inside[..], |(_, given)| *given);
            let is_required = arguments.get(&argument.name).is_some();
            let is_beside = paths.iter().any(|(named, _)| named.name == argument.name);
            if named.is_some() || is_required || is_beside {
                self.put(&mut arguments, argument, given);
            }
        }
        json!({ "name": self.name, "arguments": arguments })
    }

    fn put(&self, arguments: &mut Value, argument: &PathArgument, given: &[&str]) {
        let place = &mut arguments[&argument.name];
        let Some(member) = &argument.member else {
            *place = match given {
                [path, ..] if !argument.is_list => (*path).into(),
                _ => given.into(),
            };
            return;
        };
        let item = sample::request(&self.schema["properties"][&argument.name]["items"], false);
        let mut items = place.as_array().cloned().unwrap_or_default();
        items.resize(items.len().max(given.len()), item);
        for (number, item) in items.iter_mut().enumerate() {
            item[member] = given[number.min(given.len() - 1)].into();
        }
        *place = items.into();
    }
}
