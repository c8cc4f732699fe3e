//! Maps the contract's tools to those of a server with other names and shapes.
//!
//! `parse` reads a TOML file. For each tool of the contract, or each effect of one, the file names the server's tool,
//! gives a `template` of its arguments, whose `values` come from the request and the disk, and maps its `response` to
//! the contract's. [`smoke`] distinguishes a wrong adapter from a wrong server; [`guess`] drafts an adapter.
//! `adapters/README.md` describes the format.

pub mod guess;
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

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    ContractSpec, ToolSpec,
    spec::{Effect, EffectKind},
};

pub use parse::AdapterError;

use crate::{
    Own,
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

/// Content of an adapter's file.
#[derive(Debug)]
pub struct Mapping {
    /// Server that the adapter is for.
    pub server: Server,
    /// Contract whose tools are mapped.
    pub contract: &'static ContractSpec,
    tools: Vec<MappedTool>,
}

/// A server, and how to get and start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name.
    pub name: String,
    /// Version that the adapter was written for.
    pub version: Option<String>,
    /// Package or repository.
    pub package: Option<String>,
    /// Program and arguments; `{library}` stands for the library's folder.
    pub command: Vec<String>,
    /// Variables added to the server's environment.
    pub environment: Vec<(String, String)>,
    /// Its own state in the library, which the suite disregards.
    pub own: Own,
}

/// A tool of the contract, and the server's calls for it.
#[derive(Debug)]
struct MappedTool {
    tool: &'static ToolSpec,
    /// Call for all effects without an entry in `effects`.
    plain: Option<Call>,
    /// Effects that `plain` covers; all if absent.
    when: Option<Vec<EffectKind>>,
    effects: Vec<(EffectKind, Call)>,
    response: response::Mapping,
}

/// A call of a server's tool.
#[derive(Debug)]
struct Call {
    name: String,
    arguments: template::Template,
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
            Self::Mapped(mapping) => mapping
                .tool(tool)
                .is_some_and(|mapped| effect.is_none_or(|effect| mapped.call(Some(effect.kind)).is_some())),
        }
    }

    /// Returns true if the server's call for this effect contains the whole new document, so that what others write at the same
    /// time is lost by the client.
    pub fn sends_whole(&self, tool: &ToolSpec, effect: &Effect) -> bool {
        match self {
            Self::Native => false,
            Self::Mapped(mapping) => {
                let call = mapping
                    .tool(tool)
                    .and_then(|mapped| mapped.call(Some(effect.kind)));
                call.is_some_and(|call| call.arguments.holes().contains(&&template::Hole::Content))
            }
        }
    }

    /// Returns the parameters of `tools/call` for this call; the library is at `root`.
    ///
    /// # Errors
    /// If the server has no such tool, or the call cannot be derived from the disk.
    pub fn call(&self, tool: &ToolSpec, arguments: &Value, root: &Path) -> Result<Value, String> {
        match self {
            Self::Native => Ok(json!({ "name": tool.name, "arguments": arguments })),
            Self::Mapped(mapping) => mapping.params(tool, arguments, root),
        }
    }

    /// Returns the server's response in the contract's shape.
    pub fn reply(&self, tool: &ToolSpec, message: &Value) -> Reply {
        match self {
            Self::Native => native(message),
            Self::Mapped(mapping) => match mapping.tool(tool) {
                Some(mapped) => mapped.response.reply(message),
                None => native(message),
            },
        }
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
        match self {
            Self::Native => Vec::new(),
            Self::Mapped(mapping) => mapping
                .tool(tool)
                .map_or_else(Vec::new, |mapped| mapped.response.missing(message)),
        }
    }
}

impl Mapping {
    fn tool(&self, tool: &ToolSpec) -> Option<&MappedTool> {
        self.tools.iter().find(|mapped| mapped.tool.name == tool.name)
    }

    fn params(&self, tool: &ToolSpec, arguments: &Value, root: &Path) -> Result<Value, String> {
        let not_mapped = || format!("the adapter does not map `{}`", tool.name);
        let mapped = self.tool(tool).ok_or_else(not_mapped)?;
        let doing = doing(self.contract, mapped.tool);
        let effect = doing.effect(arguments).map(|effect| effect.kind);
        let call = mapped.call(effect).ok_or_else(|| {
            let of = effect.map_or_else(String::new, |kind| format!(" with the effect `{kind}`"));
            not_mapped() + &of
        })?;
        let values = values::Values::new(doing, arguments, root);
        let arguments = call.arguments.fill(&values)?.unwrap_or_else(|| json!({}));
        Ok(json!({ "name": call.name, "arguments": arguments }))
    }
}

impl MappedTool {
    fn names(&self) -> impl Iterator<Item = String> + '_ {
        let effects = self.effects.iter().map(|(_, call)| call);
        self.plain.iter().chain(effects).map(|call| call.name.clone())
    }

    fn call(&self, effect: Option<EffectKind>) -> Option<&Call> {
        let own = self.effects.iter().find(|(kind, _)| Some(*kind) == effect);
        let is_for = |when: &Vec<EffectKind>| effect.is_some_and(|kind| when.contains(&kind));
        own.map(|(_, call)| call).or_else(|| {
            let all = self.when.as_ref().is_none_or(is_for);
            self.plain.as_ref().filter(|_| all)
        })
    }
}

/// Returns the tool that applies a request of `tool`: the previewed tool if `tool` is a preview, else `tool`.
pub(crate) fn doing(contract: &ContractSpec, tool: &'static ToolSpec) -> &'static ToolSpec {
    let previews = contract.previews.iter().find(|pair| pair.preview == tool.name);
    previews
        .and_then(|pair| contract.tool(pair.applies))
        .unwrap_or(tool)
}

/// Reads a response that has the contract's shape.
fn native(message: &Value) -> Reply {
    if let Some(refusal) = Refusal::of(message) {
        return Reply::Refused(refusal);
    }
    let result = &message["result"];
    Reply::Done(Success {
        response: result["structuredContent"].clone(),
        meta: meta(result),
    })
}

fn meta(result: &Value) -> Map<String, Value> {
    result["_meta"].as_object().cloned().unwrap_or_default()
}
