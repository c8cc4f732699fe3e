//! Decisions of a person on what waits, by the command that the operator names.

use std::{
    fmt,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use super::shelf::Shelf;
use crate::{
    judgement::{Stop, fail},
    launch::DECISION,
    setup::run_within,
};

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Decision {
    /// It becomes part of the library.
    Approve,
    /// It does not.
    Reject,
    /// Its author is asked for another version.
    Revise,
}

impl Decision {
    pub(super) const ALL: [Self; 3] = [Self::Approve, Self::Reject, Self::Revise];
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Revise => "revise",
        })
    }
}

/// Fails unless the operator has named the command by which a person decides.
pub(super) fn required(shelf: &Shelf<'_, '_>) -> Result<(), Stop> {
    if shelf.bench.subject.launch.decide.is_some() {
        return Ok(());
    }
    let why = format!(
        "it is not known how a person decides on what waits; add `--decide COMMAND`, in which `{DECISION}` is approve, reject or revise"
    );
    Err(Stop::NotApplicable(why))
}

impl Shelf<'_, '_> {
    fn decision(&self, decision: Decision, instance: &str) -> Result<Command, Stop> {
        required(self)?;
        self.scene
            .trace(format!("a person decides on {instance}: {decision}"));
        let launch = &self.bench.subject.launch;
        let library = self.scene.library();
        let shell = launch.decision(&library, &decision.to_string(), instance);
        shell.ok_or_else(|| Stop::Harness("there is no command that decides".into()))
    }

    /// Decides on what waits; returns why not, if the command fails.
    ///
    /// # Errors
    /// If no command decides.
    pub(super) fn decide(&self, decision: Decision, instance: &str) -> Result<Result<(), String>, Stop> {
        let mut command = self.decision(decision, instance)?;
        let outcome = run_within(&mut command, self.bench.subject.launch.patience);
        if let Err(why) = &outcome {
            self.scene.trace(format!("the decision {why}"));
        }
        Ok(outcome)
    }

    /// As [`decide`](Self::decide), but a decision that is not taken is a failure.
    pub(super) fn must_decide(&self, decision: Decision, instance: &str) -> Result<(), Stop> {
        let outcome = self.decide(decision, instance)?;
        outcome.map_err(|why| fail(format!("a person can't {decision} what waits: it {why}")))
    }

    /// Decides on what waits, and kills the command and all that it started after `delay`.
    ///
    /// # Errors
    /// If no command decides, or it can't be run.
    pub(super) fn decide_and_kill(
        &self,
        decision: Decision,
        instance: &str,
        delay: Duration,
    ) -> Result<(), Stop> {
        use std::os::unix::process::CommandExt;
        let mut command = self.decision(decision, instance)?;
        command.process_group(0).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let since = Instant::now();
        let mut child = command.spawn()?;
        thread::sleep(delay.saturating_sub(since.elapsed()));
        self.scene
            .trace(format!("the decision is killed after {} µs", delay.as_micros()));
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        child.wait()?;
        Ok(())
    }
}
