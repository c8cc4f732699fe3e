//! The keys of the contract format, one file each: how a key is read, what must hold of it, what a change of it means to clients,
//! and which Rust it becomes.
//!
//! `meta/contract.schema.json`, `meta/tool.schema.json` and `meta/operation.schema.json` describe the keys. To add one, write its file, give it a field in
//! [`ContractSpec`] or [`ToolSpec`], and list it in `registry::KEYS`.

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
use tabellion_runtime::spec::{Annotations, Approval, ErrorChannel, ProvenanceUse};

pub(crate) use self::entities::{lint as lint_entities, operations as row_operations};
pub(crate) use self::gates::resolve as resolve_gates;
pub(crate) use self::key::{Emitted, EmittedTool, Key, State, ToolOf};
pub(crate) use self::operations::{lint_selectors, unite};
pub(crate) use self::provenance::emit as provenance_names;
pub(crate) use self::workflows::{methods as workflow_methods, type_names as workflow_types};
pub use self::{
    about::{RustNames, Source},
    auth::{Auth, Role},
    effects::{Effect, When},
    entities::{Entity, EntityFile, Rows, RowsOperation},
    error_body::ErrorBody,
    errors::ErrorEntry,
    examples::Example,
    executions::{Executions, Sessions},
    gates::{Clause, Gate, GateExample, GateMembers},
    guarantees::Guarantee,
    log::Log,
    modes::Modes,
    operations::{Operation, OperationSpec},
    paths::PathPolicy,
    previews::PreviewPair,
    prompts::{Argument, Prompt},
    provenance::{AlsoIf, MissingProvenance, Provenance, ProvenanceDefault, ProvenanceField},
    rate_limits::RateLimit,
    resources::{Resource, Variable},
    rest::{Endpoint, Rest},
    schemas::NamedRule,
    workflows::{OneOrMore, Pending, State as WorkflowState, Task, Transition, Workflow},
};
/// What `contract.json` says.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractSpec {
    /// Id, which is the folder's name.
    pub contract: String,
    /// Semantic version.
    pub version: String,
    /// Name for people.
    pub title: String,
    /// What the contract is for.
    pub description: Option<String>,
    /// That the store keeps rows, and how they are divided.
    pub rows: Option<Rows>,
    /// The document that the contract was taken from.
    pub source: Source,
    /// Names in Rust.
    pub rust: RustNames,
    /// Whether all of it is about one document, which the operator names.
    #[serde(default)]
    pub document: bool,
    /// How errors reach clients.
    pub error_channel: ErrorChannel,
    /// Key in an error's data for the sentence about the case.
    pub error_details: Option<String>,
    /// The error table, by name.
    pub errors: IndexMap<String, ErrorEntry>,
    /// The object that errors have in results.
    pub error_body: Option<ErrorBody>,
    /// The roles of callers.
    pub auth: Option<Auth>,
    /// The names under which clients find gates.
    pub gate_members: Option<GateMembers>,
    /// Rules of conduct, by principle.
    #[serde(default)]
    pub gates: IndexMap<String, Gate>,
    /// Clauses that tool files use by their id.
    #[serde(default)]
    pub rules: IndexMap<String, NamedRule>,
    /// What an implementation promises.
    #[serde(default)]
    pub guarantees: Vec<Guarantee>,
    /// Which tool shows beforehand what which other tool does.
    #[serde(default)]
    pub previews: Vec<PreviewPair>,
    /// Where the record of mutations can be read.
    pub log: Option<Log>,
    /// How often tools may be called, by the name that they share a limit under.
    #[serde(default)]
    pub rate_limits: IndexMap<String, RateLimit>,
    /// How long executions are kept, if they are.
    pub executions: Option<Executions>,
    /// The sessions of callers, if they have any.
    pub sessions: Option<Sessions>,
    /// The endpoints over REST.
    pub rest: Option<Rest>,
    /// The modes of operation.
    pub modes: Option<Modes>,
    /// Where calls come from.
    pub provenance: Option<Provenance>,
    /// The workflows by id.
    #[serde(default)]
    pub workflows: IndexMap<String, Workflow>,
    /// Names of the tools in wire order.
    pub tools: Vec<String>,
    /// The resources in wire order.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// The prompts in wire order.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
}

/// What a tool file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// Name on the wire.
    pub name: String,
    /// Description on the wire.
    pub description: String,
    /// Hints for clients.
    pub annotations: Annotations,
    /// JSON pointers to the strings in the request that choose the operation.
    #[serde(default)]
    pub select: Vec<String>,
    /// Why a combination of values has no operation.
    #[serde(default)]
    pub refused: IndexMap<String, String>,
    /// Whether a call makes a commit.
    #[serde(default)]
    pub mutating: bool,
    /// JSON pointer to the path in the request.
    pub path: Option<String>,
    /// The folder below which the path lies.
    pub path_in: Option<String>,
    /// Which paths may be named.
    pub paths: Option<PathPolicy>,
    /// JSON pointer to the commit in the response, unless there is no place for it.
    pub commit: Option<String>,
    /// How the response says that the change waits for a decision.
    pub pending: Option<Pending>,
    /// Whether a person must approve, and of what.
    pub approval: Option<Approval>,
    /// Name of the limit to how often it may be called.
    pub rate_limit: Option<String>,
    /// Names of the roles that may call it; of a tool with operations, those that do not say their own.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Names of its gates, likewise.
    #[serde(default)]
    pub gates: Vec<String>,
    /// These gates, as the contract has them.
    #[serde(skip)]
    pub passed: IndexMap<String, Gate>,
    /// Words by which clients can group it.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Names of the modes in which it may be called.
    #[serde(default)]
    pub modes: Vec<String>,
    /// What it does with the provenance of calls.
    pub provenance: Option<ProvenanceUse>,
    /// Names of the errors that the tool answers with.
    #[serde(default)]
    pub errors: Vec<String>,
    /// What calls do to the document at `path`.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// Requests: the source document's schema and `x-*` keys.
    pub input_schema: Value,
    /// Responses, likewise.
    #[serde(default)]
    pub output_schema: Value,
    /// Requests and responses that are judged when code is generated.
    #[serde(default)]
    pub examples: Vec<Example>,
}
