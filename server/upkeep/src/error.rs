//! Errors of the commands for people: the problem, and its remedy.

use std::{error::Error, fmt};

use anstyle::{AnsiColor, Style};
use tabellion_library::{FindEntryError, OpenError, SyncError};
use tabellion_runtime::Failure;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// An error with advice, shown as cargo shows its own.
#[derive(Debug)]
pub struct TerminalError {
    message: String,
    hint: Option<String>,
}

impl TerminalError {
    /// Creates an error without advice.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), hint: None }
    }

    /// Adds a remedy.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the conversion of a failure to write an answer. Its message says first that the change was made: `done`.
    pub fn unreported(done: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::new(format_args!("{done}, but the answer can't be written: {error}"))
    }

    /// Returns the text for a terminal; `anstream` removes the colours if they are not supported.
    pub fn shown(&self) -> String {
        let mut text = format!("{ERROR}error{ERROR:#}: {}", self.message);
        if let Some(hint) = &self.hint {
            text += &format!("\n  {HINT}help{HINT:#}: {hint}");
        }
        text
    }
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for TerminalError {}

impl From<Failure> for TerminalError {
    fn from(failure: Failure) -> Self {
        Self::new(failure)
    }
}

impl From<SyncError> for TerminalError {
    fn from(error: SyncError) -> Self {
        Self::new(error)
    }
}

impl From<std::io::Error> for TerminalError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

impl From<OpenError> for TerminalError {
    fn from(error: OpenError) -> Self {
        let hint = matches!(error, OpenError::Missing { .. })
            .then(|| "choose a library with `--library DIR`".into());
        Self { message: error.to_string(), hint }
    }
}

impl From<FindEntryError> for TerminalError {
    fn from(error: FindEntryError) -> Self {
        let hint = match &error {
            FindEntryError::NotAnId(_) | FindEntryError::NotFound(_) => {
                Some("`tabellion log` lists the entries".into())
            }
            FindEntryError::NotAnEntry(id) => {
                Some(format!("no tool made it: `git show {id}` shows it, and `git revert {id}` undoes it"))
            }
            FindEntryError::Elsewhere { .. } => {
                Some("choose the library that it was made in with `--library DIR`".into())
            }
            FindEntryError::Ambiguous { .. } => Some("give more digits".into()),
            FindEntryError::Failure(_) => None,
        };
        Self { message: error.to_string(), hint }
    }
}
