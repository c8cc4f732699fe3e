//! Sharing a library with other machines through a branch of a git remote.
//!
//! Foreign commits arrive in one way, [`Library::take`]: under the lock, in one transaction, as planned by [`incoming`]. Our
//! commits leave in two. With `acknowledge remote`, a transaction pushes before anything is visible here ([`Shared::push_first`]):
//! a refused push leaves no effect to undo, and the change is planned again on the newer state. With `acknowledge local`, HEAD is
//! pushed in the background ([`follow`]). Acknowledged commits are never rewritten.

mod follow;
mod incoming;
mod merge;
mod settings;
pub(super) mod shared;
mod waiting;
mod whole;

use std::{collections::BTreeMap, ops::ControlFlow};

use gix::{ObjectId, bstr::ByteSlice};
use serde_json::{Value, json};
use tabellion_platform::blocking;
use tabellion_remotes::{Address, Pushed};
use tabellion_runtime::{Failure, FailureKind, StoreError};

use self::settings::SettingsPath;
use self::shared::{Fetched, Shared, remote_refused, unreachable};
pub use self::{
    follow::Follower,
    incoming::Taken,
    settings::{Acknowledge, RemoteSettings},
    shared::{RemoteState, RemoteStatus, SyncError},
};
use super::{
    Library,
    entries::OF_COMMIT,
    failures::{InRepository, refused},
    history,
    pending::Pending,
    session::LOCK_TIMEOUT,
    transaction, tree, tree_diff,
};
use crate::path::LibraryPath;

/// Maximum number of attempts to take the remote's commits while a person changes the same files.
const MAX_ATTEMPTS: usize = 10;
/// Upper bound of counted commits.
const MAX_AHEAD: usize = 1000;

/// Result of a synchronization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// The commits taken from the remote.
    pub taken: Taken,
    /// Number of commits that were pushed, at most 1,000.
    pub pushed: usize,
}

impl Library {
    /// Returns the library's remote; `None` if it has none.
    pub fn remote_settings(&self) -> Option<&RemoteSettings> {
        self.shared.as_ref().map(|shared| &shared.settings)
    }

    /// Sets the library's remote, for every program that opens it from now on.
    ///
    /// # Errors
    /// If the settings can't be written.
    pub fn set_remote(&self, settings: &RemoteSettings) -> std::io::Result<()> {
        let place = SettingsPath::new(&self.working_tree);
        let is_other =
            |known: &RemoteSettings| (&known.address, &known.branch) != (&settings.address, &settings.branch);
        if self.remote_settings().is_none_or(is_other) {
            RemoteSettings::remove(&place)?;
        }
        settings.write(&place)
    }

    /// Removes the library's remote, for every program that opens it from now on.
    ///
    /// # Errors
    /// If the settings can't be removed.
    pub fn forget_remote(&self) -> std::io::Result<()> {
        RemoteSettings::remove(&SettingsPath::new(&self.working_tree))
    }

    /// Returns the address of a remote that came with the library, and that this user has not set: it is not used.
    pub fn foreign_remote(&self) -> Option<&Address> {
        self.foreign.as_ref()
    }

    /// Returns the state of a library with such a remote, in the form of `_meta`.
    pub(super) fn unused_remote(&self) -> Option<Value> {
        let address = self.foreign.as_ref()?;
        let why = format!(
            "the library came with the remote {address}, which this user has not set: nothing is pushed or fetched; `tabellion remote set` \
             shares it"
        );
        Some(json!({ "state": RemoteStatus::Blocked.name(), "why": why }))
    }

    /// Returns the address of the remote `name` in git's configuration.
    pub fn configured_remote(&self, name: &str) -> Option<String> {
        let git = self.working_tree.repository.git();
        let address = git.config_snapshot().string(format!("remote.{name}.url").as_str())?;
        Some(address.to_string())
    }

    /// Returns the library's state relative to its remote; `None` if it has no remote. Reads only the disk.
    pub fn remote_state(&self) -> Option<RemoteState> {
        let shared = self.shared.as_ref()?;
        let ahead = blocking(|| self.ahead(shared)).unwrap_or(0);
        let not_here = blocking(|| self.check_place(shared)).err();
        let not_here = not_here.map(|failure| (RemoteStatus::Blocked, failure.message, None));
        let recorded = || shared.trouble().map(|(status, why, since)| (status, why, Some(since)));
        Some(match not_here.or_else(recorded) {
            Some((status, why, since)) => RemoteState { status, ahead, trouble: Some((why, since)) },
            None => RemoteState {
                status: if ahead == 0 { RemoteStatus::Published } else { RemoteStatus::Pending },
                ahead,
                trouble: None,
            },
        })
    }

