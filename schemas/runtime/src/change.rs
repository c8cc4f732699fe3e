//! A change of documents: a mutating method stages it, and one commit makes it.

use std::collections::BTreeSet;

/// The edits of one commit: at least one, each of a different document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    edits: Vec<Edit>,
    /// Index of the edit whose document the caller's `tabellion/ifBase` is compared with.
    compared: usize,
    moved: Vec<String>,
    /// The operation, in one word of the field: `append`, `replace_section`, `delete`.
    pub operation: &'static str,
    /// The operation, in one line for people.
    pub summary: String,
}

/// The edit of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Path of the document.
    pub path: String,
    /// The document after the change.
    pub content: Content,
}

/// A document after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// It has these bytes.
    Write(Vec<u8>),
    /// It does not exist.
    Delete,
}

/// The reason that edits are not a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The list of edits is empty.
    #[error("a change needs at least one edit")]
    Empty,
    /// Two edits are of the same document.
    #[error("a change has two edits of `{0}`")]
    Twice(String),
}

impl Change {
    /// Creates a change of several documents. The log names the first one, and the caller's `tabellion/ifBase` applies to it.
    ///
    /// # Errors
    /// If there is no edit, or two edits of one document.
    pub fn new(
        edits: Vec<Edit>,
        operation: &'static str,
        summary: impl Into<String>,
    ) -> Result<Self, ChangeError> {
        if edits.is_empty() {
            return Err(ChangeError::Empty);
        }
        let mut paths = BTreeSet::new();
        if let Some(edit) = edits.iter().find(|edit| !paths.insert(&edit.path)) {
            return Err(ChangeError::Twice(edit.path.clone()));
        }
        Ok(Self { edits, compared: 0, moved: vec![], operation, summary: summary.into() })
    }

    /// Creates a change of one document.
    pub fn one(
        path: impl Into<String>,
        content: Content,
        operation: &'static str,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            edits: vec![Edit { path: path.into(), content }],
            compared: 0,
            moved: vec![],
            operation,
            summary: summary.into(),
        }
    }

    /// Applies the caller's `tabellion/ifBase` to the edited document at `path` instead of the first one.
    #[must_use]
    pub fn compared_with(mut self, path: &str) -> Self {
        let found = self.edits.iter().position(|edit| edit.path == path);
        self.compared = found.unwrap_or(self.compared);
        self
    }

    /// Says that a person has moved an edited document from `path`: if there is no file any more, its removal is committed together with the
    /// person's uncommitted bytes.
    #[must_use]
    pub fn moved_from(mut self, path: Option<String>) -> Self {
        self.moved.extend(path);
        self
    }

    /// Returns the paths from which a person has moved edited documents.
    pub fn moved(&self) -> &[String] {
        &self.moved
    }

    /// Returns the index of the edit whose document `tabellion/ifBase` applies to.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// Returns the edits in their order.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }
}

impl Content {
    /// Returns the bytes; `None` if the document is deleted.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Write(bytes) => Some(bytes),
            Self::Delete => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_edits_each_document_once() {
        let change = |paths: &[&str]| {
            let edits = paths.iter().map(|path| Edit { path: (*path).into(), content: Content::Delete });
            Change::new(edits.collect(), "delete", "").map(|change| change.edits().len())
        };
        assert_eq!(change(&[]), Err(ChangeError::Empty));
        assert_eq!(change(&["a"]), Ok(1));
        assert_eq!(change(&["a", "b"]), Ok(2));
        assert_eq!(change(&["a", "b", "a"]), Err(ChangeError::Twice("a".into())));
    }
}
