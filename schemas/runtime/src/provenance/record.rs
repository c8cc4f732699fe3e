//! The provenance of one call, for logs, rows and methods.

use serde_json::{Map, Value};

use crate::{
    spec::{ProvenanceField, ProvenanceSpec},
    vocabulary::vocabulary,
};

/// Name of the time at which the server received the call, alongside the fields.
pub const RECEIVED_AT: &str = "received_at";
/// Name of the list of fields that the server discovered, alongside the fields.
pub const DISCOVERED: &str = "discovered";

vocabulary! {
    /// The source of a field's value.
    #[serde(rename_all = "lowercase")]
    pub enum ProvenanceSource {
        /// The request's `_meta`.
        Meta,
        /// The holder of the key.
        Holder,
        /// A header of the HTTP request.
        Header,
        /// The session that the call names, or the first call of the connection.
        Bound,
        /// The configuration.
        Config,
        /// Discovery by the server.
        Discovered,
        /// The field's default.
        Default,
    }
}

impl ProvenanceSource {
    /// Returns true if the call itself carried the value.
    fn is_of_call(self) -> bool {
        matches!(self, Self::Meta | Self::Holder | Self::Header)
    }
}

/// The provenance of a call: a value for some of the contract's fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provenance {
    /// The fields in the contract's order.
    pub(super) fields: Vec<(&'static ProvenanceField, Option<FieldValue>)>,
    pub(super) received_at: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldValue {
    value: Value,
    source: ProvenanceSource,
}

/// The provenance of calls whose contract does not declare any.
pub(crate) static NO_PROVENANCE: Provenance = Provenance { fields: vec![], received_at: 0 };

impl Provenance {
    fn field(&self, name: &str) -> Option<&FieldValue> {
        let (_, value) = self.fields.iter().find(|(field, _)| field.name == name)?;
        value.as_ref()
    }

    /// Returns the value of a field, if there is one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.field(name).map(|field| &field.value)
    }

    /// Returns the value of a field of text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns the value of an integer field.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }

    /// Returns the value of a boolean field.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }

    /// Returns the source of a field's value.
    pub fn source(&self, name: &str) -> Option<ProvenanceSource> {
        self.field(name).map(|field| field.source)
    }

    /// Returns the time at which the server received the call, in Unix seconds, independent of the call's own timestamp.
    pub fn received_at(&self) -> i64 {
        self.received_at
    }

    /// Returns all of it as a JSON object, the form in logs and rows: every field, `null` if it has no value, [`RECEIVED_AT`], and the
    /// names of the fields that were [`DISCOVERED`].
    pub fn to_value(&self) -> Value {
        let value = |value: &Option<FieldValue>| value.as_ref().map(|field| field.value.clone());
        let mut all: Map<_, _> = self
            .fields
            .iter()
            .map(|(field, found)| (field.name.to_owned(), value(found).unwrap_or_default()))
            .collect();
        all.insert(RECEIVED_AT.into(), self.received_at.into());
        let is_discovered = |found: &FieldValue| matches!(found.source, ProvenanceSource::Discovered);
        let discovered = self.fields.iter().filter(|(_, found)| found.as_ref().is_some_and(is_discovered));
        all.insert(DISCOVERED.into(), discovered.map(|(field, _)| field.name).collect());
        all.into()
    }

    /// Returns the values that the call itself carried.
    pub(super) fn carried(&self) -> Map<String, Value> {
        let carried = self.fields.iter().filter_map(|(field, found)| {
            let found = found.as_ref().filter(|found| found.source.is_of_call())?;
            Some((field.name.to_owned(), found.value.clone()))
        });
        carried.collect()
    }

    pub(super) fn set(&mut self, name: &str, value: Value, source: ProvenanceSource) {
        let slot = self.fields.iter_mut().find(|(field, _)| field.name == name);
        if let Some((_, slot @ None)) = slot {
            *slot = Some(FieldValue { value, source });
        }
    }

    /// Returns the names of the required fields without a value, in the contract's order.
    pub(super) fn missing(&self, spec: &ProvenanceSpec) -> Vec<&'static str> {
        let is_missing = |name: &&&'static str| self.get(name).is_none();
        let mut missing: Vec<_> = spec.required.iter().filter(is_missing).copied().collect();
        for also in spec.also_if {
            if self.boolean(also.field) == Some(true) {
                let further = also.then.iter().filter(is_missing).copied();
                missing.extend(further.filter(|name| !spec.required.contains(name)));
            }
        }
        missing
    }
}
