//! `log`: the tool that reads the activity log, and the locations of an entry's fields.

use tabellion_runtime::spec;

use super::Key;
use crate::{
    changes::Changes,
    contract::{Contract, Side},
    lint::pointers::{leads_to, named},
    problem::Problem,
};

pub(super) struct Logs;

impl Key for Logs {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let Some(log) = &contract.spec.log else { return };
        let Some(tool) = named(contract, log.tool, "/log/tool", problems) else {
            return;
        };
        let document = &contract.document;
        let output = tool.schema(Side::Output);
        let Some(entries) = leads_to(output, log.entries, "array", document, "/log/entries", problems) else {
            return;
        };
        let item = &entries.schema["items"];
        leads_to(item, log.path, "string", document, "/log/path", problems);
        leads_to(item, log.commit, "string", document, "/log/commit", problems);
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        match (&old.spec.log, &new.spec.log) {
            (before, after) if before == after => {}
            (None, _) => changes.compatible("the activity log can be read"),
            _ => changes.breaking("the activity log was moved or removed"),
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.log = contract.spec.log;
    }
}
