//! What came of a run, as data; the submodules show it.
//!
//! Whatever a server said is hostile: each format escapes all text that it did not write itself.

pub mod badge;
pub mod compare;
pub mod diff;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod progress;
pub mod steps;
pub mod terminal;
pub mod visible;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Subject,
    check::{Case, Check, Failure, Profile, Severity, Stop},
    run::Options,
    subject::Era,
    trace::Event,
};

/// What came of a check, or of all checks of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds in every case that was tried.
    Pass,
    /// The server has nothing that it is about.
    NotApplicable,
    /// It could not be tried.
    NotTestable,
    /// The tester was in trouble.
    HarnessError,
    /// It is broken.
    Fail,
}

impl Verdict {
    /// Of a check with so many cases, of which these did not pass: the worst of them, except that cases which do not apply
    /// or can't be tried don't count where others were tried.
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

/// What came of one run against one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the suite that made it.
    pub suite: String,
    /// What was tested.
    pub server: Server,
    /// Id and version of the contract.
    pub contract: String,
    /// How much was tried.
    pub profile: Profile,
    /// Where all that was chosen at random came from.
    pub seed: u64,
    /// What came of the contract's guarantees, in its order.
    pub guarantees: Vec<GuaranteeReport>,
    /// What came of the checks, in the order in which they ran.
    pub checks: Vec<CheckReport>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// A server that was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// What it calls itself, with its version, if it says.
    pub identity: Option<String>,
    /// How it was started.
    pub command: Vec<String>,
}

/// What came of one guarantee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuaranteeReport {
    /// Its id.
    pub id: String,
    /// The contract's wording.
    pub text: String,
    /// The worst verdict of the checks that must pass.
    pub verdict: Verdict,
    /// How many checks that is.
    pub checks: usize,
}

/// What came of one check in one era.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Its id.
    pub id: String,
    /// Its family.
    pub family: String,
    /// Whether a server has to pass.
    pub severity: Severity,
    /// What must hold.
    pub states: String,
    /// The guarantees that it is about.
    pub guarantees: Vec<String>,
    /// The protocol revision that was spoken.
    pub revision: String,
    /// What came of it.
    pub verdict: Verdict,
    /// How many cases there are.
    pub cases: usize,
    /// Why it did not pass, in a sentence.
    pub reason: Option<String>,
    /// Why that is put up with, if it is listed as known to fail.
    pub known: Option<String>,
    /// The failing cases; the first is as small as it could be made.
    pub witnesses: Vec<Witness>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// A case that fails, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// The case.
    pub case: Case,
    /// What went wrong.
    pub failure: Failure,
    /// What was done and said.
    pub trace: Vec<Event>,
}

/// A check that did not pass, in one revision or more.
#[derive(Debug)]
pub struct Finding<'a> {
    /// Its number in the report, in the first revision.
    pub number: usize,
    /// Its report in the first revision.
    pub check: &'a CheckReport,
    /// The revisions in which the same was found.
    pub revisions: Vec<&'a str>,
}

impl Finding<'_> {
    /// The revisions, as people read them.
    pub fn revisions(&self) -> String {
        self.revisions.join(" and ")
    }
}

/// What a verdict means for the run; what is worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It holds.
    Holds,
    /// The server has nothing that it is about.
    NotApplicable,
    /// It does not hold, or could not be tried; it need not.
    Advice,
    /// It does not hold, or could not be tried; that is listed, with a reason.
    Known,
    /// It holds, but is listed as known to fail.
    Unexpected,
    /// It must hold, and could not be tried.
    Untested,
    /// It must hold, and does not.
    Broken,
    /// The tester was in trouble.
    Trouble,
}

impl Standing {
    /// All, as a summary counts them.
    pub const ALL: [Self; 8] = [
        Self::Holds,
        Self::Broken,
        Self::Untested,
        Self::Trouble,
        Self::Unexpected,
        Self::Known,
        Self::Advice,
        Self::NotApplicable,
    ];

    /// In a word or a few, after a number.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "passed",
            Self::NotApplicable => "not applicable",
            Self::Advice => "warned",
            Self::Known => "known to fail",
            Self::Unexpected => "passed unexpectedly",
            Self::Untested => "not testable",
            Self::Broken => "failed",
            Self::Trouble => "in trouble",
        }
    }

    /// How a guarantee stands, in a word or a few.
    pub const fn of_guarantee(standing: Option<Self>) -> &'static str {
        match standing {
            None => "not checked",
            Some(Self::Holds | Self::Unexpected | Self::Advice) => "holds",
            Some(Self::NotApplicable) => "not applicable",
            Some(Self::Known) => "known to fail",
            Some(Self::Untested) => "not testable",
            Some(Self::Broken) => "broken",
            Some(Self::Trouble) => "in trouble",
        }
    }
}

impl CheckReport {
    /// What the verdict means for the run.
    pub fn standing(&self) -> Standing {
        match (self.verdict, &self.known) {
            (Verdict::HarnessError, _) => Standing::Trouble,
            (Verdict::NotApplicable, _) => Standing::NotApplicable,
            (Verdict::Pass, None) => Standing::Holds,
            (Verdict::Pass, Some(_)) => Standing::Unexpected,
            (Verdict::Fail | Verdict::NotTestable, Some(_)) => Standing::Known,
            _ if self.severity == Severity::Should => Standing::Advice,
            (Verdict::Fail, None) => Standing::Broken,
            (Verdict::NotTestable, None) => Standing::Untested,
        }
    }

