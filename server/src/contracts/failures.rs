//! What the library's errors are to a contract: a kind of failure, a sentence, and details for programs.

use tabellion_schemas::{Failure, FailureKind, Violation};

use crate::{
    library::{search::SearchError, walk::FolderError},
    path::PathError,
};

/// A path that breaks a rule that the contract does not spell out is answered like one that it does.
pub(super) fn path(error: PathError) -> Failure {
    invalid(error.rule(), "/path", error.to_string())
}

pub(super) fn folder(error: FolderError) -> Failure {
    let kind = match error {
        FolderError::NotFound { .. } => FailureKind::NotFound,
        FolderError::NotAFolder { .. } | FolderError::Symlink { .. } | FolderError::Excluded { .. } => {
            FailureKind::Refused
        }
        FolderError::Denied { .. } | FolderError::Io { .. } => FailureKind::Io,
    };
    Failure::new(kind, error.to_string()).with("rule", error.rule())
}

pub(super) fn search(error: SearchError) -> Failure {
    match error {
        SearchError::QueryEmpty
        | SearchError::QueryMultiline
        | SearchError::QueryTooLong { .. }
        | SearchError::QueryRefused(_) => invalid(error.rule(), "/query", error.to_string()),
        SearchError::Folder(error) => folder(error),
        SearchError::Cancelled => Failure::new(FailureKind::Io, error.to_string()),
    }
}

fn invalid(rule: &'static str, pointer: &str, message: String) -> Failure {
    Failure::violations(&[Violation {
        rule: rule.into(),
        pointer: pointer.into(),
        message,
    }])
}
