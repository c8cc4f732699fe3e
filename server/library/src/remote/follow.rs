//! Keeps a library in step with its remote in the background: pushes soon after a change, and fetches now and then.

use std::{
    sync::{Arc, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tabellion_remotes::Trouble;

use super::{
    super::Library,
    shared::{Shared, SyncError, Work},
};

/// How long a change waits for others before it is pushed.
const SETTLE: Duration = Duration::from_secs(1);
/// How often the remote is asked if nothing happens.
const POLL: Duration = Duration::from_secs(5 * 60);
/// The first pause after trouble; it doubles up to [`POLL`].
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// How often commits that the remote refuses are pushed again.
const REFUSED: Duration = Duration::from_secs(60 * 60);
/// How often credentials that do not do are tried again.
const AUTH: Duration = Duration::from_secs(60);
/// How long a reading call waits for a fetch.
const MAX_READ_WAIT: Duration = Duration::from_secs(2);

/// A thread that keeps a library in step with its remote. It ends when this is dropped.
pub struct Follower {
    library: Weak<Library>,
    thread: Option<JoinHandle<()>>,
}

impl Library {
    /// Follows the library's remote in a thread, until the result is dropped; `None` if it has none.
    pub fn follow(library: &Arc<Self>) -> Option<Follower> {
        let shared = library.shared.as_ref()?;
        let mut standing = shared.standing.lock();
        standing.follower = Work {
            is_running: true,
            // At the start, the remote is asked at once.
            wanted: true,
            ..Work::default()
        };
        let library = Arc::downgrade(library);
        let follower = Weak::clone(&library);
        Some(Follower {
            library: follower,
            thread: Some(thread::spawn(move || follow(&library))),
        })
    }

    /// Asks the follower to fetch if what was fetched is too old, and waits a little.
    pub(crate) fn freshen(&self) {
        let Some(shared) = &self.shared else { return };
        let mut standing = shared.standing.lock();
        let is_fresh = standing
            .fetched
            .is_some_and(|fetched| fetched.elapsed() <= shared.settings.pull_after);
        if is_fresh || !standing.follower.is_running || shared.trouble().is_some() {
            return;
        }
        standing.follower.wanted = true;
        shared.news.notify_all();
        let (end, rounds) = (Instant::now() + MAX_READ_WAIT, standing.follower.rounds);
        while standing.follower.rounds == rounds && standing.follower.is_running {
            if shared.news.wait_until(&mut standing, end).timed_out() {
                return;
            }
        }
    }
}

impl Shared {
    /// Waits for something to do, at most for `pause`; returns false if the follower is to end.
    fn wait(&self, pause: Duration) -> bool {
        let end = Instant::now() + pause;
        let mut standing = self.standing.lock();
        loop {
            let work = &standing.follower;
            if work.stop {
                return false;
            }
            if work.wanted || work.changed {
                break;
            }
            if self.news.wait_until(&mut standing, end).timed_out() {
                break;
            }
        }
        // Changes that follow each other are pushed together.
        let settled = Instant::now() + SETTLE;
        while standing.follower.changed && !standing.follower.wanted && !standing.follower.stop {
            if self.news.wait_until(&mut standing, settled).timed_out() {
                break;
            }
        }
        standing.follower.changed = false;
        standing.follower.wanted = false;
        !standing.follower.stop
    }
}

fn follow(library: &Weak<Library>) {
    let mut pause = Duration::ZERO;
    let mut trouble = FIRST_PAUSE;
    loop {
        let Some(library) = library.upgrade() else { return };
        let Some(shared) = &library.shared else { return };
        if !shared.wait(pause) {
            return;
        }
        let synced = library.sync(false);
        pause = match &synced {
            Ok(_) => {
                trouble = FIRST_PAUSE;
                POLL
            }
            Err(SyncError::Refused(_)) => REFUSED,
            Err(SyncError::Unreachable(unreachable)) if unreachable.trouble == Trouble::Auth => AUTH,
            _ => {
                trouble = (trouble * 2).min(POLL);
                trouble
            }
        };
        shared.standing.lock().follower.rounds += 1;
        shared.news.notify_all();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(shared) = self
            .library
            .upgrade()
            .as_ref()
            .and_then(|library| library.shared.as_ref())
        {
            let mut standing = shared.standing.lock();
            standing.follower.stop = true;
            standing.follower.is_running = false;
            shared.news.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            // It only reports errors; a panic has been written.
            let _ = thread.join();
        }
    }
}
