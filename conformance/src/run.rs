//! Runs checks: selection, order, parallelism, and the shrinking of failing cases.

use std::{
    collections::HashMap,
    num::NonZero,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tabellion_runtime::Guarantee;

use crate::{
    Subject,
    check::{Bench, Case, Check, Profile},
    checks, contracts,
    era::Era,
    judgement::{Cause, Failure, Judgement, NotShown, Shows, Stop, not_shown},
    known::KnownFailures,
    pattern::covers,
    probe, promises,
    report::{CheckReport, Observer, Report, Verdict, Witness},
    trace::Trace,
};

/// After this many failures, the other cases of a check are skipped.
const MAX_FAILURES: usize = 3;
/// Maximum number of smaller cases that are tried to shrink a failing one.
const MAX_SHRINKS: usize = 200;
/// Time after which shrinking stops: with a server that hangs, each smaller case takes the whole answer timeout.
const SHRINK_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the default number of cases that run in parallel: one per available core.
pub fn available_jobs() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Selection of checks, and options for their run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of cases to run.
    pub profile: Profile,
    /// The seed of all random choices.
    pub seed: u64,
    /// Number of cases that run in parallel.
    pub jobs: usize,
    /// Ids or families of the checks to run; all if empty.
    pub only: Vec<String>,
    /// Ids or families of the checks to skip.
    pub skip: Vec<String>,
    /// The eras to run in; the last is the one that matters most.
    pub eras: Vec<Era>,
    /// True if all eras but the last run the wire checks only.
    pub rest_in_last_era: bool,
    /// After this time no new case starts.
    pub time_budget: Option<Duration>,
    /// KnownFailures failures.
    pub known: KnownFailures,
    /// True if a check ends with its first failing case, which is not shrunk: for callers that need verdicts only.
    pub verdicts_alone: bool,
    /// True if checks that the time does not reach are left out, and do not count as not shown.
    pub leaves_rest: bool,
}

impl Default for Options {
    /// All checks in both eras, in the quick profile, one case at a time, with seed 1.
    fn default() -> Self {
        Self {
            profile: Profile::Quick,
            seed: 1,
            jobs: 1,
            only: Vec::new(),
            skip: Vec::new(),
            eras: Era::ALL.to_vec(),
            rest_in_last_era: false,
            time_budget: None,
            known: KnownFailures::default(),
            verdicts_alone: false,
            leaves_rest: false,
        }
    }
}

/// Runs the checks of the subject's contract.
pub fn run(subject: &Subject, options: &Options, observer: &dyn Observer) -> Report {
    let since = Instant::now();
    let mut reports = Vec::new();
    let subject = &observed(subject, options);
    let plan = plan(subject, options);
    let end = options.time_budget.map(|budget| since + budget);
    for (done, (era, check)) in plan.iter().copied().enumerate() {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if options.leaves_rest && left.is_some_and(|left| left.is_zero()) {
            break;
        }
        // A declared contract may have thousands of tools, and a check a case for each: a check gets at most twice an equal share of the
        // time left. Checks of other contracts have no such limit.
        let share =
            left.map(|left| left.min(left * 2 / u32::try_from(plan.len() - done).unwrap_or(u32::MAX)));
        let share = share.filter(|_| contracts::is_declared(subject.contract));
        let subject = Subject { era, ..subject.clone() };
        let report = Runner {
            subject: &subject,
            options,
            check,
            observer,
            deadline: if options.leaves_rest { share.map(|share| Instant::now() + share) } else { end },
        }
        .run();
        observer.ends(&report);
        reports.push(report);
    }
    finished(subject, options, reports, since.elapsed())
}

/// Runs the checks of several subjects, each with its options, and returns their reports in the same order. `workers` checks run
/// side by side, of any subjects: no core waits for the last check of one. Time budgets don't apply.
pub fn run_all(runs: &[(Subject, Options)], workers: usize, observer: &dyn Observer) -> Vec<Report> {
    struct Started {
        subject: OnceLock<Subject>,
        reports: Mutex<Vec<(usize, CheckReport)>>,
    }
    let since = Instant::now();
    let started: Vec<_> =
        runs.iter().map(|_| Started { subject: OnceLock::new(), reports: Mutex::default() }).collect();
    let plans = runs.iter().enumerate().map(|(run, (subject, options))| {
        let checks = plan(subject, options).into_iter().enumerate();
        checks.map(move |(order, (era, check))| (run, order, era, check))
    });
    let left = Mutex::new(plans.flatten().collect::<Vec<_>>().into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((run, order, era, check)) = next() {
            let (subject, options) = &runs[run];
            let observed = started[run].subject.get_or_init(|| observed(subject, options));
            let report = Runner {
                subject: &Subject { era, ..observed.clone() },
                options,
                check,
                observer,
                deadline: None,
            }
            .run();
            observer.ends(&report);
            let mut reports = started[run].reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.push((order, report));
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work);
        }
        work();
    });
    let finished = runs.iter().zip(started).map(|((subject, options), started)| {
        let mut reports = started.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        reports.sort_by_key(|(order, _)| *order);
        let reports = reports.into_iter().map(|(_, report)| report).collect();
        finished(started.subject.get().unwrap_or(subject), options, reports, since.elapsed())
    });
    finished.collect()
}

