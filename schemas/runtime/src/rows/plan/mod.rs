//! A planned change of rows: the requested change, and its consequences under the entities' rules.
//!
//! A plan reads through a view and writes nothing. Its own reads include its planned changes. Rows of other orgs are reported as not found.
//!
//! `fill` makes the values of new rows, `checks` has the rules, and `write` plans the requested change and its consequences.

mod checks;
mod fill;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    Row, RowChange, RowEdit, RowsChange,
    error::{RowError, shown},
    identity,
    view::{Filter, RowView, Select},
};
use crate::{
    failure::{Failure, FailureKind},
    spec::{EntitySpec, FieldSpec, RowsSpec, Scope},
};

/// The part of the rows that a call can access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Within {
    /// Key of the call's org; `None` if rows are not divided into orgs.
    pub org: Option<String>,
    /// True if the caller is bound to that org.
    pub is_bound: bool,
}

/// A planned change.
pub struct Plan<'a> {
    spec: &'static RowsSpec,
    view: &'a dyn RowView,
    within: Within,
    facts: &'a Map<String, Value>,
    planned: Vec<Planned>,
    /// Index in `planned` of each row, by its entity and the JSON of its identity.
    places: BTreeMap<(&'static str, String), usize>,
    secrets: Vec<(&'static str, String)>,
}

/// A row that the plan has touched.
struct Planned {
    entity: &'static EntitySpec,
    key: Vec<Value>,
    before: Option<Row>,
    after: Option<Row>,
    made: BTreeSet<&'static str>,
}

/// A row to be written, with the names of the fields that the store generated.
struct Draft {
    row: Row,
    made: BTreeSet<&'static str>,
}

impl Draft {
    fn get(&self, name: &str) -> &Value {
        self.row.get(name).unwrap_or(&Value::Null)
    }

    fn set(&mut self, name: &'static str, value: Value) {
        self.made.remove(name);
        self.row.insert(name.into(), value);
    }

    fn make(&mut self, name: &'static str, value: Value) {
        self.row.insert(name.into(), value);
        self.made.insert(name);
    }
}

impl<'a> Plan<'a> {
    /// Begins a plan on `view`. `facts` of the call are values of fields declared with `from`, and identify the caller; see
    /// [`facts_of`](super::facts_of).
    pub fn new(
        spec: &'static RowsSpec,
        view: &'a dyn RowView,
        within: Within,
        facts: &'a Map<String, Value>,
    ) -> Self {
        Self { spec, view, within, facts, planned: vec![], places: BTreeMap::new(), secrets: vec![] }
    }

    /// Returns the change. Rows that were created and removed again are not part of it.
    ///
    /// # Errors
    /// If the plan is empty.
    pub fn finish(self, operation: &'static str) -> Result<RowsChange, RowError> {
        let mut rows = vec![];
        for Planned { entity, key, before, after, made } in self.planned {
            let edit = match (before, after) {
                (None, None) => continue,
                (None, Some(row)) => RowEdit::Insert(row),
                (Some(_), None) => RowEdit::Remove,
                (Some(before), Some(after)) => {
                    let differs = |(name, value): &(String, Value)| before.get(name) != Some(value);
                    RowEdit::Patch(after.into_iter().filter(differs).collect())
                }
            };
            rows.push(RowChange::new(entity, key, edit, made));
        }
        RowsChange::new(rows, operation)
            .map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()).into())
    }

    /// Adds the new rows of an earlier plan, so that this plan's reads include them.
    pub fn adopt(&mut self, changes: Vec<RowChange>) {
        for change in changes {
            if let RowEdit::Insert(row) = change.edit {
                self.put(change.entity, change.key, None, Some(row), change.made);
            }
        }
    }

    /// Returns the generated secrets, with the names of their fields.
    pub fn secrets(&self) -> &[(&'static str, String)] {
        &self.secrets
    }

    /// Returns the entity of that name.
    ///
    /// # Errors
    /// If the contract lacks it.
    pub fn entity(&self, name: &str) -> Result<&'static EntitySpec, RowError> {
        let entity = self.spec.entity(name);
        entity.ok_or_else(|| Failure::internal(format!("there is no entity `{name}`")).into())
    }

    /// Returns the row with these values of the entity's key; `None` if there is none in the call's org.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn get(&self, entity: &'static EntitySpec, key: &[Value]) -> Result<Option<Row>, RowError> {
        let key = self.identity_of(entity, key);
        if entity.scope == Scope::Root && self.within.is_bound && key.first() != self.org().as_ref() {
            return Ok(None);
        }
        self.row(entity, &key).await
    }

    /// Returns the row with this identity.
    async fn row(&self, entity: &'static EntitySpec, key: &[Value]) -> Result<Option<Row>, RowError> {
        if let Some(at) = self.places.get(&place(entity, key)) {
            return Ok(self.planned[*at].after.clone());
        }
        Ok(self.view.get(entity, key).await?)
    }

    /// Returns the selected rows of the call's org, as they are planned; those in the plan may come out of order.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn select(&self, mut select: Select) -> Result<Vec<Row>, RowError> {
        select.all.extend(self.org_filter(select.entity));
        let touched = |row: &Row| {
            let key = identity(select.entity, row);
            self.places.contains_key(&place(select.entity, &key))
        };
        let limit = select.limit;
        if let Some(limit) = &mut select.limit {
            *limit += self.planned.len() as u64;
        }
        let mut rows = self.view.select(&select).await?;
        rows.retain(|row| !touched(row));
        let planned = self.planned.iter().filter(|it| it.entity.name == select.entity.name);
        let planned = planned.filter_map(|it| it.after.clone());
        rows.extend(planned.filter(|row| select.passes(row)));
        if let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) {
            rows.truncate(limit);
        }
        Ok(rows)
    }

    /// Returns the number of rows of the call's org that pass the filters, without regard to the plan.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn count(&self, mut select: Select) -> Result<u64, RowError> {
        select.all.extend(self.org_filter(select.entity));
        Ok(self.view.count(&select).await?)
    }

    /// Returns the filter of the call's org, for reads of `entity`.
    pub fn org_filter(&self, entity: &'static EntitySpec) -> Option<Filter> {
        let field = match entity.scope {
            Scope::Global => return None,
            Scope::Org(field) => field,
            Scope::Root if self.within.is_bound => entity.key.first()?,
            Scope::Root => return None,
        };
        Some(Filter::is(field, self.org().unwrap_or_default()))
    }

    fn org(&self) -> Option<Value> {
        self.within.org.as_deref().map(Value::from)
    }

    /// Returns the identity of the row with this key in the call's org.
    fn identity_of(&self, entity: &'static EntitySpec, key: &[Value]) -> Vec<Value> {
        let org = entity.org_field().map(|_| self.org().unwrap_or_default());
        org.into_iter().chain(key.iter().cloned()).collect()
    }

    /// Returns the number of rows that pass the filters once the plan is made.
    async fn count_left(&self, select: &Select) -> Result<u64, RowError> {
        let passes = |row: &Option<Row>| row.as_ref().is_some_and(|row| select.passes(row));
        let planned = || self.planned.iter().filter(|it| it.entity.name == select.entity.name);
        let gone = planned().filter(|it| passes(&it.before)).count() as u64;
        let there = planned().filter(|it| passes(&it.after)).count() as u64;
        Ok((self.view.count(select).await? + there).saturating_sub(gone))
    }

    /// Records the new state of a row.
    fn put(
        &mut self,
        entity: &'static EntitySpec,
        key: Vec<Value>,
        before: Option<Row>,
        after: Option<Row>,
        made: BTreeSet<&'static str>,
    ) {
        if let Some(at) = self.places.get(&place(entity, &key)) {
            let planned = &mut self.planned[*at];
            planned.after = after;
            planned.made.extend(made);
            return;
        }
        self.places.insert(place(entity, &key), self.planned.len());
        self.planned.push(Planned { entity, key, before, after, made });
    }
}

