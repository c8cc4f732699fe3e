//! Times of servers and checks, in `target/times`, where `cargo xtask test` finds them.

use std::{fs, time::Duration};

use quick_junit::{Report, TestCase, TestCaseStatus, TestSuite};
use xtask::{Outcome, root};

/// A check or a server that was tried.
pub(crate) struct Timed {
    /// The server's name, or the task's.
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) seconds: f64,
}

/// Writes `target/times/NAME.xml`, a report in JUnit's form.
pub(crate) fn keep(name: &str, all: Vec<Timed>) -> Outcome {
    let mut suite = TestSuite::new(name);
    for timed in all {
        let mut case = TestCase::new(timed.name, TestCaseStatus::success());
        case.set_classname(timed.group).set_time(Duration::from_secs_f64(timed.seconds));
        suite.add_test_case(case);
    }
    let mut report = Report::new(name);
    report.add_test_suite(suite);
    let folder = root().join("target/times");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name).with_extension("xml"), report.to_string()?)?;
    Ok(())
}
