//! The background thread that keeps the cache up to HEAD at low cost.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use super::{
    super::{
        attempts::{Attempt, Attempts},
        failures::InRepository,
        git::Git,
    },
    build::{BuildError, Builder},
    changes::Made,
};
use tabellion_platform::{self as platform, FileLock};
use tabellion_sqlite::beside;

/// Delay after the first new commit; commits made meanwhile are written with it.
const UPDATE_DELAY: Duration = Duration::from_millis(100);
/// Retry interval while another process is writing.
const BUSY_RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Size of the object cache while commits are compared, in bytes: each shares most trees with the one before.
const OBJECT_CACHE_BYTES: usize = 4 << 20;
/// Retry interval after a failure.
const FAILURE_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The keeper of a cache.
pub(super) struct Keeper {
    git: Arc<Git>,
    file: PathBuf,
    made: Arc<Made>,
    asked: Mutex<WakeState>,
    changed: Condvar,
    /// Called each time the cache is up to HEAD; the argument is true if the file was opened again.
    caught_up: CaughtUp,
    attempts: Attempts,
    /// The run of this process.
    attempt: Mutex<Option<Attempt>>,
    /// Once set, everything stops as soon as possible.
    stop: AtomicBool,
}

type CaughtUp = Box<dyn Fn(bool) + Send + Sync>;

#[derive(Debug, Default)]
struct WakeState {
    running: bool,
    behind: bool,
    damaged: bool,
}

impl Keeper {
    pub(super) fn new(git: Arc<Git>, file: PathBuf, made: Arc<Made>, caught_up: CaughtUp) -> Self {
        Self {
            git,
            made,
            attempts: attempts(&file),
            attempt: Mutex::default(),
            file,
            asked: Mutex::default(),
            changed: Condvar::new(),
            caught_up,
            stop: AtomicBool::new(false),
        }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Reports that the cache is behind HEAD, or `damaged`. Does not wait.
    pub(super) fn wake(self: &Arc<Self>, damaged: bool) {
        let mut asked = self.asked.lock();
        asked.behind = true;
        asked.damaged |= damaged;
        if !asked.running {
            let keeper = Arc::clone(self);
            let thread = thread::Builder::new().name("log cache".into());
            asked.running = thread.spawn(move || keeper.run()).is_ok();
        }
        drop(asked);
        self.changed.notify_all();
    }

    /// Stops the thread without waiting for it.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // The process may end before the thread does, which is not a failure of the run.
        self.attempt.lock().take();
        let _asked = self.asked.lock();
        self.changed.notify_all();
    }

    fn run(&self) {
        platform::yield_to_others();
        let mut builder = None;
        while self.wait_until_asked() {
            let pause = match self.catch_up(&mut builder) {
                Ok(()) => continue,
                Err(BuildError::Stopped) => return,
                Err(BuildError::Busy) => {
                    self.asked.lock().behind = true;
                    BUSY_RETRY_INTERVAL
                }
                Err(BuildError::Failed) => {
                    tracing::warn!("{}; `tabellion doctor` says more", BuildError::Failed);
                    FAILURE_RETRY_INTERVAL
                }
                Err(error) => {
                    // Everything works without the cache, only slower.
                    tracing::debug!(%error, "the log's cache can't be written");
                    builder = None;
                    FAILURE_RETRY_INTERVAL
                }
            };
            self.pause(pause);
        }
    }

    /// Waits until there is work and a short delay has passed; returns `false` at the end.
    fn wait_until_asked(&self) -> bool {
        let mut asked = self.asked.lock();
        while !asked.behind && !self.is_stopped() {
            self.changed.wait(&mut asked);
        }
        drop(asked);
        self.pause(UPDATE_DELAY);
        !self.is_stopped()
    }

    fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        let mut asked = self.asked.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped() {
                return;
            }
            self.changed.wait_for(&mut asked, left);
        }
    }

    /// Brings the cache up to HEAD: first the log, then the files that each commit changed.
    fn catch_up(&self, builder: &mut Option<Builder>) -> Result<(), BuildError> {
        let damaged = {
            let mut asked = self.asked.lock();
            asked.behind = false;
            std::mem::take(&mut asked.damaged)
        };
        if damaged || builder.as_ref().is_some_and(|builder| !builder.is_of(&self.file)) {
            *builder = None;
        }
        let mut anew = builder.is_none();
        loop {
            let _run = self.begin()?;
            let builder = match builder.as_mut() {
                Some(builder) => builder,
                None => builder.insert(self.builder()?),
            };
            let mut git = self.git.to_thread_local();
            git.object_cache_size(OBJECT_CACHE_BYTES);
            if let Some(head) = git.head().reading("HEAD")?.id() {
                builder.go_to(&git, head.detach(), &self.stop)?;
            }
            (self.caught_up)(std::mem::take(&mut anew));
            if builder.add_changes(&git, &self.stop)?.is_break() {
                return Ok(());
            }
        }
    }

    fn builder(&self) -> Result<Builder, BuildError> {
        Builder::open(&self.file, Arc::clone(&self.made))
    }

    /// Begins one step of the work, unless another process is doing it.
    fn begin(&self) -> Result<Run<'_>, BuildError> {
        if let Some(folder) = self.file.parent() {
            // If the folder can't be created, neither can the lock; that error is reported.
            let _ = platform::create_folders(folder, 1);
        }
        let lock = platform::try_lock_file(&beside(&self.file, "-running"))?.ok_or(BuildError::Busy)?;
        let mut attempt = self.attempt.lock();
        // Checked under the lock, or a step could begin after the end.
        if self.is_stopped() {
            return Err(BuildError::Stopped);
        }
        *attempt = Some(self.attempts.begin().ok_or(BuildError::Failed)?);
        drop(attempt);
        Ok(Run { attempt: &self.attempt, _lock: lock })
    }

    /// Runs the thread's work once, optionally without looking up changed files.
    #[cfg(test)]
    pub(super) fn catch_up_now(&self, changes: bool) -> Result<(), BuildError> {
        if changes {
            return self.catch_up(&mut None);
        }
        let git = self.git.to_thread_local();
        let head = git.head_id().reading("HEAD")?.detach();
        self.builder()?.go_to(&git, head, &self.stop)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A step of the work.
struct Run<'k> {
    attempt: &'k Mutex<Option<Attempt>>,
    _lock: FileLock,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.attempt.lock().take();
    }
}

/// Counts the runs that write the cache in `file`.
pub(crate) fn attempts(file: &Path) -> Attempts {
    Attempts::in_file(beside(file, "-attempts"))
}
