//! `guarantees`: the promises of an implementation. The conformance suite has a check of each.

use tabellion_runtime::spec;

use super::Key;
use crate::{changes::Changes, contract::Contract, leak::list, problem::Problem};

pub(super) struct Guarantees;

impl Key for Guarantees {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let guarantees = &contract.spec.guarantees;
        for (i, guarantee) in guarantees.iter().enumerate() {
            if guarantees[..i].iter().any(|other| other.id == guarantee.id) {
                let message = format!("another guarantee is `{}`, too", guarantee.id);
                problems.push(contract.document.problem(
                    format!("/guarantees/{i}/id"),
                    message,
                    "choose another id",
                ));
            }
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let guarantees = [old, new].map(|of| of.spec.guarantees.iter().map(|it| (it.id, it)));
        changes.by_name("guarantee", guarantees, |changes, id, before, after| {
            if before.text != after.text {
                changes.compatible(format!("guarantee `{id}` changed its wording"));
            } else if before.kind != after.kind {
                changes.compatible(format!("guarantee `{id}` changed its kind"));
            }
        });
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.guarantees = list(contract.spec.guarantees.iter().copied());
    }
}