    /// Refuses to synchronize while the shared branch is not checked out, or git is in the middle of a merge or the like.
    fn check_place(&self, shared: &Shared) -> Result<(), Failure> {
        let repository = &self.working_tree.repository;
        let git = repository.git();
        repository.check_idle(&git)?;
        shared.check_branch(&repository.head(&git)?.branch)
    }

    /// Records the trouble of a synchronization, except for that of [`Self::check_place`], which ends without one.
    fn record_trouble(&self, shared: &Shared, error: &SyncError) {
        match self.check_place(shared) {
            Ok(()) => shared.has_trouble(error),
            Err(_) => tracing::warn!(%error, "the library is not in step with its remote"),
        }
    }

    /// Returns the number of commits that the remote lacks, as far as is known.
    fn ahead(&self, shared: &Shared) -> Result<usize, Failure> {
        let git = self.working_tree.repository.git();
        let head = self.working_tree.repository.head_commit(&git)?;
        self.commits_after(&git, head, shared.known_commit()?)
    }

    /// Returns the number of commits of `head` that `known` lacks, at most [`MAX_AHEAD`].
    fn commits_after(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        known: Option<ObjectId>,
    ) -> Result<usize, Failure> {
        let Some(head) = head.filter(|head| Some(*head) != known) else {
            return Ok(0);
        };
        let walk = git.rev_walk([head]).with_hidden(known).all().reading("the history")?;
        Ok(walk.take(MAX_AHEAD).count())
    }

    /// Fetches the remote's branch for a person who sets the remote, and takes no commits. Returns its commit; `None` if it has no such
    /// branch, which is then no longer expected there. Records the commits that the library has of it already.
    ///
    /// # Errors
    /// [`SyncError`]; also if there are only other branches, unless this one may be `new`.
    pub fn look_at_remote(&self, new: bool) -> Result<Option<String>, SyncError> {
        let shared = self.shared.as_ref().ok_or(SyncError::NoRemote)?;
        let Fetched { tip, known } = shared.fetch(shared.settings.wait)?;
        let remote = shared.remote().map_err(SyncError::Blocked)?;
        let Some(tip) = tip else {
            let others = if new {
                vec![]
            } else {
                remote.branches(shared.settings.wait).map_err(SyncError::Unreachable)?
            };
            if let Some(other) = others.first() {
                let branch = shared.settings.branch.trim_start_matches("refs/heads/");
                return Err(SyncError::Blocked(refused(format!(
                    "the remote has no branch `{branch}`, and commits on `{}`; `--branch {other}` shares that one, once it is checked out \
                     here, and `--branch {branch}` begins a new one",
                    others.join("`, `")
                ))));
            }
            remote.forget();
            shared.is_well();
            return Ok(None);
        };
        let git = self.working_tree.repository.git();
        let head = self.working_tree.repository.head_commit(&git).map_err(SyncError::Blocked)?;
        if let (None, Some(head)) = (known, head)
            && let Ok(Some(common)) = git.merge_base(head, tip)
        {
            remote.remember(&common.to_string());
        }
        Ok(Some(tip.to_string()))
    }

    /// Returns the commits that [`Self::sync`] would take and push now.
    ///
    /// # Errors
    /// [`SyncError`], as it would have.
    pub fn preview_sync(&self, accept: bool) -> Result<Synced, SyncError> {
        let shared = self.shared.as_ref().ok_or(SyncError::NoRemote)?;
        let fetched = shared.fetch(shared.settings.wait)?;
        let planned = || -> Result<Synced, Failure> {
            let pending = Pending::begin(&self.working_tree)?;
            let taken = match self.check_tip(shared, &pending, fetched, accept)? {
                Some(tip) => incoming::plan(&self.working_tree, &pending, tip, "the remote")?,
                None => None,
            };
            let taken = taken.map(|(_, taken)| taken).unwrap_or_default();
            let git = self.working_tree.repository.git();
            Ok(Synced {
                pushed: self.commits_after(&git, pending.head(), fetched.tip)? + usize::from(taken.merged),
                taken,
            })
        };
        planned().map_err(SyncError::Blocked)
    }

    /// Synchronizes library and remote: takes the remote's commits, and pushes those that it lacks. With `accept`, also commits of
    /// a branch whose history was rewritten. Blocks the thread while it waits for the library's lock and the remote.
    ///
    /// # Errors
    /// [`SyncError`]. No commit was lost, and commits taken until then stay.
    pub fn sync(&self, accept: bool) -> Result<Synced, SyncError> {
        let shared = self.shared.as_ref().ok_or(SyncError::NoRemote)?;
        let synced = self.sync_with(shared, accept);
        match &synced {
            Ok(_) => shared.is_well(),
            Err(error) => self.record_trouble(shared, error),
        }
        synced
    }

