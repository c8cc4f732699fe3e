//! Values derived from a document and its history; they are valid until a commit changes the document.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::{Catalogue, instance::ContentHash, read::Snapshot};
use crate::CatalogueError;

impl Snapshot<'_> {
    /// Returns the value that was [kept](Catalogue::keep) for the document at `path`, if it is still valid for this content.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn value(&self, path: &str, content: &ContentHash) -> Result<Option<String>, CatalogueError> {
        let sql = "SELECT value FROM value WHERE path = ? AND content = ?";
        let mut select = self.0.prepare_cached(sql)?;
        Ok(select.query_row(params![path, content], |row| row.get(0)).optional()?)
    }
}

impl Catalogue {
    /// Removes the values of documents that commits up to `head` have changed since the last call. `changed_since` returns the paths that
    /// commits since the given one changed; `None` if that is unknown.
    ///
    /// # Errors
    /// If the catalogue can't be read or written.
    pub fn go_to(
        &self,
        head: &str,
        changed_since: impl FnOnce(&str) -> Option<HashSet<String>>,
    ) -> Result<(), CatalogueError> {
        let before = self.repaired(|| self.in_snapshot(head_of))?;
        if before == head {
            return Ok(());
        }
        // There is no commit before the first call, nor after a switch to a branch without one.
        let changed = (!before.is_empty() && !head.is_empty()).then(|| changed_since(&before)).flatten();
        self.repaired(|| {
            let mut writer = self.writer.lock();
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let is_same = head_of(&transaction)? == before;
            match changed.as_ref().filter(|_| is_same) {
                Some(paths) => {
                    let mut delete = transaction.prepare_cached("DELETE FROM value WHERE path = ?")?;
                    for path in paths {
                        delete.execute([path])?;
                    }
                }
                None => transaction.execute_batch("DELETE FROM value")?,
            }
            transaction.execute("UPDATE state SET head = ?", [head])?;
            Ok(transaction.commit()?)
        })
    }

    /// Stores values of documents: path, content id, and value. Each is derived from the document with this content and its history at the
    /// commit `head`; if the catalogue has [gone to](Self::go_to) another commit, they are not stored.
    ///
    /// # Errors
    /// If the catalogue can't be written.
    pub fn keep(&self, head: &str, values: &[(String, ContentHash, String)]) -> Result<(), CatalogueError> {
        self.repaired(|| {
            let mut writer = self.writer.lock();
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if head_of(&transaction)? == head {
                let mut insert =
                    transaction.prepare_cached("INSERT OR REPLACE INTO value VALUES (?, ?, ?)")?;
                for (path, content, value) in values {
                    insert.execute(params![path, content, value])?;
                }
            }
            Ok(transaction.commit()?)
        })
    }
}

fn head_of(connection: &Connection) -> Result<String, CatalogueError> {
    Ok(connection.query_row("SELECT head FROM state", [], |row| row.get(0))?)
}
