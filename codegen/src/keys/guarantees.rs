//! `guarantees`: the promises of an implementation. The conformance suite has a check of each.

use tabellion_runtime::spec;

use super::Key;
use crate::{changes::Changes, contract::Contract, leak::list};

pub(super) struct Guarantees;

impl Key for Guarantees {
    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let (old, new) = (&old.spec.guarantees, &new.spec.guarantees);
        for before in old {
            match new.iter().find(|after| after.id == before.id) {
                None => changes.breaking(format!("guarantee `{}` was removed", before.id)),
                Some(after) if after.text != before.text => {
                    changes.compatible(format!("guarantee `{}` changed its wording", before.id));
                }
                Some(after) if after.kind != before.kind => {
                    changes.compatible(format!("guarantee `{}` changed its kind", after.id));
                }
                Some(_) => {}
            }
        }
        for after in new {
            if !old.iter().any(|before| before.id == after.id) {
                changes.compatible(format!("guarantee `{}` was added", after.id));
            }
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.guarantees = list(contract.spec.guarantees.iter().copied());
    }
}
