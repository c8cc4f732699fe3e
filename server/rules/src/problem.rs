//! A text of a rule file, and a problem of one, each with its line.

/// A problem of a rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        // A hostile file can't make messages long.
        let message = match message.char_indices().nth(1000) {
            Some((cut, _)) => format!("{}…", &message[..cut]),
            None => message,
        };
        Self { line: line.max(1), message }
    }
}

/// A text and its line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) line: usize,
    pub(crate) text: String,
}
