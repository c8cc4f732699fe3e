//! The remote of a library, and its known state: fetching, pushing, and the library's status.

use std::{
    io::Write as _,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant, SystemTime},
};

use chrono::{DateTime, SecondsFormat, Utc};
use gix::ObjectId;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use tabellion_platform::{blocking, create, read_text};
use tabellion_remotes::{Address, Lent, Pushed, Remote, Trouble, Unreachable};
use tabellion_runtime::{Claim, Failure, FailureKind, StoreError};

use super::{
    super::{
        counts::Counts,
        durable::remove_if_there,
        failures::{IoContext, refused},
        history,
        repository::Repository,
        versions,
        working_tree::WorkingTree,
    },
    settings::{Acknowledge, REPOSITORY, RemoteSettings, SettingsPath, StoredSettings},
    waiting::Waiting,
};

/// The rule of the failure after which the change may nevertheless have been made.
pub(crate) const UNKNOWN: &str = "remote_unknown";
/// State of a library relative to its remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteStatus {
    /// The remote has every commit.
    Published,
    /// Commits are going to be pushed.
    Pending,
    /// The remote refuses the commits.
    Refused,
    /// The remote does not answer.
    Unreachable,
    /// A person must decide or act.
    Blocked,
}

impl RemoteStatus {
    /// The states that need attention.
    const TROUBLE: [Self; 3] = [Self::Refused, Self::Unreachable, Self::Blocked];

    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Pending => "pending",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Blocked => "blocked",
        }
    }
}

/// State of a library relative to its remote, with the reason if it is stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteState {
    /// The status.
    pub status: RemoteStatus,
    /// Number of commits that the remote lacks, at most 1,000.
    pub ahead: usize,
    /// The problem, and the time of its start, if a program recorded it.
    pub trouble: Option<(String, Option<DateTime<Utc>>)>,
}

impl RemoteState {
    /// Returns the state in the form of `_meta`.
    pub fn to_json(&self) -> Value {
        let mut value = json!({ "state": self.status.name(), "ahead": self.ahead });
        if let Some((why, since)) = &self.trouble {
            value["why"] = json!(why);
            if let Some(since) = since {
                value["since"] = json!(since.to_rfc3339_opts(SecondsFormat::Secs, true));
            }
        }
        value
    }
}

/// Error of a synchronization.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SyncError {
    /// The library has no remote.
    #[error("the library has no remote; `tabellion remote set URL` gives it one")]
    NoRemote,
    /// The remote does not answer.
    #[error("{}", unreachable(.0).message)]
    Unreachable(Unreachable),
    /// The remote refuses the commits.
    #[error("the remote refuses the commits: {0}")]
    Refused(String),
    /// A person must decide or act.
    #[error(transparent)]
    Blocked(Failure),
}

/// The pause before a push whose answer was lost is made again.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Result of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fetched {
    /// The branch's commit; `None` if there is no such branch.
    pub(super) tip: Option<ObjectId>,
    /// The branch's commit that was known when the fetch began.
    pub(super) known: Option<ObjectId>,
}

/// Pending work of the follower.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) is_running: bool,
    /// Set if a change was made since the last synchronization began.
    pub(super) changed: bool,
    /// Set if a caller waits for a fetch.
    pub(super) wanted: bool,
    /// Number of synchronizations that have ended.
    pub(super) rounds: u64,
    pub(super) stop: bool,
}

/// The remote of a library, and its known state.
pub(crate) struct Shared {
    pub(super) settings: RemoteSettings,
    lent: Lent,
    counts: Arc<Counts>,
    remote: OnceLock<Remote>,
    pub(super) standing: Mutex<RemoteView>,
    /// Notified of work for the follower, and of its end.
    pub(super) news: Condvar,
}

/// Known state of the remote.
#[derive(Debug, Default)]
pub(super) struct RemoteView {
    /// Time of the last fetch of the branch.
    pub(super) fetched: Option<Instant>,
    /// Set if the remote has commits that are missing here.
    pub(super) is_behind: bool,
    waiting: Waiting,
    pub(super) follower: Work,
}

impl Shared {
    /// Returns the remote that this user has set for a library, or the address of one that came with it. Writes nothing.
    pub(crate) fn load(working_tree: &WorkingTree) -> (Option<Self>, Option<Address>) {
        let place = SettingsPath::new(working_tree);
        let settings = match RemoteSettings::read(&place) {
            Some(StoredSettings::Set(settings)) => settings,
            Some(StoredSettings::Foreign(address)) => return (None, Some(address)),
            None => return (None, None),
        };
        let repository = &working_tree.repository;
        let shared = Self {
            settings,
            lent: Lent {
                folder: repository.own(REPOSITORY),
                objects: repository.objects().to_owned(),
                shallow: repository.common_dir().join("shallow"),
                connections: place.connections(),
            },
            counts: Arc::clone(&working_tree.counts),
            remote: OnceLock::new(),
            standing: Mutex::default(),
            news: Condvar::new(),
        };
        (Some(shared), None)
    }

