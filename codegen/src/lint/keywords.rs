//! Lints of keywords: only known ones, and only where they have an effect.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tabellion_runtime::schema::compile;

use super::values;
use crate::{
    contract::{Authored, Contract, SchemaKind},
    document::Document,
    pointer,
    problem::Problem,
    schema, views,
};

/// Formats that the validator checks; it ignores others.
const FORMATS: &[&str] = &[
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// The position of a schema, which decides its permitted keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The whole request or response.
    Root,
    /// A part of one.
    Part,
    /// A further condition on a part, such as in `anyOf`.
    Condition,
    /// In a rule, which clients don't see.
    Rule,
}

/// Checks the rules and the clauses of gates that `contract.json` declares.
pub(super) fn named_rules(contract: &Contract, problems: &mut Vec<Problem>) {
    for (id, rule) in &contract.spec.rules {
        let at = pointer::walk("/rules", &[id, "schema"]);
        Check::new(&contract.document, problems).root(&rule.schema, &at, Role::Rule);
    }
    for (gate, it) in &contract.spec.gates {
        for (i, clause) in it.clauses.iter().enumerate() {
            let at = format!("/gates/{gate}/clauses/{i}/schema");
            Check::new(&contract.document, problems).root(&clause.schema, &at, Role::Rule);
        }
    }
}

/// Checks a schema and its inline rules.
pub(super) fn schema(authored: &Authored<'_>, problems: &mut Vec<Problem>) {
    let (document, at) = (authored.document, &authored.at);
    let mut check = Check::new(document, problems);
    check.is_typed = authored.kind.is_typed();
    match authored.kind {
        SchemaKind::Authored | SchemaKind::WireOnly => {
            if let Some(schema) = document.value.pointer(at) {
                check.root(schema, at, Role::Root);
            }
        }
        SchemaKind::Narrowed(_) => check.root(authored.schema, at, Role::Root),
        // Their sources are checked in their own files.
        SchemaKind::Union | SchemaKind::Derived => check.is_schema(authored.schema, at),
    }
}

struct Check<'a> {
    document: &'a Document,
    problems: &'a mut Vec<Problem>,
    /// True if the schema and its parts have Rust types.
    is_typed: bool,
    /// Location of the first schema with each `title`.
    titles: BTreeMap<String, String>,
}

impl<'a> Check<'a> {
    fn new(document: &'a Document, problems: &'a mut Vec<Problem>) -> Self {
        Self { document, problems, is_typed: true, titles: BTreeMap::new() }
    }

    fn problem(&mut self, at: &str, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(self.document.problem(at, message, help));
    }

    fn root(&mut self, schema: &Value, at: &str, role: Role) {
        let before = self.problems.len();
        self.schema(schema, at, role);
        if self.problems.len() > before {
            return;
        }
        self.is_schema(schema, at);
    }

    fn is_schema(&mut self, schema: &Value, at: &str) {
        if let Err(error) = jsonschema::draft202012::meta::validate(&views::wire(schema)) {
            let at = format!("{at}{}", error.instance_path().as_str());
            let message = format!("is no JSON Schema: {}", error.masked_with("this value"));
            self.problem(&at, message, "see https://json-schema.org/draft/2020-12/schema");
        }
    }

    fn schema(&mut self, schema: &Value, at: &str, role: Role) {
        let Some(members) = schema.as_object() else {
            return self.not_an_object(schema, at, role);
        };
        for (keyword, value) in members {
            self.keyword(keyword, value, &pointer::push(at, keyword), role);
        }
        if role != Role::Rule {
            self.members(members, at, role);
        }
        for (step, child) in schema::children(schema) {
            let child_role = match role {
                Role::Root | Role::Part if schema::is_part(&step[0]) => Role::Part,
                Role::Root | Role::Part | Role::Condition => Role::Condition,
                Role::Rule => Role::Rule,
            };
            self.schema(child, &pointer::walk(at, &step), child_role);
        }
        let clauses = members.get("x-enforce").and_then(Value::as_array);
        for (i, clause) in clauses.into_iter().flatten().enumerate() {
            if let Some(rule) = clause.get("schema") {
                let step = ["x-enforce".into(), i.to_string(), "schema".into()];
                self.root(rule, &pointer::walk(at, &step), Role::Rule);
            }
        }
    }

