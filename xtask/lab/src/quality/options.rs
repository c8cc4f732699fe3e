//! The task's options.

use std::path::PathBuf;

use clap::Args;

use xtask::{Outcome, run};

/// Number of results to request.
pub(super) const LIMIT: usize = 1000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Folder of the collections: `code-search`, `locomo`, `scifact`, `cranfield`, `cosqa`; those that are missing are skipped
    #[arg(long, value_name = "DIR")]
    pub(super) data: PathBuf,
    /// Also write the results, one file for each collection, as JSON lines
    #[arg(long, value_name = "DIR")]
    pub(super) runs: Option<PathBuf>,
    /// Only these collections
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// The program to search through; if omitted, a release build of this one
    #[arg(long, value_name = "PATH")]
    pub(super) program: Option<PathBuf>,
    /// Keep the program's data folders here, so that what has a vector already needs none when the same is measured again
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// Only the first parts of a collection, and the queries about them: conversations of `locomo`, repositories of `code-search`
    #[arg(long, value_name = "NUMBER")]
    pub(super) parts: Option<usize>,
    /// Remember each session of `locomo` as one long observation, instead of its turns
    #[arg(long)]
    pub(super) sessions: bool,
    /// Index the whole repositories of `code-search`, with their tests, documents and other languages
    #[arg(long)]
    pub(super) whole: bool,
}

impl Options {
    /// Returns the program to search through, built if it is this one.
    pub(super) fn program(&self) -> Outcome<PathBuf> {
        if let Some(program) = &self.program {
            return Ok(program
                .canonicalize()
                .map_err(|error| format!("`{}`: {error}", program.display()))?);
        }
        run::release("tabellion")
    }
}
