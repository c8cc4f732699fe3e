//! What a contract says of itself, as constants that generated code fills in.
//!
//! Field by field this mirrors `meta/contract.schema.json` and `meta/tool.schema.json`, where each is explained. A constant
//! names the fields that its contract uses and takes the others from [`ContractSpec::EMPTY`] or [`ToolSpec::new`], so that it does
//! not change when a key is added.

mod annotations;
mod approval;
mod effect;
mod errors;
mod example;
mod guarantee;
mod log;
mod preview;
mod prompt;
mod rate_limit;
mod resource;

use serde_json::Value;

pub use self::{
    annotations::Annotations,
    approval::{Approval, Shows},
    effect::{Effect, EffectKind, When},
    errors::{ErrorChannel, ErrorSpec},
    example::Example,
    guarantee::{Guarantee, GuaranteeKind},
    log::LogSpec,
    preview::PreviewPair,
    prompt::{ArgumentSpec, PromptSpec},
    rate_limit::RateLimit,
    resource::ResourceSpec,
};
pub use crate::policy::PathPolicy;
use crate::schema::Schema;
/// A whole contract.
#[derive(Debug)]
pub struct ContractSpec {
    /// Name of the contract, which is that of its folder: `reading-list`.
    pub id: &'static str,
    /// Semantic version of the contract.
    pub version: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Whether all of it is about one document, which the operator names.
    pub document: bool,
    /// How errors reach the client.
    pub error_channel: ErrorChannel,
    /// The key in an error's data under which the sentence about the case stands too, if there must be one.
    pub error_details: Option<&'static str>,
    /// Every error that a tool of this contract can answer with.
    pub errors: &'static [ErrorSpec],
    /// What an implementation promises, in the words of the source document.
    pub guarantees: &'static [Guarantee],
    /// Which tool shows beforehand what which other tool does.
    pub previews: &'static [PreviewPair],
    /// Where the record of all mutations can be read.
    pub log: Option<LogSpec>,
    /// How often each caller may call the tools that name one of these.
    pub rate_limits: &'static [RateLimit],
    /// The tools, in the order in which clients see them.
    pub tools: &'static [ToolSpec],
    /// The resources, in the order in which clients see them.
    pub resources: &'static [ResourceSpec],
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
        guarantees: &[],
        previews: &[],
        log: None,
        rate_limits: &[],
        tools: &[],
        resources: &[],
        prompts: &[],
    };

    /// The tool of that name, if the contract has it.
    pub fn tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The resource of that name, if the contract has it.
    pub fn resource(&self, name: &str) -> Option<&'static ResourceSpec> {
        self.resources.iter().find(|resource| resource.name == name)
    }

    /// The prompt of that name, if the contract has it.
    pub fn prompt(&self, name: &str) -> Option<&'static PromptSpec> {
        self.prompts.iter().find(|prompt| prompt.name == name)
    }
}

/// One tool.
#[derive(Debug)]
pub struct ToolSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// Hints for clients.
    pub annotations: Annotations,
    /// Whether a call makes a commit. Such a tool's method returns [`Staged`](crate::Staged).
    pub mutating: bool,
    /// JSON pointer in the request to the path that the tool works on.
    pub path: Option<&'static str>,
    /// The folder below which the path lies, with a `/` at its end; without it, the library's root.
    pub path_in: Option<&'static str>,
    /// Which paths may be named. The runtime judges before the tool's method is called.
    pub paths: Option<PathPolicy>,
    /// JSON pointer in a mutating tool's response to the id of the commit; `None` where the response has no place
    /// for it.
    pub commit: Option<&'static str>,
    /// Whether a person must approve of what a call is about to change. The runtime asks.
    pub approval: Option<Approval>,
    /// Name of the limit to how often it may be called. The runtime counts.
    pub rate_limit: Option<&'static str>,
    /// Names of the errors that this tool can answer with.
    pub errors: &'static [&'static str],
    /// What calls do to the document at `path`. At most one holds for a request.
    pub effects: &'static [Effect],
    /// Schema of the arguments.
    pub input: &'static Schema,
    /// Schema of the structured result.
    pub output: &'static Schema,
    /// The contract's examples of arguments, each with the judgement it gets.
    pub examples: &'static [Example],
}

impl ToolSpec {
    /// Returns a tool that changes nothing and has no key but its schemas, for `..` in a static.
    pub const fn new(input: &'static Schema, output: &'static Schema) -> Self {
        Self {
            name: "",
            description: "",
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: false,
            },
            mutating: false,
            path: None,
            path_in: None,
            paths: None,
            commit: None,
            approval: None,
            rate_limit: None,
            errors: &[],
            effects: &[],
            input,
            output,
            examples: &[],
        }
    }

    /// The path that this request is about, from the library's root on, if the contract says where it stands.
    pub fn path_of(&self, request: &Value) -> Option<String> {
        let named = request.pointer(self.path?)?.as_str()?;
        Some(format!("{}{named}", self.path_in.unwrap_or_default()))
    }
}
