//! The server under test: which contract it is held to, how it is started, and how it is spoken to.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tabellion_schemas::{
    ContractSpec, ToolSpec,
    spec::{Effect, EffectKind},
};

use crate::adapter::Adapter;

/// The guarantee that every mutation makes a commit.
const COMMITS: &str = "commit-per-mutation";

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

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program and arguments; `{library}` in them is the folder of the library.
    pub command: Vec<String>,
    /// Variables added to the environment; `{library}` as well.
    pub environment: Vec<(String, String)>,
    /// Working directory, if not the tester's; `{library}` as well.
    pub directory: Option<PathBuf>,
    /// Whether what it writes to standard error is shown.
    pub verbose: bool,
    /// How long it may take for an answer, the first one included.
    pub patience: Duration,
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
        self.commits && guarantees.any(|guarantee| guarantee.id == COMMITS)
    }

    /// The tools that the server has, in the contract's order.
    pub fn tools(&self) -> impl Iterator<Item = &'static ToolSpec> + '_ {
        let tools = self.contract.tools.iter();
        tools.filter(|tool| self.adapter.has(tool, None))
    }
}

impl Launch {
    /// A command with the default patience and nothing else.
    pub fn of(command: Vec<String>) -> Self {
        Self {
            command,
            environment: Vec::new(),
            directory: None,
            verbose: false,
            patience: crate::target::PATIENCE,
        }
    }

    /// Whether the server is told which library to serve.
    pub fn names_library(&self) -> bool {
        let directory = self.directory.iter().map(|directory| directory.to_string_lossy());
        let variables = self.environment.iter().map(|(_, value)| value.into());
        let mut all = self
            .command
            .iter()
            .map(Into::into)
            .chain(variables)
            .chain(directory);
        all.any(|text: Cow<'_, str>| text.contains("{library}"))
    }

    /// The command that serves the library at `root`.
    pub fn command(&self, root: &Path) -> Command {
        let filled = |text: &str| text.replace("{library}", &root.to_string_lossy());
        let mut arguments = self.command.iter().map(|argument| filled(argument));
        let mut command = Command::new(arguments.next().unwrap_or_default());
        command.args(arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, filled(value))));
        if let Some(directory) = &self.directory {
            command.current_dir(filled(&directory.to_string_lossy()));
        }
        if !self.verbose {
            command.stderr(Stdio::null());
        }
        command
    }
}
