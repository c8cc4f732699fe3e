//! Semble's benchmark: questions about 20 repositories, each indexed and searched by the server as for an agent.
//!
//! Like the benchmark, it indexes the folder `root` of `repos.json`, unless whole repositories are asked for.

use std::{collections::HashMap, fs::File, path::Path, time::Instant};

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    agent::Agent,
    data::{Label, Query, lines},
    options::Options,
    report::Run,
};
use xtask::Outcome;

/// The repositories, and the list of them.
const ARCHIVE: &str = "repos.tar.gz";
const REPOSITORIES: &str = "repos.json";
/// Number of results to request: ten are judged.
const LIMIT: usize = 50;

#[derive(Deserialize)]
struct Repository {
    name: String,
    root: String,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    repo: String,
    query: String,
    category: String,
    relevant: Vec<Label>,
    secondary: Vec<Label>,
}

/// Indexes the repositories of the archive in `folder`, and searches for each question.
pub(super) fn run(folder: &Path, options: &Options) -> Outcome<Run> {
    let place = tempfile::tempdir()?;
    let sources = place.path().canonicalize()?;
    tar::Archive::new(GzDecoder::new(File::open(folder.join(ARCHIVE))?)).unpack(&sources)?;
    let text = std::fs::read_to_string(folder.join(REPOSITORIES))?;
    let mut repositories: Vec<Repository> = serde_json::from_str(&text)?;
    repositories.truncate(options.parts.unwrap_or(usize::MAX));
    if options.whole {
        repositories.iter_mut().for_each(|repository| repository.root.clear());
    }
    let roots: HashMap<&str, &str> = repositories.iter().map(|it| (&*it.name, &*it.root)).collect();

    let mut agent = Agent::start(options, "code-search", Some(&sources))?;
    let begun = Instant::now();
    for Repository { name, root } in &repositories {
        let path = sources.join(name).join(root);
        agent.call("index", json!({ "action": "start", "path": path, "collection": name }))?;
    }
    let chunks = agent.settle_index()?;
    let questions: Vec<Question> = lines(&folder.join("queries.jsonl"))?;
    let asked = questions.into_iter().filter(|question| roots.contains_key(&*question.repo));
    let (names, queries): (Vec<_>, Vec<_>) = asked.map(Question::split).unzip();
    let mut run = Run::new(queries, usize::try_from(chunks)?);
    run.by_meaning = agent.has_model();
    run.indexing = begun.elapsed();
    let mut names = names.iter();
    run.search(|query| {
        let name = names.next().map(String::as_str).unwrap_or_default();
        let request = json!({ "resource": "code", "query": query.text, "collection": name, "limit": LIMIT });
        found(&agent.call("search", request)?, roots[name])
    })?;
    agent.close()?;
    Ok(run)
}

/// Returns the ranges of lines in an answer, in the labels' form of file names.
fn found(answer: &Value, root: &str) -> Outcome<Vec<String>> {
    let results = answer["results"].as_array().ok_or("a search was answered without `results`")?;
    let range = |hit: &Value| {
        let path = hit["file_path"].as_str()?;
        let path = if root.is_empty() { path.to_owned() } else { format!("{root}/{path}") };
        Some(format!("{path}:{}-{}", hit["start_line"], hit["end_line"]))
    };
    let ranges: Option<Vec<String>> = results.iter().map(range).collect();
    ranges.ok_or_else(|| "a hit has no `file_path`".into())
}

impl Question {
    /// Returns the repository that the question is about, and the query.
    fn split(self) -> (String, Query) {
        let query = Query {
            id: self.id,
            text: self.query,
            category: self.category,
            labels: self.relevant.into_iter().chain(self.secondary).collect(),
            ..Query::default()
        };
        (self.repo, query)
    }
}
