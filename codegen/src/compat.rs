//! Compatibility: checks that a correct client of a contract is correct for a later version.
//!
//! Requests and responses are compared as sets of values, not by keywords: a change is compatible if every valid request stays valid, and
//! every response that is possible now was possible before. An undecided comparison counts as breaking. The file of a key classifies
//! changes of the key.

use std::fmt::Write as _;

pub use crate::changes::Change;
use crate::{changes::Changes, contract::Contract, keys::registry::KEYS};

/// Returns the changes from `old` to `new`: first the contract as a whole, then tool by tool in wire order, then resources
/// and prompts.
pub fn compare(old: &Contract, new: &Contract) -> Vec<Change> {
    let mut all = vec![];
    let mut changes = Changes::new(&mut all);
    for key in KEYS {
        key.compare(&mut changes, old, new);
    }
    all
}

/// The changes between two versions of several contracts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Every change on a line of its own, for people.
    pub text: String,
    /// Contracts that were removed, and versions that do not announce their changes.
    pub mistakes: Vec<String>,
}

/// Compares contracts by their ids. A breaking change must raise the first number of the version that is not 0, and any other
/// change must raise some number.
pub fn compare_all(old: &[Contract], new: &[Contract]) -> Comparison {
    let mut all = Comparison::default();
    let with_id =
        |contracts: &'_ [Contract], id: &str| contracts.iter().position(|it| it.spec.contract == id);
    for before in old {
        let id = &before.spec.contract;
        match with_id(new, id) {
            Some(i) => all.add(before, &new[i]),
            None => {
                let _ = writeln!(all.text, "breaking   {id}: the contract was removed");
                all.mistakes.push(format!("{id}: removed"));
            }
        }
    }
    for after in new {
        if with_id(old, after.spec.contract).is_none() {
            let _ = writeln!(all.text, "compatible {}: a new contract", after.spec.contract);
        }
    }
    all
}

impl Comparison {
    fn add(&mut self, before: &Contract, after: &Contract) {
        let id = &after.spec.contract;
        let changes = compare(before, after);
        for change in &changes {
            let kind = if change.breaking { "breaking  " } else { "compatible" };
            let _ = writeln!(self.text, "{kind} {id}: {change}");
        }
        let (old, new) = (&before.spec.version, &after.spec.version);
        if changes.is_empty() {
            let _ = writeln!(self.text, "unchanged  {id} {new}");
        } else if changes.iter().any(|change| change.breaking) && series(old) == series(new) {
            self.mistakes.push(format!("{id}: {old} to {new} does not announce a breaking change"));
        } else if old == new {
            self.mistakes.push(format!("{id}: changed, but its version is still {new}"));
        }
        if numbers(new) < numbers(old) {
            self.mistakes.push(format!("{id}: the version was lowered, from {old} to {new}"));
        }
    }
}

/// Returns the numbers of a version, by which versions are ordered.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// Returns the part of a version that a breaking change must raise: the first number that is not 0.
fn series(version: &str) -> &str {
    let end = match version.split_once('.') {
        Some(("0", rest)) => 2 + rest.find('.').unwrap_or(rest.len()),
        Some((major, _)) => major.len(),
        None => version.len(),
    };
    &version[..end]
}

#[cfg(test)]
mod tests {
    use super::{numbers, series};

    #[test]
    fn the_first_number_that_is_not_zero_announces_a_break() {
        for (version, expected) in [("0.3.0", "0.3"), ("0.3.9", "0.3"), ("1.2.3", "1"), ("12.0.0", "12")] {
            assert_eq!(series(version), expected);
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert!(numbers("1.0.0") < numbers("2.0.0") && numbers("1.9.0") < numbers("1.10.0"));
    }
}
