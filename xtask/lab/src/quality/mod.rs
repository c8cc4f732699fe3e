//! `cargo lab quality`: the quality of searches, on public collections of labelled queries.
//!
//! The collections are not part of the project. README.md lists their sources and the form in which they are read. Each has a
//! module, which returns a [`Run`]: the results of each query.
//!
//! | module | collections | searched |
//! |---|---|---|
//! | [`code_search`] | `code-search` | indexes of code |
//! | [`locomo`] | `locomo` | the memory |
//! | [`abstracts`] | `scifact`, `cranfield`, `cosqa` | the memory, each text alone |
//!
//! Everything goes through the program over MCP, with the contract `mcb`. If a model is installed, the task waits for vectors.

mod abstracts;
mod agent;
mod code_search;
mod data;
mod locomo;
mod measure;
mod options;
mod report;

use std::path::Path;

use self::report::Run;
use xtask::Outcome;

pub(crate) use self::options::Options;

/// Measures a collection in a folder.
type Measure = fn(&Path, &Options) -> Outcome<Run>;

/// The collections by their folders, and the function that searches each.
const COLLECTIONS: &[(&str, Measure)] = &[
    ("code-search", code_search::run),
    ("locomo", locomo::run),
    ("scifact", abstracts::run),
    ("cranfield", abstracts::run),
    ("cosqa", abstracts::run),
];

/// Prints the figures of each collection.
///
/// # Errors
/// If there is no collection, or one can't be read, indexed or searched.
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
