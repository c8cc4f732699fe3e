//! The commands for people at a terminal: their arguments.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use tabellion_pack::review::{Decide, Shown};
use tabellion_runtime::calls::{ExecutionFilter, ExecutionStatus};
use tabellion_terminal::{self as terminal, audit, review};
use tabellion_upkeep::{TerminalError, page::Output};

use super::{
    arguments::{InLibrary, Show},
    remote,
};
use crate::PACKS;

/// A command for people.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a folder a library: create it, and a git repository in it, unless they exist
    Init {
        /// The folder
        #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
        folder: PathBuf,
        #[command(flatten)]
        show: Show,
    },
    /// List the log's entries, the newest first: every change made through this program
    Log {
        /// Only entries that changed this document, or documents in this folder
        path: Option<String>,
        /// List at most this many
        #[arg(short = 'n', long = "max-count", value_name = "NUMBER")]
        limit: Option<NonZeroUsize>,
        #[command(flatten)]
        at: InLibrary,
    },
    /// Show an entry of the log, and its change
    Show {
        /// Commit id of the entry, or its first digits
        entry: String,
        #[command(flatten)]
        at: InLibrary,
    },
    /// Show changes that are not committed yet
    ///
    /// An agent's change to such a document first commits it as it is. Untracked documents are shown if they are named.
    Diff {
        /// Only this document, or documents in this folder
        path: Option<String>,
        /// Show all untracked documents too
        #[arg(long)]
        untracked: bool,
        #[command(flatten)]
        at: InLibrary,
    },
    /// Undo an entry of the log in a new commit, and keep later changes
    ///
    /// If a later change is in the way, the conflict is shown and nothing is changed.
    Undo {
        /// Commit id of the entry, or its first digits
        entry: String,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        at: InLibrary,
    },
    /// List the calls that are kept beside a library, and check that they agree with its commits (`--contract brainforge`)
    Audit {
        #[command(flatten)]
        calls: Calls,
        #[command(flatten)]
        at: InLibrary,
    },
    /// Decide on agents' proposals, for libraries with reviews (`--contract brainforge`)
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Review {
        /// Decide in the browser: serve a page on this machine, at the proposal with this id or at the list, until Ctrl-C or an idle
        /// hour. It also shows the log of any library, and undoes
        #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
        web: Option<String>,
        /// With --web: folder of the library; if omitted, the current folder
        #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true, requires = "web")]
        library: PathBuf,
        #[command(subcommand)]
        what: Option<Review>,
    },
    /// Share a library with other machines through a git remote
    #[command(subcommand)]
    Remote(remote::Remote),
    /// Take the remote's commits, and push those that it does not have
    ///
    /// A server does this by itself.
    Sync(remote::Sync),
    /// Show documents that were changed on two machines and could not be merged
    #[command(subcommand)]
    Conflicts(remote::Conflicts),
    /// Show where the next change goes, and which documents are not committed
    Status {
        #[command(flatten)]
        at: InLibrary,
    },
}

pub(super) fn run(command: &Command) -> Result<(), TerminalError> {
    match command {
        Command::Init { folder, show } => terminal::init(folder, show.into()),
        Command::Log { path, limit, at } => {
            terminal::log(at.folder(), path.as_deref(), limit.map(NonZeroUsize::get), at.output())
        }
        Command::Show { entry, at } => terminal::show(at.folder(), entry, at.output()),
        Command::Diff { path, untracked, at } => {
            terminal::diff(at.folder(), path.as_deref(), *untracked, at.output())
        }
        Command::Undo { entry, dry_run, at } => {
            terminal::undo(at.folder(), entry, *dry_run, PACKS, at.output())
        }
        Command::Audit { calls, at } => calls.run(at.folder(), at.output()),
        Command::Review { what: Some(what), .. } => what.run(),
        Command::Review { web, library, what: None } => {
            let id = web.as_deref().filter(|id| !id.is_empty());
            terminal::web(library, id, PACKS)
        }
        Command::Remote(what) => what.run(),
        Command::Sync(sync) => sync.run(),
        Command::Conflicts(what) => what.run(),
        Command::Status { at } => terminal::status(at.folder(), PACKS, at.output()),
    }
}

/// Which calls to list, or to check.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Calls {
    /// Compare all executions with the commits instead: each commit has its execution, and each success of a changing tool its commit.
    /// The exit code is 1 if they disagree
    #[arg(long, conflicts_with = "filter")]
    check: bool,

    #[command(flatten)]
    filter: Filter,
}

/// Characters of an id that name it.
const MIN_ID: usize = 4;

/// Which calls to list. Each condition narrows.
#[derive(Debug, Args)]
#[group(id = "filter", multiple = true)]
struct Filter {
    /// Only calls in this session: its id, or the beginning of it
    #[arg(long, value_name = "ID", value_parser = beginning)]
    session: Option<String>,

    /// Only calls by this caller, as in `agent:helper/ann@example.com`
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,

    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only calls in this state: pending, running, success, failed, cancelled
    #[arg(long, value_name = "STATE", value_parser = status)]
    status: Option<ExecutionStatus>,

