//! How a server's tools are named and shaped where they are not the contract's.
//!
//! A TOML file says it, which `parse` reads: for each tool of the contract, or for each effect of one, the server's tool
//! and a `template` of its arguments, whose `values` come from the request and from the disk; and where a `response`
//! has what the contract's response has. [`smoke`] tells a wrong adapter from a wrong server, [`guess`] writes the first
//! draft of one. `adapters/README.md` describes the format for those who write one.

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

use crate::reply::{Done, Refusal, Reply};

/// From a contract's calls to a server's, and back.
#[derive(Debug, Clone, Default)]
pub enum Adapter {
    /// The server has the contract's tools as they are.
    #[default]
    Native,
    /// It has others.
    Mapped(Arc<Mapping>),
}

/// What an adapter's file says.
#[derive(Debug)]
pub struct Mapping {
    /// The server.
    pub server: Server,
    /// The contract that is mapped onto it.
    pub contract: &'static ContractSpec,
    tools: Vec<MappedTool>,
}

/// A server, and how it is got and started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// The version that the adapter was written for.
    pub version: Option<String>,
    /// Where it is published.
    pub package: Option<String>,
    /// How it is started; `{library}` stands for the library.
    pub command: Vec<String>,
    /// Variables added to its environment.
    pub environment: Vec<(String, String)>,
}

/// A tool of the contract and what the server has for it.
#[derive(Debug)]
struct MappedTool {
    tool: &'static ToolSpec,
    /// For effects that have no call of their own in `effects`.
    plain: Option<Call>,
    /// The effects that `plain` is for; all, if not given.
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
    /// Reads an adapter's file.
    ///
    /// # Errors
    /// What is wrong in it, with the line.
    pub fn parse(text: &str) -> Result<Arc<Mapping>, AdapterError> {
        parse::parse(text).map(Arc::new)
    }

    /// Whether the server has something for this tool, or for this effect of it.
    pub fn has(&self, tool: &ToolSpec, effect: Option<&Effect>) -> bool {
        match self {
            Self::Native => true,
            Self::Mapped(mapping) => mapping
                .tool(tool)
                .is_some_and(|mapped| effect.is_none_or(|effect| mapped.call(Some(effect.kind)).is_some())),
        }
    }

    /// The parameters of the `tools/call` that makes this call; the library is at `root`.
    ///
    /// # Errors
    /// When the server has nothing for it; then it says so.
    pub fn call(&self, tool: &ToolSpec, arguments: &Value, root: &Path) -> Result<Value, String> {
        match self {
            Self::Native => Ok(json!({ "name": tool.name, "arguments": arguments })),
            Self::Mapped(mapping) => mapping.params(tool, arguments, root),
        }
    }

    /// What the server's response says, in the contract's shape.
    pub fn reply(&self, tool: &ToolSpec, message: &Value) -> Reply {
        match self {
            Self::Native => native(message),
            Self::Mapped(mapping) => match mapping.tool(tool) {
                Some(mapped) => mapped.response.reply(message),
                None => native(message),
            },
        }
    }

    /// The names of the server's tools that it calls.
    pub fn names(&self, contract: &ContractSpec) -> Vec<String> {
        let mut names: Vec<_> = match self {
            Self::Native => contract.tools.iter().map(|tool| tool.name.to_owned()).collect(),
            Self::Mapped(mapping) => mapping.tools.iter().flat_map(MappedTool::names).collect(),
        };
        names.sort();
        names.dedup();
        names
    }

    /// Pointers of the contract's response to which the server's response has nothing, though the adapter says where.
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
        let nothing = || format!("the adapter has nothing for `{}`", tool.name);
        let mapped = self.tool(tool).ok_or_else(nothing)?;
        let doing = doing(self.contract, mapped.tool);
        let effect = doing.effect(arguments).map(|effect| effect.kind);
        let call = mapped.call(effect).ok_or_else(|| {
            let of = effect.map_or_else(String::new, |kind| format!(" with the effect `{kind}`"));
            nothing() + &of
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

/// The tool that does what a request of `tool` is about: of one that previews, the one that applies the same request.
pub(crate) fn doing(contract: &ContractSpec, tool: &'static ToolSpec) -> &'static ToolSpec {
    let previews = contract.previews.iter().find(|pair| pair.preview == tool.name);
    previews
        .and_then(|pair| contract.tool(pair.applies))
        .unwrap_or(tool)
}

/// A response of a server that has the contract's shapes.
fn native(message: &Value) -> Reply {
    if let Some(refusal) = Refusal::of(message) {
        return Reply::Refused(refusal);
    }
    let result = &message["result"];
    Reply::Done(Done {
        response: result["structuredContent"].clone(),
        meta: meta(result),
    })
}

fn meta(result: &Value) -> Map<String, Value> {
    result["_meta"].as_object().cloned().unwrap_or_default()
}
