//! Requests of the operations on entities.

use serde_json::{Map, Value};
use tabellion_runtime::{
    ContractSpec, ToolSpec, pointer,
    spec::{Action, EntitySpec, RowOperation, RowsSpec},
};

use crate::{ledger::rows::Row, request};

/// A request of an operation on rows, with what it says.
#[derive(Debug, Clone)]
pub struct Request {
    /// The operation.
    pub tool: &'static ToolSpec,
    /// How its request and answer are laid out.
    pub operation: RowOperation,
    /// The entity.
    pub entity: &'static EntitySpec,
    /// Key of the org, if there are orgs.
    pub org: Option<String>,
    /// Values of fields that name the row, or by which rows are listed.
    pub key: Row,
    /// The row's fields.
    pub data: Row,
    /// Maximum number of listed rows.
    pub limit: Option<u64>,
    /// The key of the last row seen.
    pub after: Option<Value>,
    /// The arguments.
    pub arguments: Value,
}

/// What a request says.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// As [`Request::org`].
    pub org: Option<String>,
    /// As [`Request::key`].
    pub key: Row,
    /// As [`Request::data`].
    pub data: Row,
    /// As [`Request::limit`].
    pub limit: Option<u64>,
    /// As [`Request::after`].
    pub after: Option<Value>,
}

/// Returns the operation that does this with an entity: the one that names the row by its key, if there are several.
pub fn find(contract: &ContractSpec, entity: &str, action: Action) -> Option<&'static ToolSpec> {
    let spec = contract.rows?.entity(entity)?;
    let fits = |tool: &&ToolSpec| {
        tool.rows
            .is_some_and(|rows| rows.entity == entity && rows.action == action)
    };
    let by_key = |tool: &&ToolSpec| {
        let named = tool.rows.map_or(&[][..], |rows| rows.arguments);
        spec.key
            .iter()
            .all(|key| named.iter().any(|(_, field)| field == key))
    };
    let all = || contract.operations().filter(fits);
    all().find(by_key).or_else(|| all().next())
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

impl Request {
    /// Returns the request of an operation; `None` if the operation is not one on rows, or can't say that.
    pub fn new(contract: &ContractSpec, tool: &'static ToolSpec, said: Said) -> Option<Self> {
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
        if let (Some(of), Some(org)) = (spec.org, &said.org) {
            match of.argument.filter(|member| takes(member)) {
                Some(member) => drop(arguments.insert(member.to_owned(), org.as_str().into())),
                None if org == of.default => {}
                None => return None,
            }
        }
        let mut data = said.data.clone();
        for (member, field) in operation.arguments {
            let value = said.key.get(*field).cloned();
            let value =
                value.or_else(|| (operation.action == Action::Create).then(|| data.shift_remove(*field))?);
            if let Some(value) = value {
                arguments.insert((*member).to_owned(), value);
            }
        }
        if matches!(operation.action, Action::Create | Action::Update) {
            match operation.data {
                Some(member) => drop(arguments.insert(member.to_owned(), data.into())),
                None => arguments.extend(data),
            }
        }
        if let Some(limit) = said.limit {
            arguments.insert(operation.limit?.to_owned(), limit.into());
        }
        if let Some(after) = &said.after {
            arguments.insert(operation.after?.to_owned(), after.clone());
        }
        // What the operation requires besides, an example has.
        let example = request::examples(tool).next().unwrap_or_default();
        let required = wire["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            let is_of_rows = operation.arguments.iter().any(|(member, _)| *member == name);
            if let Some(value) = example.get(name).filter(|_| !is_of_rows) {
                arguments.entry(name).or_insert_with(|| value.clone());
            }
        }
        Some(Self {
            tool,
            operation,
            entity,
            org: said.org,
            key: said.key,
            data: said.data,
            limit: said.limit,
            after: said.after,
            arguments: arguments.into(),
        })
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

/// Returns the fields that identify `row` within its org, with their values.
pub fn key_of(entity: &EntitySpec, row: &Row) -> Row {
    let value = |name: &&str| ((*name).to_owned(), row.get(*name).cloned().unwrap_or_default());
    entity.key.iter().map(value).collect()
}
