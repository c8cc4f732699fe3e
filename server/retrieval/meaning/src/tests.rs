//! Vectors of texts whose meaning is a number, made by threads that act as several processes, as far as locks are concerned.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tabellion_embed::{DIMENSIONS, ModelError, Vector};
use tabellion_retrieval::TextKey;
use tempfile::TempDir;

use crate::{Corpus, CorpusError, Embedder, Meaning, Models, Wanted};

/// Texts in memory.
#[derive(Default)]
struct Texts(Mutex<Vec<String>>);

impl Texts {
    fn with_numbers(numbers: impl IntoIterator<Item = usize>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(numbers.into_iter().map(|number| format!("text {number}")).collect())))
    }
}

impl Corpus for Texts {
    fn wanted(&self, has: &dyn Fn(&TextKey) -> bool, max: usize) -> Result<Vec<Wanted>, CorpusError> {
        let texts = self.0.lock();
        let wanted = texts.iter().map(|text| Wanted::in_parts("", text));
        Ok(wanted.filter(|wanted| !has(&wanted.key)).take(max).collect())
    }

    fn keys(&self) -> Result<Vec<TextKey>, CorpusError> {
        Ok(self.0.lock().iter().map(|text| TextKey::from_text(text)).collect())
    }
}

/// A model that counts the texts it embeds, and notices simultaneous use by two processes.
#[derive(Clone, Default)]
struct Counting {
    fingerprint: &'static str,
    is_missing: bool,
    embedded: Arc<AtomicUsize>,
    is_used: Arc<AtomicBool>,
    /// Texts after which it stops for good, as a killed process does.
    limit: Option<usize>,
}

impl Counting {
    fn count(&self) -> usize {
        self.embedded.load(SeqCst)
    }
}

impl Embedder for Counting {
    fn embed(&self, texts: &[&str], stops: &dyn Fn() -> bool) -> Option<Vec<Vector>> {
        if texts[0].starts_with("text") {
            assert!(!self.is_used.swap(true, SeqCst), "two processes embed at the same time");
            thread::sleep(Duration::from_millis(2));
            self.is_used.store(false, SeqCst);
            if self.limit.is_some_and(|limit| self.count() + texts.len() > limit) {
                while !stops() {
                    thread::sleep(Duration::from_millis(1));
                }
                return None;
            }
            self.embedded.fetch_add(texts.len(), SeqCst);
        }
        Some(texts.iter().map(|text| vector(text)).collect())
    }
}

/// Returns a direction for each number at the end of a text.
fn vector(text: &str) -> Vector {
    let number: usize = text.rsplit(' ').next().unwrap().parse().unwrap();
    let mut vector = [0.0; DIMENSIONS];
    for at in 0..16 {
        vector[(number + 24 * at) % DIMENSIONS] = 0.25;
    }
    vector
}

impl Models for Counting {
    fn fingerprint(&self) -> &str {
        self.fingerprint
    }

    fn is_installed(&self) -> bool {
        !self.is_missing
    }

    fn open(&self) -> Result<Arc<dyn Embedder>, ModelError> {
        Ok(Arc::new(self.clone()))
    }
}

/// Begins to make vectors of the texts, as a process does.
fn process(path: &Path, models: &Counting, texts: &Arc<Texts>) -> Meaning {
    let meaning = Meaning::new(path.into(), Box::new(models.clone()));
    let texts: Weak<Texts> = Arc::downgrade(texts);
    meaning.add(texts);
    meaning.wake();
    meaning
}

