//! Problems of contracts: location, message, help.

use std::{fmt, path::PathBuf};

/// A problem at one location.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Path of the file: `schemas/notes/tools/read_note.json`.
    pub file: PathBuf,
    /// Position in the file, if it could be parsed that far.
    pub place: Option<Position>,
    /// JSON pointer to the culprit; empty for the whole file, or if it is not JSON.
    pub pointer: String,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Windows writes the same path as all other systems, so that outputs can be compared.
        let file = self.file.display().to_string().replace('\\', "/");
        match self.place {
            Some(place) if self.pointer.is_empty() => write!(f, "{file}:{}:{}", place.line, place.column)?,
            _ if self.pointer.is_empty() => write!(f, "{file}")?,
            _ => write!(f, "{file}#{}", self.pointer)?,
        }
        write!(f, ": {}\n  help: {}", self.message, self.help)
    }
}

/// All problems, ordered by file and position. Never empty.
///
/// `Debug` is the text of `Display`, so that a `main` that returns them prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Returns `Err` with the problems in their order, or `Ok` if there are none.
    ///
    /// # Errors
    /// If `problems` is not empty.
    pub fn none_of(mut problems: Vec<Problem>) -> Result<(), Self> {
        problems.sort();
        problems.dedup();
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }

    /// Returns the problems one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.0.len() == 1 { "" } else { "\n" };
        write!(f, "{separator}{self}")
    }
}

impl std::error::Error for Problems {}
