//! The contract that every server has: what its own list of tools declares.
//!
//! A server is held to the protocol, to its schemas, and to `readOnlyHint`; what it does not declare is not judged. Calls are made from its
//! schemas alone. A tool that does not declare that it only reads may do anything, on this machine and beyond it, so it is called only
//! if the operator says so. Each tool is called once in peace first: one that does not answer then is left out, with the reason.

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    ContractSpec, Examples, Schema, ToolSpec,
    schema::compile,
    spec::{Annotations, Example},
};

use crate::{
    Subject, WireError, adapter::offer, client::Client, contracts::DECLARED, scene::Scene, trace::Trace,
};

/// Depth below which a sample has no optional members, and references are not followed.
const MAX_DEPTH: usize = 8;

/// The declarations of a server.
#[derive(Debug)]
pub struct Declared {
    /// The contract.
    pub contract: &'static ContractSpec,
    /// Noun phrases for people: the parts that are not judged.
    pub left_out: Vec<String>,
}

/// The tools that may be called besides those that declare that they only read.
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
    /// Returns what a list of names means, in which `all` stands for all.
    pub fn of(names: &[String]) -> Self {
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

/// Starts the server and returns what it declares.
///
/// # Errors
/// If it does not answer with a list of tools.
pub fn contract(subject: &Subject, called: &Called) -> Result<Declared, String> {
    let scene = Scene::new(subject, &Trace::default(), &[("README.md", "# Library\n")]);
    let scene = scene.map_err(|stop| stop.to_string())?;
    let start = || scene.start().map_err(|stop| stop.to_string());
    let mut client = start()?;
    let (mut tools, mut uncalled, mut left_out) = (vec![], vec![], vec![]);
    for (name, listed) in offer::ask(&mut client)? {
        let is_read_only = listed["annotations"]["readOnlyHint"] == true;
        if !is_read_only && !called.permits(&name) {
            uncalled.push(name.clone());
            continue;
        }
        match tool(&name, &listed, is_read_only) {
            // A tool that is slow when nothing else happens would be taken for a hang in every check.
            Ok(tool) => match in_peace(&mut client, &tool) {
                Ok(()) => tools.push(tool),
                Err(silent @ WireError::Silent(_)) => {
                    left_out.push(format!(
                        "calls of `{name}`: {silent}, called alone; `--patience` gives it more"
                    ));
                    client = start()?;
                }
                // A server that ends here ends in the checks, which say so.
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
    Ok(Declared {
        contract: Box::leak(Box::new(contract)),
        left_out,
    })
}

/// Makes each call of a tool once, and waits for the answers.
fn in_peace(client: &mut Client<'_>, tool: &ToolSpec) -> Result<(), WireError> {
    for example in tool.examples.iter() {
        client.request(
            "tools/call",
            json!({ "name": tool.name, "arguments": example.input }),
        )?;
    }
    Ok(())
}

/// Returns a listed tool with calls that its schema accepts. What it needs is kept until the process ends.
fn tool(name: &str, listed: &Value, is_read_only: bool) -> Result<ToolSpec, String> {
    let schema = |member: &str| -> Result<&'static Schema, String> {
        let schema = match &listed[member] {
            Value::Null => json!({ "type": "object" }),
            schema => schema.clone(),
        };
        compile(&schema).map_err(|why| format!("its `{member}` is not a JSON Schema: {why}"))?;
        Ok(Box::leak(Box::new(Schema::plain(kept(&schema.to_string())))))
    };
    let (input, output) = (schema("inputSchema")?, schema("outputSchema")?);
    let sampler = Sampler(&listed["inputSchema"]);
    let mut examples = vec![];
    for (name, is_whole) in [("required members", false), ("all members", true)] {
        let request = sampler.sample("", &listed["inputSchema"], is_whole, 0);
        let request = if request.is_object() { request } else { json!({}) };
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
        name: kept(name),
        description: kept(listed["description"].as_str().unwrap_or_default()),
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

fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// Makes values for the parts of a schema.
struct Sampler<'a>(&'a Value);

impl Sampler<'_> {
    /// Returns a value that the schema of the member `name` probably accepts: with all members of objects, or with those that are required.
    fn sample(&self, name: &str, schema: &Value, is_whole: bool, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let target = reference.strip_prefix('#').and_then(|at| self.0.pointer(at));
            return target.map_or(Value::Null, |target| {
                self.sample(name, target, is_whole, depth + 1)
            });
        }
        let shown = ["const", "default"].into_iter().find_map(|key| schema.get(key));
        let listed = ["enum", "examples"]
            .into_iter()
            .find_map(|key| schema[key].as_array()?.first());
        if let Some(value) = shown.or(listed).filter(|value| !value.is_null()) {
            return value.clone();
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let parts = schema[key].as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(part) = parts.iter().find(|part| part["type"] != "null") {
                let mut whole = part.clone();
                if let (Some(whole), Some(around)) = (whole.as_object_mut(), schema.as_object()) {
                    let around = around.iter().filter(|(name, _)| *name != key);
                    for (name, value) in around {
                        whole.entry(name).or_insert_with(|| value.clone());
                    }
                }
                return self.sample(name, &whole, is_whole, depth + 1);
            }
        }
        let kinds = schema["type"].as_array().map(Vec::as_slice);
        let kinds = kinds.unwrap_or(std::slice::from_ref(&schema["type"]));
        let kind = kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null");
        let kind = kind.unwrap_or(if schema.get("properties").is_some() {
            "object"
        } else {
            "string"
        });
        let bound = |key: &str| schema[key].as_i64();
        match kind {
            "object" => self.object(schema, is_whole, depth),
            "array" => {
                let items = bound("minItems").unwrap_or(i64::from(is_whole)).clamp(0, 100);
                let item = || self.sample(name, &schema["items"], is_whole, depth + 1);
                (0..items).map(|_| item()).collect()
            }
            "boolean" => json!(false),
            "integer" | "number" => {
                let least = bound("minimum").or(bound("exclusiveMinimum").map(|least| least + 1));
                let most = bound("maximum").unwrap_or(i64::MAX);
                json!(least.unwrap_or(1).max(1).min(most))
            }
            _ => text(name, schema).into(),
        }
    }

    fn object(&self, schema: &Value, is_whole: bool, depth: usize) -> Value {
        let required = schema["required"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let members = schema["properties"].as_object().into_iter().flatten();
        let wanted = members.filter(|(name, _)| {
            is_whole && depth + 1 < MAX_DEPTH || required.iter().any(|it| it == name.as_str())
        });
        let made =
            wanted.map(|(name, member)| (name.clone(), self.sample(name, member, is_whole, depth + 1)));
        Value::Object(made.collect::<Map<_, _>>())
    }
}

/// Returns a text that suits the name of its member.
fn text(name: &str, schema: &Value) -> String {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let text = match schema["format"].as_str() {
        Some("uri" | "url") => "https://example.com/",
        Some("date") => "2026-01-02",
        Some("date-time") => "2026-01-02T03:04:05Z",
        Some("time") => "03:04:05Z",
        Some("email") => "ann@example.com",
        Some("uuid") => "b64aa32c-2a94-4f38-8ca0-d2339eafc199",
        _ if has(&["dir", "folder"]) => "notes",
        _ if has(&["path", "file"]) => "notes/plan.md",
        _ => "plan",
    };
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0).min(10_000)).unwrap_or(0);
    format!("{text:x<least$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(schema: &Value) -> Vec<Value> {
        let listed = json!({ "name": "t", "inputSchema": schema });
        let tool = tool("t", &listed, true);
        tool.map(|tool| {
            tool.examples
                .iter()
                .map(|example| example.input.clone())
                .collect()
        })
        .unwrap_or_default()
    }

    #[test]
    fn calls_are_made_of_schemas_as_servers_have_them() {
        for (schema, expected) in [
            (json!({ "type": "object" }), vec![json!({})]),
            (
                json!({ "type": "object", "properties": { "path": { "type": "string" }, "head": { "type": "number" } }, "required": ["path"] }),
                vec![
                    json!({ "path": "notes/plan.md" }),
                    json!({ "path": "notes/plan.md", "head": 1 }),
                ],
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
            (
                json!({ "type": "object", "properties": { "next": { "$ref": "#" } } }),
                vec![json!({})],
            ),
            // Only its author knows what fits.
            (
                json!({ "type": "object", "properties": { "code": { "pattern": "^[A-Z]{3}-\\d+$" } }, "required": ["code"] }),
                vec![],
            ),
        ] {
            let found = examples(&schema);
            assert_eq!(found.first(), expected.first(), "{schema}");
            assert!(
                expected.iter().all(|example| found.contains(example)),
                "{schema}: {found:?}"
            );
        }
        assert!(tool("t", &json!({ "inputSchema": { "type": 7 } }), true).is_err());
    }
}
