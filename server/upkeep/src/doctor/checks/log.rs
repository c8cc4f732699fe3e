//! The log, and leftovers of a crash.

use chrono::Utc;
use tabellion_library::{Agreement, BackgroundRun, CacheState, Interrupted, Library};
use tabellion_runtime::Failure;

use super::super::{
    finding::{Finding, Fix},
    subject::Subject,
};
use crate::console::counted;

/// Accepted difference between clocks, in seconds.
pub(super) const SKEW: i64 = 120;
/// Maximum number of commits to read.
const MAX_COMMITS: usize = 20_000;

/// Returns the comparison of the log with its commits, which is made once.
pub(super) fn compared<'s>(subject: &'s Subject, library: &Library) -> &'s Result<Agreement, Failure> {
    let now = Utc::now().timestamp() + SKEW;
    subject.agreement.get_or_init(|| library.log_agreement(MAX_COMMITS, now))
}

/// Compares the log with its commits, and its cache with both.
pub(super) fn agreement(subject: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "log";
    let found = match compared(subject, library) {
        Ok(found) => found,
        Err(failure) => {
            return vec![Finding::red(ID, failure.to_string(), "`git fsck` says what is damaged")];
        }
    };
    let read = format!(
        "{} in {}{}",
        entries(found.entries),
        counted(found.commits, "commit"),
        if found.is_cut { ", the newest; reading these took a minute" } else { "" }
    );
    let mut findings = vec![match found.unnamed.first() {
        None => Finding::green(ID, format!("{read}; each names what its commit changed")),
        Some((commit, path)) => Finding::yellow(
            ID,
            format!(
                "{} more than the entry says: {commit} also changed `{path}`",
                commits_do(found.unnamed.len())
            ),
            "such a commit was amended or squashed; `git show` shows what it did, and `tabellion undo` takes back only what it \
             names",
        ),
    }];
    if let Some(commit) = found.too_large.first() {
        findings.push(Finding::yellow(
            ID,
            format!("{} too much to be compared, such as {commit}", commits_change(found.too_large.len())),
            "`git show --stat` shows what such a commit did",
        ));
    }
    match found.cache {
        CacheState::Missing | CacheState::Agrees | CacheState::InUse => {}
        CacheState::Damaged => findings.push(Finding::yellow(
            "log-cache",
            "the log's cache can't be read",
            "nothing is lost: it is not used, and the server rebuilds it",
        )),
        CacheState::Disagrees => findings.push(Finding::yellow(
            "log-cache",
            "the log's cache has entries that this branch does not have",
            "that is normal after a switch, reset or rebase: the next answer corrects it",
        )),
    }
    findings
}

fn entries(number: usize) -> String {
    if number == 1 { "1 entry".into() } else { format!("{number} entries") }
}

fn commits_change(number: usize) -> String {
    if number == 1 {
        "1 entry's commit changes".into()
    } else {
        format!("the commits of {number} entries change")
    }
}

fn commits_do(number: usize) -> String {
    if number == 1 { "1 commit did".into() } else { format!("commits did {number} times") }
}

/// Reports the effect that recovery would have.
pub(super) fn recovery(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "recovery";
    let next = "the next change does that first; so does starting the server";
    vec![match library.interrupted() {
        Ok(Interrupted::Nothing) => Finding::green(ID, "no change was interrupted"),
        Ok(Interrupted::Record) => {
            Finding::yellow(ID, "a change was interrupted before it began; its record is to be cleared", next)
                .with(Fix::Recover)
        }
        Ok(Interrupted::Completes(paths)) => Finding::yellow(
            ID,
            format!("a change of {} was interrupted and is to be completed", paths.join(", ")),
            next,
        )
        .with(Fix::Recover),
        Ok(Interrupted::Undoes(paths)) => Finding::yellow(
            ID,
            format!("a change of {} was interrupted and is to be undone", paths.join(", ")),
            next,
        )
        .with(Fix::Recover),
        Err(failure) => Finding::red(ID, failure.to_string(), "`git fsck` says what is damaged"),
    }]
}

/// Looks for files that transactions left.
pub(super) fn leftovers(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "leftovers";
    let found = library.leftovers();
    let mut findings = vec![];
    if !found.temporary.is_empty() {
        let shown = counted(found.temporary.len(), "temporary file");
        findings.push(
            Finding::yellow(ID, format!("{shown} of an interrupted change"), "the next change removes them")
                .with(Fix::Recover),
        );
    }
    if let Some(first) = found.late.first() {
        findings.push(Finding::yellow(
            "late-saves",
            format!(
                "{} came while Tabellion replaced a document, and was kept: `{}`",
                counted(found.late.len(), "save"),
                first.display()
            ),
            "compare it with the document, take over what you need, and delete it",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::green(ID, "none"));
    }
    findings
}

/// Looks for background work that ended the server, and is not tried again.
pub(super) fn failed_runs(_: &Subject, library: &Library) -> Vec<Finding> {
    let runs = library.failed_runs().into_iter();
    let findings = runs.map(|run| match run {
        BackgroundRun::LogCache => Finding::yellow(
            "log-cache-run",
            "writing the log's cache ended the server twice and is not tried again; the log is read from git, which is slower",
            "report it, with what `git count-objects -v` says; `tabellion doctor --fix` permits it again",
        )
        .with(Fix::PermitLogCache),
        BackgroundRun::Recovery => Finding::red(
            "recovery-run",
            "completing or undoing an interrupted change ended the server twice and is not tried again; until it is, changes \
             are refused",
            "report it; `tabellion doctor --fix` tries once more",
        )
        .with(Fix::Recover),
    });
    findings.collect()
}
