//! The build for a target, for packages.

use std::fs;

use super::{archive::Entry, targets::Target};
use xtask::{Outcome, root};

/// A target's archive, and the program in it.
pub(super) struct Release {
    pub(super) target: Target,
    pub(super) archive: String,
    pub(super) digest: String,
    pub(super) program: Vec<u8>,
}

/// Returns the licences' texts.
pub(super) fn licences() -> Outcome<Vec<Entry>> {
    let read = |name: &str| -> Outcome<Entry> { Ok(Entry::file(name, fs::read(root().join(name))?)) };
    ["LICENSE-APACHE", "LICENSE-MIT"].into_iter().map(read).collect()
}

#[cfg(test)]
impl Release {
    /// Returns one for each target.
    pub(super) fn examples() -> Vec<Self> {
        super::targets::TARGETS
            .map(|target| Self {
                target,
                archive: target.archive("tool", "1.2.3"),
                digest: super::archive::digest(target.triple.as_bytes()),
                program: target.triple.into(),
            })
            .into()
    }
}
