//! The server under test: which contract it is held to, how it is started, and how it is spoken to.

use tabellion_runtime::{
    ContractSpec, ToolSpec,
    spec::{Effect, EffectKind, GuaranteeKind},
};

use crate::adapter::Adapter;
pub use crate::launch::{Launch, Reach, Running};

/// The document of a contract that is about one: `{document}` in a server's command, below `{library}`.
pub const DOCUMENT: &str = "notes/plan.md";

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

/// A way of speaking MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// Sessions that begin with `initialize`: 2025-11-25 and older.
    Session,
    /// Every request by itself, with what was negotiated in its `_meta`: 2026-07-28.
    Stateless,
}

impl Era {
    /// Both, the older one first.
    pub const ALL: [Self; 2] = [Self::Session, Self::Stateless];

    /// The revision of the protocol that is spoken.
    pub const fn revision(self) -> &'static str {
        match self {
            Self::Session => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// The era in which `revision` is spoken.
    pub fn of(revision: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|era| era.revision() == revision)
    }
}

impl Subject {
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
}
