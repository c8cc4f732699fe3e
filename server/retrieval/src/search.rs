//! A search in one snapshot of the index: posting lists are read, counted, and added up in arrays with an entry for each
//! document.
//!
//! Time and memory are proportional to the number of documents and to the lengths of the posting lists of the query's words.

use std::cmp::Ordering;

use rusqlite::Connection;

use crate::{
    Filters, IndexError, Nearby, Nearness,
    columns::Columns,
    engine::{Candidates, keep_best, rarity, score},
    filter, fusion,
    postings::{self, Postings, damaged},
    ranking::{DATE, DOCUMENT, GROUP, GROUP_TEXT, NEIGHBORS, PART},
    terms::{self, QueryTerms},
};

// A document's neighbours are read without a check for the end of its group.
const _: () = assert!(NEIGHBORS.len() <= Columns::GAP);

/// A query with its conditions. Any text is valid: it has no operators.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The text.
    pub query: String,
    /// Conditions for all hits.
    pub filters: Filters,
    /// The largest number of hits to return.
    pub limit: usize,
    /// Hits below this score are left out, and not counted.
    pub min_score: f64,
    /// True if only the best document of each group is a hit; of equal ones, the first in the group.
    pub one_per_group: bool,
}

impl Search {
    /// Makes a search without conditions.
    pub fn new(query: impl Into<String>, limit: usize) -> Self {
        Self { query: query.into(), limit, ..Self::default() }
    }

    /// Sets the conditions for all hits.
    #[must_use]
    pub fn filtered(mut self, filters: Filters) -> Self {
        self.filters = filters;
        self
    }

    /// Returns only the best document of each group.
    #[must_use]
    pub fn grouped(mut self) -> Self {
        self.one_per_group = true;
        self
    }

    /// Sets the lowest score.
    #[must_use]
    pub fn at_least(mut self, min_score: f64) -> Self {
        self.min_score = min_score;
        self
    }
}

/// The documents that were found, or the chunks of code.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits<H = Hit> {
    /// Best first.
    pub hits: Vec<H>,
    /// Number of hits without the limit.
    pub total: usize,
    /// True if the meaning of texts counted, in addition to their words.
    pub by_meaning: bool,
}

/// A document that has a word of the query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hit {
    /// The document's id.
    pub id: String,
    /// In (0, 1); see [`crate`] for its meaning.
    pub score: f64,
}

/// Searches the snapshot that `connection` reads and `columns` belongs to.
pub(crate) fn search(
    connection: &Connection,
    columns: &Columns,
    search: &Search,
    nearness: Option<&dyn Nearness>,
) -> Result<Hits, IndexError> {
    let query = terms::of_query(&search.query);
    if query.words.is_empty() {
        return Ok(Hits::default());
    }
    let passing = filter::passing(connection, columns, &search.filters)?;
    let mut scorer = Scorer::new(columns, &passing);
    let weight = scorer.add_query(connection, &query, &passing)?;
    let mut found: Vec<(u32, f64)> =
        scorer.candidates().map(|(document, value)| (document, score(value, weight))).collect();
    let nearby = nearness.and_then(|nearness| {
        let records = (0..).zip(&columns.records);
        let texts = records.map(|(number, record)| record.text().filter(|_| passing.contains(number)));
        Nearby::compare(texts, nearness)
    });
    if let Some(nearby) = &nearby {
        fusion::fuse(columns, &mut found, nearby);
    }
    found.retain(|(_, score)| *score >= search.min_score);
    if search.one_per_group {
        keep_best_of_groups(columns, &mut found);
    }
    let total = found.len();
    keep_best(&mut found, search.limit, |a, b| compare(columns, *a, *b));
    let mut select = connection.prepare_cached("SELECT id FROM document WHERE number = ?")?;
    let hits = found.into_iter().map(|(document, score)| {
        let id = select.query_row([document], |row| row.get(0))?;
        Ok(Hit { id, score })
    });
    let hits = hits.collect::<Result<_, IndexError>>()?;
    Ok(Hits { hits, total, by_meaning: nearby.is_some() })
}

