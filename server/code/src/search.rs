//! A search: posting lists of all segments are read, counted, and added up in arrays with an entry for each chunk and file.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use rusqlite::Connection;
use tabellion_retrieval::{
    Hits, Nearness,
    engine::{Candidates, entries, keep_best, rarity, score},
};

use crate::{
    CodeError, CodeIndex, CodeQuery,
    abbreviations::equivalents,
    columns::{DEAD, FileColumns, Sizes},
    content::{bytes_of, composed, content, facts},
    facts::SymbolFacts,
    filter::WordHash,
    fusion, names,
    parts::{Part, Parts, Searched, Valued},
    query::{self, Cut},
    ranking::{FileKind, SOURCES_ABOUT_TESTS, WEIGHTS},
    segment,
    terms::{self, Kind},
    write,
};

mod told;

/// The hits of a search.
pub type CodeHits = Hits<CodeHit>;

/// A chunk that was found, or a definition in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CodeHit {
    /// Key of its collection.
    pub collection: String,
    /// The branch of its file, or empty.
    pub branch: String,
    /// The path of its file in the collection.
    pub path: String,
    /// Its lines, from 1, the last one included.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// Name of the file's language, or `text`.
    pub language: String,
    /// The kind of its symbol: `function`, `struct`, `section`; `text` if unknown.
    pub kind: String,
    /// The symbol that it is about, with the enclosing ones.
    pub symbol: Option<String>,
    /// SHA-1 of the file's blob.
    pub blob: [u8; 20],
    /// Its text, as it was indexed.
    pub content: String,
    /// In [0, 1], falling from hit to hit.
    pub score: f64,
}

impl CodeIndex {
    /// Finds chunks by their words, and by meaning as far as `nearness` knows it, best first. Missing collections have no hits.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn search(&self, query: &CodeQuery, nearness: Option<&dyn Nearness>) -> Result<CodeHits, CodeError> {
        self.with(|connection| {
            // One snapshot for all reads.
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

/// Number of chunks with a name that are read to compare the name's outer parts; and of chunks that are read for marks.
const MAX_CANDIDATES: usize = 2000;
const MAX_READ: usize = 20_000;

/// A search under way. Chunks and files of all parts are numbered through.
struct Search<'s> {
    connection: &'s Connection,
    query: &'s CodeQuery,
    parts: Parts<'s>,
    cut: Cut,
    about_tests: bool,
    /// The chunks that pass the filters; all if there are no filters, including dead ones.
    passing: Candidates,
    /// By chunk: the symbols that pass the filters, if these are on symbols.
    symbols: Option<HashMap<u32, Vec<usize>>>,
    /// The chunks that have the query as a name.
    exact: HashSet<u32>,
    /// Those of them that declare or define that name, if it has no capitals: then it is meant in any case.
    declared: HashSet<u32>,
    /// Those of these that define it.
    defined: HashSet<u32>,
    /// Chunks that define a name with capitals, marks or outer underscores as the query spells it.
    spelled: HashSet<u32>,
    /// Number of chunks that pass, and the mean lengths of chunks and files.
    chunks: usize,
    mean_chunk: f32,
    mean_file: f32,
    /// By chunk: its own value; by file: the value that all its chunks share.
    own: Vec<f32>,
    of_file: Vec<f32>,
}

/// A chunk with a term.
#[derive(Debug, Clone, Copy)]
struct Posting {
    chunk: u32,
    file: u32,
    /// Occurrences of the term in the chunk.
    count: u32,
    /// The chunk's length.
    length: u32,
}

impl<'s> Search<'s> {
    fn new(
        connection: &'s Connection,
        query: &'s CodeQuery,
        parts: &'s [Part<'s>],
    ) -> Result<Self, CodeError> {
        let parts = Parts::new(parts);
        let chunks = parts.chunks;
        let mut search = Self {
            connection,
            query,
            own: vec![0.0; chunks],
            of_file: vec![0.0; parts.files.len()],
            parts,
            cut: query::cut(&query.text),
            about_tests: false,
            passing: Candidates::all(chunks),
            symbols: None,
            exact: HashSet::new(),
            declared: HashSet::new(),
            defined: HashSet::new(),
            spelled: HashSet::new(),
            chunks: 0,
            mean_chunk: 1.0,
            mean_file: 1.0,
        };
        search.restrict()?;
        search.about_tests = search.asks_for_tests()?;
        let sizes = if search.passing.is_all() {
            (search.parts.all.iter().map(|part| part.columns.sizes)).fold(Sizes::default(), Sizes::plus)
        } else {
            search.sizes(|_| true)
        };
        search.chunks = sizes.chunks;
        search.mean_chunk = (sizes.length as f32 / sizes.chunks.max(1) as f32).max(1.0);
        search.mean_file = (sizes.length as f32 / sizes.files.max(1) as f32).max(1.0);
        Ok(search)
    }

    /// Returns the sizes of the chunks that pass the filters, in files for which `counts` is true.
    fn sizes(&self, counts: impl Fn(&FileColumns) -> bool) -> Sizes {
        let files = self.parts.files.iter().filter(|file| counts(file.columns));
        let of_file = |file: &Searched<'_>| {
            let chunks = file.chunks().zip(file.lengths);
            let passing = chunks.filter(|(chunk, _)| self.passes(*chunk));
            Sizes::of_file(passing.map(|(_, length)| *length))
        };
        files.map(of_file).fold(Sizes::default(), Sizes::plus)
    }

