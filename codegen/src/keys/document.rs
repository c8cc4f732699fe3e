//! `document`: that a contract is about one document, which the operator names.

use quote::quote;

use super::{Emitted, Key};
use crate::{compat::Changes, contract::Contract, problem::Problem};

pub(super) struct OneDocument;

impl Key for OneDocument {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        if !contract.spec.document {
            return;
        }
        for tool in contract.tools.iter().filter(|tool| tool.spec.path.is_some()) {
            problems.push(tool.document.problem(
                "/path",
                "the contract is about one document, so a request can't name another",
                "take the key away, or `document` in contract.json",
            ));
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        if old.spec.document != new.spec.document {
            changes.breaking("what it is about is said by somebody else");
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        Emitted {
            fields: contract
                .spec
                .document
                .then(|| quote!(document: true,))
                .unwrap_or_default(),
            ..Emitted::default()
        }
    }
}
