//! The results of a run, as data; the submodules render them.
//!
//! Text from a server is hostile: each format escapes all text that it did not write itself.

pub mod badge;
pub mod compare;
pub mod diff;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod progress;
mod standing;
pub mod steps;
pub mod terminal;
pub mod visible;

pub use standing::{Finding, Standing};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Subject,
    check::{Case, Check, Profile, Severity},
    era::Era,
    judgement::{Failure, Stop},
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
    /// The check could not run.
    NotTestable,
    /// The suite itself failed.
    HarnessError,
    /// The requirement is broken.
    Fail,
}

impl Verdict {
    /// Returns the verdict of a check with this many cases, of which these did not pass: the worst one. Cases that do
    /// not apply or cannot run do not count if others ran.
    pub fn of<'a>(cases: usize, stops: impl Iterator<Item = &'a Stop>) -> Self {
        let (mut worst, mut stopped) = (Self::Pass, 0);
        let mut untried = Self::NotApplicable;
        for stop in stops {
            stopped += 1;
            match stop {
                Stop::Fail(_) => worst = worst.max(Self::Fail),
                Stop::Harness(_) => worst = worst.max(Self::HarnessError),
                Stop::NotTestable(_) => untried = Self::NotTestable,
                Stop::NotApplicable(_) => {}
            }
        }
        if worst == Self::Pass && stopped >= cases {
            untried
        } else {
            worst
        }
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
}

/// The result of one guarantee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuaranteeReport {
    /// Id.
    pub id: String,
    /// Text in the contract.
    pub text: String,
    /// Worst verdict of the checks with severity `Must`.
    pub verdict: Verdict,
    /// Number of these checks.
    pub checks: usize,
}

/// The result of one check in one era.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Id.
    pub id: String,
    /// Family.
    pub family: String,
    /// Whether a server must pass.
    pub severity: Severity,
    /// Statement of what must hold.
    pub states: String,
    /// Guarantees that are broken if it fails.
    pub guarantees: Vec<String>,
    /// Protocol revision.
    pub revision: String,
    /// The result.
    pub verdict: Verdict,
    /// Number of cases.
    pub cases: usize,
    /// Why the check did not pass, in one sentence.
    pub reason: Option<String>,
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
    pub(crate) fn new(
        check: &Check,
        era: Era,
        verdict: Verdict,
        cases: usize,
        reason: Option<String>,
        witnesses: Vec<Witness>,
        took: Duration,
    ) -> Self {
        Self {
            id: check.id.to_owned(),
            family: check.family().to_owned(),
            severity: check.severity,
            states: check.states.to_owned(),
            guarantees: check.guarantees.iter().map(|id| (*id).to_owned()).collect(),
            revision: era.revision().to_owned(),
            verdict,
            cases,
            reason: witnesses
                .first()
                .map(|witness| witness.failure.what.clone())
                .or(reason),
            known: None,
            witnesses,
            seconds: took.as_secs_f64(),
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
        let of = |id: &str| {
            let about = checks
                .iter()
                .filter(|check| check.guarantees.iter().any(|it| it == id));
            let must = about.filter(|check| check.severity == Severity::Must);
            let verdicts: Vec<_> = must.map(|check| check.verdict).collect();
            let tried = verdicts
                .iter()
                .filter(|verdict| **verdict != Verdict::NotApplicable);
            (
                tried.max().copied().unwrap_or(Verdict::NotApplicable),
                verdicts.len(),
            )
        };
        let guarantees = subject.contract.guarantees.iter().map(|guarantee| {
            let (verdict, checks) = of(guarantee.id);
            GuaranteeReport {
                id: guarantee.id.to_owned(),
                text: guarantee.text.to_owned(),
                verdict,
                checks,
            }
        });
        Self {
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            server: Server {
                name: subject.name.clone(),
                identity: None,
                command: subject.launch.words(),
            },
            contract: format!("{} {}", subject.contract.id, subject.contract.version),
            profile,
            seed,
            guarantees: guarantees.collect(),
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