    /// Returns true if the query asks for tests. In a project that is about tests, the word is everywhere and carries no
    /// information.
    fn asks_for_tests(&self) -> Result<bool, CodeError> {
        let Some(word) = &self.cut.test_word else {
            return Ok(false);
        };
        let is_source = |file: &FileColumns| file.place == FileKind::Source;
        let [postings] = self.postings(word, [Kind::Text])?;
        let having = postings.iter().map(|found| self.parts.files[found.file as usize].columns);
        let having = having.filter(|file| is_source(file)).count();
        Ok(having <= self.sizes(is_source).chunks / SOURCES_ABOUT_TESTS)
    }

    fn passes(&self, chunk: usize) -> bool {
        self.passing.contains(chunk as u32)
    }

    /// Finds the chunks that pass the filters.
    fn restrict(&mut self) -> Result<(), CodeError> {
        let filters = &self.query.filters;
        filters.check_branches(self.parts.files.iter().map(|file| &*file.columns.branch))?;
        if filters.is_on_files() {
            let files = self.parts.files.iter();
            let files = files.filter(|file| filters.file(file.columns));
            self.passing.restrict(files.flat_map(Searched::chunks).map(|chunk| chunk as u32));
        }
        for terms in filters.chunk_terms() {
            let mut having = vec![];
            for (kind, word) in terms {
                having.extend(self.postings(&word, [kind])?.into_iter().flatten());
            }
            self.passing.restrict(having.iter().map(|found| found.chunk));
        }
        if filters.is_on_symbols() {
            let candidates = (0..self.own.len() as u32).filter(|chunk| self.passing.contains(*chunk));
            let candidates = candidates.collect();
            let symbols = self.symbols_of(candidates, |symbol, modules| filters.symbol(symbol, modules))?;
            self.passing.restrict(symbols.keys().copied());
            self.symbols = Some(symbols);
        }
        Ok(())
    }

    /// Returns the symbols of chunks, which are in order, for which `wants` is true, given the names that enclose their file.
    fn symbols_of(
        &self,
        chunks: Vec<u32>,
        wants: impl Fn(&SymbolFacts, &[String]) -> bool,
    ) -> Result<HashMap<u32, Vec<usize>>, CodeError> {
        let mut found = HashMap::new();
        for of_file in chunks.chunk_by(|a, b| self.parts.file_of(*a) == self.parts.file_of(*b)) {
            let Some(number) = self.parts.file_of(of_file[0]) else {
                continue;
            };
            let file = &self.parts.files[number as usize];
            let facts = facts(self.connection, file.columns.number)?;
            let all = facts.iter().flat_map(|chunk| &chunk.symbols);
            let modules = names::modules(&file.columns.path, all);
            for chunk in of_file {
                let symbols = facts.get(*chunk as usize - file.first).map(|facts| &facts.symbols);
                let wanted = symbols.into_iter().flatten().enumerate();
                let wanted = wanted.filter(|(_, symbol)| wants(symbol, &modules));
                let wanted: Vec<usize> = wanted.map(|(at, _)| at).collect();
                if !wanted.is_empty() {
                    found.insert(*chunk, wanted);
                }
            }
        }
        Ok(found)
    }

