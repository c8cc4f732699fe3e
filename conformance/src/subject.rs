//! The server under test: which contract it is held to, how it is started, and how it is spoken to.

use tabellion_runtime::{
    ContractSpec, ToolSpec,
    spec::{Effect, EffectKind, GuaranteeKind},
};

use crate::{
    adapter::Adapter,
    era::Era,
    launch::Launch,
    request::{self, Call, With},
};

/// A server under test.
#[derive(Debug, Clone)]
pub struct Subject {
    /// What reports call it.
    pub name: String,
    /// What it is held to.
    pub contract: &'static ContractSpec,
    /// How it is started.
    pub launch: Launch,
    /// How its tools are named and shaped where they are not the contract's.
    pub adapter: Adapter,
    /// How it is spoken to.
    pub era: Era,
    /// Whether it commits what it changes. Where a contract promises that, a server that never does breaks the promise;
    /// what else it promises is judged by its documents alone.
    pub commits: bool,
}

impl Subject {
    /// Returns a server that `command` starts and that has the contract's own tools. It is named after its program, speaks
    /// the older era over its standard input and output, and is to commit what it changes.
    pub fn new(contract: &'static ContractSpec, command: Vec<String>) -> Self {
        Self {
            name: command.first().cloned().unwrap_or_default(),
            contract,
            launch: Launch::of(command),
            adapter: Adapter::Native,
            era: Era::Session,
            commits: true,
        }
    }

    /// The first tool with an effect of this kind that the server has, and the effect.
    pub fn tool_with(&self, kind: EffectKind) -> Option<(&'static ToolSpec, &'static Effect)> {
        let tools = self.contract.tools.iter();
        let mut effects = tools.flat_map(|tool| tool.effects.iter().map(move |effect| (tool, effect)));
        effects.find(|(tool, effect)| effect.kind == kind && self.adapter.has(tool, Some(effect)))
    }

    /// Whether each mutation should be found as a commit.
    pub fn should_commit(&self) -> bool {
        let mut guarantees = self.contract.guarantees.iter();
        self.commits && guarantees.any(|guarantee| guarantee.kind == Some(GuaranteeKind::Commit))
    }

    /// The tools that the server has, in the contract's order.
    pub fn tools(&self) -> impl Iterator<Item = &'static ToolSpec> + '_ {
        let tools = self.contract.tools.iter();
        tools.filter(|tool| self.adapter.has(tool, None))
    }

    /// A request that has an effect of this kind on the document that `with` names; `None` if the server has no tool for
    /// it, or only one for other documents.
    pub fn request(&self, kind: EffectKind, with: With<'_>) -> Option<Call> {
        let (tool, effect) = self.tool_with(kind)?;
        request::with_effect(tool, effect, with).filter(|call| call.path() == with.path)
    }

    /// Requests of all tools, of every effect that a tool has or the plain example of one that has none, all about the
    /// document `with` names.
    pub fn requests(&self, with: With<'_>) -> Vec<Call> {
        let mut calls = Vec::new();
        for tool in self.tools() {
            if tool.effects.is_empty() {
                let arguments = request::examples(tool).next();
                calls.extend(
                    request::about(tool, with.path).or(arguments.map(|arguments| Call { tool, arguments })),
                );
                continue;
            }
            let effects = tool.effects.iter();
            let known = effects.filter(|effect| self.adapter.has(tool, Some(effect)));
            calls.extend(known.filter_map(|effect| request::with_effect(tool, effect, with)));
        }
        calls
    }
}
