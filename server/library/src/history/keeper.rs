//! The thread that keeps the cache up with HEAD, behind everybody's back and at the lowest cost to them.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use gix::ThreadSafeRepository;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::{
    super::trouble::InRepository,
    build::{BuildError, Builder},
};
use tabellion_platform as platform;

/// How much later than the first commit the cache may be: what comes meanwhile is written with it.
const LAG: Duration = Duration::from_millis(100);
/// How soon to look again after another process was found writing.
const RETRY: Duration = Duration::from_millis(500);
/// Bytes of git's objects that are kept while commits are compared: each has most of its trees from the one before.
const OBJECTS: usize = 4 << 20;
/// How soon to try again what failed.
const RETREAT: Duration = Duration::from_secs(60);

/// A cache's keeper.
pub(super) struct Keeper {
    git: ThreadSafeRepository,
    file: PathBuf,
    asked: Mutex<Asked>,
    changed: Condvar,
    /// Told each time that the cache is up to HEAD, and whether the file has been opened anew for that.
    caught_up: CaughtUp,
    /// Once set, everything stops at once.
    stop: AtomicBool,
}

type CaughtUp = Box<dyn Fn(bool) + Send + Sync>;

#[derive(Debug, Default)]
struct Asked {
    running: bool,
    behind: bool,
    damaged: bool,
}

impl Keeper {
    pub(super) fn new(git: ThreadSafeRepository, file: PathBuf, caught_up: CaughtUp) -> Self {
        Self {
            git,
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

    /// Says that the cache is behind HEAD, or even `damaged`. Waits for nothing.
    pub(super) fn wake(self: &Arc<Self>, damaged: bool) {
        let mut asked = self.asked();
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

    /// Ends the thread, without waiting for it.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _asked = self.asked();
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
                    self.asked().behind = true;
                    RETRY
                }
                Err(error) => {
                    // Everything is answered without it, only slower.
                    tracing::debug!(%error, "the log's cache can't be written");
                    builder = None;
                    RETREAT
                }
            };
            self.pause(pause);
        }
    }

    /// Waits until there is something to do and some more may have come; `false` at the end.
    fn wait_until_asked(&self) -> bool {
        let mut asked = self.asked();
        while !asked.behind && !self.is_stopped() {
            self.changed.wait(&mut asked);
        }
        drop(asked);
        self.pause(LAG);
        !self.is_stopped()
    }

    fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        let mut asked = self.asked();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped() {
                return;
            }
            self.changed.wait_for(&mut asked, left);
        }
    }

    /// Brings the cache up to HEAD, first the log and then what each commit changed.
    fn catch_up(&self, builder: &mut Option<Builder>) -> Result<(), BuildError> {
        let damaged = {
            let mut asked = self.asked();
            asked.behind = false;
            std::mem::take(&mut asked.damaged)
        };
        if damaged || builder.as_ref().is_some_and(|builder| !builder.is_of(&self.file)) {
            *builder = None;
        }
        let mut anew = builder.is_none();
        let builder = match builder {
            Some(builder) => builder,
            None => builder.insert(Builder::open(&self.file)?),
        };
        loop {
            let mut git = self.git.to_thread_local();
            git.object_cache_size(OBJECTS);
            if let Some(head) = git.head().reading("HEAD")?.id() {
                builder.go_to(&git, head.detach(), &self.stop)?;
            }
            (self.caught_up)(std::mem::take(&mut anew));
            if builder.add_changes(&git, &self.stop)?.is_break() {
                return Ok(());
            }
        }
    }

    /// What the thread does when it is asked; perhaps without looking at what the commits changed.
    #[cfg(test)]
    pub(super) fn catch_up_now(&self, changes: bool) -> Result<(), BuildError> {
        if changes {
            return self.catch_up(&mut None);
        }
        let git = self.git.to_thread_local();
        let head = git.head_id().reading("HEAD")?.detach();
        Builder::open(&self.file)?.go_to(&git, head, &self.stop)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock()
    }
}
