//! Warnings about the text of a document.

use tabellion_library::path::LibraryPath;
use tabellion_markdown::{Flavor, mdx_error, unresolved_conflict};

/// Returns the warnings about a document's new text: a merge conflict that was not resolved, and invalid MDX.
pub(crate) fn flaws(path: &LibraryPath, text: &str) -> [Option<String>; 2] {
    let error = (Flavor::of_path(path.as_str()) == Flavor::Mdx).then(|| mdx_error(text)).flatten();
    [conflict(path, text), error.map(|error| error.to_string())]
}

/// Returns the warning about a merge conflict that was not resolved.
pub(crate) fn conflict(path: &LibraryPath, text: &str) -> Option<String> {
    let conflict = unresolved_conflict(text, Flavor::of_path(path.as_str()))?;
    Some(format!("{conflict}; ask the user which version holds, and remove the markers"))
}
