//! The operations that follow from an entity: requests, responses, errors and an example of each, from the fields.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    FailureKind,
    spec::{Action, Copied, FilterBy, ListFilter, RowOperation},
};

use super::{
    read::{ActionOf, Entity, EntityFile, Field, OperationsOf, action},
    schema::{sample, value},
    table::assignments,
};
use crate::{
    contract::{ContractSpec, Example, OperationSpec, Tool, ToolSpec},
    leak::{leaked, list, texts},
    lint::pointers::article,
};

/// Number of listed rows for a request without a limit, and the maximum limit.
const LIMITS: (u64, u64) = (100, 1_000);

/// Returns the operations of `tool` that follow from the entities.
pub(crate) fn operations(contract: &ContractSpec, entities: &[Entity], tool: &ToolSpec) -> Vec<Tool> {
    let fields = entities.iter().map(|entity| (entity.file.name, &entity.file.fields));
    let fields_of = fields.collect();
    let made = entities.iter().flat_map(|entity| of_entity(contract, &fields_of, entity, tool));
    made.collect()
}

fn of_entity(
    contract: &ContractSpec,
    fields_of: &FieldsOf<'_>,
    entity: &Entity,
    tool: &ToolSpec,
) -> Vec<Tool> {
    let of_tool = entity.file.operations.iter();
    let of_tool = of_tool.filter(|operations| operations.tool == tool.name);
    let made = of_tool.flat_map(|operations| {
        operations.actions.iter().map(|(word, of)| {
            let whole = Whole {
                contract,
                fields_of,
                entity: &entity.file,
                operations,
                tool,
                word,
                action: action(word),
                of,
            };
            whole.tool(entity)
        })
    });
    made.collect()
}

/// The fields of each entity, by its name.
type FieldsOf<'a> = BTreeMap<&'static str, &'a IndexMap<&'static str, Field>>;

/// The sources of an operation.
struct Whole<'a> {
    contract: &'a ContractSpec,
    fields_of: &'a FieldsOf<'a>,
    entity: &'a EntityFile,
    operations: &'a OperationsOf,
    tool: &'a ToolSpec,
    word: &'static str,
    action: Action,
    of: &'a ActionOf,
}

