//! Measures searches by words, by meaning and by both, on public collections of labelled queries.
//!
//! ```text
//! cargo run --release -p tabellion-embed --example quality -- DATA COLLECTION CACHE
//! ```
//!
//! DATA is the folder that `cargo xtask quality --data` takes; COLLECTION is `scifact`, `cranfield`, `cosqa` or `locomo`. Vectors are
//! kept in the folder CACHE. The model must be installed.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    env,
    error::Error,
    fs,
    ops::ControlFlow,
    path::Path,
};

use serde::{Deserialize, de::DeserializeOwned};
use tabellion_embed::{DIMENSIONS, Model, Quantized, Vector, default_folder, nearest_of, weights_in};
use tabellion_retrieval::{
    Change, Changes, Document, Facet, Filters, Index, Search, Source, SourceError, Text,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Hits of each kind that are fused.
const POOL: usize = 100;
/// Hits that are judged.
const JUDGED: usize = 10;
/// Facet with the part of a collection that a query is asked of.
const PART: &str = "part";

#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    query: String,
    conversation: Option<String>,
    #[serde(default)]
    evidence: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Conversation {
    id: String,
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    dia_id: String,
    speaker: String,
    text: String,
    caption: Option<String>,
}

/// What is searched, and how.
struct Collection {
    documents: Vec<Document>,
    /// What is embedded of each document.
    texts: Vec<String>,
    questions: Vec<Question>,
}

impl Source for Collection {
    fn changes(&self, _: i64) -> Result<Changes, SourceError> {
        let changes = self.documents.iter().cloned().map(Change::Put).collect();
        Ok(Changes { changes, to: 1 })
    }

    fn mark(&self, _: i64) -> Result<Option<String>, SourceError> {
        Ok(Some("1".into()))
    }
}

fn lines<T: DeserializeOwned>(path: &Path) -> Outcome<Vec<T>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn read(folder: &Path, name: &str) -> Outcome<Collection> {
    let mut questions: Vec<Question> = lines(&folder.join("queries.jsonl"))?;
    let (mut documents, mut texts) = (Vec::new(), Vec::new());
    if name == "locomo" {
        for conversation in lines::<Conversation>(&folder.join("conversations.jsonl"))? {
            for session in &conversation.sessions {
                for (seq, turn) in (0..).zip(&session.turns) {
                    let caption = turn.caption.as_deref().unwrap_or_default();
                    texts.push(format!("{}: {} {caption}", turn.speaker, turn.text));
                    documents.push(Document {
                        id: format!("{}/{}", conversation.id, turn.dia_id),
                        texts: vec![Text::plain(texts[texts.len() - 1].as_str())],
                        facets: vec![Facet::new(PART, conversation.id.as_str())],
                        group: Some(format!("{}/{}", conversation.id, session.id)),
                        time: Some(0),
                        seq,
                    });
                }
            }
        }
        for question in &mut questions {
            let conversation = question.conversation.clone().unwrap_or_default();
            let evidence = std::mem::take(&mut question.evidence);
            question.evidence = evidence.iter().map(|id| format!("{conversation}/{id}")).collect();
        }
    } else {
        for row in lines::<Row>(&folder.join("corpus.jsonl"))? {
            // Cranfield's texts begin with their titles.
            let is_titled = row.title.is_empty() || row.text.starts_with(&row.title) || name == "cranfield";
            let title = if is_titled {
                String::new()
            } else {
                format!("{}. ", row.title)
            };
            texts.push(title + &row.text);
            documents.push(Document {
                id: row.id,
                texts: vec![Text::weighted(row.title, 2), Text::plain(row.text)],
                ..Document::default()
            });
        }
        let mut relevant: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in fs::read_to_string(folder.join("qrels.tsv"))?.lines().skip(1) {
            if let [query, document, "1"] = line.split('\t').collect::<Vec<_>>()[..] {
                relevant.entry(query.into()).or_default().insert(document.into());
            }
        }
        for question in &mut questions {
            question.evidence = relevant.remove(&question.id).unwrap_or_default();
        }
    }
    Ok(Collection {
        documents,
        texts,
        questions,
    })
}

/// Returns the texts' vectors, those of the cache if it has them.
fn vectors(cache: &Path, name: &str, texts: &[&str]) -> Outcome<Vec<Vector>> {
    let path = cache.join(format!("{name}.f32"));
    if let Ok(bytes) = fs::read(&path) {
        let values: Vec<f32> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|&it| f32::from_le_bytes(it))
            .collect();
        let vectors = values.as_chunks::<DIMENSIONS>().0.to_vec();
        if vectors.len() == texts.len() {
            return Ok(vectors);
        }
    }
    let folder = default_folder().ok_or("there is no home folder; set TABELLION_MODEL")?;
    let model = Model::open(&weights_in(&folder))?;
    let vectors = model.embed(texts, &mut |progress| {
        eprint!("\r{name}: {} of {}", progress.done, progress.total);
        ControlFlow::Continue(())
    })?;
    eprintln!();
    fs::create_dir_all(cache)?;
    let bytes = vectors.iter().flatten().flat_map(|value| value.to_le_bytes());
    fs::write(path, bytes.collect::<Vec<u8>>())?;
    Ok(vectors)
}

