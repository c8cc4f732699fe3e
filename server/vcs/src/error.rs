//! Errors of reading a repository, each with a remedy.

use std::path::PathBuf;

use gix::bstr::BString;

use crate::workspaces::WorkspacePathError;

/// Reason why a repository can't be read.
#[derive(Debug, thiserror::Error)]
pub enum VcsError {
    /// The path is refused.
    #[error(transparent)]
    Path(#[from] WorkspacePathError),
    /// There is no repository.
    #[error(
        "no git repository at `{}`, nor in a folder above it in the workspace; give the top of a work tree. If the workspace is a \
         part of one, start the server with its top as `--workspace`",
        .0.display()
    )]
    NoRepository(PathBuf),
    /// A required part of the repository is outside of the workspaces.
    #[error("the repository at `{}` keeps {what} outside of the workspaces, where nothing is read; {remedy}", path.display())]
    Outside {
        /// The repository.
        path: PathBuf,
        /// The part.
        what: String,
        /// Suggested remedy.
        remedy: &'static str,
    },
    /// A file of the repository is not as git creates it: a pipe, a link in place of a file with paths, or too large.
    #[error(
        "`{name}` in the git folder of `{}` is a link, a pipe or a device, or is too large; put what it stands for in its place, or remove it",
        path.display()
    )]
    Special {
        /// The repository.
        path: PathBuf,
        /// Its path in git's folder.
        name: String,
    },
    /// The repository has SHA-256 objects, or an unknown extension.
    #[error("the repository at `{}` {what}, which is not supported", path.display())]
    Unsupported {
        /// The repository.
        path: PathBuf,
        /// The unsupported feature.
        what: String,
    },
    /// A shallow or partial clone lacks required objects, which are not fetched.
    #[error("the clone at `{}` lacks {what}; {remedy}", path.display())]
    Incomplete {
        /// The repository.
        path: PathBuf,
        /// The missing objects.
        what: &'static str,
        /// Suggested remedy.
        remedy: &'static str,
    },
    /// A part of the repository is missing or damaged.
    #[error("can't read {what} of the repository at `{}`: {message}; `git fsck` may say more", path.display())]
    Damaged {
        /// The repository.
        path: PathBuf,
        /// The part.
        what: &'static str,
        /// The cause.
        message: String,
    },
    /// No branch, tag or commit has the name.
    #[error("no branch, tag or commit is called `{name}`; {existing}")]
    UnknownRevision {
        /// The name.
        name: String,
        /// Sentence about the existing ones.
        existing: String,
    },
    /// The name that stands for one that was left out has no commit.
    #[error("{reason}; {existing}")]
    NoDefault {
        /// The missing branch.
        reason: &'static str,
        /// Sentence about the existing ones.
        existing: String,
    },
    /// Several objects have ids with this prefix.
    #[error("several objects have ids that begin with `{0}`; give more digits")]
    AmbiguousRevision(String),
    /// The name is that of a tree or blob.
    #[error("`{0}` is no commit; give a branch, tag or commit")]
    NotACommit(String),
    /// There are no commits.
    #[error("the repository at `{}` has no commits yet; commit something first", .0.display())]
    NoCommits(PathBuf),
    /// Two revisions have no history in common.
    #[error("`{base}` and `{target}` have no commit in common; compare branches of one history")]
    Unrelated {
        /// One revision.
        base: String,
        /// The other.
        target: String,
    },
    /// The query is invalid.
    #[error("{0}")]
    Query(String),
    /// A file is larger than the caller's limit.
    #[error("it has {size} bytes, more than {limit}")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A limit of the reader is exceeded.
    #[error("the repository at `{}` {what}; nothing was returned", path.display())]
    Budget {
        /// The repository.
        path: PathBuf,
        /// The excess, and the limit.
        what: String,
    },
    /// The repository changed during each attempt to read it.
    #[error("the repository at `{}` keeps changing while it is read; try again when the other program has ended", .0.display())]
    Changing(PathBuf),
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl VcsError {
    /// Returns the stable name of the error, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Path(error) => error.rule(),
            Self::NoRepository(_) => "repository_missing",
            Self::Outside { .. } => "repository_outside",
            Self::Special { .. } => "repository_special",
            Self::Unsupported { .. } => "repository_unsupported",
            Self::Incomplete { .. } => "repository_incomplete",
            Self::Damaged { .. } => "repository_damaged",
            Self::UnknownRevision { .. } => "revision_unknown",
            Self::NoDefault { .. } => "revision_missing",
            Self::AmbiguousRevision(_) => "revision_ambiguous",
            Self::NotACommit(_) => "revision_no_commit",
            Self::NoCommits(_) => "repository_empty",
            Self::Unrelated { .. } => "revisions_unrelated",
            Self::Query(_) => "query_invalid",
            Self::TooLarge { .. } => "too_large",
            Self::Budget { .. } => "repository_too_large",
            Self::Changing(_) => "repository_changing",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Returns an error if the caller cancelled.
pub(crate) fn check(cancelled: &dyn Fn() -> bool) -> Result<(), VcsError> {
    if cancelled() {
        return Err(VcsError::Cancelled);
    }
    Ok(())
}

/// Returns bytes of git as text: invalid UTF-8 becomes `U+FFFD`.
pub(crate) fn text(bytes: impl Into<BString>) -> String {
    String::from_utf8(Vec::from(bytes.into()))
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns an error with its causes, as one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut said: Vec<String> = causes.map(ToString::to_string).collect();
    said.dedup();
    said.join(": ")
}
