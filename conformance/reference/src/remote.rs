//! Sharing the library through a branch of a bare repository: a change is pushed before it is visible here.
//!
//! Before each change, the branch is fetched, and merged by git if it has commits that are missing here. The push expects the branch to be
//! unchanged since; if others have changed it, the change is planned again. After a push without an answer, the branch is fetched to find
//! out if it has the change.

use std::{ffi::OsString, fs, path::PathBuf};

use tabellion_runtime::{Failure, FailureKind};

use super::{
    failed,
    git::Git,
    mutant::{self, Mutant, is},
};

/// Number of refused pushes after which the change is refused.
const MAX_REFUSALS: usize = 2;

/// A bare repository through which the library is shared.
pub(super) struct Remote {
    address: String,
    /// File with the branch's commit that was fetched or pushed last. It is not a git reference, because a killed git program leaves the
    /// lock of one.
    known: PathBuf,
    /// A repository without objects and without a person's configuration.
    git: Git,
}

/// The outcome of a push.
pub(super) enum Offer {
    Accepted,
    /// Others were faster.
    Behind,
}

impl Remote {
    /// Shares a library through the bare repository at `address`.
    pub(super) fn set(git: &Git, address: &str) -> Result<(), Failure> {
        let own = own_repository(git);
        git.text(&["init", "--quiet", "--bare", &own.to_string_lossy()])?;
        fs::write(own.join("address"), address).map_err(failed("write the remote's address"))
    }

    /// Returns the remote of a library, if it is shared.
    pub(super) fn open(git: &Git) -> Option<Self> {
        let own = own_repository(git);
        let address = fs::read_to_string(own.join("address")).ok()?;
        let known = own.join("known");
        let git = if is(Mutant::FollowsInsteadOf) {
            git.clone()
        } else {
            let objects = OsString::from(git.common.join("objects"));
            git.with_variables(vec![("GIT_DIR", own.into_os_string()), ("GIT_OBJECT_DIRECTORY", objects)])
        };
        Some(Self { address, known, git })
    }

    /// Returns the branch's commit, if it should be merged.
    pub(super) fn tip(&self, branch: &str) -> Result<Option<String>, Failure> {
        let known = self.tracked();
        if is(Mutant::PushesByForce) || is(Mutant::NeverCatchesUp) && known.is_some() {
            return Ok(None);
        }
        let tip = self.fetch(branch)?;
        if known.is_some_and(|known| !self.is_in(&known, &tip)) {
            let message = "the remote's branch was rewritten; merge it by hand";
            return Err(Failure::new(FailureKind::Refused, message));
        }
        Ok(Some(tip))
    }

    /// Moves the branch to a commit that is not visible here.
    pub(super) fn offer(&self, branch: &str, commit: &str) -> Result<Offer, Failure> {
        mutant::remember_planned(commit);
        let base = self.tracked();
        for _ in 0..MAX_REFUSALS {
            if self.push(branch, base.as_deref(), commit) {
                return Ok(Offer::Accepted);
            }
            if is(Mutant::PlansAgainAfterYes) {
                return Ok(Offer::Behind);
            }
            if is(Mutant::NeverCatchesUp) {
                break;
            }
            // Git's answer to a refusal is the same as to a lost answer, so the branch itself is fetched.
            let tip = self.fetch(branch)?;
            if self.is_in(commit, &tip) {
                return Ok(Offer::Accepted);
            }
            if base.as_ref() != Some(&tip) {
                return Ok(Offer::Behind);
            }
        }
        let message = "the remote does not take the change, and nothing was changed; try again later";
        Err(Failure::new(FailureKind::Refused, message))
    }

    /// Fetches the branch; returns its commit.
    fn fetch(&self, branch: &str) -> Result<String, Failure> {
        self.git.text(&["fetch", "--quiet", "--no-tags", "--", &self.address, branch])?;
        let tip = self.git.text(&["rev-parse", "FETCH_HEAD"])?;
        self.remember(&tip)?;
        Ok(tip)
    }

    fn tracked(&self) -> Option<String> {
        fs::read_to_string(&self.known).ok().filter(|known| !known.is_empty())
    }

    fn remember(&self, commit: &str) -> Result<(), Failure> {
        fs::write(&self.known, commit).map_err(failed("write the branch's commit"))
    }

    /// Moves the branch from `base` to `commit`, or leaves it; returns true if the remote reports success.
    fn push(&self, branch: &str, base: Option<&str>, commit: &str) -> bool {
        let lease = if is(Mutant::PushesByForce) {
            "--force".to_owned()
        } else {
            format!("--force-with-lease={branch}:{}", base.unwrap_or_default())
        };
        let what = format!("{commit}:{branch}");
        let pushed = self.git.ask(&["push", "--quiet", "--atomic", &lease, "--", &self.address, &what]);
        pushed.is_some() && self.remember(commit).is_ok()
    }

    /// Returns true if the commit is in the history of `tip`.
    pub(super) fn is_in(&self, commit: &str, tip: &str) -> bool {
        let arguments = ["merge-base", "--is-ancestor", commit, tip];
        self.git.ask(&arguments).is_some()
    }
}

fn own_repository(git: &Git) -> PathBuf {
    git.dir.join("tabellion-reference.git")
}
