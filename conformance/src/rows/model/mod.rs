//! A model of a contract's rows: the result of a request on them, or the reason why it must be refused.
//!
//! It has rows in memory and follows the `RowsSpec` alone. `change` has the operations, `create` the values of new rows, `rules` the rules
//! for a row, `list` the readings; `learn` compares the model with a server's tables.

mod change;
mod create;
mod learn;
mod list;
mod rules;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

use serde_json::Value;
use tabellion_runtime::{
    ContractSpec,
    spec::{Action, EntitySpec, FieldSpec, FieldType, RowsSpec, Scope},
};

use super::{Request, made::Made, values};
use crate::ledger::rows::{Row, Tables, canonical, canonical_row};

pub use list::Page;

/// Rows, and the values that a server has made so far.
#[derive(Debug, Clone)]
pub struct Model {
    spec: &'static RowsSpec,
    rows: BTreeMap<&'static str, Vec<Row>>,
    /// The largest number of a row so far.
    last: i64,
    /// Ids that rows have had, by entity.
    ids: BTreeMap<&'static str, Vec<Value>>,
    /// Rows that were removed.
    removed: Vec<(&'static str, Row)>,
}

/// Reason why a request must be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The contract's schema refuses it.
    Schema(String),
    /// The row, or the org, is not there.
    NotThere,
    /// The value of this field breaks a rule.
    Field(String),
    /// The row of this entity is in use.
    InUse(&'static str),
}

/// The required outcome of a request.
#[derive(Debug)]
pub enum Outcome {
    /// It is refused.
    Refused(Refused),
    /// It is done, and these are the rows then.
    Changed(Box<Model>),
    /// It is answered with this row.
    Row(Row),
    /// It is answered with these rows.
    Page(Page),
    /// It is refused, or answered with no row.
    NothingOrRefused,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(why) => write!(f, "the contract's schema refuses it: {why}"),
            Self::NotThere => f.write_str("there is no such row"),
            Self::Field(field) => write!(f, "`{field}` breaks a rule"),
            Self::InUse(entity) => write!(f, "the {entity} is in use"),
        }
    }
}

impl Model {
    /// Creates the model of rows that are there already.
    pub fn new(spec: &'static RowsSpec, tables: &Tables) -> Self {
        let mut model =
            Self { spec, rows: BTreeMap::new(), last: 0, ids: BTreeMap::new(), removed: Vec::new() };
        model.take(tables);
        model
    }

    /// Returns the required outcome of a request.
    pub fn outcome(&self, contract: &ContractSpec, request: &Request) -> Outcome {
        if let Err(violations) = request.tool.input.check(&request.arguments) {
            let why = violations.first().map(ToString::to_string).unwrap_or_default();
            return Outcome::Refused(Refused::Schema(why));
        }
        debug_assert!(contract.taker(request.tool.name, &request.arguments).is_some());
        let entity = request.entity;
        match request.operation.action {
            Action::Get => match self.find(entity, request) {
                Some(at) => Outcome::Row(self.answer(entity, &self.rows[entity.name][at])),
                None if request.content.key.is_empty() && !request.operation.key_in_data => {
                    Outcome::Refused(Refused::Field(entity.key[0].to_owned()))
                }
                None => Outcome::Refused(Refused::NotThere),
            },
            Action::List => self.list(request),
            Action::Create | Action::Update | Action::Delete => {
                let mut later = self.clone();
                match later.change(request) {
                    Ok(()) => Outcome::Changed(Box::new(later)),
                    Err(refused) => Outcome::Refused(refused),
                }
            }
        }
    }

    /// Returns the rows of an entity that a caller of an org has.
    pub fn visible<'a>(
        &'a self,
        entity: &'static EntitySpec,
        org: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Row> + Clone {
        self.all(entity).iter().filter(move |row| is_of(entity, row, org))
    }

    /// Returns all rows of an entity.
    pub fn all(&self, entity: &'static EntitySpec) -> &[Row] {
        self.rows.get(entity.name).map_or(&[], Vec::as_slice)
    }

