//! Keeps a library in step with its remote in the background: pushes soon after a change, and fetches now and then.

use std::{mem, sync::Arc, thread, time::Duration};

use tabellion_remotes::Trouble;

use super::{
    super::Library,
    shared::{RemoteView, Shared, SyncError, Work},
};

/// Time for which a change waits for further ones, which are pushed with it.
const SETTLE: Duration = Duration::from_secs(1);
/// Interval at which an idle follower asks the remote.
const POLL_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// The first pause after trouble; it doubles up to [`POLL_INTERVAL`].
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// Interval at which refused commits are pushed again.
const REFUSED_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Interval at which missing or expired credentials are tried again.
const AUTH_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum time that a reading call waits for a fetch.
const MAX_READ_WAIT: Duration = Duration::from_secs(2);
/// Maximum time that a server which ends waits for its last push.
const MAX_LAST_WAIT: Duration = Duration::from_secs(5);

/// A thread that keeps a library in step with its remote. It ends when this is dropped, after pushing unpublished changes.
pub struct Follower(Arc<Library>);

impl Library {
    /// Follows the library's remote in a thread, until the result is dropped; `None` if it has no remote.
    pub fn follow(library: &Arc<Self>) -> Option<Follower> {
        let shared = library.shared.as_ref()?;
        shared.standing.lock().follower = Work {
            is_running: true,
            // At the start, the remote is asked at once.
            wanted: true,
            ..Work::default()
        };
        let followed = Arc::clone(library);
        thread::spawn(move || {
            if let Some(shared) = &followed.shared {
                follow(&followed, shared);
                shared.standing.lock().follower.is_running = false;
                shared.news.notify_all();
            }
        });
        Some(Follower(Arc::clone(library)))
    }

    /// Makes the follower fetch, and does not wait for it. Many requests during a fetch are one.
    pub fn fetch_soon(&self) {
        if let Some(shared) = &self.shared {
            shared.standing.lock().follower.wanted = true;
            shared.news.notify_all();
        }
    }

    /// Makes the follower fetch if the last fetch is too long ago, and waits for it, up to a limit.
    pub(crate) fn freshen(&self) {
        let Some(shared) = &self.shared else { return };
        let mut standing = shared.standing.lock();
        let is_fresh =
            standing.fetched.is_some_and(|fetched| fetched.elapsed() <= shared.settings.pull_after);
        let is_stuck = || shared.trouble().is_some() || self.check_place(shared).is_err();
        if is_fresh || !standing.follower.is_running || is_stuck() {
            return;
        }
        standing.follower.wanted = true;
        shared.news.notify_all();
        let rounds = standing.follower.rounds;
        let waits =
            |standing: &mut RemoteView| standing.follower.rounds == rounds && standing.follower.is_running;
        shared.news.wait_while_for(&mut standing, waits, MAX_READ_WAIT);
    }
}

impl Shared {
    /// Waits for work, at most for `pause`; returns false if the follower is to end with it.
    fn wait(&self, pause: Duration) -> bool {
        let mut standing = self.standing.lock();
        let idle = |standing: &mut RemoteView| {
            !(standing.follower.stop || standing.follower.wanted || standing.follower.changed)
        };
        self.news.wait_while_for(&mut standing, idle, pause);
        let settles = |standing: &mut RemoteView| !(standing.follower.stop || standing.follower.wanted);
        if standing.follower.changed {
            self.news.wait_while_for(&mut standing, settles, SETTLE);
        }
        standing.follower.wanted = false;
        !standing.follower.stop
    }
}

/// Synchronizes the library again and again. At the end, only if a change was not pushed.
fn follow(library: &Library, shared: &Shared) {
    let mut pause = Duration::ZERO;
    let mut trouble = FIRST_PAUSE;
    loop {
        let goes_on = shared.wait(pause);
        let has_changed = mem::take(&mut shared.standing.lock().follower.changed);
        if !goes_on && !has_changed {
            return;
        }
        let synced = library.sync(false);
        if !goes_on {
            return;
        }
        pause = match &synced {
            Ok(_) => {
                trouble = FIRST_PAUSE;
                POLL_INTERVAL
            }
            Err(SyncError::Refused(_)) => REFUSED_INTERVAL,
            Err(SyncError::Unreachable(unreachable)) if unreachable.trouble == Trouble::Auth => AUTH_INTERVAL,
            Err(_) => {
                trouble = (trouble * 2).min(POLL_INTERVAL);
                trouble
            }
        };
        shared.standing.lock().follower.rounds += 1;
        shared.news.notify_all();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let Some(shared) = &self.0.shared else { return };
        let mut standing = shared.standing.lock();
        standing.follower.stop = true;
        shared.news.notify_all();
        // A push that takes longer continues in the background, or is made at the next start.
        let runs = |standing: &mut RemoteView| standing.follower.is_running;
        shared.news.wait_while_for(&mut standing, runs, MAX_LAST_WAIT);
    }
}
