//! Renders a report for a terminal: a line per check, the failures with their witnesses, the guarantees, and a summary.
//!
//! The text always has colours; `anstream` strips them if the output does not support them.

use std::{fmt::Write as _, path::Path};

use anstyle::{AnsiColor, Style};

use crate::{
    check::{Profile, Severity},
    judgement::Difference,
    replay,
    report::{
        CheckReport, Finding, Rating, Report, Witness,
        diff::{self, Line},
        steps, time,
        visible::{self, Piece},
    },
    sdk,
};

/// Number of steps to show: half of them from the beginning, half from the end.
const MAX_STEPS: usize = 16;
/// Length to which a step is cut, in characters.
const MAX_STEP_WIDTH: usize = 150;
/// Length of the longest diff, in lines.
const MAX_DIFF_LINES: usize = 40;

/// Additions to the report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// True to show only failures and the summary.
    pub quiet: bool,
    /// Command line to run the checks again.
    pub again: Option<&'a RerunCommand>,
    /// Folder with the saved failing cases.
    pub saved: Option<&'a Path>,
    /// Messages about outdated known failures.
    pub outdated: &'a [String],
    /// True if the run had no time for some checks, which are named.
    pub leaves_rest: bool,
}

/// Parts of a command line that repeats the run.
#[derive(Debug, Clone, Default)]
pub struct RerunCommand {
    /// Options of `run` that select the checks.
    pub what: Vec<String>,
    /// Options that select the server.
    pub options: Vec<String>,
    /// Command of the server, unless the options contain it.
    pub command: String,
}

impl RerunCommand {
    /// Returns the command line that runs these checks.
    fn run(&self, ids: &str) -> String {
        let only = format!("--only {ids}");
        self.line(&["run", &only], &self.what)
    }

    /// Returns the command line that replays a saved case.
    fn replay(&self, file: &Path) -> String {
        self.line(&["replay", &visible::line(&file.to_string_lossy())], &[])
    }

    fn line(&self, first: &[&str], what: &[String]) -> String {
        let mut words = vec!["tabellion-conformance"];
        words.extend(first);
        words.extend(what.iter().chain(&self.options).map(String::as_str));
        if !self.command.is_empty() {
            words.extend(["--", &self.command]);
        }
        words.join(" ")
    }
}

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const ODD: Style = AnsiColor::Yellow.on_default();
const EXPECTED: Style = AnsiColor::Green.on_default();
const FOUND: Style = AnsiColor::Red.on_default();

fn style(rating: Option<Rating>) -> Style {
    match rating {
        Some(Rating::Holds) => GOOD,
        Some(Rating::NotApplicable) | None => DIM,
        Some(Rating::AdviceNotShown | Rating::Advice | Rating::Known) => ODD,
        Some(Rating::Unexpected | Rating::NotShown | Rating::Broken | Rating::Trouble) => BAD,
    }
}

fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns the whole report.
pub fn whole(report: &Report, with: Extras<'_>) -> String {
    let lines = report.checks.iter().filter(|_| !with.quiet).map(check);
    let lines: String = lines.collect();
    lines + &rest(report, with)
}

/// Returns the line of a check.
pub fn check(check: &CheckReport) -> String {
    let (id, revision) = (visible::line(&check.id), visible::line(&check.revision));
    let verdict = paint(style(Some(check.rating())), &format!("{:10}", check.word()));
    let cases = if check.cases == 1 { "case " } else { "cases" };
    let effort = format!("{revision}  {:4} {cases}  {:>9}", check.cases, time(check.seconds));
    let why = match (check.rating(), &check.known, &check.reason) {
        (Rating::Known, Some(reason), _) | (Rating::NotApplicable, _, Some(reason)) => {
            format!("  {}", visible::cut(reason, 60))
        }
        _ => String::new(),
    };
    let effort = paint(DIM, &(effort + &why));
    format!("{verdict} {id:36}  {effort}\n")
}

