//! Searching by meaning, with a model that knows two subjects, and with the installed one.

use std::{
    env, fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tabellion_embed::{DIMENSIONS, ModelError, Vector};
use tabellion_meaning::{Embedder, Installed, Models};
use tabellion_records::{Address, Location};
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

use super::bench::{Bench, Caller};

/// Each subject has words with the same meaning.
const SUBJECTS: [&[&str]; 2] = [&["money", "price", "prices", "cents"], &["weather", "rain", "sunny"]];

/// A model that distinguishes subjects, and remembers the texts that it has embedded.
#[derive(Clone, Default)]
struct Subjects(Arc<Mutex<Vec<String>>>);

impl Subjects {
    /// Returns the number of texts that it has embedded.
    fn count(&self) -> usize {
        self.0.lock().len()
    }
}

impl Embedder for Subjects {
    fn embed(&self, texts: &[&str], _: &dyn Fn() -> bool) -> Option<Vec<Vector>> {
        self.0.lock().extend(texts.iter().map(|text| (*text).to_owned()));
        Some(texts.iter().map(|text| vector(text)).collect())
    }
}

/// Returns the subject of a text as a direction; a different one for each text without a subject.
fn vector(text: &str) -> Vector {
    let words = || text.split(|char: char| !char.is_alphanumeric()).map(str::to_lowercase);
    let is_about = |subject: &&&[&str]| words().any(|word| subject.contains(&word.as_str()));
    let direction = SUBJECTS.iter().position(|subject| is_about(&subject));
    let other = || 2 + text.bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % (DIMENSIONS - 2));
    let mut vector = [0.0; DIMENSIONS];
    vector[direction.unwrap_or_else(other)] = 0.25;
    // With 8 bits per value, no single component can be longer.
    for at in 0..15 {
        vector[(direction.unwrap_or_else(other) + 24 * at) % DIMENSIONS] = 0.25;
    }
    vector
}

impl Models for Subjects {
    fn fingerprint(&self) -> &str {
        "subjects 1"
    }

    fn is_installed(&self) -> bool {
        true
    }

    fn open(&self) -> Result<Arc<dyn Embedder>, ModelError> {
        Ok(Arc::new(self.clone()))
    }
}

/// Searches; returns the ids or paths that are found, and the method of ranking.
#[track_caller]
fn search(bench: &Bench, request: Value) -> (Vec<String>, String) {
    let (answer, meta) = bench.answer("search", request).unwrap();
    let (mut found, mut scores) = (vec![], vec![]);
    for hit in answer["results"].as_array().unwrap() {
        let id = hit["observation_id"].as_str().or(hit["file_path"].as_str());
        found.push(id.unwrap().to_owned());
        let score = hit["similarity_score"].as_f64().or(hit["score"].as_f64());
        scores.push(score.unwrap());
    }
    assert!(
        scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| (0.0..=1.0).contains(score)),
        "{scores:?}"
    );
    assert_eq!(answer["count"], found.len());
    (found, meta["tabellion/ranking"].as_str().unwrap().to_owned())
}

