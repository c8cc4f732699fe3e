//! A contract as it was written: the Rust side of `meta/contract.schema.json` and `meta/tool.schema.json`, where
//! each key is explained.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::{Annotations, Approval, EffectKind, ErrorChannel, FailureKind, GuaranteeKind};

use crate::{document::Document, names};

/// A contract with its tools, in wire order.
#[derive(Debug, Clone)]
pub struct Contract {
    /// Name of its folder.
    pub folder: String,
    /// `contract.json` as read.
    pub document: Document,
    /// What `contract.json` says.
    pub spec: ContractSpec,
    /// The tools in the order that `contract.json` gives.
    pub tools: Vec<Tool>,
    /// SHA-256 over the texts of all files, in hexadecimal digits.
    pub digest: String,
}

impl Contract {
    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Every schema of the contract: the tools' in wire order, then the resources'.
    pub fn schemas(&self) -> impl Iterator<Item = Authored<'_>> {
        let tools = self
            .tools
            .iter()
            .flat_map(|tool| Side::ALL.map(|side| tool.authored(side)));
        let resources = self.spec.resources.iter().enumerate();
        tools.chain(resources.map(|(i, resource)| Authored {
            document: &self.document,
            at: format!("/resources/{i}/schema"),
            schema: &resource.schema,
            usual_name: names::resource(&resource.name),
        }))
    }

    /// Name of the error that failures of `kind` become.
    pub fn error_for(&self, kind: FailureKind) -> Option<&str> {
        self.spec
            .errors
            .iter()
            .find(|(_, error)| error.failures.contains(&kind))
            .map(|(name, _)| name.as_str())
    }
}

/// A tool and the file it stands in.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The file as read.
    pub document: Document,
    /// What it says, with each `{"$use": …}` replaced by the rule it names.
    pub spec: ToolSpec,
}

impl Tool {
    /// The authored schema of one direction.
    pub fn schema(&self, side: Side) -> &Value {
        match side {
            Side::Input => &self.spec.input_schema,
            Side::Output => &self.spec.output_schema,
        }
    }

    /// The same, with where it stands.
    pub fn authored(&self, side: Side) -> Authored<'_> {
        Authored {
            document: &self.document,
            at: side.pointer().into(),
            schema: self.schema(side),
            usual_name: names::root(&self.spec.name, side),
        }
    }
}

/// The schema of a request, a response or a resource, and where it stands.
#[derive(Debug, Clone)]
pub struct Authored<'a> {
    /// The file that it stands in.
    pub document: &'a Document,
    /// JSON pointer to it in the file.
    pub at: String,
    /// What it says, with each `{"$use": …}` replaced by the rule it names.
    pub schema: &'a Value,
    /// The Rust type that it becomes, unless it has a name of its own.
    pub usual_name: String,
}

/// Requests or responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Requests.
    Input,
    /// Responses.
    Output,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Input, Self::Output];

    /// The key of the side's schema in a tool file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Input => "inputSchema",
            Self::Output => "outputSchema",
        }
    }

    /// JSON pointer to the side's schema in a tool file.
    pub fn pointer(self) -> &'static str {
        match self {
            Self::Input => "/inputSchema",
            Self::Output => "/outputSchema",
        }
    }
}

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
    /// Names of the tools in wire order.
    pub tools: Vec<String>,
    /// The resources in wire order.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// The prompts in wire order.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
}

/// How often a caller may call the tools that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RateLimit {
    /// So many calls, all of which may be at once,
    pub calls: u32,
    /// in so many seconds.
    pub seconds: u32,
}

/// Something that a client can read as a whole.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Name on the wire.
    pub name: String,
    /// URI on the wire.
    pub uri: String,
    /// Name for people.
    pub title: String,
    /// Description on the wire.
    pub description: String,
    /// Media type of the text.
    pub mime_type: String,
    /// The source document's schema of the JSON that the text is, and `x-*` keys.
    pub schema: Value,
    /// Texts that are judged when code is generated.
    #[serde(default)]
    pub examples: Vec<Example>,
}

/// A text for a model, made from a template.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Prompt {
    /// Name on the wire.
    pub name: String,
    /// Description on the wire.
    pub description: String,
    /// What a client may say.
    #[serde(default)]
    pub arguments: Vec<Argument>,
    /// The source document's text, with placeholders in braces.
    pub template: String,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Argument {
    /// Name on the wire.
    pub name: String,
    /// Description on the wire.
    pub description: String,
    /// Whether the prompt can't be made without it.
    #[serde(default)]
    pub required: bool,
    /// Whether values can be offered.
    #[serde(default)]
    pub completes: bool,
}

