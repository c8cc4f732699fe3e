//! `document`: the contract is about one document, which the operator names.

use tabellion_runtime::spec;

use super::Key;
use crate::{changes::Changes, contract::Contract, problem::Problem};

pub(super) struct OneDocument;

impl Key for OneDocument {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        if !contract.spec.document {
            return;
        }
        for tool in contract.operations().filter(|tool| tool.spec.path.is_some()) {
            problems.push(tool.document.problem(
                "/path",
                "the contract is about one document, so requests have no path",
                "remove this key, or `document` in contract.json",
            ));
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        match (old.spec.document, new.spec.document) {
            (false, true) => {
                changes.breaking("`document` changed: the operator names the document, not the request")
            }
            (true, false) => {
                changes.breaking("`document` changed: the request names the document, not the operator")
            }
            _ => {}
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.document = contract.spec.document;
    }
}
