//! Caches the outline of the text that was parsed last: the next call usually finds the same text.

use std::sync::Arc;

use parking_lot::Mutex;
use tabellion_markdown::Outline;

/// The text that was parsed last, with its outline. Texts are compared in full, so an outline always fits its text.
#[derive(Debug, Default)]
pub(super) struct LastParsed(Mutex<Option<(String, Arc<Outline>)>>);

impl LastParsed {
    /// Returns the outline of `text` if it was parsed last.
    pub(super) fn outline(&self, text: &str) -> Option<Arc<Outline>> {
        let last = self.0.lock();
        let (_, outline) = last.as_ref().filter(|(known, _)| known == text)?;
        Some(Arc::clone(outline))
    }

    /// Replaces the cached outline.
    pub(super) fn keep(&self, text: &str, outline: &Arc<Outline>) {
        *self.0.lock() = Some((text.to_owned(), Arc::clone(outline)));
    }
}
