//! Results as tables, as files for other scorers, and compared with published figures.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::json;

use super::{
    data::Query,
    measure::{Measures, mean},
};
use xtask::Outcome;

use crate::measure::percentile;

/// File in the folder of a collection with the published figures of others.
const BASELINES: &str = "baselines.json";

/// The results of each query of a collection.
pub(super) struct Run {
    queries: Vec<Query>,
    found: Vec<Vec<String>>,
    documents: usize,
    /// True if the program had a model, and so searched by meaning too.
    pub(super) by_meaning: bool,
    pub(super) indexing: Duration,
    /// Times of searches, sorted.
    searches: Vec<Duration>,
}

/// Published figures of others.
#[derive(Deserialize)]
struct Baselines {
    metric: String,
    source: String,
    methods: BTreeMap<String, Method>,
}

#[derive(Deserialize)]
struct Method {
    mean_over_queries: f64,
}

impl Run {
    /// Returns a run of queries without results yet.
    pub(super) fn new(queries: Vec<Query>, documents: usize) -> Self {
        Self {
            queries,
            documents,
            found: vec![],
            by_meaning: false,
            indexing: Duration::ZERO,
            searches: vec![],
        }
    }

    /// Makes a search for each query, in their order, and takes its time. `search` returns ids in the labels' form, best first.
    pub(super) fn search(&mut self, mut search: impl FnMut(&Query) -> Outcome<Vec<String>>) -> Outcome {
        for query in &self.queries {
            let begun = Instant::now();
            self.found.push(search(query)?);
            self.searches.push(begun.elapsed());
        }
        self.searches.sort_unstable();
        Ok(())
    }

    /// Writes the results to `NAME.jsonl`, an object for each query.
    pub(super) fn write(&self, folder: &Path, name: &str) -> Outcome {
        fs::create_dir_all(folder)?;
        let mut file = BufWriter::new(File::create(folder.join(format!("{name}.jsonl")))?);
        for (query, found) in self.queries.iter().zip(&self.found) {
            writeln!(file, "{}", json!({"query_id": query.id, "results": found}))?;
        }
        Ok(file.flush()?)
    }

    /// Prints the figures by category, and those of others that are in the collection's folder.
    pub(super) fn print(&self, name: &str, folder: &Path) -> Outcome {
        let measured: Vec<(&str, Measures)> = (self.queries.iter().zip(&self.found))
            .map(|(query, found)| (query.category.as_str(), Measures::new(query, found)))
            .collect();
        let first = measured.first().ok_or_else(|| format!("{name} has no queries"))?;
        let mut categories: Vec<&str> = measured.iter().map(|(category, _)| *category).collect();
        categories.sort_unstable();
        categories.dedup();
        let by = if self.by_meaning { "words and meaning" } else { "words alone: there is no model" };
        println!("{name}: {} documents, {} queries, by {by}", self.documents, measured.len());
        println!("{:12} {:>7} {}", "", "queries", first.1.header());
        for category in categories.into_iter().filter(|category| !category.is_empty()) {
            let rows = measured.iter().filter(|(of, _)| *of == category);
            print_row(category, &rows.map(|(_, measures)| measures).collect::<Vec<_>>());
        }
        print_row("all", &measured.iter().map(|(_, measures)| measures).collect::<Vec<_>>());
        print_baselines(folder)?;
        let time = |share| percentile(&self.searches, share).unwrap_or_default();
        println!(
            "stored and indexed in {:.0?}; a search takes {:.1?} (p50), {:.1?} (p95)\n",
            self.indexing,
            time(50),
            time(95)
        );
        Ok(())
    }
}

fn print_row(label: &str, rows: &[&Measures]) {
    println!("{label:12} {:>7} {}", rows.len(), mean(rows).row());
}

/// Prints published figures, if the folder has any.
fn print_baselines(folder: &Path) -> Outcome {
    let path = folder.join(BASELINES);
    if !path.exists() {
        return Ok(());
    }
    let baselines: Baselines = serde_json::from_str(&fs::read_to_string(&path)?)
        .map_err(|error| format!("`{}`: {error}", path.display()))?;
    println!("published: {} ({})", baselines.metric, baselines.source);
    for (method, figures) in baselines.methods {
        println!("{:>9.4}  {method}", figures.mean_over_queries);
    }
    Ok(())
}