/// What is known of the documents that one of the searches found.
#[derive(Default, Clone, Copy)]
struct Candidate {
    words: f64,
    words_rank: Option<usize>,
    cosine: f64,
    cosine_rank: Option<usize>,
}

/// The best values of both searches.
struct Best {
    words: f64,
    cosine: f64,
    /// The mean over all documents searched.
    mean_cosine: f64,
}

type Formula = fn(&Candidate, &Best) -> f64;

fn reciprocal(rank: Option<usize>, constant: f64) -> f64 {
    rank.map_or(0.0, |rank| 1.0 / (constant + rank as f64))
}

/// The cosine from 0, what a document has that has nothing to do with the query, to 1, what the best has.
fn meaning(candidate: &Candidate, best: &Best) -> f64 {
    ((candidate.cosine - best.mean_cosine) / (best.cosine - best.mean_cosine)).max(0.0)
}

fn of_words(candidate: &Candidate, best: &Best) -> f64 {
    if best.words > 0.0 {
        candidate.words / best.words
    } else {
        0.0
    }
}

const FORMULAS: [(&str, Formula); 11] = [
    ("words", |it, _| it.words),
    ("meaning", |it, _| it.cosine),
    ("ranks, 1/(60+r)", |it, _| {
        reciprocal(it.words_rank, 60.0) + reciprocal(it.cosine_rank, 60.0)
    }),
    ("ranks, 1/(10+r)", |it, _| {
        reciprocal(it.words_rank, 10.0) + reciprocal(it.cosine_rank, 10.0)
    }),
    ("words + cosine", |it, _| it.words + it.cosine),
    ("share of best, 1:3", |it, best| {
        of_words(it, best) + 3.0 * meaning(it, best)
    }),
    ("share of best, 1:2", |it, best| {
        of_words(it, best) + 2.0 * meaning(it, best)
    }),
    ("share of best, 1:1", |it, best| {
        of_words(it, best) + meaning(it, best)
    }),
    ("share of best, 2:1", |it, best| {
        2.0 * of_words(it, best) + meaning(it, best)
    }),
    ("share of best, 3:1", |it, best| {
        3.0 * of_words(it, best) + meaning(it, best)
    }),
    ("share of best, 4:1", |it, best| {
        4.0 * of_words(it, best) + meaning(it, best)
    }),
];

