//! Which section of a text is which section of an earlier one, where nobody says what was changed.
//!
//! Sections are paired in rounds, from what leaves no doubt to what leaves little: each round has a key, and pairs those
//! sections, of all that are still alone, that are the only one with their key on either side. A key of a later round
//! may use the pairs of the earlier ones: *the section of this heading below the one that is known to be the same*. Two
//! sections are never paired for their heading alone when they stand below different ones and have different texts, and
//! where several are alike, with another number of them on the other side, none is paired: that would be a guess.
//!
//! Each round is linear; there are a bounded number of them, since a pair can only help those right above and below it.

use std::{collections::HashMap, hash::Hash};

use sha1::{Digest, Sha1};

use super::super::editor::{self, Parsed};

/// A text of at least so many bytes says which section it is, wherever that stands.
const TELLING: usize = 40;
/// The most rounds in which pairs find further pairs: as many as there are levels, down and up.
const ROUNDS: usize = 12;

/// What a section is recognised by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// The heading as written, without `#`.
    pub title: String,
    /// The digest of its own text, whatever the line endings; `None` for no text.
    pub digest: Option<[u8; 20]>,
    /// The length of its own text in bytes.
    length: usize,
    level: u8,
    /// The section it stands in, as an index into the list.
    parent: Option<usize>,
}

impl Likeness {
    /// How the sections of a document look.
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

/// The digest of a text's lines.
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

/// For each section of `new`, the index of the one in `old` that it is.
pub fn pairs(old: &[Likeness], new: &[Likeness]) -> Vec<Option<usize>> {
    let mut pairing = Pairing {
        old,
        new,
        of_old: vec![None; old.len()],
        of_new: vec![None; new.len()],
    };
    pairing.pair_only(|section, _| Some((section.level, &*section.title, section.digest)));
    pairing.pair_below();
    pairing.pair_only(|section, _| Some((&*section.title, section.digest?)));
    pairing.pair_only(|section, _| section.digest.filter(|_| section.length >= TELLING));
    pairing.pair_below();
    pairing.pair_only(|section, place| Some((place?, section.digest?)));
    pairing.pair_above();
    pairing.pair_below();
    pairing.of_new
}

/// Where a section stands: below a pair, known by its index in the old list, or below none.
type Place = Option<usize>;

struct Pairing<'s> {
    old: &'s [Likeness],
    new: &'s [Likeness],
    of_old: Vec<Option<usize>>,
    of_new: Vec<Option<usize>>,
}

impl<'s> Pairing<'s> {
    fn pair(&mut self, old: usize, new: usize) {
        self.of_old[old] = Some(new);
        self.of_new[new] = Some(old);
    }

    /// The place of each section; `None` where the one it stands in has no pair.
    fn place_of_old(&self, index: usize) -> Option<Place> {
        match self.old[index].parent {
            None => Some(None),
            Some(parent) => self.of_old[parent].map(|_| Some(parent)),
        }
    }

    fn place_of_new(&self, index: usize) -> Option<Place> {
        match self.new[index].parent {
            None => Some(None),
            Some(parent) => self.of_new[parent].map(Some),
        }
    }

    /// All that are alone, by their key: on either side.
    fn alone<K: Eq + Hash>(
        &self,
        key: impl Fn(&'s Likeness, Option<Place>) -> Option<K>,
    ) -> HashMap<K, (Vec<usize>, Vec<usize>)> {
        let mut alone: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for index in (0..self.old.len()).filter(|index| self.of_old[*index].is_none()) {
            if let Some(key) = key(&self.old[index], self.place_of_old(index)) {
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

    /// Pairs those that are the only ones with their key.
    fn pair_only<K: Eq + Hash>(&mut self, key: impl Fn(&'s Likeness, Option<Place>) -> Option<K>) -> bool {
        let mut found = false;
        for (old, new) in self.alone(key).into_values() {
            if let ([old], [new]) = (&old[..], &new[..]) {
                self.pair(*old, *new);
                found = true;
            }
        }
        found
    }

    /// Pairs, in their order, those with the same key, where there are as many on either side.
    fn pair_equally_many<K: Eq + Hash>(
        &mut self,
        key: impl Fn(&'s Likeness, Option<Place>) -> Option<K>,
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

    /// Pairs those in the same place with the same heading, as long as that makes further places known.
    fn pair_below(&mut self) {
        for _ in 0..ROUNDS {
            let found = self.pair_only(|section, place| Some((place?, &*section.title, section.digest)))
                | self.pair_equally_many(|section, place| Some((place?, &*section.title, section.digest)))
                | self.pair_equally_many(|section, place| Some((place?, &*section.title)));
            if !found {
                return;
            }
        }
    }

    /// Pairs those whose children were paired with one another: at least half of them, and with no others.
    fn pair_above(&mut self) {
        for _ in 0..ROUNDS {
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

/// The children of a section that has no pair.
#[derive(Default)]
struct Family {
    children: usize,
    paired: usize,
    /// Below which section those with a pair now are.
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
