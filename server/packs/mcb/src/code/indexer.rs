//! Updates the index to the rows, in the background.
//!
//! A row names the run that it wants, by the id of an operation. A thread compares rows and index: a row whose run the index has not had,
//! or whose run was interrupted, gets one; collections without a row are removed. The thread looks when the server starts, when a call has
//! changed rows, and when a run ends. Runs of a few collections are concurrent; the others' wait for one to end.
//!
//! Rows of all projects, and of all machines of a team, are in one store. A server leaves those alone whose folder is not in its workspaces:
//! they are run by a server that may read the folder.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tabellion_code::{CodeError, CodeHits, CodeIndex, CodeQuery, State, Status, Stop};
use tabellion_meaning::{Corpus, CorpusError, Meaning, MeaningError, Wanted};
use tabellion_retrieval::TextKey;
use tabellion_runtime::{Failure, Row};
use tabellion_vcs::{WorkspacePathError, Workspaces};

use super::{super::values::text, OPERATION_ID, PATH, trees};

/// Interval and time limit of polling for a call's change: a call may wait for a person's approval.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum number of concurrent runs. Each run uses all cores; more at a time would need more memory, not less time.
const MAX_RUNS: usize = 4;
/// Delay before a run is tried again if the index could not record its error either: the disk may be full.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Time that the end of a server allows its runs to store the files that they have cut.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The rows that describe the collections to index.
pub(in super::super) trait Collections: Send + Sync {
    /// Returns all of them, from all orgs.
    fn all(&self) -> Result<Vec<Row>, Failure>;
}

/// The index of code of a data folder, and the thread that follows the rows. When dropped, it ends its runs, which store their results so
/// far: the next server continues from there, so runs progress even if no server lives as long as a run.
pub(in super::super) struct Indexer {
    inner: Arc<Inner>,
    /// True if dropping it waits for runs instead of ending them.
    finishes: bool,
}

struct Inner {
    path: PathBuf,
    index: Mutex<Option<Arc<CodeIndex>>>,
    collections: Box<dyn Collections>,
    workspaces: Arc<Workspaces>,
    meaning: Arc<Meaning>,
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    /// Operations whose rows are still to come, with the times of their calls.
    awaited: HashMap<String, Instant>,
    /// Runs of this process, by collection.
    running: HashMap<String, Stop>,
    /// Set while the thread exists.
    follows: bool,
    news: bool,
    ends: bool,
}

impl Indexer {
    /// Creates the index at `path`, which is opened at its first use.
    pub(in super::super) fn new(
        path: PathBuf,
        collections: Box<dyn Collections>,
        workspaces: Arc<Workspaces>,
        meaning: Arc<Meaning>,
    ) -> Self {
        let inner = Inner {
            path,
            index: Mutex::default(),
            collections,
            workspaces,
            meaning,
            work: Mutex::default(),
            changed: Condvar::new(),
        };
        Self { inner: Arc::new(inner), finishes: false }
    }

    /// Makes dropping it wait for the runs that calls have begun.
    pub(in super::super) fn finish_runs(&mut self) {
        self.finishes = true;
    }

    /// Resumes the work that a previous server left. Returns at once.
    pub(in super::super) fn resume(&self) {
        self.inner.look();
    }

    /// Announces that a call will write a row with this operation, or remove the row with this key, and returns at once.
    pub(super) fn expect(&self, operation: &str) {
        self.inner.work.lock().awaited.insert(operation.to_owned(), Instant::now());
        self.inner.look();
    }

    pub(super) fn workspaces(&self) -> &Workspaces {
        &self.inner.workspaces
    }

    pub(super) fn index(&self) -> Result<Arc<CodeIndex>, CodeError> {
        self.inner.index()
    }

    /// Returns the chunks, as texts that need vectors.
    pub(in super::super) fn corpus(&self) -> Weak<dyn Corpus> {
        let inner: Weak<Inner> = Arc::downgrade(&self.inner);
        inner
    }

    pub(super) fn search(&self, query: &CodeQuery) -> Result<CodeHits, CodeError> {
        let index = self.inner.index()?;
        self.inner.meaning.near(&query.text, |near| index.search(query, near))
    }