/// Returns the subject with the observations of the last era.
fn observed(subject: &Subject, options: &Options) -> Subject {
    let era = options.eras.last().copied().unwrap_or(subject.era);
    probe::observed(&Subject { era, ..subject.clone() })
}

/// Returns the report of a run. Selected checks without a result did not run.
fn finished(subject: &Subject, options: &Options, reports: Vec<CheckReport>, took: Duration) -> Report {
    let left = selected(subject, options).filter(|check| !reports.iter().any(|it| it.id == check.id));
    let not_run = left.map(|check| check.id.to_owned()).collect();
    Report { not_run, ..Report::new(subject, options.profile, options.seed, reports, took) }
}

/// Returns the checks to run, in order.
pub fn plan(subject: &Subject, options: &Options) -> Vec<(Era, &'static Check)> {
    let last = options.eras.last();
    let is_asked_for = |(era, check): &(Era, &Check)| {
        !options.rest_in_last_era || Some(era) == last || is_about_the_wire(check)
    };
    let eras = options.eras.iter();
    let all = eras.flat_map(|era| selected(subject, options).map(|check| (*era, check)));
    let mut all: Vec<_> = all.filter(is_asked_for).collect();
    if options.profile == Profile::Smoke {
        let rank = |check: &Check| checks::smoke().position(|id| id == check.id);
        all.retain(|(_, check)| rank(check).is_some() || !options.only.is_empty());
        all.sort_by_key(|(_, check)| rank(check).unwrap_or(usize::MAX));
    } else if options.leaves_rest {
        // The required checks come first, of these the most telling ones, and then each family has its turn before the time is over.
        let mut turns: HashMap<&str, usize> = HashMap::new();
        all.sort_by_cached_key(|(_, check)| {
            let turn = turns.entry(check.family()).or_default();
            *turn += 1;
            let rank = checks::smoke().position(|id| id == check.id);
            (check.severity, rank.unwrap_or(usize::MAX), *turn)
        });
    }
    all
}

/// Returns the checks that `options` select.
pub fn selected<'a>(
    subject: &Subject,
    options: &'a Options,
) -> impl Iterator<Item = &'static Check> + use<'a> {
    let is_of = |patterns: &[String], id: &str| patterns.iter().any(|pattern| covers(pattern, id));
    checks::of_server(subject).filter(move |check| {
        (options.only.is_empty() || is_of(&options.only, check.id)) && !is_of(&options.skip, check.id)
    })
}

/// Returns true if a check is about messages, which differ between the eras.
fn is_about_the_wire(check: &Check) -> bool {
    matches!(check.family(), "wire" | checks::http::FAMILY)
}

/// Runs one case of a check by itself; returns its judgement and trace.
pub fn try_case(
    subject: &Subject,
    profile: Profile,
    seed: u64,
    check: &Check,
    case: &Case,
) -> (Judgement, Trace) {
    let bench = Bench { subject, profile, seed, trace: Trace::default() };
    let judgement = (check.judge)(&bench, case).map_err(|stop| owed(subject, check, stop));
    (judgement, bench.trace)
}

