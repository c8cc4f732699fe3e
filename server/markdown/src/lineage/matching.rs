//! Matches the sections of a text to those of an earlier one, if no log entry says what changed.
//!
//! Sections are paired in rounds, from certain to likely: each round has a key, and pairs the unpaired sections that are the
//! only ones with their key on either side. Keys of later rounds can use earlier pairs: *the section with this heading below
//! a paired parent*. Sections are never paired by heading alone if their parents differ and their texts differ; and if
//! several are alike, with different numbers on both sides, none is paired, because that would be a guess.
//!
//! Each round is linear. The number of rounds is limited, since a pair helps only its parent and children.

use std::{collections::HashMap, hash::Hash};

use sha1::{Digest, Sha1};

use super::super::editor::{self, Parsed};

/// Minimum size in bytes of a text that identifies its section wherever it is.
const MIN_IDENTIFYING_BYTES: usize = 40;
/// Upper bound of the rounds in which pairs lead to further pairs: the number of levels, down and up.
const MAX_ROUNDS: usize = 12;

/// The features by which a section is recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// The heading as written, without `#`.
    pub title: String,
    /// Digest of its own text, regardless of line endings; `None` for no text.
    pub digest: Option<[u8; 20]>,
    /// Size of its own text in bytes.
    length: usize,
    level: u8,
    /// Index of its parent.
    parent: Option<usize>,
}

impl Features {
    /// Returns the features of a document's sections.
    pub fn of(document: &Parsed<'_>) -> Vec<Self> {
        let likeness = |section| {
            let content = editor::content(document.text, section);
            Self {
                title: editor::title(document.text, section),
                digest: digest(content),
                length: content.len(),
                level: section.level,
                parent: section.parent,
            }
        };
        document.sections().iter().map(likeness).collect()
    }
}

/// Returns the digest of a text's lines.
fn digest(text: &str) -> Option<[u8; 20]> {
    if text.is_empty() {
        return None;
    }
    let mut sha1 = Sha1::new();
    for line in text.split('\n') {
        sha1.update(line.strip_suffix('\r').unwrap_or(line));
        sha1.update(b"\n");
    }
    Some(sha1.finalize().into())
}

/// For each section of `new`, returns the index of the same section in `old`.
pub fn pairs(old: &[Features], new: &[Features]) -> Vec<Option<usize>> {
    let mut pairing = Pairing {
        old,
        new,
        of_old: vec![None; old.len()],
        of_new: vec![None; new.len()],
    };
    pairing.pair_only(|section, _| Some((section.level, &*section.title, section.digest)));
    pairing.pair_below();
    pairing.pair_only(|section, _| Some((&*section.title, section.digest?)));
    pairing.pair_only(|section, _| section.digest.filter(|_| section.length >= MIN_IDENTIFYING_BYTES));
    pairing.pair_below();
    pairing.pair_only(|section, place| Some((place?, section.digest?)));
    pairing.pair_above();
    pairing.pair_below();
    pairing.of_new
}

/// A section's parent: the index of a paired one in the old list, or none.
type Parent = Option<usize>;

struct Pairing<'s> {
    old: &'s [Features],
    new: &'s [Features],
    of_old: Vec<Option<usize>>,
    of_new: Vec<Option<usize>>,
}

impl<'s> Pairing<'s> {
    fn pair(&mut self, old: usize, new: usize) {
        self.of_old[old] = Some(new);
        self.of_new[new] = Some(old);
    }

    /// Returns the parent of each section; `None` if the parent is not paired.
    fn parent_of_old(&self, index: usize) -> Option<Parent> {
        match self.old[index].parent {
            None => Some(None),
            Some(parent) => self.of_old[parent].map(|_| Some(parent)),
        }
    }

    fn place_of_new(&self, index: usize) -> Option<Parent> {
        match self.new[index].parent {
            None => Some(None),
            Some(parent) => self.of_new[parent].map(Some),
        }
    }

    /// Returns the unpaired sections by key, on either side.
    fn alone<K: Eq + Hash>(
        &self,
        key: impl Fn(&'s Features, Option<Parent>) -> Option<K>,
    ) -> HashMap<K, (Vec<usize>, Vec<usize>)> {
        let mut alone: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for index in (0..self.old.len()).filter(|index| self.of_old[*index].is_none()) {
            if let Some(key) = key(&self.old[index], self.parent_of_old(index)) {
                alone.entry(key).or_default().0.push(index);
            }
        }
        for index in (0..self.new.len()).filter(|index| self.of_new[*index].is_none()) {
            if let Some(key) = key(&self.new[index], self.place_of_new(index)) {
                alone.entry(key).or_default().1.push(index);
            }
        }
        alone
    }

    /// Pairs the sections whose key is unique on both sides.
    fn pair_only<K: Eq + Hash>(&mut self, key: impl Fn(&'s Features, Option<Parent>) -> Option<K>) -> bool {
        let mut found = false;
        for (old, new) in self.alone(key).into_values() {
            if let ([old], [new]) = (&old[..], &new[..]) {
                self.pair(*old, *new);
                found = true;
            }
        }
        found
    }

    /// Pairs sections with the same key in order, if both sides have equally many.
    fn pair_equally_many<K: Eq + Hash>(
        &mut self,
        key: impl Fn(&'s Features, Option<Parent>) -> Option<K>,
    ) -> bool {
        let mut found = false;
        for (old, new) in self.alone(key).into_values() {
            if old.len() == new.len() {
                for (old, new) in old.into_iter().zip(new) {
                    self.pair(old, new);
                    found = true;
                }
            }
        }
        found
    }

    /// Pairs sections with the same parent and heading, until no further parents become known.
    fn pair_below(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let found = self.pair_only(|section, place| Some((place?, &*section.title, section.digest)))
                | self.pair_equally_many(|section, place| Some((place?, &*section.title, section.digest)))
                | self.pair_equally_many(|section, place| Some((place?, &*section.title)));
            if !found {
                return;
            }
        }
    }

    /// Pairs sections if at least half of their children were paired with each other, and none with others.
    fn pair_above(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let mut families: HashMap<usize, Family> = HashMap::new();
            for (index, section) in self.old.iter().enumerate() {
                let Some(parent) = section.parent.filter(|parent| self.of_old[*parent].is_none()) else {
                    continue;
                };
                let family = families.entry(parent).or_default();
                family.children += 1;
                if let Some(new) = self.of_old[index] {
                    family.join(
                        self.new[new]
                            .parent
                            .filter(|parent| self.of_new[*parent].is_none()),
                    );
                }
            }
            let mut claims: HashMap<usize, Vec<usize>> = HashMap::new();
            for (old, family) in families {
                if let Some(new) = family.moved_to() {
                    claims.entry(new).or_default().push(old);
                }
            }
            let mut found = false;
            for (new, olds) in claims {
                if let [old] = olds[..] {
                    self.pair(old, new);
                    found = true;
                }
            }
            if !found {
                return;
            }
        }
    }
}

/// The children of an unpaired section.
#[derive(Default)]
struct Family {
    children: usize,
    paired: usize,
    /// The section that now has the paired children.
    now_below: Option<usize>,
    apart: bool,
}

impl Family {
    fn join(&mut self, parent: Option<usize>) {
        self.paired += 1;
        self.apart |= parent.is_none() || self.paired > 1 && self.now_below != parent;
        self.now_below = parent;
    }

    fn moved_to(&self) -> Option<usize> {
        self.now_below
            .filter(|_| !self.apart && 2 * self.paired >= self.children)
    }
}
