//! Whether a client that was right about a contract is still right about a later version of it.
//!
//! Requests and responses are compared as sets of values and not by keywords: a change is compatible when every
//! request that was valid still is, and every response that may come now might have come before. What can't be
//! decided counts as breaking. What a change of a key means is said in the key's file.

use serde_json::Value;

use crate::{contract::Contract, keys::KEYS};

/// One difference between two versions of a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Whether a client of the old version may fail with the new one.
    pub breaking: bool,
    /// The tool, unless it is about the contract as a whole.
    pub tool: Option<String>,
    /// What has changed.
    pub what: String,
    /// A request that is now refused, or a response that could not come before.
    pub example: Option<Value>,
}

/// What has changed from `old` to `new`: first the contract as a whole, then tool by tool in wire order, then resources
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
