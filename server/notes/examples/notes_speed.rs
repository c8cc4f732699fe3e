//! Measures the catalogue, the index of words and searches: `notes_speed LIBRARY NOTES`. Fills the folder `LIBRARY`, which must not
//! exist, with that many notes of words that occur as in English, and keeps the catalogue and the index in a second folder next to it.

#![allow(clippy::disallowed_methods, reason = "it opens what it has made")]

use std::{
    error::Error,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use tabellion_library::{Library, Options};
use tabellion_notes::{Catalogue, NoteIndex, NoteQuery, Selection};

const SEARCHES: u64 = 200;

/// Reproducible pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns words by Zipf's law: the n-th is as frequent as 1/n.
    fn words(&mut self, count: u64) -> String {
        let word = |_| {
            let part = self.next() as f64 / (1_u64 << 31) as f64;
            format!("w{}", 20_000_f64.powf(part) as u64)
        };
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }

    fn note(&mut self, number: u64) -> String {
        let (title, words) = (self.words(4), 20 + self.next() % 120);
        let sections =
            (0..1 + self.next() % 3).map(|_| format!("## {}\n\n{}\n\n", self.words(3), self.words(words)));
        let body: String = sections.collect();
        let (day, tag) = (1 + number % 28, number % 50);
        format!(
            "---\ntype: permanent\ntags: [t{tag}]\ncreated_at: 2026-01-{day:02}\n---\n# {title}\n\n{body}"
        )
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, count] = arguments.as_slice() else {
        return Err("notes_speed LIBRARY NOTES".into());
    };
    let (folder, count) = (Path::new(folder), count.parse::<u64>()?);
    let mut numbers = Numbers(1);
    fs::create_dir(folder)?;
    fs::create_dir(folder.join("notes"))?;
    for number in 0..count {
        fs::write(folder.join(format!("notes/{number}.md")), numbers.note(number))?;
    }
    let data = folder.with_extension("data");
    fs::create_dir(&data)?;
    let library = Library::open(folder, Options::default())?;
    let catalogue = Catalogue::open(&data.join("notes.db"), |_, _| None)?;
    let index = NoteIndex::open(&data.join("words.db"))?;
    let follow = |what: &str| -> Result<i64, Box<dyn Error>> {
        let start = Instant::now();
        let followed = catalogue.follow(&library)?;
        println!("{what}: {:?} ({} read)", start.elapsed(), followed.read);
        Ok(followed.sequence)
    };
    let sequence = follow("catalogue, cold")?;
    std::thread::sleep(Duration::from_millis(100));
    follow("catalogue, just written")?;
    follow("catalogue, unchanged")?;
    follow("catalogue, unchanged")?;
    fs::write(folder.join("notes/0.md"), numbers.note(0))?;
    let start = Instant::now();
    index.update(&catalogue, sequence)?;
    println!("index of words: {:?}", start.elapsed());
    let sequence = follow("catalogue, one changed")?;
    let start = Instant::now();
    index.update(&catalogue, sequence)?;
    println!("index, one changed: {:?}", start.elapsed());
    for filtered in [false, true] {
        let mut times = vec![];
        let mut followed = vec![];
        for number in 0..SEARCHES {
            let query = NoteQuery {
                text: numbers.words(4),
                selection: Selection {
                    tags: filtered.then(|| format!("t{}", number % 50)).into_iter().collect(),
                    ..Selection::default()
                },
                limit: 10,
                excerpts: true,
            };
            let start = Instant::now();
            let sequence = catalogue.follow(&library)?.sequence;
            followed.push(start.elapsed());
            index.search(&catalogue, sequence, &query, None)?;
            times.push(start.elapsed());
        }
        times.sort();
        followed.sort();
        let at = |times: &[Duration], part: f64| times[(times.len() as f64 * part) as usize];
        println!(
            "search{}: p50 {:?}, p95 {:?}, of which following the library {:?}, {:?}",
            if filtered { " by tag" } else { "" },
            at(&times, 0.5),
            at(&times, 0.95),
            at(&followed, 0.5),
            at(&followed, 0.95),
        );
    }
    Ok(())
}
