//! `guarantees`: the promises of an implementation. The conformance suite has a check of each.

use tabellion_runtime::spec::{self, GuaranteeKind};

use super::Key;
use crate::{changes::Changes, contract::Contract, leak::list, problem::Problem};

pub(super) struct Guarantees;

/// Returns the part without which a contract can't hold a guarantee of this kind, if it is missing.
fn lacking(contract: &Contract, kind: GuaranteeKind) -> Option<&'static str> {
    let tools = || contract.operations();
    let rows = contract.spec.rows.as_ref();
    let mut fields = contract.entities.iter().flat_map(|entity| entity.file.fields.values());
    let (is_there, key) = match kind {
        GuaranteeKind::Approval => {
            (tools().any(|tool| tool.spec.approval.is_some()), "no tool has `approval`")
        }
        GuaranteeKind::Paths => (tools().any(|tool| tool.spec.paths.is_some()), "no tool has `paths`"),
        GuaranteeKind::Preview => (!contract.spec.previews.is_empty(), "`previews` is missing"),
        GuaranteeKind::Rows | GuaranteeKind::OneChange => (rows.is_some(), "`rows` is missing"),
        GuaranteeKind::Orgs => (rows.is_some_and(|rows| rows.org.is_some()), "`rows.org` is missing"),
        GuaranteeKind::Secrets => {
            (fields.any(|field| field.kind == "secret"), "no field has the type `secret`")
        }
        _ => return None,
    };
    (!is_there).then_some(key)
}

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
            if let Some((kind, key)) = guarantee.kind.and_then(|kind| Some((kind, lacking(contract, kind)?)))
            {
                problems.push(contract.document.problem(
                    format!("/guarantees/{i}/kind"),
                    format!("nothing in the contract is of the kind `{kind}`: {key}"),
                    "add it, or remove the guarantee or its kind",
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
