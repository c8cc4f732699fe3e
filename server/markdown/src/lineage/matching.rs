//! Matches the sections of two states of a document whose difference is not recorded.
//!
//! Sections are paired in rounds, the most certain first. Each round has a key, and pairs the unpaired sections whose key is
//! unique on both sides. A key of a later round may use earlier pairs: *the section with this heading below the section that
//! is already paired*. Two sections with different parents are never paired by heading alone. If several sections share a key,
//! and not equally many on both sides, none is paired: that would be a guess.
//!
//! Each round takes linear time. The number of rounds is bounded, since a pair can only help its parent and its children.

use std::{collections::HashMap, hash::Hash};

use sha1::{Digest, Sha1};

use super::super::editor::{self, ParsedDocument};

/// The length in bytes from which a section's own text alone identifies it, wherever it is.
const MIN_DISTINCTIVE_LENGTH: usize = 40;
/// Upper bound of the rounds in which pairs lead to further pairs: six levels down and up.
const MAX_ROUNDS: usize = 12;

/// The features by which a section is recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// The heading as written, without `#`.
    pub title: String,
    /// The digest of its own text, independent of line endings; `None` for no text.
    pub digest: Option<[u8; 20]>,
    /// The length of its own text in bytes.
    length: usize,
    level: u8,
    /// The parent section, as an index into the list.
    pub(super) parent: Option<usize>,
}

impl Fingerprint {
    /// Returns the fingerprints of a document's sections.
    pub fn for_sections(document: &ParsedDocument<'_>) -> Vec<Self> {
        let fingerprint = |section| {
            let content = editor::content(document.text, section);
            Self {
                title: editor::title(document.text, section),
                digest: digest(content),
                length: content.len(),
                level: section.level,
                parent: section.parent,
            }
        };
        document.sections().iter().map(fingerprint).collect()
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

/// Returns, for each section of `new`, the index of the same section in `old`.
pub fn pairs(old: &[Fingerprint], new: &[Fingerprint]) -> Vec<Option<usize>> {
    let mut pairing = Pairing { old, new, of_old: vec![None; old.len()], of_new: vec![None; new.len()] };
    pairing.pair_unique(|section, _| Some((section.level, &*section.title, section.digest?)));
    pairing.pair_children();
    pairing.pair_unique(|section, _| Some((&*section.title, section.digest?)));
    pairing.pair_unique(|section, _| section.digest.filter(|_| section.length >= MIN_DISTINCTIVE_LENGTH));
    pairing.pair_children();
    pairing.pair_unique(|section, parent| Some((parent?, section.digest?)));
    pairing.pair_parents();
    pairing.pair_children();
    pairing.of_new
}

/// The known parent of a section.
#[derive(PartialEq, Eq, Hash)]
enum Parent {
    /// A top-level section has none.
    Root,
    /// A paired section, by its index in the old list.
    Paired(usize),
}

struct Pairing<'s> {
    old: &'s [Fingerprint],
    new: &'s [Fingerprint],
    of_old: Vec<Option<usize>>,
    of_new: Vec<Option<usize>>,
}

impl<'s> Pairing<'s> {
    fn pair(&mut self, old: usize, new: usize) {
        self.of_old[old] = Some(new);
        self.of_new[new] = Some(old);
    }

    /// Returns the parent of an old section; `None` if the parent is not paired.
    fn parent_of_old(&self, index: usize) -> Option<Parent> {
        match self.old[index].parent {
            None => Some(Parent::Root),
            Some(parent) => self.of_old[parent].map(|_| Parent::Paired(parent)),
        }
    }

    /// Returns the parent of a new section; `None` if the parent is not paired.
    fn parent_of_new(&self, index: usize) -> Option<Parent> {
        match self.new[index].parent {
            None => Some(Parent::Root),
            Some(parent) => self.of_new[parent].map(Parent::Paired),
        }
    }

    /// Returns the unpaired sections of both sides by their key.
    fn unpaired<K: Eq + Hash>(
        &self,
        key: impl Fn(&'s Fingerprint, Option<Parent>) -> Option<K>,
    ) -> HashMap<K, (Vec<usize>, Vec<usize>)> {
        let mut unpaired: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for index in (0..self.old.len()).filter(|index| self.of_old[*index].is_none()) {
            if let Some(key) = key(&self.old[index], self.parent_of_old(index)) {
                unpaired.entry(key).or_default().0.push(index);
            }
        }
        for index in (0..self.new.len()).filter(|index| self.of_new[*index].is_none()) {
            if let Some(key) = key(&self.new[index], self.parent_of_new(index)) {
                unpaired.entry(key).or_default().1.push(index);
            }
        }
        unpaired
    }

    /// Pairs sections whose key is unique on both sides.
    fn pair_unique<K: Eq + Hash>(
        &mut self,
        key: impl Fn(&'s Fingerprint, Option<Parent>) -> Option<K>,
    ) -> bool {
        let mut found = false;
        for (old, new) in self.unpaired(key).into_values() {
            if let ([old], [new]) = (&old[..], &new[..]) {
                self.pair(*old, *new);
                found = true;
            }
        }
        found
    }

    /// Pairs, in their order, sections with the same key, if there are equally many on both sides.
    fn pair_equally_many<K: Eq + Hash>(
        &mut self,
        key: impl Fn(&'s Fingerprint, Option<Parent>) -> Option<K>,
    ) -> bool {
        let mut found = false;
        for (old, new) in self.unpaired(key).into_values() {
            if old.len() == new.len() {
                for (old, new) in old.into_iter().zip(new) {
                    self.pair(old, new);
                    found = true;
                }
            }
        }
        found
    }

    /// Pairs sections with the same parent and heading, until no round finds further pairs.
    fn pair_children(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let found = self.pair_unique(|section, parent| Some((parent?, &*section.title, section.digest)))
                | self.pair_equally_many(|section, parent| Some((parent?, &*section.title, section.digest)))
                | self.pair_unique(|section, parent| Some((parent?, &*section.title)));
            if !found {
                return;
            }
        }
    }

    /// Pairs sections if at least half of the children of the old one are paired, all with children of the new one.
    fn pair_parents(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let mut all_children: HashMap<usize, ChildPairs> = HashMap::new();
            for (index, section) in self.old.iter().enumerate() {
                let Some(parent) = section.parent.filter(|parent| self.of_old[*parent].is_none()) else {
                    continue;
                };
                let children = all_children.entry(parent).or_default();
                children.count += 1;
                if let Some(new) = self.of_old[index] {
                    children.add_paired(self.new[new].parent.filter(|parent| self.of_new[*parent].is_none()));
                }
            }
            let mut claims: HashMap<usize, Vec<usize>> = HashMap::new();
            for (old, children) in all_children {
                if let Some(new) = children.match_of_parent() {
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
struct ChildPairs {
    count: usize,
    paired: usize,
    /// The new parent of the paired children.
    new_parent: Option<usize>,
    /// The paired children have several new parents, or one that is already paired.
    split: bool,
}

impl ChildPairs {
    fn add_paired(&mut self, parent: Option<usize>) {
        self.paired += 1;
        self.split |= parent.is_none() || self.paired > 1 && self.new_parent != parent;
        self.new_parent = parent;
    }

    fn match_of_parent(&self) -> Option<usize> {
        self.new_parent.filter(|_| !self.split && 2 * self.paired >= self.count)
    }
}
