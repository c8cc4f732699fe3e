//! Renders the tables: guarantees by servers, and checks by servers.

use std::fmt::Write as _;

use super::{
    failure,
    text::{escape, mark, prose},
};
use crate::{
    check::Severity,
    contracts::PROMISED,
    report::{CheckReport, Finding, GuaranteeReport, Rating, Report, compare::Comparison},
};

/// Number of servers above which the table scrolls sideways on a phone.
const MAX_NARROW_COLUMNS: usize = 4;

pub(super) fn guarantees(html: &mut String, comparison: &Comparison<'_>) {
    html.push_str("<section id=\"guarantees\" aria-label=\"Guarantees by servers\">\n");
    let title = match comparison.reports[0].contract_id() {
        PROMISED => "Promise",
        _ => "Guarantee",
    };
    open(html, title, comparison, true);
    html.push_str("<tbody>\n");
    for row in &comparison.guarantees {
        let _ = write!(
            html,
            "<tr id=\"g-{0}\"><th scope=\"row\">{1}<small>{0}</small></th>",
            escape(row.id),
            prose(row.text)
        );
        for (server, (rating, guarantee)) in row.cells.iter().enumerate() {
            let mark = mark(*rating, Rating::of_guarantee(*rating));
            let cell = match guarantee {
                Some(guarantee) => effort(&mark, &comparison.reports[server], server, guarantee),
                None => mark,
            };
            let _ = write!(html, "<td>{cell}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    legend(html, comparison);
    html.push_str("</section>\n");
}

/// Returns the rating of a guarantee and the number of its failing checks, with links to them.
fn effort(mark: &str, report: &Report, server: usize, guarantee: &GuaranteeReport) -> String {
    let words = escape(&report.effort(guarantee)).into_owned();
    let is_failing =
        |finding: &Finding<'_>| report.failing(guarantee).any(|check| std::ptr::eq(check, finding.check));
    let mut findings = report.findings(true);
    findings.retain(is_failing);
    let Some(first) = findings.first() else {
        return format!("{mark}<small>{words}</small>");
    };
    let links = findings.iter().map(|finding| {
        let (id, name) = (failure::id(server, finding.number), escape(&finding.check.id));
        format!("<a href=\"#{id}\"><code>{name}</code></a>")
    });
    let first = failure::id(server, first.number);
    let links = links.collect::<Vec<_>>().join(" ");
    format!("<a href=\"#{first}\">{mark}</a><details><summary>{words}</summary>{links}</details>")
}

/// Appends the legend of the icons, for narrow screens.
fn legend(html: &mut String, comparison: &Comparison<'_>) {
    let cells = comparison.guarantees.iter().flat_map(|row| &row.cells);
    let mut ratings: Vec<_> = cells.map(|(rating, _)| *rating).collect();
    ratings.sort_unstable();
    ratings.dedup_by_key(|rating| Rating::of_guarantee(*rating));
    let marks = ratings.iter().map(|rating| mark(*rating, Rating::of_guarantee(*rating)));
    let _ = writeln!(html, "<p class=\"legend\" aria-hidden=\"true\">{}</p>", marks.collect::<String>());
}

pub(super) fn checks(html: &mut String, comparison: &Comparison<'_>) {
    html.push_str("<section id=\"checks\">\n<h2>Checks</h2>\n");
    open(html, "Check", comparison, false);
    let columns = comparison.reports.len() + 1;
    for family in &comparison.families {
        let name = escape(family.name);
        let _ = writeln!(
            html,
            "<tbody><tr class=\"family\"><th scope=\"rowgroup\" colspan=\"{columns}\"><h3>{name}</h3></th></tr>"
        );
        for row in &family.checks {
            let should = match row.severity {
                Severity::Should => " <em>should</em>",
                Severity::Must => "",
            };
            let _ = write!(
                html,
                "<tr><th scope=\"row\">{}<small><code>{}</code>{should}</small></th>",
                prose(row.states),
                escape(row.id)
            );
            for (server, cell) in row.cells.iter().enumerate() {
                let _ = write!(html, "<td>{}</td>", ratings(comparison, server, cell));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n");
    }
    html.push_str("</table></div>\n</section>\n");
}

/// Returns the rating of a check for a server: once, or for each revision if they differ.
fn ratings(comparison: &Comparison<'_>, server: usize, cell: &[(usize, &CheckReport)]) -> String {
    let Some((_, first)) = cell.first() else {
        return mark(None, "not run");
    };
    let is_same = cell.iter().all(|(_, check)| check.rating() == first.rating());
    let findings = comparison.reports[server].findings(true);
    let mut text = String::new();
    for (_, check) in if is_same { &cell[..1] } else { cell } {
        if !is_same {
            let _ = write!(text, "<small>{}</small>", escape(&check.revision));
        }
        let word = match check.rating() {
            Rating::Trouble => "in trouble",
            Rating::Unexpected => "passes unexpectedly",
            Rating::NotShown => "not shown",
            _ => check.word(),
        };
        let one = mark(Some(check.rating()), &word.to_lowercase());
        let finding = findings.iter().find(|it| {
            it.check.id == check.id
                && it.check.reason == check.reason
                && it.revisions.contains(&&*check.revision)
        });
        match finding {
            Some(it) => {
                let _ = write!(text, "<a href=\"#{}\">{one}</a>", failure::id(server, it.number));
            }
            None => text.push_str(&one),
        }
    }
    text
}

fn open(html: &mut String, first: &str, comparison: &Comparison<'_>, with_scores: bool) {
    // A scrollable region must be focusable by keyboard.
    let attributes = if comparison.reports.len() > MAX_NARROW_COLUMNS {
        "class=\"table wide\" tabindex=\"0\""
    } else {
        "class=\"table\""
    };
    let _ = write!(
        html,
        "<div {attributes} role=\"region\" aria-label=\"{first}s by servers\"><table>\n<thead><tr>\
         <th scope=\"col\">{first}</th>"
    );
    for report in comparison.reports {
        let _ = write!(html, "<th scope=\"col\"><span>{}</span>", escape(&report.server.name));
        if with_scores {
            html.push_str(&super::text::score(report));
        }
        html.push_str("</th>");
    }
    html.push_str("</tr></thead>\n");
}
