//! Completeness of the index of words, and rebuilding it.

use std::path::Path;

use tabellion_retrieval::{Document, IndexError, SourceError, Status, inspect};
use tabellion_runtime::{Failure, FailureKind, Row, rows::identity, spec::EntitySpec};

use super::{
    call::entity,
    words::{ENTITIES, RECIPE, Words, document, document_id},
};
use tabellion_pack::{Count, Derived, IndexState};

/// Number of rows that are read at a time.
const PAGE: u64 = 1_000;
/// Number of comparisons of rows and index, while other processes change them.
const MAX_ATTEMPTS: usize = 5;

impl Derived for Words {
    fn path(&self) -> &Path {
        &self.path
    }

    fn standing(&self) -> Result<IndexState, Failure> {
        let mut standing = self.compare()?;
        for _ in 1..MAX_ATTEMPTS {
            // A change between the two readings has the same effect.
            if !matches!(standing, IndexState::Wrong { .. }) {
                break;
            }
            standing = self.compare()?;
        }
        Ok(standing)
    }

    fn rebuild(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Count>, Failure> {
        match self.try_to_rebuild(progress) {
            // A damaged file is empty now.
            Err(Problem::Index(IndexError::Damaged(_))) => self.try_to_rebuild(progress),
            outcome => outcome,
        }
        .map_err(|problem| match problem {
            Problem::Rows(failure) => failure,
            Problem::Index(error) => failure(error),
        })
    }
}

/// Returns the failure for the operator, with all details.
fn failure(error: IndexError) -> Failure {
    let kind = match error {
        IndexError::Busy => FailureKind::Busy,
        _ => FailureKind::Io,
    };
    Failure::new(kind, error.to_string()).with_source(error)
}

/// Reason why the index was not rebuilt.
enum Problem {
    Rows(Failure),
    Index(IndexError),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Rows(failure)
    }
}

impl From<IndexError> for Problem {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

impl Words {
    fn try_to_rebuild(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Count>, Problem> {
        let records = &self.rows.0;
        let entities = entities()?;
        // Changes made while rows are read have later entries in the log: the next search takes them again.
        let (counts, at) = records.counts(&entities)?;
        let mark = records.entry_id(at)?;
        let mut all = Pages {
            words: self,
            left: entities.iter().rev().copied().collect(),
            rows: Vec::new().into_iter(),
            last: None,
            taken: entities.iter().map(|entity| Count { entity: entity.name, rows: 0 }).collect(),
            expected: counts.iter().sum(),
            progress,
        };
        self.index()?.rebuild(&mut all, at, mark.as_deref())?;
        Ok(all.taken)
    }

    fn compare(&self) -> Result<IndexState, Failure> {
        let found = match inspect(&self.path, RECIPE) {
            Ok(found) => found,
            Err(IndexError::Damaged(why)) => return Ok(IndexState::Void(why)),
            Err(error) => return Err(failure(error)),
        };
        let (counts, end) = self.rows.0.counts(&entities()?)?;
        let rows = counts.iter().sum();
        let Some(Status { at, mark, documents }) = found else {
            return Ok(IndexState::Missing { rows });
        };
        let has = documents as u64;
        if at > 0 && mark != self.rows.0.entry_id(at)? {
            return Ok(IndexState::Void("it was made of other data".into()));
        }
        Ok(match (at < end, has == rows) {
            (true, _) => IndexState::Behind { has, rows, at, end },
            (false, true) => IndexState::Current { rows, at },
            (false, false) => IndexState::Wrong { has, rows },
        })
    }
}

fn entities() -> Result<Vec<&'static EntitySpec>, Failure> {
    let found = ENTITIES.iter().map(|name| entity(name));
    let all: Result<_, _> = found.collect();
    all.map_err(|_| Failure::new(FailureKind::Io, "the contract lacks an entity that the index is made of"))
}

/// The documents of all rows, page by page.
struct Pages<'w> {
    words: &'w Words,
    /// The remaining entities, the next one last.
    left: Vec<&'static EntitySpec>,
    rows: std::vec::IntoIter<Row>,
    /// The last row that was read of the next entity.
    last: Option<Row>,
    taken: Vec<Count>,
    expected: u64,
    progress: &'w mut dyn FnMut(u64, u64),
}

impl Pages<'_> {
    /// Returns the next row with its entity.
    fn row(&mut self) -> Result<Option<(&'static EntitySpec, Row)>, Failure> {
        while let Some(entity) = self.left.last().copied() {
            if let Some(row) = self.rows.next() {
                return Ok(Some((entity, row)));
            }
            let taken = self.taken.iter().map(|count| count.rows).sum();
            (self.progress)(taken, self.expected.max(taken));
            let rows = self.words.rows.0.page(entity, self.last.take(), PAGE)?;
            self.last = rows.last().cloned();
            if rows.is_empty() {
                self.left.pop();
            }
            self.rows = rows.into_iter();
        }
        Ok(None)
    }
}

impl Iterator for &mut Pages<'_> {
    type Item = Result<Document, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.row() {
            Ok(None) => None,
            Err(failure) => Some(Err(failure.into())),
            Ok(Some((entity, row))) => {
                let key = identity(entity, &row);
                if let Some(count) = self.taken.iter_mut().find(|count| count.entity == entity.name) {
                    count.rows += 1;
                }
                Some(Ok(document(document_id(entity.name, &key), entity.name, &row)))
            }
        }
    }
}
