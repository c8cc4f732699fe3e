//! An adapter's file as data: the server, and its calls for the contract's tools.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};
use tabellion_runtime::{ContractSpec, ToolSpec, spec::EffectKind};

use super::{
    response::{self, Paging},
    template::Template,
    values::Values,
};
use crate::{
    Own,
    judgement::{Stop, fail, not_applicable},
    ledger::Source,
    setup::Setup,
};

/// Number of pages after which an answer is taken for endless.
const MAX_PAGES: usize = 1000;
/// Maximum number of times that pages are read again from the first one because the document has changed meanwhile.
const MAX_READINGS: usize = 20;

/// Content of an adapter's file.
#[derive(Debug)]
pub struct Mapping {
    /// Server that the adapter is for.
    pub server: Server,
    /// Contract whose tools are mapped.
    pub contract: &'static ContractSpec,
    /// The server's obligations: that contract, or its author's promises.
    pub held_to: &'static ContractSpec,
    pub(super) tools: Vec<MappedTool>,
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
pub(super) struct MappedTool {
    pub(super) tool: &'static ToolSpec,
    /// Call for all effects without an entry in `effects`.
    pub(super) plain: Option<Call>,
    /// Effects that `plain` covers; all if absent.
    pub(super) when: Option<Vec<EffectKind>>,
    pub(super) effects: Vec<(EffectKind, Call)>,
    /// Call for a document that does not exist.
    pub(super) new: Option<Call>,
    /// Call for a document that exists.
    pub(super) existing: Option<Call>,
    pub(super) response: response::Mapping,
    pub(super) paging: Option<Paging>,
}

/// A call of a server's tool.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Template,
    pub(super) before: Option<Box<Before>>,
}

/// A call that must precede the call proper, and the values that it gives.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) call: Call,
    pub(super) take: Vec<(String, response::Source)>,
}

impl Mapping {
    /// Returns false if the server has the contract's own tools, and the file only specifies its start and the location of its
    /// rows.
    pub fn maps_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    pub(super) fn tool(&self, tool: &ToolSpec) -> Option<&MappedTool> {
        self.tools.iter().find(|mapped| mapped.tool.label() == tool.label())
    }

    pub(super) fn params(
        &self,
        tool: &ToolSpec,
        arguments: &Value,
        root: &Path,
        ask: impl FnOnce(Value) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let not_mapped = || format!("the adapter does not map `{}`", tool.label());
        let mapped = self.tool(tool).ok_or_else(|| not_applicable(not_mapped()))?;
        let (mut values, call) = self.values(mapped, arguments, root);
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
        values.taken = taken;
        call.params(&values)
    }

    /// Returns the values of a request, and the call for it, or the reason why there is none.
    fn values<'a>(
        &self,
        mapped: &'a MappedTool,
        arguments: &'a Value,
        root: &'a Path,
    ) -> (Values<'a>, Result<&'a Call, String>) {
        let doing = doing(self.contract, mapped.tool);
        let values = Values::new(doing, arguments, root);
        let effect = doing.effect(arguments).map(|effect| effect.kind);
        let exists = || fs::symlink_metadata(values.document()).is_ok();
        let call = mapped.call(effect, exists);
        (values, call)
    }

    pub(super) fn finish(
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
            values.next = Some(next);
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
                let why = if pages > MAX_PAGES { "does not end" } else { "can't be read to its end" };
                return Err(fail(format!(
                    "the answer of `{}` {why}: {pages} pages, {readings} readings",
                    call.name
                )));
            }
        }
        Ok(message)
    }
}

impl Call {
    /// Returns the parameters of `tools/call`.
    pub(super) fn params(&self, values: &Values<'_>) -> Result<Value, Stop> {
        let filled = self.arguments.fill(values).map_err(not_applicable)?;
        Ok(json!({ "name": self.name, "arguments": filled.unwrap_or_else(|| json!({})) }))
    }

    /// Returns the names of the server's tools.
    pub(super) fn names(&self) -> Vec<String> {
        let before = self.before.as_ref().map(|before| before.call.name.clone());
        [self.name.clone()].into_iter().chain(before).collect()
    }
}

impl MappedTool {
    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        let effects = self.effects.iter().map(|(_, call)| call);
        let by_state = self.new.iter().chain(&self.existing);
        self.plain.iter().chain(effects).chain(by_state).flat_map(Call::names)
    }

    /// Returns true if there is a call for this effect, on a new document or on one that exists.
    pub(super) fn has(&self, effect: EffectKind) -> bool {
        [true, false].into_iter().any(|exists| self.call(Some(effect), || exists).is_ok())
    }

    /// Returns the call for this effect on a document that `exists` or not.
    ///
    /// # Errors
    /// A clause that ends a sentence, if the adapter does not map the call.
    pub(super) fn call(
        &self,
        effect: Option<EffectKind>,
        exists: impl FnOnce() -> bool,
    ) -> Result<&Call, String> {
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
        let (state, call) = if exists() { ("exists", &self.existing) } else { ("does not exist", &self.new) };
        call.as_ref().or_else(plain).ok_or_else(|| format!("{of} for a document that {state}"))
    }
}

/// Returns the tool that applies a request of `tool`: the previewed tool if `tool` is a preview, else `tool`.
pub(super) fn doing(contract: &ContractSpec, tool: &'static ToolSpec) -> &'static ToolSpec {
    let previews = contract.previews.iter().find(|pair| pair.preview == tool.label());
    previews.and_then(|pair| contract.operation(pair.applies)).unwrap_or(tool)
}
