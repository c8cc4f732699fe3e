//! The texts that are embedded, for callers that compute their vectors.

use std::collections::HashSet;

use tabellion_retrieval::TextKey;

use crate::{CodeError, CodeIndex, columns::keys, content::content, meaning};

impl CodeIndex {
    /// Returns the key of each chunk's text, in a collection, or in all of them. Chunks with the same text have the same key.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn texts(&self, collection: Option<&str>) -> Result<Vec<TextKey>, CodeError> {
        self.with(|connection| {
            let sql = "SELECT texts FROM file JOIN collection ON collection.number = file.collection
                       WHERE ?1 IS NULL OR collection.key = ?1";
            let mut select = connection.prepare_cached(sql)?;
            let mut rows = select.query([collection])?;
            let mut all = vec![];
            while let Some(row) = rows.next()? {
                all.extend(keys(row.get_ref(0)?.as_blob().unwrap_or_default()));
            }
            Ok(all)
        })
    }

    /// Returns at most `max` texts whose keys `wants` accepts, with their keys, each once.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn texts_of(
        &self,
        wants: &dyn Fn(&TextKey) -> bool,
        max: usize,
    ) -> Result<Vec<(TextKey, String)>, CodeError> {
        self.with(|connection| {
            // One snapshot for keys and texts.
            let snapshot = connection.transaction()?;
            let mut select = snapshot.prepare_cached("SELECT number, texts FROM file ORDER BY number")?;
            let mut rows = select.query([])?;
            let (mut found, mut seen) = (vec![], HashSet::new());
            while found.len() < max
                && let Some(row) = rows.next()?
            {
                let keys: Vec<TextKey> = keys(row.get_ref(1)?.as_blob().unwrap_or_default()).collect();
                if !keys.iter().any(wants) {
                    continue;
                }
                let (text, chunks) = content(&snapshot, row.get(0)?)?;
                let meant = keys.into_iter().zip(meaning::of_chunks(&chunks, &text));
                let wanted = meant.filter(|(key, _)| wants(key) && seen.insert(*key));
                let texts = wanted.map(|(key, meant)| (key, meant.condensed()));
                found.extend(texts.take(max - found.len()));
            }
            Ok(found)
        })
    }
}
