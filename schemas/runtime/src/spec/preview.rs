//! Which tool shows beforehand what which other tool does.

/// `preview` answers with the diff of what `applies` would do with the same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviewPair {
    /// Name of the tool that shows.
    pub preview: &'static str,
    /// JSON pointer to the unified diff in its response.
    pub diff: &'static str,
    /// Name of the tool that does.
    pub applies: &'static str,
}
