//! `cargo xtask quality`: how well texts are found, on public collections of labelled queries.
//!
//! The collections are not part of the project. README.md lists where they come from and the form in which they are read.

mod data;
mod measure;

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::json;
use tabellion_retrieval::{Document, Filters, Hits, Index, Search};

use self::{
    data::{Collection, Query},
    measure::{Measures, mean},
};
use crate::{Outcome, measure::at};

/// Number of results that are asked for.
const LIMIT: usize = 1000;
/// Name of the facet by which the queries of a collection are kept to their part of it.
const PART: &str = "part";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Folder of the collections: `locomo`, `scifact`, `cranfield`, `cosqa`; those that are missing are skipped
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Also write the results, one file for each collection, as JSON lines
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
}

/// Prints the figures of each collection.
///
/// # Errors
/// If no collection is there, or one can't be read, indexed or searched.
pub(crate) fn print(options: &Options) -> Outcome {
    let mut printed = 0;
    for name in ["locomo", "scifact", "cranfield", "cosqa"] {
        let folder = options.data.join(name);
        if !folder.join("queries.jsonl").exists() {
            println!("{name}: not in `{}`, skipped", options.data.display());
            continue;
        }
        let collection = if name == "locomo" {
            data::conversations(&folder)?
        } else {
            data::abstracts(&folder)?
        };
        let run = Run::of(&collection)?;
        if let Some(folder) = &options.runs {
            run.write(folder, name, &collection)?;
        }
        print_run(name, &collection, &run);
        printed += 1;
    }
    if printed == 0 {
        return Err("no collection found; xtask/README.md says where they come from".into());
    }
    Ok(())
}

/// What was found for each query of a collection.
struct Run {
    found: Vec<Vec<String>>,
    indexing: Duration,
    /// Times of searches, sorted.
    searches: Vec<Duration>,
}

impl Run {
    fn of(collection: &Collection) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let index = Index::open(&folder.path().join("index.db"), "quality")?;
        let start = Instant::now();
        let documents = collection.documents.iter().cloned().map(Ok);
        index.rebuild(documents, 1, None)?;
        let indexing = start.elapsed();
        let mut run = Self {
            found: vec![],
            indexing,
            searches: vec![],
        };
        for query in &collection.queries {
            let start = Instant::now();
            let hits = search(&index, query)?;
            run.searches.push(start.elapsed());
            let ids = hits.hits.into_iter().map(|hit| result(query, &hit.id).to_owned());
            run.found.push(ids.collect());
        }
        run.searches.sort_unstable();
        Ok(run)
    }

    fn write(&self, folder: &Path, name: &str, collection: &Collection) -> Outcome {
        fs::create_dir_all(folder)?;
        let mut file = BufWriter::new(File::create(folder.join(format!("{name}.jsonl")))?);
        for (query, found) in collection.queries.iter().zip(&self.found) {
            writeln!(file, "{}", json!({"query_id": query.id, "results": found}))?;
        }
        Ok(file.flush()?)
    }
}

fn search(index: &Index, query: &Query) -> Outcome<Hits> {
    let filters = match &query.part {
        Some(part) => Filters::default().with(PART, part),
        None => Filters::default(),
    };
    Ok(index.search_as_is(1, &Search::new(query.text.as_str(), LIMIT).filtered(filters))?)
}

/// Returns the id of a document as the labels name it: without the part before it.
fn result<'i>(query: &Query, id: &'i str) -> &'i str {
    match &query.part {
        Some(part) => &id[part.len() + 1..],
        None => id,
    }
}

fn print_run(name: &str, collection: &Collection, run: &Run) {
    let measured: Vec<(&str, Measures)> = (collection.queries.iter().zip(&run.found))
        .map(|(query, found)| (query.category.as_str(), Measures::of(query, found)))
        .collect();
    let mut categories: Vec<&str> = measured.iter().map(|(category, _)| *category).collect();
    categories.sort_unstable();
    categories.dedup();
    println!(
        "{name}: {} documents, {} queries",
        collection.documents.len(),
        measured.len()
    );
    println!("{:12} {:>7} {}", "", "queries", measured[0].1.header());
    for category in categories.into_iter().filter(|category| !category.is_empty()) {
        let rows = measured.iter().filter(|(of, _)| *of == category);
        print_row(category, &rows.map(|(_, measures)| measures).collect::<Vec<_>>());
    }
    print_row(
        "all",
        &measured.iter().map(|(_, measures)| measures).collect::<Vec<_>>(),
    );
    let percentile = |share| at(&run.searches, share).unwrap_or_default();
    println!(
        "indexed in {:.0?}; a search takes {:.1?} (p50), {:.1?} (p95)\n",
        run.indexing,
        percentile(50),
        percentile(95)
    );
}

fn print_row(label: &str, rows: &[&Measures]) {
    println!("{label:12} {:>7} {}", rows.len(), mean(rows).row());
}

/// Makes a document of a part of a collection.
fn in_part(part: &str, id: &str, document: Document) -> Document {
    let mut document = document;
    document.id = format!("{part}/{id}");
    document.facets.push(tabellion_retrieval::Facet::new(PART, part));
    document
}
