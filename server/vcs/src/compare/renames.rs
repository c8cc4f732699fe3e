//! Renames: pairs of added and deleted files, found as by git's `-M` (diffcore-rename): first identical files, then those with the same
//! base name that are similar enough, then the most similar ones.

use std::{
    cmp::Reverse,
    collections::{HashMap, hash_map::Entry},
    rc::Rc,
};

use gix::{ObjectId, bstr::BStr};

use super::{
    content::Contents,
    similarity::{MAX_SCORE, Pieces, score, sizes_permit},
    tree::{Difference, TreeFile, file_name},
};
use crate::error::{VcsError, check};

/// The score that a rename needs: 50 %.
const MIN_SCORE: u64 = MAX_SCORE / 2;

/// The score that a rename needs to be found by its base name alone: half way from [`MIN_SCORE`] to the top.
const MIN_BASE_NAME_SCORE: u64 = MIN_SCORE + (MAX_SCORE - MIN_SCORE) / 2;

/// Git's limit (`diff.renameLimit`): the number of files compared with each other is at most its square.
const RENAME_LIMIT: usize = 1000;

/// Number of old files kept for a new one until all have been compared.
const CANDIDATES: usize = 4;

/// Upper bound of the memory for pieces of files; those of further files are recomputed for each comparison.
const MAX_CACHED_BYTES: usize = 128 * 1024 * 1024;

/// Renames: index of the added file among the differences, and of the deleted one.
#[derive(Debug, Default)]
pub(super) struct Renames {
    pub(super) pairs: HashMap<usize, usize>,
    /// True if there were too many files to compare all.
    pub(super) limited: bool,
}

/// Finds renames among differences, which are in the order of git's trees.
pub(super) fn find(
    differences: &[Difference],
    contents: &Contents<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Renames, VcsError> {
    let file = |index: usize, file: Option<TreeFile>| {
        let path = &differences[index].path;
        file.map(|file| Candidate { index, path: path.as_ref(), file, renamed: false })
    };
    let mut old = Vec::new();
    let mut new = Vec::new();
    for (index, difference) in differences.iter().enumerate() {
        match (difference.old, difference.new) {
            (Some(_), None) => old.extend(file(index, difference.old)),
            (None, Some(_)) => new.extend(file(index, difference.new)),
            _ => {}
        }
    }
    let mut search = RenameSearch {
        old,
        new,
        contents,
        cancelled,
        sizes: HashMap::new(),
        pieces: HashMap::new(),
        cached: 0,
        found: Renames::default(),
    };
    if !search.old.is_empty() && !search.new.is_empty() {
        search.same();
        search.same_base_name()?;
        search.similar()?;
    }
    Ok(search.found)
}

/// A deleted or added file.
struct Candidate<'d> {
    index: usize,
    path: &'d BStr,
    file: TreeFile,
    renamed: bool,
}

impl Candidate<'_> {
    fn base_name(&self) -> &[u8] {
        file_name(self.path)
    }
}

/// Files are named by their index among the deleted or added ones.
struct RenameSearch<'a> {
    old: Vec<Candidate<'a>>,
    new: Vec<Candidate<'a>>,
    contents: &'a Contents<'a>,
    cancelled: &'a dyn Fn() -> bool,
    sizes: HashMap<ObjectId, u64>,
    pieces: HashMap<ObjectId, Rc<Pieces>>,
    /// Bytes of `pieces`.
    cached: usize,
    found: Renames,
}