/// Leaves the best document of each group, and all that have none.
fn keep_best_of_groups(columns: &Columns, found: &mut Vec<(u32, f64)>) {
    let record = |document: u32| &columns.records[document as usize];
    let mut best: Vec<Option<(u32, f64)>> = vec![None; columns.groups];
    for &(document, score) in found.iter().filter(|(document, _)| record(*document).group != 0) {
        let best = &mut best[record(document).group as usize];
        let is_better = |(other, least): (u32, f64)| {
            let by_score = score.total_cmp(&least);
            by_score.then_with(|| record(other).position.cmp(&record(document).position)).is_gt()
        };
        if best.is_none_or(is_better) {
            *best = Some((document, score));
        }
    }
    found.retain(|&(document, _)| {
        let group = record(document).group as usize;
        group == 0 || best[group].is_some_and(|(best, _)| best == document)
    });
}

/// Best first; of equal scores, the newest first.
fn compare(columns: &Columns, a: (u32, f64), b: (u32, f64)) -> Ordering {
    let time = |document: u32| columns.records[document as usize].time;
    let by_score = b.1.total_cmp(&a.1);
    by_score.then_with(|| time(b.0).cmp(&time(a.0))).then_with(|| a.0.cmp(&b.0))
}

/// Adds up the value of each document.
struct Scorer<'c> {
    columns: &'c Columns,
    /// Number of documents that pass the filters, and their mean length.
    documents: usize,
    mean_length: f32,
    /// Number of groups with such documents, where a document without a group is one, and their mean length.
    groups: usize,
    mean_group_length: f32,
    /// Length of each group, as far as its documents pass.
    group_lengths: Vec<u32>,
    /// By document: BM25 and dates.
    own: Vec<f32>,
    /// By slot: the value that the neighbours add.
    context: Vec<f32>,
    /// By slot: the value of the current word.
    slots: Vec<f32>,
    /// By group: BM25.
    group: Vec<f32>,
    /// By document without a group: BM25 of a group of one.
    alone: Vec<f32>,
    /// By group: occurrences of the current word.
    counts: Vec<f32>,
    /// Documents with a word of the query, in any order.
    touched: Vec<u32>,
}

impl<'c> Scorer<'c> {
    fn new(columns: &'c Columns, passing: &Candidates) -> Self {
        let mut group_lengths = vec![0_u32; columns.groups];
        let mut has_documents = vec![false; columns.groups];
        let (mut documents, mut alone, mut length) = (0, 0, 0_u64);
        for (number, record) in (0..).zip(&columns.records) {
            if !record.is_document() || !passing.contains(number) {
                continue;
            }
            documents += 1;
            length += u64::from(record.length);
            if record.group == 0 {
                alone += 1;
            } else {
                let group = record.group as usize;
                group_lengths[group] = group_lengths[group].saturating_add(record.length);
                has_documents[group] = true;
            }
        }
        let groups = alone + has_documents.iter().filter(|has| **has).count();
        let mean = |count: usize| (length as f32 / count.max(1) as f32).max(1.0);
        Self {
            columns,
            documents,
            mean_length: mean(documents),
            groups,
            mean_group_length: mean(groups),
            group_lengths,
            own: vec![0.0; columns.records.len()],
            context: vec![0.0; columns.slots],
            slots: vec![0.0; columns.slots],
            group: vec![0.0; columns.groups],
            alone: vec![0.0; if alone > 0 { columns.records.len() } else { 0 }],
            counts: vec![0.0; columns.groups],
            touched: vec![],
        }
    }

