//! The commands for sharing a library with other machines: their arguments.

use std::time::Duration;

use clap::{Args, Subcommand};
use tabellion_library::Acknowledge;

use tabellion_terminal::remote;
use tabellion_upkeep::TerminalError;

use super::arguments::{InLibrary, words};
use crate::PACKS;

/// Operations on the remote.
#[derive(Debug, Subcommand)]
pub(super) enum Remote {
    /// Show the remote, and where the library stands
    Show {
        #[command(flatten)]
        at: InLibrary,
    },
    /// Share the library through a branch of a remote
    ///
    /// Every program that changes the library uses it from then on: `serve`, `call`, `undo`, decisions of `review`. What `.git/config` says
    /// later changes nothing.
    Set(Box<Set>),
    /// No longer share the library. Nothing is removed from the remote
    Forget {
        #[command(flatten)]
        at: InLibrary,
    },
}

/// The settings of a remote.
#[derive(Debug, Args)]
pub(super) struct Set {
    /// Name of a remote in git's configuration, a URL (`https://`, `ssh://`, `file://`), `user@host:path`, or a folder
    remote: String,
    /// The branch there; here, the branch of this name must be checked out. By default the one that is
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// When a change is acknowledged
    #[arg(long, value_name = "WHERE", default_value = "local", value_parser = words(&[
        ("local", "Once it is durable here; it is pushed in the background", Acknowledge::Local),
        ("remote", "Once the remote has it", Acknowledge::Remote),
    ]))]
    acknowledge: Acknowledge,
    /// How many seconds a change or a push waits for the remote
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600))]
    wait: u64,
    /// Fetch before a call that reads if the last fetch was more seconds ago
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=86400))]
    pull_after: u64,
    /// Refuse changes while the remote lacks this many commits; otherwise there is no limit
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_unpublished: Option<u16>,
    #[command(flatten)]
    at: InLibrary,
}

/// Takes the remote's commits, and pushes those of the library.
#[derive(Debug, Args)]
pub(super) struct Sync {
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Merge a branch whose history was rewritten, too: what it no longer has comes back
    #[arg(long)]
    accept_rewritten: bool,
    #[command(flatten)]
    at: InLibrary,
}

/// Operations on conflicts.
#[derive(Debug, Subcommand)]
pub(super) enum Conflicts {
    /// List documents that were changed on two machines and could not be merged, with the file of the other version
    List {
        #[command(flatten)]
        at: InLibrary,
    },
    /// Keep one version of a document. If it is not the document's own, it replaces that; the file of the other version is removed
    Keep {
        /// Path of the version: the document, or the other file, as `list` prints them
        path: String,
        #[command(flatten)]
        at: InLibrary,
    },
    /// Show how the other version differs from the document
    Show {
        /// Path of the file with the other version, as `list` prints it
        path: String,
        #[command(flatten)]
        at: InLibrary,
    },
}

impl Remote {
    pub(super) fn run(&self) -> Result<(), TerminalError> {
        match self {
            Self::Show { at } => remote::show(at.folder(), at.output()),
            Self::Set(set) => set.run(),
            Self::Forget { at } => remote::forget(at.folder(), at.output()),
        }
    }
}

impl Set {
    fn run(&self) -> Result<(), TerminalError> {
        let chosen = remote::Chosen {
            remote: &self.remote,
            branch: self.branch.as_deref(),
            acknowledge: self.acknowledge,
            wait: Duration::from_secs(self.wait),
            pull_after: Duration::from_secs(self.pull_after),
            max_unpublished: self.max_unpublished.map(usize::from),
        };
        remote::set(self.at.folder(), &chosen, self.at.output())
    }
}

impl Sync {
    pub(super) fn run(&self) -> Result<(), TerminalError> {
        let (dry_run, accept) = (self.dry_run, self.accept_rewritten);
        remote::sync(self.at.folder(), dry_run, accept, self.at.output())
    }
}

impl Conflicts {
    pub(super) fn run(&self) -> Result<(), TerminalError> {
        match self {
            Self::List { at } => remote::conflicts(at.folder(), at.output()),
            Self::Keep { path, at } => remote::keep(at.folder(), path, PACKS, at.output()),
            Self::Show { path, at } => remote::conflict(at.folder(), path, at.output()),
        }
    }
}
