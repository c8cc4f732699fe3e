//! Inputs for every contract, and for keywords that no contract uses yet.

use std::collections::HashSet;

use serde_json::{Value, json};
use tabellion_contracts::CONTRACTS;
use tabellion_runtime::schema::compile as build;

use super::{Input, Inputs, inputs_of};

#[test]
fn every_rule_of_every_contract_is_broken_by_some_input() {
    for (contract, tool) in
        CONTRACTS.iter().flat_map(|contract| contract.operations().map(move |tool| (contract, tool)))
    {
        let inputs = Inputs::generate(contract, tool);
        let broken: HashSet<_> = inputs
            .invalid
            .iter()
            .flat_map(|input| tool.input.check(&input.arguments).unwrap_err())
            .map(|violation| violation.rule.into_owned())
            .collect();
        for rule in tool.input.rules() {
            assert!(broken.contains(&*rule.id), "{}: {} is never broken", tool.label(), rule.id);
        }
        // Arguments are always an object, so the outermost type cannot be violated.
        for (keyword, unbreakable) in [("type", 1), ("required", 0), ("additionalProperties", 0), ("enum", 0)]
        {
            let uses = tool.input.wire().to_string().matches(&format!("\"{keyword}\":")).count();
            if uses > unbreakable {
                assert!(broken.contains(keyword), "{}: {keyword} is never broken", tool.label());
            }
        }
        assert!(!inputs.valid.is_empty(), "{}", tool.label());
        assert_eq!(inputs, Inputs::generate(contract, tool), "{}", tool.label());
        let names: HashSet<_> = inputs.invalid.iter().map(|input| input.arguments.to_string()).collect();
        assert_eq!(names.len(), inputs.invalid.len(), "{}", tool.label());
    }
}

/// Returns the inputs generated from one example: `+` and the arguments of a valid one, `-` of an invalid one.
fn made(schema: Value, example: Value) -> HashSet<String> {
    let validator = build(&schema).unwrap();
    let example = Input { what: "example".into(), arguments: example };
    let is_valid = |value: &Value| validator.is_valid(value);
    inputs_of(&schema, &[example], None, is_valid)
        .into_iter()
        .map(|input| format!("{}{}", if is_valid(&input.arguments) { '+' } else { '-' }, input.arguments))
        .collect()
}

#[test]
fn keywords_have_inputs_on_both_sides() {
    let cases = [
        (json!({ "type": "integer", "minimum": 3 }), json!(5), vec!["+3", "-2", "-1.5", "-\"3\"", "-null"]),
        (json!({ "type": "number", "exclusiveMaximum": 10 }), json!(5), vec!["-10", "+9", "+1.5"]),
        (json!({ "type": "string", "maxLength": 2 }), json!("a"), vec!["+\"éé\"", "-\"ééé\"", "-7"]),
        (
            json!({ "enum": ["a", "b"] }),
            json!("a"),
            vec!["+\"b\"", "-\"A\"", "-\"a \"", "-\"conformance-unknown\""],
        ),
        (json!({ "const": true }), json!(true), vec!["-false", "-\"true\"", "-null"]),
        (json!({ "type": "boolean", "allOf": [{ "const": true }] }), json!(true), vec!["-false", "-7"]),
        (json!({ "type": "string", "allOf": [{ "minLength": 1 }] }), json!("a"), vec!["-\"\"", "+\"é\""]),
        (
            json!({ "type": "array", "items": { "type": "integer" }, "maxItems": 2, "uniqueItems": true }),
            json!([1]),
            vec!["+[]", "-[1,1]", "-[1,1,1]", "-[null]", "+[7]", "-{}"],
        ),
        (
            json!({
                "type": "object", "required": ["x"], "additionalProperties": false,
                "properties": { "x": { "type": "string" }, "y/z": { "type": "integer" } },
            }),
            json!({ "x": "a" }),
            vec![
                "-{}",
                r#"+{"x":"a","y/z":1}"#,
                r#"-{"x":"a","y/z":1.5}"#,
                r#"-{"x":"a","__proto__":"x"}"#,
                r#"-{"x":"a","X":"x"}"#,
                r#"-{"x":7}"#,
            ],
        ),
    ];
    for (member, value, expected) in cases {
        let schema = json!({ "type": "object", "required": ["v"], "properties": { "v": member } });
        let made = made(schema, json!({ "v": value }));
        for judged in expected {
            let (judgement, value) = judged.split_at(1);
            let wanted = format!(r#"{judgement}{{"v":{value}}}"#);
            assert!(made.contains(&wanted), "{member}: no {wanted} in {made:#?}");
        }
    }
}

#[test]
fn optional_members_are_removed_and_added() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "b": { "type": "object", "properties": { "c": { "enum": [1, 2] } } } },
    });
    let made = made(schema, json!({ "a": "x" }));
    for wanted in [r#"+{}"#, r#"+{"a":"x","b":{}}"#, r#"+{"a":"x","b":{"c":2}}"#, r#"-{"a":"x","b":{"c":7}}"#]
    {
        assert!(made.contains(wanted), "no {wanted} in {made:#?}");
    }
}
