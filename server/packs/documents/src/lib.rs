//! Packs over the documents of a library.

mod braindrive_markdown;
mod learning_os;
mod safe_markdown_editor;

use tabellion_library::path::LibraryPath;
use tabellion_markdown::{Flavor, mdx_error, unresolved_conflict};
use tabellion_pack::{Implementation, Pack};

/// BrainDrive Markdown.
pub static BRAINDRIVE_MARKDOWN: Pack = Pack::new(
    &tabellion_contracts::braindrive_markdown::CONTRACT,
    Implementation::Documents(|library, _| Some(braindrive_markdown::service(library))),
);

/// The learning OS.
pub static LEARNING_OS: Pack = Pack::new(
    &tabellion_contracts::learning_os::CONTRACT,
    Implementation::Documents(|library, _| Some(learning_os::service(library))),
);

/// The safe Markdown editor, over one document.
pub static SAFE_MARKDOWN_EDITOR: Pack = Pack::new(
    &tabellion_contracts::safe_markdown_editor::CONTRACT,
    Implementation::Documents(|library, document| {
        document.map(|path| safe_markdown_editor::service(library, path))
    }),
);

/// Returns the warnings about a document's new text: a merge conflict that was not resolved, and invalid MDX.
fn flaws(path: &LibraryPath, text: &str) -> [Option<String>; 2] {
    let error = (Flavor::of_path(path.as_str()) == Flavor::Mdx).then(|| mdx_error(text)).flatten();
    [conflict(path, text), error.map(|error| error.to_string())]
}

/// Returns the warning about a merge conflict that was not resolved.
fn conflict(path: &LibraryPath, text: &str) -> Option<String> {
    let conflict = unresolved_conflict(text, Flavor::of_path(path.as_str()))?;
    Some(format!("{conflict}; ask the user which version holds, and remove the markers"))
}
