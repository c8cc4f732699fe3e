//! Converts the library's errors to failures of a contract: a kind, a sentence, and details for programs.

use tabellion_runtime::{Failure, FailureKind, Violation};

use tabellion_library::{
    path::{LibraryPath, PathError},
    search::SearchError,
    walk::FolderError,
};

/// Converts a path error. A rule that the contract does not declare is reported like one that it does.
pub fn path(error: PathError) -> Failure {
    invalid(error.rule(), "/path", error.to_string())
}

/// Converts the error of a folder that can't be listed.
pub fn folder(error: FolderError) -> Failure {
    let kind = match error {
        FolderError::NotFound { .. } => FailureKind::NotFound,
        FolderError::NotAFolder { .. } | FolderError::Symlink { .. } | FolderError::Excluded { .. } => {
            FailureKind::Refused
        }
        FolderError::Denied { .. } | FolderError::Io { .. } => FailureKind::Io,
    };
    Failure::new(kind, error.to_string()).with("rule", error.rule())
}

/// Converts the error of a search.
pub fn search(error: SearchError) -> Failure {
    match error {
        SearchError::QueryEmpty
        | SearchError::QueryMultiline
        | SearchError::QueryTooLong { .. }
        | SearchError::QueryRefused(_) => invalid(error.rule(), "/query", error.to_string()),
        SearchError::Folder(error) => folder(error),
        SearchError::Cancelled => Failure::stopped(),
    }
}

/// Returns the document's text. JSON can't carry bytes that are not UTF-8.
///
/// # Errors
/// If `bytes` are not UTF-8.
pub fn utf8(path: &LibraryPath, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let message = format!("`{path}` is not UTF-8 at byte {offset}; convert it with an editor first");
        Failure::new(FailureKind::Refused, message).with("offset", offset)
    })
}

/// Returns the warning for a change of a document with bytes that were in no commit.
pub fn uncommitted(path: &LibraryPath) -> String {
    format!("`{path}` had changes that were not committed; a commit of their own before this one has them")
}

fn invalid(rule: &'static str, pointer: &str, message: String) -> Failure {
    Failure::violations(&[Violation { rule: rule.into(), pointer: pointer.into(), message }])
}