    /// Returns the number of a collection's chunks that have vectors.
    pub(super) fn vectors(&self, key: &str) -> Result<usize, CodeError> {
        if !self.inner.meaning.has_vectors() {
            return Ok(0);
        }
        let texts = self.inner.index()?.texts(Some(key))?;
        let counted = self.inner.meaning.count(texts);
        Ok(counted.unwrap_or_else(|error: MeaningError| {
            tracing::warn!(%error, "vectors can't be counted");
            0
        }))
    }

    /// Makes a row describe the collection as this machine has it, as [`Inner::localize`] does.
    pub(super) fn localize(&self, row: &mut Row) -> Result<(), CodeError> {
        self.inner.localize(row).map(drop)
    }

    /// Returns the state of the run that a localized row names, and the index's status of the collection. An interrupted run continues with
    /// this server's next look at the rows, which begins now; one whose folder this server may not read stays interrupted.
    pub(super) fn standing(&self, row: &Row) -> Result<(State, Option<Status>), CodeError> {
        let status = self.inner.index()?.status(text(row, "id").unwrap_or_default())?;
        let status = status.filter(|status| text(row, OPERATION_ID) == Some(&status.operation));
        let state = match status.as_ref().map(|status| status.state) {
            None | Some(State::Interrupted) if self.inner.may_read(text(row, PATH)) => {
                self.inner.look();
                State::Indexing
            }
            state => state.unwrap_or(State::Interrupted),
        };
        Ok((state, status))
    }

    /// Ends the run of a collection, if this process has one.
    pub(super) fn stop(&self, key: &str) {
        if let Some(stop) = self.inner.work.lock().running.get(key) {
            stop.stop();
        }
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        if self.finishes && self.inner.work.lock().follows {
            self.inner.finish();
        }
        let mut work = self.inner.work.lock();
        work.ends = true;
        work.running.values().for_each(Stop::stop);
        self.inner.changed.notify_all();
        let until = Instant::now() + END_TIMEOUT;
        while !work.running.is_empty() && !self.inner.changed.wait_until(&mut work, until).timed_out() {}
    }
}

impl Corpus for Inner {
    fn wanted(&self, has: &dyn Fn(&TextKey) -> bool, max: usize) -> Result<Vec<Wanted>, CorpusError> {
        if !self.path.exists() {
            return Ok(vec![]);
        }
        let texts = self.index()?.texts_of(&|key| !has(key), max)?;
        Ok(texts.into_iter().map(|(key, text)| Wanted { key, parts: vec![text] }).collect())
    }

    fn keys(&self) -> Result<Vec<TextKey>, CorpusError> {
        if !self.path.exists() {
            return Ok(vec![]);
        }
        Ok(self.index()?.texts(None)?)
    }
}

