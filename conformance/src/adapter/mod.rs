//! Maps the contract's tools to those of a server with other names and shapes.
//!
//! `parse` reads a TOML file. For each tool of the contract, or each effect of one, the file names the server's tool,
//! gives a `template` of its arguments, whose `values` come from the request and the disk, and maps its `response` to
//! the contract's; `mapping` is its content. [`smoke`] distinguishes a wrong adapter from a wrong server; [`guess`] drafts an adapter.
//! `adapters/README.md` describes the format.

pub mod guess;
mod hole;
mod mapping;
pub mod offer;
mod parse;
mod response;
mod schema;
pub mod smoke;
mod template;
#[cfg(test)]
mod tests;
mod values;

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use tabellion_runtime::{ContractSpec, ToolSpec, spec::Effect};

use mapping::MappedTool;
pub use mapping::{Mapping, Server};
pub use parse::AdapterError;

use crate::{
    judgement::{Stop, not_applicable},
    reply::{Refusal, Reply, Success},
};

/// Translation of a contract's calls to a server's, and of the responses back.
#[derive(Debug, Clone, Default)]
pub enum Adapter {
    /// The server has the contract's own tools.
    #[default]
    Native,
    /// The server has other tools.
    Mapped(Arc<Mapping>),
}

impl Adapter {
    /// Parses an adapter's file.
    ///
    /// # Errors
    /// The first error, with its line.
    pub fn parse(text: &str) -> Result<Arc<Mapping>, AdapterError> {
        parse::parse(text).map(Arc::new)
    }

    /// Returns true if the server has a call for the tool, or for this effect of the tool.
    pub fn has(&self, tool: &ToolSpec, effect: Option<&Effect>) -> bool {
        match self {
            Self::Native => true,
            Self::Mapped(mapping) => {
                mapping.tool(tool).is_some_and(|mapped| effect.is_none_or(|effect| mapped.has(effect.kind)))
            }
        }
    }

    /// Returns true if the server's call for this effect contains the whole new document, so that the client overwrites
    /// concurrent changes by others.
    pub fn sends_whole(&self, tool: &ToolSpec, effect: &Effect) -> bool {
        let mapped = self.mapped(tool);
        let calls = [true, false].map(|exists| mapped?.call(Some(effect.kind), || exists).ok());
        let mut holes = calls.into_iter().flatten().flat_map(|call| call.arguments.holes());
        holes.any(|hole| *hole == hole::Hole::Content)
    }

    /// Returns the parameters of `tools/call` for this call; the library is at `root`.
    ///
    /// # Errors
    /// If the server has no such tool, the call cannot be derived from the disk, or another call must precede it.
    pub fn call(&self, tool: &ToolSpec, arguments: &Value, root: &Path) -> Result<Value, String> {
        let alone = "the adapter needs an answer of the server first, for which this check has no time";
        let ask = |_| Err(not_applicable(alone));
        let called = self.call_after(tool, arguments, root, ask);
        called.map_err(|stop| match stop {
            Stop::NotApplicable(why) => why,
            stop => stop.to_string(),
        })
    }

    /// As [`call`](Self::call), but `ask` sends the call that must precede it, if there is one, and returns the response
    /// message.
    ///
    /// # Errors
    /// As [`call`](Self::call), as "not applicable", and those of `ask`.
    pub fn call_after(
        &self,
        tool: &ToolSpec,
        arguments: &Value,
        root: &Path,
        ask: impl FnOnce(Value) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        match self {
            Self::Native => Ok(json!({ "name": tool.name, "arguments": arguments })),
            Self::Mapped(mapping) => mapping.params(tool, arguments, root, ask),
        }
    }

    /// Completes the response message of a call: adds the data that its translation needs, and gets the further pages by
    /// `ask`.
    ///
    /// # Errors
    /// If the pages do not end, or differ again and again; those of `ask`.
    pub fn finish(
        &self,
        tool: &ToolSpec,
        arguments: &Value,
        root: &Path,
        message: Value,
        ask: impl FnMut(Value) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        match self {
            Self::Native => Ok(message),
            Self::Mapped(mapping) => match mapping.tool(tool) {
                Some(mapped) => mapping.finish(mapped, arguments, root, message, ask),
                None => Ok(message),
            },
        }
    }

    /// Returns the server's response in the contract's shape.
    pub fn reply(&self, tool: &ToolSpec, message: &Value) -> Reply {
        match self.mapped(tool) {
            Some(mapped) => mapped.response.paged_reply(mapped.paging.as_ref(), message),
            None => native(message),
        }
    }

    /// Returns true if the adapter reads long documents page by page, and joins the pages.
    pub fn follows_pages(&self, tool: &ToolSpec) -> bool {
        self.mapped(tool).is_some_and(|mapped| mapped.paging.is_some())
    }

    /// Returns true if the server has another call for a document that does not exist than for one that exists.
    pub fn depends_on_existence(&self, tool: &ToolSpec) -> bool {
        self.mapped(tool).is_some_and(|mapped| mapped.new.is_some() || mapped.existing.is_some())
    }

    /// Returns the names of the server's tools that the adapter calls.
    pub fn names(&self, contract: &ContractSpec) -> Vec<String> {
        let mut names: Vec<_> = match self {
            Self::Native => contract.tools.iter().map(|tool| tool.name.to_owned()).collect(),
            Self::Mapped(mapping) => mapping.tools.iter().flat_map(MappedTool::names).collect(),
        };
        names.sort();
        names.dedup();
        names
    }

    /// Returns the mapped pointers of the contract's response for which the server's response has no value.
    pub fn missing(&self, tool: &ToolSpec, message: &Value) -> Vec<String> {
        self.mapped(tool).map_or_else(Vec::new, |mapped| mapped.response.missing(message))
    }

    /// Returns the mapping of a tool, if the server has it under another name or in another shape.
    fn mapped(&self, tool: &ToolSpec) -> Option<&MappedTool> {
        match self {
            Self::Native => None,
            Self::Mapped(mapping) => mapping.tool(tool),
        }
    }
}

/// Reads a response that has the contract's shape.
fn native(message: &Value) -> Reply {
    if let Some(refusal) = Refusal::from_message(message) {
        return Reply::Refused(refusal);
    }
    let result = &message["result"];
    Reply::Done(Success::new(result["structuredContent"].clone(), result))
}
