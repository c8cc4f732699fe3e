//! A description of endpoints in OpenAPI 3.1, as a server serves it.

use std::collections::BTreeSet;

use super::outcome::RestAnswer;
use crate::checks::prelude::*;

/// Schema of OpenAPI descriptions.
const OPENAPI: &str = include_str!("openapi-3.1.json");
/// Maximum depth to which references are followed. Schemas that contain themselves are compared as far as that.
const MAX_DEPTH: usize = 24;
/// Methods that a path can have.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// A description of endpoints.
#[derive(Debug)]
pub(super) struct Description(Value);

impl Description {
    /// Takes an answer for a description.
    ///
    /// # Errors
    /// The failure of an answer that is not a description in OpenAPI 3.1, or has a dangling reference or an invalid schema.
    pub(super) fn read(answer: &RestAnswer) -> Result<Self, Stop> {
        ensure(answer.status == 200, || format!("the description was answered with {}", answer.shown()))?;
        answer.ensure_json()?;
        let description = Self(answer.body.clone());
        description.ensure_valid()?;
        Ok(description)
    }

    fn ensure_valid(&self) -> Judgement {
        let openapi: Value = serde_json::from_str(OPENAPI)?;
        let validator =
            jsonschema::validator_for(&openapi).map_err(|error| Stop::Harness(error.to_string()))?;
        validator.validate(&self.0).map_err(|error| {
            fail(format!(
                "the description is not OpenAPI 3.1: {} at `{}`",
                error.masked(),
                error.instance_path()
            ))
        })?;
        self.ensure_references(&self.0)?;
        let mut names = BTreeSet::new();
        for (path, item) in self.paths() {
            for (_, operation) in operations(item) {
                if let Some(name) = operation["operationId"].as_str() {
                    ensure(names.insert(name), || {
                        format!("two operations of the description have the id `{name}`, one at `{path}`")
                    })?;
                }
            }
        }
        let schemas = self.0["components"]["schemas"].as_object();
        for (name, schema) in schemas.into_iter().flatten() {
            ensure(jsonschema::draft202012::meta::is_valid(schema), || {
                format!("`{name}` of the description is no JSON Schema: {schema}")
            })?;
        }
        Ok(())
    }

    /// Fails if a reference leads nowhere.
    fn ensure_references(&self, value: &Value) -> Judgement {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.ensure_references(item)),
            Value::Object(members) => members.iter().try_for_each(|(name, value)| {
                // In a schema's `properties`, `$ref` would be a name.
                if let ("$ref", Some(target)) = (name.as_str(), value.as_str()) {
                    return ensure(self.target(target).is_some(), || {
                        format!("the description refers to `{target}`, where nothing is")
                    });
                }
                self.ensure_references(value)
            }),
            _ => Ok(()),
        }
    }

    fn target(&self, reference: &str) -> Option<&Value> {
        self.0.pointer(reference.strip_prefix('#')?)
    }

    /// Returns the target of a reference, or the value itself if it is not one.
    fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        let target = value["$ref"].as_str().and_then(|target| self.target(target));
        target.unwrap_or(value)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = (&str, &Value)> {
        let paths = self.0["paths"].as_object().into_iter().flatten();
        paths.map(|(path, item)| (path.as_str(), item))
    }

    /// Returns the operation at a path, by a method in capitals.
    pub(super) fn operation(&self, path: &str, method: &str) -> Option<&Value> {
        self.0["paths"].get(path)?.get(method.to_lowercase())
    }

    /// Returns the schema of the body that an operation takes, with all references resolved.
    pub(super) fn request_schema(&self, operation: &Value) -> Option<Value> {
        let body = self.resolved(operation.get("requestBody")?);
        let schema = body["content"].get("application/json")?.get("schema")?;
        Some(expanded(&self.0, schema))
    }

    /// Returns the schema of the body that an operation answers with this status; `None` if it describes no such answer.
    pub(super) fn response_schema<'v>(&'v self, operation: &'v Value, status: u16) -> Option<&'v Value> {
        let responses = &operation["responses"];
        let ways = [status.to_string(), format!("{}XX", status / 100), "default".to_owned()];
        let response = ways.iter().find_map(|way| responses.get(way))?;
        self.resolved(response)["content"].get("application/json")?.get("schema")
    }

    /// Returns the schema of the member `result` of a successful answer, with all references resolved.
    pub(super) fn result_schema(&self, operation: &Value) -> Option<Value> {
        let schema = self.resolved(self.response_schema(operation, 200)?);
        Some(expanded(&self.0, schema["properties"].get("result")?))
    }

    /// Fails unless an answer to a request is described, and valid against the description.
    pub(super) fn ensure_describes(&self, path: &str, method: &str, answer: &RestAnswer) -> Judgement {
        let operation = self
            .operation(path, method)
            .ok_or_else(|| fail(format!("the description says nothing of `{method} {path}`")))?;
        let schema = self.response_schema(operation, answer.status).ok_or_else(|| {
            fail(format!(
                "the description of `{method} {path}` says nothing of an answer with {}",
                answer.shown()
            ))
        })?;
        answer.ensure_json()?;
        let mut whole = Map::new();
        whole.insert("allOf".into(), json!([schema]));
        whole.insert("components".into(), self.0["components"].clone());
        let validator = jsonschema::draft202012::new(&whole.into())
            .map_err(|error| fail(format!("the description of `{method} {path}` can't be used: {error}")))?;
        validator.validate(&answer.body).map_err(|error| {
            fail(format!(
                "an answer to `{method} {path}` is not as the description has it, {} at `{}`: {}",
                error.masked(),
                error.instance_path(),
                answer.shown()
            ))
        })
    }
}

