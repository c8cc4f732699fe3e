//! Renders one report, or several side by side, as Markdown for a comment on a pull request.

use std::fmt::Write as _;

use crate::{
    check::Severity,
    report::{
        CheckReport, Rating, Report, Witness,
        compare::Comparison,
        diff::{self, Line},
        steps, time,
        visible::{self, Piece},
    },
};

/// Size after which no more failures are added, in bytes: comments are limited to 65,536 characters.
const MAX_BYTES: usize = 48_000;
/// The same of one server's failures.
const MAX_SERVER_BYTES: usize = 6_000;
/// Length of the longest block, in characters.
const MAX_BLOCK_CHARS: usize = 3_000;
/// Length of the longest diff, in lines.
const MAX_DIFF_LINES: usize = 60;

/// Returns the document.
pub fn markdown(comparison: &Comparison<'_>) -> String {
    let mut text = String::new();
    let title = match comparison.subject() {
        (names, versions) if versions.is_empty() => format!("of {}", plain(&names)),
        (contract, versions) => format!("with {} {}", plain(&contract), plain(&versions)),
    };
    let _ = writeln!(text, "## Conformance {title}\n");
    for report in comparison.reports {
        let sign = if report.is_passed() {
            "✅"
        } else if report.is_undecided() {
            "❔"
        } else {
            "❌"
        };
        let (name, summary) = (plain(&report.server.name), report.summary());
        let (profile, seed) = (report.profile.name(), report.seed);
        let _ = writeln!(
            text,
            "{sign} **{name}**: {summary} ({profile}, seed {seed}, {})\n",
            time(report.seconds)
        );
        remarks(&mut text, report);
    }
    if !comparison.guarantees.is_empty() {
        guarantees(&mut text, comparison);
    }
    if comparison.reports.len() > 1 {
        checks(&mut text, comparison);
    }
    let is_one = comparison.reports.len() == 1;
    for report in comparison.reports {
        causes(&mut text, report, is_one);
        failures(&mut text, report, is_one);
    }
    text
}

/// Appends remarks on the run for the report's reader: disregarded files, and checks that were not run.
fn remarks(text: &mut String, report: &Report) {
    if !report.server.own.is_empty() {
        let globs: Vec<_> = report.server.own.iter().map(|glob| code(glob)).collect();
        let _ = writeln!(text, "Disregarded as the server's own state: {}.\n", globs.join(", "));
    }
    let left_out = report.left_out();
    if !left_out.is_empty() {
        let ids: Vec<_> = report.not_run.iter().map(|id| code(id)).collect();
        let _ = writeln!(
            text,
            "<details><summary>{}</summary>\n\n{}\n\n</details>\n",
            plain(&left_out),
            ids.join(", ")
        );
    }
}

fn sign(rating: Option<Rating>) -> &'static str {
    match rating {
        Some(Rating::Holds) => "✅",
        Some(Rating::Broken) => "❌",
        Some(Rating::NotShown) => "❓",
        Some(Rating::Trouble) => "💥",
        Some(Rating::Unexpected) => "❗",
        Some(Rating::Known) => "☑️",
        Some(Rating::Advice) => "⚠️",
        Some(Rating::AdviceNotShown) => "❔",
        Some(Rating::NotApplicable) | None => "➖",
    }
}

fn head(text: &mut String, first: &str, comparison: &Comparison<'_>) {
    let names: String =
        comparison.reports.iter().map(|report| format!(" {} |", plain(&report.server.name))).collect();
    let _ = writeln!(text, "| {first} |{names}\n|---|{}", ":-:|".repeat(comparison.reports.len()));
}

fn guarantees(text: &mut String, comparison: &Comparison<'_>) {
    head(text, comparison.reports[0].guarantee(), comparison);
    for row in &comparison.guarantees {
        let _ = write!(text, "| {} <sub>{}</sub> |", plain(row.text), plain(row.id));
        for (report, (rating, guarantee)) in comparison.reports.iter().zip(&row.cells) {
            let (sign, word) = (sign(*rating), Rating::of_guarantee(*rating));
            let effort = guarantee.map(|it| format!(" <sub>{}</sub>", report.effort(it)));
            let _ = write!(text, " {sign} {word}{} |", effort.unwrap_or_default());
        }
        text.push('\n');
    }
    text.push('\n');
}

fn checks(text: &mut String, comparison: &Comparison<'_>) {
    text.push_str("<details><summary>Checks</summary>\n\n");
    head(text, "check", comparison);
    for row in comparison.families.iter().flat_map(|family| &family.checks) {
        let should = if row.severity == Severity::Should { " (should)" } else { "" };
        let _ = write!(text, "| {}{should} |", code(row.id));
        for cell in &row.cells {
            let worst = cell.iter().map(|(_, check)| check).max_by_key(|check| check.rating());
            let shown = worst.map_or("➖ not run".to_owned(), |check| {
                format!("{} {}", sign(Some(check.rating())), check.word().to_lowercase())
            });
            let _ = write!(text, " {shown} |");
        }
        text.push('\n');
    }
    text.push_str("\n</details>\n\n");
}

