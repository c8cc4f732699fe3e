mod catalogue;
mod export;
mod folder;
mod note;
mod render;
mod search;
pub(crate) mod values;
