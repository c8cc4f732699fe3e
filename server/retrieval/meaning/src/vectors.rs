//! Vectors in SQLite, by the keys of their texts, and the copy of them in memory.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::Duration,
};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rusqlite::{Connection, TransactionBehavior, params};
use tabellion_embed::Quantized;
use tabellion_retrieval::TextKey;
use tabellion_sqlite::VECTORS;

use crate::{MeaningError, file::Fingerprint, memory::Memory};

/// Time that a search waits for locks of the thread with the lowest priority.
const LOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// The vectors of a file. Several processes may use the same file.
pub(crate) struct Vectors {
    path: PathBuf,
    fingerprint: String,
    connection: Mutex<Connection>,
    memory: RwLock<Memory>,
}

impl Vectors {
    /// Opens the file, or makes an empty one if there is none with vectors of this model.
    pub(crate) fn open(path: &Path, fingerprint: &str) -> Result<Self, MeaningError> {
        Ok(Self {
            path: path.to_owned(),
            fingerprint: fingerprint.to_owned(),
            connection: Mutex::new(VECTORS.open(path, &Fingerprint(fingerprint))?),
            memory: RwLock::default(),
        })
    }

    /// Runs `work`; if it finds the file damaged, replaces the file by an empty one for the next attempt.
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, MeaningError>,
    ) -> Result<T, MeaningError> {
        let mut connection = self.connection.lock();
        let outcome = work(&mut connection);
        if let Some(damage) = outcome.as_ref().err().and_then(MeaningError::damage) {
            let content = Fingerprint(&self.fingerprint);
            let seen = self.memory.read_recursive().generation();
            let is_renewed = |connection: &Connection| {
                // Generations of a new file are larger by far than one more.
                let sql = "SELECT ?1 <> 0 AND generation > ?1 + 1000000 FROM state";
                connection.query_row(sql, [seen], |row| row.get(0))
            };
            if let Some(repaired) = VECTORS.repair(&self.path, &content, damage, is_renewed)? {
                *connection = repaired;
            }
        }
        outcome
    }

    /// Returns all vectors, including those that other processes have added.
    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, Memory>, MeaningError> {
        self.with(|connection| {
            let snapshot = connection.transaction()?;
            if !self.memory.read().is_current(&snapshot)? {
                self.memory.write().refresh(&snapshot)?;
            }
            Ok(())
        })?;
        Ok(self.memory.read())
    }

    /// Returns the vectors for a search, which waits for the thread that makes them no longer than [`LOCK_TIMEOUT`]: it may then miss the
    /// latest, or get none.
    pub(crate) fn read_soon(&self) -> Result<Option<RwLockReadGuard<'_, Memory>>, MeaningError> {
        if let Some(mut connection) = self.connection.try_lock_for(LOCK_TIMEOUT) {
            let snapshot = connection.transaction()?;
            let is_current = match self.memory.try_read_for(LOCK_TIMEOUT) {
                Some(memory) => memory.is_current(&snapshot)?,
                None => return Ok(None),
            };
            if !is_current && let Some(mut memory) = self.memory.try_write_for(LOCK_TIMEOUT) {
                memory.refresh(&snapshot)?;
            }
        }
        Ok(self.memory.try_read_for(LOCK_TIMEOUT))
    }

    /// Adds the vectors of texts, in one transaction. A text that has some keeps them.
    pub(crate) fn add(&self, texts: &[(TextKey, Vec<Quantized>)]) -> Result<(), MeaningError> {
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let sql = "INSERT INTO vector (key, part, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
                let mut insert = transaction.prepare_cached(sql)?;
                for (key, vectors) in texts {
                    for (part, vector) in (0_i64..).zip(vectors) {
                        insert.execute(params![key.to_bytes(), part, vector.to_bytes()])?;
                    }
                }
            }
            Ok(transaction.commit()?)
        })
    }

    /// Removes the vectors of all other texts, in one transaction.
    pub(crate) fn retain(&self, texts: &HashSet<TextKey>) -> Result<(), MeaningError> {
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut select = transaction.prepare("SELECT number, key FROM vector")?;
                let mut delete = transaction.prepare("DELETE FROM vector WHERE number = ?")?;
                let mut rows = select.query([])?;
                while let Some(row) = rows.next()? {
                    let (number, key): (i64, [u8; TextKey::BYTES]) = (row.get(0)?, row.get(1)?);
                    if !texts.contains(&TextKey::from_bytes(key)) {
                        delete.execute([number])?;
                    }
                }
            }
            transaction.execute("UPDATE state SET generation = generation + 1", [])?;
            Ok(transaction.commit()?)
        })
    }
}