/// Returns the report without the lines of the checks.
pub fn rest(report: &Report, with: Extras<'_>) -> String {
    let mut text = String::new();
    let mut findings = report.findings(false);
    findings.retain(|it| !matches!(it.check.rating(), Rating::Known | Rating::Unexpected));
    causes(&mut text, report);
    for finding in &findings {
        text.push('\n');
        add_failure(&mut text, finding.check, &finding.revisions(), with);
    }
    if !with.quiet {
        guarantees(&mut text, report);
    }
    text.push('\n');
    for sentence in with.outdated {
        let _ = writeln!(text, "{} {}", paint(BAD, "outdated known failure:"), visible::line(sentence));
    }
    let passed = report.is_passed() && report.count(Rating::Unexpected) == 0;
    let head = if passed {
        paint(GOOD, "PASSED")
    } else if report.is_undecided() {
        paint(ODD, "NOT SHOWN")
    } else {
        paint(BAD, "FAILED")
    };
    let server = visible::line(&report.server.name);
    let _ = writeln!(
        text,
        "{head} {} {}: {} ({})",
        paint(BOLD, &server),
        visible::line(&report.judged_by()),
        report.summary(),
        time(report.seconds)
    );
    if !report.not_run.is_empty() && (report.profile == Profile::Smoke || with.leaves_rest) {
        let _ = writeln!(
            text,
            "{} {}",
            paint(ODD, if report.profile == Profile::Smoke { "smoke:" } else { "left out:" }),
            report.left_out()
        );
        let _ = writeln!(text, "{} {}", paint(DIM, "not run:"), report.not_run.join(", "));
    }
    let mut excuses: Vec<_> = report
        .checks
        .iter()
        .filter_map(|check| check.known.as_deref())
        .filter(|known| known.starts_with(sdk::EXCUSE))
        .collect();
    excuses.sort_unstable();
    excuses.dedup();
    for excuse in excuses {
        let _ = writeln!(text, "{} {}", paint(ODD, "known:"), visible::line(excuse));
    }
    if let (Some(again), Some(ids)) = (with.again, ids(&findings)) {
        let _ = writeln!(text, "{} {}", paint(DIM, "again:"), again.run(&ids));
    }
    text
}

/// Appends the reasons for which several checks did not pass.
fn causes(text: &mut String, report: &Report) {
    let groups = report.causes();
    if !groups.is_empty() {
        let _ = writeln!(text, "\n{}", paint(BOLD, "causes"));
    }
    for group in groups {
        let many = paint(BAD, &format!("{:2} checks", group.checks.len()));
        let _ = writeln!(text, "{many}  {}", visible::line(&group.cause.sentence()));
        let ids: Vec<_> = group.checks.iter().map(|check| visible::line(&check.id)).collect();
        let _ = writeln!(text, "           {}", paint(DIM, &ids.join(", ")));
    }
}

