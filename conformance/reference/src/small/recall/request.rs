//! Requests, and their values.

use serde_json::{Map, Value};

/// A request taken apart.
pub(super) struct Request<'r> {
    pub(super) resource: &'r str,
    pub(super) arguments: &'r Value,
    pub(super) meta: &'r Value,
}

impl Request<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.arguments[name].as_str()
    }

    pub(super) fn number(&self, name: &str, otherwise: u64) -> usize {
        let number = self.arguments[name].as_u64().unwrap_or(otherwise);
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        texts(&self.arguments[name])
    }

    /// Returns a value of the caller's provenance.
    pub(super) fn provenance(&self, name: &str) -> Option<&str> {
        self.meta[name].as_str()
    }
}

/// Returns the texts of a list.
pub(super) fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// Returns an object with these members.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