    /// Only calls from this time on (RFC 3339), as in `2026-11-02T09:00:00Z`
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<DateTime<Utc>>,

    /// Only calls before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<DateTime<Utc>>,

    /// List at most this many, the last ones
    #[arg(short = 'n', long = "max-count", value_name = "NUMBER")]
    limit: Option<NonZeroUsize>,
}

/// Parses the beginning of an id. An unset variable names none.
fn beginning(text: &str) -> Result<String, String> {
    let is_one = text.len() >= MIN_ID;
    is_one.then(|| text.to_owned()).ok_or_else(|| format!("give at least {MIN_ID} characters of the id"))
}

fn time(text: &str) -> Result<DateTime<Utc>, String> {
    let time = DateTime::parse_from_rfc3339(text);
    time.map(|time| time.to_utc()).map_err(|error| format!("{error}; write it as in `2026-11-02T09:00:00Z`"))
}

fn status(text: &str) -> Result<ExecutionStatus, String> {
    let mut all = ExecutionStatus::ALL.iter();
    let found = all.find(|status| status.to_string() == text).copied();
    found.ok_or_else(|| {
        let all: Vec<_> = ExecutionStatus::ALL.iter().map(ToString::to_string).collect();
        format!("there is no such state; there are {}", all.join(", "))
    })
}

impl Calls {
    fn run(&self, folder: &Path, output: Output) -> Result<(), TerminalError> {
        if self.check {
            return audit::check(folder, PACKS, output);
        }
        let Filter { session, caller, tool, status, since, until, limit } = &self.filter;
        let filter = ExecutionFilter {
            session: None,
            caller: caller.clone(),
            tool: tool.clone(),
            status: *status,
            since: *since,
            until: *until,
        };
        audit::list(folder, (&filter, session.as_deref()), limit.map(NonZeroUsize::get), PACKS, output)
    }
}

/// Operations of a reviewer.
#[derive(Debug, Subcommand)]
pub(super) enum Review {
    /// List the proposals that wait, the oldest first
    List {
        /// List at most this many
        #[arg(short = 'n', long = "max-count", value_name = "NUMBER", default_value = "100")]
        limit: NonZeroUsize,
        /// List all
        #[arg(long, conflicts_with = "limit")]
        all: bool,
        #[command(flatten)]
        at: InLibrary,
    },
    /// Show a proposal, and the changes that its approval makes
    Show {
        /// Id of the review, or its beginning
        id: String,
        #[command(flatten)]
        at: InLibrary,
    },
    /// Make a proposal part of the library, or some parts of it
    Approve {
        /// Take only the part with this number, as `show` lists them; may be repeated. The others go back to the author
        #[arg(long = "part", value_name = "NUMBER")]
        parts: Vec<usize>,
        #[command(flatten)]
        decision: Decision,
    },
    /// Refuse a proposal, and say why
    Reject {
        #[command(flatten)]
        decision: Decision,
    },
    /// Ask the author to revise a proposal, and say how
    Revise {
        #[command(flatten)]
        decision: Decision,
    },
    /// Take a proposal of your own back
    Withdraw {
        #[command(flatten)]
        decision: Decision,
    },
}

/// Digits of a revision that name it.
const MIN_REVISION: usize = 7;

/// A decision on a proposal.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Decision {
    /// Id of the review, or its beginning
    id: String,
    /// Your message; needed to reject it or to have it revised
    #[arg(short = 'm', long, value_name = "TEXT")]
    notes: Option<String>,
    /// The revision that you decide on, or its beginning, as `show` prints it; by default the one you were shown last
    #[arg(long, value_parser = revision)]
    revision: Option<String>,
    #[command(flatten)]
    at: InLibrary,
}

fn revision(text: &str) -> Result<String, String> {
    let is_one = text.len() >= MIN_REVISION && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let wrong = || format!("a revision has at least {MIN_REVISION} hexadecimal digits");
    is_one.then(|| text.to_ascii_lowercase()).ok_or_else(wrong)
}

impl Review {
    fn run(&self) -> Result<(), TerminalError> {
        match self {
            Self::List { limit, all, at } => {
                let limit = if *all { usize::MAX } else { limit.get() };
                review::list(at.folder(), limit, PACKS, at.output())
            }
            Self::Show { id, at } => review::show(at.folder(), id, PACKS, at.output()),
            Self::Approve { parts, decision } if !parts.is_empty() => decision.make("approve_part", parts),
            Self::Approve { decision, .. } => decision.make("approve", &[]),
            Self::Reject { decision } => decision.make("reject", &[]),
            Self::Revise { decision } => decision.make("needs_revision", &[]),
            Self::Withdraw { decision } => decision.make("withdraw", &[]),
        }
    }
}

impl Decision {
    fn make(&self, on: &str, parts: &[usize]) -> Result<(), TerminalError> {
        let decide = Decide {
            id: self.id.clone(),
            on: on.into(),
            notes: self.notes.clone(),
            shown: Shown { revision: self.revision.clone(), parts: parts.to_vec(), ..Shown::default() },
        };
        review::decide(self.at.folder(), decide, PACKS, self.at.output())
    }
}
