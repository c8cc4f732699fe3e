//! What things are called in Rust.

use heck::{ToPascalCase, ToSnakeCase};

use crate::contract::Side;

/// The usual type of a tool's requests or responses: `ReadNoteRequest`.
pub(crate) fn root(tool: &str, side: Side) -> String {
    let suffix = match side {
        Side::Input => "Request",
        Side::Output => "Response",
    };
    type_name(tool) + suffix
}

/// The usual type of what a resource reads: `DocumentResource`.
pub(crate) fn resource(name: &str) -> String {
    type_name(name) + "Resource"
}

/// The types of what a client says to a prompt and of what its template lacks: `SummarizeArguments`,
/// `SummarizeValues`.
pub(crate) fn prompt(name: &str) -> [String; 2] {
    ["Arguments", "Values"].map(|suffix| type_name(name) + suffix)
}

/// The trait's methods for a resource: what it reads, and which version that is.
pub(crate) fn resource_methods(name: &str) -> [String; 2] {
    ["resource", "version"].map(|suffix| value_name(&format!("{name}_{suffix}")))
}

/// The trait's method for a prompt.
pub(crate) fn prompt_method(name: &str) -> String {
    value_name(&format!("{name}_prompt"))
}

/// The trait's method that offers values for an argument of a prompt.
pub(crate) fn completion_method(prompt: &str, argument: &str) -> String {
    value_name(&format!("complete_{prompt}_{argument}"))
}

/// A type or variant for a name on the wire.
pub(crate) fn type_name(wire: &str) -> String {
    identifier(wire.to_pascal_case(), "X")
}

/// A method or field for a name on the wire. The wire's name is verbatim from a source document, so a keyword is
/// nobody's mistake: it gets an underscore behind it.
pub(crate) fn value_name(wire: &str) -> String {
    identifier(wire.to_snake_case(), "x")
}

/// A constant for a name on the wire.
pub(crate) fn constant(wire: &str) -> String {
    value_name(wire).trim_end_matches('_').to_uppercase()
}

/// As typify does it: a prefix where the first character can't be one, an underscore behind a keyword.
fn identifier(name: String, prefix: &str) -> String {
    let name = match name.chars().next() {
        Some(first) if first.is_alphabetic() => name,
        _ => prefix.to_string() + &name,
    };
    if is_keyword(&name) { name + "_" } else { name }
}

/// Whether Rust reserves `name`.
pub(crate) fn is_keyword(name: &str) -> bool {
    !typify::accept_as_ident(name)
}
