//! Resolves JSON pointers in schemas.

use serde_json::Value;
use tabellion_runtime::pointer;

/// Returns the schema of the value at `pointer` in values that match `schema`.
///
/// # Errors
/// If the pointer is invalid, or the schema has no such member.
pub(super) fn below<'a>(schema: &'a Value, pointer: &str) -> Result<&'a Value, String> {
    if !is_pointer(pointer) {
        return Err(format!("`{pointer}` is not a JSON pointer; an example is `/a/b`"));
    }
    let mut at = schema;
    for name in pointer::tokens(pointer) {
        let below = at["properties"].get(&name);
        let Some(next) = below.or_else(|| at.get("items")) else {
            let known = at["properties"].as_object();
            let known: Vec<_> =
                known.into_iter().flat_map(|known| known.keys()).map(|name| format!("`{name}`")).collect();
            let there = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            return Err(format!("`{pointer}` is not in the schema: there is no `{name}`, but {there}"));
        };
        at = next;
    }
    Ok(at)
}

/// Returns true if a text is a JSON pointer (RFC 6901).
pub(super) fn is_pointer(text: &str) -> bool {
    let mut escapes = text.split('~').skip(1);
    (text.is_empty() || text.starts_with('/')) && escapes.all(|rest| rest.starts_with(['0', '1']))
}
