//! Times on large indexes; run with `cargo test --release -p tabellion-retrieval speed -- --ignored --nocapture`.

use std::{
    fs,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::source::{Bench, member, with_facets};
use crate::{Change, Document, Filters, Search};

/// Number of different words; their frequencies fall as in English (Zipf's law).
const VOCABULARY: f64 = 30_000.0;
/// Ranks of words that occur about as often as stop words, which queries leave out.
const FREQUENT: u64 = 40;

/// Random numbers (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A word; the word of rank `r` occurs in proportion to `1 / r`.
    fn word(&mut self) -> String {
        spelled(self.rank())
    }

    fn rank(&mut self) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        VOCABULARY.powf(unit) as u64
    }

    fn query(&mut self) -> String {
        let mut words = vec![];
        while words.len() < 5 {
            let rank = self.rank();
            if rank > FREQUENT {
                words.push(spelled(rank));
            }
        }
        words.join(" ")
    }
}

/// Letters alone: neither an identifier with parts, nor a word that a stemmer changes.
fn spelled(rank: u64) -> String {
    let digits = format!("{rank}");
    let letters = digits.bytes().map(|digit| char::from(b"bcfghkmpqz"[usize::from(digit - b'0')]));
    letters.chain("oo".chars()).collect()
}

fn observation(random: &mut Random, at: u64) -> Document {
    let length = 5 + random.below(45);
    let text = (0..length).map(|_| random.word()).collect::<Vec<_>>().join(" ");
    let time = 1_700_000_000 + i64::try_from(at).unwrap() * 60;
    let mut document = member(&format!("0190-{at:012}"), &format!("session {}", at / 30), time, &text);
    document.seq = i64::try_from(at).unwrap();
    let (project, kind) = (format!("p{}", random.below(20)), format!("k{}", random.below(5)));
    with_facets(document, &[("org", "default"), ("project", &project), ("kind", &kind)])
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    format!("{:.2?} (p50), {:.2?} (p95), {:.2?} (max)", at(50), at(95), at(100))
}

fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim().to_owned();
    format!("{} now, {} at most", value("VmRSS:"), value("VmHWM:"))
}

fn measure(count: u64) {
    let mut random = Random(7);
    let bench = Bench::new();
    let start = Instant::now();
    bench.index.rebuild((0..count).map(|at| Ok(observation(&mut random, at))), 1, None).unwrap();
    let bytes = fs::metadata(bench.folder.path().join("index.db")).unwrap().len();
    eprintln!(
        "{count} documents: rebuilt in {:.1?}, {} MB; memory {}",
        start.elapsed(),
        bytes >> 20,
        resident()
    );

    let mut random = Random(99);
    let mut searches = |what: &str, filters: &dyn Fn() -> Filters| {
        let (mut times, mut totals) = (vec![], vec![]);
        for _ in 0..300 {
            let search = Search::new(random.query(), 10).filtered(filters());
            let start = Instant::now();
            totals.push(bench.index.search_as_is(1, &search).unwrap().total);
            times.push(start.elapsed());
        }
        totals.sort_unstable();
        eprintln!(
            "  search {what}: {}; {} hits (p50), {} (p95)",
            percentiles(times),
            totals[150],
            totals[285]
        );
    };
    let none = Filters::default;
    searches("first", &none);
    searches("all", &none);
    searches("in an org", &|| none().with("org", "default"));
    searches("in a project and kind", &|| {
        none().with("org", "default").with("project", "p3").with("kind", "k1")
    });
    searches("in a time", &|| Filters { since: Some(1_700_500_000), ..none() });

    let (mut stores, mut after) = (vec![], vec![]);
    for at in 0..200 {
        let change = [Change::Put(observation(&mut random, count + at))];
        let start = Instant::now();
        let to = i64::try_from(at).unwrap() + 2;
        bench.index.apply(&change, to - 1, to, None).unwrap();
        stores.push(start.elapsed());
        let search = Search::new(random.query(), 10);
        let start = Instant::now();
        bench.index.search_as_is(to, &search).unwrap();
        after.push(start.elapsed());
    }
    eprintln!("  one more document: {}; a search after it: {}", percentiles(stores), percentiles(after));
    eprintln!("  memory {}", resident());
}

/// The same texts and queries in FTS5, ordered by `bm25()`.
fn fts5(count: u64) {
    let mut random = Random(7);
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join("fts.db")).unwrap();
    let create = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE VIRTUAL TABLE t USING fts5(text); BEGIN";
    connection.execute_batch(create).unwrap();
    for at in 0..count {
        let document = observation(&mut random, at);
        let mut insert = connection.prepare_cached("INSERT INTO t (text) VALUES (?)").unwrap();
        insert.execute([&document.texts[0].text]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    let mut random = Random(99);
    let times = (0..300).map(|_| {
        let query = random.query().replace(' ', " OR ");
        let start = Instant::now();
        let mut select = connection.prepare_cached("SELECT rowid FROM t(?) ORDER BY rank LIMIT 10").unwrap();
        let found: Vec<i64> =
            select.query_map([query], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(found.len() <= 10);
        start.elapsed()
    });
    eprintln!("  search in FTS5: {}", percentiles(times.collect()));
}

#[test]
#[ignore = "measures; takes minutes"]
fn speed() {
    for count in [1000, 100_000, 1_000_000] {
        measure(count);
        fts5(count);
    }
}
