//! The contract that every server has: the declarations in its own list of tools.
//!
//! A server is held to the protocol, to its schemas, and to `readOnlyHint`; undeclared behaviour is not judged. Calls are made from its
//! schemas alone. A tool that does not declare that it only reads may do anything, on this machine and beyond it, so it is called only if
//! the operator permits it. Each tool is called once in peace first: one that does not answer then is left out, with the reason.

use serde_json::{Value, json};
use tabellion_runtime::{
    ContractSpec, Examples, Schema, ToolSpec,
    schema::compile_any,
    spec::{Annotations, Example},
};

use crate::{
    Subject, WireError, adapter::offer, client::Client, contracts::DECLARED, sample, scene::Scene,
    trace::Trace,
};

/// The declarations of a server.
#[derive(Debug)]
pub struct Declared {
    /// The contract.
    pub contract: &'static ContractSpec,
    /// Noun phrases for people: the parts that are not judged.
    pub left_out: Vec<String>,
}

/// The tools that may be called in addition to those that declare that they only read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Called {
    /// None.
    #[default]
    None,
    /// Those of these names.
    These(Vec<String>),
    /// All.
    All,
}

impl Called {
    /// Parses a list of tool names, in which `all` stands for all.
    pub fn parse(names: &[String]) -> Self {
        match names {
            [] => Self::None,
            names if names.iter().any(|name| name == "all") => Self::All,
            names => Self::These(names.to_vec()),
        }
    }

    fn permits(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::These(names) => names.iter().any(|permitted| permitted == name),
            Self::All => true,
        }
    }
}

/// Starts the server and returns its declarations.
///
/// # Errors
/// If it does not answer with a list of tools.
pub fn contract(subject: &Subject, called: &Called) -> Result<Declared, String> {
    let scene = Scene::new(subject, &Trace::default(), &[("README.md", "# Library\n")]);
    let scene = scene.map_err(|stop| stop.to_string())?;
    let start = || scene.start().map_err(|stop| stop.to_string());
    let mut client = start()?;
    let (mut tools, mut uncalled, mut left_out) = (vec![], vec![], vec![]);
    let offer = offer::ask(&mut client)?;
    if let Called::These(names) = called
        && let Some(unknown) = names.iter().find(|name| !offer.contains_key(*name))
    {
        let known: Vec<_> = offer.keys().map(String::as_str).collect();
        return Err(format!("--call: the server has no tool `{unknown}`; it has {}", known.join(", ")));
    }
    for (name, listed) in offer {
        let is_read_only = listed["annotations"]["readOnlyHint"] == true;
        if !is_read_only && !called.permits(&name) {
            uncalled.push(name.clone());
            continue;
        }
        match tool(&name, &listed, is_read_only) {
            // A tool that is slow even on an idle server would be taken for a hang in every check.
            Ok(tool) => match in_peace(&mut client, &tool) {
                Ok(()) => tools.push(tool),
                Err(silent @ WireError::Silent(_)) => {
                    left_out.push(format!(
                        "calls of `{name}`: {silent}, called alone; `--patience` gives it more"
                    ));
                    client = start()?;
                }
                // A server that ends here ends in the checks, which report it.
                Err(_) => {
                    tools.push(tool);
                    client = start()?;
                }
            },
            Err(why) => left_out.push(format!("calls of `{name}`: {why}")),
        }
    }
    if !uncalled.is_empty() {
        left_out.push(format!(
            "calls of {}: no `readOnlyHint` says that they only read; where made-up calls do no harm, add `--call NAME,…` or `--call all`",
            uncalled.join(", ")
        ));
    }
    let contract = ContractSpec {
        id: DECLARED,
        version: env!("CARGO_PKG_VERSION"),
        title: "What the server declares",
        tools: Vec::leak(tools),
        ..ContractSpec::EMPTY
    };
    Ok(Declared { contract: Box::leak(Box::new(contract)), left_out })
}

/// Makes each call of a tool once, and waits for the answers.
fn in_peace(client: &mut Client<'_>, tool: &ToolSpec) -> Result<(), WireError> {
    for example in tool.examples.iter() {
        client.request("tools/call", json!({ "name": tool.name, "arguments": example.input }))?;
    }
    Ok(())
}

