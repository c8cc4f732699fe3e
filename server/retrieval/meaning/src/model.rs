//! The model: its source, and its time in memory.

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tabellion_embed::{Model, ModelError, Vector, default_folder, weights_in};

/// Time that an unused model stays in memory, 91 MB.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Time that a model that can't be opened is taken for missing.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// Returns a vector of length 1 for each text, or `None` if `stops` returned true in the meantime.
    fn embed(&self, texts: &[&str], stops: &dyn Fn() -> bool) -> Option<Vec<Vector>>;
}

impl Embedder for Model {
    fn embed(&self, texts: &[&str], stops: &dyn Fn() -> bool) -> Option<Vec<Vector>> {
        let embedded = self.embed(texts, &mut |_| {
            if stops() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        embedded.ok()
    }
}

/// The source of a model.
pub trait Models: Send + Sync {
    /// Identifies everything that vectors depend on. Vectors of different fingerprints are never compared.
    fn fingerprint(&self) -> &str;

    /// Returns true if there is a model. Called at each search, so a newly installed model is used.
    fn is_installed(&self) -> bool;

    /// Reads the model.
    ///
    /// # Errors
    /// If it can't be read, or is a different one.
    fn open(&self) -> Result<Arc<dyn Embedder>, ModelError>;
}

/// The model that `tabellion model install` has put into the [`default_folder`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Installed;

impl Models for Installed {
    fn fingerprint(&self) -> &str {
        Model::fingerprint()
    }

    fn is_installed(&self) -> bool {
        default_folder().is_some_and(|folder| weights_in(&folder).is_file())
    }

    fn open(&self) -> Result<Arc<dyn Embedder>, ModelError> {
        let folder = default_folder().unwrap_or_default();
        Ok(Arc::new(Model::open(&weights_in(&folder))?))
    }
}

/// The absence of a model, whatever is installed: searches are by words alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModel;

impl Models for NoModel {
    fn fingerprint(&self) -> &str {
        "none"
    }

    fn is_installed(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Arc<dyn Embedder>, ModelError> {
        unreachable!("it is not installed")
    }
}

/// A model, in memory while it is used.
pub(crate) struct Holder {
    models: Box<dyn Models>,
    held: Mutex<Held>,
}

enum Held {
    Nothing,
    Open(Arc<dyn Embedder>, Instant),
    Failed(Instant),
}

impl Holder {
    pub(crate) fn new(models: Box<dyn Models>) -> Self {
        Self { models, held: Mutex::new(Held::Nothing) }
    }

    pub(crate) fn models(&self) -> &dyn Models {
        &*self.models
    }

    /// Returns the model, which takes some 0.1 s if it is not in memory. `None` if it can't be opened; the log has the reason.
    pub(crate) fn get(&self) -> Option<Arc<dyn Embedder>> {
        if !self.models.is_installed() {
            return None;
        }
        match &mut *self.held.lock() {
            Held::Open(embedder, used) => {
                *used = Instant::now();
                return Some(Arc::clone(embedder));
            }
            Held::Failed(at) if at.elapsed() < RETRY_INTERVAL => return None,
            Held::Failed(_) | Held::Nothing => {}
        }
        // Not under the lock: a search does not wait for the thread of the lowest priority, and reads the model instead.
        let opened = self.models.open();
        let mut held = self.held.lock();
        match opened {
            Ok(embedder) => {
                *held = Held::Open(Arc::clone(&embedder), Instant::now());
                Some(embedder)
            }
            Err(error) => {
                tracing::warn!(%error, "searches are by words alone");
                *held = Held::Failed(Instant::now());
                None
            }
        }
    }

    /// Frees a model that was not used for `timeout`; returns true if a model stays in memory.
    pub(crate) fn release(&self, timeout: Duration) -> bool {
        let mut held = self.held.lock();
        if matches!(&*held, Held::Open(_, used) if used.elapsed() >= timeout) {
            *held = Held::Nothing;
        }
        matches!(&*held, Held::Open(..))
    }
}
