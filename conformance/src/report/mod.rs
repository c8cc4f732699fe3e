//! The results of a run, as data; the submodules render them.
//!
//! Text from a server is hostile: each format escapes all text that it did not write itself.

pub mod badge;
pub mod causes;
pub mod compare;
pub mod diff;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod progress;
mod rating;
pub mod sarif;
pub mod steps;
pub mod terminal;
pub mod visible;

pub use rating::{Finding, Harm, Rating};

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::{Guarantee, GuaranteeKind};

use crate::{
    Subject,
    check::{Case, Check, Profile, Severity},
    era::Era,
    judgement::{Cause, Failure, Stop},
    settled,
    subject::Commits,
    trace::Event,
};

/// The result of a check, or of all checks of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The requirement holds in every case that ran.
    Pass,
    /// The server lacks the feature that the check tests.
    NotApplicable,
    /// The check showed nothing: it could not run, or the server refused valid calls or did not answer.
    NotShown,
    /// The suite itself failed.
    HarnessError,
    /// The requirement is broken.
    Fail,
}

impl Verdict {
    /// Returns the verdict of a check with this many cases, of which these did not pass: the worst one. Cases that do
    /// not apply or cannot run here do not count if others ran; cases that the server prevented do.
    pub fn from_stops<'a>(cases: usize, stops: impl Iterator<Item = &'a Stop>) -> Self {
        let (mut worst, mut stopped) = (Self::Pass, 0);
        let mut untried = Self::NotApplicable;
        for stop in stops {
            stopped += 1;
            match stop {
                Stop::Fail(_) => worst = worst.max(Self::Fail),
                Stop::Harness(_) => worst = worst.max(Self::HarnessError),
                Stop::NotShown(shown) => {
                    untried = Self::NotShown;
                    if shown.cause.is_some() {
                        worst = worst.max(Self::NotShown);
                    }
                }
                Stop::NotApplicable(_) => {}
            }
        }
        if worst == Self::Pass && stopped >= cases { untried } else { worst }
    }
}

/// The results of one run against one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the suite.
    pub suite: String,
    /// Server that was tested.
    pub server: Server,
    /// Id and version of the contract.
    pub contract: String,
    /// Profile of the run.
    pub profile: Profile,
    /// The seed of all random choices.
    pub seed: u64,
    /// Results of the contract's guarantees, in the contract's order.
    pub guarantees: Vec<GuaranteeReport>,
    /// Results of the checks, in the order in which they ran.
    pub checks: Vec<CheckReport>,
    /// Ids of the contract's checks that did not run, because the profile or the options leave them out.
    pub not_run: Vec<String>,
    /// Duration in seconds.
    pub seconds: f64,
}

/// A server that was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Name.
    pub name: String,
    /// Name and version that it reports, if any.
    pub identity: Option<String>,
    /// Command that started it.
    pub command: Vec<String>,
    /// Globs of its own state in the library, which was disregarded.
    pub own: Vec<String>,
}

/// The result of one guarantee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuaranteeReport {
    /// Id.
    pub id: String,
    /// Text in the contract.
    pub text: String,
    /// The verdict: `Fail` if a check breaks it, else the worst verdict of the checks with severity `Must`. Atomicity is not shown
    /// unless a check interrupted a change.
    pub verdict: Verdict,
    /// Number of checks with severity `Must` that are about it.
    pub checks: usize,
    /// Number of these that tried it: that passed, or broke it.
    pub tried: usize,
    /// Number of these that broke it.
    pub broken: usize,
}

/// The result of one check in one era.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Id.
    pub id: String,
    /// Family.
    pub family: String,
    /// Requirement level.
    pub severity: Severity,
    /// Statement of the requirement.
    pub states: String,
    /// Guarantees of the contract that it is about.
    pub guarantees: Vec<String>,
    /// Those that its failures show to be broken.
    pub breaks: Vec<String>,
    /// Protocol revision.
    pub revision: String,
    /// The result.
    pub verdict: Verdict,
    /// Number of cases.
    pub cases: usize,
    /// Reason why the check did not pass, in one sentence.
    pub reason: Option<String>,
    /// A cause that other checks may share, if known.
    pub cause: Option<Cause>,
    /// Reason in the list of known failures, if listed.
    pub known: Option<String>,
    /// Failing cases; the first is shrunk.
    pub witnesses: Vec<Witness>,
    /// Duration in seconds.
    pub seconds: f64,
}

/// A failing case, with its failure and trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// The case.
    pub case: Case,
    /// Failure.
    pub failure: Failure,
    /// Actions and messages, in order.
    pub trace: Vec<Event>,
}

impl CheckReport {
    /// Returns true if its failures show that a guarantee is broken.
    pub fn breaks(&self, guarantee: &str) -> bool {
        self.breaks.iter().any(|id| id == guarantee)
    }

    /// Returns true if it kills the server, or lets the disk fail, during a change.
    fn interrupts(&self) -> bool {
        self.family == "atomic" || ["/killed", "/faults"].iter().any(|end| self.id.ends_with(end))
    }

    /// Returns the check's verdict on one of its guarantees: a failure that does not break it shows nothing.
    fn about(&self, guarantee: &str) -> Verdict {
        match self.verdict {
            Verdict::Fail if !self.breaks(guarantee) => Verdict::NotShown,
            verdict => verdict,
        }
    }