/// Returns the operations at a path, by method.
fn operations(item: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = item.as_object().into_iter().flatten();
    let members = members.map(|(name, operation)| (name.as_str(), operation));
    members.filter(|(name, _)| METHODS.contains(name))
}

/// Returns a schema in which each reference within `root` is replaced by its target. Definitions are then of no use, and left out, as are
/// extensions and the dialect.
pub(super) fn expanded(root: &Value, schema: &Value) -> Value {
    fn expand(root: &Value, schema: &Value, depth: usize) -> Value {
        match schema {
            Value::Object(members) => {
                let target = members.get("$ref").and_then(Value::as_str);
                let target = target.and_then(|target| root.pointer(target.strip_prefix('#')?));
                if let Some(target) = target.filter(|_| depth < MAX_DEPTH && members.len() == 1) {
                    return expand(root, target, depth + 1);
                }
                let is_kept = |name: &str| {
                    !matches!(name, "$schema" | "$defs" | "definitions" | "$id") && !name.starts_with("x-")
                };
                let members = members.iter().filter(|(name, _)| is_kept(name));
                members.map(|(name, value)| (name.clone(), expand(root, value, depth + 1))).collect()
            }
            Value::Array(items) => items.iter().map(|item| expand(root, item, depth + 1)).collect(),
            other => other.clone(),
        }
    }
    expand(root, schema, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(schema: Value) -> Description {
        Description(json!({
            "openapi": "3.1.0",
            "info": { "title": "Notes", "version": "1" },
            "paths": { "/a": { "post": { "operationId": "a", "responses": { "200": {
                "description": "it", "content": { "application/json": { "schema": schema } },
            } } } } },
            "components": { "schemas": { "A": { "type": "object", "properties": { "b": { "type": "string" } } } } },
        }))
    }

    #[test]
    fn a_description_is_openapi_with_references_that_lead_somewhere() {
        let reference = |target: &str| json!({ "$ref": target });
        assert!(described(reference("#/components/schemas/A")).ensure_valid().is_ok());
        assert!(described(reference("#/components/schemas/B")).ensure_valid().is_err());
        for (pointer, wrong) in [
            ("/openapi", json!("3.0.3")),
            ("/info", json!({ "title": "Notes" })),
            ("/paths/~1a/post/responses", json!({ "ok": { "description": "it" } })),
            ("/paths/~1a/post/responses/200", json!({})),
            ("/components/schemas/A", json!({ "type": "text" })),
        ] {
            let Description(mut whole) = described(json!({}));
            *whole.pointer_mut(pointer).unwrap() = wrong;
            assert!(Description(whole).ensure_valid().is_err(), "{pointer}");
        }
    }

    #[test]
    fn references_are_replaced_by_what_they_lead_to() {
        let Description(whole) = described(json!({ "$ref": "#/components/schemas/A" }));
        let schema =
            &whole["paths"]["/a"]["post"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert_eq!(expanded(&whole, schema), whole["components"]["schemas"]["A"]);
        let endless = json!({ "$defs": { "a": { "items": { "$ref": "#/$defs/a" } } }, "items": { "$ref": "#/$defs/a" } });
        assert!(expanded(&endless, &endless)["items"]["items"].is_object());
    }
}