    /// Returns a row in the form of answers: without secrets and hidden fields, and with fields that they add from other
    /// rows.
    pub fn answer(&self, entity: &'static EntitySpec, row: &Row) -> Row {
        let mut answer = shape(entity, row);
        let org = entity.org_field().and_then(|name| row.get(name));
        for added in entity.adds {
            let key = row.get(added.reference).filter(|key| !key.is_null());
            let other = self.target(entity, added.reference).zip(key);
            let other = other.and_then(|(to, key)| self.by_key(to, org.and_then(Value::as_str), key));
            let value = other.and_then(|other| other.get(added.field)).cloned();
            answer.insert(added.name.to_owned(), value.unwrap_or_default());
        }
        answer
    }

    /// Returns the index of the row that a request names.
    fn find(&self, entity: &'static EntitySpec, request: &Request) -> Option<usize> {
        let org = request.content.org.as_deref();
        let mut by = request.content.key.clone();
        // Data that have the row's key name it, too.
        if request.operation.key_in_data {
            for name in entity.key {
                let given = request.content.data.get(*name).unwrap_or(&Value::Null);
                if given.is_null() {
                    continue;
                }
                match by.insert((*name).to_owned(), given.clone()) {
                    Some(named) if named != *given => return None,
                    _ => {}
                }
            }
        }
        let is = |row: &Row| {
            is_of(entity, row, org) && by.iter().all(|(name, value)| has(entity, row, name, value))
        };
        self.rows.get(entity.name).filter(|_| !by.is_empty())?.iter().position(is)
    }

    /// Returns the row of a caller of an org with this key of one field.
    fn by_key(&self, entity: &'static EntitySpec, org: Option<&str>, key: &Value) -> Option<&Row> {
        let name = entity.key.first()?;
        self.all(entity).iter().find(|row| is_of(entity, row, org) && row.get(*name) == Some(key))
    }

    /// Returns the entity that a reference is to.
    fn target(&self, entity: &EntitySpec, reference: &str) -> Option<&'static EntitySpec> {
        match entity.field(reference)?.kind {
            FieldType::Ref(reference) => self.entity(reference.to),
            _ => None,
        }
    }

    fn entity(&self, name: &str) -> Option<&'static EntitySpec> {
        self.spec.entity(name)
    }
}

/// Returns true if a caller of `org` has the row.
fn is_of(entity: &EntitySpec, row: &Row, org: Option<&str>) -> bool {
    match entity.scope {
        Scope::Org(field) => row.get(field).and_then(Value::as_str) == org,
        Scope::Root => org.is_none_or(|org| entity.key.first().is_some_and(|key| row[*key] == *org)),
        Scope::Global => true,
    }
}

/// Returns true if a row has this value, in any spelling, in a field.
fn has(entity: &EntitySpec, row: &Row, name: &str, value: &Value) -> bool {
    let Some(field) = entity.field(name) else {
        return false;
    };
    let (found, value) = (row.get(name).unwrap_or(&Value::Null), stored_form(field, value.clone()));
    match (found.as_str(), value.as_str()) {
        (Some(found), Some(value)) if entity.is_folded(name) => found.eq_ignore_ascii_case(value),
        _ => *found == value,
    }
}

/// Returns a value in its stored form: numbers in their form, and words in snake_case.
fn stored_form(field: &FieldSpec, value: Value) -> Value {
    match (field.kind, value.as_str()) {
        (FieldType::Enum(words), Some(given)) if field.pascal_case => {
            let word = words.iter().find(|word| **word == given || values::pascal(word) == given);
            word.map_or_else(|| value.clone(), |word| (*word).into())
        }
        _ => canonical(field, value),
    }
}

/// Returns the row in the form of answers: without secrets and hidden fields.
fn shape(entity: &EntitySpec, row: &Row) -> Row {
    let fields =
        entity.fields.iter().filter(|field| !field.hidden && !matches!(field.kind, FieldType::Secret { .. }));
    let value = |name: &str| (name.to_owned(), row.get(name).cloned().unwrap_or_default());
    canonical_row(entity, fields.map(|field| value(field.name)).collect())
}

/// Returns a constant of the contract.
fn constant(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Returns the placeholder for the time of the call.
fn now() -> Value {
    Made::Now.value()
}
