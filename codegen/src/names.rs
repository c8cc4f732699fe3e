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

/// A type or variant for a name on the wire.
pub(crate) fn type_name(wire: &str) -> String {
    identifier(wire.to_pascal_case(), "X")
}

/// A method or field for a name on the wire. The wire's name is verbatim from a source document, so a keyword is
/// nobody's mistake: it gets an underscore behind it.
pub(crate) fn value_name(wire: &str) -> String {
    identifier(wire.to_snake_case(), "x")
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
