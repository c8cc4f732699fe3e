//! The judgement of a case, and why a case does not pass.

use std::{
    fmt::{self, Write as _},
    io,
};

use serde::{Deserialize, Serialize};

use crate::{WireError, stepper::StepperError};

/// What came of a case: it holds, or why that can't be said.
pub type Judgement = Result<(), Stop>;

/// Why a case does not pass.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The server broke what the check states.
    Fail(Box<Failure>),
    /// It may hold or not; this server or this machine does not let it be tried.
    NotTestable(String),
    /// The server has nothing that the check is about.
    NotApplicable(String),
    /// The tester itself is in trouble.
    Harness(String),
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In one or two sentences.
    pub what: String,
    /// Documents that are not as they should be.
    pub differences: Vec<Difference>,
}

/// A document that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Which document.
    pub path: String,
    /// What it should hold, as text with escapes where bytes are no text; `None` where there should be none.
    pub expected: Option<String>,
    /// What it holds.
    pub found: Option<String>,
}

/// A failure to `return Err(…)`.
pub fn fail(what: impl Into<String>) -> Stop {
    Stop::Fail(Box::new(Failure {
        what: what.into(),
        differences: Vec::new(),
    }))
}

/// Fails unless `holds`.
///
/// # Errors
/// The failure.
pub fn ensure(holds: bool, what: impl FnOnce() -> String) -> Judgement {
    if holds { Ok(()) } else { Err(fail(what())) }
}

impl Stop {
    /// The same failure, showing also what a document holds and what it should hold. Others stay as they are.
    #[must_use]
    pub fn showing(mut self, path: &str, expected: Option<&[u8]>, found: Option<&[u8]>) -> Self {
        if let Self::Fail(failure) = &mut self {
            failure.differences.push(Difference {
                path: path.to_owned(),
                expected: expected.map(text),
                found: found.map(text),
            });
        }
        self
    }
}

/// Bytes as text, with `\xff` for what is none.
fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a text does not fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fail(failure) => f.write_str(&failure.what),
            Self::NotTestable(why) | Self::NotApplicable(why) | Self::Harness(why) => f.write_str(why),
        }
    }
}

/// A server that can't be reached or does not answer has failed whatever it was asked.
impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        fail(error.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Harness(error.to_string())
    }
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        Self::Harness(error.to_string())
    }
}

impl From<StepperError> for Stop {
    fn from(error: StepperError) -> Self {
        match error {
            StepperError::Io(error) => error.into(),
            other => Self::NotTestable(other.to_string()),
        }
    }
}
