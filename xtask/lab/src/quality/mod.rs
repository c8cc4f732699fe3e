//! `cargo lab quality`: how well texts are found, on public collections of labelled queries.
//!
//! The collections are not part of the project. README.md lists where they come from and the form in which they are read. Each has a
//! module, which returns a [`Run`]: what was found for each query.
//!
//! | module | collections | what is searched |
//! |---|---|---|
//! | [`code_search`] | `code-search` | indexes of code |
//! | [`locomo`] | `locomo` | the memory |
//! | [`abstracts`] | `scifact`, `cranfield`, `cosqa` | the memory, each text alone |
//!
//! All of it goes through the program over MCP, with the contract `mcb`. Where a model is installed, vectors are waited for.

mod abstracts;
mod agent;
mod code_search;
mod data;
mod locomo;
mod measure;
mod report;

use std::path::{Path, PathBuf};

use clap::Args;

use self::report::Run;
use xtask::{Outcome, root, run};

/// Number of results that are asked for.
const LIMIT: usize = 1000;

/// Measures a collection in a folder.
type Measure = fn(&Path, &Options) -> Outcome<Run>;

/// The collections by their folders, and how each is searched.
const COLLECTIONS: &[(&str, Measure)] = &[
    ("code-search", code_search::run),
    ("locomo", locomo::run),
    ("scifact", abstracts::run),
    ("cranfield", abstracts::run),
    ("cosqa", abstracts::run),
];

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Folder of the collections: `code-search`, `locomo`, `scifact`, `cranfield`, `cosqa`; those that are missing are skipped
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Also write the results, one file for each collection, as JSON lines
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Only these collections
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// The program to search through; if omitted, a release build of this one
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Keep the program's data folders here, so that what has a vector already needs none when the same is measured again
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Only the first parts of a collection, and the queries about them: conversations of `locomo`, repositories of `code-search`
    #[arg(long, value_name = "NUMBER")]
    parts: Option<usize>,
    /// Remember each session of `locomo` as one long observation, instead of its turns
    #[arg(long)]
    sessions: bool,
    /// Index the whole repositories of `code-search`, with their tests, documents and other languages
    #[arg(long)]
    whole: bool,
}

impl Options {
    /// Returns the program to search through, built if it is this one.
    fn program(&self) -> Outcome<PathBuf> {
        if let Some(program) = &self.program {
            return Ok(program
                .canonicalize()
                .map_err(|error| format!("`{}`: {error}", program.display()))?);
        }
        run::cargo(&["build", "--release", "--quiet", "--bin", "tabellion"])?;
        Ok(root().join("target/release/tabellion"))
    }
}

/// Prints the figures of each collection.
///
/// # Errors
/// If no collection is there, or one can't be read, indexed or searched.
pub(crate) fn print(options: &Options) -> Outcome {
    let mut printed = 0;
    let is_asked = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    for (name, search) in COLLECTIONS.iter().filter(|(name, _)| is_asked(name)) {
        let folder = options.data.join(name);
        if !folder.join("queries.jsonl").exists() {
            println!("{name}: not in `{}`, skipped", options.data.display());
            continue;
        }
        let run = search(&folder, options)?;
        if let Some(runs) = &options.runs {
            run.write(runs, name)?;
        }
        run.print(name, &folder)?;
        printed += 1;
    }
    if printed == 0 {
        return Err("no collection found; xtask/lab/README.md says where they come from".into());
    }
    Ok(())
}
