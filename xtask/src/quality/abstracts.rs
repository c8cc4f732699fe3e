//! Collections of titles and texts, indexed and searched by `server/retrieval` itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Instant,
};

use serde::Deserialize;
use tabellion_retrieval::{Document, Index, Search, Text};

use super::{
    LIMIT, Options,
    data::{Query, lines},
    report::Run,
};
use crate::Outcome;

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

/// Indexes the collection in `folder`, and searches for each query.
pub(super) fn run(folder: &Path, _: &Options) -> Outcome<Run> {
    let (documents, queries) = read(folder)?;
    let place = tempfile::tempdir()?;
    let index = Index::open(&place.path().join("index.db"), "quality")?;
    let mut run = Run::of(queries, documents.len());
    let begun = Instant::now();
    index.rebuild(documents.into_iter().map(Ok), 1, None)?;
    run.indexing = begun.elapsed();
    run.search(|query| {
        let hits = index.search_as_is(1, &Search::new(query.text.as_str(), LIMIT))?;
        Ok(hits.hits.into_iter().map(|hit| hit.id).collect())
    })?;
    Ok(run)
}

/// Reads a collection of titles and texts; a title counts twice.
fn read(folder: &Path) -> Outcome<(Vec<Document>, Vec<Query>)> {
    let documents = lines::<Abstract>(&folder.join("corpus.jsonl"))?;
    let documents = documents.into_iter().map(|row| Document {
        id: row.id,
        texts: vec![Text::weighted(row.title, 2), Text::plain(row.text)],
        ..Document::default()
    });
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
        category: String::new(),
        has_sessions: false,
    });
    Ok((documents.collect(), queries.collect()))
}
