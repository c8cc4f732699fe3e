//! The required content of a list of rows.

use std::cmp::Ordering;

use serde_json::Value;
use tabellion_runtime::spec::{EntitySpec, FieldType, FilterBy, ListFilter, Scope};

use super::{Model, Outcome, Refused, has};
use crate::{
    ledger::rows::Row,
    rows::{Request, values},
};

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
        let (entity, org, operation) = (request.entity, request.content.org.as_deref(), &request.operation);
        let is_wildcard = |value: &Value| operation.wildcard.is_some_and(|wildcard| *value == wildcard);
        let by: Vec<_> = request.content.key.iter().filter(|(_, value)| !is_wildcard(value)).collect();
        let orgs = self.spec.org.and_then(|of| self.entity(of.entity));
        let is_of_org = entity.org_field().is_some() || (entity.scope == Scope::Root && org.is_some());
        let orgs = orgs.filter(|_| is_of_org);
        let has_org = |orgs| self.by_key(orgs, None, &org.unwrap_or_default().into()).is_some();
        if !orgs.is_none_or(has_org)
            || by.iter().any(|(name, value)| !self.is_there(entity, org, name, value))
        {
            return Outcome::NothingOrRefused;
        }
        for filter in operation.filters {
            match request.content.filters.get(filter.member).filter(|value| !value.is_null()) {
                Some(value) if !can_filter(entity, filter.by, value) => {
                    return Outcome::Refused(Refused::Field(filter.member.to_owned()));
                }
                Some(value) if !self.is_filter_there(entity, org, filter.by, value) => {
                    return Outcome::NothingOrRefused;
                }
                _ => {}
            }
        }
        let is_meant = |row: &&Row| {
            let passes = |filter: &ListFilter| match request.content.filters.get(filter.member) {
                None | Some(Value::Null) => true,
                Some(value) => passes(entity, filter.by, value, row),
            };
            by.iter().all(|(name, value)| has(entity, row, name, value))
                && operation.filters.iter().all(passes)
        };
        let mut rows: Vec<_> = self.visible(entity, org).filter(is_meant).collect();
        rows.sort_by(|one, other| order(entity, one, other));
        let total = rows.len();
        let (default, max) = operation.limits;
        let limit = request.content.limit.unwrap_or(default);
        if !(1..=max).contains(&limit) {
            return Outcome::Refused(Refused::Field(operation.limit.unwrap_or_default().to_owned()));
        }
        if let Some(after) = &request.content.after {
            match operation.after_by {
                // A value that no row has continues an order of its own.
                Some(name) if entity.order == [name] => {
                    rows.retain(|row| compare(row.get(name), Some(after)) == Ordering::Greater);
                }
                // Numbers of rows begin at 1.
                Some(_) if after.as_i64().is_some_and(|number| number < 1) => {}
                by => {
                    let last = match by {
                        Some(name) => self.visible(entity, org).find(|row| row.get(name) == Some(after)),
                        None => self.by_key(entity, org, after),
                    };
                    let Some(last) = last else {
                        return Outcome::Refused(Refused::Field(
                            operation.after.unwrap_or_default().to_owned(),
                        ));
                    };
                    rows.retain(|row| order(entity, last, row) == Ordering::Less);
                }
            }
        }
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let items = rows.into_iter().map(|row| self.answer(entity, row)).collect();
        Outcome::Page(Page { items, total })
    }

    /// Returns false if a field refers to a row that is not there, or is the key of one.
    fn is_there(&self, entity: &'static EntitySpec, org: Option<&str>, name: &str, value: &Value) -> bool {
        let field = entity.field(name);
        let to = field.filter(|field| !field.loose).and_then(|field| match field.kind {
            FieldType::Ref(reference) => self.entity(reference.to),
            _ => Some(entity).filter(|entity| entity.key == [name]),
        });
        to.is_none_or(|to| self.by_key(to, org, value).is_some())
    }

    fn is_filter_there(
        &self,
        entity: &'static EntitySpec,
        org: Option<&str>,
        by: FilterBy,
        value: &Value,
    ) -> bool {
        match by {
            FilterBy::Value(names) => names.iter().all(|name| self.is_there(entity, org, name, value)),
            FilterBy::Item(_) | FilterBy::Words(_) => true,
        }
    }
}

/// Returns true if rows can be selected by a value.
fn can_filter(entity: &EntitySpec, by: FilterBy, value: &Value) -> bool {
    match by {
        FilterBy::Value(names) => {
            let mut fields = names.iter().filter_map(|name| entity.field(name));
            fields.all(|field| values::is_valid(field, value))
        }
        FilterBy::Item(_) => true,
        FilterBy::Words(_) => value.as_str().is_some_and(|text| !text.trim().is_empty()),
    }
}

/// Returns true if a row is selected by a value.
fn passes(entity: &EntitySpec, by: FilterBy, value: &Value, row: &Row) -> bool {
    match by {
        FilterBy::Value(names) => names.iter().any(|name| has(entity, row, name, value)),
        FilterBy::Item(name) => {
            let items = row.get(name).and_then(Value::as_array);
            items.is_some_and(|items| items.contains(value))
        }
        FilterBy::Words(names) => {
            let lower = |text: &str| text.to_ascii_lowercase();
            let texts = names.iter().filter_map(|name| Some(lower(row.get(*name)?.as_str()?)));
            let texts: Vec<_> = texts.collect();
            let words = lower(value.as_str().unwrap_or_default());
            words.split_whitespace().all(|word| texts.iter().any(|text| text.contains(word)))
        }
    }
}

/// Compares rows in the order of lists: by the entity's fields for that, then by the key.
fn order(entity: &EntitySpec, one: &Row, other: &Row) -> Ordering {
    let names = entity.order.iter().chain(entity.key);
    let by = |name: &&str| compare(one.get(*name), other.get(*name));
    names.map(by).find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
}

/// Compares values: absent ones first, texts by their bytes.
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
