//! Differences between two versions of a contract, listed by the file of each key.

use std::fmt;

use serde_json::Value;

/// One difference between two versions of a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// True if a client of the old version can fail with the new one.
    pub breaking: bool,
    /// The tool, unless the change concerns the contract as a whole.
    pub tool: Option<String>,
    /// The change, in a sentence.
    pub what: String,
    /// A request that is now rejected, or a response that was impossible before.
    pub example: Option<Value>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tool.as_deref().unwrap_or("contract"), self.what)?;
        match &self.example {
            Some(example) => write!(f, "\n           for example {example}"),
            None => Ok(()),
        }
    }
}

/// The changes so far, and the tool of the next ones.
#[derive(Debug)]
pub(crate) struct Changes<'a> {
    tool: Option<&'a str>,
    all: &'a mut Vec<Change>,
}

impl<'a> Changes<'a> {
    /// Appends to `all` changes of the contract as a whole.
    pub(crate) fn new(all: &'a mut Vec<Change>) -> Self {
        Self { tool: None, all }
    }

    /// Returns the same list for changes of `tool`.
    pub(crate) fn of_tool<'b>(&'b mut self, tool: &'b str) -> Changes<'b> {
        Changes { tool: Some(tool), all: self.all }
    }

    pub(crate) fn breaking(&mut self, what: impl Into<String>) {
        self.push(true, what.into(), None);
    }

    pub(crate) fn compatible(&mut self, what: impl Into<String>) {
        self.push(false, what.into(), None);
    }

    /// Lists the items that were removed, which is breaking, and those that were added; passes the name and both versions of each other one to
    /// `compare`. `what` is a word for an item.
    pub(crate) fn by_name<'i, T: 'i, I: Iterator<Item = (&'i str, &'i T)> + Clone>(
        &mut self,
        what: &str,
        [old, new]: [I; 2],
        compare: impl Fn(&mut Self, &'i str, &'i T, &'i T),
    ) {
        let find = |items: &I, name: &str| items.clone().find(|(other, _)| *other == name);
        for (name, before) in old.clone() {
            match find(&new, name) {
                Some((_, after)) => compare(self, name, before, after),
                None => self.breaking(format!("{what} `{name}` was removed")),
            }
        }
        for (name, _) in new.filter(|(name, _)| find(&old, name).is_none()) {
            self.compatible(format!("{what} `{name}` was added"));
        }
    }

    pub(crate) fn push(&mut self, breaking: bool, what: String, example: Option<Value>) {
        self.all.push(Change { breaking, tool: self.tool.map(str::to_owned), what, example });
    }
}