/// Returns a listed tool with calls that its schema accepts. Its texts and schemas are kept until the process ends.
fn tool(name: &str, listed: &Value, is_read_only: bool) -> Result<ToolSpec, String> {
    let schema = |member: &str| -> Result<&'static Schema, String> {
        let schema = match &listed[member] {
            Value::Null => json!({ "type": "object" }),
            schema => schema.clone(),
        };
        compile_any(&schema)
            .map_err(|why| format!("its `{member}` is no schema that the suite can read: {why}"))?;
        Ok(Box::leak(Box::new(Schema::plain(leak(&schema.to_string())))))
    };
    let (input, output) = (schema("inputSchema")?, schema("outputSchema")?);
    let mut examples = vec![];
    for (name, is_whole) in [("required members", false), ("all members", true)] {
        let request = sample::request(&listed["inputSchema"], is_whole);
        if input.check(&request).is_ok() && examples.iter().all(|other: &Example| other.input != request) {
            examples.push(Example {
                name: name.to_owned(),
                input: request,
                valid: true,
                at: None,
                rule: None,
            });
        }
    }
    if examples.is_empty() {
        return Err("no request could be made that its `inputSchema` accepts".to_owned());
    }
    let hint = |name: &str, otherwise: bool| listed["annotations"][name].as_bool().unwrap_or(otherwise);
    Ok(ToolSpec {
        name: leak(name),
        description: leak(listed["description"].as_str().unwrap_or_default()),
        annotations: Annotations {
            read_only: is_read_only,
            destructive: hint("destructiveHint", true),
            idempotent: hint("idempotentHint", false),
            open_world: hint("openWorldHint", true),
        },
        mutating: !is_read_only,
        examples: Examples::Written(Vec::leak(examples)),
        ..ToolSpec::new(input, output)
    })
}

fn leak(text: &str) -> &'static str {
    text.to_owned().leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(schema: &Value) -> Vec<Value> {
        let listed = json!({ "name": "t", "inputSchema": schema });
        let tool = tool("t", &listed, true);
        tool.map(|tool| tool.examples.iter().map(|example| example.input.clone()).collect())
            .unwrap_or_default()
    }

    #[test]
    fn calls_are_made_of_schemas_as_servers_have_them() {
        for (schema, expected) in [
            (json!({ "type": "object" }), vec![json!({})]),
            (
                json!({ "type": "object", "properties": { "path": { "type": "string" }, "head": { "type": "number" } }, "required": ["path"] }),
                vec![json!({ "path": "notes/plan.md" }), json!({ "path": "notes/plan.md", "head": 1 })],
            ),
            (
                json!({
                    "type": "object",
                    "properties": { "params": { "$ref": "#/$defs/Params" } },
                    "required": ["params"],
                    "$defs": { "Params": { "type": "object", "properties": {
                        "tags": { "anyOf": [{ "type": "null" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }] },
                        "kind": { "enum": ["a", "b"] },
                    }, "required": ["tags"] } },
                }),
                vec![
                    json!({ "params": { "tags": ["plan"] } }),
                    json!({ "params": { "tags": ["plan"], "kind": "a" } }),
                ],
            ),
            (
                json!({ "type": "object", "properties": { "at": { "type": ["null", "integer"], "minimum": 5, "maximum": 9 },
                    "name": { "type": "string", "minLength": 6 } }, "required": ["at", "name"], "additionalProperties": false }),
                vec![json!({ "at": 5, "name": "planxx" })],
            ),
            // Its members refer to themselves.
            (json!({ "type": "object", "properties": { "next": { "$ref": "#" } } }), vec![json!({})]),
            // Patterns are JavaScript's, with look-ahead.
            (
                json!({ "type": "object", "properties": { "code": { "type": "string", "pattern": "^(?=.*n)[a-z]{4}$" } }, "required": ["code"] }),
                vec![json!({ "code": "plan" })],
            ),
            // Only its author knows which values fit.
            (
                json!({ "type": "object", "properties": { "code": { "pattern": "^[A-Z]{3}-\\d+$" } }, "required": ["code"] }),
                vec![],
            ),
        ] {
            let found = examples(&schema);
            assert_eq!(found.first(), expected.first(), "{schema}");
            assert!(expected.iter().all(|example| found.contains(example)), "{schema}: {found:?}");
        }
        assert!(tool("t", &json!({ "inputSchema": { "type": 7 } }), true).is_err());
    }
}