/// Ends a process, and waits until its file is closed: SQLite removes the log then.
fn end(meaning: Meaning, path: &Path) {
    drop(meaning);
    while path.with_extension("db-wal").exists() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until `count` of the texts have vectors.
#[track_caller]
fn wait(meaning: &Meaning, texts: &Texts, count: usize) {
    let begun = Instant::now();
    loop {
        let found = meaning.count(texts.keys().unwrap()).unwrap();
        if found == count {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{found} of {count}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn cosine(meaning: &Meaning, query: &str, text: &str) -> Option<f32> {
    meaning.near(query, |near| near?.cosine(&TextKey::from_text(text)))
}

fn folder() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.db");
    (folder, path)
}

#[test]
fn texts_are_embedded_once_and_compared() {
    let (_folder, path) = folder();
    let (models, texts) = (Counting::default(), Texts::with_numbers((0..100).chain(0..100)));
    let meaning = process(&path, &models, &texts);
    wait(&meaning, &texts, 200);
    assert_eq!(models.count(), 100);
    assert!(cosine(&meaning, "query 7", "text 7").unwrap() > 0.99);
    assert!(cosine(&meaning, "query 7", "text 8").unwrap() < 0.01);
    assert_eq!(cosine(&meaning, "query 7", "text 100"), None);
    texts.0.lock().push("text 100".into());
    meaning.wake();
    wait(&meaning, &texts, 201);
    assert!(cosine(&meaning, "query 100", "text 100").unwrap() > 0.99);
    assert_eq!(models.count(), 101);
}

#[test]
fn without_a_model_nothing_is_near_and_there_is_no_file() {
    let (folder, path) = folder();
    let models = Counting { is_missing: true, ..Counting::default() };
    let texts = Texts::with_numbers(0..3);
    let meaning = process(&path, &models, &texts);
    assert_eq!(cosine(&meaning, "query 1", "text 1"), None);
    assert_eq!(meaning.count(texts.keys().unwrap()).unwrap(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_a_killed_process_has_left_is_made_by_the_next() {
    let (_folder, path) = folder();
    let (models, texts) = (Counting::default(), Texts::with_numbers(0..150));
    let killed = Counting { limit: Some(100), ..models.clone() };
    let meaning = process(&path, &killed, &texts);
    wait(&meaning, &texts, 96);
    // A process that finds the lock taken waits, and uses the existing vectors.
    let second = process(&path, &models, &texts);
    assert!(cosine(&second, "query 3", "text 3").unwrap() > 0.99);
    assert_eq!(second.count(texts.keys().unwrap()).unwrap(), 96);
    drop(meaning);
    wait(&second, &texts, 150);
    assert_eq!(models.count(), 150);
}

#[test]
fn several_processes_make_each_vector_once() {
    let (_folder, path) = folder();
    let (models, texts) = (Counting::default(), Texts::with_numbers(0..300));
    let processes: Vec<Meaning> = (0..3).map(|_| process(&path, &models, &texts)).collect();
    for meaning in &processes {
        wait(meaning, &texts, 300);
    }
    assert_eq!(models.count(), 300);
}

#[test]
fn vectors_of_a_different_model_or_of_a_damaged_file_are_made_anew() {
    let (_folder, path) = folder();
    let texts = Texts::with_numbers(0..10);
    let (first, second) = (Counting::default(), Counting { fingerprint: "second", ..Counting::default() });
    let embed = |models: &Counting| {
        let meaning = process(&path, models, &texts);
        wait(&meaning, &texts, 10);
        end(meaning, &path);
    };
    embed(&first);
    embed(&second);
    assert_eq!((first.count(), second.count()), (10, 10));
    for damage in [&b"no database"[..], &[0; 8192]] {
        fs::write(&path, damage).unwrap();
        embed(&second);
    }
    assert_eq!(second.count(), 30);
}

#[test]
fn vectors_of_texts_that_are_gone_are_removed_once_they_are_many() {
    let (_folder, path) = folder();
    let vectors = crate::vectors::Vectors::open(&path, "").unwrap();
    let keys: Vec<TextKey> = (0..20).map(|number| TextKey::from_text(&number.to_string())).collect();
    let quantized = tabellion_embed::Quantized::new(&vector("1"));
    vectors.add(&keys.iter().map(|key| (*key, vec![quantized])).collect::<Vec<_>>()).unwrap();
    assert_eq!(vectors.read().unwrap().len(), 20);
    vectors.retain(&keys[..5].iter().copied().collect()).unwrap();
    let memory = vectors.read().unwrap();
    let kept: Vec<bool> = keys.iter().map(|key| memory.has(key)).collect();
    assert_eq!(kept, (0..20).map(|number| number < 5).collect::<Vec<_>>());
}

#[test]
fn a_text_is_as_near_as_its_nearest_part() {
    let (_folder, path) = folder();
    let vectors = crate::vectors::Vectors::open(&path, "").unwrap();
    let quantized = |text: &str| tabellion_embed::Quantized::new(&vector(text));
    let keys = ["near", "far", "none"].map(TextKey::from_text);
    let texts = [(keys[0], ["2", "1", "3"].map(quantized).to_vec()), (keys[1], vec![quantized("2")])];
    vectors.add(&texts).unwrap();
    // A text that has vectors keeps them.
    vectors.add(&[(keys[1], vec![quantized("1")])]).unwrap();
    let memory = vectors.read().unwrap();
    assert_eq!(memory.len(), 2);
    let asked =
        crate::memory::QueryNearness { query: tabellion_embed::Query::new(&quantized("1")), memory: &memory };
    let cosines = keys.map(|key| tabellion_retrieval::Nearness::cosine(&asked, &key));
    let is = |found: Option<f32>, text: &str| {
        let expected = tabellion_embed::cosine(quantized("1").dot(&quantized(text)));
        assert_eq!(found, Some(expected));
    };
    is(cosines[0], "1");
    is(cosines[1], "2");
    assert_eq!(cosines[2], None);
}
