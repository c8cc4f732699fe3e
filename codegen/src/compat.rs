//! Compatibility: whether a correct client of a contract is correct for a later version.
//!
//! Requests and responses are compared as sets of values, not by keywords: a change is compatible if every valid request stays
//! valid, and every response that is possible now was possible before. An undecided comparison counts as breaking. The file of
//! a key decides what a change of the key means.

use serde_json::Value;

use crate::{contract::Contract, keys::KEYS};

/// One difference between two versions of a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Whether a client of the old version can fail with the new one.
    pub breaking: bool,
    /// The tool, unless it is about the contract as a whole.
    pub tool: Option<String>,
    /// What has changed.
    pub what: String,
    /// A request that is now rejected, or a response that was impossible before.
    pub example: Option<Value>,
}

/// Returns the changes from `old` to `new`: first the contract as a whole, then tool by tool in wire order, then resources
/// and prompts.
pub fn compare(old: &Contract, new: &Contract) -> Vec<Change> {
    let mut all = vec![];
    let mut changes = Changes {
        tool: None,
        all: &mut all,
    };
    for key in KEYS {
        key.compare(&mut changes, old, new);
    }
    all
}

/// The changes so far, and the tool that the next ones are about.
#[derive(Debug)]
pub(crate) struct Changes<'a> {
    tool: Option<&'a str>,
    all: &'a mut Vec<Change>,
}

impl Changes<'_> {
    /// Returns the same list for changes of `tool`.
    pub(crate) fn of_tool<'b>(&'b mut self, tool: &'b str) -> Changes<'b> {
        Changes {
            tool: Some(tool),
            all: self.all,
        }
    }

    pub(crate) fn breaking(&mut self, what: impl Into<String>) {
        self.push(true, what.into(), None);
    }

    pub(crate) fn compatible(&mut self, what: impl Into<String>) {
        self.push(false, what.into(), None);
    }

    pub(crate) fn push(&mut self, breaking: bool, what: String, example: Option<Value>) {
        self.all.push(Change {
            breaking,
            tool: self.tool.map(str::to_owned),
            what,
            example,
        });
    }
}
