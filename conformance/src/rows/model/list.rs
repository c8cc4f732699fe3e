//! What a list of rows has to be.

use std::cmp::Ordering;

use serde_json::Value;
use tabellion_runtime::spec::{EntitySpec, FieldType};

use super::{Model, Outcome, Refused, shape};
use crate::{ledger::rows::Row, rows::Request};

/// A list of rows as it has to be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The rows.
    pub items: Vec<Row>,
    /// Number of rows that match.
    pub total: usize,
}

impl Model {
    pub(super) fn list(&self, request: &Request) -> Outcome {
        let (entity, org) = (request.entity, request.org.as_deref());
        for (name, value) in &request.key {
            let reference = entity.field(name).and_then(|field| match field.kind {
                FieldType::Ref(reference) => self.entity(reference.to),
                _ => None,
            });
            if let Some(to) = reference
                && self.by_key(to, org, value).is_none()
            {
                return Outcome::NothingOrRefused;
            }
        }
        let is_meant = |row: &&Row| {
            request
                .key
                .iter()
                .all(|(name, value)| row.get(name) == Some(value))
        };
        let mut rows: Vec<_> = self.visible(entity, org).filter(is_meant).collect();
        rows.sort_by(|one, other| order(entity, one, other));
        let total = rows.len();
        let (default, max) = request.operation.limits;
        let limit = request.limit.unwrap_or(default);
        if !(1..=max).contains(&limit) {
            let field = request.operation.limit.unwrap_or_default();
            return Outcome::Refused(Refused::Field(field.to_owned()));
        }
        if let Some(after) = &request.after {
            let Some(last) = self.by_key(entity, org, after) else {
                return Outcome::Refused(Refused::NotThere);
            };
            rows.retain(|row| order(entity, last, row) == Ordering::Less);
        }
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let items = rows.into_iter().map(|row| shape(entity, row)).collect();
        Outcome::Page(Page { items, total })
    }
}

/// Compares rows in the order of lists: by the entity's fields for that, then by the key.
fn order(entity: &EntitySpec, one: &Row, other: &Row) -> Ordering {
    let names = entity.order.iter().chain(entity.key);
    let by = |name: &&str| compare(one.get(*name), other.get(*name));
    names.map(by).find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
}

/// Compares values: nothing first, texts by their bytes.
fn compare(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    let [one, other] = [one, other].map(|value| value.unwrap_or(&Value::Null));
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.as_bytes().cmp(other.as_bytes()),
        (Value::Number(one), Value::Number(other)) => {
            let [one, other] = [one, other].map(|number| number.as_f64().unwrap_or(f64::NAN));
            one.total_cmp(&other)
        }
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (one, other) => other.is_null().cmp(&one.is_null()),
    }
}
