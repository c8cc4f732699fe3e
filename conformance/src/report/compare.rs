//! Reports of several servers side by side.

use crate::{
    check::Severity,
    report::{CheckReport, Report, Standing},
};

/// Reports of one contract, as rows.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// One for each server.
    pub reports: &'a [Report],
    /// The contract's id.
    pub contract: &'a str,
    /// Its versions that were tested, more than one if reports differ.
    pub versions: Vec<&'a str>,
    /// Its guarantees.
    pub guarantees: Vec<GuaranteeRow<'a>>,
    /// The checks, by family.
    pub families: Vec<Family<'a>>,
}

/// A guarantee and how it stands with each server.
#[derive(Debug)]
pub struct GuaranteeRow<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its wording.
    pub text: &'a str,
    /// How it stands, and how many checks are about it; `None` where the report does not have it.
    pub cells: Vec<(Option<Standing>, usize)>,
}

/// The checks of a family.
#[derive(Debug)]
pub struct Family<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its checks.
    pub checks: Vec<CheckRow<'a>>,
}

/// A check and how it stands with each server.
#[derive(Debug)]
pub struct CheckRow<'a> {
    /// Its id.
    pub id: &'a str,
    /// What must hold.
    pub states: &'a str,
    /// Whether a server has to pass.
    pub severity: Severity,
    /// For each server, the number in its report and the report of each revision that was spoken.
    pub cells: Vec<Vec<(usize, &'a CheckReport)>>,
}

impl<'a> Comparison<'a> {
    /// Reports side by side, in this order.
    ///
    /// # Errors
    /// When there is none, or they are of different contracts.
    pub fn of(reports: &'a [Report]) -> Result<Self, String> {
        let contract = |report: &'a Report| -> (&'a str, &'a str) {
            report.contract.split_once(' ').unwrap_or((&report.contract, ""))
        };
        let first = reports.first().ok_or("there is no report to show")?;
        let (id, _) = contract(first);
        if let Some(other) = reports.iter().find(|report| contract(report).0 != id) {
            return Err(format!(
                "the report of {} is about the contract {}, that of {} about {id}",
                other.server.name,
                contract(other).0,
                first.server.name
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
            it.map_or((None, 0), |it| (report.standing(it), it.checks))
        });
        rows.push(GuaranteeRow {
            id: &guarantee.id,
            text: &guarantee.text,
            cells: cells.collect(),
        });
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
                || Family {
                    name: &check.family,
                    checks: Vec::new(),
                },
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

/// The first item that `is` it, added if there is none.
fn position<T>(items: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = items.iter().position(is).unwrap_or_else(|| {
        items.push(new());
        items.len() - 1
    });
    &mut items[at]
}