    pub(crate) fn new(
        check: &Check,
        subject: &Subject,
        verdict: Verdict,
        cases: usize,
        stopped: Option<&Stop>,
        witnesses: Vec<Witness>,
        took: Duration,
    ) -> Self {
        let first = witnesses.first().map(|witness| &witness.failure);
        Self {
            id: check.id.to_owned(),
            family: check.family().to_owned(),
            // A server must survive every valid call, whatever else a check recommends.
            severity: match first {
                Some(Failure { cause: Some(Cause::Ended(_)), .. }) => Severity::Must,
                _ => check.severity_in(subject.contract),
            },
            states: check.states.to_owned(),
            guarantees: check.guarantees.iter().map(|id| (*id).to_owned()).collect(),
            breaks: Vec::new(),
            revision: subject.era.revision().to_owned(),
            verdict,
            cases,
            reason: first.map(|failure| failure.what.clone()).or(stopped.map(ToString::to_string)),
            cause: match (first, stopped) {
                (Some(failure), _) => failure.cause.clone(),
                (None, Some(Stop::NotShown(shown))) => shown.cause.clone(),
                _ => None,
            },
            known: None,
            witnesses,
            seconds: took.as_secs_f64(),
        }
    }
}

impl GuaranteeReport {
    fn new(guarantee: &Guarantee, subject: &Subject, checks: &[CheckReport]) -> Self {
        let has_feature = match guarantee.kind {
            Some(GuaranteeKind::Log) => settled::log_tool(subject).is_some(),
            Some(GuaranteeKind::Preview) => subject.has_previews(),
            _ => true,
        };
        // Checks that pass without a look at commits, because the server makes none in time, are not evidence about them.
        let is_looked_at =
            guarantee.kind != Some(GuaranteeKind::Commit) || subject.commits == Commits::BeforeAnswer;
        let is_about = |check: &&CheckReport| check.guarantees.iter().any(|id| id == guarantee.id);
        let about = checks.iter().filter(is_about);
        // Only kills and faults are evidence of atomicity: the other checks interrupt no change.
        let is_decided = guarantee.kind != Some(GuaranteeKind::Atomic)
            || about.clone().any(|check| check.verdict != Verdict::NotApplicable && check.interrupts());
        let verdicts: Vec<_> = about
            .filter(|check| check.severity == Severity::Must)
            .map(|check| check.about(guarantee.id))
            .map(|verdict| match verdict {
                Verdict::Pass if !(has_feature && is_looked_at) => Verdict::NotApplicable,
                // Nor do checks that did not run or failed for another reason, if the server lacks the feature.
                Verdict::NotShown if !has_feature => Verdict::NotApplicable,
                verdict => verdict,
            })
            .collect();
        let count = |verdict| verdicts.iter().filter(|it| **it == verdict).count();
        let broken = count(Verdict::Fail);
        let tried = verdicts.iter().filter(|it| **it != Verdict::NotApplicable);
        Self {
            id: guarantee.id.to_owned(),
            text: guarantee.text.to_owned(),
            verdict: match tried.max().copied().unwrap_or(Verdict::NotApplicable) {
                Verdict::Pass if !is_decided => Verdict::NotShown,
                verdict => verdict,
            },
            checks: verdicts.len(),
            tried: count(Verdict::Pass) + broken,
            broken,
        }
    }
}

/// Observes a run, from several threads.
pub trait Observer: Sync {
    /// Called when a check begins, with the number of its cases.
    fn begins(&self, check: &Check, era: Era, cases: usize);
    /// Called when one of its cases ends.
    fn case_done(&self, check: &Check);
    /// Called when a check ends.
    fn ends(&self, report: &CheckReport);
}

impl Report {
    pub(crate) fn new(
        subject: &Subject,
        profile: Profile,
        seed: u64,
        checks: Vec<CheckReport>,
        took: Duration,
    ) -> Self {
        let guarantees = subject.contract.guarantees.iter();
        let guarantees = guarantees.map(|guarantee| GuaranteeReport::new(guarantee, subject, &checks));
        Self {
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            server: Server {
                name: subject.name.clone(),
                identity: None,
                command: subject.launch.words(),
                own: subject.own.globs().to_vec(),
            },
            contract: format!("{} {}", subject.contract.id, subject.contract.version),
            profile,
            seed,
            guarantees: guarantees.collect(),
            not_run: Vec::new(),
            checks,
            seconds: took.as_secs_f64(),
        }
    }

    /// Returns the protocol revisions of the run, in order.
    pub fn revisions(&self) -> Vec<&str> {
        let mut revisions: Vec<_> = self.checks.iter().map(|check| check.revision.as_str()).collect();
        revisions.sort_unstable();
        revisions.dedup();
        revisions
    }

    /// Parses a report.
    ///
    /// # Errors
    /// If `json` is not a report, or one of another version of the suite.
    pub fn parse(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| {
            format!("not a report of `tabellion-conformance run --json`, or of another version: {error}")
        })
    }
}

/// Formats a duration for people.
pub fn time(seconds: f64) -> String {
    if seconds < 90.0 {
        return format!("{seconds:.1} s");
    }
    let whole = Duration::from_secs_f64(seconds).as_secs();
    format!("{} min {} s", whole / 60, whole % 60)
}
