mod catalogue;
mod folder;
mod note;
mod render;
pub(crate) mod values;