    pub(super) fn remote(&self) -> Result<&Remote, Failure> {
        if self.remote.get().is_none() {
            let RemoteSettings { address, branch, .. } = self.settings.clone();
            let opened = Remote::open(&self.lent, address, branch).context("write", &self.lent.folder)?;
            // Another thread may have been faster.
            let _ = self.remote.set(opened);
        }
        Ok(self.remote.get().expect("it was set"))
    }

    /// Refuses a branch that is checked out, and not the one that is shared.
    pub(super) fn check_branch(&self, here: &str) -> Result<(), Failure> {
        if here == self.settings.branch {
            return Ok(());
        }
        let [here, shared] =
            [here, &*self.settings.branch].map(|name| name.trim_start_matches("refs/heads/"));
        Err(refused(format!(
            "`{here}` is checked out, and the library is shared through `{shared}`; switch to it (`git switch {shared}`, with `-c` if it \
             does not exist here), or share this one (`tabellion remote set URL --branch {here}`)"
        )))
    }

    /// Returns true if changes are acknowledged by the remote.
    pub(crate) fn acknowledges(&self) -> bool {
        self.settings.acknowledge == Acknowledge::Remote
    }

    /// Returns the commit of the remote's branch that was taken or pushed last.
    pub(super) fn known_commit(&self) -> Result<Option<ObjectId>, Failure> {
        let known = self.remote()?.known_commit();
        Ok(known.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()))
    }

    /// Fetches the branch, without the library's lock: another program may take and push commits meanwhile.
    pub(super) fn fetch(&self, wait: Duration) -> Result<Fetched, SyncError> {
        let begun = Instant::now();
        let known = self.known_commit().map_err(SyncError::Blocked)?;
        let remote = self.remote().map_err(SyncError::Blocked)?;
        let fetched = remote.fetch(wait);
        self.counts.fetched(fetched.is_ok());
        let tip = fetched.map_err(SyncError::Unreachable)?;
        let mut standing = self.standing.lock();
        standing.fetched = Some(Instant::now());
        standing.waiting.fetched(begun.elapsed());
        let tip = tip.as_deref().map(versions::content_id).transpose();
        Ok(Fetched { tip: tip.map_err(SyncError::Blocked)?, known })
    }

    /// Moves the branch from `base` (`None`: it must not exist) to `commit`, or leaves it.
    pub(super) fn push(
        &self,
        commit: ObjectId,
        base: Option<ObjectId>,
        wait: Duration,
    ) -> Result<Pushed, Failure> {
        let base = base.map(|id| id.to_string());
        let pushed = self.remote()?.push(&commit.to_string(), base.as_deref(), wait);
        self.counts.pushed(&pushed);
        Ok(pushed)
    }

    /// Pushes `next`, which is not visible here yet: after `Ok` it is acknowledged.
    ///
    /// # Errors
    /// [`StoreError::Behind`] if the branch has moved; a failure if the remote refuses, or does not answer in time. After any error
    /// but `remote_unknown`, the remote does not have the commit.
    pub(crate) fn push_first(&self, repository: &Repository, next: ObjectId) -> Result<(), StoreError> {
        let base = self.known_commit()?;
        let end = Instant::now() + self.settings.wait;
        let left = || end.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        let has_next = |tip: Option<ObjectId>| match tip {
            Some(tip) => history::reaches(&repository.git(), tip, next, base),
            None => Ok(false),
        };
        let (mut refusals, mut may_have_arrived) = (0, false);
        loop {
            let begun = Instant::now();
            let pushed = self.push(next, base, left())?;
            let words = match &pushed {
                Pushed::Accepted => {
                    self.standing.lock().waiting.won(begun.elapsed());
                    return Ok(self.accepted(next)?);
                }
                Pushed::Rejected(words) => words.clone(),
                Pushed::Silent(trouble) => trouble.words.clone(),
            };
            may_have_arrived |= matches!(&pushed, Pushed::Silent(trouble) if trouble.may_have_arrived());
            // Texts vary by race and version: the branch itself is fetched.
            let found = self.fetch(left()).and_then(|Fetched { tip, .. }| {
                let has_next = has_next(tip).map_err(SyncError::Blocked)?;
                Ok((tip, has_next))
            });
            match found {
                Ok((_, true)) => return Ok(self.accepted(next)?),
                Ok((tip, false)) if tip != base => {
                    let mut standing = self.standing.lock();
                    standing.is_behind = true;
                    standing.waiting.lost();
                    return Err(StoreError::Behind);
                }
                Ok(_) if matches!(pushed, Pushed::Rejected(_)) => {
                    refusals += 1;
                    if refusals == 2 {
                        return Err(remote_refused(&words).into());
                    }
                }
                // The first push may still arrive: only the same one again, which expects the same commit, can't make the change twice.
                Ok(_) => {}
                Err(SyncError::Unreachable(trouble)) if !may_have_arrived => {
                    return Err(unreachable(&trouble).into());
                }
                // It is not known yet if the tip has the change.
                Err(_) => may_have_arrived = true,
            }
            std::thread::sleep(RETRY_INTERVAL.min(end.saturating_duration_since(Instant::now())));
            if Instant::now() >= end {
                self.standing.lock().is_behind = true;
                return Err(
                    if may_have_arrived { remote_unknown(next) } else { remote_refused(&words) }.into()
                );
            }
        }
    }

    fn accepted(&self, next: ObjectId) -> Result<(), Failure> {
        self.remote()?.remember(&next.to_string());
        self.is_well();
        Ok(())
    }

    /// Returns the last trouble that a process recorded, if it is not over.
    pub(super) fn trouble(&self) -> Option<(RemoteStatus, String, DateTime<Utc>)> {
        let value: Value = serde_json::from_str(&read_text(&self.trouble_file()).ok()?).ok()?;
        let text = |name: &str| value.get(name)?.as_str();
        let status = RemoteStatus::TROUBLE.into_iter().find(|status| Some(status.name()) == text("state"))?;
        let since = DateTime::parse_from_rfc3339(text("since")?).ok()?.to_utc();
        Some((status, text("why")?.to_owned(), since))
    }

    fn trouble_file(&self) -> PathBuf {
        self.lent.folder.join("trouble.json")
    }

    pub(super) fn is_well(&self) {
        if let Err(failure) = remove_if_there(&self.trouble_file()) {
            tracing::debug!(%failure, "a trouble that is over can't be forgotten");
        }
    }

    /// Records the trouble, and the time of its start.
    pub(super) fn has_trouble(&self, error: &SyncError) {
        let status = match error {
            SyncError::NoRemote => return,
            SyncError::Unreachable(_) => RemoteStatus::Unreachable,
            SyncError::Refused(_) => RemoteStatus::Refused,
            SyncError::Blocked(_) => RemoteStatus::Blocked,
        };
        let since = match self.trouble() {
            Some((known, _, since)) if known == status => since,
            _ => {
                tracing::warn!(%error, "the library is not in step with its remote");
                DateTime::from(SystemTime::now())
            }
        };
        let since = since.to_rfc3339_opts(SecondsFormat::Secs, true);
        let text = json!({ "state": status.name(), "why": error.to_string(), "since": since }).to_string();
        let written = create(&self.trouble_file()).and_then(|mut file| file.write_all(text.as_bytes()));
        if let Err(error) = written {
            tracing::debug!(%error, "a trouble with the remote can't be written down");
        }
    }

    /// Fails if a change has waited for too long.
    ///
    /// # Errors
    /// Busy.
    pub(crate) fn check_wait(&self, claim: Claim<'_>) -> Result<(), Failure> {
        if claim.behind == 0 || claim.waited <= self.settings.wait {
            return Ok(());
        }
        let message = format!(
            "other machines changed the library first {} times in {} s; try again later",
            claim.behind,
            claim.waited.as_secs()
        );
        Err(Failure::new(FailureKind::Busy, message)
            .with("rule", "remote_contended")
            .with("attempts", claim.behind))
    }

    /// Pauses before a batch, to let machines that change the library at the same time take turns. `behind` is the number of times
    /// that its first change has lost.
    pub(crate) fn wait_for_turn(&self, behind: u32) {
        let pause = self.standing.lock().waiting.pause(behind);
        if !pause.is_zero() {
            blocking(|| std::thread::sleep(pause));
        }
    }

    /// Reports a change that the remote lacks.
    pub(crate) fn has_changed(&self) {
        self.standing.lock().follower.changed = true;
        self.news.notify_all();
    }
}

