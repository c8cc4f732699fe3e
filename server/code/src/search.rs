//! A search: posting lists of all segments are read, counted, and added up in arrays with a place for each chunk and file.

use std::sync::Arc;

use rusqlite::Connection;
use tabellion_retrieval::Nearness;

use crate::{
    CodeError, CodeIndex, CodeQuery,
    columns::{Columns, DEAD, FileColumns, Sizes},
    filter::TermHash,
    fusion,
    query::{self, Cut},
    ranking::{Place, SOURCES_ABOUT_TESTS, WEIGHTS, rarity, score},
    segment::{self, ChunkFacts},
};

/// The chunks that were found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CodeHits {
    /// Best first.
    pub hits: Vec<CodeHit>,
    /// Number of hits without the limit.
    pub total: usize,
    /// Whether what chunks mean counted, beside their words.
    pub by_meaning: bool,
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeHit {
    /// Key of its collection.
    pub collection: String,
    /// The branch of its file, or nothing.
    pub branch: String,
    /// The path of its file in the collection.
    pub path: String,
    /// Its lines, from 1, the last one included.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// Name of the file's language, or `text`.
    pub language: String,
    /// What it is about: `function`, `struct`, `section`; `text` if nothing is known.
    pub kind: String,
    /// The symbol that it is about, with those around it.
    pub symbol: Option<String>,
    /// SHA-1 of the file's blob.
    pub blob: [u8; 20],
    /// Its text, as it was indexed.
    pub content: String,
    /// In [0, 1], falling from hit to hit.
    pub score: f64,
}

impl CodeIndex {
    /// Finds chunks by their words, and by what they mean as far as `nearness` knows it, best first. Collections that are not there have
    /// none.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn search(&self, query: &CodeQuery, nearness: Option<&dyn Nearness>) -> Result<CodeHits, CodeError> {
        self.with(|connection| {
            // One snapshot for all that is read.
            let snapshot = connection.transaction()?;
            let mut parts = vec![];
            for key in &query.collections {
                if let Some(columns) = self.columns(&snapshot, key)? {
                    parts.push(Part { key, columns });
                }
            }
            Search::new(&snapshot, query, &parts)?.hits(nearness)
        })
    }
}

/// A collection that is searched.
pub(crate) struct Part<'q> {
    pub(crate) key: &'q str,
    pub(crate) columns: Arc<Columns>,
}

/// A search under way. Chunks and files of all parts are numbered through.
pub(crate) struct Search<'s> {
    connection: &'s Connection,
    query: &'s CodeQuery,
    pub(crate) parts: &'s [Part<'s>],
    cut: Cut,
    about_tests: bool,
    /// By chunk: whether it passes the filters; `None` if all that live do.
    passing: Option<Vec<bool>>,
    /// Number of chunks and files that pass, and their mean lengths.
    pub(crate) chunks: usize,
    mean_chunk: f32,
    mean_file: f32,
    /// By chunk: what it is worth by itself; by file: what all its chunks have of it.
    own: Vec<f32>,
    of_file: Vec<f32>,
}

/// A chunk with a term: its number, and how often it has it.
pub(crate) type Posting = (u32, u32);