    fn not_an_object(&mut self, schema: &Value, at: &str, role: Role) {
        let is_boolean = schema.is_boolean();
        if is_boolean && (role == Role::Rule || at.ends_with("/additionalProperties")) {
            return;
        }
        if is_boolean {
            let help = "describe the value, or remove the property";
            self.problem(at, "a schema that is true or false has no Rust type", help);
        } else if schema.is_array() {
            let help = "give all items one schema, or make an object with a name for each";
            self.problem(at, "items with a schema per position have no Rust type", help);
        } else {
            self.problem(at, "is not a schema", "write an object with keywords of JSON Schema");
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, at: &str, role: Role) {
        match keyword {
            "x-rust-name" | "x-rust-union" | "x-rust-map" | "x-enforce"
                if matches!(role, Role::Root | Role::Part) => {}
            "x-rust-name" | "x-rust-union" | "x-rust-map" | "x-enforce" => self.problem(
                at,
                format!("`{keyword}` has no effect here"),
                "write it at the schema of a request, a response, a property or an item",
            ),
            "$ref" | "$dynamicRef" | "$defs" | "definitions" | "$id" | "$anchor" | "$dynamicAnchor" => {
                let help = "write the schema out where it is used; types are shared by `x-rust-name`";
                self.problem(at, format!("`{keyword}`: several clients drop tools with references"), help);
            }
            "allOf" | "anyOf" | "oneOf" if role == Role::Root => {
                let help = "put it into `x-enforce`, which clients don't see";
                self.problem(at, format!("`{keyword}` at the root: several clients drop such tools"), help);
            }
            "if" | "then" | "else" if role != Role::Rule => {
                let help = "put it into `x-enforce`, which clients don't see";
                self.problem(at, format!("`{keyword}` makes typify panic and confuses clients"), help);
            }
            "prefixItems" | "additionalItems" => {
                let help = "give all items one schema, or make an object with a name for each";
                self.problem(at, "items with a schema per position have no Rust type", help);
            }
            _ if schema::WIRE.contains(&keyword) => self.value(keyword, value, at, role),
            _ if role == Role::Rule && schema::RULE.contains(&keyword) => {
                self.value(keyword, value, at, role)
            }
            _ => {
                let help = if schema::RULE.contains(&keyword) {
                    "put it into `x-enforce`, which clients don't see"
                } else {
                    "correct its spelling or remove it: every implementation ignores unknown keywords"
                };
                self.problem(at, format!("`{keyword}` is not a known keyword"), help);
            }
        }
    }

    fn value(&mut self, keyword: &str, value: &Value, at: &str, role: Role) {
        if !schema::holds_schemas(keyword) {
            for at in values::inexact(value, at) {
                let help =
                    "numbers beyond 2^53 - 1 are not the same in every JSON implementation; use a string";
                self.problem(&at, "this number is not exact everywhere", help);
            }
        }
        match (keyword, value) {
            ("pattern", Value::String(pattern)) => self.pattern(pattern, at),
            ("patternProperties", Value::Object(schemas)) => {
                for pattern in schemas.keys() {
                    self.pattern(pattern, &pointer::push(at, pattern));
                }
            }
            ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => {
                let help = format!("supported are {}; for others use `pattern`", FORMATS.join(", "));
                self.problem(at, format!("format `{format}` is never checked"), help);
            }
            ("title", Value::String(title)) if role == Role::Part => {
                if let Some(first) = self.titles.insert(title.clone(), at.into()) {
                    let help =
                        format!("it is also at {first}; remove one, since `x-rust-name` names the types");
                    self.problem(
                        at,
                        format!("`{title}` is the title of two schemas, which typify confuses"),
                        help,
                    );
                }
            }
            ("properties", Value::Object(properties)) if role != Role::Rule => {
                for name in properties.keys().filter(|name| !is_portable(name)) {
                    let help =
                        "model providers refuse the tool: use 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`";
                    let message = format!("the name `{}` is not portable", name.escape_debug());
                    self.problem(&pointer::push(at, name), message, help);
                }
            }
            _ => {}
        }
    }

    fn pattern(&mut self, pattern: &str, at: &str) {
        if let Err(error) = compile(&serde_json::json!({ "pattern": pattern })) {
            let reason = error.lines().last().unwrap_or_default().trim().to_string();
            let help = "patterns run in linear time, without look-around and back-references: use `not` and `pattern`";
            self.problem(at, format!("the pattern can't be compiled: {reason}"), help);
        }
    }

    /// Checks combinations of keywords.
    fn members(&mut self, members: &Map<String, Value>, at: &str, role: Role) {
        let properties = members.get("properties").and_then(Value::as_object);
        let required = members.get("required").and_then(Value::as_array);
        for (i, name) in required.into_iter().flatten().enumerate() {
            let name = name.as_str().unwrap_or_default();
            if role != Role::Condition && !properties.is_some_and(|properties| properties.contains_key(name))
            {
                let at = pointer::walk(at, &["required".into(), i.to_string()]);
                self.problem(
                    &at,
                    format!("`{name}` is required and not declared"),
                    "declare it under `properties`",
                );
            }
        }
        if role != Role::Part {
            return;
        }
        let is_enum = schema::has_type(members, "string") && schema::string_enum(members).is_some();
        let is_object = schema::has_type(members, "object")
            && (properties.is_some_and(|properties| !properties.is_empty())
                || members.get("additionalProperties") == Some(&Value::Bool(false)));
        let is_one_kind = match members.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().filter(|kind| *kind != "null").count() == 1,
            _ => true,
        };
        let is_kept = members.get("x-rust-map").is_some_and(|map| map == true);
        if is_kept && !is_object {
            let help = "only an object with declared properties can keep all its members";
            self.problem(&pointer::push(at, "x-rust-map"), "this is not such an object", help);
        }
        let is_object = is_object && !is_kept;
        let named = members.contains_key("x-rust-name");
        let is_type = (is_enum || is_object) && is_one_kind;
        if is_type && !named && self.is_typed && !self.is_tag(at) {
            let kind = if is_enum { "enum" } else { "object" };
            let help = "add `\"x-rust-name\": \"…\"`; clients don't see it";
            self.problem(at, format!("this {kind} has no name for its Rust type"), help);
        } else if named && !is_type {
            let help = "only objects with declared properties and enums of strings become types of their own";
            self.problem(&pointer::push(at, "x-rust-name"), "this name belongs to no type", help);
        }
        let tag = members.get("x-rust-union").and_then(Value::as_str);
        if let Some(tag) = tag
            && !properties.is_some_and(|properties| properties.contains_key(tag))
        {
            let help = "name the property whose values select the variant";
            let message = format!("`{tag}` is not a property of this object");
            self.problem(&pointer::push(at, "x-rust-union"), message, help);
        } else if tag.is_some() && !is_object {
            let help = "unions are made of objects with declared properties";
            self.problem(&pointer::push(at, "x-rust-union"), "this is not an object", help);
        }
    }

    /// Returns true if `at` is the property that an `x-rust-union` around it names.
    fn is_tag(&self, at: &str) -> bool {
        let Some((around, name)) = at.rsplit_once("/properties/") else {
            return false;
        };
        let union = self.document.value.pointer(around).map(|schema| &schema["x-rust-union"]);
        union.is_some_and(|tag| tag == name)
    }
}

fn is_portable(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}
