//! What a check finds.

use std::path::PathBuf;

use tabellion_library::HeldLock;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// All is well.
    Green,
    /// It works, and could go wrong.
    Yellow,
    /// Something does not work.
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

/// What a check finds about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Stable name of the thing, for programs.
    pub(crate) id: &'static str,
    pub(crate) status: Status,
    /// What is so.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) mend: Option<String>,
    /// What `--fix` does about it.
    pub(super) fix: Option<Fix>,
}

/// What `--fix` can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fix {
    /// Make the folder a library.
    Init,
    /// Complete or undo an interrupted change, and remove temporary files.
    Recover,
    /// Permit the log's cache to be written, which ended the server before.
    PermitLogCache,
    /// Remove a lock whose program is gone.
    RemoveLock(HeldLock),
    /// Pack the objects of the repository at this path.
    Pack(PathBuf),
}

impl Finding {
    pub(super) fn green(id: &'static str, message: impl Into<String>) -> Self {
        Self {
            id,
            status: Status::Green,
            message: message.into(),
            mend: None,
            fix: None,
        }
    }

    pub(super) fn yellow(id: &'static str, message: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            status: Status::Yellow,
            mend: Some(mend.into()),
            ..Self::green(id, message)
        }
    }

    pub(super) fn red(id: &'static str, message: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            status: Status::Red,
            ..Self::yellow(id, message, mend)
        }
    }

    /// Adds what `--fix` does.
    pub(super) fn with(self, fix: Fix) -> Self {
        Self {
            fix: Some(fix),
            ..self
        }
    }
}