    /// Returns the chunks that have a word and pass, in order, for each of these kinds of terms.
    fn postings<const KINDS: usize>(
        &self,
        word: &str,
        kinds: [Kind; KINDS],
    ) -> Result<[Vec<Posting>; KINDS], CodeError> {
        let mut select = self.connection.prepare_cached("SELECT words FROM bucket WHERE number = ?")?;
        let word = word.as_bytes();
        let hash = WordHash::new(word);
        let mut found = kinds.map(|_| vec![]);
        let (mut first, mut first_file) = (0, 0);
        for part in self.parts.all {
            let columns = &part.columns;
            for segment in columns.segments.iter().filter(|segment| segment.words.may_have(&hash)) {
                let number = write::bucket_number(segment.number, hash.bucket(segment.buckets));
                let mut rows = select.query([number])?;
                let Some(row) = rows.next()? else { continue };
                let bucket = row.get_ref(0)?.as_blob().unwrap_or_default();
                let lists = segment::find(bucket, word).unwrap_or_default();
                for (kind, list) in segment::lists(lists) {
                    let Some(at) = kinds.iter().position(|wanted| *wanted as u8 == kind) else {
                        continue;
                    };
                    for (chunk, count) in entries(list, 0).flatten() {
                        let own = (segment.first as usize).saturating_add(chunk as usize);
                        let Some(&file) = columns.file_of.get(own) else {
                            break;
                        };
                        if file != DEAD && self.passes(first + own) {
                            found[at].push(Posting {
                                chunk: (first + own) as u32,
                                file: first_file + file,
                                count,
                                length: columns.lengths[own],
                            });
                        }
                    }
                }
            }
            first += columns.file_of.len();
            first_file += columns.files.len() as u32;
        }
        Ok(found)
    }

    /// Adds up the value of each chunk; returns the weight of the query.
    fn add_up(&mut self) -> Result<f32, CodeError> {
        let mut total = 0.0;
        for word in self.cut.words.clone() {
            let kinds = [Kind::Text, Kind::NamePart, Kind::FolderPart, Kind::FilePart];
            let mut found = self.postings(&word, kinds)?;
            let weight = rarity(self.chunks, found[0].len());
            if !self.cut.is_name {
                for equivalent in equivalents(&word) {
                    found
                        .iter_mut()
                        .zip(self.postings(equivalent, kinds)?)
                        .for_each(|(all, more)| merge(all, more));
                }
            }
            let [text, names, folders, files] = found;
            total += weight;
            self.add_text(weight, &text);
            self.add_names(weight * WEIGHTS.name, &names);
            self.add_paths(weight * WEIGHTS.path, &folders);
            self.add_paths(weight * WEIGHTS.file_name, &files);
        }
        for name in mem::take(&mut self.cut.names) {
            let [defined, files] = self.postings(&name, [Kind::Defined, Kind::File])?;
            self.add_names(WEIGHTS.whole * rarity(self.chunks, defined.len()), &defined);
            self.add_paths(WEIGHTS.stem * rarity(self.chunks, files.len()), &files);
            if self.is_in_any_case() {
                self.defined.extend(defined.iter().map(|found| found.chunk));
            }
        }
        for name in self.cut.spelled.clone() {
            let [defined] = self.postings(&name, [Kind::Spelled])?;
            self.add_names(WEIGHTS.spelled * rarity(self.chunks, defined.len()), &defined);
            // `Retry`, `users$` and `_retry` are meant as they are spelled.
            let is_plain = |char: char| !char.is_uppercase() && names::is_part(char);
            let is_telling = !name.chars().all(is_plain) || name.starts_with('_') || name.ends_with('_');
            if self.cut.is_name && is_telling {
                // The name with its marks (`$Type`, `empty?`), which comes last, is not the one without.
                if !defined.is_empty() && !name.chars().all(names::is_part) {
                    self.spelled.clear();
                }
                self.spelled.extend(defined.iter().map(|found| found.chunk));
            }
        }
        self.add_symbol()?;
        self.add_literals()?;
        Ok(total)
    }

