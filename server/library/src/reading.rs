//! Reads a document while others may be changing it: waits until a half-finished change is complete.

use std::{thread, time::Duration};

use chrono::{DateTime, Utc};
use gix::ObjectId;
use tabellion_platform::{Lease, Leased, blocking};
use tabellion_runtime::{Failure, FailureKind};

use super::{
    conversion,
    failures::{IoContext, unreadable},
    index::IndexStat,
    intent,
    lock::index_lock,
    objects::blob_id,
    root::{FileBytes, Root},
    tree,
    working_tree::WorkingTree,
};
use crate::path::LibraryPath;

/// Time that a reader waits for a half-visible change, and a change for a person's save.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A document's file, and its relation to the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// Id of the content: that of the git blob of these bytes.
    pub blob: String,
    /// Modification time of the file.
    pub modified: DateTime<Utc>,
    /// HEAD's commit; `None` before the first one.
    pub commit: Option<String>,
    /// Set if that commit has other content, or none, at this path.
    pub dirty: bool,
    /// Id of the content as git stores it, which differs from `blob` if line endings are converted.
    pub kept: String,
}

impl WorkingTree {
    /// Returns the document once no change to it is half finished.
    pub(super) fn settled(&self, path: &LibraryPath) -> Result<Option<FileState>, Failure> {
        let mut waited = Duration::ZERO;
        let mut beside_git = false;
        loop {
            let index = self.index_at_rest();
            let head = self.head_now()?;
            let file = if beside_git {
                self.read_unwritten(path).or_else(|_| self.file(path))?
            } else {
                self.file(path)?
            };
            let state = file.map(|file| self.state(path, file, head)).transpose()?;
            let as_committed = state.as_ref().is_some_and(|state| !state.dirty);
            let unsure = !as_committed && !beside_git && !self.has_rested(&index);
            // In this order: a transaction that has just ended has moved HEAD.
            let passing = !as_committed && intent::is_under_way(&self.repository);
            let moved = self.head_now()? != head;
            if !moved && !passing && !unsure || waited > SETTLE_TIMEOUT {
                return Ok(state);
            }
            beside_git |= unsure;
            blocking(|| thread::sleep(POLL_INTERVAL));
            waited += POLL_INTERVAL;
        }
    }

    /// Returns the document while no program has it open for writing, so a partial save is not taken for the whole.
    pub(super) fn read_unwritten(&self, path: &LibraryPath) -> Result<Option<FileBytes>, Failure> {
        self.check_ours(path)?;
        let mut waited = Duration::ZERO;
        loop {
            let index = self.index_at_rest();
            let file = self.root.open_document(path).map_err(|error| unreadable(&error))?;
            let Some(file) = file else {
                if !self.has_rested(&index) && waited < SETTLE_TIMEOUT {
                    blocking(|| thread::sleep(POLL_INTERVAL));
                    waited += POLL_INTERVAL;
                    continue;
                }
                return Ok(None);
            };
            let leased = Lease::take(file.try_clone().context("read", path.as_path())?);
            if !matches!(leased, Leased::BeingWritten) {
                return Root::read_open(path, file).map(Some).map_err(|error| unreadable(&error));
            }
            if waited > SETTLE_TIMEOUT {
                let message =
                    format!("another program has `{path}` open for writing; try again when it has closed it");
                return Err(Failure::new(FailureKind::Busy, message).with("path", path.as_str()));
            }
            blocking(|| thread::sleep(POLL_INTERVAL));
            waited += POLL_INTERVAL;
        }
    }

    /// Returns the index's identity, unless a git program holds its lock.
    fn index_at_rest(&self) -> Option<IndexStat> {
        let lock = index_lock(&self.repository);
        if lock.is_taken() {
            return None;
        }
        IndexStat::read(&lock.target).ok()
    }

    /// Returns true if no git program can have changed the working tree since `earlier`. Such a program removes and rewrites
    /// files; it holds the index lock meanwhile, and leaves a new index.
    fn has_rested(&self, earlier: &Option<IndexStat>) -> bool {
        earlier.is_some() && self.index_at_rest() == *earlier
    }

    fn state(
        &self,
        path: &LibraryPath,
        file: FileBytes,
        head: Option<ObjectId>,
    ) -> Result<FileState, Failure> {
        let git = self.repository.git();
        let git_path = self.repository.git_path(path);
        let kept = tree::look_up_at(&git, head, &git_path)?;
        let blob = blob_id(&file.bytes)?;
        let as_kept = conversion::kept_id(self, &git_path, &file.bytes, blob)?;
        Ok(FileState {
            blob: blob.to_string(),
            modified: file.modified.into(),
            commit: head.map(|id| id.to_string()),
            dirty: kept.is_none_or(|kept| kept.blob != as_kept),
            kept: as_kept.to_string(),
            bytes: file.bytes,
        })
    }
}
