//! Maps the contract's tools to those of a server with other names and shapes.
//!
//! `parse` reads a TOML file. For each tool of the contract, or each effect of one, the file names the server's tool,
//! gives a `template` of its arguments, whose `values` come from the request and the disk, and maps its `response` to
//! the contract's. [`smoke`] distinguishes a wrong adapter from a wrong server; [`guess`] drafts an adapter.
//! `adapters/README.md` describes the format.

pub mod guess;
mod hole;
pub mod offer;
mod parse;
mod response;
mod schema;
pub mod smoke;
mod template;
#[cfg(test)]
mod tests;
mod values;

use std::{fs, path::Path, sync::Arc};

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    ContractSpec, ToolSpec,
    spec::{Effect, EffectKind},
};

pub use parse::AdapterError;

use crate::{
    Own,
    judgement::{Stop, fail},
    ledger::Source,
    reply::{Refusal, Reply, Success},
    setup::Setup,
};

/// Number of pages after which an answer is taken for endless.
const MAX_PAGES: usize = 1000;
/// Maximum number of times that pages are read again from the first one because the document has changed meanwhile.
const MAX_READINGS: usize = 20;

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
    /// The server's obligations: that contract, or its author's promises.
    pub held_to: &'static ContractSpec,
    tools: Vec<MappedTool>,
}

/// A server, with instructions to get and start it.
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
    /// Working directory, if not the suite's own; with the same placeholder.
    pub directory: Option<String>,
    /// The argument that sets its mode of operation, if there is one; `{mode}` stands for the mode's name.
    pub mode: Option<String>,
    /// Its own state in the library, which the suite disregards.
    pub own: Own,
    /// Files, folders and command that prepare a library before it starts.
    pub setup: Setup,
    /// Location of its rows, if the contract's store has any.
    pub ledger: Source,
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
    /// Call for a document that does not exist.
    new: Option<Call>,
    /// Call for a document that exists.
    existing: Option<Call>,
    response: response::Mapping,
    paging: Option<response::Paging>,
}

/// A call of a server's tool.
#[derive(Debug)]
struct Call {
    name: String,
    arguments: template::Template,
    before: Option<Box<Before>>,
}

/// A call that must precede the call proper, and the values that it gives.
#[derive(Debug)]
struct Before {
    call: Call,
    take: Vec<(String, response::Source)>,
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
                .is_some_and(|mapped| effect.is_none_or(|effect| mapped.has(effect.kind))),
        }
    }

    /// Returns true if the server's call for this effect contains the whole new document, so that the client overwrites
    /// concurrent changes by others.
    pub fn sends_whole(&self, tool: &ToolSpec, effect: &Effect) -> bool {
        match self {
            Self::Native => false,
            Self::Mapped(mapping) => {
                let mapped = mapping.tool(tool);
                let calls = [true, false].map(|exists| mapped?.call(Some(effect.kind), || exists).ok());
                let mut holes = calls
                    .into_iter()
                    .flatten()
                    .flat_map(|call| call.arguments.holes());
                holes.any(|hole| *hole == hole::Hole::Content)
            }
        }
    }

    /// Returns the parameters of `tools/call` for this call; the library is at `root`.
    ///
    /// # Errors
    /// If the server has no such tool, the call cannot be derived from the disk, or another call must precede it.
    pub fn call(&self, tool: &ToolSpec, arguments: &Value, root: &Path) -> Result<Value, String> {
        let alone =
            |_| Err("the adapter needs an answer of the server first, for which this check has no time");
        let called = self.call_after(tool, arguments, root, |params| {
            alone(params).map_err(not_applicable)
        });
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
        match self {
            Self::Native => native(message),
            Self::Mapped(mapping) => match mapping.tool(tool) {
                Some(mapped) => mapped.response.paged_reply(mapped.paging.as_ref(), message),
                None => native(message),
            },
        }
    }

    /// Returns true if the adapter reads long documents page by page, and joins the pages.
    pub fn follows_pages(&self, tool: &ToolSpec) -> bool {
        match self {
            Self::Native => false,
            Self::Mapped(mapping) => mapping.tool(tool).is_some_and(|mapped| mapped.paging.is_some()),
        }
    }

    /// Returns true if the server has another call for a document that does not exist than for one that exists.
    pub fn depends_on_existence(&self, tool: &ToolSpec) -> bool {
        match self {
            Self::Native => false,
            Self::Mapped(mapping) => mapping
                .tool(tool)
                .is_some_and(|mapped| mapped.new.is_some() || mapped.existing.is_some()),
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
    /// Returns false if the server has the contract's own tools, and the file only specifies its start and the location of its
    /// rows.
    pub fn maps_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    fn tool(&self, tool: &ToolSpec) -> Option<&MappedTool> {
        self.tools
            .iter()
            .find(|mapped| mapped.tool.label() == tool.label())
    }

    fn params(
        &self,
        tool: &ToolSpec,
        arguments: &Value,
        root: &Path,
        ask: impl FnOnce(Value) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let not_mapped = || format!("the adapter does not map `{}`", tool.label());
        let mapped = self.tool(tool).ok_or_else(|| not_applicable(not_mapped()))?;
        let (values, call) = self.values(mapped, arguments, root);
        let call = call.map_err(|of| not_applicable(not_mapped() + &of))?;
        let mut taken = Map::new();
        if let Some(before) = &call.before {
            let mut message = ask(before.call.params(&values)?)?;
            for (name, source) in &before.take {
                source.note(&mut message, &values);
                // A refusal gives no values: the document may not exist yet.
                if mapped.response.refusal(&message).is_none() {
                    taken.extend(source.value(&message).map(|value| (name.clone(), value)));
                }
            }
        }
        call.params(&values.with_taken(taken))
    }

    /// Returns the values of a request, and the call for it, or the reason why there is none.
    fn values<'a>(
        &self,
        mapped: &'a MappedTool,
        arguments: &'a Value,
        root: &'a Path,
    ) -> (values::Values<'a>, Result<&'a Call, String>) {
        let doing = doing(self.contract, mapped.tool);
        let values = values::Values::new(doing, arguments, root);
        let effect = doing.effect(arguments).map(|effect| effect.kind);
        let exists = || fs::symlink_metadata(values.document()).is_ok();
        let call = mapped.call(effect, exists);
        (values, call)
    }

    fn finish(
        &self,
        mapped: &MappedTool,
        arguments: &Value,
        root: &Path,
        first: Value,
        mut ask: impl FnMut(Value) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let (mut values, call) = self.values(mapped, arguments, root);
        let mut message = first;
        mapped.response.note(&mut message, &values);
        let (Some(paging), Ok(call)) = (&mapped.paging, call) else {
            return Ok(message);
        };
        let (mut pages, mut readings) = (1, 1);
        let same = |message: &Value| paging.same.as_ref().and_then(|same| same.value(message));
        let mut of = same(&message);
        while mapped.response.refusal(&message).is_none()
            && let Some(next) = mapped.response.next(paging, &message)
        {
            values = values.with_next(next);
            let mut page = ask(call.params(&values)?)?;
            mapped.response.note(&mut page, &values);
            let is_other = mapped.response.refusal(&page).is_some() || same(&page) != of;
            if is_other {
                // The document has changed between two pages.
                values = self.values(mapped, arguments, root).0;
                message = ask(call.params(&values)?)?;
                mapped.response.note(&mut message, &values);
                of = same(&message);
                (pages, readings) = (1, readings + 1);
            } else {
                response::note_page(&mut page, message);
                message = page;
                pages += 1;
            }
            if pages > MAX_PAGES || readings > MAX_READINGS {
                let why = if pages > MAX_PAGES {
                    "does not end"
                } else {
                    "can't be read to its end"
                };
                return Err(fail(format!(
                    "the answer of `{}` {why}: {pages} pages, {readings} readings",
                    call.name
                )));
            }
        }
        Ok(message)
    }
}

