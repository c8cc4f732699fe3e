//! JSON pointers in schemas.

use serde_json::Value;
pub(crate) use tabellion_runtime::pointer::{push, tokens};

/// Returns `pointer` extended by several tokens.
pub(crate) fn walk(pointer: &str, tokens: &[impl AsRef<str>]) -> String {
    tokens.iter().fold(pointer.to_string(), |pointer, token| push(&pointer, token.as_ref()))
}

/// The subschema of the values that a pointer refers to.
pub(crate) struct Described<'a> {
    /// The subschema.
    pub(crate) schema: &'a Value,
    /// True if every object on the path requires the next property.
    pub(crate) always_there: bool,
}

/// Returns the subschema of the values that `pointer` refers to; `None` if `schema` does not declare them.
pub(crate) fn describe<'a>(schema: &'a Value, pointer: &str) -> Option<Described<'a>> {
    let mut described = Described { schema, always_there: true };
    for token in tokens(pointer) {
        let here = described.schema;
        if let Some(property) = here["properties"].get(&token) {
            let required = here["required"].as_array();
            described.always_there &= required.is_some_and(|names| names.iter().any(|name| *name == token));
            described.schema = property;
        } else if here["type"] == "array" && token.parse::<usize>().is_ok() {
            described.always_there = false;
            described.schema = here.get("items")?;
        } else {
            return None;
        }
    }
    Some(described)
}
