//! Requests of the operations on entities.

use serde_json::{Map, Value};
use tabellion_runtime::{
    ContractSpec, ToolSpec, pointer,
    spec::{Action, EntitySpec, FieldSpec, RowOperation, RowsSpec},
};

use crate::{ledger::rows::Row, request};

/// A request of an operation on rows, with its content.
#[derive(Debug, Clone)]
pub struct Request {
    /// The operation.
    pub tool: &'static ToolSpec,
    /// The layout of its request and answer.
    pub operation: RowOperation,
    /// The entity.
    pub entity: &'static EntitySpec,
    /// The content.
    pub content: RequestContent,
    /// The arguments.
    pub arguments: Value,
}

/// The rows and fields that a request is about.
#[derive(Debug, Clone, Default)]
pub struct RequestContent {
    /// Key of the org, if there are orgs.
    pub org: Option<String>,
    /// Values of fields that name the row, or by which rows are listed; for a new row, values next to its data.
    pub key: Row,
    /// The row's fields.
    pub data: Row,
    /// Maximum number of listed rows.
    pub limit: Option<u64>,
    /// The key of the last row seen, or its value of the field that the operation continues by.
    pub after: Option<Value>,
    /// Values of the members that select the rows of a list.
    pub filters: Row,
    /// The name that the call gives the caller's row, if the contract permits it.
    pub caller: Option<String>,
}

/// Returns the operation that does this with an entity: the one that names the row by its key, if there are several. Updates that
/// set the contract's values are excluded: see [`own`].
pub fn find(contract: &ContractSpec, entity: &str, action: Action) -> Option<&'static ToolSpec> {
    let spec = contract.rows?.entity(entity)?;
    let fits = |tool: &&ToolSpec| {
        tool.rows.is_some_and(|rows| rows.entity == entity && rows.action == action && rows.set.is_empty())
    };
    let by_key = |tool: &&ToolSpec| {
        let named = tool.rows.map_or(&[][..], |rows| rows.arguments);
        spec.key.iter().all(|key| named.iter().any(|(_, field)| field == key))
    };
    let all = || contract.operations().filter(fits);
    all().find(by_key).or_else(|| all().next())
}

/// Returns the operations that set values from the contract in a row of an entity.
pub fn own<'c>(
    contract: &'c ContractSpec,
    entity: &'c str,
) -> impl Iterator<Item = &'static ToolSpec> + use<'c> {
    let is_own =
        move |tool: &&ToolSpec| tool.rows.is_some_and(|rows| rows.entity == entity && !rows.set.is_empty());
    contract.operations().filter(is_own)
}

/// Returns true if requests of an operation can give a field.
pub fn takes(tool: &ToolSpec, field: &FieldSpec) -> bool {
    let Some(operation) = tool.rows else { return false };
    let properties = &tool.input.wire()["properties"];
    let within = match operation.data {
        Some(member) => &properties[member]["properties"],
        None => properties,
    };
    within.is_null()
        || within.get(field.name).is_some()
        || operation.arguments.iter().any(|(_, name)| *name == field.name)
}

/// Returns the fields whose values an operation requires in addition to the row's data.
pub fn required(tool: &ToolSpec) -> Vec<&'static str> {
    let arguments = tool.rows.map_or(&[][..], |rows| rows.arguments);
    let wire = tool.input.wire();
    let required = wire["required"].as_array().into_iter().flatten();
    let required: Vec<_> = required.filter_map(Value::as_str).collect();
    let arguments = arguments.iter();
    let those = arguments.filter(|(member, _)| required.contains(member));
    those.map(|(_, field)| *field).collect()
}

/// Returns the entities of a contract.
pub fn entities(contract: &ContractSpec) -> &'static [EntitySpec] {
    contract.rows.map_or(&[], |rows| rows.entities)
}

/// Returns the keys of the orgs that a new store has, the default one first; none if rows are not divided into orgs, or requests can't
/// name the org.
pub fn orgs(spec: &RowsSpec) -> Vec<String> {
    let Some(org) = spec.org.filter(|org| org.argument.is_some()) else {
        return Vec::new();
    };
    let key = spec.entity(org.entity).and_then(|entity| entity.key.first());
    let seeds = spec.seeds.iter().filter(|seed| seed.entity == org.entity);
    let seeds = seeds.filter_map(|seed| serde_json::from_str::<Value>(seed.row).ok());
    let others = seeds.filter_map(|row| row[*key?].as_str().map(str::to_owned));
    let others = others.filter(|key| key != org.default);
    std::iter::once(org.default.to_owned()).chain(others).collect()
}

