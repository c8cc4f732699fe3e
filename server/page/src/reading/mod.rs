//! Foreign text as markup: no part of it becomes an element, an address or an invisible character.

pub mod compared;
pub mod controls;
pub mod looks;
pub mod prose;
