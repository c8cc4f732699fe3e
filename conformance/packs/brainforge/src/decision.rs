//! Decisions of a person on pending notes, by the commands that the operator names.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::shelf::Shelf;
use tabellion_conformance::{
    checks::prelude::*,
    launch::{DECISION, INSTANCE, PARTS},
    setup::run_within,
};

named! {
    pub(super) enum Decision {
        /// The proposal becomes part of the library.
        Approve = "approve",
        /// The proposal does not become part of the library.
        Reject = "reject",
        /// Its author must write a new version.
        Revise = "revise",
    }
}

/// The result of a decision's command; the inner error is its failure.
type Outcome = Result<Result<(), String>, Stop>;

/// Fails unless the operator has named the command by which a person decides.
pub(super) fn required(shelf: &Shelf<'_, '_>) -> Result<(), Stop> {
    if shelf.bench.subject.launch.decide.is_some() {
        return Ok(());
    }
    let why = format!(
        "it is not known how a person decides on what waits; add `--decide COMMAND`, in which `{DECISION}` is approve, reject or revise"
    );
    Err(not_applicable(why))
}

/// Fails unless the operator has also named the command by which a person is shown a pending note.
pub(super) fn shown(shelf: &Shelf<'_, '_>) -> Result<(), Stop> {
    required(shelf)?;
    if shelf.bench.subject.launch.show.is_some() {
        return Ok(());
    }
    let why =
        format!("it is not known how a person is shown what waits; add `--show COMMAND` with `{INSTANCE}`");
    Err(not_applicable(why))
}

/// Fails unless the command by which a person decides accepts parts.
pub(super) fn in_parts(shelf: &Shelf<'_, '_>) -> Result<(), Stop> {
    required(shelf)?;
    let decide = shelf.bench.subject.launch.decide.as_deref();
    if decide.is_some_and(|decide| decide.contains(PARTS)) {
        return Ok(());
    }
    let why = format!("it is not known how a person approves parts; `--decide` has no `{PARTS}`");
    Err(not_applicable(why))
}

impl Shelf<'_, '_> {
    fn decision(&self, decision: Decision, parts: &[usize], instance: &str) -> Result<Command, Stop> {
        required(self)?;
        let of_parts = match parts {
            [] => String::new(),
            parts => format!(" the parts {parts:?}"),
        };
        self.scene.trace(format!("a person decides on {instance}: {decision}{of_parts}"));
        let launch = &self.bench.subject.launch;
        let library = self.scene.library();
        let shell = launch.decision(&library, &decision.to_string(), parts, instance);
        shell.ok_or_else(|| Stop::Harness("there is no command that decides".into()))
    }

    /// Shows a person the pending note, if there is a command for it; returns the command's failure, if any.
    pub(super) fn show(&self, instance: &str) -> Result<(), String> {
        let launch = &self.bench.subject.launch;
        let Some(mut command) = launch.shown(&self.scene.library(), instance) else {
            return Ok(());
        };
        self.scene.trace(format!("a person is shown {instance}"));
        run_within(&mut command, launch.patience)
    }

    /// As [`show`](Self::show), but a failed command is a failure of the check.
    pub(super) fn must_show(&self, instance: &str) -> Judgement {
        self.show(instance).map_err(|why| fail(format!("a person can't be shown what waits: it {why}")))
    }

    /// Shows a person the pending note, and decides on it, or on the parts of these numbers; returns the failure of the first command that
    /// fails.
    ///
    /// # Errors
    /// If there is no command for decisions.
    pub(super) fn decide(&self, decision: Decision, parts: &[usize], instance: &str) -> Outcome {
        match self.show(instance) {
            Ok(()) => self.decide_as_shown(decision, parts, instance),
            refused => Ok(refused),
        }
    }

    /// Decides on the version that the person was shown last; returns the command's failure, if any.
    ///
    /// # Errors
    /// If there is no command for decisions.
    pub(super) fn decide_as_shown(&self, decision: Decision, parts: &[usize], instance: &str) -> Outcome {
        let mut command = self.decision(decision, parts, instance)?;
        let outcome = run_within(&mut command, self.bench.subject.launch.patience);
        if let Err(why) = &outcome {
            self.scene.trace(format!("the decision {why}"));
        }
        Ok(outcome)
    }

    /// Fails with `what` unless a decision is refused, and with a difference unless it changes nothing.
    pub(super) fn must_not_decide(
        &self,
        decide: impl FnOnce() -> Outcome,
        what: impl Into<String>,
    ) -> Judgement {
        let before = self.scene.view()?;
        if decide()?.is_ok() {
            return Err(fail(what));
        }
        before.same(&self.scene.view()?, "a refused decision")
    }

    /// As [`decide`](Self::decide), but a failed command is a failure of the check.
    pub(super) fn must_decide(&self, decision: Decision, instance: &str) -> Judgement {
        let outcome = self.decide(decision, &[], instance)?;
        outcome.map_err(|why| fail(format!("a person can't {decision} what waits: it {why}")))
    }

    /// Decides on the version that the person was shown last, and kills the command and its process group after `delay`.
    ///
    /// # Errors
    /// If there is no command for decisions, or it can't be run.
    pub(super) fn decide_and_kill(
        &self,
        decision: Decision,
        instance: &str,
        delay: Duration,
    ) -> Result<(), Stop> {
        use std::os::unix::process::CommandExt;
        let mut command = self.decision(decision, &[], instance)?;
        command.process_group(0).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let since = Instant::now();
        let mut child = command.spawn()?;
        thread::sleep(delay.saturating_sub(since.elapsed()));
        self.scene.trace(format!("the decision is killed after {} µs", delay.as_micros()));
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        child.wait()?;
        Ok(())
    }
}
