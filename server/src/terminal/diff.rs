//! `tabellion diff`: what is not committed yet.

use std::path::Path;

use serde_json::json;
use tabellion_library::{Difference, DocumentChange, Library, Uncommitted, path::LibraryPath};

use super::{
    Output, Page, TerminalError,
    log::{change_as_json, difference},
    open, page,
};

/// Shows the documents that differ from the last commit, or those at or below `path`. Untracked documents are shown only if
/// `path` names them or `untracked` says so.
pub(crate) fn diff(
    folder: &Path,
    path: Option<&str>,
    untracked: bool,
    output: Output,
) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let wanted = path.map(|path| path.trim_start_matches("./").trim_end_matches('/'));
    let is_wanted = |document: &Uncommitted| match wanted {
        None | Some("" | ".") => untracked || document.difference != Difference::Untracked,
        Some(path) if document.path == path => true,
        Some(path) => {
            let below = document
                .path
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('/'));
            below && (untracked || document.difference != Difference::Untracked)
        }
    };
    let documents = library.uncommitted()?;
    let mut page = Page::new(output);
    for document in documents.iter().filter(|document| is_wanted(document)) {
        let change = change(&library, document)?;
        if output.json {
            let mut shown = change_as_json(&change);
            shown["state"] = json!(name(document.difference));
            page::json(&shown)?;
        } else {
            page.diff(&difference(&change));
        }
    }
    if output.json {
        return Ok(());
    }
    Ok(page.show()?)
}

/// Returns the name of a difference, for programs.
pub(super) fn name(difference: Difference) -> &'static str {
    match difference {
        Difference::Modified => "modified",
        Difference::Deleted => "deleted",
        Difference::Untracked => "untracked",
    }
}

fn change(library: &Library, document: &Uncommitted) -> Result<DocumentChange, TerminalError> {
    let path = LibraryPath::of_any_file(&document.path).map_err(TerminalError::new)?;
    Ok(DocumentChange {
        path: document.path.clone(),
        before: library.committed_content(&path)?,
        after: library.read(&path)?.map(|state| state.bytes),
    })
}
