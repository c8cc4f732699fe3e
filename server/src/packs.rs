//! The packs of this program.

use tabellion_pack::Packs;

/// The contracts that can be served, with their implementations. The first one is served by default.
///
/// An entry makes a contract available; its tools, schemas and errors come from its JSON. Its implementation determines
/// whether it is served from a library or from rows in the data folder.
pub static PACKS: Packs = Packs(&[
    &tabellion_documents::BRAINDRIVE_MARKDOWN,
    &tabellion_documents::LEARNING_OS,
    &tabellion_documents::SAFE_MARKDOWN_EDITOR,
    &tabellion_mcb::PACK,
    &tabellion_brainforge::PACK,
]);
