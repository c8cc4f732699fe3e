//! The vectors of a data folder: comparing, counting, and waking the thread that makes them.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::{Condvar, Mutex};
use tabellion_embed::{Quantized, Query};
use tabellion_retrieval::{Nearness, TextKey};

use crate::{Corpus, MeaningError, Models, memory::QueryNearness, model::Holder, vectors::Vectors};

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

/// State of the thread.
#[derive(Default)]
pub(crate) struct Work {
    /// True if the thread exists; and true if there is news since its last look.
    pub(crate) follows: bool,
    pub(crate) news: bool,
    pub(crate) ends: bool,
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
            Ok(Some(memory)) if memory.len() > 0 => {
                work(Some(&QueryNearness { query: asked, memory: &memory }))
            }
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