    fn sync_with(&self, shared: &Shared, accept: bool) -> Result<Synced, SyncError> {
        let mut synced = Synced { taken: Taken::default(), pushed: 0 };
        let mut refusals = 0;
        let mut last = None;
        for attempt in 0.. {
            let fetched = shared.fetch(shared.settings.wait)?;
            let tip = fetched.tip;
            let taken = self.take(shared, fetched, accept).map_err(SyncError::Blocked)?;
            synced.taken.add(taken);
            let repository = &self.working_tree.repository;
            let head = repository.head_commit(&repository.git()).map_err(SyncError::Blocked)?;
            let Some(head) = head.filter(|head| Some(*head) != tip) else {
                return Ok(synced);
            };
            if last.replace(tip) == Some(tip) {
                refusals += 1;
            }
            let ahead = self.ahead(shared).map_err(SyncError::Blocked)?;
            let pushed = shared.push(head, tip, shared.settings.wait);
            match pushed.map_err(SyncError::Blocked)? {
                Pushed::Accepted => {
                    let remote = shared.remote().map_err(SyncError::Blocked)?;
                    remote.remember(&head.to_string());
                    synced.pushed += ahead;
                    return Ok(synced);
                }
                Pushed::Rejected(words) if refusals > 0 || attempt >= MAX_ATTEMPTS => {
                    return Err(SyncError::Refused(words));
                }
                Pushed::Silent(trouble) if refusals > 0 || attempt >= MAX_ATTEMPTS => {
                    return Err(SyncError::Unreachable(trouble));
                }
                Pushed::Rejected(_) | Pushed::Silent(_) => {}
            }
        }
        unreachable!("the attempts end")
    }

    /// Takes the fetched commit of the remote's branch, after publishing the changes that callers have planned.
    fn take(&self, shared: &Shared, fetched: Fetched, accept: bool) -> Result<Taken, Failure> {
        let mut batch = self.turn.blocking_lock();
        self.flush(&mut batch);
        let _lock = self.lock(LOCK_TIMEOUT)?;
        self.take_locked(shared, fetched, accept)
    }

    /// Like [`Self::take`], for a caller that holds the library's lock and has no pending changes.
    fn take_locked(&self, shared: &Shared, fetched: Fetched, accept: bool) -> Result<Taken, Failure> {
        for _ in 0..MAX_ATTEMPTS {
            let mut pending = Pending::begin(&self.working_tree)?;
            let Some(tip) = self.check_tip(shared, &pending, fetched, accept)? else {
                return Ok(Taken::default());
            };
            let from = shared.settings.address.to_string();
            let planned = incoming::plan(&self.working_tree, &pending, tip, &from)?;
            let Some((plan, taken)) = planned else {
                shared.remote()?.remember(&tip.to_string());
                return Ok(Taken::default());
            };
            pending.add(plan);
            let work = pending.into_work(&self.working_tree)?;
            match transaction::publish(&self.working_tree, &work, None) {
                Ok(_) => {
                    shared.remote()?.remember(&tip.to_string());
                    let repository = &self.working_tree.repository;
                    self.maintenance.consider(repository, &work.intent.objects);
                    self.history.has_grown(work.touched);
                    return Ok(taken);
                }
                Err(StoreError::Conflict | StoreError::Behind) => {}
                Err(StoreError::Failure(failure)) => return Err(failure),
            }
        }
        let message =
            "files that the remote's commits change are being written by another program; it is tried again";
        Err(Failure::new(FailureKind::Busy, message))
    }

    /// Returns the commit to take, if there is one and it may be taken.
    fn check_tip(
        &self,
        shared: &Shared,
        pending: &Pending,
        Fetched { tip, known }: Fetched,
        accept: bool,
    ) -> Result<Option<ObjectId>, Failure> {
        shared.check_branch(pending.branch())?;
        let branch = &shared.settings.branch;
        let git = self.working_tree.repository.git();
        let lacks = |tip: ObjectId, known: ObjectId| -> Result<bool, Failure> {
            let is_here = git.try_find_object(known).reading("a commit")?.is_some();
            Ok(is_here && !history::reaches(&git, tip, known, None)?)
        };
        match (shared.known_commit()?, tip) {
            (Some(_), None) => Err(refused(format!(
                "the remote has no branch `{branch}` any more; `tabellion remote set` with its address accepts that, and `tabellion sync` \
                 then makes it anew"
            ))),
            (Some(now), Some(tip)) if !accept && lacks(tip, now)? => {
                if known != Some(now)
                    && known.map_or(Ok(true), |known| lacks(tip, known).map(|lacks| !lacks))?
                {
                    // The commits that another program pushed during the fetch are newer than the fetched ones.
                    return Ok(None);
                }
                Err(refused(
                    "the history of the remote's branch was rewritten, and lacks commits that this library has; `tabellion sync \
                     --accept-rewritten` merges it, which brings them back",
                )
                .with("rule", "remote_rewritten"))
            }
            (_, tip) => Ok(tip),
        }
    }

