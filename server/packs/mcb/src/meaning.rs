//! Rows of the memory that need vectors. The chunks of code are in `code::indexer`.

use std::collections::HashSet;

use data_encoding::HEXLOWER;
use serde_json::Value;
use tabellion_meaning::{Corpus, CorpusError, Team, Wanted};
use tabellion_records::Pieces;
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
            // A row may have been changed or removed since; the index takes that up next time.
            let document = self.document(id)?;
            wanted.extend(
                document.and_then(|document| Some(Wanted::in_parts(&document.owner, &document.meaning?))),
            );
        }
        Ok(wanted)
    }

    fn keys(&self) -> Result<Vec<TextKey>, CorpusError> {
        if self.rows.0.end()? == 0 {
            return Ok(vec![]);
        }
        Ok(self.index()?.texts()?)
    }

    fn team(&self) -> Option<&dyn Team> {
        self.rows.0.pieces().map(|_| self as &dyn Team)
    }
}

/// Beginning of the names of shared vectors, before the model's fingerprint and the text's key.
const SHARED: &str = "vector";

impl Team for Words {
    fn get(&self, texts: &[TextKey]) -> Result<Vec<(TextKey, Vec<u8>)>, CorpusError> {
        let pieces = self.pieces()?.pieces(self.names(texts))?.into_iter();
        Ok(pieces.filter_map(|(name, bytes)| Some((key(&name)?, bytes))).collect())
    }

    fn claim(&self, texts: &[TextKey]) -> Result<Vec<TextKey>, CorpusError> {
        let claimed = self.pieces()?.claim(self.names(texts))?;
        Ok(claimed.iter().filter_map(|name| key(name)).collect())
    }

    fn put(&self, vectors: Vec<(TextKey, Vec<u8>)>) -> Result<(), CorpusError> {
        let pieces = vectors.into_iter().map(|(text, bytes)| (self.name(&text), bytes));
        Ok(self.pieces()?.put(pieces.collect())?)
    }

    fn retain(&self, texts: &HashSet<TextKey>) -> Result<(), CorpusError> {
        let prefix = format!("{SHARED}/{}/", self.meaning.fingerprint());
        let is_kept = |name: &str| key(name).is_some_and(|text| texts.contains(&text));
        Ok(self.pieces()?.retain(&prefix, &is_kept)?)
    }
}

/// Returns the key in the name of a piece.
fn key(name: &str) -> Option<TextKey> {
    let hex = name.rsplit('/').next()?;
    let bytes = HEXLOWER.decode(hex.as_bytes()).ok()?;
    Some(TextKey::from_bytes(bytes.try_into().ok()?))
}

impl Words {
    fn pieces(&self) -> Result<&dyn Pieces, CorpusError> {
        let pieces = self.rows.0.pieces();
        pieces.ok_or_else(|| "the servers of these rows share nothing".into())
    }

    fn name(&self, text: &TextKey) -> String {
        let hex = HEXLOWER.encode(&text.to_bytes());
        format!("{SHARED}/{}/{hex}", self.meaning.fingerprint())
    }

    fn names(&self, texts: &[TextKey]) -> Vec<String> {
        texts.iter().map(|text| self.name(text)).collect()
    }

    /// Returns the document with this id from its current row, if that exists.
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
