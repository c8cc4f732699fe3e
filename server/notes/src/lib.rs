//! Notes in a library of Markdown files: their front matter, links, search and export.
//!
//! A [`Note`] is parsed from a document's path and bytes; every Markdown file that the library shows is one, with front matter or
//! without. Nothing here writes to a library: new bytes are returned, and the caller commits them.
//!
//! | module | does |
//! |---|---|
//! | `note`, `front_matter`, `metadata`, `scalar`, `link` | a note and its front matter |
//! | `problem` | problems of a file, as facts |
//! | `identity` | ids of files without one, names of new files, paths of notes |
//! | `catalogue` | all notes of a library in SQLite, derived from their files |
//! | `search` | chunks of notes, and the search of them |
//! | `export` | notes in one file |
//! | `tag` | tags in a text, and their search keys |
//! | `render` | bytes of new notes, and changes of keys as splices |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod catalogue;
mod error;
mod export;
mod front_matter;
mod identity;
mod link;
mod metadata;
mod note;
mod problem;
mod render;
mod scalar;
mod search;
mod tag;
#[cfg(test)]
mod tests;

pub use self::{
    catalogue::{
        Catalogue, CatalogueError, ContentHash, Entry, Files, Followed, FoundInstance, FoundLink, Instance,
        InstanceFilter, ParseInstance, Part, Position, Selection, Snapshot, problems,
    },
    error::NoteError,
    export::{Export, ExportError, ExportFiles, Exported, Format, SECRET_BYTES, SecretFile, export},
    identity::{derived_id, file_name, is_named_for, is_note},
    link::Link,
    metadata::{Agent, KEPT_KEYS, MAX_VERSION, Metadata},
    note::{MAX_TITLE_CHARS, Note, title_of},
    problem::Problem,
    render::{front_matter, put_link, render, replace_body, set, with_ending_of},
    search::{MAX_EXCERPT_CHARS, NoteHit, NoteHits, NoteIndex, NoteQuery, SearchError},
    tag::is_tag,
};
