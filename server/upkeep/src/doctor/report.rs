//! Shows the findings.

use std::{io, path::Path};

use anstyle::Style;
use serde_json::{Value, json};

use super::finding::{Finding, Status};
use crate::{
    console::counted,
    page::{self, ADDED, FAINT, Output, Page, REMOVED, STRONG, WARNING},
};

/// Version of the JSON form. It increases if a member changes or disappears.
const FORM: u32 = 1;
/// Columns before the text of a finding.
const MARGIN: usize = 20;
/// Width of a line, in columns.
const WIDTH: usize = 80;

/// Shows the findings about a library's folder or a data folder, as text or JSON.
pub(super) fn show(
    what: &'static str,
    folder: &Path,
    findings: &[Finding],
    output: Output,
) -> io::Result<()> {
    if output.json {
        return page::json(&as_json(what, folder, findings));
    }
    let mut page = Page::new(output);
    for finding in findings {
        add(&mut page, finding);
    }
    let of = |status| findings.iter().filter(move |finding| finding.status == status).count();
    let (red, yellow) = (of(Status::Red), of(Status::Yellow));
    page.line("");
    if (red, yellow) == (0, 0) {
        page.put(STRONG, "all is well").line("");
    } else {
        page.put(STRONG, &format!("{}, {}", counted(red, "problem"), counted(yellow, "warning"))).line("");
    }
    if findings.iter().any(|finding| finding.fix.is_some()) {
        page.line("`tabellion doctor --fix` offers to mend what is marked with *");
    }
    page.show()
}

fn add(page: &mut Page, finding: &Finding) {
    let (mark, style) = match finding.status {
        Status::Green => ("ok  ", ADDED),
        Status::Yellow => ("warn", WARNING),
        Status::Red => ("FAIL", REMOVED.bold()),
    };
    let star = if finding.fix.is_some() { "*" } else { " " };
    page.put(style, mark).put(Style::new(), &format!(" {:<width$}", finding.id, width = MARGIN - 6));
    page.put(STRONG, star);
    add_wrapped(page, Style::new(), &finding.message);
    if let Some(mend) = &finding.mend {
        page.put(Style::new(), &" ".repeat(MARGIN));
        add_wrapped(page, FAINT, &format!("→ {mend}"));
    }
}

/// Adds text whose lines begin at the margin.
fn add_wrapped(page: &mut Page, style: Style, text: &str) {
    let (mut column, mut line) = (0, String::new());
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && MARGIN + column + 1 + length > WIDTH {
            page.put(style, &line).line("").put(Style::new(), &" ".repeat(MARGIN));
            line.clear();
            column = 0;
        }
        if column > 0 {
            line.push(' ');
            column += 1;
        }
        line += word;
        column += length;
    }
    page.put(style, &line).line("");
}

fn as_json(what: &str, folder: &Path, findings: &[Finding]) -> Value {
    let shown: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "id": finding.id,
                "status": finding.status.name(),
                "message": finding.message,
                "mend": finding.mend,
                "fixable": finding.fix.is_some(),
            })
        })
        .collect();
    json!({
        "form": FORM,
        what: folder,
        "ok": super::is_well(findings),
        "findings": shown,
    })
}
