//! The table of a contract at run time: the value of the generated `CONTRACT`, without generating it. For programs that work with any
//! contract, such as a conformance suite.
//!
//! The runtime's tables are statics, so the values built here are leaked. The file of each key fills its fields.

use tabellion_runtime::spec::ContractSpec;

use crate::{contract::Contract, keys::registry::KEYS, leak};

/// Returns the table of a contract without problems.
pub(crate) fn build(contract: &Contract) -> &'static ContractSpec {
    let mut table = ContractSpec::EMPTY;
    for key in KEYS {
        key.fill(contract, &mut table);
    }
    leak::constant(table)
}
