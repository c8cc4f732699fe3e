//! The operations that follow from an entity: requests, responses, errors and an example of each, from the fields.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    FailureKind,
    spec::{Action, RowOperation},
};

use super::{
    Entity, RowsOperation, pairs,
    read::{ActionOf, EntityFile, Field, MAX_ITEMS, MAX_TEXT, OperationsOf, action},
};
use crate::{
    contract::{ContractSpec, Example, OperationSpec, Tool, ToolSpec},
    lint::pointers::article,
    table::leaked,
};

/// Number of listed rows if a request names none, and the largest number that it can name.
const LIMITS: (u64, u64) = (100, 1_000);
/// What ids consist of.
const ID: &str = "^[A-Za-z0-9._:-]{1,128}$";

/// Returns the operations of `tool` that follow from `entity`.
pub(crate) fn operations(contract: &ContractSpec, entity: &Entity, tool: &ToolSpec) -> Vec<Tool> {
    let Some(operations) = &entity.file.operations else {
        return vec![];
    };
    let actions = operations.actions.iter();
    let made = actions.filter_map(|(word, of)| {
        let action = action(word)?;
        let whole = Whole {
            contract,
            entity: &entity.file,
            operations,
            tool,
            word,
            action,
            of,
        };
        Some(whole.tool(entity))
    });
    made.collect()
}

/// All that an operation follows from.
struct Whole<'a> {
    contract: &'a ContractSpec,
    entity: &'a EntityFile,
    operations: &'a OperationsOf,
    tool: &'a ToolSpec,
    word: &'a str,
    action: Action,
    of: &'a ActionOf,
}

