//! A call's reads of a store of rows, and the values that the store generates for it: ids, times, secrets.

use serde_json::Value;

use super::Row;
use crate::{failure::Failure, future::BoxFuture, spec::EntitySpec};

/// A state of a store of rows. The futures do not block.
pub trait RowView: Send + Sync {
    /// Returns the row with these values of [`EntitySpec::identity`], if it exists.
    ///
    /// # Errors
    /// If it can't be read.
    fn get<'a>(
        &'a self,
        entity: &'static EntitySpec,
        key: &'a [Value],
    ) -> BoxFuture<'a, Result<Option<Row>, Failure>>;

    /// Returns true if a row with these values of [`EntitySpec::identity`] was removed; only for entities with an
    /// [id](EntitySpec::has_id).
    ///
    /// # Errors
    /// If it can't be read.
    fn was_removed<'a>(
        &'a self,
        entity: &'static EntitySpec,
        key: &'a [Value],
    ) -> BoxFuture<'a, Result<bool, Failure>>;

    /// Returns the rows that `select` selects, in its order.
    ///
    /// # Errors
    /// If they can't be read.
    fn select<'a>(&'a self, select: &'a Select) -> BoxFuture<'a, Result<Vec<Row>, Failure>>;

    /// Returns the number of rows that pass the filters of `select`.
    ///
    /// # Errors
    /// If they can't be read.
    fn count<'a>(&'a self, select: &'a Select) -> BoxFuture<'a, Result<u64, Failure>>;

    /// Returns the generator of values for this call.
    fn fresh(&self) -> &dyn Fresh;
}

/// The generator of values for a call, so that planning a change needs neither a clock nor randomness.
pub trait Fresh: Send + Sync {
    /// Returns the call's time in seconds of Unix time. It is the same for the whole call.
    fn now(&self) -> i64;

    /// Returns a new id (UUIDv7).
    fn id(&self) -> String;

    /// Returns a new secret: `prefix`, then 64 hexadecimal digits of random bits. The store keeps the text out of its log.
    ///
    /// # Errors
    /// If the system has no random bits.
    fn secret(&self, prefix: &str) -> Result<String, Failure>;

    /// Returns the next number of a row in the order of creation.
    ///
    /// # Errors
    /// If it can't be read, or the call can't change the store.
    fn seq(&self) -> Result<i64, Failure>;
}

/// A selection of rows of one entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// The entity.
    pub entity: &'static EntitySpec,
    /// The filters that a row must pass.
    pub all: Vec<Filter>,
    /// Alternatives: a row must pass at least one filter of each.
    pub any: Vec<Vec<Filter>>,
    /// The order; the key decides last.
    pub order: Vec<(&'static str, Order)>,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// Only the rows that come after this one in the order.
    pub after: Option<Row>,
}

/// The direction of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smallest first; `null` before all.
    Up,
    /// Largest first; `null` after all.
    Down,
}

/// A test of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Name of the field.
    pub field: &'static str,
    /// The test.
    pub test: Test,
    /// The value to compare with.
    pub value: Value,
}

/// Comparison of a field with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// It is equal; `null` equals `null`.
    Is,
    /// It is not equal.
    IsNot,
    /// It is equal without regard to the case of ASCII letters.
    IsFolded,
    /// It is smaller, and not `null`.
    Less,
    /// It is larger, and not `null`.
    More,
    /// It is a list that contains the text.
    HasItem,
    /// It is a text that contains the text, without regard to the case of ASCII letters.
    Contains,
}

impl Select {
    /// Selects the rows of `entity` that pass all of `filters`, in no particular order.
    pub fn new(entity: &'static EntitySpec, filters: Vec<Filter>) -> Self {
        Self { entity, all: filters, any: vec![], order: vec![], limit: None, after: None }
    }

    /// Returns true if `row` passes the filters.
    pub fn passes(&self, row: &Row) -> bool {
        let passes = |filter: &Filter| filter.passes(row);
        self.all.iter().all(passes) && self.any.iter().all(|any| any.iter().any(passes))
    }

    /// Returns the order, completed by the identifying fields that it lacks.
    pub fn whole_order(&self) -> Vec<(&'static str, Order)> {
        let mut order = self.order.clone();
        for name in self.entity.identity() {
            if order.iter().all(|(field, _)| *field != name) {
                order.push((name, Order::Up));
            }
        }
        order
    }
}

impl Filter {
    /// The field must equal `value`.
    pub fn is(field: &'static str, value: impl Into<Value>) -> Self {
        Self { field, test: Test::Is, value: value.into() }
    }

    /// Returns true if `row` passes.
    pub fn passes(&self, row: &Row) -> bool {
        let found = row.get(self.field).unwrap_or(&Value::Null);
        match self.test {
            Test::Is => *found == self.value,
            Test::IsNot => *found != self.value,
            Test::IsFolded => match (found.as_str(), self.value.as_str()) {
                (Some(found), Some(value)) => found.eq_ignore_ascii_case(value),
                _ => *found == self.value,
            },
            Test::Less => compare(found, &self.value).is_some_and(|order| order.is_lt()),
            Test::More => compare(found, &self.value).is_some_and(|order| order.is_gt()),
            Test::HasItem => found.as_array().is_some_and(|items| items.contains(&self.value)),
            Test::Contains => match (found.as_str(), self.value.as_str()) {
                (Some(found), Some(value)) => {
                    found.to_ascii_lowercase().contains(&value.to_ascii_lowercase())
                }
                _ => false,
            },
        }
    }
}

/// Compares texts by their bytes, and numbers.
fn compare(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.as_bytes().cmp(other.as_bytes())),
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
        },
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        _ => None,
    }
}
