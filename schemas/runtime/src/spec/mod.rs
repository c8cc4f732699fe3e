//! The declaration of a contract, as constants in generated code.
//!
//! The fields mirror `meta/contract.schema.json`, `meta/tool.schema.json` and `meta/operation.schema.json`, which describe them. A constant
//! names the fields that its contract uses and takes the others from [`ContractSpec::EMPTY`] or [`ToolSpec::new`], so that it does
//! not change when a key is added.
//!
//! A type whose JSON has the same form has a derived `Deserialize`, and `codegen` reads it as it is. For other forms it has types of its own.

mod annotations;
mod approval;
mod auth;
mod calls;
mod effect;
mod entity;
mod errors;
mod example;
mod gate;
mod guarantee;
mod log;
mod modes;
mod operation;
mod preview;
mod prompt;
mod provenance;
mod rate_limit;
pub mod read;
mod resource;
mod rest;
mod workflow;

use serde_json::Value;

pub use self::{
    annotations::Annotations,
    approval::{Approval, Shows},
    auth::{AuthSpec, CallerKind, ResourceRoles, RoleSpec, ScopeWord},
    calls::{ExecutionsSpec, SessionsSpec},
    effect::{Effect, EffectKind, When},
    entity::{
        Action, Added, Also, Assigned, Assignment, CALLER, CallerSpec, Copied, Edges, EntitySpec, FieldSpec,
        FieldType, FilterBy, Hook, ListFilter, Moment, Next, OnDelete, OrgSpec, Range, Reference,
        RowOperation, RowRule, RowsSpec, Scope, Seed, TextRule, Unique,
    },
    errors::{ErrorBody, ErrorChannel, ErrorSpec, ErrorStatus, RETRY_AFTER_SECONDS, usual_reason},
    example::Example,
    gate::{Asks, ClauseSpec, Fact, GateExample, GateMembers, GateSpec, GateTime, Severity},
    guarantee::{Guarantee, GuaranteeKind},
    log::LogSpec,
    modes::ModesSpec,
    operation::{Operation, Operations, Parts, RefusedValues},
    preview::PreviewPair,
    prompt::{ArgumentSpec, PromptSpec},
    provenance::{
        AlsoIf, Discovery, MissingProvenance, ProvenanceDefault, ProvenanceField, ProvenancePlace,
        ProvenanceSpec, ProvenanceType, ProvenanceUse,
    },
    rate_limit::{RateLimit, RateLimitPer},
    resource::{ResourceSpec, ResourceTemplateSpec},
    rest::{RestEndpoint, RestMethod, RestOperation},
    workflow::{
        AUTHOR, Outcome, Pending, Starts, StateKind, StateSpec, TaskSpec, TransitionSpec, Unless,
        WorkflowSpec,
    },
};
pub use crate::policy::PathPolicy;
use crate::{Examples, Schema, Texts, ToolSchema};

/// A whole contract.
#[derive(Debug, Clone, Copy)]
pub struct ContractSpec {
    /// Name of the contract, equal to that of its folder: `reading-list`.
    pub id: &'static str,
    /// Semantic version of the contract.
    pub version: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// True if all tools work on one document, which the operator names.
    pub document: bool,
    /// The channel of errors to the client.
    pub error_channel: ErrorChannel,
    /// Key in an error's data that repeats the detail of the case, if the contract has one.
    pub error_details: Option<&'static str>,
    /// The errors that tools of this contract can return.
    pub errors: &'static [ErrorSpec],
    /// The object that errors have in results, if the contract has one.
    pub error_body: Option<ErrorBody>,
    /// HTTP statuses of errors.
    pub statuses: &'static [ErrorStatus],
    /// The roles of callers, if callers must be known.
    pub auth: Option<&'static AuthSpec>,
    /// The gates, in the contract's order.
    pub gates: &'static [&'static GateSpec],
    /// The names under which clients find gates.
    pub gate_members: GateMembers,
    /// The promises of an implementation, in the words of the source document.
    pub guarantees: &'static [Guarantee],
    /// Pairs of tools of which one previews the other's change.
    pub previews: &'static [PreviewPair],
    /// The tool that reads the activity log.
    pub log: Option<LogSpec>,
    /// Rate limits per caller, by name.
    pub rate_limits: &'static [RateLimit],
    /// Retention of executions, if they are stored.
    pub executions: Option<&'static ExecutionsSpec>,
    /// The sessions of callers, if they have any.
    pub sessions: Option<&'static SessionsSpec>,
    /// The endpoints over REST; empty if the contract is not served over REST.
    pub rest: &'static [RestEndpoint],
    /// Calls of endpoints in addition to the tools, by the names of their kinds. MCP clients do not see them.
    pub calls: &'static [ToolSpec],
    /// The modes of operation, if the contract has any.
    pub modes: Option<&'static ModesSpec>,
    /// The provenance of calls, if a tool stores it.
    pub provenance: Option<&'static ProvenanceSpec>,
    /// The entities, if the store keeps rows.
    pub rows: Option<&'static RowsSpec>,
    /// The workflows, in the contract's order.
    pub workflows: &'static [&'static WorkflowSpec],
    /// The tools, in the order in which clients see them.
    pub tools: &'static [ToolSpec],
    /// The resources, in the order in which clients see them.
    pub resources: &'static [ResourceSpec],
    /// The templates of resources, in the order in which clients see them.
    pub templates: &'static [ResourceTemplateSpec],
    /// The prompts, in the order in which clients see them.
    pub prompts: &'static [PromptSpec],
}

