//! Renders the checks that did not pass: the failure, and in details the steps, the bytes and the messages.

use std::{collections::BTreeSet, fmt::Write as _};

use super::text::{escape, mark, prose};
use crate::{
    check::Severity,
    judgement::Difference,
    report::{
        CheckReport, Rating, Report, Witness,
        causes::CauseGroup,
        compare::{Comparison, GuaranteeRow},
        diff::{self, Line},
        steps,
        visible::{self, Piece},
    },
    trace::Event,
};

/// Length of the longest diff, in lines.
const MAX_DIFF_LINES: usize = 400;

/// Returns the id of a check's element in the page.
pub(super) fn id(server: usize, number: usize) -> String {
    format!("f{server}-{number}")
}

pub(super) fn failures(html: &mut String, comparison: &Comparison<'_>) {
    let has_some = |report: &Report| !report.findings(true).is_empty();
    if !comparison.reports.iter().any(has_some) {
        return;
    }
    html.push_str("<section id=\"failures\">\n<h2>What did not pass</h2>\n");
    for (server, report) in comparison.reports.iter().enumerate() {
        let shown = report.findings(true);
        if !shown.is_empty() {
            let _ = writeln!(html, "<h3>{}</h3>", escape(&report.server.name));
        }
        for finding in shown {
            let id = id(server, finding.number);
            failure(html, &id, finding.check, &finding.revisions(), &comparison.guarantees);
        }
    }
    html.push_str("</section>\n");
}

/// Appends the section with the reasons for which several checks did not pass.
pub(super) fn causes(html: &mut String, comparison: &Comparison<'_>) {
    let reports = comparison.reports;
    if reports.iter().all(|report| report.causes().is_empty()) {
        return;
    }
    html.push_str("<section id=\"causes\">\n<h2>Causes</h2>\n");
    for (server, report) in reports.iter().enumerate() {
        let groups = report.causes();
        if groups.is_empty() {
            continue;
        }
        if reports.len() > 1 {
            let _ = writeln!(html, "<h3>{}</h3>", escape(&report.server.name));
        }
        causes_of(html, server, report, groups);
    }
    html.push_str("</section>\n");
}

/// Appends the reasons for which several checks of a server did not pass, with links to these.
fn causes_of(html: &mut String, server: usize, report: &Report, groups: Vec<CauseGroup<'_>>) {
    html.push_str("<ul class=\"causes\">\n");
    for group in groups {
        let number = |id: &str| {
            report.checks.iter().position(|check| check.id == id && check.cause.as_ref() == Some(group.cause))
        };
        let links = group.checks.iter().map(|check| {
            let id = self::id(server, number(&check.id).unwrap_or_default());
            format!("<a href=\"#{id}\"><code>{}</code></a>", escape(&check.id))
        });
        let links = links.collect::<Vec<_>>().join(" ");
        let (many, sentence) = (group.checks.len(), prose(&group.cause.sentence()));
        let _ = writeln!(html, "<li><b>{many} checks</b> {sentence}<small>{links}</small></li>");
    }
    html.push_str("</ul>\n");
}

/// Returns the contract's guarantees that a check breaks, and those that it is about otherwise, with links to their rows.
fn about(check: &CheckReport, guarantees: &[GuaranteeRow<'_>]) -> String {
    let sentence = |name: &str, breaks: bool| {
        let is_broken = |id: &str| check.severity == Severity::Must && check.breaks(id);
        let is_about = |row: &&GuaranteeRow<'_>| {
            check.guarantees.iter().any(|id| id == row.id) && is_broken(row.id) == breaks
        };
        let rows = guarantees.iter().filter(is_about);
        let links = rows.map(|row| format!("<a href=\"#g-{}\">{}</a>", escape(row.id), prose(row.text)));
        let links: Vec<_> = links.collect();
        (!links.is_empty()).then(|| format!("{name}: {}", links.join("; ")))
    };
    let both = [sentence("Breaks", true), sentence("About", false)];
    both.into_iter().flatten().collect::<Vec<_>>().join(". ")
}

/// Returns the documents whose bytes differ, for people.
fn files(check: &CheckReport) -> Option<String> {
    let witness = check.witnesses.first()?;
    let paths = witness.failure.differences.iter().map(|it| it.path.as_str());
    let paths: BTreeSet<_> = paths.collect();
    let paths: Vec<_> =
        paths.into_iter().map(|path| format!("<code>{}</code>", escape(&visible::line(path)))).collect();
    (!paths.is_empty()).then(|| paths.join(", "))
}

