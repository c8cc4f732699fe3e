//! Third pass: the *types* view, the schemas that typify converts to Rust types.
//!
//! A type may be wider than its schema, never narrower: every value that the enforced view accepts decodes. Keywords that
//! typify ignores or panics on are removed here; the validator checks them. Type names come from `x-rust-name` only, and each
//! name is one type.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::{
    algebra,
    contract::{Authored, Contract, SchemaKind},
    document::Document,
    pointer,
    problem::Problem,
    schema, union, views,
};

/// The Rust types of a contract, in the order in which tools need them.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// Schemas for typify by the name of the type.
    pub(crate) definitions: IndexMap<String, Definition>,
    /// Requests and responses with a different type name, by their default name.
    pub(crate) aliases: IndexMap<String, String>,
}

/// One Rust type.
#[derive(Debug, Default)]
pub(crate) struct Definition {
    /// The schema for typify.
    pub(crate) schema: Value,
    /// The tag property, if the type is a union.
    pub(crate) tag: Option<String>,
    /// The fields, compared with other schemas of the same name; likewise the rules.
    shape: Value,
    enforced: Value,
    /// Location of its first occurrence.
    place: String,
}

/// Returns the types view of `contract`.
pub(crate) fn lower(contract: &Contract) -> (Types, Vec<Problem>) {
    let mut types = Types::default();
    let mut problems = vec![];
    for authored in contract.schemas().filter(|authored| authored.kind.is_typed()) {
        types.root(&authored, &mut problems);
    }
    (types, problems)
}

impl Types {
    /// Returns true if a type has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.definitions.contains_key(name) || self.aliases.contains_key(name)
    }

    fn root(&mut self, authored: &Authored<'_>, problems: &mut Vec<Problem>) {
        let usual = authored.usual_name.clone();
        let mut schema = authored.schema.clone();
        if let SchemaKind::Narrowed(selectors) = authored.kind {
            schema::without_members(&mut schema, selectors);
        }
        let name = match schema["x-rust-name"].as_str() {
            Some(name) => name.to_string(),
            None => usual.clone(),
        };
        if name != usual {
            self.aliases.insert(usual, name.clone());
        }
        schema["x-rust-name"] = name.into();
        let mut lowering = Lowering { types: self, document: authored.document, problems };
        lowering.schema(&schema, &authored.at);
    }
}

struct Lowering<'a> {
    types: &'a mut Types,
    document: &'a Document,
    problems: &'a mut Vec<Problem>,
}

