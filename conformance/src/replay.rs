//! Saves a failing case in a file and replays it against any build of the server.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Subject,
    check::{Case, Check, Profile},
    checks,
    era::Era,
    judgement::{Failure, Judgement},
    probe,
    report::{CheckReport, Report, Witness},
    run,
    trace::Trace,
};

/// A saved failing case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedCase {
    /// Id and version of the contract.
    pub contract: String,
    /// The check's id.
    pub check: String,
    /// Statement of the check when the case was saved. A check with a different statement is a different check.
    pub states: String,
    /// Protocol revision.
    pub revision: String,
    /// Profile of the run.
    pub profile: Profile,
    /// Seed of all random choices.
    pub seed: u64,
    /// The case.
    pub case: Case,
    /// Failure when the case was saved.
    pub seen: Failure,
}

/// Returns the file name for a failing case of a check; `number` counts the check's failing cases.
pub fn file_name(check: &CheckReport, number: usize) -> String {
    let id: String =
        check.id.chars().map(|it| if it.is_ascii_alphanumeric() || it == '-' { it } else { '.' }).collect();
    let revision: String =
        check.revision.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').collect();
    match number {
        0 => format!("{id}.{revision}.json"),
        number => format!("{id}.{revision}.{}.json", number + 1),
    }
}

/// Saves every failing case of a report in `folder`, and creates the folder if needed.
pub fn save(report: &Report, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for check in &report.checks {
        for (number, witness) in check.witnesses.iter().enumerate() {
            let saved = serde_json::to_string_pretty(&SavedCase::new(report, check, witness))?;
            fs::write(folder.join(file_name(check, number)), saved + "\n")?;
        }
    }
    Ok(())
}

impl SavedCase {
    fn new(report: &Report, check: &CheckReport, witness: &Witness) -> Self {
        Self {
            contract: report.contract.clone(),
            check: check.id.clone(),
            states: check.states.clone(),
            revision: check.revision.clone(),
            profile: report.profile,
            seed: report.seed,
            case: witness.case.clone(),
            seen: witness.failure.clone(),
        }
    }

    /// Parses a saved case.
    ///
    /// # Errors
    /// If `json` is not a saved case.
    pub fn parse(json: &str) -> Result<Self, String> {
        serde_json::from_str(json)
            .map_err(|error| format!("not a case saved by `tabellion-conformance run --save`: {error}"))
    }

    /// Returns the id of the contract.
    pub fn contract_id(&self) -> &str {
        self.contract.split(' ').next().unwrap_or_default()
    }

    /// Returns the check and the era of the case.
    ///
    /// # Errors
    /// If the check no longer exists, or has changed.
    pub fn check(&self) -> Result<(&'static Check, Era), String> {
        let id = &self.check;
        let check = checks::find(id)
            .ok_or_else(|| format!("the check `{id}` no longer exists{}", checks::did_you_mean(id)))?;
        if check.states != self.states {
            return Err(format!(
                "the case is of another version of `{id}`\n  it stated: {}\n  it states: {}",
                self.states, check.states
            ));
        }
        let era = Era::from_revision(&self.revision)
            .ok_or_else(|| format!("revision `{}` is no longer supported", self.revision))?;
        Ok((check, era))
    }

    /// Runs the case again; returns the judgement and the trace.
    pub fn play(&self, subject: &Subject) -> Result<(Judgement, Trace), String> {
        let (check, era) = self.check()?;
        let subject = Subject { era, ..subject.clone() };
        let subject = probe::observed(&subject);
        Ok(run::try_case(&subject, self.profile, self.seed, check, &self.case))
    }
}