impl Whole<'_> {
    fn tool(&self, entity: &Entity) -> Tool {
        let resource = self.resource();
        let request = self.request();
        let spec = OperationSpec {
            description: Some(self.description()),
            is: vec![self.word.into(), resource.into()],
            has: vec![],
            mutating: self.is_mutating(),
            path: None,
            path_in: None,
            paths: None,
            commit: None,
            approval: None,
            rate_limit: None,
            errors: self.errors(),
            effects: vec![],
            examples: vec![self.example(&request)],
            request,
            response: self.response(),
        };
        let name = self.of.name.clone();
        let name = name.unwrap_or_else(|| format!("{}-{}", self.word, resource.replace('_', "-")));
        let mut tool = spec.of(&name, entity.document.clone(), self.tool);
        tool.rows = Some(RowsOperation { run: self.run() });
        tool
    }

    fn resource(&self) -> &str {
        self.operations.resource.as_deref().unwrap_or(&self.entity.name)
    }

    fn is_mutating(&self) -> bool {
        matches!(self.action, Action::Create | Action::Update | Action::Delete)
    }

    fn description(&self) -> String {
        let name = self.entity.name.replace('_', " ");
        match self.action {
            Action::List => format!("List each {name} that matches."),
            _ => format!(
                "{}{} {}.",
                self.word[..1].to_uppercase(),
                &self.word[1..],
                article(&name)
            ),
        }
    }

    /// Returns the members of the request beside the data, by the field whose value they are.
    fn arguments(&self) -> IndexMap<String, String> {
        let mut arguments = IndexMap::new();
        if matches!(self.action, Action::Get | Action::Update | Action::Delete) {
            for field in &self.entity.key {
                let member = self.operations.key.get(field).unwrap_or(field);
                arguments.insert(field.clone(), member.clone());
            }
        }
        arguments.extend(self.of.by.clone());
        arguments
    }

    fn has_data(&self) -> bool {
        matches!(self.action, Action::Create | Action::Update)
    }

    fn run(&self) -> RowOperation {
        let (default, most) = (
            self.of.default.unwrap_or(LIMITS.0),
            self.of.most.unwrap_or(LIMITS.1),
        );
        RowOperation {
            entity: leaked(&self.entity.name),
            action: self.action,
            data: self.has_data().then(|| leaked(&self.operations.data)),
            arguments: crate::table::list(pairs(&self.arguments())),
            limit: self.of.limit.as_deref().map(leaked),
            limits: (default.min(most), most),
            after: self.of.after.as_deref().map(leaked),
            answer: self.of.answer.as_deref().map(leaked),
            resource: None,
        }
    }

    fn request(&self) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<Value> = vec![];
        for (field, member) in self.arguments() {
            let is_of_key = self.entity.key.contains(&field) && self.action != Action::List;
            if is_of_key && self.action != Action::Create || self.of.required.contains(&field) {
                required.push(member.as_str().into());
            }
            properties.insert(member, json!({}));
        }
        if self.has_data() {
            let data = &self.operations.data;
            properties.insert(data.clone(), self.data());
            required.push(data.as_str().into());
        }
        if let Some(limit) = &self.of.limit {
            let most = self.of.most.unwrap_or(LIMITS.1);
            properties.insert(limit.clone(), json!({ "minimum": 1, "maximum": most }));
        }
        let org = self
            .contract
            .rows
            .as_ref()
            .and_then(|rows| rows.org.as_ref()?.argument.clone());
        for member in self.of.after.iter().cloned().chain(org) {
            properties.entry(member).or_insert_with(|| json!({}));
        }
        json!({ "required": required, "properties": properties })
    }

    /// Returns the schema of the row's fields in a request.
    fn data(&self) -> Value {
        let is_create = self.action == Action::Create;
        let arguments = self.arguments();
        let can_be_given = |(name, field): &(&String, &Field)| {
            let is_of_store =
                field.of_store || field.hidden || matches!(field.kind.as_str(), "now" | "secret" | "seq");
            let is_kept = field.fixed || field.kind == "id";
            !is_of_store && (is_create || !is_kept) && self.entity.scope.as_ref() != Some(name)
        };
        let fields: Vec<_> = self.entity.fields.iter().filter(can_be_given).collect();
        let properties: Map<_, _> = fields
            .iter()
            .map(|(name, field)| ((*name).clone(), value(field)))
            .collect();
        let must_be_given = |(name, field): &&(&String, &Field)| {
            let is_made = field.optional || field.default.is_some() || field.from.is_some();
            is_create
                && !is_made
                && !matches!(field.kind.as_str(), "id" | "next")
                && !arguments.contains_key(*name)
        };
        let required: Vec<_> = fields
            .iter()
            .filter(must_be_given)
            .map(|(name, _)| name)
            .collect();
        let mut schema = json!({
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": false,
        });
        if !is_create {
            schema["minProperties"] = 1.into();
        }
        schema
    }

    fn response(&self) -> Value {
        match self.action {
            Action::List => json!({
                "type": "object",
                "required": ["count", "total", "items"],
                "properties": {
                    "count": { "type": "integer", "minimum": 0 },
                    "total": { "type": "integer", "minimum": 0 },
                    "items": { "type": "array", "items": self.row(false) },
                },
            }),
            Action::Delete => {
                let mut properties = Map::from_iter([("deleted".to_owned(), json!({ "type": "boolean" }))]);
                for name in &self.entity.key {
                    let field = self.entity.fields.get(name);
                    properties.insert(name.clone(), field.map_or_else(|| json!({}), value));
                }
                let required: Vec<_> = properties.keys().cloned().collect();
                json!({ "type": "object", "required": required, "properties": properties })
            }
            Action::Create | Action::Get | Action::Update => {
                let row = self.row(self.action == Action::Create);
                match &self.of.answer {
                    None => row,
                    Some(member) => json!({
                        "type": "object",
                        "required": [member],
                        "properties": { member: row },
                    }),
                }
            }
        }
    }

    /// Returns the schema of a row in an answer. A secret is answered once, by the operation that makes it.
    fn row(&self, has_secrets: bool) -> Value {
        let is_shown =
            |(_, field): &(&String, &Field)| !field.hidden && (field.kind != "secret" || has_secrets);
        let fields = self.entity.fields.iter().filter(is_shown);
        let properties: Map<_, _> = fields.map(|(name, field)| (name.clone(), value(field))).collect();
        let required: Vec<_> = properties.keys().cloned().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    }

    /// Returns the errors that the failures of such an operation become.
    fn errors(&self) -> Vec<String> {
        let mut kinds = vec![FailureKind::Invalid, FailureKind::NotFound, FailureKind::Io];
        if self.is_mutating() {
            kinds.extend([
                FailureKind::Conflict,
                FailureKind::Refused,
                FailureKind::Busy,
                FailureKind::TooLarge,
                FailureKind::Declined,
            ]);
        }
        let rows = self.contract.errors.iter();
        let of_kind = rows.filter(|(_, error)| error.failures.iter().any(|kind| kinds.contains(kind)));
        let mut errors: Vec<_> = of_kind.map(|(name, _)| name.clone()).collect();
        errors.extend(
            self.operations
                .errors
                .iter()
                .filter(|error| !errors.contains(error))
                .cloned()
                .collect::<Vec<_>>(),
        );
        errors
    }

    /// Returns the smallest valid request.
    fn example(&self, request: &Value) -> Example {
        let mut input = Map::new();
        for (selector, value) in self.tool.select.iter().zip([self.word, self.resource()]) {
            input.insert(selector.trim_start_matches('/').into(), value.into());
        }
        for name in request["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let narrow = &request["properties"][name];
            let wire = &self.tool.input_schema["properties"][name];
            let schema = if narrow["type"].is_null() { wire } else { narrow };
            input.insert(name.into(), sample(schema));
        }
        Example {
            name: article(&self.entity.name.replace('_', " ")),
            input: Some(input.into()),
            output: None,
            valid: true,
            at: None,
            rule: None,
        }
    }
}