    /// Prepares the library, whose lock is held, for changes to be planned.
    pub(super) fn before_changes(&self, shared: &Shared) -> Result<(), Failure> {
        if shared.acknowledges() {
            return self.catch_up(shared);
        }
        self.check_unpublished(shared)
    }

    /// With `acknowledge remote`: takes the remote's commits if it has some that are missing here.
    fn catch_up(&self, shared: &Shared) -> Result<(), Failure> {
        let is_behind = || -> Result<bool, Failure> {
            if shared.standing.lock().is_behind {
                return Ok(true);
            }
            let git = self.working_tree.repository.git();
            match (self.working_tree.repository.head_commit(&git)?, shared.known_commit()?) {
                (Some(head), Some(known)) => Ok(!history::reaches(&git, head, known, None)?),
                (None, Some(_)) | (_, None) => Ok(true),
            }
        };
        if !is_behind()? {
            return Ok(());
        }
        let taken = shared.fetch(shared.settings.wait).and_then(|fetched| {
            let taken = self.take_locked(shared, fetched, false);
            taken.map_err(SyncError::Blocked)
        });
        match taken {
            Ok(_) => {
                shared.standing.lock().is_behind = false;
                Ok(())
            }
            Err(error) => {
                self.record_trouble(shared, &error);
                Err(match error {
                    SyncError::Unreachable(trouble) => unreachable(&trouble),
                    SyncError::Blocked(failure) => failure,
                    SyncError::Refused(words) => remote_refused(&words),
                    SyncError::NoRemote => refused(error.to_string()),
                })
            }
        }
    }

    /// Called after a change that was pushed but could not become visible here: takes it like other machines' commits.
    pub(super) fn bring_back(&self, shared: &Shared, next: ObjectId) {
        shared.standing.lock().is_behind = true;
        let known = shared.known_commit().unwrap_or_default();
        let fetched = Fetched { tip: Some(next), known };
        match self.take_locked(shared, fetched, false) {
            Ok(_) => shared.standing.lock().is_behind = false,
            Err(failure) => {
                tracing::warn!(commit = %next, %failure, "a change is in the remote's branch and not here yet; the next change takes it");
            }
        }
    }

    /// Fails if too many commits wait to be pushed.
    fn check_unpublished(&self, shared: &Shared) -> Result<(), Failure> {
        let Some(most) = shared.settings.max_unpublished else {
            return Ok(());
        };
        if self.ahead(shared)? < most {
            return Ok(());
        }
        let why = self.remote_state().and_then(|state| state.trouble);
        let is_followed = shared.standing.lock().follower.is_running;
        let pushes = if is_followed { "they are being pushed" } else { "`tabellion sync` pushes them" };
        let why = why.map_or_else(|| pushes.to_owned(), |(why, _)| why);
        let message = format!(
            "{most} commits are not in the remote's branch, and no more may be made until they are: {why}"
        );
        Err(Failure::new(FailureKind::Busy, message).with("rule", "remote_unpublished"))
    }

    /// Returns the conflict files of the last commit that are still there, each with the path of its original.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub fn conflicts(&self) -> Result<Vec<(LibraryPath, String)>, Failure> {
        blocking(|| {
            let repository = &self.working_tree.repository;
            let git = repository.git();
            let Some(head) = repository.head_commit(&git)? else { return Ok(vec![]) };
            let folder = tree::folder(&git, tree::of_commit(&git, head)?, repository.prefix())?;
            let mut found = BTreeMap::new();
            // A tree beyond the budget is left out, as are names that no path can express.
            let _ = tree_diff::walk(&git, [None, folder], &mut OF_COMMIT.clone(), |path, _| {
                let path = path.to_str().ok().and_then(|path| LibraryPath::of_any_file(path).ok());
                if let Some((path, of)) =
                    path.and_then(|path| Some((path.clone(), merge::conflict_of(path.as_str())?)))
                {
                    found.insert(path, of);
                }
                ControlFlow::Continue(())
            })?;
            // A file that can't be opened is there, and a command on it says why.
            found.retain(|path, _| !matches!(self.working_tree.root.open_document(path), Ok(None)));
            Ok(found.into_iter().collect())
        })
    }
}

/// Returns true if git accepts a branch of this name.
pub fn is_branch_name(name: &str) -> bool {
    gix::refs::FullName::try_from(format!("refs/heads/{name}")).is_ok()
}

/// Returns true if `path` is that of a conflict file: a version that could not be merged.
pub fn is_conflict(path: &str) -> bool {
    merge::conflict_of(path).is_some()
}

impl Taken {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.merged |= other.merged;
        self.adopted.extend(other.adopted);
        self.conflicts.extend(other.conflicts);
    }
}
