//! Packs over the documents of a library.

mod braindrive_markdown;
mod flaws;
mod learning_os;
mod safe_markdown_editor;

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
