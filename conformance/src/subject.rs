//! The server under test: its contract, and the instructions to start and reach it.

use std::collections::BTreeSet;

use tabellion_runtime::{
    ContractSpec, ToolSpec,
    spec::{Effect, EffectKind, GuaranteeKind},
};

use crate::{
    Own,
    adapter::Adapter,
    contracts,
    era::Era,
    launch::Launch,
    ledger::Source,
    request::{self, Call, With},
    sdk::Sdk,
    setup::Setup,
};

/// A server under test.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Name in reports.
    pub name: String,
    /// Contract to test it against.
    pub contract: &'static ContractSpec,
    /// Instructions to start it.
    pub launch: Launch,
    /// Mapping of its tools to the contract's.
    pub adapter: Adapter,
    /// Era of all connections.
    pub era: Era,
    /// Its own state in the library, which the suite disregards.
    pub own: Own,
    /// Files that it creates in the library when it starts. `pure/start-changes-nothing` reports them; the other checks
    /// disregard them.
    pub made_at_start: Own,
    /// Files, folders and command that prepare a library before it starts.
    pub setup: Setup,
    /// Location of its rows, if the contract's store has any.
    pub ledger: Source,
    /// The kit that it is written with, if it is known and the tools are not the contract's own.
    pub sdk: Option<&'static Sdk>,
    /// Time of its commits. If the contract promises commits and it does not commit before it answers, the checks about
    /// commits fail, and the others judge by documents alone.
    pub commits: Commits,
}

/// When a server commits its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    /// Before the answer.
    BeforeAnswer,
    /// Some time after the answer, at the latest when it ends.
    Later,
    /// Never.
    Never,
}

impl Subject {
    /// Returns a server that `command` starts and that has the contract's own tools. It is named after its program,
    /// speaks the older era over standard input and output, and is expected to commit its changes.
    pub fn new(contract: &'static ContractSpec, command: Vec<String>) -> Self {
        Self {
            name: command.first().cloned().unwrap_or_default(),
            contract,
            launch: Launch::new(command),
            adapter: Adapter::Native,
            era: Era::Session,
            own: Own::default(),
            made_at_start: Own::default(),
            setup: Setup::default(),
            ledger: Source::default(),
            sdk: None,
            commits: Commits::BeforeAnswer,
        }
    }

    /// Returns true if the server implements the contract's own tools, and not a contract of its own declarations.
    pub fn is_native(&self) -> bool {
        matches!(self.adapter, Adapter::Native) && !contracts::is_declared(self.contract)
    }

    /// Returns true if the server's tools have the contract's schemas: the contract's own tools, or those that the server
    /// declares.
    pub fn has_own_schemas(&self) -> bool {
        matches!(self.adapter, Adapter::Native)
    }

    /// Returns the first operation of the server with an effect of this kind, and the effect.
    pub fn tool_with(&self, kind: EffectKind) -> Option<(&'static ToolSpec, &'static Effect)> {
        let operations = self.contract.operations();
        let mut effects = operations.flat_map(|tool| tool.effects.iter().map(move |effect| (tool, effect)));
        effects.find(|(tool, effect)| effect.kind == kind && self.adapter.has(tool, Some(effect)))
    }

    /// Returns true if each mutation should make a commit before it is answered.
    pub fn should_commit(&self) -> bool {
        let mut guarantees = self.contract.guarantees.iter();
        self.commits == Commits::BeforeAnswer
            && guarantees.any(|guarantee| guarantee.kind == Some(GuaranteeKind::Commit))
    }

    /// Returns true if the server has a tool that previews another.
    pub fn has_previews(&self) -> bool {
        let pairs = self.contract.previews.iter();
        let mut tools = pairs.filter_map(|pair| self.contract.operation(pair.preview));
        tools.any(|tool| self.adapter.has(tool, None))
    }

    /// Returns the operations that the server has, in the contract's order. A tool without selectors is one.
    pub fn operations(&self) -> impl Iterator<Item = &'static ToolSpec> + '_ {
        let operations = self.contract.operations();
        operations.filter(|tool| self.adapter.has(tool, None))
    }

    /// Returns a request that has an effect of this kind on the document that `with` names; `None` if the server has no such
    /// tool, or only one for other documents, or the contract does not let it name this one.
    pub fn request(&self, kind: EffectKind, with: With<'_>) -> Option<Call> {
        let (tool, effect) = self.tool_with(kind)?;
        let call = request::with_effect(tool, effect, with)?;
        (call.path() == with.path && request::may_name(&call)).then_some(call)
    }

    /// Returns the path for a document that a tool with an effect of this kind can name: `wanted` if the contract permits it,
    /// otherwise one like its examples'. Without such a tool or example, it is `wanted`.
    pub fn place(&self, kind: EffectKind, wanted: &str) -> String {
        let tool = self.tool_with(kind).map(|(tool, _)| tool);
        let place = tool.filter(|tool| tool.path.is_some()).and_then(|tool| request::place(tool, wanted));
        place.unwrap_or_else(|| wanted.to_owned())
    }

    /// Returns a request that has an effect of this kind on the document that `with` names, or on its [`place`](Self::place).
    pub fn placed(&self, kind: EffectKind, with: With<'_>) -> Option<Call> {
        let path = self.place(kind, with.path);
        self.request(kind, With { path: &path, ..with })
    }

    /// Returns the paths by which the server's tools can name a document: `wanted`, or places like their examples'.
    pub fn places(&self, wanted: &str) -> BTreeSet<String> {
        let tools = self.operations().filter(|tool| tool.path.is_some());
        tools.filter_map(|tool| request::place(tool, wanted)).chain([wanted.to_owned()]).collect()
    }

    /// Returns requests about the document that `with` names: for each tool, one per effect, or its example if it has none. If
    /// the contract does not let a tool name the document, they are about one of its [`places`](Self::places).
    pub fn requests(&self, with: With<'_>) -> Vec<Call> {
        let mut calls = Vec::new();
        for tool in self.operations() {
            let place = request::place(tool, with.path);
            let with = With { path: place.as_deref().unwrap_or(with.path), ..with };
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
        calls.retain(request::may_name);
        calls
    }
}
