//! Lints of rules: schemas that accept no value, rules that exclude none, and wire schemas narrower than the enforced ones.

use serde_json::Value;

use crate::{
    algebra,
    contract::{Authored, SchemaKind},
    document::Document,
    pointer,
    problem::Problem,
    schema,
    views::{self, Rule},
};

/// Checks that each part of a schema accepts some value, and that the wire schema accepts all enforced values.
pub(crate) fn satisfiable(authored: &Authored<'_>, problems: &mut Vec<Problem>) {
    let Authored { document, at, schema, .. } = authored;
    admits_something(schema, at, document, problems);
    // Derived schemas have no rules.
    let has_rules = !matches!(authored.kind, SchemaKind::Derived | SchemaKind::Union);
    if has_rules && !is_covered(&views::wire(schema), &views::enforced(schema)) {
        problems.push(document.problem(
            at,
            "the enforced schema accepts values that the schema for clients rejects",
            "this is a defect of tabellion-codegen; please report the contract",
        ));
    }
}

/// Reports the innermost parts that accept no value.
fn admits_something(schema: &Value, at: &str, document: &Document, problems: &mut Vec<Problem>) {
    let before = problems.len();
    for (step, part) in schema::parts(schema) {
        if part.is_object() {
            admits_something(part, &pointer::walk(at, &step), document, problems);
        }
    }
    if problems.len() == before && !is_plain_object(schema) && algebra::is_empty(&views::enforced(schema)) {
        problems.push(document.problem(
            at,
            "no value satisfies this schema and its rules",
            "two of its conditions exclude each other: remove one",
        ));
    }
}

/// Returns true if a schema accepts an object with a value of each property, if there are such values. Saves most of the time for contracts
/// with many operations.
fn is_plain_object(schema: &Value) -> bool {
    let (Some(keys), Some(properties)) = (schema.as_object(), schema["properties"].as_object()) else {
        return false;
    };
    let is_known = |key: &str| {
        matches!(
            key,
            "type"
                | "properties"
                | "required"
                | "additionalProperties"
                | "minProperties"
                | "description"
                | "title"
        )
    };
    let required = schema["required"].as_array().into_iter().flatten();
    schema["type"] == "object"
        && keys.keys().all(|key| is_known(key))
        && properties.values().all(Value::is_object)
        && schema["minProperties"].as_u64().unwrap_or(0) <= properties.len() as u64
        && required.filter_map(Value::as_str).all(|name| properties.contains_key(name))
}

/// Returns true if `wire` accepts all values of `enforced`, or if that can't be decided. It holds by construction; this check guards the
/// construction.
fn is_covered(wire: &Value, enforced: &Value) -> bool {
    algebra::covers(wire, enforced) != Some(false)
}

/// Returns true if it is proved that the part of `schema` with `rule` accepts the same values without it.
pub(crate) fn is_vacuous(schema: &Value, rule: &Rule) -> bool {
    let Some(with) = schema.pointer(&rule.owner) else {
        return false;
    };
    let mut without = with.clone();
    let index = rule.authored.rsplit('/').next().and_then(|index| index.parse::<usize>().ok());
    if let (Some(clauses), Some(index)) = (without["x-enforce"].as_array_mut(), index) {
        clauses.remove(index);
    }
    algebra::covers(&views::enforced(with), &views::enforced(&without)) == Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_covered;

    #[test]
    fn an_enforced_schema_may_only_be_narrower() {
        let (wide, narrow) = (json!({ "type": "integer" }), json!({ "type": "integer", "minimum": 1 }));
        assert!(is_covered(&wide, &narrow));
        assert!(is_covered(&wide, &wide));
        assert!(!is_covered(&narrow, &wide));
    }
}
