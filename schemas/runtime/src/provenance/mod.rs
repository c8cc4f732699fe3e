//! Provenance of calls: their session, agent, program, machine and person.
//!
//! [`establish`] reads, for each field that the contract declares and in this order: the request's `_meta`, the holder of its key, its HTTP
//! headers, the session that it names, the first call of its connection, the configuration, the server's discoveries, and the field's
//! default. The result is stored with changes and shown to methods. It is never merged into arguments, and never decides a call's access.

mod record;
mod sources;
mod value;

use std::sync::Arc;

use serde_json::{Map, Value, json};

pub(crate) use self::record::NO_PROVENANCE;
pub use self::record::{DISCOVERED, Provenance, ProvenanceSource, RECEIVED_AT};
use self::sources::Sources;
pub use crate::meta::PROVENANCE;
use crate::{
    answer::Rejection,
    boundary::{declared, failed},
    call::{Notes, ReadCx},
    context::CallContext,
    failure::ContractError,
    future::BoxFuture,
    ground::Ground,
    spec::{ContractSpec, ProvenanceSpec, ProvenanceUse, ToolSpec},
    store::{self, Store},
    template,
};

/// Name of the provenance among the details of a log entry.
pub const DETAIL: &str = "provenance";
/// Hint in refusals of missing fields by a server that discovers none.
const HINT: &str =
    "send these fields in `_meta`; for clients that can't, start the server with `--provenance discover`";
/// Value of `rule` in the data of refusals.
const RULE: &str = "provenance";

/// The method of an implementation `S` that returns the values bound to the session of this id.
pub type BoundMethod<S, Error, G> =
    for<'c> fn(&'c S, &'c ReadCx<'c, G>, &'c str) -> BoxFuture<'c, Result<Map<String, Value>, Error>>;

/// Returns the context of a call of `tool` with its provenance. `bound` is called at most once, and only if a value that can be bound to
/// the call's session is missing.
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
    sources.read_request().map_err(|message| refuse(contract, spec, tool, Some(message), Map::new()))?;
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
    let is_strict = sources.is_strict();
    let provenance = sources.into_provenance();
    let missing = provenance.missing(spec);
    if used == ProvenanceUse::Required && !missing.is_empty() {
        let values = json!({ "tool": tool.name, "fields": missing.join(", ") });
        let sentence = template::render(spec.missing.message, &values);
        let mut data = Map::from_iter([("missing".into(), json!(missing))]);
        if is_strict {
            data.insert("hint".into(), HINT.into());
        }
        return Err(refuse(contract, spec, tool, sentence, data));
    }
    if let Some(connection) = &call.origin.connection {
        connection.keep_first(contract, provenance.carried());
    }
    Ok(CallContext { provenance: Some(Arc::new(provenance)), ..call.clone() })
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
