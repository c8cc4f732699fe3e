//! What a contract says of itself, as constants that generated code fills in.
//!
//! Field by field this mirrors `meta/contract.schema.json` and `meta/tool.schema.json`, where each is explained.

use std::{num::NonZeroU32, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    failure::ErrorAnswer, policy::PathPolicy, schema::Schema, token_bucket::Rate, vocabulary::vocabulary,
};

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
    /// The tool of that name, if the contract has it.
    pub fn tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// An error of the table for one case, of which `detail` says what happened, where and what to do; where it says
    /// nothing, the table's message stands alone.
    pub fn answer(
        &self,
        error: &ErrorSpec,
        detail: String,
        mut data: serde_json::Map<String, Value>,
    ) -> ErrorAnswer {
        let message = match self.error_details {
            _ if detail.is_empty() => error.message.into(),
            None => detail,
            Some(key) => {
                let message = format!("{}: {detail}", error.message);
                data.insert(key.into(), detail.into());
                message
            }
        };
        ErrorAnswer {
            name: error.name,
            code: error.code,
            message,
            data,
        }
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

vocabulary! {
    /// How the errors of a contract reach the client.
    #[serde(rename_all = "kebab-case")]
    pub enum ErrorChannel {
        /// As a tool result with `isError: true`, which the model can read and act on.
        Result,
        /// As a JSON-RPC error object.
        JsonRpc,
    }
}

/// One row of a contract's error table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorSpec {
    /// Name, as in `NOT_FOUND`.
    pub name: &'static str,
    /// JSON-RPC error code.
    pub code: i32,
    /// What the code means, for people.
    pub message: &'static str,
}

/// A promise that a conformance check can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantee {
    /// Stable id: `commit-per-mutation`.
    pub id: &'static str,
    /// What it is about, as far as programs ask.
    pub kind: Option<GuaranteeKind>,
    /// The source document's wording.
    pub text: &'static str,
}

vocabulary! {
    /// What a guarantee is about. A program asks for the kind where it must know whether a contract promises something, since ids
    /// are each contract's own.
    #[serde(rename_all = "snake_case")]
    pub enum GuaranteeKind {
        /// Each mutation is one commit.
        Commit,
        /// Each mutation is one entry of the activity log.
        Log,
        /// A preview shows what the mutation then does.
        Preview,
        /// A mutation happens as a whole or not at all.
        Atomic,
        /// What reads changes nothing.
        Pure,
        /// Nothing is written without a person's approval.
        Approval,
        /// Only certain paths are read or written.
        Paths,
    }
}

/// `preview` answers with the diff of what `applies` would do with the same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviewPair {
    /// Name of the tool that shows.
    pub preview: &'static str,
    /// JSON pointer to the unified diff in its response.
    pub diff: &'static str,
    /// Name of the tool that does.
    pub applies: &'static str,
}

/// The tool that reads the activity log, and where an entry has its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSpec {
    /// Name of the tool.
    pub tool: &'static str,
    /// JSON pointer to the list of entries in its response, oldest first.
    pub entries: &'static str,
    /// JSON pointer in an entry to the path that changed.
    pub path: &'static str,
    /// JSON pointer in an entry to the commit that changed it.
    pub commit: &'static str,
}

/// How often a caller may call the tools that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// What is limited: `searching`.
    pub name: &'static str,
    /// So many calls, all of which may be at once,
    pub calls: NonZeroU32,
    /// in so many seconds.
    pub seconds: u32,
}

impl RateLimit {
    /// The same as a rate.
    pub fn rate(&self) -> Rate {
        Rate {
            times: self.calls,
            within: Duration::from_secs(self.seconds.into()),
        }
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
    pub input: Schema,
    /// Schema of the structured result.
    pub output: Schema,
    /// The contract's examples of arguments, each with the judgement it gets.
    pub examples: &'static [Example],
}

impl ToolSpec {
    /// What the call with this request does to the document, if the contract says it.
    pub fn effect(&self, request: &Value) -> Option<&'static Effect> {
        let holds = |when: When| request.pointer(when.at).and_then(Value::as_str) == Some(when.is);
        self.effects.iter().find(|effect| effect.when.is_none_or(holds))
    }

    /// The path that this request is about, from the library's root on, if the contract says where it stands.
    pub fn path_of(&self, request: &Value) -> Option<String> {
        let named = request.pointer(self.path?)?.as_str()?;
        Some(format!("{}{named}", self.path_in.unwrap_or_default()))
    }
}

/// A person's approval of what a call is about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Approval {
    /// What the person is shown.
    pub shows: Shows,
}

