//! The text that was parsed last, with its outline: the next call most often finds the same one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tabellion_markdown::Outline;

/// The text that was parsed last. Texts are compared whole, so an outline is never given for another one.
#[derive(Debug, Default)]
pub(super) struct LastParsed(Mutex<Option<(String, Arc<Outline>)>>);

impl LastParsed {
    /// The outline of `text`, if it is the one that was parsed last.
    pub(super) fn outline(&self, text: &str) -> Option<Arc<Outline>> {
        let last = self.lock();
        let (_, outline) = last.as_ref().filter(|(known, _)| known == text)?;
        Some(Arc::clone(outline))
    }

    /// Keeps the outline of `text` in place of the one before.
    pub(super) fn keep(&self, text: &str, outline: &Arc<Outline>) {
        *self.lock() = Some((text.to_owned(), Arc::clone(outline)));
    }

    fn lock(&self) -> MutexGuard<'_, Option<(String, Arc<Outline>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
