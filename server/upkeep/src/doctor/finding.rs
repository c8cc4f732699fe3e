//! The findings of checks.

use std::path::PathBuf;

use tabellion_library::HeldLock;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// No problem.
    Green,
    /// Works, but may fail later.
    Yellow,
    /// Does not work.
    Red,
}

impl Status {
    /// Returns the name for programs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}

/// A finding of a check about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Stable name of the subject, for programs.
    pub id: &'static str,
    /// Its severity.
    pub status: Status,
    /// The observation.
    pub message: String,
    /// The remedy.
    pub mend: Option<String>,
    /// The repair that `--fix` makes.
    pub(super) fix: Option<Fix>,
}

/// A repair that `--fix` can make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fix {
    /// Make the folder a library.
    Init,
    /// Complete or undo an interrupted change, and remove temporary files.
    Recover,
    /// Permit writing of the log's cache, which ended the server before.
    PermitLogCache,
    /// Remove a lock whose program is gone.
    RemoveLock(HeldLock),
    /// Pack the objects of the repository at this path.
    Pack(PathBuf),
}

impl Finding {
    pub(super) fn green(id: &'static str, message: impl Into<String>) -> Self {
        Self { id, status: Status::Green, message: message.into(), mend: None, fix: None }
    }

    pub(super) fn yellow(id: &'static str, message: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { status: Status::Yellow, mend: Some(mend.into()), ..Self::green(id, message) }
    }

    pub(super) fn red(id: &'static str, message: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { status: Status::Red, ..Self::yellow(id, message, mend) }
    }

    /// Adds the repair that `--fix` makes.
    pub(super) fn with(self, fix: Fix) -> Self {
        Self { fix: Some(fix), ..self }
    }
}
