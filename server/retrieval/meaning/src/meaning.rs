//! The vectors of a data folder: comparing, counting, and waking the thread that makes them.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::{Condvar, Mutex};
use tabellion_embed::{Quantized, Query, parts};
use tabellion_retrieval::{Nearness, TextKey};

use crate::{MeaningError, Models, background::Work, memory::QueryNearness, model::Holder, vectors::Vectors};

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
    /// Wants a vector for each part of a text.
    pub fn in_parts(text: &str) -> Self {
        Self {
            key: TextKey::of(text),
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

/// Vectors in a file, and the thread that makes them. Several processes may use the same file. Dropped, it ends the thread.
pub struct Meaning(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) path: PathBuf,
    vectors: OnceLock<Vectors>,
    pub(crate) model: Holder,
    /// Corpora that may have ended.
    pub(crate) corpora: Mutex<Vec<Weak<dyn Corpus>>>,
    pub(crate) work: Mutex<Work>,
    pub(crate) changed: Condvar,
}

impl Meaning {
    /// Returns the vectors in the file `path`, made by one of `models`. Opens no file: there is none as long as there is no model.
    pub fn new(path: PathBuf, models: Box<dyn Models>) -> Self {
        Self(Arc::new(Inner {
            path,
            vectors: OnceLock::new(),
            model: Holder::new(models),
            corpora: Mutex::default(),
            work: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Returns the fingerprint of the model: see [`Models::fingerprint`].
    pub fn fingerprint(&self) -> &str {
        self.0.model.models().fingerprint()
    }

    /// Adds texts that are embedded from the next [`wake`](Self::wake) on.
    pub fn add(&self, corpus: Weak<dyn Corpus>) {
        self.0.corpora.lock().push(corpus);
    }

    /// Announces a change of texts, and returns at once.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Calls `work` with the nearness of texts to `query`: `None` if there is no model, or no vector yet. Errors are logged.
    pub fn near<T>(&self, query: &str, work: impl FnOnce(Option<&dyn Nearness>) -> T) -> T {
        let Some(asked) = self.0.ask(query) else {
            return work(None);
        };
        let memory = self.0.vectors().and_then(Vectors::read_soon);
        match memory {
            Ok(Some(memory)) if memory.len() > 0 => work(Some(&QueryNearness {
                query: asked,
                memory: &memory,
            })),
            Ok(_) => work(None),
            Err(error) => {
                tracing::warn!(%error, "a search is by words alone");
                work(None)
            }
        }
    }

    /// Returns true if any vector was made.
    pub fn has_vectors(&self) -> bool {
        self.0.path.exists()
    }

    /// Returns the number of the texts that have vectors.
    ///
    /// # Errors
    /// If the vectors can't be read.
    pub fn count(&self, texts: impl IntoIterator<Item = TextKey>) -> Result<usize, MeaningError> {
        if !self.has_vectors() {
            return Ok(0);
        }
        let memory = self.0.vectors()?.read()?;
        Ok(texts.into_iter().filter(|text| memory.has(text)).count())
    }
}

impl Drop for Meaning {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Inner {
    pub(crate) fn vectors(&self) -> Result<&Vectors, MeaningError> {
        if let Some(vectors) = self.vectors.get() {
            return Ok(vectors);
        }
        let opened = Vectors::open(&self.path, self.model.models().fingerprint())?;
        Ok(self.vectors.get_or_init(|| opened))
    }

    /// Embeds a query, unless there are no vectors to compare it with.
    fn ask(&self, query: &str) -> Option<Query> {
        if !self.path.exists() {
            return None;
        }
        let vectors = self.model.get()?.embed(&[query], &|| false)?;
        Some(Query::new(&Quantized::new(vectors.first()?)))
    }
}