impl ContractSpec {
    /// A contract without any key, for `..` in a constant.
    pub const EMPTY: Self = Self {
        id: "",
        version: "",
        title: "",
        document: false,
        error_channel: ErrorChannel::Result,
        error_details: None,
        errors: &[],
        error_body: None,
        statuses: &[],
        auth: None,
        gates: &[],
        gate_members: GateMembers::USUAL,
        guarantees: &[],
        previews: &[],
        log: None,
        rate_limits: &[],
        executions: None,
        sessions: None,
        rest: &[],
        calls: &[],
        modes: None,
        provenance: None,
        rows: None,
        workflows: &[],
        tools: &[],
        resources: &[],
        templates: &[],
        prompts: &[],
    };

    /// Returns the tool of that name.
    pub fn tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns every operation, in the order of the tools.
    pub fn operations(&self) -> impl Iterator<Item = &'static ToolSpec> + Clone + use<> {
        self.tools.iter().flat_map(ToolSpec::operations)
    }

    /// Returns the operation with this label.
    pub fn operation(&self, label: &str) -> Option<&'static ToolSpec> {
        self.operations().find(|operation| operation.label() == label)
    }

    /// Returns the operation that accepts this request of a tool, if one does.
    pub fn taker(&self, tool: &str, request: &Value) -> Option<&'static ToolSpec> {
        let operation = self.tool(tool)?.operation_of(request.as_object()?)?;
        operation.input.check(request).is_ok().then_some(operation)
    }

    /// Returns the workflow of that id.
    pub fn workflow(&self, id: &str) -> Option<&'static WorkflowSpec> {
        self.workflows.iter().copied().find(|workflow| workflow.id == id)
    }

    /// Returns the prompt of that name.
    pub fn prompt(&self, name: &str) -> Option<&'static PromptSpec> {
        self.prompts.iter().find(|prompt| prompt.name == name)
    }
}

/// One tool, or one operation of a tool. Each call is a call of an operation: a tool without selectors is its only one.
#[derive(Debug)]
pub struct ToolSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// Hints for clients.
    pub annotations: Annotations,
    /// Set if the request chooses among operations. The other fields then hold for at least some of them.
    pub operations: Option<Operations>,
    /// Set for an operation of a tool.
    pub operation: Option<Operation>,
    /// Set for an operation that the table engine runs.
    pub rows: Option<RowOperation>,
    /// True if a call makes a commit. Such a tool's method returns [`Staged`](crate::Staged).
    pub mutating: bool,
    /// JSON pointer in the request to the path that the tool works on.
    pub path: Option<&'static str>,
    /// The folder that the path is relative to, with a `/` at its end. The default is the library's root.
    pub path_in: Option<&'static str>,
    /// The permitted paths. The runtime checks before it calls the tool's method.
    pub paths: Option<PathPolicy>,
    /// JSON pointer in a mutating tool's response to the id of the commit; `None` if the response has no field
    /// for it.
    pub commit: Option<&'static str>,
    /// Set if a change can wait for a decision.
    pub pending: Option<Pending>,
    /// Set if a person must approve each call's change. The runtime asks.
    pub approval: Option<Approval>,
    /// Name of its rate limit. The runtime counts.
    pub rate_limit: Option<&'static str>,
    /// Names of the roles of which a caller must have one; empty if callers need not be known.
    pub roles: &'static [&'static str],
    /// The scopes of which a caller's key must permit one; empty if they follow from `mutating`.
    pub scopes: &'static [ScopeWord],
    /// Its gates.
    pub gates: &'static [&'static GateSpec],
    /// Words by which clients can group it. Set for tools, not for their operations.
    pub tags: &'static [&'static str],
    /// Names of the modes in which it may be called, if the contract has modes. Set for tools, not for their operations.
    pub modes: &'static [&'static str],
    /// Its use of the provenance of calls, if any. Set for tools, not for their operations.
    pub provenance: Option<ProvenanceUse>,
    /// Names of the errors that the tool can return.
    pub errors: &'static [&'static str],
    /// The effects of calls on the document at `path`. At most one applies to a request.
    pub effects: &'static [Effect],
    /// Schema of the arguments.
    pub input: ToolSchema,
    /// Schema of the structured result.
    pub output: ToolSchema,
    /// Examples of arguments, valid and invalid.
    pub examples: Examples,
}

impl ToolSpec {
    /// Returns a tool without mutation and without any key but its schemas, for `..` in a static.
    pub const fn new(input: &'static Schema, output: &'static Schema) -> Self {
        Self::with("", ToolSchema::Written(input), ToolSchema::Written(output))
    }

    /// Returns the tool of this name, with the schemas and examples of a generated file. For an operation, the name is its label.
    pub const fn of_file(texts: &'static Texts, name: &'static str) -> Self {
        let [input, output] = [ToolSchema::Input(texts, name), ToolSchema::Output(texts, name)];
        Self { examples: Examples::Kept(texts, name), ..Self::with(name, input, output) }
    }

    const fn with(name: &'static str, input: ToolSchema, output: ToolSchema) -> Self {
        Self {
            name,
            description: "",
            annotations: Annotations::NONE.read_only().idempotent(),
            operations: None,
            operation: None,
            rows: None,
            mutating: false,
            path: None,
            path_in: None,
            paths: None,
            commit: None,
            pending: None,
            approval: None,
            rate_limit: None,
            roles: &[],
            scopes: &[],
            gates: &[],
            tags: &[],
            modes: &[],
            provenance: None,
            errors: &[],
            effects: &[],
            input,
            output,
            examples: Examples::Written(&[]),
        }
    }

    /// Returns the path in this request, relative to the library's root, if the tool has one.
    pub fn path_of(&self, request: &Value) -> Option<String> {
        let named = request.pointer(self.path?)?.as_str()?;
        Some(format!("{}{named}", self.path_in.unwrap_or_default()))
    }
}
