//! Measures the search of code against labelled queries: `code_quality DATA RUN [--whole]`, where `DATA` has `queries.jsonl`, `repos.json` and
//! the unpacked repositories. Writes a run file for the scorer.

use std::{collections::BTreeMap, fs, io::Write, path::Path, sync::Arc, time::Instant};

use serde_json::{Value, json};
use tabellion_code::{CodeIndex, CodeQuery, Folder, Selection, Stop};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, data, run, rest @ ..] = arguments.as_slice() else {
        return Err("code_quality DATA RUN [--whole]".into());
    };
    let (data, whole) = (Path::new(data), rest.iter().any(|argument| argument == "--whole"));
    let repos: Vec<Value> = serde_json::from_slice(&fs::read(data.join("repos.json"))?)?;
    let name = if whole { "whole.db" } else { "roots.db" };
    let index = Arc::new(CodeIndex::open(&data.join(name))?);
    let begun = Instant::now();
    let (mut changed, mut bytes) = (0, 0);
    let mut roots = BTreeMap::new();
    for repo in &repos {
        let name = repo["name"].as_str().unwrap_or_default();
        let root = if whole {
            ""
        } else {
            repo["root"].as_str().unwrap_or_default()
        };
        let folder = fs::canonicalize(data.join(name).join(root))?;
        let tree = Folder::new(folder, Selection::default());
        changed += index
            .begin(name, "quality")?
            .finish(&tree, &Stop::default())?
            .changed;
        roots.insert(name, root);
        bytes += repo["bytes"].as_u64().unwrap_or_default();
    }
    let chunks: u64 = repos
        .iter()
        .filter_map(|repo| index.status(repo["name"].as_str()?).ok()?)
        .map(|status| status.chunks)
        .sum();
    println!(
        "{changed} of the files indexed in {:?}; {chunks} chunks, {bytes} bytes in all repositories",
        begun.elapsed()
    );
    let mut out = fs::File::create(run)?;
    let mut times = vec![];
    for line in fs::read_to_string(data.join("queries.jsonl"))?.lines() {
        let query: Value = serde_json::from_str(line)?;
        let repo = query["repo"].as_str().unwrap_or_default();
        let search = CodeQuery {
            text: query["query"].as_str().unwrap_or_default().to_owned(),
            collections: vec![repo.to_owned()],
            limit: 50,
            ..CodeQuery::default()
        };
        let begun = Instant::now();
        let hits = index.search(&search)?;
        times.push(begun.elapsed());
        let root = roots[repo];
        let results: Vec<String> = hits
            .hits
            .iter()
            .map(|hit| {
                let path = if root.is_empty() {
                    hit.path.clone()
                } else {
                    format!("{root}/{}", hit.path)
                };
                format!("{path}:{}-{}", hit.start_line, hit.end_line)
            })
            .collect();
        writeln!(out, "{}", json!({ "query_id": query["id"], "results": results }))?;
    }
    times.sort_unstable();
    println!(
        "search: p50 {:?}, p95 {:?}",
        times[times.len() / 2],
        times[times.len() * 95 / 100]
    );
    Ok(())
}