/// Judges by the server's obligations.
///
/// The contract's own tools must accept valid calls and answer, and every server must answer where the check is about answers: a
/// case that showed nothing is then a failure, which breaks no guarantee. Tools that an adapter maps have rules of their own, so
/// accepting a call is not a failure.
fn owed(subject: &Subject, check: &Check, stop: Stop) -> Stop {
    let shown = match stop {
        Stop::NotShown(shown) => shown,
        Stop::Fail(failure) if failure.cause == Some(Cause::Accepted) && !subject.is_native() => {
            return Stop::NotApplicable(failure.what);
        }
        Stop::Fail(failure) if !is_owed(subject, check, failure.shows) => {
            if failure.shows != Shows::Nothing {
                return Stop::NotApplicable(format!("not promised: {}", failure.what));
            }
            Box::new(NotShown { why: failure.what, cause: failure.cause })
        }
        stop => return stop,
    };
    let owes = match &shown.cause {
        Some(Cause::Refusal(_)) => subject.is_native(),
        // No promise is needed to survive a valid call.
        Some(Cause::Ended(_)) => true,
        Some(Cause::NoAnswer(_)) => {
            subject.is_native() || check.guarantees.is_empty() || is_about_the_wire(check)
        }
        Some(Cause::OwnState(_) | Cause::PartialRead | Cause::Accepted | Cause::Schema(_)) | None => false,
    };
    if !owes {
        return Stop::NotShown(shown);
    }
    Stop::Fail(Box::new(Failure {
        what: shown.why,
        differences: Vec::new(),
        shows: Shows::Nothing,
        cause: shown.cause,
    }))
}

/// Returns false if a failure that shows this breaks none of the server's promises.
fn is_owed(subject: &Subject, check: &Check, shows: Shows) -> bool {
    let mut judged = checks::judged(check, subject.contract).peekable();
    !promises::are_of(subject.contract)
        || judged.peek().is_none()
        || judged.any(|promise| shows.breaks(promise.kind))
}

/// One check's run.
struct Runner<'a> {
    subject: &'a Subject,
    options: &'a Options,
    check: &'static Check,
    observer: &'a dyn Observer,
    deadline: Option<Instant>,
}

