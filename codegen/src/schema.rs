//! The keywords of authored schemas. [`walk`](tabellion_runtime::schema::walk) has their subschemas.

use serde_json::{Map, Value};
use tabellion_runtime::pointer::tokens;
pub(crate) use tabellion_runtime::schema::walk::{
    children, has_type, holds_schemas, is_part, parts, parts_mut, remove_property,
};

/// Keywords that a wire schema can have. typify ignores others, or panics on them.
pub(crate) const WIRE: &[&str] = &[
    "type",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "enum",
    "const",
    "format",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// Further keywords that only a rule's schema can have.
pub(crate) const RULE: &[&str] = &[
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "patternProperties",
    "dependentSchemas",
    "$comment",
];

/// Removes the members of an object to which JSON pointers of one step lead.
pub(crate) fn without_members(schema: &mut Value, pointers: &[&str]) {
    for name in pointers.iter().filter_map(|pointer| tokens(pointer).next()) {
        remove_property(schema, &name);
    }
}

/// Returns the values of an enum of strings, or `None` if `enum` is absent or has other values.
pub(crate) fn string_enum(members: &Map<String, Value>) -> Option<Vec<&str>> {
    members.get("enum")?.as_array()?.iter().map(Value::as_str).collect()
}