    /// Returns true if the query is a name without capitals.
    fn is_in_any_case(&self) -> bool {
        self.cut.is_name && !self.query.text.contains(char::is_uppercase)
    }

    /// Adds the value of words with marks to chunks that contain them literally. If such a word is the whole
    /// query, these chunks are exact hits.
    fn add_literals(&mut self) -> Result<(), CodeError> {
        for literal in self.cut.literals.clone() {
            let mut having: Option<Vec<Posting>> = None;
            for run in terms::identifiers(&literal) {
                let Some(word) = tabellion_retrieval::words(run).into_iter().next() else {
                    continue;
                };
                let [postings] = self.postings(&word.term, [Kind::Text])?;
                having = Some(match having {
                    None => postings,
                    Some(before) => {
                        let chunks: HashSet<u32> = postings.iter().map(|found| found.chunk).collect();
                        before.into_iter().filter(|found| chunks.contains(&found.chunk)).collect()
                    }
                });
            }
            let mut candidates = having.unwrap_or_default();
            candidates.truncate(MAX_READ);
            let mut found = vec![];
            for of_file in candidates.chunk_by(|a, b| a.file == b.file) {
                let file = &self.parts.files[of_file[0].file as usize];
                let (text, chunks) = content(self.connection, file.columns.number)?;
                let has = |posting: &&Posting| {
                    let within = bytes_of(&chunks, posting.chunk as usize - file.first);
                    text.get(within).is_some_and(|text| names::has_literal(text, &literal))
                };
                found.extend(of_file.iter().filter(has).copied());
            }
            self.add_names(rarity(self.chunks, found.len()), &found);
            if literal == self.query.text.trim() {
                self.exact.extend(found.iter().map(|found| found.chunk));
            }
        }
        Ok(())
    }

    /// Finds the chunks that have the query as a name: its definitions, and the uses of an identifier of several parts.
    fn add_symbol(&mut self) -> Result<(), CodeError> {
        let Some(name) = self.cut.symbol.clone() else {
            return Ok(());
        };
        if let Some(compound) = &self.cut.compound {
            let [used] = self.postings(compound, [Kind::Text])?;
            self.exact.extend(used.iter().map(|found| found.chunk));
        }
        let mut found = vec![];
        for key in name.keys() {
            let [having, members] = self.postings(&key, [Kind::Symbol, Kind::Member])?;
            found.extend(having);
            // A member's name of one word is a word that is used everywhere.
            if !self.cut.is_name || self.cut.compound.is_some() {
                found.extend(members);
            }
        }
        found.sort_by_key(|found| found.chunk);
        found.dedup_by_key(|found| found.chunk);
        if !self.cut.is_name {
            let chunks = found.iter().map(|found| found.chunk).take(MAX_CANDIDATES);
            let fitting = self.symbols_of(chunks.collect(), |symbol, modules| name.fits(symbol, modules))?;
            found.retain(|found| fitting.contains_key(&found.chunk));
            self.add_names(WEIGHTS.whole * rarity(self.chunks, found.len()), &found);
        }
        self.exact.extend(found.iter().map(|found| found.chunk));
        if self.is_in_any_case() || self.cut.compound.is_some() {
            self.declared.extend(found.iter().map(|found| found.chunk));
        }
        // A path finds its file, which may not contain its own name; so does an identifier of several parts.
        let is_called = |path: &str| {
            let text = self.query.text.trim();
            let is_stem = || text.eq_ignore_ascii_case(terms::stem_of(path));
            let is_below =
                || path.strip_suffix(text).is_some_and(|above| above.is_empty() || above.ends_with('/'));
            is_below() || (self.cut.compound.is_some() && is_stem())
        };
        let called = self.parts.files.iter().filter(|file| is_called(&file.columns.path));
        let firsts = called.filter_map(|file| file.chunks().next());
        for chunk in firsts.filter(|chunk| self.passes(*chunk)).collect::<Vec<_>>() {
            self.own[chunk] += WEIGHTS.stem * rarity(self.chunks, 1);
            self.exact.insert(chunk as u32);
        }
        Ok(())
    }

