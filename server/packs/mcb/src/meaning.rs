//! Which rows of the memory want vectors. The chunks of code are in `code::indexer`.

use serde_json::Value;
use tabellion_meaning::{Corpus, CorpusError, Wanted};
use tabellion_retrieval::{Document, TextKey};

use super::words::{Words, document};

impl Corpus for Words {
    fn wanted(&self, has: &dyn Fn(&TextKey) -> bool, max: usize) -> Result<Vec<Wanted>, CorpusError> {
        let needed = self.rows.0.end()?;
        if needed == 0 {
            // The file of the index is left to the first search.
            return Ok(vec![]);
        }
        let index = self.index()?;
        index.update(&self.rows, needed)?;
        let mut wanted = vec![];
        for id in index.documents_of(&|text| !has(text), max)? {
            // A row may have been changed or removed since, which the index takes up next time.
            if let Some(text) = self.document(id)?.and_then(|document| document.meaning) {
                wanted.push(Wanted::in_parts(&text));
            }
        }
        Ok(wanted)
    }

    fn keys(&self) -> Result<Vec<TextKey>, CorpusError> {
        if self.rows.0.end()? == 0 {
            return Ok(vec![]);
        }
        Ok(self.index()?.texts()?)
    }
}

impl Words {
    /// Returns the document with this id as its row is now, if it is there.
    fn document(&self, id: String) -> Result<Option<Document>, CorpusError> {
        let mut parts = id.split('/');
        let records = &self.rows.0;
        let Some(entity) = parts.next().and_then(|name| records.spec().entity(name)) else {
            return Ok(None);
        };
        let key: Vec<Value> = parts.map(Value::from).collect();
        let row = records.row(entity, &key)?;
        Ok(row.map(|row| document(id, entity.name, &row)))
    }
}