fn failure(
    html: &mut String,
    id: &str,
    check: &CheckReport,
    revisions: &str,
    guarantees: &[GuaranteeRow<'_>],
) {
    let rating = check.rating();
    let minor = if rating == Rating::NotApplicable { " minor" } else { "" };
    let _ = write!(
        html,
        "<article class=\"failure{minor}\" id=\"{id}\">\n<h4>{}<code>{}</code><small>MCP {}, {}</small></h4>\n",
        mark(Some(rating), &check.word().to_lowercase()),
        escape(&check.id),
        escape(revisions),
        check.harm().words()
    );
    if rating == Rating::NotApplicable {
        let _ = writeln!(html, "<p>{}</p>\n</article>", escape(check.reason.as_deref().unwrap_or_default()));
        return;
    }
    let _ = writeln!(html, "<p class=\"states\">{}</p>", escape(&check.states));
    if !check.guarantees.is_empty() {
        let _ = writeln!(html, "<p class=\"quiet\">{}</p>", about(check, guarantees));
    }
    match (rating, &check.known) {
        (Rating::Known, Some(why)) => {
            let _ = writeln!(html, "<p class=\"note\">Known to fail: {}</p>", escape(why));
        }
        (Rating::Unexpected, _) => {
            html.push_str("<p class=\"note\">It passes, but is listed as a known failure.</p>\n");
        }
        (Rating::Advice | Rating::AdviceNotShown, _) => {
            html.push_str("<p class=\"note\">Recommended, not required.</p>\n")
        }
        _ => {}
    }
    if let Some(reason) = &check.reason {
        let _ = writeln!(html, "<p class=\"what\">{}</p>", prose(reason));
    }
    if let Some(files) = files(check) {
        let _ = writeln!(html, "<p class=\"quiet\">File: {files}</p>");
    }
    if let Some(first) = check.witnesses.first() {
        witness(html, first);
    }
    if check.witnesses.len() > 1 {
        let others = check.witnesses[1..].iter().map(|witness| escape(&witness.case.name));
        let others = others.collect::<Vec<_>>().join("; ");
        let _ = writeln!(html, "<p class=\"quiet\">Also in: {others}</p>");
    }
    html.push_str("</article>\n");
}

fn witness(html: &mut String, witness: &Witness) {
    let _ = writeln!(html, "<p class=\"quiet\">Case: {}</p>", escape(&witness.case.name));
    let steps = steps::condense(&witness.trace);
    if !steps.is_empty() {
        let _ = write!(
            html,
            "<details><summary>Steps <small>{}</small></summary><ol class=\"steps\">",
            steps.len()
        );
        for step in &steps {
            let what = visible::line(&step.what);
            let sign = step.by.sign();
            let _ = write!(html, "<li><b>{sign}</b><span>{}</span></li>", escape(&what));
        }
        html.push_str("</ol></details>\n");
    }
    witness.failure.differences.iter().for_each(|difference| differs(html, difference));
    let wire = witness.trace.iter().filter_map(|event| match event {
        Event::Sent(line) => Some(("→", line)),
        Event::Received(line) => Some(("←", line)),
        Event::Did(_) => None,
    });
    let wire: Vec<_> = wire.collect();
    if !wire.is_empty() {
        let _ = write!(
            html,
            "<details class=\"said\"><summary>Wire <small>{}</small></summary><ol class=\"wire\">",
            wire.len()
        );
        for (sign, line) in wire {
            let line = visible::line(line);
            let _ = write!(html, "<li><b>{sign}</b><code>{}</code></li>", escape(&line));
        }
        html.push_str("</ol></details>\n");
    }
}

fn differs(html: &mut String, difference: &Difference) {
    let legend = "<span class=\"expected\">− expected</span> <span class=\"found\">+ found</span>";
    let _ = write!(
        html,
        "<details><summary>Bytes of <code>{}</code> <small>{}</small></summary><pre class=\"diff\">",
        escape(&visible::line(&difference.path)),
        diff::remark(difference).unwrap_or(legend)
    );
    for line in diff::lines(difference, MAX_DIFF_LINES) {
        let _ = match line {
            Line::Gap(old, _) => writeln!(html, "<span class=\"gap\">from line {old}</span>"),
            Line::More(more) => writeln!(html, "<span class=\"gap\">{more} more lines</span>"),
            Line::NoNewline => writeln!(html, "<span class=\"gap\">no newline at the end</span>"),
            Line::Same(line) => writeln!(html, "<span>  {}</span>", marked(line)),
            Line::Expected(line) => writeln!(html, "<span class=\"expected\">− {}</span>", marked(line)),
            Line::Found(line) => writeln!(html, "<span class=\"found\">+ {}</span>", marked(line)),
        };
    }
    html.push_str("</pre></details>\n");
}

/// Returns a line of a document, with invisible characters marked.
fn marked(line: &str) -> String {
    let pieces = visible::pieces(line);
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => escape(text).into_owned(),
        Piece::Mark(text) => format!("<i>{}</i>", escape(text)),
    });
    shown.collect()
}
