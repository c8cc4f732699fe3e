mod catalogue;
mod folder;
mod note;
mod render;
mod search;
pub(crate) mod values;
