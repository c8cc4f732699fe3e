//! The exclusive right to change the library: a change applies to exactly the state that was read through it.
//!
//! Callers that wait at the same time are published together. Each plans in its turn, on top of those before it; then it lets the
//! others take their turns, and the first to return publishes for all. If a batch fails, each change is made separately, so no
//! caller fails because of another's change.

use std::{collections::HashMap, sync::Arc, thread, time::Duration};

use gix::ObjectId;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tabellion_markdown::diff;
use tabellion_platform::blocking;
use tabellion_runtime::{
    BoxFuture, CallContext, Change, Claim, CommitId, Content, ContentId, Document, DocumentHistory,
    Documents, Edit, Entry, Failure, FailureKind, IdempotencyKey, Prepared, Replay, Session, Snapshot, State,
    Store, StoreError, Until,
};

use super::{
    Library,
    batch::{Batch, Outcome},
    failures::{InRepository, invalid_path, refused},
    git::Git,
    pending::{Pending, PendingDocument},
    plan::{self, LoadedDocument, PlannedEdit},
    planned::Plan,
    root::true_spelling,
    transaction::{self, Published},
    tree, versions,
};
use crate::path::LibraryPath;

/// Time that a change waits for other processes.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// Upper bound of the random back-off before retry *n*: *n* × this.
const MAX_BACK_OFF: Duration = Duration::from_millis(10);
/// Upper bound of the changes published together.
const MAX_BATCH: usize = 64;

/// The documents handed out; `None` for a missing one.
type HandedOut = HashMap<LibraryPath, Option<Arc<LoadedDocument>>>;

/// A turn at changing the library: excludes all other callers and processes.
pub(super) struct Turn<'a> {
    library: &'a Library,
    /// `None` once the turn is over.
    batch: Option<tokio::sync::MutexGuard<'a, Batch>>,
    /// Set if the change is to be published alone.
    alone: bool,
    /// The documents that were handed out.
    handed_out: Mutex<HandedOut>,
    plan: Option<Plan>,
}

impl<'a> Turn<'a> {
    /// Waits for a turn.
    ///
    /// # Errors
    /// If another process does not release the library.
    pub(super) async fn begin(library: &'a Library, claim: Claim<'_>) -> Result<Self, Failure> {
        let _vigil = FlushOnDrop { library, outcome: None };
        let mut batch = library.turn.lock().await;
        if batch.lock.is_none() {
            if let Some(shared) = library.shared.as_ref().filter(|shared| shared.acknowledges()) {
                shared.wait_for_turn(claim.behind);
            }
            batch.lock = Some(library.lock(LOCK_TIMEOUT)?);
            if let Some(shared) = &library.shared {
                let prepared = blocking(|| library.before_changes(shared));
                prepared.inspect_err(|_| batch.lock = None)?;
            }
        }
        Ok(Self {
            library,
            batch: Some(batch),
            alone: claim.attempt > 0,
            handed_out: Mutex::default(),
            plan: None,
        })
    }

    fn pending(&self) -> Option<&Pending> {
        self.batch.as_ref()?.pending.as_ref()
    }

