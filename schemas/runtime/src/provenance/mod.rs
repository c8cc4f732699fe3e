//! Provenance of calls: which session, agent, program, machine and person they came from.
//!
//! [`establish`] asks, for each field that the contract declares and in this order: the request's `_meta`, the holder of its key,
//! its HTTP headers, the session that it names, the first call of its connection, the configuration, what the server discovered,
//! and the field's default. What it finds is kept with changes and shown to methods. It is never merged into arguments, and never
//! decides what a call may see.

mod sources;
mod value;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::sources::Sources;
use crate::{
    answer::Rejection,
    boundary::{declared, failed},
    call::{Notes, ReadCx},
    context::CallContext,
    failure::ContractError,
    future::BoxFuture,
    ground::Ground,
    spec::{ContractSpec, ProvenanceField, ProvenanceSpec, ProvenanceUse, ToolSpec},
    store::{self, Store},
    template,
    vocabulary::vocabulary,
};

/// `_meta` key of a request: its provenance, by the names of fields or any of their other keys.
pub const PROVENANCE: &str = "tabellion/provenance";
/// Name of the provenance among the details of a log entry.
pub const DETAIL: &str = "provenance";
/// Name of the time at which the server received the call, beside the fields.
pub const RECEIVED_AT: &str = "received_at";
/// Name of the list of fields that the server discovered, beside the fields.
pub const DISCOVERED: &str = "discovered";

/// Value of `rule` in the data of refusals.
const RULE: &str = "provenance";

vocabulary! {
    /// Where the value of a field came from.
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
        /// The server found it out.
        Discovered,
        /// Nowhere: it is the field's default.
        Default,
    }
}

impl ProvenanceSource {
    /// Returns whether the call itself carried the value.
    fn is_of_call(self) -> bool {
        matches!(self, Self::Meta | Self::Holder | Self::Header)
    }
}

/// The provenance of a call: a value for some of the contract's fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provenance {
    /// The fields in the contract's order.
    fields: Vec<(&'static ProvenanceField, Option<FieldValue>)>,
    received_at: i64,
}

#[derive(Debug, Clone, PartialEq)]
struct FieldValue {
    value: Value,
    source: ProvenanceSource,
}

/// The provenance of calls whose contract keeps none.
pub(crate) static NONE: Provenance = Provenance {
    fields: vec![],
    received_at: 0,
};

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

    /// Returns where the value of a field came from.
    pub fn source(&self, name: &str) -> Option<ProvenanceSource> {
        self.field(name).map(|field| field.source)
    }

    /// Returns when the server received the call, in Unix seconds, whatever the call says of the time.
    pub fn received_at(&self) -> i64 {
        self.received_at
    }

    /// Returns all of it as a JSON object, as logs and rows keep it: every field, `null` where there is none, [`RECEIVED_AT`], and
    /// the names of the fields that were [`DISCOVERED`].
    pub fn to_value(&self) -> Value {
        let value = |value: &Option<FieldValue>| value.as_ref().map(|field| field.value.clone());
        let mut all: Map<_, _> = self
            .fields
            .iter()
            .map(|(field, found)| (field.name.to_owned(), value(found).unwrap_or_default()))
            .collect();
        all.insert(RECEIVED_AT.into(), self.received_at.into());
        let is_discovered = |found: &FieldValue| matches!(found.source, ProvenanceSource::Discovered);
        let discovered = self
            .fields
            .iter()
            .filter(|(_, found)| found.as_ref().is_some_and(is_discovered));
        all.insert(
            DISCOVERED.into(),
            discovered.map(|(field, _)| field.name).collect(),
        );
        all.into()
    }

    /// Returns the values that the call itself carried.
    fn carried(&self) -> Map<String, Value> {
        let carried = self.fields.iter().filter_map(|(field, found)| {
            let found = found.as_ref().filter(|found| found.source.is_of_call())?;
            Some((field.name.to_owned(), found.value.clone()))
        });
        carried.collect()
    }

    fn set(&mut self, name: &str, value: Value, source: ProvenanceSource) {
        let slot = self.fields.iter_mut().find(|(field, _)| field.name == name);
        if let Some((_, slot @ None)) = slot {
            *slot = Some(FieldValue { value, source });
        }
    }

    /// Returns the names of the required fields without a value, in the contract's order.
    fn missing(&self, spec: &ProvenanceSpec) -> Vec<&'static str> {
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

/// The method of an implementation `S` that returns what is bound to the session of this id.
pub type BoundMethod<S, Error, G> =
    for<'c> fn(&'c S, &'c ReadCx<'c, G>, &'c str) -> BoxFuture<'c, Result<Map<String, Value>, Error>>;

/// Returns the context of a call of `tool` with its provenance. `bound` is asked at most once, and only if a value that can be
/// bound to the call's session is missing.
///
/// # Errors
/// The contract's refusal, if a field is missing that the tool requires, or a value is not of its field's type; the method's error
/// otherwise.
pub async fn establish<S, Error, G>(
    contract: &'static ContractSpec,
    tool: &'static ToolSpec,
    call: &CallContext,
    implementation: &S,
    store: &dyn Store<G>,
    bound: BoundMethod<S, Error, G>,
) -> Result<CallContext, Rejection>
where
    Error: ContractError,
    G: Ground,
{
    let (Some(spec), Some(used)) = (&contract.provenance, tool.provenance) else {
        return Ok(call.clone());
    };
    let mut sources = Sources::new(contract, spec, call);
    sources
        .read_request()
        .map_err(|message| refuse(contract, spec, tool, Some(message), Map::new()))?;
    sources.find_session();
    if let Some(session) = sources.session_to_ask() {
        let notes = Notes::default();
        let snapshot = store.snapshot().await;
        let snapshot = snapshot.map_err(|failure| failed::<Error>(tool, failure))?;
        let cx = ReadCx::new(call, store::view(store, &snapshot), &notes);
        let values = bound(implementation, &cx, &session).await;
        let values = values.map_err(|error| declared(tool, error.answer()))?;
        sources.add_bound(&values);
    }
    sources.add_of_connection();
    sources.add_configured();
    sources.add_discovered().await;
    sources.add_defaults();
    let provenance = sources.into_provenance();
    let missing = provenance.missing(spec);
    if used == ProvenanceUse::Required && !missing.is_empty() {
        let values = json!({ "tool": tool.name, "fields": missing.join(", ") });
        let sentence = template::render(spec.missing.message, &values);
        let data = Map::from_iter([("missing".into(), json!(missing))]);
        return Err(refuse(contract, spec, tool, sentence, data));
    }
    if let Some(connection) = &call.origin.connection {
        connection.keep_first(contract, provenance.carried());
    }
    Ok(CallContext {
        provenance: Some(Arc::new(provenance)),
        ..call.clone()
    })
}

fn refuse(
    contract: &'static ContractSpec,
    spec: &ProvenanceSpec,
    tool: &'static ToolSpec,
    sentence: Option<String>,
    mut data: Map<String, Value>,
) -> Rejection {
    data.shift_insert(0, "rule".into(), RULE.into());
    contract.reject(spec.missing.error, tool, sentence, data)
}
