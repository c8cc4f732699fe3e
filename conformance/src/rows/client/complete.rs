//! The fields of a new row, and the rows that it must refer to.

use serde_json::Value;
use tabellion_runtime::spec::{Action, Copied, EntitySpec, FieldSpec, FieldType, RowRule, Scope};

use super::RowsClient;
use crate::{
    judgement::Stop,
    ledger::rows::Row,
    rows::{requests, values},
};

/// Maximum depth of required references.
const MAX_DEPTH: usize = 8;

/// Selection of a new row's fields that get values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    Required,
    All,
}

impl RowsClient<'_> {
    /// Returns the fields of a new row of the org: those that are given, and plain values of the others that are required. Rows that
    /// it must refer to are created.
    ///
    /// # Errors
    /// If such a row can't be created.
    pub fn complete(&mut self, entity: &'static EntitySpec, given: Row) -> Result<Row, Stop> {
        self.complete_to(entity, given, Fields::Required, 0)
    }

    /// As [`complete`](Self::complete), with values of all fields that can be given.
    pub fn full(&mut self, entity: &'static EntitySpec, given: Row) -> Result<Row, Stop> {
        self.complete_to(entity, given, Fields::All, 0)
    }

    /// Returns another value for a field of a row that is there.
    ///
    /// # Errors
    /// If a row to refer to can't be created.
    pub fn other_value(&mut self, field: &'static FieldSpec, row: &Row) -> Result<Value, Stop> {
        if let FieldType::Ref(reference) = field.kind {
            let to = self.entity(reference.to)?;
            let target = self.target(to, requests::part_of(row, reference.same), 0)?;
            return Ok(target.get(to.key[0]).cloned().unwrap_or_default());
        }
        let old = row.get(field.name).cloned().unwrap_or_default();
        let other = (0..4).map(|number| {
            self.created += 1;
            values::plain(field, self.created + number)
        });
        let other: Vec<_> = other.collect();
        // Every other number gives the same of two words.
        let next = values::plain(field, self.created);
        let different = other.iter().chain([&next]).find(|value| **value != old);
        Ok(different.or(other.first()).cloned().unwrap_or_default())
    }

    fn complete_to(
        &mut self,
        entity: &'static EntitySpec,
        mut given: Row,
        fields: Fields,
        depth: usize,
    ) -> Result<Row, Stop> {
        self.created += 1;
        let number = self.created;
        let tool = requests::find(self.subject.contract, entity.name, Action::Create);
        let required = tool.map(requests::required).unwrap_or_default();
        // Values that the row will have without being given them.
        let mut copied = Row::new();
        for field in entity.fields.iter().filter(|field| field.copy.is_some()) {
            copied.extend(given.shift_remove_entry(field.name));
        }
        for field in entity.fields {
            if given.contains_key(field.name) {
                self.copy(entity, field, &given, &mut copied)?;
                continue;
            }
            let is_left = field.is_of_store()
                || fields == Fields::Required && field.optional
                || entity.org_field() == Some(field.name)
                || matches!(field.kind, FieldType::Next(_))
                || tool.is_some_and(|tool| !requests::takes(tool, field));
            let is_made = field.default.is_some() || field.from.is_some();
            let is_unique = entity.uniques.iter().any(|it| it.fields.contains(&field.name));
            if is_left || fields == Fields::Required && is_made && !is_unique {
                continue;
            }
            let value = match field.kind {
                FieldType::Id
                    if !required.contains(&field.name)
                        && (!entity.key.contains(&field.name) || entity.key.len() == 1) =>
                {
                    continue;
                }
                FieldType::Ref(reference) => {
                    let to = self.entity(reference.to)?;
                    let mut wanted = Row::new();
                    for name in reference.same {
                        let value = given.get(*name).or_else(|| copied.get(*name));
                        wanted.extend(value.map(|value| ((*name).to_owned(), value.clone())));
                    }
                    for (name, copy) in copies(entity, field) {
                        let value = copied.get(name);
                        wanted.extend(value.map(|value| (copy.field.to_owned(), value.clone())));
                    }
                    let target = self.target(to, wanted, depth)?;
                    for name in reference.same {
                        let value = target.get(*name).cloned().unwrap_or_default();
                        if !copied.contains_key(*name) {
                            given.entry(*name).or_insert(value);
                        }
                    }
                    target.get(to.key[0]).cloned().unwrap_or_default()
                }
                _ => values::plain(field, number),
            };
            given.insert(field.name.to_owned(), value);
            self.copy(entity, field, &given, &mut copied)?;
        }
        for rule in entity.rules {
            if let RowRule::AnyOf(names) = rule
                && names.iter().all(|name| given.get(*name).is_none_or(Value::is_null))
                && let Some(field) = entity.field(names[0])
            {
                given.insert(field.name.to_owned(), values::plain(field, number));
            }
        }
        for name in required {
            if let Some(value) = copied.get(name) {
                given.entry(name).or_insert_with(|| value.clone());
            }
        }
        Ok(given)
    }

    /// Adds the values that a row copies from the one that `field` refers to.
    fn copy(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        given: &Row,
        copied: &mut Row,
    ) -> Result<(), Stop> {
        let FieldType::Ref(reference) = field.kind else {
            return Ok(());
        };
        if copies(entity, field).next().is_none() {
            return Ok(());
        }
        let to = self.entity(reference.to)?;
        let key = given.get(field.name).cloned().unwrap_or_default();
        if let Some(row) = self.row_of(to, &Row::from_iter([(to.key[0].to_owned(), key)]))? {
            let value = |field: &str| row.get(field).cloned().unwrap_or_default();
            copied.extend(copies(entity, field).map(|(name, copy)| (name.to_owned(), value(copy.field))));
        }
        Ok(())
    }

    /// Returns a row to refer to: the org itself, a new row, or one that no operation on rows creates.
    fn target(&mut self, to: &'static EntitySpec, wanted: Row, depth: usize) -> Result<Row, Stop> {
        if to.scope == Scope::Root
            && let Some(org) = &self.org
        {
            return Ok(Row::from_iter([(to.key[0].to_owned(), org.as_str().into())]));
        }
        if depth > MAX_DEPTH {
            let message = format!("references to `{}` are required without end", to.name);
            return Err(Stop::Harness(message));
        }
        if requests::find(self.subject.contract, to.name, Action::Create).is_none() {
            return self.by_others(to);
        }
        let data = self.complete_to(to, wanted, Fields::Required, depth + 1)?;
        self.create_of(to, data)
    }
}

/// Returns the names of the fields that are copied from the row that `field` refers to.
fn copies(
    entity: &'static EntitySpec,
    field: &'static FieldSpec,
) -> impl Iterator<Item = (&'static str, Copied)> {
    let fields = entity.fields.iter();
    fields.filter_map(|it| Some((it.name, it.copy.filter(|copy| copy.reference == field.name)?)))
}
