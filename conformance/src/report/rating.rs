//! Standings: which verdicts fail a run, which are known failures, and the words for them.

use std::cmp::Reverse;

use tabellion_runtime::ContractSpec;

use super::{CheckReport, GuaranteeReport, Report, Verdict};
use crate::{
    check::{Profile, Severity, counted},
    checks,
    contracts::{DECLARED, PROMISED},
    judgement::Cause,
};

/// Meaning of a verdict for the run; a greater one is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rating {
    /// The requirement holds.
    Holds,
    /// The server lacks the feature that the check tests.
    NotApplicable,
    /// The requirement was not shown, but is only recommended.
    AdviceNotShown,
    /// The requirement is broken, but is only recommended.
    Advice,
    /// The requirement is broken or was not shown, and is listed as a known failure.
    Known,
    /// The requirement holds, but is listed as a known failure.
    Unexpected,
    /// The requirement was not shown.
    NotShown,
    /// The requirement is broken.
    Broken,
    /// The suite itself failed.
    Trouble,
}

impl Rating {
    /// All ratings, in the order of a summary.
    pub const ALL: [Self; 9] = [
        Self::Holds,
        Self::Broken,
        Self::NotShown,
        Self::Trouble,
        Self::Unexpected,
        Self::Known,
        Self::Advice,
        Self::AdviceNotShown,
        Self::NotApplicable,
    ];

    /// Returns the words for it, to follow a number.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "passed",
            Self::NotApplicable => "not applicable",
            Self::Advice => "warned",
            Self::AdviceNotShown => "recommended but not shown",
            Self::Known => "known to fail",
            Self::Unexpected => "passed unexpectedly",
            Self::NotShown => "not shown",
            Self::Broken => "failed",
            Self::Trouble => "in trouble",
        }
    }

    /// Returns the words for a guarantee's rating.
    pub const fn of_guarantee(rating: Option<Self>) -> &'static str {
        match rating {
            None => "not judged",
            Some(Self::Holds | Self::Unexpected | Self::Advice | Self::AdviceNotShown) => "holds",
            Some(Self::NotApplicable) => "not applicable",
            Some(Self::Known) => "known to fail",
            Some(Self::NotShown) => "not shown",
            Some(Self::Broken) => "broken",
            Some(Self::Trouble) => "in trouble",
        }
    }
}

/// Effect of a failure on the server's users; the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// Their data are lost or damaged.
    Loss,
    /// Data that should be out of reach are read or written.
    Escape,
    /// They get wrong information.
    WrongAnswer,
    /// Clients get no service: no answer, a broken message, or a refusal of a valid call.
    Protocol,
    /// They are worse off than they could be.
    Advice,
}

impl Harm {
    /// Returns the words for it, as a label.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Loss => "data lost",
            Self::Escape => "escape",
            Self::WrongAnswer => "wrong answer",
            Self::Protocol => "protocol",
            Self::Advice => "advice",
        }
    }
}

impl CheckReport {
    /// Returns the effect of the check's failure on users.
    pub fn harm(&self) -> Harm {
        match &*self.family {
            _ if self.severity == Severity::Should => Harm::Advice,
            _ if matches!(self.cause, Some(Cause::NoAnswer(_) | Cause::Ended(_) | Cause::Refusal(_))) => {
                Harm::Protocol
            }
            "atomic" | "concurrent" | "bytes" | "append" | "undo" | "versions" | "remote" | "store"
            | "rows" => Harm::Loss,
            // A file that blocks the server is not a way out.
            _ if self.id == "paths/special-files" => Harm::Protocol,
            "paths" | "policy" | "orgs" | "secrets" | "auth" | "gates" | "approval" => Harm::Escape,
            "wire" | "http" | "schema" | "errors" => Harm::Protocol,
            _ => Harm::WrongAnswer,
        }
    }

    /// Returns the meaning of the verdict for the run.
    pub fn rating(&self) -> Rating {
        match (self.verdict, &self.known) {
            (Verdict::HarnessError, _) => Rating::Trouble,
            (Verdict::NotApplicable, _) => Rating::NotApplicable,
            (Verdict::Pass, None) => Rating::Holds,
            (Verdict::Pass, Some(_)) => Rating::Unexpected,
            (Verdict::Fail | Verdict::NotShown, Some(_)) => Rating::Known,
            (Verdict::Fail, None) if self.severity == Severity::Should => Rating::Advice,
            (Verdict::NotShown, None) if self.severity == Severity::Should => Rating::AdviceNotShown,
            (Verdict::Fail, None) => Rating::Broken,
            (Verdict::NotShown, None) => Rating::NotShown,
        }
    }

