//! Packs over the documents of a library.

mod braindrive_markdown;
mod learning_os;
mod safe_markdown_editor;

use tabellion_pack::{Implementation, Pack};

/// BrainDrive Markdown.
pub static BRAINDRIVE_MARKDOWN: Pack = Pack {
    spec: &tabellion_contracts::braindrive_markdown::CONTRACT,
    implementation: Implementation::Documents(|library, _| Some(braindrive_markdown::service(library))),
    words: None,
    downloads: None,
};

/// The learning OS.
pub static LEARNING_OS: Pack = Pack {
    spec: &tabellion_contracts::learning_os::CONTRACT,
    implementation: Implementation::Documents(|library, _| Some(learning_os::service(library))),
    words: None,
    downloads: None,
};

/// The safe Markdown editor, over one document.
pub static SAFE_MARKDOWN_EDITOR: Pack = Pack {
    spec: &tabellion_contracts::safe_markdown_editor::CONTRACT,
    implementation: Implementation::Documents(|library, document| {
        document.map(|path| safe_markdown_editor::service(library, path))
    }),
    words: None,
    downloads: None,
};
