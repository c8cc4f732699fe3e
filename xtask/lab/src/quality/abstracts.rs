//! Collections of titles and texts, remembered by the server and searched as its memory.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
    time::Instant,
};

use serde::Deserialize;
use serde_json::json;

use super::{
    agent::Agent,
    data::{Query, lines},
    options::{LIMIT, Options},
    report::Run,
};
use xtask::Outcome;

/// Name of the project.
const NAME: &str = "texts";

#[derive(Deserialize)]
struct Abstract {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Claim {
    id: String,
    query: String,
}

/// Stores the texts in `folder` as observations, and searches for each query.
pub(super) fn run(folder: &Path, options: &Options) -> Outcome<Run> {
    let (texts, queries) = read(folder)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut agent = Agent::start(options, &name, None)?;
    agent.add_project(NAME)?;
    let mut run = Run::new(queries, texts.len());
    let begun = Instant::now();
    // Equal texts of a session are one observation. Each has a separate session, since texts that stand alone have no neighbours.
    let mut by_observation = HashMap::new();
    for Abstract { id, title, text } in &texts {
        let content = if title.is_empty() || text.starts_with(title) {
            text.clone()
        } else {
            format!("{title}. {text}")
        };
        // One of Cranfield's abstracts has no text, and an empty observation can't be stored.
        if content.trim().is_empty() {
            continue;
        }
        by_observation.insert(agent.remember(NAME, id, &[], &content)?, id.clone());
    }
    agent.settle(&texts.last().ok_or("the collection has no texts")?.id)?;
    run.by_meaning = agent.has_model();
    run.indexing = begun.elapsed();
    run.search(|query| {
        let request = json!({ "resource": "memory", "query": query.text, "limit": LIMIT });
        agent.recall(request, &by_observation)
    })?;
    agent.close()?;
    Ok(run)
}

/// Reads the texts of a collection, and its queries.
fn read(folder: &Path) -> Outcome<(Vec<Abstract>, Vec<Query>)> {
    let texts = lines::<Abstract>(&folder.join("corpus.jsonl"))?;
    let labels = fs::read_to_string(folder.join("qrels.tsv"))?;
    let mut relevant: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for line in labels.lines().skip(1) {
        let [query, document, grade] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("a label in `{}` has not three columns: {line}", folder.display()).into());
        };
        if grade != "0" {
            relevant.entry(query).or_default().insert(document.into());
        }
    }
    let queries = lines::<Claim>(&folder.join("queries.jsonl"))?;
    let queries = queries.into_iter().map(|claim| Query {
        relevant: relevant.get(&*claim.id).cloned().unwrap_or_default(),
        id: claim.id,
        text: claim.query,
        ..Query::default()
    });
    Ok((texts, queries.collect()))
}