/// Returns the ids of the checks that did not pass, in the form of `--only`.
fn ids(findings: &[Finding<'_>]) -> Option<String> {
    let must = findings.iter().map(|finding| finding.check);
    let must = must.filter(|check| check.rating() > Rating::Known);
    let mut ids: Vec<_> = must.map(|check| visible::line(&check.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    (!ids.is_empty()).then(|| ids.join(","))
}

/// Returns the description of a failed check.
pub fn failure(check: &CheckReport) -> String {
    let mut text = String::new();
    add_failure(&mut text, check, &check.revision, Extras::default());
    text
}

fn add_failure(text: &mut String, check: &CheckReport, revisions: &str, with: Extras<'_>) {
    let head = paint(style(Some(check.rating())), check.word());
    let harm = match check.rating() {
        _ if check.severity == Severity::Should => "  recommended, not required",
        Rating::Broken => &format!("  {}", check.harm().words()),
        _ => "",
    };
    let _ = writeln!(
        text,
        "{head}  {}  {}",
        paint(BOLD, &visible::line(&check.id)),
        paint(DIM, &format!("{}{harm}", visible::line(revisions)))
    );
    let _ = writeln!(text, "  {}", visible::line(&check.states));
    if !check.guarantees.is_empty() {
        if !check.breaks.is_empty() {
            field(text, "breaks", &check.breaks.join(", "));
        }
        let about = check.guarantees.iter().filter(|id| !check.breaks(id));
        let about: Vec<_> = about.map(String::as_str).collect();
        if !about.is_empty() {
            field(text, "about", &about.join(", "));
        }
    }
    let Some(first) = check.witnesses.first() else {
        field(text, "why", check.reason.as_deref().unwrap_or("no reason is given"));
        return;
    };
    witness(text, &first.case.name, first);
    if check.witnesses.len() > 1 {
        let others = check.witnesses[1..].iter().map(|witness| witness.case.name.as_str());
        field(text, "also in", &others.collect::<Vec<_>>().join("; "));
    }
    if let Some(folder) = with.saved {
        let file = folder.join(replay::file_name(check, 0));
        let again = with.again.map(|again| again.replay(&file));
        field(text, "replay", &again.unwrap_or_else(|| file.to_string_lossy().into_owned()));
    }
}

/// Returns the result of a case that ran on its own.
pub fn case(check: &str, revision: &str, states: &str, tried: &Witness) -> String {
    let (id, revision) = (visible::line(check), visible::line(revision));
    let mut text = format!("{}  {}\n", paint(BOLD, &id), paint(DIM, &revision));
    let _ = writeln!(text, "  {}", visible::line(states));
    witness(&mut text, &tried.case.name, tried);
    text
}

/// Returns a named remark on a case.
pub fn remark(name: &str, what: &str) -> String {
    let mut text = String::new();
    field(&mut text, name, what);
    text
}

/// Returns the verdict line of a case.
pub fn verdict(is_good: bool, what: &str) -> String {
    let style = if is_good { GOOD } else { BAD };
    paint(style, &visible::line(what)) + "\n"
}

fn witness(text: &mut String, case: &str, witness: &Witness) {
    field(text, "case", &visible::line(case));
    field(text, "found", &witness.failure.what);
    let steps = steps::condense(&witness.trace);
    for (number, step) in steps.iter().enumerate() {
        let (half, left) = (MAX_STEPS / 2, steps.len().saturating_sub(MAX_STEPS));
        if left > 0 && number == half {
            field(text, "", &format!("… {left} more …"));
        }
        if left == 0 || number < half || number >= steps.len() - half {
            let name = if number == 0 { "steps" } else { "" };
            let step = format!("{:2} {} {}", number + 1, step.by.sign(), visible::line(&step.what));
            field(text, name, &visible::cut(&step, MAX_STEP_WIDTH));
        }
    }
    witness.failure.differences.iter().for_each(|difference| differs(text, difference));
}

/// Appends a named part of a failure, with its lines aligned.
fn field(text: &mut String, name: &str, value: &str) {
    let value = visible::lines(value);
    for (number, line) in value.lines().enumerate() {
        let name = if number == 0 { name } else { "" };
        let _ = writeln!(text, "  {} {line}", paint(DIM, &format!("{name:8}")));
    }
}

fn differs(text: &mut String, difference: &Difference) {
    let path = visible::line(&difference.path);
    let sides = format!("{}  {}", paint(EXPECTED, "- expected"), paint(FOUND, "+ found"));
    let note = diff::remark(difference).map_or(sides, |remark| paint(DIM, remark));
    let _ = writeln!(text, "  {} {path}  {note}", paint(DIM, "document"));
    for line in diff::lines(difference, MAX_DIFF_LINES) {
        let shown = match line {
            Line::Gap(old, _) => paint(DIM, &format!("@@ line {old} @@")),
            Line::More(more) => paint(DIM, &format!("… {more} more lines …")),
            Line::NoNewline => paint(DIM, "\\ no newline at the end"),
            Line::Same(line) => format!("  {}", marked(line, Style::new())),
            Line::Expected(line) => format!("{EXPECTED}- {}{EXPECTED:#}", marked(line, EXPECTED)),
            Line::Found(line) => format!("{FOUND}+ {}{FOUND:#}", marked(line, FOUND)),
        };
        let _ = writeln!(text, "           {shown}");
    }
}

/// Returns a line of a document in a colour, with invisible characters as inverted escapes.
fn marked(line: &str, style: Style) -> String {
    let mark = style.invert();
    let pieces = visible::pieces(line);
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Mark(text) => format!("{mark}{text}{mark:#}{style}"),
    });
    shown.collect()
}

fn guarantees(text: &mut String, report: &Report) {
    let width = |of: &dyn Fn(usize) -> usize| (0..report.guarantees.len()).map(of).max().unwrap_or(0);
    let ids = width(&|at| report.guarantees[at].id.chars().count());
    let words = width(&|at| report.guarantees[at].text.chars().count());
    if ids > 0 {
        let _ = writeln!(text, "\n{}", paint(BOLD, &format!("{}s", report.guarantee())));
    }
    for guarantee in &report.guarantees {
        let rating = report.rating(guarantee);
        let verdict = paint(style(rating), &format!("{:14}", Rating::of_guarantee(rating)));
        let checks = paint(DIM, &report.effort(guarantee));
        let (id, says) = (visible::line(&guarantee.id), visible::line(&guarantee.text));
        let _ = writeln!(text, "{verdict} {id:ids$}  {says:words$}  {checks}");
    }
}