    /// The verdict in a word, as a line of the terminal begins.
    pub fn word(&self) -> &'static str {
        match (self.standing(), self.verdict) {
            (Standing::Holds, _) => "pass",
            (Standing::NotApplicable, _) => "n/a",
            (Standing::Advice, Verdict::NotTestable) => "untested",
            (Standing::Advice, _) => "warn",
            (Standing::Known, _) => "known",
            (Standing::Unexpected, _) => "UNEXPECTED",
            (Standing::Untested, _) => "UNTESTED",
            (Standing::Broken, _) => "FAIL",
            (Standing::Trouble, _) => "TROUBLE",
        }
    }

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

impl Report {
    pub(crate) fn new(
        subject: &Subject,
        options: &Options,
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
                command: subject.launch.command.clone(),
            },
            contract: format!("{} {}", subject.contract.id, subject.contract.version),
            profile: options.profile,
            seed: options.seed,
            guarantees: guarantees.collect(),
            checks,
            seconds: took.as_secs_f64(),
        }
    }

    /// Whether nothing that must hold is broken or could not be tried, but for what is known.
    pub fn is_passed(&self) -> bool {
        let mut standings = self.checks.iter().map(CheckReport::standing);
        !standings.any(|standing| standing >= Standing::Untested)
    }

    /// The protocol revisions that were spoken, in order.
    pub fn revisions(&self) -> Vec<&str> {
        let mut revisions: Vec<_> = self.checks.iter().map(|check| check.revision.as_str()).collect();
        revisions.sort_unstable();
        revisions.dedup();
        revisions
    }

    /// How a guarantee stands; `None` if no check that must pass is about it.
    pub fn standing(&self, guarantee: &GuaranteeReport) -> Option<Standing> {
        let is_known = || {
            let about = self
                .checks
                .iter()
                .filter(|check| check.guarantees.contains(&guarantee.id) && check.severity == Severity::Must);
            let mut worst: Vec<_> = about.map(CheckReport::standing).collect();
            worst.retain(|standing| *standing >= Standing::Known && *standing != Standing::Unexpected);
            worst.iter().all(|standing| *standing == Standing::Known)
        };
        (guarantee.checks > 0).then(|| match guarantee.verdict {
            Verdict::Pass => Standing::Holds,
            Verdict::NotApplicable => Standing::NotApplicable,
            Verdict::HarnessError => Standing::Trouble,
            Verdict::Fail | Verdict::NotTestable if is_known() => Standing::Known,
            Verdict::NotTestable => Standing::Untested,
            Verdict::Fail => Standing::Broken,
        })
    }

    /// Checks that did not pass, the worst first, each once for all revisions in which the same was found. Checks that are
    /// not applicable come last, if `all` are wanted.
    pub fn findings(&self, all: bool) -> Vec<Finding<'_>> {
        let mut findings: Vec<Finding<'_>> = Vec::new();
        for (number, check) in self.checks.iter().enumerate() {
            let standing = check.standing();
            let is_remark = all && standing == Standing::NotApplicable && check.reason.is_some();
            if standing < Standing::Advice && !is_remark {
                continue;
            }
            let same = findings.iter_mut().find(|it| {
                (&it.check.id, it.check.standing(), &it.check.reason) == (&check.id, standing, &check.reason)
            });
            match same {
                Some(same) => same.revisions.push(&check.revision),
                None => findings.push(Finding {
                    number,
                    check,
                    revisions: vec![&check.revision],
                }),
            }
        }
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.check.standing()));
        findings
    }

    /// How many guarantees stand so.
    pub fn guarantees(&self, standing: Option<Standing>) -> usize {
        let stands = |guarantee: &&GuaranteeReport| self.standing(guarantee) == standing;
        self.guarantees.iter().filter(stands).count()
    }

    /// In a sentence without a full stop, how the guarantees stand and the checks went.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        for standing in Standing::ALL.map(Some).into_iter().skip(1).chain([None]) {
            let (many, words) = (self.guarantees(standing), Standing::of_guarantee(standing));
            if many > 0 {
                parts.push(format!("{many} {words}"));
            }
        }
        let (held, all) = (self.guarantees(Some(Standing::Holds)), self.guarantees.len());
        let others = parts.iter().map(|part| format!(", {part}")).collect::<String>();
        let counts = Standing::ALL.map(|standing| (self.count(standing), standing.words()));
        let counts = counts.iter().filter(|(many, _)| *many > 0);
        let counts: Vec<_> = counts.map(|(many, words)| format!("{many} {words}")).collect();
        let counts = if counts.is_empty() {
            "none".to_owned()
        } else {
            counts.join(", ")
        };
        format!("{held} of {all} guarantees hold{others}; checks: {counts}")
    }

    /// How many checks stand so.
    pub fn count(&self, standing: Standing) -> usize {
        self.checks
            .iter()
            .filter(|check| check.standing() == standing)
            .count()
    }

    /// The report in `json`.
    ///
    /// # Errors
    /// When it is none, or one of another version of the suite.
    pub fn parse(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| {
            format!("not a report of `tabellion-conformance run --json`, or of another version: {error}")
        })
    }
}

/// A time, as people read it.
pub fn time(seconds: f64) -> String {
    if seconds < 90.0 {
        return format!("{seconds:.1} s");
    }
    let whole = Duration::from_secs_f64(seconds).as_secs();
    format!("{} min {} s", whole / 60, whole % 60)
}