vocabulary! {
    /// What a person is shown who is asked for approval.
    #[serde(rename_all = "kebab-case")]
    pub enum Shows {
        /// Exactly the text to be appended, without a line ending that only ends the line before. Such a tool can't do anything but append.
        Appended,
        /// The difference between the document as it is and as it would be.
        Diff,
    }
}

/// Something that a client can read as a whole, without arguments.
#[derive(Debug)]
pub struct ResourceSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// URI on the wire.
    pub uri: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// Media type of the text.
    pub mime_type: &'static str,
    /// Schema of the JSON that the text is.
    pub schema: Schema,
}

/// A text for a model, made from a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// What a client may say.
    pub arguments: &'static [ArgumentSpec],
    /// The source document's text, with a placeholder in braces for each value: `{section_content}`.
    pub template: &'static str,
}

impl PromptSpec {
    /// The argument of that name, if the prompt has it.
    pub fn argument(&self, name: &str) -> Option<&'static ArgumentSpec> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

/// An argument of a prompt. Its value is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// Whether the prompt can't be made without it.
    pub required: bool,
    /// Whether values can be offered to somebody who types one.
    pub completes: bool,
}

/// What a call does to the document at the tool's path, so that it can be checked on the document itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// What is done.
    pub kind: EffectKind,
    /// Which requests have this effect; without it, all of them.
    pub when: Option<When>,
    /// JSON pointer to the text, or the object of [`EffectKind::AppendLine`]: in the response for the kinds that read, else in the request. None to delete.
    pub content: Option<&'static str>,
    /// JSON pointer in the request to the name of a heading, for the kinds that find a section by it, and to the new
    /// heading for [`EffectKind::InsertSection`].
    pub target: Option<&'static str>,
    /// JSON pointer in the request to the id of a section, for the kinds that find it by that.
    pub section: Option<&'static str>,
    /// JSON pointer in the request to a place in the order of all sections, counted from 0, for the kinds that put one
    /// there.
    pub position: Option<&'static str>,
}

/// A condition on a request: at `at` stands the string `is`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    /// JSON pointer in the request.
    pub at: &'static str,
    /// The string there.
    pub is: &'static str,
}

vocabulary! {
    /// What can be done to a document. All but [`Read`](Self::Read) and [`ReadSection`](Self::ReadSection) are effects of
    /// mutating tools alone.
    #[serde(rename_all = "snake_case")]
    pub enum EffectKind {
        /// The response has the document's whole text.
        Read,
        /// The document becomes exactly the text, whether or not it was there.
        Write,
        /// The document goes.
        Delete,
        /// The text is added at the end.
        Append,
        /// The object is added at the end as one line of JSON, with its members in the order in which they came.
        AppendLine,
        /// The text is added at the beginning.
        Prepend,
        /// The text takes the place of the section.
        ReplaceSection,
        /// The text is put before the section.
        InsertBefore,
        /// The text is put after the section.
        InsertAfter,
        /// The response has the section's own text, without its heading and the sections in it.
        ReadSection,
        /// A section with a heading and the text becomes the one at the position.
        InsertSection,
        /// The text becomes the section's own text.
        UpdateSection,
        /// The section goes, with the sections in it.
        DeleteSection,
        /// The section, with the sections in it, becomes the one at the position.
        MoveSection,
        /// The last change that has not been undone is.
        Undo,
        /// The last change that was undone is made again.
        Redo,
    }
}

impl EffectKind {
    /// Whether it changes nothing.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadSection)
    }
}

/// A request that the contract shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// What it shows; unique among a tool's examples.
    pub name: &'static str,
    /// The request, as JSON text.
    pub json: &'static str,
    /// Whether it satisfies the schema and all rules.
    pub valid: bool,
    /// JSON pointer to the value in it that is wrong. Of a member that is missing or unknown, this is the object, while
    /// a [`Violation`](crate::Violation) points at the member.
    pub at: Option<&'static str>,
    /// Id of the rule, or the JSON Schema keyword, that it breaks and no other.
    pub rule: Option<&'static str>,
}

/// MCP's tool annotations. All four are always said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Annotations {
    /// The tool changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
    /// The tool may remove or overwrite what was there.
    #[serde(rename = "destructiveHint")]
    pub destructive: bool,
    /// The same call twice has the effect of one.
    #[serde(rename = "idempotentHint")]
    pub idempotent: bool,
    /// The tool reaches beyond the server's own data.
    #[serde(rename = "openWorldHint")]
    pub open_world: bool,
}