/// Key of the org that the suite creates in addition to the only one that a new store has.
pub const ORG_BESIDE: &str = "org-beside";

/// Returns the keys of the orgs that checks use: those of a new store, with [`ORG_BESIDE`] if it has one alone and an operation creates
/// orgs.
pub fn orgs_of(contract: &ContractSpec) -> Vec<String> {
    let mut orgs = contract.rows.map(orgs).unwrap_or_default();
    let entity = contract.rows.and_then(|rows| rows.org).map(|org| org.entity);
    let creates = entity.and_then(|entity| find(contract, entity, Action::Create));
    if orgs.len() == 1 && creates.is_some() {
        orgs.push(ORG_BESIDE.to_owned());
    }
    orgs
}

impl Request {
    /// Returns the request of an operation; `None` if the operation is not one on rows, or can't express that content.
    pub fn new(contract: &ContractSpec, tool: &'static ToolSpec, content: RequestContent) -> Option<Self> {
        let (spec, operation) = (contract.rows?, tool.rows?);
        let entity = spec.entity(operation.entity)?;
        let wire = tool.input.wire();
        let takes = |member: &str| wire["properties"].get(member).is_some();
        let mut arguments = Map::new();
        if let Some(chosen) = tool.operation {
            for (selector, value) in chosen.select.iter().zip(chosen.is) {
                let (_, name) = pointer::split_last(selector)?;
                arguments.insert(name, (*value).into());
            }
        }
        if let (Some(of), Some(org)) = (spec.org, &content.org) {
            match of.argument.filter(|member| takes(member)) {
                Some(member) => drop(arguments.insert(member.to_owned(), org.as_str().into())),
                None if org == of.default => {}
                None => return None,
            }
        }
        let mut data = content.data.clone();
        for (member, field) in operation.arguments {
            let value = content.key.get(*field).cloned();
            let value =
                value.or_else(|| (operation.action == Action::Create).then(|| data.shift_remove(*field))?);
            if let Some(value) = value {
                arguments.insert((*member).to_owned(), value);
            }
        }
        if operation.key_in_data && !matches!(operation.action, Action::Create | Action::List) {
            for name in entity.key {
                let value = content.key.get(*name).cloned();
                if let Some(value) = value {
                    data.entry(*name).or_insert(value);
                }
            }
        }
        let has_data = matches!(operation.action, Action::Create | Action::Update) || !data.is_empty();
        match operation.data {
            Some(member) if has_data => drop(arguments.insert(member.to_owned(), data.into())),
            _ => arguments.extend(data),
        }
        let mut filters = content.filters.clone();
        if let Some(limit) = content.limit {
            filters.insert(operation.limit?.to_owned(), limit.into());
        }
        if let Some(after) = &content.after {
            filters.insert(operation.after?.to_owned(), after.clone());
        }
        match operation.filters_in {
            Some(member) if !filters.is_empty() => drop(arguments.insert(member.to_owned(), filters.into())),
            _ => arguments.extend(filters),
        }
        // An example provides the other required arguments.
        let example = request::examples(tool).next().unwrap_or_default();
        let required = wire["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            let is_of_rows = operation.arguments.iter().any(|(member, _)| *member == name);
            if let Some(value) = example.get(name).filter(|_| !is_of_rows) {
                arguments.entry(name).or_insert_with(|| value.clone());
            }
        }
        Some(Self { tool, operation, entity, content, arguments: arguments.into() })
    }

    /// Returns the caller's part of the request's `_meta`.
    pub fn meta(&self, contract: &ContractSpec) -> Map<String, Value> {
        let named = || {
            let caller = contract.rows?.caller?;
            let fields = contract.provenance?.fields;
            let field = fields.iter().find(|field| Some(field.name) == caller.provenance)?;
            Some(((*field.keys.first()?).to_owned(), self.content.caller.clone()?.into()))
        };
        named().into_iter().collect()
    }

    /// Returns the row in an answer to it.
    pub fn row<'a>(&self, response: &'a Value) -> Option<&'a Row> {
        let row = match self.operation.answer {
            Some(member) => response.get(member)?,
            None => response,
        };
        row.as_object()
    }
}

/// Returns those of the named fields that `row` has.
pub fn part_of(row: &Row, names: &[&str]) -> Row {
    let value = |name: &&str| Some(((*name).to_owned(), row.get(*name)?.clone()));
    names.iter().filter_map(value).collect()
}

/// Returns the fields that identify `row` within its org, with their values.
pub fn key_of(entity: &EntitySpec, row: &Row) -> Row {
    let value = |name: &&str| ((*name).to_owned(), row.get(*name).cloned().unwrap_or_default());
    entity.key.iter().map(value).collect()
}
