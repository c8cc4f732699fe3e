//! A report for tools that read JUnit's XML.
//!
//! A suite for each family and revision, a case for each check. What makes the run fail is a failure; the tester's own
//! trouble is an error; what does not apply, is known to fail or only recommended is skipped, with the reason.

use std::{borrow::Cow, fmt::Write as _};

use crate::report::{CheckReport, Report, Standing, terminal, visible};

/// The XML document.
pub fn junit(report: &Report) -> String {
    let mut families: Vec<(&str, &str)> = Vec::new();
    for check in &report.checks {
        let family = (check.revision.as_str(), check.family.as_str());
        if !families.contains(&family) {
            families.push(family);
        }
    }
    let all: Vec<_> = report.checks.iter().collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = format!("{} with {}", report.server.name, report.contract);
    let _ = writeln!(xml, "<testsuites name=\"{}\" {}>", attribute(&name), counts(&all));
    for (revision, family) in families {
        let mut checks = all.clone();
        checks.retain(|check| (check.revision.as_str(), check.family.as_str()) == (revision, family));
        let name = format!("{family} {revision}");
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" {}>",
            attribute(&name),
            counts(&checks)
        );
        checks.iter().for_each(|check| case(&mut xml, report, check));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// How a check is counted.
#[derive(PartialEq)]
enum Kind {
    Passed,
    Failure,
    Error,
    Skipped,
}

fn kind(check: &CheckReport) -> Kind {
    match check.standing() {
        Standing::Holds => Kind::Passed,
        Standing::Broken | Standing::Untested | Standing::Unexpected => Kind::Failure,
        Standing::Trouble => Kind::Error,
        Standing::NotApplicable | Standing::Advice | Standing::Known => Kind::Skipped,
    }
}

fn counts(checks: &[&CheckReport]) -> String {
    let count = |of: &Kind| checks.iter().filter(|check| kind(check) == *of).count();
    let seconds: f64 = checks.iter().map(|check| check.seconds).sum();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{seconds:.3}\"",
        checks.len(),
        count(&Kind::Failure),
        count(&Kind::Error),
        count(&Kind::Skipped)
    )
}

fn case(xml: &mut String, report: &Report, check: &CheckReport) {
    let name = format!("{} ({})", check.id, check.revision);
    let contract = report.contract.split(' ').next().unwrap_or_default();
    let class = format!("{contract}.{}", check.family);
    let _ = write!(
        xml,
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3}\"",
        attribute(&name),
        attribute(&class),
        check.seconds
    );
    let reason = check.reason.as_deref().unwrap_or("no reason is given");
    let message = match (check.standing(), &check.known) {
        (Standing::Known, Some(why)) => format!("known to fail: {why}"),
        (Standing::Unexpected, _) => "passes, but is listed as a known failure".to_owned(),
        (Standing::Advice, _) => format!("recommended, not required: {reason}"),
        (Standing::Untested, _) => format!("not testable: {reason}"),
        _ => reason.to_owned(),
    };
    let element = match kind(check) {
        Kind::Passed => {
            xml.push_str("/>\n");
            return;
        }
        Kind::Skipped => {
            let _ = writeln!(xml, "><skipped message=\"{}\"/></testcase>", attribute(&message));
            return;
        }
        Kind::Failure => "failure",
        Kind::Error => "error",
    };
    let details = anstream::adapter::strip_str(&terminal::failure(check)).to_string();
    let _ = writeln!(
        xml,
        ">\n      <{element} message=\"{}\">{}</{element}>\n    </testcase>",
        attribute(&message),
        escape(&details)
    );
}

/// Text for an attribute.
fn attribute(text: &str) -> String {
    escape(text).replace('\n', "&#10;")
}

/// Text for an element. What XML can't hold is shown as an escape.
fn escape(text: &str) -> Cow<'_, str> {
    let shown = visible::lines(text);
    if !shown.contains(['&', '<', '>', '"', '\'', '\t']) {
        return shown;
    }
    let mut all = String::with_capacity(shown.len() + 16);
    for it in shown.chars() {
        match it {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '"' => all.push_str("&quot;"),
            '\'' => all.push_str("&apos;"),
            '\t' => all.push_str("&#9;"),
            it => all.push(it),
        }
    }
    all.into()
}
