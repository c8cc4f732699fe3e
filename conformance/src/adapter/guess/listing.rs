//! Lists a server's tools with their arguments, as comments of a draft.

use std::ptr;

use serde_json::Value;

use crate::{adapter::offer::Offer, report::visible};

/// Length to which a tool's line is cut, in characters.
const MAX_WIDTH: usize = 300;
/// Depth of arrays and objects below which a draft has no members.
const MAX_DEPTH: usize = 4;

/// Returns a comment with a line for each tool: its name, arguments, their types and defaults.
pub(super) fn tools(offer: &Offer) -> String {
    let lines = offer.iter().map(|(name, tool)| {
        let schema = &tool["inputSchema"];
        let arguments = members(schema, schema, &[]);
        let line = format!("#   {name}({arguments})");
        format!("{}\n", visible::cut(&line, MAX_WIDTH))
    });
    format!("\n# The server's tools; an argument with `?` can be left out:\n{}", lines.collect::<String>())
}

fn members(schema: &Value, root: &Value, around: &[&Value]) -> String {
    let required = |name: &str| {
        let all = schema["required"].as_array();
        all.is_some_and(|all| all.iter().any(|it| it == name))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let members = properties.map(|(name, property)| {
        let sign = if required(name) { "" } else { "?" };
        let default = &property["default"];
        let default = if default.is_null() { String::new() } else { format!(" = {default}") };
        format!("{name}{sign}: {}{default}", shape(resolved(property, root), root, around))
    });
    members.collect::<Vec<_>>().join(", ")
}

/// Returns the type of a value, for people. `around` are the arrays and objects that the value is in.
fn shape(property: &Value, root: &Value, around: &[&Value]) -> String {
    if let Some(values) = property["enum"].as_array() {
        let values: Vec<_> = values.iter().map(Value::to_string).collect();
        return values.join(" | ");
    }
    let is_opened = opens(property, around);
    let around = [around, &[property]].concat();
    match kind(property) {
        Some("array") if is_opened => {
            format!("[{}]", shape(resolved(&property["items"], root), root, &around))
        }
        Some("object") if is_opened && property["properties"].is_object() => {
            format!("{{ {} }}", members(property, root, &around))
        }
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    }
}

/// Returns false for a schema that refers to itself or is too deep: a draft ends there.
pub(super) fn opens(schema: &Value, around: &[&Value]) -> bool {
    around.len() < MAX_DEPTH && !around.iter().any(|outer| ptr::eq(*outer, schema))
}

/// Returns the schema that a property refers to, or the property itself. Ignores `null`.
pub(super) fn resolved<'a>(property: &'a Value, root: &'a Value) -> &'a Value {
    let ways = ["anyOf", "allOf", "oneOf"].into_iter();
    let ways = ways.filter_map(|name| property[name].as_array()).flatten();
    let mut all = std::iter::once(property).chain(ways);
    let target = all.find_map(|it| it["$ref"].as_str()?.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(property)
}

/// Returns the type of an argument, ignoring `null`.
pub(super) fn kind(property: &Value) -> Option<&str> {
    let of = |property: &'_ Value| property["type"].as_str().map(str::to_owned);
    let ways = property["anyOf"].as_array().into_iter().flatten();
    let known = ["string", "boolean", "array", "number", "integer", "object"];
    let types = std::iter::once(property).chain(ways).filter_map(of);
    types.into_iter().find_map(|name| known.into_iter().find(|known| *known == name))
}

/// Returns a TOML key, quoted if necessary.
pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_owned() } else { toml(&name.into()) }
}

/// Returns a string or a list of strings as TOML.
pub(super) fn toml(value: &Value) -> String {
    // JSON strings and lists of strings are valid TOML.
    value.to_string()
}
