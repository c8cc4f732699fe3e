//! Errors of front matter that can't be read or changed.

/// Error when reading or changing front matter. Lines and columns count from 1 in the whole document, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontMatterError {
    /// It is not YAML.
    #[error("line {line}, column {column}: the front matter is not valid YAML: {message}")]
    Syntax {
        /// Line.
        line: usize,
        /// Column.
        column: usize,
        /// The parser's message.
        message: String,
    },
    /// A key appears twice, and readers differ in the one they take.
    #[error("`{key}` appears twice in the front matter, in lines {first} and {second}; remove one of them")]
    Twice {
        /// The key.
        key: String,
        /// Line of the first.
        first: usize,
        /// Line of the second.
        second: usize,
    },
    /// It is YAML, but has no keys.
    #[error("line {line}: the front matter should be lines `key: value`, but is {found}")]
    NotAMap {
        /// Line.
        line: usize,
        /// Its actual kind.
        found: &'static str,
    },
    /// It is TOML.
    #[error(
        "line {line}: the front matter is TOML, which is not supported; write it as YAML between `---` lines"
    )]
    Toml {
        /// Line of the opening fence.
        line: usize,
    },
    /// No splice changes the key and leaves the rest unchanged.
    #[error(
        "line {line}: `{key}` can't be changed without changing more of the front matter; edit it by hand, or write each key on a \
         line of its own"
    )]
    Layout {
        /// The key.
        key: String,
        /// Line of the key, or of the first line of the front matter.
        line: usize,
    },
}

impl FrontMatterError {
    /// Returns the line to look at, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Syntax { line, .. }
            | Self::NotAMap { line, .. }
            | Self::Toml { line }
            | Self::Layout { line, .. } => *line,
            Self::Twice { second, .. } => *second,
        }
    }
}