    /// Returns the edit with the document that it applies to.
    fn planned<'e>(&self, edit: &'e Edit) -> Result<PlannedEdit<'e>, Failure> {
        let path = LibraryPath::of_any_file(&edit.path).map_err(|error| invalid_path(&error))?;
        Ok(PlannedEdit { old: self.document(&path)?, path, content: &edit.content })
    }

    /// Returns the document as it was handed out, or reads it now.
    fn document(&self, path: &LibraryPath) -> Result<Option<Arc<LoadedDocument>>, Failure> {
        if let Some(before) = self.handed_out.lock().get(path) {
            return Ok(before.clone());
        }
        let pending = self.pending().map(|pending| pending.document(path));
        let file = match pending {
            Some(PendingDocument::Written(file)) => Some(file),
            Some(PendingDocument::Deleted) => None,
            Some(PendingDocument::Unchanged) | None => self.library.working_tree.read_unwritten(path)?,
        };
        let before = file.map(LoadedDocument::new).transpose()?.map(Arc::new);
        self.handed_out.lock().insert(path.clone(), before.clone());
        Ok(before)
    }

    /// Returns the replay of an earlier call of the caller with this idempotency key, whose stored form is `kept`.
    fn earlier(&self, key: &IdempotencyKey, kept: &str, request: &str) -> Result<Option<Replay>, StoreError> {
        if self.pending().is_some_and(|pending| pending.has_key(kept)) {
            return Err(StoreError::Conflict);
        }
        let Some(entry) = blocking(|| self.library.entry_with_key(kept))? else {
            return Ok(None);
        };
        if entry.request.as_deref() != Some(&*plan::request_digest(request)) {
            let message = format!(
                "the idempotency key `{}` was used for another request; use a new key for a new request",
                key.escape_debug()
            );
            return Err(Failure::new(FailureKind::Conflict, message)
                .with("rule", "key_reused")
                .with("commit", entry.commit.clone())
                .into());
        }
        let commit = ObjectId::from_hex(entry.commit.as_bytes()).reading("the log")?;
        let after = CommitSnapshot::new(self.library, Some(commit))?;
        let details = versions::details(&self.library.working_tree.repository.git(), commit)?;
        let before = CommitSnapshot {
            first_call: Some(details),
            ..CommitSnapshot::new(self.library, after.parent()?)?
        };
        let commit = CommitId::new(entry.commit.as_str());
        Ok(Some(Replay::Before { commit, before: Box::new(before), after: Box::new(after) }))
    }

    /// Plans the commit of `change`.
    fn plan(&mut self, change: &Change, entry: &Entry<'_>) -> Result<Prepared, StoreError> {
        let planned = |edit| self.planned(edit);
        let edits = change.edits().iter().map(planned).collect::<Result<_, _>>()?;
        let moved = change.moved().iter().map(|path| {
            let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
            Ok(PlannedEdit { old: self.document(&path)?, path, content: &Content::Delete })
        });
        let moved = moved.collect::<Result<_, Failure>>()?;
        let library = self.library;
        let batch = self.batch.as_mut().ok_or_else(over)?;
        let pending = match &mut batch.pending {
            Some(pending) => pending,
            none => none.insert(Pending::begin(&library.working_tree)?),
        };
        let plan = plan::plan(&library.working_tree, pending, (edits, moved), change, entry)?;
        let compared = &plan.documents[change.compared()];
        let prepared = Prepared {
            commit: CommitId::new(plan.logged.commit.to_string()),
            base: compared.old.map(|id| ContentId::new(id.to_string())),
            content: compared.new.map(|id| ContentId::new(id.to_string())),
        };
        self.plan = Some(plan);
        Ok(prepared)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(batch) = &mut self.batch else { return };
        // Callers that wait for the batch publish it after this turn.
        if batch.is_abandoned() {
            self.library.flush(batch);
        }
    }
}

impl Snapshot for Turn<'_> {
    fn true_path(&self, path: &str) -> Result<String, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let found = if self.document(&path)?.is_some() { path } else { self.library.true_path(&path) };
        Ok(found.as_str().to_owned())
    }

    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        Ok(self.document(&path)?.as_deref().map(document))
    }

    fn history(&self, path: &str, until: Until<'_>) -> Result<DocumentHistory, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let (library, git_path) = (self.library, self.library.working_tree.repository.git_path(&path));
        let document = self.document(&path)?;
        let now = document
            .as_ref()
            .map(|before| before.git_blob_id(&library.working_tree, &git_path))
            .transpose()?;
        let git = library.working_tree.repository.git();
        let (head, newest) = match self.pending() {
            Some(pending) => (pending.head(), pending.commit()),
            None => (library.working_tree.head_now()?, library.working_tree.head_now()?),
        };
        let mut line = versions::VersionLine::default();
        if let Some(pending) = self.pending() {
            line.follow(pending.versions(&path), until);
        }
        let unchanged = |commit| library.unchanged_from(&git, head, commit, &git_path, until.known);
        blocking(|| line.go_back(&git, head, &git_path, until, &unchanged))?;
        Ok(line.past(document.as_deref().map(self::document), now, newest))
    }

    fn past_content(&self, _: &str, id: &str) -> Result<Vec<u8>, Failure> {
        let id = versions::content_id(id)?;
        if let Some(bytes) = self.pending().and_then(|pending| pending.objects().data(id)) {
            return Ok(bytes.to_vec());
        }
        versions::content(&self.library.working_tree.repository.git(), id)
    }
}