    /// Returns the verdict in one word, as in the terminal's report.
    pub fn word(&self) -> &'static str {
        match self.rating() {
            Rating::Holds => "pass",
            Rating::NotApplicable => "n/a",
            Rating::AdviceNotShown => "not shown",
            Rating::Advice => "warn",
            Rating::Known => "known",
            Rating::Unexpected => "UNEXPECTED",
            Rating::NotShown => "NOT SHOWN",
            Rating::Broken => "FAIL",
            Rating::Trouble => "TROUBLE",
        }
    }
}

/// A check that did not pass in one or more revisions.
#[derive(Debug)]
pub struct Finding<'a> {
    /// Index in the report for the first revision.
    pub number: usize,
    /// Result in the first revision.
    pub check: &'a CheckReport,
    /// Revisions with the same result.
    pub revisions: Vec<&'a str>,
}

impl Finding<'_> {
    /// Returns the revisions, for people.
    pub fn revisions(&self) -> String {
        self.revisions.join(" and ")
    }
}

impl Report {
    /// Returns true if every check with severity `Must` passed, except known failures.
    pub fn is_passed(&self) -> bool {
        let mut ratings = self.checks.iter().map(CheckReport::rating);
        !ratings.any(|rating| rating >= Rating::NotShown)
    }

    /// Returns true if it did not pass, although no guarantee is broken: the run could not show enough.
    pub fn is_undecided(&self) -> bool {
        !self.is_passed() && self.count(Rating::Broken) == 0
    }

    /// Returns the rating of a guarantee; `None` if no check with severity `Must` tests it.
    pub fn rating(&self, guarantee: &GuaranteeReport) -> Option<Rating> {
        let is_known = || {
            let about = self
                .checks
                .iter()
                .filter(|check| check.guarantees.contains(&guarantee.id) && check.severity == Severity::Must);
            let failed = about.map(CheckReport::rating);
            let failed = failed.filter(|rating| *rating >= Rating::Known && *rating != Rating::Unexpected);
            failed.max() == Some(Rating::Known)
        };
        (guarantee.checks > 0).then(|| match guarantee.verdict {
            Verdict::Pass => Rating::Holds,
            Verdict::NotApplicable => Rating::NotApplicable,
            Verdict::HarnessError => Rating::Trouble,
            Verdict::Fail | Verdict::NotShown if is_known() => Rating::Known,
            Verdict::NotShown => Rating::NotShown,
            Verdict::Fail => Rating::Broken,
        })
    }