/// Selects the rows of `other` whose `field` refers to `row` of `entity`.
fn referring(
    other: &'static EntitySpec,
    field: &'static FieldSpec,
    entity: &'static EntitySpec,
    row: &Row,
) -> Select {
    let value = |name: &str| row.get(name).cloned().unwrap_or_default();
    let key = entity.key.first().map(|name| value(name)).unwrap_or_default();
    let mut filters = vec![Filter::is(field.name, key)];
    if let (Some(of_other), Some(of_entity)) = (other.org_field(), entity.org_field()) {
        filters.push(Filter::is(of_other, value(of_entity)));
    }
    Select::new(other, filters)
}

fn equal(names: &'static [&'static str], row: &Row) -> impl Iterator<Item = Filter> {
    let value = |name: &str| row.get(name).cloned().unwrap_or_default();
    names.iter().map(move |name| Filter::is(name, value(name)))
}

/// Checks that the entity has all given fields, and that they are not hidden. A new row can contain a hidden copied field, whose value must
/// then equal the source row's.
fn check_names(entity: &'static EntitySpec, given: &Row, is_new: bool) -> Result<(), RowError> {
    let can_be_given = |field: &&FieldSpec| !field.is_of_store();
    let is_kept_back = |field: &FieldSpec| field.hidden && !(is_new && field.copy.is_some());
    match given.keys().find(|name| entity.field(name).is_none_or(is_kept_back)) {
        None => Ok(()),
        Some(unknown) => Err(RowError::Unknown {
            field: unknown.clone(),
            entity: entity.name,
            fields: entity.fields.iter().filter(can_be_given).map(|field| field.name).collect(),
        }),
    }
}

fn place(entity: &EntitySpec, key: &[Value]) -> (&'static str, String) {
    (entity.name, Value::from(key).to_string())
}

fn constant(text: &str) -> Result<Value, RowError> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("the contract's constant {text:?} is no JSON: {error}");
        Failure::internal(message).into()
    })
}

fn taken(entity: &EntitySpec, fields: &[&'static str]) -> RowError {
    let article = if entity.name.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    RowError::Taken { article, entity: entity.name, fields: fields.to_vec(), open: None }
}

fn immutable(field: &'static str, on_create: bool) -> RowError {
    RowError::Immutable { field, on_create }
}

fn no_such(field: &'static str, entity: &EntitySpec, key: &Value) -> RowError {
    RowError::NoSuch { field, entity: entity.name, key: shown(key) }
}

pub(super) fn not_found(entity: &EntitySpec, key: &[Value]) -> RowError {
    RowError::NotFound { entity: entity.name, key: key.iter().map(shown).collect::<Vec<_>>().join(" ") }
}
