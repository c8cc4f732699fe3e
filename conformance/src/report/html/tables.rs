//! The matrices: guarantees by servers, and checks by servers.

use std::fmt::Write as _;

use super::{escape, failure, mark};
use crate::{
    check::Severity,
    report::{CheckReport, Standing, compare::Comparison},
};

pub(super) fn guarantees(html: &mut String, comparison: &Comparison<'_>) {
    html.push_str("<section id=\"guarantees\">\n<h2>Guarantees</h2>\n");
    open(html, "Guarantees by servers", "Guarantee", comparison);
    for row in &comparison.guarantees {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}<small>{}</small></th>",
            escape(row.text),
            escape(row.id)
        );
        for (standing, checks) in &row.cells {
            let s = if *checks == 1 { "" } else { "s" };
            let mark = mark(*standing, Standing::of_guarantee(*standing));
            let _ = write!(html, "<td>{mark}<small>{checks} check{s}</small></td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n</section>\n");
}

pub(super) fn checks(html: &mut String, comparison: &Comparison<'_>) {
    html.push_str("<section id=\"checks\">\n<h2>Checks</h2>\n");
    for family in &comparison.families {
        let name = escape(family.name);
        let _ = writeln!(html, "<h3>{name}</h3>");
        open(html, &format!("{name} checks by servers"), "Check", comparison);
        for row in &family.checks {
            let should = match row.severity {
                Severity::Should => " <em>should</em>",
                Severity::Must => "",
            };
            let _ = write!(
                html,
                "<tr><th scope=\"row\">{}<small><code>{}</code>{should}</small></th>",
                escape(row.states),
                escape(row.id)
            );
            for (server, cell) in row.cells.iter().enumerate() {
                let _ = write!(html, "<td>{}</td>", shown(server, cell));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody></table></div>\n");
    }
    html.push_str("</section>\n");
}

/// How a check stands with a server: once, or for each revision where they differ.
fn shown(server: usize, cell: &[(usize, &CheckReport)]) -> String {
    let Some((_, first)) = cell.first() else {
        return mark(None, "not run");
    };
    let is_same = cell.iter().all(|(_, check)| check.standing() == first.standing());
    let worst = cell.iter().max_by_key(|(_, check)| check.standing());
    let each: Vec<_> = match (is_same, worst) {
        (true, Some(worst)) => vec![*worst],
        _ => cell.to_vec(),
    };
    let mut text = String::new();
    for (number, check) in each {
        let word = match check.standing() {
            Standing::Trouble => "in trouble",
            Standing::Unexpected => "passes unexpectedly",
            Standing::Untested => "not testable",
            _ => check.word(),
        };
        let mut one = mark(Some(check.standing()), &word.to_lowercase());
        if failure::is_shown(check) {
            one = format!("<a href=\"#{}\">{one}</a>", failure::id(server, number));
        }
        text.push_str(&one);
        if !is_same {
            let _ = write!(text, "<small>{}</small>", escape(&check.revision));
        }
    }
    text
}

fn open(html: &mut String, label: &str, first: &str, comparison: &Comparison<'_>) {
    let _ = write!(
        html,
        "<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\"><table>\n<thead><tr>\
         <th scope=\"col\">{first}</th>"
    );
    for report in comparison.reports {
        let _ = write!(
            html,
            "<th scope=\"col\"><span>{}</span></th>",
            escape(&report.server.name)
        );
    }
    html.push_str("</tr></thead>\n<tbody>\n");
}
