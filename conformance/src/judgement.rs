//! The judgement of a case, and reasons for not passing.

use std::{
    fmt::{self, Write as _},
    io,
    path::Path,
};

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::GuaranteeKind;

use crate::{
    WireError,
    reply::{Refusal, Reply, Success},
    stepper::StepperError,
};

/// The judgement of a case: it holds, or a reason why it does not pass.
pub type Judgement = Result<(), Stop>;

/// Reason why a case does not pass.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The server broke the check's requirement.
    Fail(Box<Failure>),
    /// The case showed nothing about the check's requirement: it cannot run on this machine, or the server refused a valid
    /// call or did not answer.
    NotShown(Box<NotShown>),
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
    /// Extent of the failure, which decides which of the check's guarantees it breaks.
    pub shows: Shows,
    /// A cause that other checks may share, if known.
    pub cause: Option<Cause>,
}

/// Extent of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// All guarantees of the check are broken.
    All,
    /// A document is wrong: guarantees about commits and the log are not broken by that.
    Documents,
    /// The history is wrong, or differs from the folder: only guarantees about commits are broken.
    Commits,
    /// The log is wrong: only guarantees about the log are broken.
    Log,
    /// No broken guarantee: the refusal of a valid call, a missing answer, a wrong reading.
    Nothing,
}

impl Shows {
    /// Returns true if it breaks a guarantee of this kind that the check is about.
    pub fn breaks(self, kind: Option<GuaranteeKind>) -> bool {
        match self {
            Self::All => true,
            Self::Documents => !matches!(kind, Some(GuaranteeKind::Commit | GuaranteeKind::Log)),
            Self::Commits => kind == Some(GuaranteeKind::Commit),
            Self::Log => kind == Some(GuaranteeKind::Log),
            Self::Nothing => false,
        }
    }
}

/// Details of a case that showed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotShown {
    /// Description in one sentence.
    pub why: String,
    /// The server's behaviour; `None` if the machine, the command line or the adapter is the reason.
    pub cause: Option<Cause>,
}

/// A reason that several checks can have in common for not passing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "what")]
pub enum Cause {
    /// The server refused a valid call with this message, in which words that differ from call to call are masked.
    Refusal(String),
    /// The server did not answer, with a description of the failure.
    NoAnswer(String),
    /// The server's process ended during a valid call, with its exit status.
    Ended(String),
    /// The server keeps this file or folder of its own in the library.
    OwnState(String),
    /// The server returns only a part of a long document.
    PartialRead,
    /// The server accepts calls that the contract refuses.
    Accepted,
    /// The server's messages break MCP's schema, with the definition, the place and the violation.
    Schema(String),
}

/// Number of words of a message that identify a refusal.
const MAX_GIST_WORDS: usize = 16;

impl Cause {
    /// Returns the cause of a refusal: the message without paths, numbers and quoted names.
    pub fn refusal(message: &str) -> Self {
        let differs = |word: &&str| {
            word.contains(['/', '\\', '"', '`', '\''])
                || word.contains(".m")
                || word.contains(|it: char| it.is_ascii_digit())
        };
        let line = message.lines().next().unwrap_or_default();
        let words = line.split_whitespace().take(MAX_GIST_WORDS);
        let words: Vec<_> = words.map(|word| if differs(&word) { "…" } else { word }).collect();
        Self::Refusal(words.join(" "))
    }

    /// Returns the cause of an unexpected file or folder: the server's own state, if its name begins with a dot.
    pub fn of_file(path: &Path) -> Option<Self> {
        let first = path.components().next()?.as_os_str().to_string_lossy();
        let is_hidden = first.starts_with('.') && first != ".git";
        let is_folder = path.components().nth(1).is_some() || path.to_string_lossy().ends_with('/');
        is_hidden.then(|| Self::OwnState(if is_folder { format!("{first}/") } else { first.into_owned() }))
    }
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
        shows: Shows::All,
        cause: None,
    }))
}

/// Returns the reason why a case does not apply to the server, for `return Err(not_applicable(…))`.
pub fn not_applicable(why: impl Into<String>) -> Stop {
    Stop::NotApplicable(why.into())
}

/// Returns the reason why a case does not apply to a server without a tool for it.
pub fn missing_tool() -> Stop {
    not_applicable("the server has no such tool")
}