impl RenameSearch<'_> {
    fn record(&mut self, old: usize, new: usize) {
        self.old[old].renamed = true;
        self.new[new].renamed = true;
        self.found.pairs.insert(self.new[new].index, self.old[old].index);
    }

    /// Finds identical files, if possible with the same base name, or else the first one.
    fn same(&mut self) {
        let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for (at, old) in self.old.iter().enumerate() {
            by_id.entry(old.file.id).or_default().push(at);
        }
        for at in 0..self.new.len() {
            let new = &self.new[at];
            let can_be = |old: &&usize| {
                let old = &self.old[**old];
                let regular = old.file.is_regular() && new.file.is_regular();
                !old.renamed && (regular || old.file.kind == new.file.kind)
            };
            let same = by_id.get(&new.file.id).into_iter().flatten();
            let mut same = same.filter(can_be);
            let first = same.clone().next();
            let best = same.find(|old| self.old[**old].base_name() == new.base_name()).or(first);
            if let Some(old) = best.copied() {
                self.record(old, at);
            }
        }
    }

    /// Finds similar files whose base name is unique among deleted and among added files.
    fn same_base_name(&mut self) -> Result<(), VcsError> {
        let old = only_ones(&self.old);
        let new = only_ones(&self.new);
        let mut pairs = Vec::new();
        for (at, candidate) in self.old.iter().enumerate() {
            let name = candidate.base_name();
            let is_only = old.get(name).is_some_and(|only| *only == Some(at));
            if let (true, Some(Some(new))) = (is_only, new.get(name)) {
                pairs.push((at, *new));
            }
        }
        for (old, new) in pairs {
            if self.score(old, new)? >= MIN_BASE_NAME_SCORE {
                self.record(old, new);
            }
        }
        Ok(())
    }

    /// Finds the most similar of the remaining files, best first.
    fn similar(&mut self) -> Result<(), VcsError> {
        let left = |files: &[Candidate<'_>]| -> Vec<usize> {
            (0..files.len()).filter(|at| !files[*at].renamed).collect()
        };
        let (old, new) = (left(&self.old), left(&self.new));
        if old.len().saturating_mul(new.len()) > RENAME_LIMIT * RENAME_LIMIT {
            self.found.limited = true;
            return Ok(());
        }
        let mut pairs = Vec::new();
        for new in new {
            check(self.cancelled)?;
            let mut best: Vec<Pair> = Vec::with_capacity(CANDIDATES);
            for old in &old {
                let same_name = self.old[*old].base_name() == self.new[new].base_name();
                let rank = Reverse((self.score(*old, new)?, same_name));
                let pair = Pair { rank, old: *old, new };
                if best.len() < CANDIDATES {
                    best.push(pair);
                    continue;
                }
                // The first of the worst is replaced, as in git, where this decides among equal ones.
                let worst = (1..CANDIDATES)
                    .fold(0, |worst, at| if best[at].rank > best[worst].rank { at } else { worst });
                if best[worst].rank > pair.rank {
                    best[worst] = pair;
                }
            }
            pairs.extend(best);
        }
        pairs.sort_by_key(|pair| pair.rank);
        for Pair { rank: Reverse((score, _)), old, new } in pairs {
            if score >= MIN_SCORE && !self.old[old].renamed && !self.new[new].renamed {
                self.record(old, new);
            }
        }
        Ok(())
    }

    /// Returns the score of an old and a new file; 0 if it is certainly too low.
    fn score(&mut self, old: usize, new: usize) -> Result<u64, VcsError> {
        let (old_file, new_file) = (self.old[old].file, self.new[new].file);
        if !old_file.is_regular() || !new_file.is_regular() {
            return Ok(0);
        }
        let (old_size, new_size) = (self.size(&old_file)?, self.size(&new_file)?);
        if !sizes_permit(old_size, new_size, MIN_SCORE) {
            return Ok(0);
        }
        check(self.cancelled)?;
        let old = self.pieces(self.old[old].path, &old_file)?;
        let new = self.pieces(self.new[new].path, &new_file)?;
        Ok(score((&old, old_size), (&new, new_size)))
    }

    fn size(&mut self, file: &TreeFile) -> Result<u64, VcsError> {
        match self.sizes.entry(file.id) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(unknown) => Ok(*unknown.insert(self.contents.size(file)?)),
        }
    }

    fn pieces(&mut self, path: &BStr, file: &TreeFile) -> Result<Rc<Pieces>, VcsError> {
        if let Some(known) = self.pieces.get(&file.id) {
            return Ok(known.clone());
        }
        let pieces = Rc::new(Pieces::from_content(&self.contents.read(path, file)?));
        if self.cached + pieces.size() <= MAX_CACHED_BYTES {
            self.cached += pieces.size();
            self.pieces.insert(file.id, pieces.clone());
        }
        Ok(pieces)
    }
}

/// A deleted and an added file; the better one comes first.
struct Pair {
    rank: Reverse<(u64, bool)>,
    old: usize,
    new: usize,
}

/// Returns the files that are not renamed yet by base name; `None` if several have the name.
fn only_ones<'c>(files: &'c [Candidate<'_>]) -> HashMap<&'c [u8], Option<usize>> {
    let mut by_name = HashMap::new();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.renamed) {
        let entry = by_name.entry(file.base_name());
        entry.and_modify(|only| *only = None).or_insert(Some(at));
    }
    by_name
}