impl Whole<'_> {
    fn tool(&self, entity: &Entity) -> Tool {
        let resource = self.resource();
        let request = self.request();
        let spec = OperationSpec {
            description: Some(leaked(&self.description())),
            is: vec![self.word, resource],
            has: vec![],
            roles: None,
            gates: None,
            rest: ToolSpec {
                mutating: self.is_mutating(),
                errors: self.errors(),
                examples: vec![self.example(&request)],
                ..ToolSpec::default()
            },
            request,
            response: self.response(),
        };
        let usual = || format!("{}-{}", self.word, resource.replace('_', "-"));
        let name = self.of.name.map_or_else(usual, str::to_owned);
        let mut tool = spec.into_tool(&name, entity.document.clone(), self.tool);
        tool.rows = Some(self.run());
        tool
    }

    fn resource(&self) -> &'static str {
        self.operations.resource.unwrap_or(self.entity.name)
    }

    fn is_mutating(&self) -> bool {
        matches!(self.action, Action::Create | Action::Update | Action::Delete)
    }

    fn description(&self) -> String {
        if let Some(description) = self.of.description {
            return description.into();
        }
        let name = self.entity.name.replace('_', " ");
        match self.action {
            Action::List => format!("List each {name} that matches."),
            _ => format!("{}{} {}.", self.word[..1].to_uppercase(), &self.word[1..], article(&name)),
        }
    }

    /// Returns the members of the request outside of the data, by the field with their value.
    fn arguments(&self) -> IndexMap<&'static str, &'static str> {
        let mut arguments = IndexMap::new();
        if self.names_row() && !self.operations.key_in_data {
            for field in &self.entity.key {
                let member = self.operations.key.get(field).unwrap_or(field);
                arguments.insert(*field, *member);
            }
            arguments.extend(self.of.or_by.clone());
        }
        arguments.extend(self.operations.by.clone());
        arguments.extend(self.of.by.clone());
        arguments
    }

    /// Returns true if the request names one row, by its key.
    fn names_row(&self) -> bool {
        matches!(self.action, Action::Get | Action::Update | Action::Delete)
    }

    /// Returns true if a request must have the argument for this field.
    fn is_required(&self, field: &str) -> bool {
        let names_row = self.names_row() && self.entity.key.contains(&field) && self.of.or_by.is_empty();
        let required = self.operations.required.iter().chain(&self.of.required);
        names_row || required.into_iter().any(|name| *name == field)
    }

    fn has_data(&self) -> bool {
        match self.action {
            Action::Create => true,
            Action::Update => self.of.set.is_empty() || !self.of.fields.is_empty() || self.has_key_in_data(),
            _ => self.has_key_in_data(),
        }
    }

    fn has_key_in_data(&self) -> bool {
        self.operations.key_in_data && self.names_row()
    }

    fn run(&self) -> RowOperation {
        let (default, most) = (self.of.default.unwrap_or(LIMITS.0), self.of.most.unwrap_or(LIMITS.1));
        RowOperation {
            entity: self.entity.name,
            action: self.action,
            data: self.has_data().then_some(self.operations.data),
            arguments: list(self.arguments().into_iter().map(|(field, member)| (member, field))),
            limit: self.of.limit,
            limits: (default.min(most), most),
            after: self.of.after,
            answer: self.of.answer,
            resource: self
                .operations
                .names_resource
                .then(|| self.resource())
                .filter(|_| matches!(self.action, Action::List | Action::Delete)),
            set: assignments(&self.of.set),
            fields: texts(&self.of.fields),
            key_in_data: self.has_key_in_data(),
            filters: list(
                self.of.filters.iter().map(|(member, filter)| ListFilter { member, by: filter.by() }),
            ),
            filters_in: self.of.filters_in,
            after_by: self.of.after_by,
            wildcard: self.of.wildcard,
        }
    }

    fn request(&self) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<Value> = vec![];
        for (field, member) in self.arguments() {
            if self.is_required(field) {
                required.push(member.into());
            }
            properties.insert(member.into(), self.argument(field));
        }
        if self.has_data() {
            let (data, schema) = (self.operations.data, self.data());
            let can_lack = schema["required"].as_array().is_none_or(Vec::is_empty);
            if !can_lack || schema["minProperties"].is_u64() {
                required.push(data.into());
            }
            properties.insert(data.into(), schema);
        }
        let filters = self.filters();
        match self.of.filters_in {
            Some(member) => {
                let closed = json!({ "properties": filters, "additionalProperties": false });
                properties.insert(member.into(), closed);
            }
            None => properties.extend(filters.into_iter().map(|(member, schema)| {
                // The tool's schema has its type.
                let mut schema = schema;
                if let Some(schema) = schema.as_object_mut() {
                    schema.shift_remove("type");
                }
                (member, schema)
            })),
        }
        let org = self.contract.rows.as_ref();
        let org = org.and_then(|rows| rows.org?.argument);
        let org = org.filter(|org| self.tool.input_schema["properties"].get(org).is_some());
        if let Some(org) = org {
            properties.entry(org).or_insert_with(|| json!({}));
        }
        json!({ "required": required, "properties": properties })
    }

    /// Returns the part of an argument's schema that the tool's lacks. Only a new row's argument is limited: others may name a missing row.
    fn argument(&self, field: &str) -> Value {
        let field = self.entity.fields.get(field).filter(|_| self.action == Action::Create);
        let mut schema = field.map_or_else(|| json!({}), |field| value(field, true));
        if let Some(schema) = schema.as_object_mut() {
            schema.retain(|key, _| !matches!(key.as_str(), "type" | "description"));
        }
        schema
    }

    /// Returns the members that select and limit the listed rows.
    fn filters(&self) -> Map<String, Value> {
        let mut filters = Map::new();
        for (member, filter) in &self.of.filters {
            let by = filter.by();
            let field = by.fields().first().and_then(|name| self.entity.fields.get(name));
            let schema = match (by, field) {
                (FilterBy::Item(_), _) => json!({ "type": "string" }),
                (FilterBy::Words(_), _) => {
                    json!({ "type": "string", "minLength": 1, "pattern": "\\S" })
                }
                (_, Some(field)) => {
                    value(&Field { optional: false, description: None, ..field.clone() }, true)
                }
                (_, None) => json!({}),
            };
            filters.insert((*member).into(), schema);
        }
        if let Some(limit) = self.of.limit {
            let most = self.of.most.unwrap_or(LIMITS.1);
            filters.insert(limit.into(), json!({ "type": "integer", "minimum": 1, "maximum": most }));
        }
        if let Some(after) = self.of.after {
            let schema = match &self.of.after_by {
                Some(_) => json!({ "type": "integer", "minimum": 0 }),
                None => json!({ "type": "string" }),
            };
            filters.insert(after.into(), schema);
        }
        filters
    }

    /// Returns the schema of the row's fields in a request. An update may also contain unchangeable fields with their present values, so
    /// that a row can be sent as it was read.
    fn data(&self) -> Value {
        let is_create = self.action == Action::Create;
        let sets = !self.of.set.is_empty();
        let is_key = |name: &&str| self.has_key_in_data() && self.entity.key.contains(name);
        let can_be_given = |(name, field): &(&&str, &Field)| match self.action {
            _ if is_key(name) => true,
            Action::Create => {
                let is_scope = self.entity.scope == Some(*name);
                !field.is_of_store() && !is_scope && !self.of.omit.contains(name)
            }
            Action::Update if sets => self.of.fields.contains(name),
            Action::Update => !field.hidden && field.kind != "secret",
            _ => false,
        };
        let arguments = self.arguments();
        let must_be_given = |(name, field): &(&&str, &Field)| {
            is_key(name) || is_create && !is_made(field) && !arguments.contains_key(**name)
        };
        let (mut properties, mut required) = (Map::new(), vec![]);
        for (name, field) in self.entity.fields.iter().filter(can_be_given) {
            let is_fixed = self.action == Action::Update && !sets && !self.can_change(name, field);
            let field = Field { optional: field.optional && !sets, ..field.clone() };
            let mut schema = value(&field, true);
            if is_fixed {
                schema["readOnly"] = true.into();
            }
            properties.insert((*name).into(), schema);
            if let Some(alias) = field.alias.filter(|_| is_create) {
                properties.insert(alias.into(), value(&field, true));
            }
            if must_be_given(&(name, &field)) {
                required.push(*name);
            }
        }
        let mut schema = json!({
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": false,
        });
        if self.action == Action::Update && !sets {
            schema["minProperties"] = (required.len() + 1).into();
        }
        schema
    }

    fn response(&self) -> Value {
        match self.action {
            Action::List => {
                let mut properties = self.named();
                for count in ["count", "total"] {
                    properties.insert(count.into(), json!({ "type": "integer", "minimum": 0 }));
                }
                properties.insert("items".into(), json!({ "type": "array", "items": self.row(false) }));
                let required: Vec<_> = properties.keys().cloned().collect();
                json!({ "type": "object", "required": required, "properties": properties })
            }
            Action::Delete => {
                let mut properties = Map::from_iter([("deleted".to_owned(), json!({ "type": "boolean" }))]);
                properties.extend(self.named());
                for name in &self.entity.key {
                    let field = self.entity.fields.get(*name);
                    properties
                        .insert((*name).into(), field.map_or_else(|| json!({}), |field| value(field, false)));
                }
                let required: Vec<_> = properties.keys().cloned().collect();
                json!({ "type": "object", "required": required, "properties": properties })
            }
            Action::Create | Action::Get | Action::Update => {
                let row = self.row(self.action == Action::Create);
                match self.of.answer {
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

    /// Returns the schema of a row in an answer. A secret is returned once, by the operation that creates it.
    fn row(&self, has_secrets: bool) -> Value {
        let is_shown =
            |(_, field): &(&&str, &Field)| !field.hidden && (field.kind != "secret" || has_secrets);
        let fields = self.entity.fields.iter().filter(is_shown);
        let fields = fields.map(|(name, field)| ((*name).to_owned(), value(field, false)));
        let mut properties: Map<_, _> = fields.collect();
        for (name, of) in &self.entity.adds {
            properties.insert((*name).into(), self.added(of).unwrap_or_else(|| json!({})));
        }
        let required: Vec<_> = properties.keys().cloned().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    }

    /// Returns the schema of a member that an answer adds to a row.
    fn added(&self, of: &Copied) -> Option<Value> {
        let referring = self.entity.fields.get(of.reference)?;
        let field = self.fields_of.get(referring.to?)?.get(of.field)?;
        let field = Field { optional: field.optional || referring.optional, ..field.clone() };
        Some(value(&field, false))
    }

    /// Returns the member of an answer with the name of the resource, if it has one.
    fn named(&self) -> Map<String, Value> {
        let is_named = self.operations.names_resource;
        let member = || ("resource".to_owned(), json!({ "const": self.resource() }));
        is_named.then(member).into_iter().collect()
    }

    /// Returns the errors for the failures of such an operation.
    fn errors(&self) -> Vec<&'static str> {
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
        let mut errors: Vec<_> = of_kind.map(|(name, _)| *name).collect();
        for error in &self.operations.errors {
            if !errors.contains(error) {
                errors.push(error);
            }
        }
        errors
    }

    /// Returns true if an update can change the field.
    fn can_change(&self, name: &&str, field: &Field) -> bool {
        let is_scope = self.entity.scope == Some(*name);
        !field.is_fixed() && !is_scope && !self.entity.key.contains(name)
    }

    /// Adds a field that an update can change.
    fn change_something(&self, data: &mut Value, schema: &Value) {
        let can_change =
            |(name, field): &(&&str, &Field)| field.pattern.is_none() && self.can_change(name, field);
        if let Some((name, _)) = self.entity.fields.iter().find(can_change) {
            data[*name] = sample(&schema["properties"][*name]);
        }
    }

    /// Adds the values that a new row needs and that may come from the data or an argument.
    fn give_needed(&self, data: &mut Value, schema: &Value) {
        for name in self.arguments().keys().filter(|name| !self.is_required(name)) {
            let is_needed = self.entity.fields.get(name).is_some_and(|field| !is_made(field));
            if is_needed && let Some(schema) = schema["properties"].get(name) {
                data[name] = sample(schema);
            }
        }
    }

    /// Returns an example with the smallest valid request.
    fn example(&self, request: &Value) -> Example {
        let mut input = Map::new();
        for (selector, value) in self.tool.select.iter().zip([self.word, self.resource()]) {
            input.insert(selector.trim_start_matches('/').into(), value.into());
        }
        for name in request["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let narrow = &request["properties"][name];
            let wire = &self.tool.input_schema["properties"][name];
            let schema = if narrow["type"].is_null() { wire } else { narrow };
            let mut value = sample(schema);
            if name == self.operations.data {
                match self.action {
                    Action::Update => self.change_something(&mut value, schema),
                    _ => self.give_needed(&mut value, schema),
                }
            }
            input.insert(name.into(), value);
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

/// Returns true if a row needs no value of this field from its request.
pub(super) fn is_made(field: &Field) -> bool {
    let is_made = field.optional || field.default.is_some() || field.from.is_some();
    is_made || field.slug_of.is_some() || matches!(field.kind, "id" | "next")
}
