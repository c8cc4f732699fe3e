//! Texts that can be found by their meaning.

use std::collections::HashSet;

use tabellion_embed::parts;
use tabellion_retrieval::TextKey;

/// Error of a corpus that can't list its texts.
pub type CorpusError = Box<dyn std::error::Error + Send + Sync>;

/// A text that wants vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The key by which its index asks for its cosine, which is that of the nearest part.
    pub key: TextKey,
    /// The parts to embed, each with a separate vector.
    pub parts: Vec<String>,
}

impl Wanted {
    /// Wants a vector for each part of an owner's text; the owner of an index that has one is empty.
    pub fn in_parts(owner: &str, text: &str) -> Self {
        Self {
            key: TextKey::of_owner(owner, text),
            parts: parts(text).into_iter().map(String::from).collect(),
        }
    }
}

/// Texts that can be found by their meaning.
pub trait Corpus: Send + Sync {
    /// Returns at most `max` texts for which `has` is false, in any order; none if all have vectors.
    ///
    /// # Errors
    /// If the texts can't be read.
    fn wanted(&self, has: &dyn Fn(&TextKey) -> bool, max: usize) -> Result<Vec<Wanted>, CorpusError>;

    /// Returns the keys of all its texts. Vectors of texts that are in no corpus are removed in the end.
    ///
    /// # Errors
    /// If they can't be read.
    fn keys(&self) -> Result<Vec<TextKey>, CorpusError>;

    /// Returns the vectors that the servers of this corpus share; `None` if there is one server.
    fn team(&self) -> Option<&dyn Team> {
        None
    }
}

/// Vectors that several servers share, so that each text is embedded once. A text's vectors are their bytes, one after the other.
pub trait Team: Send + Sync {
    /// Returns the shared vectors of these texts, as far as there are any.
    ///
    /// # Errors
    /// If they can't be read.
    fn get(&self, texts: &[TextKey]) -> Result<Vec<(TextKey, Vec<u8>)>, CorpusError>;

    /// Claims texts for this server, and returns those that it is to embed: they have no shared vectors, and no server embeds them.
    /// A claim ends with [`put`](Self::put), or a few minutes after its server died.
    ///
    /// # Errors
    /// If claims can't be read or written.
    fn claim(&self, texts: &[TextKey]) -> Result<Vec<TextKey>, CorpusError>;

    /// Shares the vectors of texts.
    ///
    /// # Errors
    /// If they can't be written.
    fn put(&self, vectors: Vec<(TextKey, Vec<u8>)>) -> Result<(), CorpusError>;

    /// Removes the shared vectors of all other texts, except recent ones.
    ///
    /// # Errors
    /// If they can't be removed.
    fn retain(&self, texts: &HashSet<TextKey>) -> Result<(), CorpusError>;
}
