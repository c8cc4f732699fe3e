//! Renders a report as JUnit XML.
//!
//! Each family and revision is a test suite, each check a test case. A check that fails the run is a failure, a failure
//! of the suite itself an error. A check that does not apply, is a known failure, or is only recommended is skipped,
//! with the reason.

use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::report::{CheckReport, Rating, Report, terminal, visible};

/// Returns the XML document.
pub fn junit(report: &Report) -> String {
    let mut suites: Vec<TestSuite> = Vec::new();
    for check in &report.checks {
        let name = format!("{} {}", check.family, check.revision);
        let known = suites.iter().position(|suite| suite.name.as_str() == name);
        let suite = known.unwrap_or_else(|| {
            suites.push(TestSuite::new(&name));
            suites.len() - 1
        });
        suites[suite].add_test_case(case(report, check));
    }
    if !report.not_run.is_empty() {
        let mut suite = TestSuite::new("not run");
        for id in &report.not_run {
            let mut status = TestCaseStatus::skipped();
            status.set_message(attribute(&report.left_out()));
            suite.add_test_case(TestCase::new(visible::line(id), status));
        }
        suites.push(suite);
    }
    for suite in &mut suites {
        suite.set_time(suite.test_cases.iter().filter_map(|case| case.time).sum());
    }
    let name = format!("{} with {}", report.server.name, report.contract);
    let mut document = quick_junit::Report::new(visible::lines(&name));
    document.set_time(suites.iter().filter_map(|suite| suite.time).sum());
    document.add_test_suites(suites);
    document.to_string().expect("visible text is XML")
}

fn case(report: &Report, check: &CheckReport) -> TestCase {
    let reason = check.reason.as_deref().unwrap_or("no reason is given");
    let skipped = |message: String| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(attribute(&message));
        status
    };
    let failed = |kind, message: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        let details = anstream::adapter::strip_str(&terminal::failure(check)).to_string();
        status.set_message(attribute(message));
        status.set_description(visible::lines(&details));
        status
    };
    let status = match check.rating() {
        Rating::Holds => TestCaseStatus::success(),
        Rating::Broken => failed(NonSuccessKind::Failure, reason),
        Rating::NotShown => failed(NonSuccessKind::Failure, &format!("not shown: {reason}")),
        Rating::Unexpected => failed(NonSuccessKind::Failure, "passes, but is listed as a known failure"),
        Rating::Trouble => failed(NonSuccessKind::Error, reason),
        Rating::NotApplicable => skipped(reason.to_owned()),
        Rating::Advice => skipped(format!("recommended, not required: {reason}")),
        Rating::AdviceNotShown => skipped(format!("recommended, not required; not shown: {reason}")),
        Rating::Known => skipped(match &check.known {
            Some(why) => format!("known to fail: {why}"),
            None => reason.to_owned(),
        }),
    };
    let mut case = TestCase::new(format!("{} ({})", check.id, check.revision), status);
    let contract = report.contract.split(' ').next().unwrap_or_default();
    case.set_classname(format!("{contract}.{}", check.family));
    case.set_time(Duration::from_secs_f64(check.seconds));
    case
}

/// Returns text for an attribute, in which parsers replace line breaks by spaces.
fn attribute(text: &str) -> String {
    visible::lines(text).replace('\n', " ")
}