impl Runner<'_> {
    fn run(&self) -> CheckReport {
        let since = Instant::now();
        if self.is_late() {
            return self.report(0, vec![self.not_reached(0, &Case::new("all cases", ()))], Duration::ZERO);
        }
        let (profile, seed) = (self.options.profile, self.options.seed);
        let bench = Bench { subject: self.subject, profile, seed, trace: Trace::default() };
        let cases = match (self.check.cases)(&bench) {
            Ok(cases) => cases,
            Err(stop) => {
                let case = Case::new("creating the cases", ());
                let stopped = vec![(0, case, stop, bench.trace)];
                return self.report(0, stopped, since.elapsed());
            }
        };
        let cases = match profile {
            Profile::Smoke => sample(cases),
            _ => cases,
        };
        self.observer.begins(self.check, self.subject.era, cases.len());
        let (tried, stopped) = self.try_all(&cases);
        self.report(tried, stopped, since.elapsed())
    }

    /// Runs the cases; returns how many have a result, and those that did not pass, in order.
    fn try_all(&self, cases: &[Case]) -> (usize, Vec<UnpassedCase>) {
        let leaves_rest = self.options.leaves_rest && self.deadline.is_some();
        let order = if leaves_rest { spread(cases.len()) } else { (0..cases.len()).collect() };
        let (next, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let stopped = Mutex::new(Vec::new());
        let most = if self.is_brief() { 1 } else { MAX_FAILURES };
        let work = || {
            while failures.load(Ordering::Relaxed) < most {
                let turn = next.load(Ordering::Relaxed);
                if leaves_rest && turn > 0 && self.is_late() {
                    break;
                }
                let turn = next.fetch_add(1, Ordering::Relaxed);
                let Some(&number) = order.get(turn) else { break };
                let case = &cases[number];
                if !leaves_rest && self.is_late() {
                    let mut stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
                    stopped.push(self.not_reached(number, case));
                    continue;
                }
                let (judgement, trace) = self.try_one(case);
                if let Err(stop) = judgement {
                    if matches!(stop, Stop::Fail(_)) {
                        failures.fetch_add(1, Ordering::Relaxed);
                    }
                    let mut stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
                    stopped.push((number, case.clone(), stop, trace));
                }
                self.observer.case_done(self.check);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.options.jobs.clamp(1, cases.len().max(1)) {
                scope.spawn(work);
            }
            work();
        });
        let mut stopped = stopped.into_inner().unwrap_or_else(PoisonError::into_inner);
        stopped.sort_by_key(|(number, ..)| *number);
        let tried = if leaves_rest { next.into_inner().min(cases.len()) } else { cases.len() };
        (tried, stopped)
    }

    /// Returns true if one failing case is enough, as it is.
    fn is_brief(&self) -> bool {
        self.options.verdicts_alone || self.options.profile == Profile::Smoke
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns the result of a case that the time budget did not reach.
    fn not_reached(&self, number: usize, case: &Case) -> UnpassedCase {
        let seconds = self.options.time_budget.unwrap_or_default().as_secs_f64();
        let stop = not_shown(format!("not reached within the time budget of {seconds} s"));
        (number, case.clone(), stop, Trace::default())
    }

    fn try_one(&self, case: &Case) -> (Judgement, Trace) {
        let (profile, seed) = (self.options.profile, self.options.seed);
        try_case(self.subject, profile, seed, self.check, case)
    }

    fn report(&self, cases: usize, stopped: Vec<UnpassedCase>, took: Duration) -> CheckReport {
        let mut verdict = Verdict::from_stops(cases, stopped.iter().map(|(_, _, stop, _)| stop));
        if verdict == Verdict::Pass && !self.options.leaves_rest && self.is_late() && !stopped.is_empty() {
            verdict = Verdict::NotShown;
        }
        // A reason in the server is more useful than one in this machine.
        let mut stops = stopped.iter().map(|(_, _, stop, _)| stop);
        let reason = stops.clone().find(|stop| stop.is_of_server()).or(stops.next()).cloned();
        let mut witnesses: Vec<_> = stopped
            .into_iter()
            .filter_map(|(_, case, stop, trace)| match stop {
                Stop::Fail(failure) => Some(Witness { case, failure: *failure, trace: trace.events() }),
                _ => None,
            })
            .collect();
        // A failure that breaks the guarantees is the one to shrink and to show first.
        witnesses.sort_by_key(|witness| witness.failure.shows == Shows::Nothing);
        if let Some(first) = witnesses.first_mut().filter(|_| !self.is_brief()) {
            self.make_smaller(first);
        }
        let shown: Vec<_> = witnesses.iter().map(|witness| witness.failure.shows).collect();
        let ids = |is: &dyn Fn(&Guarantee) -> bool| -> Vec<String> {
            let judged = checks::judged(self.check, self.subject.contract);
            judged.filter(|it| is(it)).map(|it| it.id.to_owned()).collect()
        };
        let known = self.options.known.reason(self.check.id, self.subject.era.revision());
        let mut report = CheckReport {
            known: known.map(str::to_owned),
            guarantees: ids(&|_| true),
            breaks: ids(&|guarantee| shown.iter().any(|shown| shown.breaks(guarantee.kind))),
            ..CheckReport::new(self.check, self.subject, verdict, cases, reason.as_ref(), witnesses, took)
        };
        if let (None, Verdict::Fail | Verdict::NotShown, Some(reason)) =
            (&report.known, verdict, &report.reason)
        {
            let sdk = self.subject.sdk;
            report.known = sdk.and_then(|sdk| sdk.excuse(self.check.id, reason));
        }
        report
    }

    /// Replaces the witness's case with a smaller one as long as one fails. Unanswered cases are left as they are: each try would take the
    /// whole timeout.
    fn make_smaller(&self, witness: &mut Witness) {
        if matches!(witness.failure.cause, Some(Cause::NoAnswer(_))) {
            return;
        }
        let (mut tries, since) = (0, Instant::now());
        'smaller: loop {
            for case in (self.check.shrink)(&witness.case) {
                tries += 1;
                if tries > MAX_SHRINKS || since.elapsed() > SHRINK_TIMEOUT || self.is_late() {
                    return;
                }
                if let (Err(Stop::Fail(failure)), trace) = self.try_one(&case)
                    && failure.shows == witness.failure.shows
                {
                    *witness = Witness { case, failure: *failure, trace: trace.events() };
                    continue 'smaller;
                }
            }
            return;
        }
    }
}

/// Returns the first and the last case: the kinds of cases of a check lie apart.
fn sample(mut cases: Vec<Case>) -> Vec<Case> {
    if cases.len() > 2 {
        cases.drain(1..cases.len() - 1);
    }
    cases
}

/// Returns the numbers of cases in an order of which every beginning is spread over all of them.
fn spread(cases: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..cases).collect();
    // Multiples of the golden ratio, of which only the part after the point counts.
    order.sort_by_key(|number| (*number as u32).wrapping_mul(0x9E37_79B9));
    order
}

/// A case that did not pass: number, case, reason, trace.
type UnpassedCase = (usize, Case, Stop, Trace);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_spread_order_is_from_everywhere() {
        for (cases, first) in [(0, &[][..]), (2, &[0, 1]), (100, &[0, 89, 34, 68, 13])] {
            let mut order = spread(cases);
            assert!(order.starts_with(first), "{order:?}");
            order.sort_unstable();
            assert!(order.into_iter().eq(0..cases));
        }
    }
}