    /// Returns the checks that did not pass, the worst first, each once for all revisions with the same result. If
    /// `all`, checks that are not applicable come last.
    pub fn findings(&self, all: bool) -> Vec<Finding<'_>> {
        let mut findings: Vec<Finding<'_>> = Vec::new();
        for (number, check) in self.checks.iter().enumerate() {
            let rating = check.rating();
            let is_remark = all && rating == Rating::NotApplicable && check.reason.is_some();
            if rating < Rating::AdviceNotShown && !is_remark {
                continue;
            }
            let same = findings.iter_mut().find(|it| {
                (&it.check.id, it.check.rating(), &it.check.reason) == (&check.id, rating, &check.reason)
            });
            match same {
                Some(same) => same.revisions.push(&check.revision),
                None => findings.push(Finding { number, check, revisions: vec![&check.revision] }),
            }
        }
        findings.sort_by_key(|finding| (Reverse(finding.check.rating()), finding.check.harm()));
        findings
    }

    /// Returns the number of checks of a guarantee, and of those that break it, or tried it at all.
    pub fn effort(&self, guarantee: &GuaranteeReport) -> String {
        let s = if guarantee.checks == 1 { "" } else { "s" };
        match guarantee.broken {
            0 if guarantee.tried < guarantee.checks => {
                format!("{} of {} check{s} tried it", guarantee.tried, guarantee.checks)
            }
            0 => format!("{} check{s}", guarantee.checks),
            1 if guarantee.checks == 1 => "its only check fails".to_owned(),
            1 => format!("1 of {} checks fails", guarantee.checks),
            failing => format!("{failing} of {} checks fail", guarantee.checks),
        }
    }

    /// Returns the required checks that break a guarantee, in any revision.
    pub fn failing(&self, guarantee: &GuaranteeReport) -> impl Iterator<Item = &CheckReport> {
        let about = self.checks.iter().filter(|check| check.severity == Severity::Must);
        about.filter(|check| check.breaks(&guarantee.id))
    }

    /// Returns the note on the checks that a run has left out; empty if it is whole.
    pub fn left_out(&self) -> String {
        let many = self.not_run.len();
        let checks = counted(many, "check");
        match (many, self.profile) {
            (0, _) => String::new(),
            (_, Profile::Smoke) => format!(
                "a first impression: {checks} and most cases were not run; `--profile quick` runs them"
            ),
            (1, _) => format!("{checks} was not run; `--time-budget SECONDS` gives it time"),
            _ => format!("{checks} were not run; `--time-budget SECONDS` gives them time"),
        }
    }

    /// Returns the number of guarantees with this rating.
    pub fn guarantees(&self, rating: Option<Rating>) -> usize {
        let stands = |guarantee: &&GuaranteeReport| self.rating(guarantee) == rating;
        self.guarantees.iter().filter(stands).count()
    }

    /// Returns the number of promises that hold, and of all: the contract's guarantees, or, of a server that is judged by its declarations,
    /// the required checks that apply or were not run.
    pub fn promises(&self) -> (usize, usize) {
        if !self.guarantees.is_empty() {
            return (self.guarantees(Some(Rating::Holds)), self.guarantees.len());
        }
        let is_required = |check: &&CheckReport| {
            let counts = !matches!(check.rating(), Rating::NotApplicable | Rating::Known);
            check.severity == Severity::Must && counts
        };
        let required = || self.checks.iter().filter(is_required);
        let held = required().filter(|check| check.rating() == Rating::Holds);
        (held.count(), required().count() + self.required_left())
    }

    /// Returns the number of checks with severity `Must` that were not run.
    fn required_left(&self) -> usize {
        let id = if self.contract_id() == DECLARED { DECLARED } else { "" };
        let contract = ContractSpec { id, ..ContractSpec::EMPTY };
        let left = self.not_run.iter().filter_map(|id| checks::find(id));
        left.filter(|check| check.severity_in(&contract) == Severity::Must).count()
    }

    /// Returns the id of the contract.
    pub fn contract_id(&self) -> &str {
        self.contract.split(' ').next().unwrap_or_default()
    }

    /// Returns the basis of the judgement, for people: words that follow the server's name.
    pub fn judged_by(&self) -> String {
        match self.contract_id() {
            DECLARED => "by what it declares".to_owned(),
            PROMISED => "by what it promises".to_owned(),
            _ => format!("with {}", self.contract),
        }
    }

    /// Returns the word for its guarantees.
    pub fn guarantee(&self) -> &'static str {
        if self.contract_id() == PROMISED { "promise" } else { "guarantee" }
    }

    /// Returns a summary of guarantees and checks: a sentence without a full stop.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        for rating in Rating::ALL.map(Some).into_iter().skip(1).chain([None]) {
            let (many, words) = (self.guarantees(rating), Rating::of_guarantee(rating));
            if many > 0 {
                parts.push(format!("{many} {words}"));
            }
        }
        let (held, all) = (self.guarantees(Some(Rating::Holds)), self.guarantees.len());
        let others = parts.iter().map(|part| format!(", {part}")).collect::<String>();
        let counts = Rating::ALL.map(|rating| (self.count(rating), rating.words()));
        let counts = counts.iter().filter(|(many, _)| *many > 0);
        let mut counts: Vec<_> = counts.map(|(many, words)| format!("{many} {words}")).collect();
        if !self.not_run.is_empty() {
            counts.push(format!(
                "{} not run ({} of them required)",
                self.not_run.len(),
                self.required_left()
            ));
        }
        let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
        if all == 0 {
            return format!("checks: {counts}");
        }
        format!("{held} of {all} {}s hold{others}; checks: {counts}", self.guarantee())
    }

    /// Returns the number of checks with this rating.
    pub fn count(&self, rating: Rating) -> usize {
        self.checks.iter().filter(|check| check.rating() == rating).count()
    }
}