/// Searches until the ranking is as expected; returns the ids or paths found then.
#[track_caller]
fn ranked(bench: &Bench, request: &Value, ranking: &str) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let (found, how) = search(bench, request.clone());
        if how == ranking {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{request} is still {how}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until all chunks of the one collection have vectors; returns its status.
fn embedded(bench: &Bench) -> Value {
    let begun = Instant::now();
    loop {
        let mut status = bench.call("index", json!({ "action": "status" }));
        let collection = status["collections"][0].take();
        let (done, chunks) = (&collection["vectors_done"], &collection["chunks"]);
        assert!(done.as_u64() <= chunks.as_u64(), "{collection}");
        if collection["state"] == "idle" && done == chunks {
            return collection;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{collection}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn bench(models: impl Models + 'static) -> Bench {
    let bench = Bench::with_models(Arc::new(tempfile::tempdir().unwrap()), Box::new(models));
    bench.add_project("shop");
    bench
}

#[test]
fn memories_are_found_by_meaning_and_filters_hold() {
    let bench = bench(Subjects::default());
    let price = bench.note("prices are kept whole", json!({ "tags": ["a"] }));
    let cents = bench.note("we count in cents", json!({ "tags": ["b"] }));
    let rain = bench.note("rain delays everything", json!({ "tags": ["a"] }));
    let asked = json!({ "resource": "memory", "query": "money" });
    let mut found = ranked(&bench, &asked, "hybrid");
    found.sort();
    let mut expected = [price.clone(), cents];
    expected.sort();
    assert_eq!(found, expected);
    let filtered = json!({ "resource": "memory", "query": "money", "tags": ["a"] });
    assert_eq!(search(&bench, filtered).0, [price]);
    let context = json!({ "resource": "context", "query": "money" });
    assert_eq!(search(&bench, context).0, [""; 0]);
    // Words count too, and more.
    let both = json!({ "resource": "memory", "query": "money delays" });
    assert_eq!(search(&bench, both).0[0], rain);
}

#[test]
fn code_is_found_by_meaning_and_each_text_is_embedded_once() {
    let models = Subjects::default();
    let bench = bench(models.clone());
    bench.write("code/a.rs", "fn round_price() {}\n");
    bench.write("code/b.rs", "fn is_sunny() {}\n");
    bench.write("code/copy/b.rs", "fn is_sunny() {}\n");
    let start = json!({ "action": "start", "path": "code" });
    bench.call("index", start.clone());
    assert_eq!(embedded(&bench)["chunks"], 3);
    assert_eq!(models.count(), 2);
    let asked = |query: &str, more: Value| {
        let mut request = json!({ "resource": "code", "query": query });
        let members = request.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        request
    };
    let (found, ranking) = search(&bench, asked("the weather today", json!({})));
    assert_eq!((found.join(" "), &*ranking), ("b.rs copy/b.rs".into(), "hybrid"));
    let (found, _) = search(&bench, asked("the weather today", json!({ "filters": ["path:copy"] })));
    assert_eq!(found, ["copy/b.rs"]);
    // Names and quotations are searched literally.
    for verbatim in ["weather", "\"round_price\" money", "is_sunny", "`fn round_price()`"] {
        assert_eq!(search(&bench, asked(verbatim, json!({}))).1, "lexical", "{verbatim}");
    }

    // Removed chunks are not found, and unchanged ones are not embedded again.
    fs::remove_file(bench.folder().join("code/b.rs")).unwrap();
    let before = models.count();
    bench.call("index", start);
    let other = json!({ "action": "start", "path": "code", "collection": "other" });
    while embedded(&bench)["files_total"] != 2 {}
    bench.call("index", other);
    assert_eq!(embedded(&bench)["vectors_done"], 2);
    assert_eq!(models.count(), before);
    let (found, _) = search(&bench, asked("the weather today", json!({ "collection": "code" })));
    assert_eq!(found, ["copy/b.rs"]);
}

#[test]
fn a_new_server_has_the_vectors_and_makes_those_that_are_left() {
    let models = Subjects::default();
    let bench = bench(models.clone());
    bench.note("prices are kept whole", json!({}));
    let asked = json!({ "resource": "memory", "query": "money" });
    ranked(&bench, &asked, "hybrid");
    let bench = Bench::over(bench.close());
    bench.note("we count in cents", json!({}));
    assert_eq!(search(&bench, asked.clone()), (vec![], "lexical".into()));
    let embedded = models.count();
    let bench = Bench::with_models(bench.close(), Box::new(models.clone()));
    let begun = Instant::now();
    while ranked(&bench, &asked, "hybrid").len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(120));
    }
    let queries = models.count() - embedded;
    assert!(queries > 1, "{queries}");
}

#[test]
fn the_installed_model_finds_what_shares_no_word() {
    if !Installed.is_installed() {
        eprintln!("SKIPPED: the model is not installed; run `tabellion model install`");
        return;
    }
    let bench = bench(Installed);
    let dog = bench.note("Dave adopted a puppy from the shelter", json!({}));
    bench.note("the parser reads one token ahead", json!({}));
    let asked = json!({ "resource": "memory", "query": "which pet does he own?" });
    assert_eq!(ranked(&bench, &asked, "hybrid"), [dog]);
}

#[test]
fn equal_texts_of_two_orgs_are_embedded_apart() {
    let model = Subjects::default();
    let caller = Caller::new();
    let bench = bench(model.clone());
    bench.add("org", json!({ "id": "org_b", "name": "B" }));
    for caller in [&caller, &caller.clone().of_org("org_b")] {
        bench.by(caller).note("prices are kept whole", json!({}));
        let asked = json!({ "resource": "memory", "query": "money" });
        let begun = Instant::now();
        while bench.by(caller).answer("search", asked.clone()).unwrap().1["tabellion/ranking"] != "hybrid" {
            assert!(begun.elapsed() < Duration::from_secs(120), "no vectors");
            thread::sleep(Duration::from_millis(20));
        }
    }
    let embedded = model.0.lock();
    assert_eq!(embedded.iter().filter(|text| text.contains("kept whole")).count(), 2, "{embedded:?}");
}

/// Returns a new database on the server for tests; `None` if there is none.
fn database() -> Option<Address> {
    let server = env::var("TABELLION_TEST_POSTGRES").ok()?;
    let name = format!("meaning_{}", std::process::id());
    Runtime::new().unwrap().block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&format!("{server}/postgres"), NoTls).await.unwrap();
        tokio::spawn(connection);
        let create = format!("CREATE DATABASE {name}");
        client.batch_execute(&create).await.unwrap();
    });
    Some(Address::parse(&format!("{server}/{name}")).unwrap())
}

#[test]
fn the_servers_of_a_team_embed_each_text_once() {
    let Some(address) = database() else {
        eprintln!("SKIPPED: no server; `cargo xtask postgres` has one");
        return;
    };
    let model = Subjects::default();
    let start = || {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let place = Location::Postgres { address: address.clone(), derived: folder.path().join("derived") };
        Bench::placed(folder, place, Box::new(model.clone()))
    };
    let (one, other) = (start(), start());
    one.add_project("shop");
    let texts: Vec<_> = (0..100).map(|number| format!("money of customer {number}")).collect();
    for (bench, texts) in [&one, &other].into_iter().cycle().zip(texts.chunks(10)) {
        for text in texts {
            bench.note(text, json!({}));
        }
    }
    let asked = json!({ "resource": "memory", "query": "prices", "limit": 200 });
    let all = |bench: &Bench| {
        let begun = Instant::now();
        while ranked(bench, &asked, "hybrid").len() < texts.len() {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "{} vectors",
                ranked(bench, &asked, "hybrid").len()
            );
            thread::sleep(Duration::from_millis(20));
        }
    };
    all(&one);
    all(&other);
    // A server that begins takes the vectors of the others.
    all(&start());
    let embedded = model.0.lock();
    for text in &texts {
        let times = embedded
            .iter()
            .filter(|embedded| embedded.contains(text.as_str()) && embedded.ends_with(text.as_str()));
        assert_eq!(times.count(), 1, "{text}");
    }
}
