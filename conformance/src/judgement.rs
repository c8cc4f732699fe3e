//! The judgement of a case, and why a case does not pass.

use std::{
    fmt::{self, Write as _},
    io,
};

use serde::{Deserialize, Serialize};

use crate::{WireError, stepper::StepperError};

/// The judgement of a case: it holds, or a reason why it does not pass.
pub type Judgement = Result<(), Stop>;

/// Why a case does not pass.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The server broke what the check states.
    Fail(Box<Failure>),
    /// The case cannot run with this server or on this machine.
    NotTestable(String),
    /// The server lacks the feature that the check tests.
    NotApplicable(String),
    /// The suite itself failed.
    Harness(String),
}

/// Details of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Description in one or two sentences.
    pub what: String,
    /// Documents with unexpected content.
    pub differences: Vec<Difference>,
}

/// A document with unexpected content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Path of the document.
    pub path: String,
    /// Expected content, as text with escapes for bytes that are not UTF-8; `None` if the document should not exist.
    pub expected: Option<String>,
    /// Actual content; `None` if the document does not exist.
    pub found: Option<String>,
}

/// Returns a failure, for `return Err(fail(…))`.
pub fn fail(what: impl Into<String>) -> Stop {
    Stop::Fail(Box::new(Failure {
        what: what.into(),
        differences: Vec::new(),
    }))
}

/// Fails with a description unless `holds`.
///
/// # Errors
/// The failure.
pub fn ensure(holds: bool, what: impl FnOnce() -> String) -> Judgement {
    if holds { Ok(()) } else { Err(fail(what())) }
}

impl Stop {
    /// Adds the expected and actual content of a document to a failure. Other variants stay unchanged.
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

/// Returns bytes as text, with escapes such as `\xff` for bytes that are not UTF-8.
fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a `String` does not fail.
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

/// A server that is unreachable or does not answer fails the case.
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
