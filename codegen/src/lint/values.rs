//! Numbers and defaults in schemas.

use serde_json::Value;
use tabellion_runtime::schema::compile;

use crate::{contract::Authored, document::Document, pointer, problem::Problem, schema, views};

/// Returns pointers to the numbers in `value` that are not exact in every JSON implementation.
pub(super) fn inexact(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Number(number) => {
            let limit = views::LARGEST_INTEGER;
            let exact = match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => (-limit..=limit).contains(&integer),
                (None, Some(float)) => float.fract() != 0.0 || float.abs() <= limit as f64,
                (None, None) => false,
            };
            if exact { vec![] } else { vec![at.into()] }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.flat_map(|(i, item)| inexact(item, &pointer::push(at, &i.to_string()))).collect()
        }
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| inexact(value, &pointer::push(at, name))).collect()
        }
        _ => vec![],
    }
}

/// Reports defaults that their own schema rejects: they would turn an absent value into an invalid one.
pub(crate) fn defaults(authored: &Authored<'_>, problems: &mut Vec<Problem>) {
    check(authored.schema, &authored.at, authored.document, problems);
}

fn check(schema: &Value, at: &str, document: &Document, problems: &mut Vec<Problem>) {
    if let Some(default) = schema.get("default")
        && let Ok(validator) = compile(&views::enforced(schema))
        && let Some(error) = validator.iter_errors(default).next()
    {
        problems.push(document.problem(
            pointer::push(at, "default"),
            format!("the schema rejects its own default: {}", error.masked_with("it")),
            "correct the default or the schema",
        ));
    }
    for (step, part) in schema::parts(schema) {
        check(part, &pointer::walk(at, &step), document, problems);
    }
}
