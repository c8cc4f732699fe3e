//! Names in generated Rust.

use heck::{ToPascalCase, ToSnakeCase};

/// Returns the name of the trait of a tool with operations.
pub(crate) fn tool_trait(tool: &str) -> String {
    suffixed(tool, "Tool")
}

/// Returns the default name of a resource's type: `DocumentResource`.
pub(crate) fn resource(name: &str) -> String {
    suffixed(name, "Resource")
}

/// Returns the names of the types of a prompt's arguments and of its values: `SummarizeArguments`, `SummarizeValues`.
pub(crate) fn prompt(name: &str) -> [String; 2] {
    ["Arguments", "Values"].map(|suffix| suffixed(name, suffix))
}

/// Returns the name of the type of the variables of a resource's URI: `NoteVariables`.
pub(crate) fn variables(resource: &str) -> String {
    suffixed(resource, "Variables")
}

/// Returns the trait's methods for a resource: content and version tag.
pub(crate) fn resource_methods(name: &str) -> [String; 2] {
    ["resource", "version"].map(|suffix| value_name(&format!("{name}_{suffix}")))
}

/// Returns the trait's method for a prompt.
pub(crate) fn prompt_method(name: &str) -> String {
    value_name(&format!("{name}_prompt"))
}

/// Returns the trait's method that completes an argument of a prompt.
pub(crate) fn completion_method(prompt: &str, argument: &str) -> String {
    value_name(&format!("complete_{prompt}_{argument}"))
}

/// Returns a type or variant for a name on the wire.
pub(crate) fn type_name(wire: &str) -> String {
    identifier(wire.to_pascal_case(), "X")
}

/// Returns a type for a name on the wire with a suffix. As a whole, it is no keyword, although the name may be one.
pub(crate) fn suffixed(wire: &str, suffix: &str) -> String {
    type_name(&format!("{wire}_{suffix}"))
}

/// Returns a method or field for a name on the wire. Wire names are verbatim from a source document, so a keyword is not a mistake: it gets
/// a trailing underscore.
pub(crate) fn value_name(wire: &str) -> String {
    identifier(wire.to_snake_case(), "x")
}

/// Returns a constant for a name on the wire.
pub(crate) fn constant(wire: &str) -> String {
    value_name(wire).trim_end_matches('_').to_uppercase()
}

/// Adjusts a name as typify does: a prefix if the first character is invalid, a trailing underscore for a keyword.
fn identifier(name: String, prefix: &str) -> String {
    let name = match name.chars().next() {
        Some(first) if first.is_alphabetic() => name,
        _ => prefix.to_string() + &name,
    };
    if is_keyword(&name) { name + "_" } else { name }
}

/// Returns true if Rust reserves `name`.
pub(crate) fn is_keyword(name: &str) -> bool {
    !typify::accept_as_ident(name)
}