/// nDCG@10, recall@5 and recall@10.
fn measure(found: &[&str], relevant: &BTreeSet<String>) -> [f64; 3] {
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let hit = |(place, id): (usize, &&str)| relevant.contains(*id).then_some(place);
    let places: Vec<usize> = found.iter().enumerate().filter_map(hit).collect();
    let ideal: f64 = (0..relevant.len().min(JUDGED)).map(gain).sum();
    let gained: f64 = places
        .iter()
        .copied()
        .filter(|&place| place < JUDGED)
        .map(gain)
        .sum();
    let recall =
        |cut: usize| places.iter().filter(|&&place| place < cut).count() as f64 / relevant.len() as f64;
    [gained / ideal, recall(5), recall(JUDGED)]
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum()
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [data, name, cache] = &arguments[..] else {
        return Err("usage: quality DATA COLLECTION CACHE".into());
    };
    let collection = read(&Path::new(data).join(name), name)?;
    let texts: Vec<&str> = collection.texts.iter().map(String::as_str).collect();
    let of_documents = vectors(Path::new(cache), &format!("{name}.docs"), &texts)?;
    let queries: Vec<&str> = collection
        .questions
        .iter()
        .map(|question| &*question.query)
        .collect();
    let of_queries = vectors(Path::new(cache), &format!("{name}.queries"), &queries)?;
    let small: Vec<u8> = of_documents
        .iter()
        .flat_map(|it| Quantized::new(it).to_bytes())
        .collect();
    let cut = of_documents
        .iter()
        .flatten()
        .filter(|value| value.abs() > 0.25)
        .count();
    println!(
        "{cut} of {} values are cut off in 8 bits",
        of_documents.len() * DIMENSIONS
    );

    let folder = tempfile::tempdir()?;
    let index = Index::open(&folder.path().join("index.db"), "quality")?;
    index.update(&collection, 1)?;
    let ids = collection.documents.iter().map(|document| &*document.id);
    let places: HashMap<&str, usize> = ids.enumerate().map(|(place, id)| (id, place)).collect();
    let mut sums = [[0.0; 3]; FORMULAS.len()];
    let (mut kept, mut wanted, mut count) = (0, 0, 0);
    for (question, query) in collection.questions.iter().zip(&of_queries) {
        if question.evidence.is_empty() {
            continue;
        }
        let (mut filters, mut part) = (Filters::default(), String::new());
        if let Some(conversation) = &question.conversation {
            filters = filters.with(PART, conversation.as_str());
            part = format!("{conversation}/");
        }
        let searched: Vec<usize> = (0..texts.len())
            .filter(|&at| collection.documents[at].id.starts_with(&part))
            .collect();
        let mut exact: Vec<usize> = searched.clone();
        exact.sort_by_cached_key(|&at| Reverse((dot(query, &of_documents[at]) * 1e9) as i64));
        let near = nearest_of(&Quantized::new(query), &small, POOL, searched.iter().copied());
        let found: BTreeSet<usize> = near.iter().take(JUDGED).map(|found| found.index).collect();
        kept += exact.iter().take(JUDGED).filter(|at| found.contains(at)).count();
        wanted += JUDGED.min(exact.len());

        let mut candidates: BTreeMap<usize, Candidate> = BTreeMap::new();
        for (rank, found) in (1..).zip(&near) {
            candidates.entry(found.index).or_default().cosine_rank = Some(rank);
        }
        let search = Search::new(question.query.as_str(), POOL).filtered(filters);
        for (rank, hit) in (1..).zip(index.search_as_is(1, &search)?.hits) {
            let candidate = candidates.entry(places[&*hit.id]).or_default();
            (candidate.words, candidate.words_rank) = (hit.score, Some(rank));
        }
        let all = nearest_of(
            &Quantized::new(query),
            &small,
            searched.len(),
            searched.iter().copied(),
        );
        for found in &all {
            if let Some(candidate) = candidates.get_mut(&found.index) {
                candidate.cosine = f64::from(found.cosine());
            }
        }
        let mean_cosine = all.iter().map(|found| f64::from(found.cosine())).sum::<f64>() / all.len() as f64;
        let best = Best {
            words: candidates.values().map(|it| it.words).fold(0.0, f64::max),
            cosine: candidates.values().map(|it| it.cosine).fold(0.0, f64::max),
            mean_cosine,
        };
        for ((_, formula), sums) in FORMULAS.iter().zip(&mut sums) {
            let mut ranked: Vec<(f64, usize)> = candidates
                .iter()
                .map(|(&at, it)| (formula(it, &best), at))
                .collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let found: Vec<&str> = ranked
                .iter()
                .take(JUDGED)
                .map(|&(_, at)| &*collection.documents[at].id)
                .collect();
            for (sum, value) in sums.iter_mut().zip(measure(&found, &question.evidence)) {
                *sum += value;
            }
        }
        count += 1;
    }
    println!(
        "{:.1} % of the ten nearest stay so in 8 bits",
        100.0 * kept as f64 / wanted as f64
    );
    println!(
        "{name}, {} documents, {count} queries: nDCG@10, recall@5, recall@10",
        texts.len()
    );
    for ((formula, _), sums) in FORMULAS.iter().zip(sums) {
        let [ndcg, five, ten] = sums.map(|sum| sum / f64::from(count));
        println!("{formula:20} {ndcg:.4} {five:.4} {ten:.4}");
    }
    Ok(())
}