impl<'s> Search<'s> {
    fn new(
        connection: &'s Connection,
        query: &'s CodeQuery,
        parts: &'s [Part<'s>],
    ) -> Result<Self, CodeError> {
        let mut search = Self {
            connection,
            query,
            parts,
            cut: query::cut(&query.text),
            about_tests: false,
            passing: None,
            chunks: 0,
            mean_chunk: 1.0,
            mean_file: 1.0,
            own: vec![],
            of_file: vec![],
        };
        search.restrict()?;
        search.about_tests = search.asks_for_tests()?;
        let sizes = match search.passing {
            Some(_) => search.sizes(|_| true),
            None => (parts.iter().map(|part| part.columns.sizes)).fold(Sizes::default(), Sizes::plus),
        };
        search.chunks = sizes.chunks;
        search.mean_chunk = (sizes.length as f32 / sizes.chunks.max(1) as f32).max(1.0);
        search.mean_file = (sizes.length as f32 / sizes.files.max(1) as f32).max(1.0);
        search.own = vec![0.0; parts.iter().map(|part| part.columns.file_of.len()).sum()];
        search.of_file = vec![0.0; parts.iter().map(|part| part.columns.files.len()).sum()];
        Ok(search)
    }

    /// Counts what passes the filters in files for which `counts` is true.
    fn sizes(&self, counts: impl Fn(&FileColumns) -> bool) -> Sizes {
        let mut sizes = Sizes::default();
        let mut first = 0;
        for part in self.parts {
            for file in part.columns.files.iter().filter(|file| counts(file)) {
                let all = file.first as usize..(file.first + file.chunks) as usize;
                let passing = all.filter(|chunk| self.passes(first + chunk));
                let lengths = passing.map(|chunk| part.columns.lengths[chunk]);
                sizes = sizes.plus(Sizes::of_file(lengths));
            }
            first += part.columns.file_of.len();
        }
        sizes
    }

    /// Returns whether the query asks for tests. In a project that is about tests, the word is everywhere and says nothing.
    fn asks_for_tests(&self) -> Result<bool, CodeError> {
        let Some(word) = &self.cut.test_word else {
            return Ok(false);
        };
        let is_source = |file: &FileColumns| file.place == Place::Source;
        let files = self.parts.iter().flat_map(|part| &part.columns.files);
        let of_sources: Vec<bool> = files.map(is_source).collect();
        let postings = self.postings(&[b"w", word.as_bytes()].concat())?;
        let having = self
            .located(&postings)
            .filter(|found| of_sources[found.file as usize]);
        let sources = self.sizes(is_source).chunks;
        Ok(having.count() <= sources / SOURCES_ABOUT_TESTS)
    }

    pub(crate) fn passes(&self, chunk: usize) -> bool {
        self.passing.as_ref().is_none_or(|passing| passing[chunk])
    }

    /// Finds which chunks pass the filters.
    fn restrict(&mut self) -> Result<(), CodeError> {
        let filters = &self.query.filters;
        let terms = filters.chunk_terms();
        if !filters.is_on_files() && terms.is_empty() {
            return Ok(());
        }
        let mut passing: Vec<bool> = vec![];
        for part in self.parts {
            let of_files: Vec<bool> = part
                .columns
                .files
                .iter()
                .map(|file| filters.file(&file.path, &file.branch))
                .collect();
            passing.extend(
                part.columns
                    .file_of
                    .iter()
                    .map(|file| *file != DEAD && of_files[*file as usize]),
            );
        }
        for term in terms {
            let mut having = vec![false; passing.len()];
            for (chunk, _) in self.postings(&term)? {
                having[chunk as usize] = true;
            }
            passing
                .iter_mut()
                .zip(having)
                .for_each(|(passes, has)| *passes &= has);
        }
        self.passing = Some(passing);
        Ok(())
    }

    /// Returns the chunks that have a term and pass, in order.
    fn postings(&self, term: &[u8]) -> Result<Vec<Posting>, CodeError> {
        let mut select = self
            .connection
            .prepare_cached("SELECT entries FROM posting WHERE segment = ? AND term = ?")?;
        let hash = TermHash::of(term);
        let mut found = vec![];
        let mut first = 0;
        for part in self.parts {
            let columns = &part.columns;
            for segment in columns
                .segments
                .iter()
                .filter(|segment| segment.terms.may_have(&hash))
            {
                let mut rows = select.query((segment.number, term))?;
                let Some(row) = rows.next()? else { continue };
                let entries = row.get_ref(0)?.as_blob().unwrap_or_default();
                segment::read(entries, |chunk, count| {
                    let chunk = (segment.first as usize).saturating_add(chunk as usize);
                    let lives = columns.file_of.get(chunk).is_some_and(|file| *file != DEAD);
                    if lives && self.passes(first + chunk) {
                        found.push(((first + chunk) as u32, count));
                    }
                });
            }
            first += columns.file_of.len();
        }
        Ok(found)
    }

    /// Returns, for each posting, the numbers of chunk and file, and the lengths of both.
    pub(crate) fn located<'p>(&'p self, postings: &'p [Posting]) -> impl Iterator<Item = Located> + 'p {
        let mut part = 0;
        let (mut first, mut first_file) = (0_usize, 0_usize);
        postings.iter().map(move |&(chunk, count)| {
            let mut columns = &self.parts[part].columns;
            while chunk as usize >= first + columns.file_of.len() {
                first += columns.file_of.len();
                first_file += columns.files.len();
                part += 1;
                columns = &self.parts[part].columns;
            }
            let own = chunk as usize - first;
            let file = columns.file_of[own] as usize;
            Located {
                chunk,
                count,
                length: columns.lengths[own],
                file: (first_file + file) as u32,
                file_length: columns.files[file].length,
            }
        })
    }

    /// Adds up what each chunk is worth; returns the weight of the query.
    fn add_up(&mut self) -> Result<f32, CodeError> {
        let mut total = 0.0;
        for at in 0..self.cut.words.len() {
            let term = |kind: u8| [&[kind], self.cut.words[at].as_bytes()].concat();
            let text = self.postings(&term(b'w'))?;
            let names = self.postings(&term(b'e'))?;
            let paths = self.postings(&term(b'p'))?;
            let files = self.postings(&term(b'f'))?;
            let weight = rarity(self.chunks, text.len());
            total += weight;
            self.add_text(weight, &text);
            self.add_names(weight * WEIGHTS.name, &names);
            self.add_paths(weight * WEIGHTS.path, &paths);
            self.add_paths(weight * WEIGHTS.file_name, &files);
        }
        let whole = if self.cut.is_name {
            WEIGHTS.alone
        } else {
            WEIGHTS.whole
        };
        for name in std::mem::take(&mut self.cut.names) {
            let term = |kind: u8| [&[kind], name.as_bytes()].concat();
            let defined = self.postings(&term(b'd'))?;
            let files = self.postings(&term(b'n'))?;
            self.add_names(whole * rarity(self.chunks, defined.len()), &defined);
            self.add_paths(WEIGHTS.stem * rarity(self.chunks, files.len()), &files);
        }
        for name in std::mem::take(&mut self.cut.spelled) {
            let defined = self.postings(&[b"x", name.as_bytes()].concat())?;
            self.add_names(WEIGHTS.spelled * rarity(self.chunks, defined.len()), &defined);
        }
        Ok(total)
    }

    fn add_text(&mut self, weight: f32, postings: &[Posting]) {
        let (mean_chunk, mean_file) = (self.mean_chunk, self.mean_file);
        let of_chunk = |count: f32, length: u32| WEIGHTS.chunk.saturation(count, length as f32 / mean_chunk);
        let of_file =
            |count: f32, length: u32| WEIGHTS.file_text.saturation(count, length as f32 / mean_file);
        // Taken out, since what is located borrows the search.
        let (mut own, mut files) = (std::mem::take(&mut self.own), std::mem::take(&mut self.of_file));
        let mut add_file = |(file, length, count): (u32, u32, f32)| {
            files[file as usize] += weight * WEIGHTS.file * of_file(count, length);
        };
        // Chunks of a file follow one another.
        let mut current: Option<(u32, u32, f32)> = None;
        for found in self.located(postings) {
            let count = found.count as f32;
            own[found.chunk as usize] += weight * of_chunk(count, found.length);
            match &mut current {
                Some((file, _, sum)) if *file == found.file => *sum += count,
                _ => {
                    let last = current.replace((found.file, found.file_length, count));
                    last.into_iter().for_each(&mut add_file);
                }
            }
        }
        current.into_iter().for_each(&mut add_file);
        (self.own, self.of_file) = (own, files);
    }

    fn add_names(&mut self, value: f32, postings: &[Posting]) {
        for &(chunk, _) in postings {
            self.own[chunk as usize] += value;
        }
    }

    /// Adds to files what their paths are worth: the terms of a path are in the first chunk.
    fn add_paths(&mut self, value: f32, postings: &[Posting]) {
        let mut files = std::mem::take(&mut self.of_file);
        for found in self.located(postings) {
            files[found.file as usize] += value;
        }
        self.of_file = files;
    }

    fn hits(mut self, nearness: Option<&dyn Nearness>) -> Result<CodeHits, CodeError> {
        let weight = self.add_up()?;
        let mut found = self.valued();
        // A name or a quotation is asked for as it stands, and without words there is nothing to ask.
        let is_verbatim = self.cut.is_name || !self.cut.exact.is_empty() || weight == 0.0;
        let nearness = nearness.filter(|_| !is_verbatim);
        let nearby = nearness.and_then(|nearness| fusion::nearby(&self, nearness));
        if let Some(nearby) = &nearby {
            fusion::fuse(&self, &mut found, nearby, weight);
        }
        if !self.cut.exact.is_empty() {
            found = self.exact(found)?;
        }
        // Each further chunk of a file counts less: another file says more than more of the same.
        found.sort_by_key(|hit| hit.chunk);
        for of_file in found.chunk_by_mut(|a, b| a.file == b.file) {
            of_file.sort_by(|a, b| b.value.total_cmp(&a.value));
            let mut factor = 1.0;
            for hit in of_file {
                hit.value *= factor;
                factor *= WEIGHTS.again;
            }
        }
        found.retain(|hit| score(hit.value, weight) >= self.query.min_score);
        let total = found.len();
        let order = |a: &Valued, b: &Valued| {
            b.value
                .total_cmp(&a.value)
                .then_with(|| self.name(a).cmp(&self.name(b)))
        };
        // A common word is in most chunks, of which a few are wanted.
        if self.query.limit < total {
            found.select_nth_unstable_by(self.query.limit, order);
            found.truncate(self.query.limit);
        }
        found.sort_unstable_by(order);
        let hits = found.iter().map(|hit| self.told(hit, score(hit.value, weight)));
        Ok(CodeHits {
            hits: hits.collect::<Result<_, _>>()?,
            total,
            by_meaning: nearby.is_some(),
        })
    }

    /// Returns the chunks that have something of the query, with their values.
    fn valued(&self) -> Vec<Valued> {
        let having = (0..).zip(&self.own).filter(|(_, own)| **own > 0.0);
        let postings: Vec<Posting> = having.map(|(chunk, _)| (chunk, 1)).collect();
        let factors = self.factors();
        self.located(&postings)
            .map(|found| Valued {
                chunk: found.chunk,
                file: found.file,
                value: (self.own[found.chunk as usize] + self.of_file[found.file as usize])
                    * factors[found.file as usize],
            })
            .collect()
    }

    /// Returns the number of chunks of all parts, those that are gone too.
    pub(crate) fn chunk_count(&self) -> usize {
        self.own.len()
    }

    /// Returns the factor of each file's values.
    pub(crate) fn factors(&self) -> Vec<f32> {
        let files = self.parts.iter().flat_map(|part| &part.columns.files);
        let factor = |file: &FileColumns| file.place.factor(&WEIGHTS, self.about_tests);
        files.map(factor).collect()
    }

    /// Returns the chunks whose text has all that stands in quotes. Those without a word of the query are looked at too.
    fn exact(&self, found: Vec<Valued>) -> Result<Vec<Valued>, CodeError> {
        let has_words = self
            .cut
            .exact
            .iter()
            .any(|text| text.chars().any(char::is_alphanumeric));
        let mut candidates = found;
        if !has_words {
            let known: std::collections::HashSet<u32> = candidates.iter().map(|hit| hit.chunk).collect();
            let files = self.parts.iter().flat_map(|part| &part.columns.file_of);
            let living = (0..).zip(files).filter(|(_, file)| **file != DEAD);
            let others = living
                .map(|(chunk, _)| (chunk, 1))
                .filter(|(chunk, _)| !known.contains(chunk) && self.passes(*chunk as usize));
            let all: Vec<Posting> = others.collect();
            candidates.extend(self.located(&all).map(|found| Valued {
                chunk: found.chunk,
                file: found.file,
                value: f32::MIN_POSITIVE,
            }));
        }
        candidates.sort_unstable_by_key(|hit| (hit.file, hit.chunk));
        let mut kept = vec![];
        for group in candidates.chunk_by(|a, b| a.file == b.file) {
            let Some((_, columns, file)) = self.file(group[0].file) else {
                continue;
            };
            let (text, chunks) = content(self.connection, columns.files[file].number)?;
            if !self.cut.exact.iter().any(|exact| text.contains(exact.as_str())) {
                continue;
            }
            for hit in group {
                let within = bytes_of(&chunks, self.at(hit, columns, file));
                let has = |exact: &String| {
                    text.get(within.clone())
                        .is_some_and(|text| text.contains(exact.as_str()))
                };
                if self.cut.exact.iter().all(has) {
                    kept.push(*hit);
                }
            }
        }
        Ok(kept)
    }

    /// Returns the part and the place in it of a file.
    fn file(&self, number: u32) -> Option<(&Part<'s>, &Columns, usize)> {
        let mut number = number as usize;
        for part in self.parts {
            if number < part.columns.files.len() {
                return Some((part, &part.columns, number));
            }
            number -= part.columns.files.len();
        }
        None
    }

    /// Returns which chunk of its file a hit is.
    fn at(&self, hit: &Valued, columns: &Columns, file: usize) -> usize {
        let mut first = 0;
        for part in self.parts {
            if std::ptr::eq(&*part.columns, columns) {
                break;
            }
            first += part.columns.file_of.len();
        }
        hit.chunk as usize - first - columns.files[file].first as usize
    }

    /// Returns what hits of equal value are ordered by.
    fn name(&self, hit: &Valued) -> (&str, &str, &str, u32) {
        self.file(hit.file)
            .map_or(("", "", "", 0), |(part, columns, file)| {
                (
                    &*columns.files[file].path,
                    &*columns.files[file].branch,
                    part.key,
                    hit.chunk,
                )
            })
    }

    fn told(&self, hit: &Valued, score: f64) -> Result<CodeHit, CodeError> {
        let (part, columns, at) = self.file(hit.file).ok_or(CodeError::Busy)?;
        let file = &columns.files[at];
        let (text, chunks) = content(self.connection, file.number)?;
        let sql = "SELECT blob FROM file WHERE number = ?";
        let blob = self
            .connection
            .prepare_cached(sql)?
            .query_row([file.number], |row| row.get(0))?;
        let chunk = self.at(hit, columns, at);
        let within = bytes_of(&chunks, chunk);
        let facts = chunks.get(chunk).ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        Ok(CodeHit {
            collection: part.key.to_owned(),
            branch: file.branch.to_string(),
            path: file.path.to_string(),
            start_line: facts.start_line,
            end_line: facts.end_line,
            language: tabellion_syntax::Language::of_path(&*file.path)
                .map_or("text", |language| language.name())
                .to_owned(),
            kind: facts.kind.clone(),
            symbol: facts.symbol.clone(),
            blob,
            content: text.get(within).unwrap_or_default().to_owned(),
            score,
        })
    }
}

/// A chunk among those of all parts.
pub(crate) struct Located {
    pub(crate) chunk: u32,
    count: u32,
    length: u32,
    pub(crate) file: u32,
    file_length: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Valued {
    pub(crate) chunk: u32,
    pub(crate) file: u32,
    pub(crate) value: f32,
}

pub(crate) fn content(connection: &Connection, file: i64) -> Result<(String, Vec<ChunkFacts>), CodeError> {
    let sql = "SELECT text, chunks FROM content WHERE file = ?";
    let (text, chunks): (String, String) = connection
        .prepare_cached(sql)?
        .query_row([file], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let chunks = serde_json::from_str(&chunks)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    Ok((text, chunks))
}

/// Returns the bytes of a chunk in its file's text.
fn bytes_of(chunks: &[ChunkFacts], at: usize) -> std::ops::Range<usize> {
    let before: usize = chunks[..at.min(chunks.len())]
        .iter()
        .map(|chunk| chunk.bytes as usize)
        .sum();
    before..before + chunks.get(at).map_or(0, |chunk| chunk.bytes as usize)
}