fn not_applicable(why: impl Into<String>) -> Stop {
    Stop::NotApplicable(why.into())
}

impl Call {
    /// Returns the parameters of `tools/call`.
    fn params(&self, values: &values::Values<'_>) -> Result<Value, Stop> {
        let filled = self.arguments.fill(values).map_err(not_applicable)?;
        Ok(json!({ "name": self.name, "arguments": filled.unwrap_or_else(|| json!({})) }))
    }

    /// Returns the names of the server's tools.
    fn names(&self) -> Vec<String> {
        let before = self.before.as_ref().map(|before| before.call.name.clone());
        [self.name.clone()].into_iter().chain(before).collect()
    }
}

impl MappedTool {
    fn names(&self) -> impl Iterator<Item = String> + '_ {
        let effects = self.effects.iter().map(|(_, call)| call);
        let by_state = self.new.iter().chain(&self.existing);
        self.plain
            .iter()
            .chain(effects)
            .chain(by_state)
            .flat_map(Call::names)
    }

    /// Returns true if there is a call for this effect, on a new document or on one that exists.
    fn has(&self, effect: EffectKind) -> bool {
        [true, false]
            .into_iter()
            .any(|exists| self.call(Some(effect), || exists).is_ok())
    }

    /// Returns the call for this effect on a document that `exists` or not.
    ///
    /// # Errors
    /// A clause that ends a sentence, if the adapter does not map the call.
    fn call(&self, effect: Option<EffectKind>, exists: impl FnOnce() -> bool) -> Result<&Call, String> {
        let own = self.effects.iter().find(|(kind, _)| Some(*kind) == effect);
        if let Some((_, call)) = own {
            return Ok(call);
        }
        let is_for = |when: &Vec<EffectKind>| effect.is_some_and(|kind| when.contains(&kind));
        let of = effect.map_or_else(String::new, |kind| format!(" with the effect `{kind}`"));
        let plain = || {
            let all = self.when.as_ref().is_none_or(is_for);
            self.plain.as_ref().filter(|_| all)
        };
        if self.new.is_none() && self.existing.is_none() {
            return plain().ok_or(of);
        }
        let (state, call) = if exists() {
            ("exists", &self.existing)
        } else {
            ("does not exist", &self.new)
        };
        call.as_ref()
            .or_else(plain)
            .ok_or_else(|| format!("{of} for a document that {state}"))
    }
}

/// Returns the tool that applies a request of `tool`: the previewed tool if `tool` is a preview, else `tool`.
pub(crate) fn doing(contract: &ContractSpec, tool: &'static ToolSpec) -> &'static ToolSpec {
    let previews = contract.previews.iter().find(|pair| pair.preview == tool.label());
    previews
        .and_then(|pair| contract.operation(pair.applies))
        .unwrap_or(tool)
}

/// Reads a response that has the contract's shape.
fn native(message: &Value) -> Reply {
    if let Some(refusal) = Refusal::from_message(message) {
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
