//! The sole right to change the library: what a handler reads through it is what its change will be applied to.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use gix::{ObjectId, ThreadSafeRepository};
use tabellion_schemas::{
    Change, Document, Entry, Failure, FailureKind, Prepared, Replay, Session, Setback, Snapshot,
};

use super::{
    Library, blocking,
    objects::blob_id,
    plan::{self, Plan},
    root::FileBytes,
    transaction, tree,
    trouble::{InRepository, invalid_path, refused, unreadable},
};
use crate::{path::LibraryPath, platform::FileLock};

/// A turn at changing the library. Nobody else of this program or of another has one meanwhile.
pub(super) struct Turn<'a> {
    pub(super) library: &'a Library,
    pub(super) _among_us: tokio::sync::MutexGuard<'a, ()>,
    pub(super) _among_processes: FileLock,
    /// The documents as they were handed out.
    pub(super) seen: Mutex<HashMap<LibraryPath, Option<FileBytes>>>,
    pub(super) plan: Option<Plan>,
}

impl Turn<'_> {
    fn seen(&self) -> MutexGuard<'_, HashMap<LibraryPath, Option<FileBytes>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The document as it was handed out, or as it is now if it was not yet.
    fn document(&self, path: &LibraryPath) -> Result<Option<FileBytes>, Failure> {
        if let Some(file) = self.seen().get(path) {
            return Ok(file.clone());
        }
        let file = self.library.root.read(path).map_err(|error| unreadable(&error))?;
        self.seen().insert(path.clone(), file.clone());
        Ok(file)
    }
}

impl Snapshot for Turn<'_> {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = LibraryPath::parse(path).map_err(|error| invalid_path(&error))?;
        self.document(&path)?.map(document).transpose()
    }
}

impl Session for Turn<'_> {
    fn replay(&self, key: &str, request: &str) -> Result<Option<Replay>, Failure> {
        let Some(entry) = blocking(|| self.library.entry_with_key(key))? else {
            return Ok(None);
        };
        if entry.request.as_deref() != Some(&*plan::request_digest(request)) {
            let message = format!(
                "the idempotency key `{}` was used for another request; use a new key for a new request",
                key.escape_debug()
            );
            return Err(Failure::new(FailureKind::Conflict, message).with("commit", entry.commit.clone()));
        }
        let commit = ObjectId::from_hex(entry.commit.as_bytes()).reading("the log")?;
        let before = Past::before(self.library, commit)?;
        Ok(Some(Replay {
            commit: entry.commit.clone(),
            before: Box::new(before),
        }))
    }

    fn prepare(&mut self, change: &Change, entry: &Entry<'_>) -> Result<Prepared, Setback> {
        let path = LibraryPath::parse(&change.path).map_err(|error| invalid_path(&error))?;
        let old = self.document(&path)?;
        let plan = plan::plan(self.library, path, old.as_ref(), change, entry)?;
        let prepared = Prepared {
            commit: plan.intent.next.to_string(),
            base: plan.intent.old.map(|id| id.to_string()),
            content: plan.intent.new.map(|id| id.to_string()),
        };
        self.plan = Some(plan);
        Ok(prepared)
    }

    fn publish(&mut self) -> Result<(), Setback> {
        let plan = self.plan.take().ok_or_else(|| refused("nothing was prepared"))?;
        blocking(|| transaction::publish(self.library, plan))
    }
}

/// The documents of a commit.
struct Past {
    git: ThreadSafeRepository,
    prefix: String,
    tree: Option<ObjectId>,
}

impl Past {
    /// The documents as the change that made `commit` found them.
    fn before(library: &Library, commit: ObjectId) -> Result<Self, Failure> {
        let git = library.repository.git();
        let commit = git.find_commit(commit).reading("an earlier commit")?;
        let tree = match commit.parent_ids().next() {
            Some(parent) => {
                let parent = git.find_commit(parent).reading("an earlier commit")?;
                Some(parent.tree_id().reading("an earlier commit")?.detach())
            }
            None => None,
        };
        Ok(Self {
            git: library.repository.shared(),
            prefix: library.repository.prefix().to_owned(),
            tree,
        })
    }
}

impl Snapshot for Past {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = LibraryPath::parse(path).map_err(|error| invalid_path(&error))?;
        let Some(tree) = self.tree else { return Ok(None) };
        let git = self.git.to_thread_local();
        let Some(kept) = tree::look_up(&git, tree, &format!("{}{path}", self.prefix))? else {
            return Ok(None);
        };
        let blob = git.find_blob(kept.blob).reading("an earlier document")?;
        Ok(Some(Document {
            bytes: blob.detach().data,
            id: kept.blob.to_string(),
        }))
    }
}

/// What a file holds, as a document.
pub(super) fn document(file: FileBytes) -> Result<Document, Failure> {
    let id = blob_id(&file.bytes)?.to_string();
    Ok(Document {
        bytes: file.bytes,
        id,
    })
}