/// Returns the failure of a change that the remote does not answer.
pub(super) fn unreachable(trouble: &Unreachable) -> Failure {
    let what = match trouble.trouble {
        Trouble::Auth => {
            "the remote does not let this user in; sign in with git (`git ls-remote` of its address asks), or renew the key"
        }
        Trouble::Missing => {
            "there is no repository at the remote's address; `tabellion remote set` changes it"
        }
        Trouble::NoGit => "sharing a library needs the program `git`; install it",
        Trouble::Full => "this machine's disk has no room for what the remote sends; free some space",
        Trouble::Offline | Trouble::Cut => "the remote does not answer; try again later",
    };
    let message = format!("{what}: {}", trouble.words);
    Failure::new(FailureKind::Busy, message)
        .with("rule", "remote_unreachable")
        .with("trouble", trouble.trouble.name())
}

/// Returns the failure of a change that the remote refuses.
pub(super) fn remote_refused(words: &str) -> Failure {
    refused(format!("the remote refuses the change, and nothing was changed: {words}"))
        .with("rule", "remote_refused")
}

fn remote_unknown(next: ObjectId) -> Failure {
    let message = format!(
        "the remote did not say whether it took the change; it may come as the commit {next}. The same call with the same idempotency key \
         is safe"
    );
    Failure::new(FailureKind::Busy, message).with("rule", UNKNOWN).with("commit", next.to_string())
}