impl Inner {
    fn index(&self) -> Result<Arc<CodeIndex>, CodeError> {
        let mut opened = self.index.lock();
        if let Some(index) = opened.as_ref().filter(|index| index.is_in_place()) {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(CodeIndex::open(&self.path)?);
        Ok(Arc::clone(opened.insert(index)))
    }

    /// Returns false if a collection's folder is not in this server's workspaces.
    fn may_read(&self, path: Option<&str>) -> bool {
        path.is_some_and(|path| {
            let is_outside = || matches!(self.workspaces.resolve(path), Err(WorkspacePathError::Outside(_)));
            Path::new(path).is_absolute() && !is_outside()
        })
    }

    /// Returns true if this server may read the folder of a collection. If a different machine has begun the row's run, in a folder of its
    /// own, the row gets the folder and the run that this machine's index has.
    fn localize(&self, row: &mut Row) -> Result<bool, CodeError> {
        if self.may_read(text(row, PATH)) {
            return Ok(true);
        }
        let status = self.index()?.status(text(row, "id").unwrap_or_default())?;
        let Some(status) = status.filter(|status| self.may_read(Some(&status.path))) else {
            return Ok(false);
        };
        row.insert(PATH.into(), status.path.into());
        row.insert(OPERATION_ID.into(), status.operation.into());
        Ok(true)
    }

    /// Makes the thread look at the rows.
    fn look(self: &Arc<Self>) {
        let mut work = self.work.lock();
        work.news = true;
        self.changed.notify_all();
        if !std::mem::replace(&mut work.follows, true) {
            let inner = Arc::clone(self);
            thread::spawn(move || inner.follow());
        }
    }

    /// Performs the runs that rows want, each once, and waits until they have ended.
    fn finish(self: &Arc<Self>) {
        let mut seen = HashSet::new();
        loop {
            if let Err(error) = self.compare() {
                tracing::error!(error = &*error, "the index of code can't follow what is to be indexed");
                return;
            }
            let mut work = self.work.lock();
            let known = seen.len();
            seen.extend(work.running.keys().cloned());
            if seen.len() == known {
                return;
            }
            while !work.running.is_empty() {
                self.changed.wait(&mut work);
            }
        }
    }

    fn follow(self: Arc<Self>) {
        loop {
            {
                let mut work = self.work.lock();
                work.awaited.retain(|_, since| since.elapsed() < APPROVAL_TIMEOUT);
                while !work.news && work.awaited.is_empty() && !work.ends {
                    self.changed.wait(&mut work);
                }
                if work.ends {
                    work.follows = false;
                    return;
                }
                if !std::mem::take(&mut work.news) {
                    self.changed.wait_for(&mut work, POLL_INTERVAL);
                }
            }
            if let Err(error) = self.compare() {
                tracing::error!(error = &*error, "the index of code can't follow what is to be indexed");
                thread::sleep(Duration::from_secs(1));
            }
        }
    }

    /// Begins the runs that rows want, and removes collections without a row.
    fn compare(self: &Arc<Self>) -> Result<(), Box<dyn std::error::Error>> {
        if !self.path.exists() && self.collections.all()?.is_empty() {
            return Ok(());
        }
        let index = self.index()?;
        // Before the rows: a collection that another process adds meanwhile has a row by then.
        let indexed = index.keys()?;
        let rows = self.collections.all()?;
        let mut named = HashSet::new();
        for mut row in rows {
            let may_read = self.localize(&mut row)?;
            let (Some(key), Some(operation)) = (text(&row, "id"), text(&row, OPERATION_ID)) else {
                continue;
            };
            named.insert(key.to_owned());
            let status = index.status(key)?;
            let had = status
                .is_some_and(|status| status.operation == operation && status.state != State::Interrupted);
            let mut work = self.work.lock();
            let wants = may_read && !had && !work.running.contains_key(key) && !work.ends;
            if wants && work.running.len() < MAX_RUNS {
                let stop = Stop::default();
                work.running.insert(key.to_owned(), stop.clone());
                let (inner, key) = (Arc::clone(self), key.to_owned());
                let operation = operation.to_owned();
                thread::spawn(move || inner.run(&key, &operation, &row, &stop));
            } else {
                work.awaited.remove(operation);
            }
        }
        for key in indexed.iter().filter(|key| !named.contains(*key)) {
            self.work.lock().awaited.remove(key);
            match index.clear(key) {
                // The end of the run triggers another comparison.
                Ok(_) | Err(CodeError::Busy) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn run(self: &Arc<Self>, key: &str, operation: &str, row: &Row, stop: &Stop) {
        let result = self.try_run(key, operation, row, stop);
        match result {
            Ok(()) | Err(CodeError::Ended | CodeError::Busy) => {}
            Err(error) => {
                tracing::error!(%error, "a collection of code can't be indexed");
                if !self.has_failed(key, operation) {
                    self.pause();
                }
            }
        }
        let mut work = self.work.lock();
        work.running.remove(key);
        work.awaited.remove(operation);
        drop(work);
        self.meaning.wake();
        self.look();
    }

    /// Returns true if the index has recorded the run as failed, so that it is not tried again.
    fn has_failed(&self, key: &str, operation: &str) -> bool {
        let status = self.index().and_then(|index| index.status(key));
        let status = status.ok().flatten();
        status.is_some_and(|status| status.operation == operation && status.state == State::Failed)
    }

    /// Waits for the time between two tries, or for the end of the server.
    fn pause(&self) {
        let until = Instant::now() + RETRY_INTERVAL;
        let mut work = self.work.lock();
        while !work.ends && !self.changed.wait_until(&mut work, until).timed_out() {}
    }

    fn try_run(&self, key: &str, operation: &str, row: &Row, stop: &Stop) -> Result<(), CodeError> {
        let run = self.index()?.begin(key, operation, text(row, PATH).unwrap_or_default())?;
        let outcome = match trees::tree(row, &self.workspaces) {
            Ok(tree) => run.finish(&*tree, stop)?,
            Err(error) => return run.fail(error),
        };
        for failed in &outcome.failed {
            tracing::warn!(path = %failed.path, reason = %failed.reason, "a file can't be indexed");
        }
        Ok(())
    }
}