    fn add_text(&mut self, weight: f32, postings: &[Posting]) {
        // Chunks of a file follow one another.
        for of_file in postings.chunk_by(|a, b| a.file == b.file) {
            let mut sum = 0.0;
            for found in of_file {
                let (count, length) = (found.count as f32, found.length as f32 / self.mean_chunk);
                self.own[found.chunk as usize] += weight * WEIGHTS.chunk.saturation(count, length);
                sum += count;
            }
            let file = of_file[0].file as usize;
            let length = self.parts.files[file].length as f32 / self.mean_file;
            self.of_file[file] += weight * WEIGHTS.file * WEIGHTS.file_text.saturation(sum, length);
        }
    }

    fn add_names(&mut self, value: f32, postings: &[Posting]) {
        for found in postings {
            self.own[found.chunk as usize] += value;
        }
    }

    /// Adds to files the value of their paths: the terms of a path are in the first chunk.
    fn add_paths(&mut self, value: f32, postings: &[Posting]) {
        for found in postings {
            self.of_file[found.file as usize] += value;
        }
    }

    fn hits(mut self, nearness: Option<&dyn Nearness>) -> Result<CodeHits, CodeError> {
        let weight = self.add_up()?;
        let mut found = self.valued();
        self.raise_exact(&mut found);
        // A name or a quotation is matched literally, and a query without words has no meaning to compare.
        let has_name = self.cut.is_name || !self.exact.is_empty();
        let is_verbatim = has_name || !self.cut.exact.is_empty() || weight == 0.0;
        let nearness = nearness.filter(|_| !is_verbatim);
        let nearby = nearness.and_then(|nearness| fusion::nearby(&self.parts, &self.passing, nearness));
        if let Some(nearby) = &nearby {
            fusion::fuse(&self.parts, &mut found, nearby, weight, |file| self.factor(file));
        }
        if !self.cut.exact.is_empty() {
            found = self.exact(found)?;
        }
        // Each symbol that a filter finds is a hit.
        if let Some(symbols) = &self.symbols {
            let of_chunk = |hit: &Valued| symbols.get(&hit.chunk).into_iter().flatten();
            let each = |hit: Valued| of_chunk(&hit).map(move |at| Valued { symbol: Some(*at), ..hit });
            found = found.into_iter().flat_map(each).collect();
        }
        found.sort_by_key(|hit| hit.file);
        let mut total = found.len();
        let counts_all = self.query.min_score <= 0.0;
        if counts_all {
            leave_best(&mut found, self.query.limit);
        }
        // Each further chunk of a file counts less: another file is more informative than more of the same.
        for of_file in found.chunk_by_mut(|a, b| a.file == b.file) {
            of_file.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.chunk.cmp(&b.chunk)));
            let mut factor = 1.0;
            for hit in of_file {
                hit.value *= factor;
                factor *= WEIGHTS.again;
            }
        }
        if !counts_all {
            found.retain(|hit| score(hit.value, weight) >= self.query.min_score);
            total = found.len();
        }
        keep_best(&mut found, self.query.limit, |a, b| {
            b.value.total_cmp(&a.value).then_with(|| self.name(a).cmp(&self.name(b)))
        });
        let mut hits = vec![];
        for hit in &found {
            let told = self.told(hit, score(hit.value, weight))?;
            total += told.len() - 1;
            hits.extend(told);
        }
        hits.truncate(self.query.limit);
        Ok(CodeHits { hits, total, by_meaning: nearby.is_some() })
    }

    /// Returns the chunks that have a value, by file.
    fn valued(&mut self) -> Vec<Valued> {
        // The file decides between definitions of a name: neither a chunk's length nor its other words do.
        for defining in [&self.defined, &self.spelled] {
            let best = defining.iter().map(|chunk| self.own[*chunk as usize]).fold(0.0, f32::max);
            defining.iter().for_each(|chunk| self.own[*chunk as usize] = best);
        }
        let mut found = vec![];
        for ((file, of_file), number) in self.parts.files.iter().zip(&self.of_file).zip(0..) {
            let factor = self.factor(file);
            for chunk in file.chunks() {
                let own = self.own[chunk];
                if own > 0.0 {
                    found.push(Valued {
                        chunk: chunk as u32,
                        file: number,
                        symbol: None,
                        value: (own + of_file) * factor,
                    });
                }
            }
        }
        found
    }

    /// Raises chunks that have the query as a name above all others, in any file: a name in a configuration is meant as much as in a
    /// program. Above these are chunks that declare the name, then those that define it, and first those that define it as it is spelled.
    fn raise_exact(&self, found: &mut [Valued]) {
        for raised in [&self.exact, &self.declared, &self.defined, &self.spelled] {
            let others = found.iter().filter(|hit| !raised.contains(&hit.chunk));
            let top = others.map(|hit| hit.value).fold(0.0, f32::max);
            for hit in found.iter_mut().filter(|hit| raised.contains(&hit.chunk)) {
                hit.value += top;
            }
        }
    }

    /// Returns the factor of a file's values.
    fn factor(&self, file: &Searched<'_>) -> f32 {
        file.columns.place.factor(&WEIGHTS, self.about_tests)
    }

    /// Returns the chunks that contain every quoted text, with or without a word of the query: a quotation may begin within a word.
    fn exact(&self, found: Vec<Valued>) -> Result<Vec<Valued>, CodeError> {
        let mut candidates = found;
        let known: HashSet<u32> = candidates.iter().map(|hit| hit.chunk).collect();
        for (file, number) in self.parts.files.iter().zip(0..) {
            let passing = file.chunks().filter(|chunk| self.passes(*chunk));
            let others = passing.map(|chunk| chunk as u32).filter(|chunk| !known.contains(chunk));
            candidates.extend(others.map(|chunk| Valued {
                chunk,
                file: number,
                symbol: None,
                value: f32::MIN_POSITIVE,
            }));
        }
        candidates.sort_by_key(|hit| hit.file);
        let mut kept = vec![];
        for group in candidates.chunk_by(|a, b| a.file == b.file) {
            let file = &self.parts.files[group[0].file as usize];
            let (text, chunks) = content(self.connection, file.columns.number)?;
            let whole = composed(&text);
            if !self.cut.exact.iter().any(|exact| whole.contains(exact.as_str())) {
                continue;
            }
            for hit in group {
                let within = bytes_of(&chunks, hit.chunk as usize - file.first);
                let own = composed(text.get(within).unwrap_or_default());
                if self.cut.exact.iter().all(|exact| own.contains(exact.as_str())) {
                    kept.push(*hit);
                }
            }
        }
        Ok(kept)
    }

    /// Returns the sort key of hits with equal values.
    fn name(&self, hit: &Valued) -> (&str, &str, &str, u32, Option<usize>) {
        let file = &self.parts.files[hit.file as usize];
        let columns = file.columns;
        (&columns.path, &columns.branch, file.key, hit.chunk, hit.symbol)
    }
}

/// Drops chunks, by file, that can't be among the best `limit`. The best chunk of each file keeps its value, so the best chunks of
/// `limit` files set a lower bound; a common word is in most chunks, of which few pass it.
fn leave_best(found: &mut Vec<Valued>, limit: usize) {
    let of_files = found.chunk_by(|a, b| a.file == b.file);
    let mut best: Vec<f32> =
        of_files.map(|of_file| of_file.iter().map(|hit| hit.value).fold(0.0, f32::max)).collect();
    if limit < best.len() {
        let (_, bar, _) = best.select_nth_unstable_by(limit, |a, b| b.total_cmp(a));
        found.retain(|hit| hit.value >= *bar);
    }
}

/// Adds the occurrences of a term that means the same.
fn merge(all: &mut Vec<Posting>, more: Vec<Posting>) {
    all.extend(more);
    all.sort_by_key(|found| found.chunk);
    all.dedup_by(|again, first| {
        let is_same = again.chunk == first.chunk;
        first.count += if is_same { again.count } else { 0 };
        is_same
    });
}
