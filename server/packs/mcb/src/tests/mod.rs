//! Operations through dispatch, over rows in a temporary folder.

mod bench;
mod code;
mod inject;
mod lists;
mod meaning;
mod memory;
mod provenance;
mod rebuild;
mod repositories;
mod search;
mod sessions;
mod timeline;
mod validate;
mod view;
