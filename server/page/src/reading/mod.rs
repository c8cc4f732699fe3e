//! Foreign text as markup: nothing in it becomes an element, an address or a sign that is not seen.

pub mod compared;
pub mod controls;
pub mod looks;
pub mod prose;
