//! A contract as it was written: the Rust side of `meta/contract.schema.json` and `meta/tool.schema.json`, where
//! each key is explained.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use crate::document::Document;

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
    /// How errors reach clients.
    pub error_channel: ErrorChannel,
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
    /// Names of the tools in wire order.
    pub tools: Vec<String>,
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

/// How errors reach clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorChannel {
    /// As tool results with `isError: true`.
    Result,
    /// As JSON-RPC errors.
    JsonRpc,
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

/// The kinds of failure that the runtime and a store know of (`tabellion_schemas::FailureKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The request breaks a rule.
    Invalid,
    /// Something named is not there.
    NotFound,
    /// The documents have changed meanwhile.
    Conflict,
    /// The store must not be changed now.
    Refused,
    /// Somebody else holds a lock.
    Busy,
    /// Something is larger than the server handles.
    TooLarge,
    /// The system failed.
    Io,
}

impl FailureKind {
    /// All of them, with the words that contracts and Rust have for them.
    pub const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::Invalid, "invalid", "Invalid"),
        (Self::NotFound, "not_found", "NotFound"),
        (Self::Conflict, "conflict", "Conflict"),
        (Self::Refused, "refused", "Refused"),
        (Self::Busy, "busy", "Busy"),
        (Self::TooLarge, "too_large", "TooLarge"),
        (Self::Io, "io", "Io"),
    ];
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
    /// JSON pointer to the commit in the response.
    pub commit: Option<String>,
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

/// MCP's tool annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Annotations {
    /// The tool changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
    /// The tool may remove or overwrite.
    #[serde(rename = "destructiveHint")]
    pub destructive: bool,
    /// Twice is as once.
    #[serde(rename = "idempotentHint")]
    pub idempotent: bool,
    /// The tool reaches beyond the server.
    #[serde(rename = "openWorldHint")]
    pub open_world: bool,
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
}

/// A condition on a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct When {
    /// JSON pointer in the request to a string.
    pub at: String,
    /// What it must be.
    pub is: String,
}

/// What can be done to a document (`tabellion_schemas::EffectKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// It is answered with.
    Read,
    /// It becomes the text.
    Write,
    /// It goes.
    Delete,
    /// The text is added at its end.
    Append,
    /// The text is added at its beginning.
    Prepend,
    /// The text takes the place of a section.
    ReplaceSection,
    /// The text is put before a section.
    InsertBefore,
    /// The text is put after a section.
    InsertAfter,
}

impl EffectKind {
    /// The words that contracts and Rust have for it.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Read => ("read", "Read"),
            Self::Write => ("write", "Write"),
            Self::Delete => ("delete", "Delete"),
            Self::Append => ("append", "Append"),
            Self::Prepend => ("prepend", "Prepend"),
            Self::ReplaceSection => ("replace_section", "ReplaceSection"),
            Self::InsertBefore => ("insert_before", "InsertBefore"),
            Self::InsertAfter => ("insert_after", "InsertAfter"),
        }
    }
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
