//! The keys of the contract format, one file each: how a key is read, what must hold of it, what a change of it means to clients,
//! and which Rust it becomes.
//!
//! `meta/contract.schema.json`, `meta/tool.schema.json` and `meta/operation.schema.json` describe the keys. To add one, write its file, give it a field in
//! [`ContractSpec`] or [`ToolSpec`], and list it in `KEYS`.

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
pub(crate) mod examples;
mod executions;
mod gates;
mod guarantees;
mod log;
mod modes;
mod operations;
mod paths;
mod previews;
mod prompts;
mod provenance;
mod rate_limits;
mod registry;
mod resource_templates;
mod resources;
mod rest;
mod schemas;
mod tags;

mod workflows;

use indexmap::IndexMap;
use proc_macro2::{Ident, TokenStream};
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::{
    FailureKind,
    spec::{self, Annotations, Approval, ErrorChannel, ProvenanceUse},
};

pub(crate) use self::entities::{lint as lint_entities, operations as row_operations};
pub(crate) use self::gates::resolve as resolve_gates;
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
    gates::{Clause, Gate, GateExample},
    guarantees::Guarantee,
    log::Log,
    modes::Modes,
    operations::{Operation, OperationSpec},
    paths::PathPolicy,
    previews::PreviewPair,
    prompts::{Argument, Prompt},
    provenance::{AlsoIf, MissingProvenance, Provenance, ProvenanceDefault, ProvenanceField},
    rate_limits::RateLimit,
    resource_templates::Variable,
    resources::Resource,
    rest::{Endpoint, Rest},
    schemas::NamedRule,
    workflows::{OneOrMore, Pending, State as WorkflowState, Task, Transition, Workflow},
};
use crate::{
    compat::Changes,
    contract::{Contract, Tool},
    problem::Problem,
    rust::text::Texts,
};

/// The keys, in the order in which changes are listed and fields are written.
pub(crate) static KEYS: &[&dyn Key] = &[
    &about::About,
    &annotations::Annotated,
    &document::OneDocument,
    &errors::Errors,
    &error_body::ErrorBodies,
    &guarantees::Guarantees,
    &previews::Previews,
    &log::Logs,
    &auth::Callers,
    &gates::Gates,
    &registry::Tools,
    &operations::Operations,
    &entities::Entities,
    &effects::Effects,
    &schemas::Schemas,
    &paths::Paths,
    &approval::Approvals,
    &commit::Commit,
    &tags::Tags,
    &modes::OperationModes,
    &provenance::CallProvenance,
    &rate_limits::RateLimits,
    &executions::Calls,
    &rest::RestFace,
    &workflows::Workflows,
    &resources::Resources,
    &resource_templates::ResourceTemplates,
    &prompts::Prompts,
    &examples::Examples,
];

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

/// A key, or a few that make sense only together.
pub(crate) trait Key: Sync {
    /// Adds what is wrong with the key, whatever the schemas say.
    fn lint(&self, _contract: &Contract, _problems: &mut Vec<Problem>) {}

    /// Adds what is wrong with the key in view of the schemas. Called only if these are sound.
    fn lint_with_schemas(&self, _contract: &Contract, _problems: &mut Vec<Problem>) {}

    /// Returns the failures that calls of `tool` can end with because of this key.
    fn failures(&self, _tool: &Tool) -> &'static [FailureKind] {
        &[]
    }

    /// Adds what has changed in the contract as a whole.
    fn compare(&self, _changes: &mut Changes<'_>, _old: &Contract, _new: &Contract) {}

    /// Adds what has changed in one operation.
    fn compare_tool(&self, _changes: &mut Changes<'_>, _old: ToolOf<'_>, _new: ToolOf<'_>) {}

    /// Returns the Rust that the key becomes in the contract.
    fn emit(&self, _contract: &Contract) -> Emitted {
        Emitted::default()
    }

    /// Returns the Rust that the key becomes in a tool, or in an operation of one.
    fn emit_tool(&self, _tool: &Tool) -> EmittedTool {
        EmittedTool::default()
    }

    /// Sets the fields of the contract's table that [`emit`](Self::emit) writes as Rust.
    fn fill(&self, _contract: &Contract, _table: &mut spec::ContractSpec) {}

    /// Sets the fields of a tool's entry that [`emit_tool`](Self::emit_tool) writes as Rust.
    fn fill_tool(&self, _tool: &Tool, _entry: &mut spec::ToolSpec) {}
}

/// A tool and the contract that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolOf<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) tool: &'a Tool,
}

/// Rust for a contract. What a contract lacks is left empty, so that its module does not change when a key is added.
#[derive(Default)]
pub(crate) struct Emitted {
    /// Fields of `CONTRACT`, each with a comma.
    pub(crate) fields: TokenStream,
    /// Items beside `CONTRACT`.
    pub(crate) items: Vec<TokenStream>,
    /// Types for implementations.
    pub(crate) types: Vec<TokenStream>,
    /// Methods of the trait that implementations implement.
    pub(crate) signatures: Vec<TokenStream>,
    /// Arms of `Service::call` beside those of tools. `implementation` and `store` are bound.
    pub(crate) arms: Vec<TokenStream>,
    /// Methods of the `impl Contract for Service`.
    pub(crate) methods: Vec<TokenStream>,
    /// State of `Service`.
    pub(crate) state: Option<State>,
    /// Its texts, for the file beside the generated module.
    pub(crate) texts: Texts,
}

/// A field of `Service`.
pub(crate) struct State {
    pub(crate) name: Ident,
    pub(crate) of_type: TokenStream,
    pub(crate) value: TokenStream,
}

/// Rust for a tool, with the same rule.
#[derive(Default)]
pub(crate) struct EmittedTool {
    /// Fields of its entry in `TOOLS`, each with a comma.
    pub(crate) fields: TokenStream,
    /// Statements of `Service::call` before the operation is chosen. `tool` is the tool's entry in `TOOLS`, and `call` the context.
    pub(crate) first: TokenStream,
    /// Statements of `Service::call` before the tool is dispatched to. `tool` is its entry in `TOOLS`.
    pub(crate) before: TokenStream,
    /// Its texts, for the file beside the generated module.
    pub(crate) texts: Texts,
}

impl EmittedTool {
    /// Rust that is fields alone.
    fn fields(fields: TokenStream) -> Self {
        Self {
            fields,
            ..Self::default()
        }
    }
}
