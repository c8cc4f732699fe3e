//! The library as its callers see it, checked with git's own program.

mod changes;
mod interruptions;
mod line_endings;
mod others;
mod refusals;
pub(in crate::library) mod support;