impl Session for Turn<'_> {
    fn replay<'a>(
        &'a self,
        call: &'a CallContext,
        key: &'a IdempotencyKey,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<Replay>, StoreError>> {
        Box::pin(async { self.earlier(key, &call.kept_key().unwrap_or_default(), request) })
    }

    fn check(&self, change: &Change) -> Result<(), Failure> {
        change.edits().iter().try_for_each(|edit| {
            let path = LibraryPath::of_any_file(&edit.path).map_err(|error| invalid_path(&error))?;
            self.library.check_change(&path, edit.content.bytes().map_or(0, <[u8]>::len))
        })
    }

    fn prepare<'a>(
        &'a mut self,
        change: &'a Change,
        entry: &'a Entry<'a>,
    ) -> BoxFuture<'a, Result<Prepared, StoreError>> {
        Box::pin(async { self.plan(change, entry) })
    }

    fn publish<'a>(mut self: Box<Self>) -> BoxFuture<'a, Result<(), StoreError>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let plan = self.plan.take().ok_or_else(|| refused("nothing was prepared"))?;
            let mut batch = self.batch.take().ok_or_else(over)?;
            let (library, alone) = (self.library, self.alone);
            drop(self);
            let outcome = Arc::new(Outcome::new());
            batch.pending.as_mut().ok_or_else(over)?.add(plan);
            batch.members.push(Arc::clone(&outcome));
            if alone || batch.members.len() == MAX_BATCH {
                library.flush(&mut batch);
                drop(batch);
            } else {
                drop(batch);
                let _vigil = FlushOnDrop { library, outcome: Some(Arc::clone(&outcome)) };
                // Callers that wait now take their turns before this one.
                let mut batch = library.turn.lock().await;
                if outcome.get().is_none() {
                    library.flush(&mut batch);
                }
            }
            match outcome.get() {
                Some(Ok(())) => library.working_tree.counts.committed(),
                Some(Err(StoreError::Conflict)) => library.working_tree.counts.conflicted(),
                Some(Err(StoreError::Behind | StoreError::Failure(_))) | None => {}
            }
            outcome.get().cloned().unwrap_or_else(|| Err(refused("the change was not published").into()))
        })
    }
}

/// Flushes the batch if this waiter's future is dropped and no other waiter is left.
struct FlushOnDrop<'a> {
    library: &'a Library,
    /// The outcome that the caller waits for, if it has a change in the batch.
    outcome: Option<Arc<Outcome>>,
}

impl Drop for FlushOnDrop<'_> {
    fn drop(&mut self) {
        self.outcome = None;
        // The holder of a turn checks this itself at its end.
        if let Ok(mut batch) = self.library.turn.try_lock()
            && !batch.members.is_empty()
            && batch.is_abandoned()
        {
            self.library.flush(&mut batch);
        }
    }
}

impl Library {
    /// Publishes a batch.
    pub(super) fn flush(&self, batch: &mut Batch) {
        batch.flush(|pending| self.publish(pending));
    }

    /// Publishes the pending changes: with `acknowledge remote`, by pushing them first.
    fn publish(&self, pending: Pending) -> Result<(), StoreError> {
        let repository = &self.working_tree.repository;
        let work = pending.into_work(&self.working_tree)?;
        let first = self.shared.as_ref().filter(|shared| shared.acknowledges());
        let push = first.map(|shared| || shared.push_first(repository, work.intent.next()));
        let push = push.as_ref().map(|push| push as &dyn Fn() -> Result<(), StoreError>);
        match (transaction::publish(&self.working_tree, &work, push)?, &self.shared) {
            (Published::Here, Some(shared)) => shared.has_changed(),
            (Published::Elsewhere, Some(shared)) => self.bring_back(shared, work.intent.next()),
            (_, None) => {}
        }
        self.maintenance.consider(repository, &work.intent.objects);
        self.history.has_grown(work.touched);
        Ok(())
    }
}

