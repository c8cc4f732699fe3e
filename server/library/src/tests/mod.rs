//! The library from its callers' view, checked with git's own program.

mod changes;
mod conversion;
mod interruptions;
mod meetings;
mod names;
mod others;
mod racy;
mod refusals;
mod remotes;
pub(crate) mod support;
mod together;
mod untrusted;
#[cfg(target_os = "linux")]
mod writers;