    /// Adds the words and dates of the query; returns the weight of all its words.
    fn add_query(
        &mut self,
        connection: &Connection,
        query: &QueryTerms,
        passing: &Candidates,
    ) -> Result<f32, IndexError> {
        let read = |term: &[u8]| -> Result<Postings, IndexError> {
            let mut postings = postings::read(connection, term)?;
            postings.retain(|(document, _)| passing.contains(*document));
            Ok(postings)
        };
        let mut weight = 0.0;
        for [whole, part] in &query.words {
            let counted = |count: f32| move |(document, times): (u32, u32)| (document, count * times as f32);
            let mut postings: Vec<_> = read(whole)?.into_iter().map(counted(1.0)).collect();
            postings.extend(read(part)?.into_iter().map(counted(PART)));
            // Both lists are in order.
            postings.sort_by_key(|(document, _)| *document);
            postings.dedup_by(|(again, more), (document, count)| {
                let is_same = again == document;
                *count += if is_same { *more } else { 0.0 };
                is_same
            });
            weight += rarity(self.documents, postings.len());
            self.add_word(&postings)?;
        }
        for term in &query.dates {
            let postings = read(term)?;
            let weight = DATE * rarity(self.documents, postings.len());
            for (document, _) in postings {
                // Dates raise the scores of hits, and add no hits.
                let own = self.own.get_mut(document as usize).ok_or_else(damaged)?;
                if *own > 0.0 {
                    *own += weight;
                }
            }
        }
        Ok(weight)
    }

    fn add_word(&mut self, postings: &[(u32, f32)]) -> Result<(), IndexError> {
        let weight = rarity(self.documents, postings.len());
        let (mut groups, mut filled) = (vec![], vec![]);
        let mut alone = 0;
        for &(document, count) in postings {
            let record = self.columns.records.get(document as usize).ok_or_else(damaged)?;
            if !record.is_document() {
                return Err(damaged());
            }
            let length = record.length as f32 / self.mean_length;
            let own = &mut self.own[document as usize];
            if *own == 0.0 {
                self.touched.push(document);
            }
            let value = weight * DOCUMENT.saturation(count, length);
            *own += value;
            if record.group == 0 {
                alone += 1;
                continue;
            }
            if let Some(slot) = self.columns.slot(record) {
                self.slots[slot] = value;
                filled.push(slot);
            }
            let counted = &mut self.counts[record.group as usize];
            if *counted == 0.0 {
                groups.push(record.group as usize);
            }
            *counted += count;
        }
        self.share(&filled);
        let weight = GROUP * rarity(self.groups, groups.len() + alone);
        for group in groups {
            let length = self.group_lengths[group] as f32 / self.mean_group_length;
            let count = std::mem::take(&mut self.counts[group]);
            self.group[group] += weight * GROUP_TEXT.saturation(count, length);
        }
        if alone > 0 {
            for &(document, count) in postings {
                let record = &self.columns.records[document as usize];
                if record.group == 0 {
                    let length = record.length as f32 / self.mean_group_length;
                    self.alone[document as usize] += weight * GROUP_TEXT.saturation(count, length);
                }
            }
        }
        Ok(())
    }

    /// Adds the value of the current word in these slots to the neighbours that lack it: a document that has all words of a query itself
    /// comes before one that stands beside several of them.
    fn share(&mut self, filled: &[usize]) {
        for &slot in filled {
            let value = self.slots[slot];
            for (distance, share) in (1..).zip(NEIGHBORS) {
                for beside in [slot - distance, slot + distance] {
                    if self.slots[beside] == 0.0 {
                        self.context[beside] += share * value;
                    }
                }
            }
        }
        for &slot in filled {
            self.slots[slot] = 0.0;
        }
    }

    /// Returns each document with a word of the query, with its value.
    fn candidates(&self) -> impl Iterator<Item = (u32, f32)> {
        self.touched.iter().map(|&document| {
            let record = &self.columns.records[document as usize];
            // The neighbours and the group, if it has any.
            let context = match self.columns.slot(record) {
                Some(slot) => self.context[slot] + self.group[record.group as usize],
                None => self.alone[document as usize],
            };
            (document, self.own[document as usize] + context)
        })
    }
}