/// Returns the schema of a field's values.
pub(super) fn value(field: &Field) -> Value {
    let mut schema = match field.kind.as_str() {
        "id" | "ref" => json!({ "type": "string", "pattern": ID }),
        "string" => {
            let mut schema = json!({ "type": "string" });
            if let Some(min) = field.min_length {
                schema["minLength"] = min.into();
            }
            schema["maxLength"] = field.max_length.unwrap_or(MAX_TEXT).into();
            schema
        }
        "integer" => {
            let mut schema = json!({ "type": "integer" });
            if let Some(min) = field.minimum {
                schema["minimum"] = min.into();
            }
            if let Some(max) = field.maximum {
                schema["maximum"] = max.into();
            }
            schema
        }
        "number" => json!({ "type": "number" }),
        "boolean" => json!({ "type": "boolean" }),
        "enum" => json!({ "type": "string", "enum": field.values }),
        "time" | "now" => json!({ "type": "integer" }),
        "next" | "seq" => json!({ "type": "integer", "minimum": 0 }),
        "list" => json!({
            "type": "array",
            "maxItems": field.max_items.unwrap_or(MAX_ITEMS),
            "items": { "type": "string", "maxLength": field.max_length.unwrap_or(MAX_TEXT) },
        }),
        // A repeated call is answered without it.
        "secret" => json!({ "type": ["string", "null"] }),
        _ => json!({}),
    };
    if let Some(description) = &field.description {
        schema["description"] = description.as_str().into();
    }
    if field.optional && !schema["type"].is_null() {
        schema["type"] = json!([schema["type"], "null"]);
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    schema
}

/// Returns a value that satisfies a schema made by [`value`].
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = schema["type"].get(0).unwrap_or(&schema["type"]);
    match kind.as_str() {
        Some("string") => "x"
            .repeat(schema["minLength"].as_u64().unwrap_or(1).max(1) as usize)
            .into(),
        Some("integer" | "number") => schema["minimum"].as_i64().unwrap_or(0).into(),
        Some("boolean") => true.into(),
        Some("array") => json!([]),
        Some("object") => {
            let properties = schema["properties"].as_object();
            let required = schema["required"].as_array().into_iter().flatten();
            let mut names: Vec<_> = required.filter_map(Value::as_str).collect();
            if names.is_empty() && schema["minProperties"] == 1 {
                names.extend(
                    properties
                        .and_then(|properties| properties.keys().next())
                        .map(String::as_str),
                );
            }
            let value = |name: &str| (name.to_owned(), sample(&schema["properties"][name]));
            Value::Object(names.into_iter().map(value).collect())
        }
        _ => Value::Null,
    }
}
