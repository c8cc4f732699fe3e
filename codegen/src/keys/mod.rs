//! The keys of the contract format, one file each: its form, its lints, the effect of its changes on clients, and the generated Rust.
//!
//! `meta/contract.schema.json`, `meta/tool.schema.json` and `meta/operation.schema.json` describe the keys. To add one, write its file,
//! give it a field in [`ContractSpec`] or [`ToolSpec`], list it in `registry::KEYS`, and its field of the runtime's table in `key.rs`.

mod about;
mod annotations;
mod approval;
mod auth;
mod commit;
mod document;
mod effects;
mod entities;
mod error_body;
mod errors;
mod examples;
mod executions;
mod gates;
mod guarantees;
mod key;
mod log;
mod lookups;
mod modes;
mod operations;
mod paths;
mod previews;
mod prompts;
mod provenance;
mod rate_limits;
pub(crate) mod registry;
mod resource_templates;
mod resources;
mod rest;
mod schemas;
mod tags;
mod workflows;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec::{
    Annotations, Approval, Effect, ErrorBody, ErrorChannel, ExecutionsSpec, GateMembers, Guarantee, LogSpec,
    PathPolicy, Pending, PreviewPair, PromptSpec, ProvenanceUse, SessionsSpec,
};

pub(crate) use self::entities::{lint as lint_entities, operations as row_operations};
pub(crate) use self::gates::resolve as resolve_gates;
pub(crate) use self::key::{Emitted, EmittedTool, Key, State, ToolOf};
pub(crate) use self::operations::{lint_selectors, unite};
pub(crate) use self::provenance::emit as provenance_names;
pub(crate) use self::workflows::{methods as workflow_methods, type_names as workflow_types};
pub use self::{
    about::{RustNames, Source},
    auth::{Auth, Role},
    entities::{Entity, EntityFile, Rows},
    errors::ErrorEntry,
    examples::Example,
    gates::{Clause, Gate, GateExample},
    modes::Modes,
    operations::OperationSpec,
    provenance::{Provenance, ProvenanceDefault, ProvenanceField},
    rate_limits::RateLimit,
    resources::Resource,
    rest::{Endpoint, Rest},
    schemas::NamedRule,
    workflows::Workflow,
};
/// The content of `contract.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractSpec {
    /// Id, which is the folder's name.
    pub contract: &'static str,
    /// Semantic version.
    pub version: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// The contract's purpose.
    pub description: Option<&'static str>,
    /// The rows of the store, and their division into orgs.
    pub rows: Option<Rows>,
    /// The document that the contract was taken from.
    pub source: Source,
    /// Names in Rust.
    pub rust: RustNames,
    /// True if the whole contract is about one document, which the operator names.
    #[serde(default)]
    pub document: bool,
    /// The channel by which errors reach clients.
    pub error_channel: ErrorChannel,
    /// Key in an error's data for the message about the case.
    pub error_details: Option<&'static str>,
    /// The error table, by name.
    pub errors: IndexMap<&'static str, ErrorEntry>,
    /// The object for errors in results.
    pub error_body: Option<ErrorBody>,
    /// The roles of callers.
    pub auth: Option<Auth>,
    /// The names under which clients find gates.
    pub gate_members: Option<GateMembers>,
    /// Rules of conduct, by principle.
    #[serde(default)]
    pub gates: IndexMap<&'static str, Gate>,
    /// Clauses that tool files use by their id.
    #[serde(default)]
    pub rules: IndexMap<&'static str, NamedRule>,
    /// The promises of an implementation.
    #[serde(default)]
    pub guarantees: Vec<Guarantee>,
    /// Pairs of tools: a preview, and the tool whose effect it shows.
    #[serde(default)]
    pub previews: Vec<PreviewPair>,
    /// The location of the record of mutations.
    pub log: Option<LogSpec>,
    /// Limits on the rate of calls, by the name under which tools share them.
    #[serde(default)]
    pub rate_limits: IndexMap<&'static str, RateLimit>,
    /// The time for which executions are kept, if they are.
    pub executions: Option<ExecutionsSpec>,
    /// The sessions of callers, if they have sessions.
    pub sessions: Option<SessionsSpec>,
    /// The endpoints over REST.
    pub rest: Option<Rest>,
    /// The modes of operation.
    pub modes: Option<Modes>,
    /// The provenance of calls.
    pub provenance: Option<Provenance>,
    /// The workflows by id.
    #[serde(default)]
    pub workflows: IndexMap<&'static str, Workflow>,
    /// Names of the tools in wire order.
    pub tools: Vec<&'static str>,
    /// The resources in wire order.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// The prompts in wire order.
    #[serde(default)]
    pub prompts: Vec<PromptSpec>,
}

/// The content of a tool file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// Hints for clients.
    pub annotations: Annotations,
    /// JSON pointers to the strings in the request that choose the operation.
    pub select: Vec<&'static str>,
    /// The reasons why combinations of values have no operation.
    pub refused: IndexMap<&'static str, &'static str>,
    /// True if a call makes a commit.
    pub mutating: bool,
    /// JSON pointer to the path in the request.
    pub path: Option<&'static str>,
    /// The folder below which the path lies.
    pub path_in: Option<&'static str>,
    /// The permitted paths.
    pub paths: Option<PathPolicy>,
    /// JSON pointer to the commit in the response, unless there is no place for it.
    pub commit: Option<&'static str>,
    /// The marks of a response whose change waits for a decision.
    pub pending: Option<Pending>,
    /// The approval by a person that the change needs, if any.
    pub approval: Option<Approval>,
    /// Name of its rate limit.
    pub rate_limit: Option<&'static str>,
    /// Names of the roles that may call it. For a tool with operations, the default for each operation.
    pub roles: Vec<&'static str>,
    /// Names of its gates, likewise.
    pub gates: Vec<&'static str>,
    /// These gates, in the contract's form.
    #[serde(skip)]
    pub passed: IndexMap<&'static str, Gate>,
    /// Words by which clients can group it.
    pub tags: Vec<&'static str>,
    /// Names of the modes in which it may be called.
    pub modes: Vec<&'static str>,
    /// Its use of the provenance of calls.
    pub provenance: Option<ProvenanceUse>,
    /// Names of the errors that the tool can return.
    pub errors: Vec<&'static str>,
    /// The effects of calls on the document at `path`.
    pub effects: Vec<Effect>,
    /// Requests: the source document's schema and `x-*` keys.
    pub input_schema: Value,
    /// Responses, likewise.
    pub output_schema: Value,
    /// Requests and responses that are checked when code is generated.
    pub examples: Vec<Example>,
}