impl Store for Library {
    fn begin<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Box<dyn Session + 'a>, Failure>> {
        Box::pin(async move {
            let attempt = claim.attempt;
            if attempt > 0 {
                blocking(|| thread::sleep(MAX_BACK_OFF.mul_f64(f64::from(attempt) * chance())));
            }
            self.working_tree.check_there()?;
            if let Some(shared) = &self.shared {
                shared.check_wait(claim)?;
            }
            let turn = Turn::begin(self, claim).await?;
            Ok(Box::new(turn) as Box<dyn Session>)
        })
    }

    fn snapshot<'a>(&'a self) -> BoxFuture<'a, Result<Option<State<'a, Documents>>, Failure>> {
        Box::pin(async {
            blocking(|| self.freshen());
            self.working_tree.check_there().map(|()| None)
        })
    }

    fn remote(&self) -> Option<Value> {
        let state = self.remote_state().map(|state| state.to_json());
        state.or_else(|| self.unused_remote())
    }

    fn difference(&self, before: &Vec<Option<Document>>, change: &Change) -> String {
        let edits = before.iter().zip(change.edits()).map(|(old, edit)| {
            let old = old.as_ref().map(|document| document.bytes.as_slice());
            let [old, new] = [old, edit.content.bytes()].map(|side| side.map(String::from_utf8_lossy));
            diff::unified_sides(&edit.path, old.as_deref(), new.as_deref())
        });
        edits.collect()
    }
}

/// Returns a number from 0 to 1 that differs between processes and threads.
fn chance() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}

fn over() -> Failure {
    refused("the turn is over")
}

/// The documents of a commit.
struct CommitSnapshot {
    git: Arc<Git>,
    prefix: String,
    commit: Option<ObjectId>,
    tree: Option<ObjectId>,
    first_call: Option<Map<String, Value>>,
}

impl CommitSnapshot {
    /// Returns the documents as of `commit`; none before the first one.
    fn new(library: &Library, commit: Option<ObjectId>) -> Result<Self, Failure> {
        let git = library.working_tree.repository.git();
        let tree = commit.map(|commit| tree::of_commit(&git, commit)).transpose()?;
        Ok(Self {
            git: library.working_tree.repository.shared(),
            prefix: library.working_tree.repository.prefix().to_owned(),
            commit,
            tree,
            first_call: None,
        })
    }

    /// Returns the parent of the commit, the state that its change found.
    fn parent(&self) -> Result<Option<ObjectId>, Failure> {
        let Some(commit) = self.commit else { return Ok(None) };
        let git = self.git.to_thread_local();
        let commit = git.find_commit(commit).reading("an earlier commit")?;
        Ok(commit.parent_ids().next().map(gix::Id::detach))
    }
}

impl Snapshot for CommitSnapshot {
    fn true_path(&self, path: &str) -> Result<String, Failure> {
        let asked = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let Some(tree) = self.tree else {
            return Ok(path.to_owned());
        };
        let git = self.git.to_thread_local();
        let names = |folder: &str| tree::names(&git, tree, &format!("{}{folder}", self.prefix));
        let found = true_spelling(asked.as_str(), names);
        Ok(LibraryPath::of_any_file(&found).map_or_else(|_| path.to_owned(), |_| found))
    }

    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let Some(tree) = self.tree else { return Ok(None) };
        let git = self.git.to_thread_local();
        let Some(kept) = tree::look_up(&git, tree, &format!("{}{}", self.prefix, path.as_str()))? else {
            return Ok(None);
        };
        Ok(Some(Document {
            bytes: versions::content(&git, kept.blob)?,
            id: ContentId::new(kept.blob.to_string()),
        }))
    }

    fn history(&self, path: &str, until: Until<'_>) -> Result<DocumentHistory, Failure> {
        let document = self.read(path)?;
        let now = document.as_ref().map(|document| versions::content_id(&document.id));
        let mut line = versions::VersionLine::default();
        let git_path = format!("{}{path}", self.prefix);
        // A repeated call is rare, and its commit may be far from HEAD: the log is not used.
        line.go_back(&self.git.to_thread_local(), self.commit, &git_path, until, &Ok)?;
        Ok(line.past(document, now.transpose()?, self.commit))
    }

    fn first_call(&self) -> Option<&Map<String, Value>> {
        self.first_call.as_ref()
    }

    fn past_content(&self, _: &str, id: &str) -> Result<Vec<u8>, Failure> {
        versions::content(&self.git.to_thread_local(), versions::content_id(id)?)
    }
}

fn document(before: &LoadedDocument) -> Document {
    Document { bytes: before.file.bytes.clone(), id: ContentId::new(before.id.to_string()) }
}