/// The document that a contract was taken from.
#[derive(Debug, Clone, Deserialize)]
pub struct Source {
    /// What it is called.
    pub document: String,
    /// Its version.
    pub version: String,
    /// Its copy beside `contract.json`.
    pub file: Option<String>,
}

/// What a contract is called in Rust.
#[derive(Debug, Clone, Deserialize)]
pub struct RustNames {
    /// The generated module.
    pub module: String,
    /// The trait that implementations implement.
    #[serde(rename = "trait")]
    pub trait_name: String,
}

/// One row of the error table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ErrorEntry {
    /// JSON-RPC code.
    pub code: i32,
    /// What it means.
    pub message: String,
    /// The runtime's failures that become this error.
    #[serde(default)]
    pub failures: Vec<FailureKind>,
}

/// A clause that tool files use by its id.
#[derive(Debug, Clone, Deserialize)]
pub struct NamedRule {
    /// What is wrong when it is broken.
    pub message: String,
    /// What values must satisfy.
    pub schema: Value,
}

/// A promise in the source document's words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Guarantee {
    /// Stable id.
    pub id: String,
    /// What it is about.
    pub kind: Option<GuaranteeKind>,
    /// The wording.
    pub text: String,
}

/// `preview` shows what `applies` does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PreviewPair {
    /// The tool that shows.
    pub preview: String,
    /// JSON pointer to the diff in its response.
    pub diff: String,
    /// The tool that does.
    pub applies: String,
}

/// Where the record of mutations can be read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Log {
    /// The tool.
    pub tool: String,
    /// JSON pointer to the entries in its response.
    pub entries: String,
    /// JSON pointer to the path in an entry.
    pub path: String,
    /// JSON pointer to the commit in an entry.
    pub commit: String,
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
    /// Whether a call makes a commit.
    pub mutating: bool,
    /// JSON pointer to the path in the request.
    pub path: Option<String>,
    /// The folder below which the path lies.
    pub path_in: Option<String>,
    /// Which paths may be named.
    pub paths: Option<PathPolicy>,
    /// JSON pointer to the commit in the response, unless there is no place for it.
    pub commit: Option<String>,
    /// Whether a person must approve, and of what.
    pub approval: Option<Approval>,
    /// Name of the limit to how often it may be called.
    pub rate_limit: Option<String>,
    /// Names of the errors that the tool answers with.
    pub errors: Vec<String>,
    /// What calls do to the document at `path`.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// Requests: the source document's schema and `x-*` keys.
    pub input_schema: Value,
    /// Responses, likewise.
    pub output_schema: Value,
    /// Requests and responses that are judged when code is generated.
    #[serde(default)]
    pub examples: Vec<Example>,
}

/// Globs over the segments of paths.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PathPolicy {
    /// What may be named.
    pub allow: Vec<String>,
    /// What must not be, even where it is allowed.
    #[serde(default)]
    pub deny: Vec<String>,
}

/// What a call does to the document at the tool's path.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Effect {
    /// What is done.
    #[serde(rename = "effect")]
    pub kind: EffectKind,
    /// Which requests have it, unless all.
    pub when: Option<When>,
    /// JSON pointer to the text.
    pub content: Option<String>,
    /// JSON pointer to the heading in the request.
    pub target: Option<String>,
    /// JSON pointer to the id of a section in the request.
    pub section: Option<String>,
    /// JSON pointer to a section's place in the request.
    pub position: Option<String>,
}

/// A condition on a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct When {
    /// JSON pointer in the request to a string.
    pub at: String,
    /// What it must be.
    pub is: String,
}

/// A request or a response, and how it must be judged.
#[derive(Debug, Clone, Deserialize)]
pub struct Example {
    /// What it shows; unique in its file.
    pub name: String,
    /// A request.
    pub input: Option<Value>,
    /// A response.
    pub output: Option<Value>,
    /// Whether it satisfies the enforced schema.
    pub valid: bool,
    /// JSON pointer to the value that is wrong.
    pub at: Option<String>,
    /// Id of the rule, or the keyword, that it breaks.
    pub rule: Option<String>,
}

impl Example {
    /// Which side it is an example of, and the value.
    pub fn instance(&self) -> Option<(Side, &Value)> {
        match (&self.input, &self.output) {
            (Some(value), None) => Some((Side::Input, value)),
            (None, Some(value)) => Some((Side::Output, value)),
            _ => None,
        }
    }
}
