//! Pairs of tools of which one previews the other's change.

use serde::Deserialize;

/// `preview` returns the diff of the change that `applies` would make with the same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct PreviewPair {
    /// Name of the tool that previews.
    pub preview: &'static str,
    /// JSON pointer to the unified diff in its response.
    pub diff: &'static str,
    /// Name of the tool whose change is previewed.
    pub applies: &'static str,
}
