//! Times of steps, tests and servers under test, in `target/times`, and a table of the slowest.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use roxmltree::Document;
use xtask::{Outcome, root};

/// Number of lines in the table.
const SLOWEST: usize = 30;

/// Returns the folder in which times are kept.
pub(crate) fn folder() -> PathBuf {
    root().join("target/times")
}

/// The times of one run.
pub(crate) struct Times {
    size: &'static str,
    steps: Vec<(&'static str, Duration)>,
}

impl Times {
    /// Removes the times of the previous run.
    pub(crate) fn new(size: &'static str) -> io::Result<Self> {
        let folder = folder();
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self { size, steps: Vec::new() })
    }

    /// Adds the time of a step.
    pub(crate) fn add(&mut self, step: &'static str, took: Duration) {
        self.steps.push((step, took));
    }

    /// Writes `steps.tsv` and `tests.tsv`, and prints both as tables, with only the slowest tests.
    pub(crate) fn finish(&self) -> Outcome {
        let whole: f64 = self.steps.iter().map(|(_, took)| took.as_secs_f64()).sum();
        let mut steps = String::from("seconds\tstep\n");
        for (name, took) in &self.steps {
            writeln!(steps, "{:.1}\t{name}", took.as_secs_f64())?;
        }
        writeln!(steps, "{whole:.1}\tall of `{}`", self.size)?;
        fs::write(folder().join("steps.tsv"), &steps)?;

        let mut tests = Vec::new();
        for entry in fs::read_dir(folder())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "xml") {
                tests.extend(read(&path)?);
            }
        }
        tests.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let line = |(seconds, name): &(f64, String)| format!("{seconds:.1}\t{name}\n");
        let all: String = tests.iter().map(line).collect();
        fs::write(folder().join("tests.tsv"), format!("seconds\ttest\n{all}"))?;

        eprint!("\n{steps}");
        if !tests.is_empty() {
            let slowest: String = tests.iter().take(SLOWEST).map(line).collect();
            eprint!(
                "\nthe slowest of {} tests, in seconds; all are in target/times/tests.tsv\n{slowest}",
                tests.len()
            );
        }
        Ok(())
    }
}

/// Reads the time and the name of each test from a report in JUnit's form.
fn read(path: &Path) -> Outcome<Vec<(f64, String)>> {
    let text = fs::read_to_string(path)?;
    let report = Document::parse(&text)?;
    let tests = report.descendants().filter(|node| node.has_tag_name("testcase"));
    let test = |node: roxmltree::Node<'_, '_>| {
        let seconds = node.attribute("time")?.parse().ok()?;
        let name = [node.attribute("classname"), node.attribute("name")];
        Some((seconds, name.into_iter().flatten().collect::<Vec<_>>().join(" ")))
    };
    Ok(tests.filter_map(test).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_time_of_each_test() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tests.xml");
        let report = "<testsuites><testsuite name=\"a\"><testcase name=\"b::c\" classname=\"a\" time=\"1.25\"/>\
                      <testcase name=\"d\" time=\"0.5\"><failure/></testcase></testsuite></testsuites>";
        fs::write(&path, report).unwrap();
        assert_eq!(read(&path).unwrap(), [(1.25, "a b::c".into()), (0.5, "d".into())]);
    }
}