/// Returns the reason why a case does not apply to a server whose tools are not the contract's.
pub fn mapped_tools() -> Stop {
    not_applicable("an adapter maps the server's tools to the contract")
}

/// Returns a list that has something in it.
///
/// # Errors
/// "Not applicable", for the reason `otherwise`, if the list is empty.
pub fn nonempty<T>(list: Vec<T>, otherwise: &str) -> Result<Vec<T>, Stop> {
    if list.is_empty() { Err(not_applicable(otherwise)) } else { Ok(list) }
}

/// Returns the failure of a server that accepted a call that the contract refuses. A server with other tools may have other
/// rules.
pub fn accepted(what: impl Into<String>) -> Stop {
    fail(what).because(Some(Cause::Accepted))
}

/// Returns the reason why a case can't run here, for `return Err(not_shown(…))`.
pub fn not_shown(why: impl Into<String>) -> Stop {
    Stop::NotShown(Box::new(NotShown { why: why.into(), cause: None }))
}

/// Returns the reason why a case showed nothing: the server refused `what`, which is valid.
pub fn refused(what: impl fmt::Display, refusal: &Refusal) -> Stop {
    Stop::NotShown(Box::new(NotShown {
        why: format!("{what} was refused: {}", refusal.message),
        cause: Some(Cause::refusal(&refusal.message)),
    }))
}

/// Fails if the server refused the valid call `what`.
pub fn ensure_accepted(reply: &Reply, what: impl fmt::Display) -> Judgement {
    match reply {
        Reply::Done(_) => Ok(()),
        Reply::Refused(refusal) => Err(refused(what, refusal)),
    }
}

impl Reply {
    /// Returns the success of the valid call `what`.
    pub fn must(self, what: impl fmt::Display) -> Result<Success, Stop> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Refused(refusal) => Err(refused(what, &refusal)),
        }
    }
}

/// Fails with a description unless `holds`.
pub fn ensure(holds: bool, what: impl FnOnce() -> String) -> Judgement {
    if holds { Ok(()) } else { Err(fail(what())) }
}

/// Fails with a description of the value, if there is one.
pub fn ensure_none<T>(found: Option<T>, what: impl FnOnce(T) -> String) -> Judgement {
    found.map_or(Ok(()), |found| Err(fail(what(found))))
}

impl Stop {
    /// Returns true if the server is the reason: it failed, refused a valid call, or did not answer.
    pub fn is_of_server(&self) -> bool {
        match self {
            Self::Fail(_) => true,
            Self::NotShown(shown) => shown.cause.is_some(),
            Self::NotApplicable(_) | Self::Harness(_) => false,
        }
    }

    /// Prefixes a failure's description with its subject. Other variants stay unchanged.
    #[must_use]
    pub fn about(mut self, subject: impl fmt::Display) -> Self {
        if let Self::Fail(failure) = &mut self {
            failure.what = format!("{subject}: {}", failure.what);
        }
        self
    }

    /// Sets the extent of a failure. Other variants stay unchanged.
    #[must_use]
    pub fn shows(mut self, shows: Shows) -> Self {
        if let Self::Fail(failure) = &mut self {
            failure.shows = shows;
        }
        self
    }

    /// Adds the cause to a failure. Other variants stay unchanged.
    #[must_use]
    pub fn because(mut self, cause: Option<Cause>) -> Self {
        if let Self::Fail(failure) = &mut self {
            failure.cause = cause;
        }
        self
    }

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
            Self::NotShown(it) => f.write_str(&it.why),
            Self::NotApplicable(why) | Self::Harness(why) => f.write_str(why),
        }
    }
}

/// A server that is unreachable or does not answer shows nothing; [`run`](mod@crate::run) decides where it owes an answer.
impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        let why = error.to_string();
        let cause = match error {
            // The text of the message differs each time.
            WireError::NotJson(_) => "the server sent a message that is not JSON".to_owned(),
            WireError::NotUtf8(_) => "the server sent a message that is not UTF-8".to_owned(),
            _ => why.clone(),
        };
        let cause = Some(Cause::NoAnswer(cause));
        Self::NotShown(Box::new(NotShown { why, cause }))
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
            other => not_shown(other.to_string()),
        }
    }
}