fn causes(text: &mut String, report: &Report, is_one: bool) {
    let groups = report.causes();
    if groups.is_empty() {
        return;
    }
    let of = if is_one { String::new() } else { format!(" for {}", plain(&report.server.name)) };
    let _ = writeln!(text, "Causes{of}:\n");
    for group in groups {
        let ids: Vec<_> = group.checks.iter().map(|check| code(&check.id)).collect();
        let (many, sentence) = (ids.len(), plain(&group.cause.sentence()));
        let _ = writeln!(text, "- **{many} checks**: {sentence} ({})", ids.join(", "));
    }
    text.push('\n');
}

fn failures(text: &mut String, report: &Report, is_one: bool) {
    let begun = text.len();
    let shown = report.findings(false);
    if !shown.is_empty() && !is_one {
        let _ = writeln!(text, "### {}\n", plain(&report.server.name));
    }
    for (number, finding) in shown.iter().enumerate() {
        if text.len() > MAX_BYTES || text.len() - begun > MAX_SERVER_BYTES {
            let more = shown.len() - number;
            let _ = writeln!(text, "… and {more} more.\n");
            return;
        }
        failure(text, finding.check, &finding.revisions());
    }
}

fn failure(text: &mut String, check: &CheckReport, revisions: &str) {
    let sign = sign(Some(check.rating()));
    let reason = check.reason.as_deref().unwrap_or("it passes");
    let _ = writeln!(
        text,
        "<details><summary>{sign} {} {} in {}: {}</summary>\n",
        check.harm().words(),
        code(&check.id),
        plain(revisions),
        code(&visible::cut(reason, 160))
    );
    let _ = writeln!(text, "{}\n", plain(&check.states));
    if !check.guarantees.is_empty() {
        for (name, breaks) in [("Breaks", true), ("About", false)] {
            let ids = check.guarantees.iter().filter(|id| check.breaks(id) == breaks);
            let ids: Vec<_> = ids.map(|id| code(id)).collect();
            if !ids.is_empty() {
                let _ = writeln!(text, "{name}: {}\n", ids.join(", "));
            }
        }
    }
    match (check.rating(), &check.known) {
        (Rating::Known, Some(why)) => {
            let _ = writeln!(text, "Known to fail: {}\n", code(why));
        }
        (Rating::Unexpected, _) => text.push_str("It passes, but is listed as a known failure.\n\n"),
        _ => {}
    }
    match check.witnesses.first() {
        Some(first) => witness(text, first),
        None if check.reason.is_some() => fence(text, "", reason),
        None => {}
    }
    text.push_str("</details>\n\n");
}

fn witness(text: &mut String, witness: &Witness) {
    let _ = writeln!(text, "Case {}:\n", code(&witness.case.name));
    fence(text, "", &witness.failure.what);
    let steps: Vec<_> = steps::condense(&witness.trace)
        .iter()
        .enumerate()
        .map(|(number, step)| {
            format!("{:2} {} {}", number + 1, step.by.sign(), visible::cut(&step.what, 200))
        })
        .collect();
    if !steps.is_empty() {
        fence(text, "", &steps.join("\n"));
    }
    for difference in &witness.failure.differences {
        let remark = diff::remark(difference).unwrap_or("`-` expected, `+` found");
        let _ = writeln!(text, "{}: {remark}\n", code(&difference.path));
        let lines = diff::lines(difference, MAX_DIFF_LINES);
        let lines: Vec<_> = lines.iter().map(line).collect();
        fence(text, "diff", &lines.join("\n"));
    }
}

fn line(line: &Line<'_>) -> String {
    let shown = |sign: &str, line: &str| {
        let pieces = visible::pieces(line);
        format!("{sign}{}", pieces.iter().map(Piece::as_str).collect::<String>())
    };
    match line {
        Line::Gap(old, new) => format!("@@ -{old} +{new} @@"),
        Line::Same(line) => shown(" ", line),
        Line::Expected(line) => shown("-", line),
        Line::Found(line) => shown("+", line),
        Line::NoNewline => "\\ no newline at the end".to_owned(),
        Line::More(more) => format!("… {more} more lines …"),
    }
}

/// Appends a code block with a fence longer than any in `content`.
fn fence(text: &mut String, language: &str, content: &str) {
    let content = visible::lines(content);
    let content = match content.char_indices().nth(MAX_BLOCK_CHARS) {
        Some((at, _)) => format!("{}…", &content[..at]),
        None => content.into_owned(),
    };
    let runs = content.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(runs.max(2) + 1);
    let _ = writeln!(text, "{fence}{language}\n{content}\n{fence}\n");
}

/// Returns text as one line, with Markdown and HTML escaped.
fn plain(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + 16);
    for it in visible::line(text).chars() {
        match it {
            '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '&' | '@' | '~' | ':' | '^'
            | '$' | '\\' => {
                let _ = write!(all, "&#{};", u32::from(it));
            }
            it => all.push(it),
        }
    }
    all
}

/// Returns the text as code, in which mentions and links have no effect.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}
