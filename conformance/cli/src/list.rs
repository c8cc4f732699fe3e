//! `list`: prints the checks.

use std::fmt::Write as _;

use serde_json::json;

use super::{run::print, trouble::Trouble};
use tabellion_conformance::{
    check::{Check, Severity},
    checks, contracts, exit,
};

/// Selection of the checks, and output format.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only those that judge this contract: one of the suite's own, or the folder of any other
    #[arg(long, value_name = "NAME|FOLDER")]
    contract: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(arguments: &Arguments) -> Result<u8, Trouble> {
    let contract = arguments.contract.as_deref().map(contracts::find).transpose()?;
    let mut checks: Vec<_> = checks::all().collect();
    if let Some(contract) = contract {
        checks.retain(|check| checks::for_contract(contract).any(|of| of.id == check.id));
    }
    let guarantees = |check: &Check| match contract {
        Some(contract) => checks::judged(check, contract).map(|it| it.id).collect(),
        None => check.guarantees.to_vec(),
    };
    if arguments.json {
        let all = checks.iter().map(|check| {
            json!({
                "id": check.id,
                "severity": check.severity,
                "guarantees": guarantees(check),
                "states": check.states,
                "explains": check.explains,
            })
        });
        let all = json!(all.collect::<Vec<_>>());
        print(&format!("{all:#}\n"))?;
        return Ok(exit::PASSED);
    }
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let severity = match check.severity {
            Severity::Must => "must",
            Severity::Should => "should",
        };
        let guarantees = guarantees(check).join(", ");
        let _ = writeln!(text, "{}", format!("{:width$}  {severity:6}  {guarantees}", check.id).trim_end());
    }
    print(&text)?;
    Ok(exit::PASSED)
}
