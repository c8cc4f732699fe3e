//! `log`: the tool that reads the activity log, and the locations of an entry's fields.

use serde::Deserialize;
use tabellion_runtime::spec;

use super::Key;
use crate::{
    changes::Changes,
    contract::{Contract, Side},
    leak::leaked,
    lint::pointers::{leads_to, named},
    problem::Problem,
};

/// The location of the record of mutations.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Log {
    /// The tool.
    pub tool: String,
    /// JSON pointer to the entries in its response.
    pub entries: String,
    /// JSON pointer to the path in an entry.
    pub path: String,
    /// JSON pointer to the commit in an entry.
    pub commit: String,
}

pub(super) struct Logs;

impl Key for Logs {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let Some(log) = &contract.spec.log else { return };
        let Some(tool) = named(contract, &log.tool, "/log/tool", problems) else {
            return;
        };
        let document = &contract.document;
        let output = tool.schema(Side::Output);
        let Some(entries) = leads_to(output, &log.entries, "array", document, "/log/entries", problems)
        else {
            return;
        };
        let item = &entries.schema["items"];
        leads_to(item, &log.path, "string", document, "/log/path", problems);
        leads_to(item, &log.commit, "string", document, "/log/commit", problems);
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        match (&old.spec.log, &new.spec.log) {
            (before, after) if before == after => {}
            (None, _) => changes.compatible("the activity log can be read"),
            _ => changes.breaking("the activity log was moved or removed"),
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.log = contract.spec.log.as_ref().map(|log| spec::LogSpec {
            tool: leaked(&log.tool),
            entries: leaked(&log.entries),
            path: leaked(&log.path),
            commit: leaked(&log.commit),
        });
    }
}
