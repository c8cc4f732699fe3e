//! The keys of the contract format, one file each: its form, its lints, the effect of its changes on clients, and the generated Rust.
//!
//! `meta/contract.schema.json`, `meta/tool.schema.json` and `meta/operation.schema.json` describe the keys. To add one, write its file,
//! give it a field in [`ContractSpec`] or [`ToolSpec`], list it in `registry::KEYS`, and its field of the runtime's table in `key.rs`.

#![allow(missing_docs, reason = "the descriptions of keys are in the files of `meta/`")]

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
    pub contract: &'static str,
    pub version: &'static str,
    pub title: &'static str,
    pub description: Option<&'static str>,
    pub rows: Option<Rows>,
    pub source: Source,
    pub rust: RustNames,
    #[serde(default)]
    pub document: bool,
    pub error_channel: ErrorChannel,
    pub error_details: Option<&'static str>,
    pub errors: IndexMap<&'static str, ErrorEntry>,
    pub error_body: Option<ErrorBody>,
    pub auth: Option<Auth>,
    pub gate_members: Option<GateMembers>,
    #[serde(default)]
    pub gates: IndexMap<&'static str, Gate>,
    #[serde(default)]
    pub rules: IndexMap<&'static str, NamedRule>,
    #[serde(default)]
    pub guarantees: Vec<Guarantee>,
    #[serde(default)]
    pub previews: Vec<PreviewPair>,
    pub log: Option<LogSpec>,
    #[serde(default)]
    pub rate_limits: IndexMap<&'static str, RateLimit>,
    pub executions: Option<ExecutionsSpec>,
    pub sessions: Option<SessionsSpec>,
    pub rest: Option<Rest>,
    pub modes: Option<Modes>,
    pub provenance: Option<Provenance>,
    #[serde(default)]
    pub workflows: IndexMap<&'static str, Workflow>,
    pub tools: Vec<&'static str>,
    #[serde(default)]
    pub resources: Vec<Resource>,
    #[serde(default)]
    pub prompts: Vec<PromptSpec>,
}

/// The content of a tool file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: &'static str,
    pub annotations: Annotations,
    pub select: Vec<&'static str>,
    pub refused: IndexMap<&'static str, &'static str>,
    pub mutating: bool,
    pub path: Option<&'static str>,
    pub path_in: Option<&'static str>,
    pub paths: Option<PathPolicy>,
    pub commit: Option<&'static str>,
    pub pending: Option<Pending>,
    pub approval: Option<Approval>,
    pub rate_limit: Option<&'static str>,
    pub roles: Vec<&'static str>,
    pub gates: Vec<&'static str>,
    /// These gates, in the contract's form.
    #[serde(skip)]
    pub passed: IndexMap<&'static str, Gate>,
    pub tags: Vec<&'static str>,
    pub modes: Vec<&'static str>,
    pub provenance: Option<ProvenanceUse>,
    pub errors: Vec<&'static str>,
    pub effects: Vec<Effect>,
    pub input_schema: Value,
    pub output_schema: Value,
    pub examples: Vec<Example>,
}
