//! Aligns the reports of several servers.

use super::visible;
use crate::{
    check::Severity,
    contracts::{DECLARED, PROMISED},
    report::{CheckReport, GuaranteeReport, Rating, Report},
};

/// Reports of one contract, as rows of a table.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// Reports, one per server.
    pub reports: &'a [Report],
    /// Id of the contract.
    pub contract: &'a str,
    /// Versions of the contract in the reports.
    pub versions: Vec<&'a str>,
    /// Guarantees of the contract.
    pub guarantees: Vec<GuaranteeRow<'a>>,
    /// Checks, by family.
    pub families: Vec<Family<'a>>,
}

/// A guarantee and its rating for each server.
#[derive(Debug)]
pub struct GuaranteeRow<'a> {
    /// Id.
    pub id: &'a str,
    /// Text.
    pub text: &'a str,
    /// For each server, the rating and the guarantee's result; `None` if the report lacks the guarantee.
    pub cells: Vec<(Option<Rating>, Option<&'a GuaranteeReport>)>,
}

/// Checks of a family.
#[derive(Debug)]
pub struct Family<'a> {
    /// Name.
    pub name: &'a str,
    /// Checks.
    pub checks: Vec<CheckRow<'a>>,
}

/// A check and its results for each server.
#[derive(Debug)]
pub struct CheckRow<'a> {
    /// Id.
    pub id: &'a str,
    /// Statement of the requirement.
    pub states: &'a str,
    /// Requirement level.
    pub severity: Severity,
    /// For each server and revision, the check's index in the report and its result.
    pub cells: Vec<Vec<(usize, &'a CheckReport)>>,
}

impl<'a> Comparison<'a> {
    /// Returns the subject of the reports, and its versions: the contract, or the names of servers judged by their declarations or
    /// promises.
    pub(super) fn subject(&self) -> (String, String) {
        if [DECLARED, PROMISED].contains(&self.contract) {
            let names: Vec<_> = self.reports.iter().map(|report| report.server.name.as_str()).collect();
            return (names.join(", "), String::new());
        }
        (self.contract.to_owned(), self.versions.join(", "))
    }

    /// Aligns reports, in this order.
    ///
    /// # Errors
    /// If there is no report, or the reports are of different contracts.
    pub fn new(reports: &'a [Report]) -> Result<Self, String> {
        let contract = |report: &'a Report| -> (&'a str, &'a str) {
            report.contract.split_once(' ').unwrap_or((&report.contract, ""))
        };
        let first = reports.first().ok_or("no report is given")?;
        let (id, _) = contract(first);
        if let Some(other) = reports.iter().find(|report| contract(report).0 != id) {
            return Err(format!(
                "the report of {} is about the contract {}, the report of {} about {}",
                visible::line(&other.server.name),
                visible::line(contract(other).0),
                visible::line(&first.server.name),
                visible::line(id)
            ));
        }
        let mut versions: Vec<_> = reports.iter().map(|report| contract(report).1).collect();
        versions.sort_unstable();
        versions.dedup();
        Ok(Self {
            reports,
            contract: id,
            versions,
            guarantees: guarantees(reports),
            families: families(reports),
        })
    }
}

fn guarantees(reports: &[Report]) -> Vec<GuaranteeRow<'_>> {
    let mut rows: Vec<GuaranteeRow<'_>> = Vec::new();
    for guarantee in reports.iter().flat_map(|report| &report.guarantees) {
        if rows.iter().any(|row| row.id == guarantee.id) {
            continue;
        }
        let cells = reports.iter().map(|report| {
            let it = report.guarantees.iter().find(|it| it.id == guarantee.id);
            (it.and_then(|it| report.rating(it)), it)
        });
        rows.push(GuaranteeRow { id: &guarantee.id, text: &guarantee.text, cells: cells.collect() });
    }
    rows
}

fn families(reports: &[Report]) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for (server, report) in reports.iter().enumerate() {
        for (number, check) in report.checks.iter().enumerate() {
            let family = position(
                &mut families,
                |it| it.name == check.family,
                || Family { name: &check.family, checks: Vec::new() },
            );
            let row = position(
                &mut family.checks,
                |it| it.id == check.id,
                || CheckRow {
                    id: &check.id,
                    states: &check.states,
                    severity: check.severity,
                    cells: vec![Vec::new(); reports.len()],
                },
            );
            row.cells[server].push((number, check));
        }
    }
    families
}

/// Returns the first item that satisfies `is`, and adds `new` if there is none.
fn position<T>(items: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = items.iter().position(is).unwrap_or_else(|| {
        items.push(new());
        items.len() - 1
    });
    &mut items[at]
}