impl Lowering<'_> {
    /// Returns the schema for typify. A named one moves to the definitions and leaves a reference.
    fn schema(&mut self, schema: &Value, at: &str) -> Value {
        let empty = Map::new();
        let members = schema.as_object().unwrap_or(&empty);
        let Some(name) = members.get("x-rust-name").and_then(Value::as_str) else {
            return self.unnamed(schema, members, at).into();
        };
        let mut site = Map::new();
        for key in ["description", "default"] {
            if let Some(value) = members.get(key) {
                site.insert(key.into(), value.clone());
            }
        }
        if members.contains_key("x-rust-union") && members.contains_key("default") {
            self.problems.push(self.document.problem(
                pointer::push(at, "default"),
                "a union can't have a default",
                "describe what an absent value means, and remove the default",
            ));
        }
        self.define(name, schema, members, at);
        let reference = json!({ "$ref": format!("#/definitions/{name}") });
        if schema::has_type(members, "null") {
            site.insert("oneOf".into(), json!([reference, { "type": "null" }]));
        } else {
            site.insert("allOf".into(), json!([reference]));
        }
        site.into()
    }

    fn define(&mut self, name: &str, schema: &Value, members: &Map<String, Value>, at: &str) {
        let enforced = views::enforced(schema);
        let first = !self.types.definitions.contains_key(name);
        if first {
            // Taken before its parts, so that types are in the order in which a reader meets them.
            let definition = Definition {
                place: format!("{}#{at}", self.document.file.display()).replace('\\', "/"),
                ..Definition::default()
            };
            self.types.definitions.insert(name.into(), definition);
        }
        let mut lowered = self.unnamed(schema, members, at);
        lowered.shift_remove("default");
        if members.get("type").is_some_and(Value::is_array) {
            let kind = if members.contains_key("enum") { "string" } else { "object" };
            lowered.insert("type".into(), kind.into());
        }
        let shape = views::bare(&Value::Object(lowered.clone()));
        if !first {
            return self.compare(name, &shape, &enforced, at);
        }
        let tag = members.get("x-rust-union").and_then(Value::as_str);
        if let Some(tag) = tag {
            match union::lower(schema, &lowered, tag) {
                Ok(union) => lowered = union,
                Err((message, help)) => {
                    let at = pointer::push(at, "x-rust-union");
                    self.problems.push(self.document.problem(at, message, help));
                }
            }
        }
        let definition = &mut self.types.definitions[name];
        definition.schema = lowered.into();
        definition.tag = tag.map(String::from);
        definition.shape = shape;
        definition.enforced = enforced;
    }

    /// Checks that schemas of the same name are equal.
    fn compare(&mut self, name: &str, shape: &Value, enforced: &Value, at: &str) {
        let first = &self.types.definitions[name];
        let message = if first.shape != *shape {
            format!("`{name}` has a different shape at {}", first.place)
        } else if first.enforced != *enforced {
            format!("`{name}` has different rules at {}", first.place)
        } else {
            return;
        };
        let authored = self.document.value.pointer(at);
        let at = match authored.and_then(|authored| authored.get("x-rust-name")) {
            Some(_) => pointer::push(at, "x-rust-name"),
            None => at.into(),
        };
        let help = "make both equal, or give this one a different name";
        self.problems.push(self.document.problem(at, message, help));
    }

    fn unnamed(&mut self, schema: &Value, members: &Map<String, Value>, at: &str) -> Map<String, Value> {
        let mut lowered = Map::new();
        for key in ["type", "description", "default"] {
            if let Some(value) = members.get(key) {
                lowered.insert(key.into(), value.clone());
            }
        }
        if let Some(Value::Array(kinds)) = members.get("type")
            && kinds.iter().filter(|kind| *kind != "null").count() != 1
        {
            // Several kinds of value are any value in Rust; typify would invent an enum and its names.
            lowered.remove("type");
            return lowered;
        }
        if members.get("format").is_some_and(|format| format == "date-time") {
            lowered.insert("format".into(), "date-time".into());
        }
        if schema::has_type(members, "integer") {
            lowered.insert("format".into(), integer(schema).into());
        }
        if schema::has_type(members, "string") && schema::string_enum(members).is_some() {
            lowered.insert("enum".into(), members["enum"].clone());
        }
        if let Some(items) = members.get("items") {
            lowered.insert("items".into(), self.schema(items, &pointer::push(at, "items")));
        }
        if schema::has_type(members, "object") {
            self.members(schema, members, at, &mut lowered);
        }
        lowered
    }

    fn members(
        &mut self,
        schema: &Value,
        members: &Map<String, Value>,
        at: &str,
        lowered: &mut Map<String, Value>,
    ) {
        if members.get("x-rust-map").is_some_and(|map| map == true) {
            return;
        }
        let tag = members.get("x-rust-union").and_then(Value::as_str);
        if let Some(properties) = members.get("properties").and_then(Value::as_object) {
            let at = pointer::push(at, "properties");
            let properties: Map<_, _> = properties
                .iter()
                .map(|(name, property)| {
                    // A tag's values become the variants' names, so the tag itself has no type.
                    let property = if tag == Some(name) {
                        property.clone()
                    } else {
                        self.schema(property, &pointer::push(&at, name))
                    };
                    (name.clone(), property)
                })
                .collect();
            lowered.insert("required".into(), required(schema, &properties));
            lowered.insert("properties".into(), properties.into());
        }
        match members.get("additionalProperties") {
            Some(Value::Object(_)) => {
                let at = pointer::push(at, "additionalProperties");
                let others = self.schema(&members["additionalProperties"], &at);
                lowered.insert("additionalProperties".into(), others);
            }
            Some(said) => {
                lowered.insert("additionalProperties".into(), said.clone());
            }
            None => {}
        }
    }
}

/// Returns the integer type: unsigned if no valid value is negative.
fn integer(schema: &Value) -> &'static str {
    let negative =
        json!({ "allOf": [views::enforced(schema), { "type": "integer", "exclusiveMaximum": 0 }] });
    if algebra::is_empty(&negative) { "uint64" } else { "int64" }
}

/// Returns the names of the required properties: by `required`, or by a rule.
fn required(schema: &Value, properties: &Map<String, Value>) -> Value {
    let enforced = views::enforced(schema);
    let declared = schema["required"].as_array();
    let is_declared = |name: &str| declared.is_some_and(|names| names.iter().any(|n| n == name));
    let is_proved = |name: &str| {
        schema.get("x-enforce").is_some()
            && algebra::is_empty(
                &json!({ "allOf": [enforced, { "type": "object", "properties": { name: false } }] }),
            )
    };
    properties
        .keys()
        .filter(|name| is_declared(name) || is_proved(name))
        .map(|name| Value::from(name.as_str()))
        .collect()
}
