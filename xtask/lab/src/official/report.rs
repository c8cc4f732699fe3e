//! The suite's reports: a folder for each scenario, with its checks as JSON.

use std::{fmt::Write as _, fs, path::Path};

use serde::Deserialize;
use serde_json::Value;

use xtask::Outcome;

/// Separates a scenario's name from the time in its folder's name, as in `server-ping-2026-07-28T09-30-00-000Z`.
const BEFORE: &str = "server-";
const TIME: usize = "-2026-07-28T09-30-00-000Z".len();

/// A scenario and its results.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    name: String,
    status: Status,
    error_message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Status {
    Success,
    Warning,
    Info,
    Skipped,
    /// A failure, or a status of a later version.
    #[serde(other)]
    Failure,
}

impl Scenario {
    /// Parses the scenario `name` from its `checks.json`.
    pub(super) fn new(name: String, checks: Value) -> serde_json::Result<Self> {
        let checks = serde_json::from_value(checks)?;
        Ok(Self { name, checks })
    }

    /// Returns a line for each failure.
    pub(super) fn failures(&self) -> impl Iterator<Item = String> {
        let failed = self.checks.iter().filter(|check| check.status == Status::Failure);
        failed.map(|check| {
            let why = check.error_message.as_deref().unwrap_or("no reason is given");
            format!("{} ({}): {why}", check.id, check.name)
        })
    }

    /// Returns true if there are results.
    pub(super) fn is_checked(&self) -> bool {
        let unlooked = [Status::Info, Status::Skipped];
        self.checks.iter().any(|check| !unlooked.contains(&check.status))
    }

    fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }
}

/// Reads all scenarios whose reports are in `folder`, by name.
pub(super) fn scenarios(folder: &Path) -> Outcome<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let checks = entry.path().join("checks.json");
        if !checks.is_file() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let named = name.strip_prefix(BEFORE).and_then(|name| name.get(..name.len().checked_sub(TIME)?));
        let named = named.ok_or_else(|| format!("`{name}` is not the name of a scenario's report"))?;
        let checks = serde_json::from_str(&fs::read_to_string(&checks)?)?;
        scenarios.push(Scenario::new(named.into(), checks)?);
    }
    scenarios.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scenarios)
}

/// Formats the scenarios of a revision as a table, with totals of the offered ones.
pub(super) fn table(
    revision: &str,
    scenarios: &[Scenario],
    not_offered: impl Fn(&str) -> Option<&'static str>,
) -> String {
    let mut table = format!("{:48} passed failed warnings skipped\n", revision);
    let mut sum = [0; 4];
    let columns = [Status::Success, Status::Failure, Status::Warning, Status::Skipped];
    let mut row = |name: &str, counts: [usize; 4], remark: &str| {
        let [passed, failed, warnings, skipped] = counts;
        let line = format!("{name:48} {passed:6} {failed:6} {warnings:8} {skipped:7}  {remark}");
        // Writing to a string does not fail.
        let _ = writeln!(table, "{}", line.trim_end());
    };
    for scenario in scenarios {
        let counts = columns.map(|status| scenario.count(status));
        let why = not_offered(&scenario.name);
        if why.is_none() {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        row(&scenario.name, counts, why.map_or("", |_| "not offered"));
    }
    let offered = scenarios.iter().filter(|scenario| not_offered(&scenario.name).is_none());
    row(&format!("{} scenarios that are offered", offered.count()), sum, "");
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_by_the_name_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let one = folder.path().join("server-tools-list-2026-11-22T14-42-53-123Z");
        fs::create_dir(&one).unwrap();
        fs::write(folder.path().join("said.txt"), "").unwrap();
        fs::write(one.join("checks.json"), r#"[{ "id": "a", "name": "A", "status": "SUCCESS" }]"#).unwrap();
        let found = scenarios(folder.path()).unwrap();
        assert_eq!(found[0].name, "tools-list");
        let table = table("2025-11-25", &found, |_| None);
        assert!(
            table.ends_with(
                "1 scenarios that are offered                          1      0        0       0\n"
            ),
            "{table}"
        );
        fs::rename(&one, folder.path().join("server-x")).unwrap();
        assert!(scenarios(folder.path()).is_err());
    }
}
