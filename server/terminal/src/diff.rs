//! `tabellion diff`: the uncommitted changes.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use tabellion_library::{Difference, DocumentChange, Library, Uncommitted, path::LibraryPath};
use tabellion_upkeep::{
    TerminalError,
    console::say,
    page::{self, Output, Page},
};

use super::{
    log::{change_as_json, difference},
    open,
    selection::Selection,
};

/// Time limit for comparing documents, for folders with too many of them. People's libraries need less.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The message if a library has too many documents to compare.
pub(super) const TRUNCATED: &str =
    "the folder or its last commit has more documents than are compared, so some may be missing here";

/// Shows the documents that differ from the last commit, or those at or below `path`. Untracked documents are shown only if
/// `path` names them or `untracked` is set.
///
/// # Errors
/// If the library can't be opened or read, it does not know `path`, or standard output can't be written.
pub fn diff(folder: &Path, path: Option<&str>, untracked: bool, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let selection = Selection::find(&library, folder, path)?;
    let is_wanted = |document: &Uncommitted| {
        let is_named =
            untracked || document.difference != Difference::Untracked || selection.is(&document.path);
        is_named && selection.has(&document.path)
    };
    let found = library.uncommitted()?;
    let (mut page, begun) = (Page::new(output), Instant::now());
    if found.truncated {
        say(TRUNCATED);
    }
    for document in found.documents.iter().filter(|document| is_wanted(document)) {
        if page.is_full() || found.truncated && begun.elapsed() > MAX_TIME {
            say("more differs than is shown; name a document or a folder");
            break;
        }
        let change = change(&library, document)?;
        if output.json {
            let mut shown = change_as_json(&change);
            shown["state"] = json!(name(document.difference));
            page::json(&shown)?;
        } else {
            page.diff(difference(&change));
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
