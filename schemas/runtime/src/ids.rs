//! Ids as types of their own, which strings would mix up.

use std::{fmt, ops::Deref};

use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl From<&$name> for String {
            fn from(id: &$name) -> Self {
                id.0.clone()
            }
        }

        impl From<$name> for Value {
            fn from(id: $name) -> Self {
                id.0.into()
            }
        }
    };
}

/// An id that a store assigns.
macro_rules! assigned_id {
    ($(#[$doc:meta])* $name:ident) => {
        id!($(#[$doc])* $name);

        impl $name {
            /// Wraps an id that a store assigned.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }
        }
    };
}

assigned_id! {
    /// Id of a commit.
    CommitId
}

assigned_id! {
    /// Id of a document's content: equal for equal bytes. In a git library it is the blob's id.
    ContentId
}

id! {
    /// A caller's name for a call. A repeated call with the same key is answered from the first one's commit.
    IdempotencyKey
}

impl IdempotencyKey {
    const MAX_BYTES: usize = 255;

    /// Parses a key.
    ///
    /// # Errors
    /// If it is not 1 to 255 printable ASCII characters without spaces.
    pub fn parse(text: &str) -> Result<Self, IdempotencyKeyError> {
        let is_valid =
            (1..=Self::MAX_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid { Ok(Self(text.to_owned())) } else { Err(IdempotencyKeyError) }
    }
}

/// A text that is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 255 printable ASCII characters without spaces")]
pub struct IdempotencyKeyError;

/// The content that a document must have for a change to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// The document must not exist.
    Absent,
    /// The document must have this content.
    Has(ContentId),
}

impl Precondition {
    /// Returns true if a document with this content satisfies it; `None` means that the document does not exist.
    pub fn is_met_by(&self, found: Option<&ContentId>) -> bool {
        self.content() == found
    }

    /// Returns the content that the document must have, if it must exist.
    pub fn content(&self) -> Option<&ContentId> {
        match self {
            Self::Absent => None,
            Self::Has(content) => Some(content),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_is_short_and_printable() {
        let longest = "k".repeat(255);
        for (text, is_key) in [
            ("k-1", true),
            (longest.as_str(), true),
            (&format!("{longest}k"), false),
            ("", false),
            ("two words", false),
            ("schlüssel", false),
        ] {
            assert_eq!(IdempotencyKey::parse(text).is_ok(), is_key, "{text:?}");
        }
    }
}
