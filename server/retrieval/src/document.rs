//! Documents, and the source of their changes.

use crate::TextKey;

/// A text and the data by which it is found. The index keeps its words, not the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Identifies the document; the index answers with it.
    pub id: String,
    /// Searchable texts.
    pub texts: Vec<Text>,
    /// The text that is compared with the meaning of a query; without it, the document is found by its words alone.
    pub meaning: Option<String>,
    /// The owner of that text, if several share an index: equal texts of two owners have a vector each.
    pub owner: String,
    /// Exact values to filter by. A name may occur several times: tags.
    pub facets: Vec<Facet>,
    /// Documents of one group form a context, such as the turns of a conversation: their neighbours help to rank them. If
    /// several owners share an index, the group must contain the owner.
    pub group: Option<String>,
    /// Unix seconds. With `seq`, the order within the group.
    pub time: Option<i64>,
    /// Order within a second, different for each document of a group.
    pub seq: i64,
}

impl Document {
    /// Returns the key of the text that is compared with the meaning of a query, if there is one.
    pub fn text_key(&self) -> Option<TextKey> {
        let text = self.meaning.as_deref()?;
        Some(TextKey::of_owner(&self.owner, text))
    }
}

/// A searchable text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Any text.
    pub text: String,
    /// Weight of each word: more than 1 for titles and names.
    pub weight: u32,
}

impl Text {
    /// Makes a text whose words count once.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::weighted(text, 1)
    }

    /// Makes a text whose words count `weight` times.
    pub fn weighted(text: impl Into<String>, weight: u32) -> Self {
        let text = text.into();
        Self { text, weight }
    }
}

/// A name and a value to filter by, compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facet {
    /// The property: `kind`, `tag`, `project`.
    pub name: String,
    /// The value.
    pub value: String,
}

impl Facet {
    /// Makes a facet.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        Self { name, value }
    }
}

/// One change of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds the document, or replaces the one with its id.
    Put(Document),
    /// Removes the document with this id, if there is one.
    Remove(String),
}

/// Consecutive changes of the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// The sequence number up to which the source has no other changes.
    pub to: i64,
}

/// Error of a source that could not be read.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The rows or files that an index is derived from.
///
/// Sequence numbers grow with each change; 0 is before the first.
pub trait Source {
    /// Returns changes after the sequence number `after`, as many as suit one transaction. Applied to an empty index from 0 on,
    /// they give all documents. May include changes made during the call, and must include all that were made before it.
    ///
    /// # Errors
    /// If the source can't be read.
    fn changes(&self, after: i64) -> Result<Changes, SourceError>;

    /// Returns the mark of the change with the sequence number `at`, or `None` if the source has no such change. A source that
    /// was replaced, such as by a backup, has a different mark, and the index is rebuilt.
    ///
    /// # Errors
    /// If the source can't be read.
    fn mark(&self, at: i64) -> Result<Option<String>, SourceError>;
}

/// A source that reports progress: before each part, the sequence number up to which the index has its changes.
pub struct Reported<'s, S>(pub &'s S, pub &'s dyn Fn(i64));

impl<S: Source> Source for Reported<'_, S> {
    fn changes(&self, after: i64) -> Result<Changes, SourceError> {
        (self.1)(after);
        self.0.changes(after)
    }

    fn mark(&self, at: i64) -> Result<Option<String>, SourceError> {
        self.0.mark(at)
    }
}
