//! Tools with several operations.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Annotations, ToolSpec};
use crate::{Texts, pointer};

/// The operations of a tool, of which the request's selectors choose one.
#[derive(Debug, Clone, Copy)]
pub struct Operations {
    /// JSON pointers in the request to the selectors: strings at its root.
    pub select: &'static [&'static str],
    /// Combinations of values without an operation, with the reasons.
    pub refused: &'static [RefusedValues],
    /// The operations. Each is a tool of the same name, with its own requests and responses.
    pub all: &'static [ToolSpec],
}

/// Values of the selectors that have no operation.
#[derive(Debug, Clone, Copy)]
pub struct RefusedValues {
    /// The values, in the order of the selectors.
    pub is: &'static [&'static str],
    /// The reason, as the end of a sentence.
    pub why: &'static str,
}

/// The requests of a tool that belong to an operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// `tool/name`.
    pub label: &'static str,
    /// The tool's selectors.
    pub select: &'static [&'static str],
    /// Their values.
    pub is: &'static [&'static str],
    /// JSON pointers to members that distinguish it from other operations with these values.
    pub has: &'static [&'static str],
}

impl Operation {
    /// Makes an operation of these values of a tool's selectors.
    pub const fn new(
        label: &'static str,
        select: &'static [&'static str],
        is: &'static [&'static str],
    ) -> Self {
        Self { label, select, is, has: &[] }
    }

    /// Adds members that distinguish it from other operations with its values.
    pub const fn having(self, has: &'static [&'static str]) -> Self {
        Self { has, ..self }
    }

    /// Returns the values as people read them: `create ticket`.
    pub fn words(&self) -> String {
        self.is.join(" ")
    }

    fn is_of(&self, values: &[&str], arguments: &Map<String, Value>) -> bool {
        self.is == values && self.has.iter().all(|member| arguments.contains_key(&name(member)))
    }
}

/// Fields that the operations of a tool share, for `..` in a constant.
#[derive(Clone, Copy)]
pub struct Parts {
    /// Name of the tool.
    pub tool: &'static str,
    /// The file with their schemas and examples.
    pub texts: &'static Texts,
    /// JSON pointers in the request to the selectors.
    pub select: &'static [&'static str],
    /// Hints for clients, except the read-only hint.
    pub annotations: Annotations,
    /// Names of the errors that most of them can return.
    pub errors: &'static [&'static str],
    /// Names of the roles that may call most of them.
    pub roles: &'static [&'static str],
}

impl Parts {
    /// Returns the reading operation of these values of the selectors.
    pub const fn reading(&self, label: &'static str, is: &'static [&'static str]) -> ToolSpec {
        ToolSpec {
            name: self.tool,
            annotations: Annotations { read_only: true, ..self.annotations },
            operation: Some(Operation::new(label, self.select, is)),
            errors: self.errors,
            roles: self.roles,
            ..ToolSpec::of_file(self.texts, label)
        }
    }

    /// Returns the mutating operation of these values of the selectors.
    pub const fn changing(&self, label: &'static str, is: &'static [&'static str]) -> ToolSpec {
        let reading = self.reading(label, is);
        ToolSpec {
            annotations: Annotations { read_only: false, ..self.annotations },
            mutating: true,
            ..reading
        }
    }
}

impl Operations {
    /// Returns the values of the selectors in a request; `None` if one is missing or not a string.
    pub fn values<'r>(&self, arguments: &'r Map<String, Value>) -> Option<Vec<&'r str>> {
        let value = |selector: &&str| arguments.get(&name(selector))?.as_str();
        self.select.iter().map(value).collect()
    }

    /// Returns the operation of a request: among those with its selectors' values, the one with the most required members.
    pub fn choose(&self, arguments: &Map<String, Value>) -> Option<&'static ToolSpec> {
        let values = self.values(arguments)?;
        let fits = |tool: &&ToolSpec| tool.operation.is_some_and(|it| it.is_of(&values, arguments));
        let all = self.all.iter().filter(fits);
        all.max_by_key(|tool| tool.operation.map_or(0, |it| it.has.len()))
    }

    /// Returns the reason that no operation has `values`: the contract's, or else the list of operations.
    pub fn refusal(&self, values: &[&str]) -> String {
        let named = self.select.iter().zip(values);
        let named = named.map(|(selector, value)| format!("{} {value}", name(selector)));
        let text = format!("Unsupported {}", named.collect::<Vec<_>>().join(" for "));
        let all = || self.all.iter().filter_map(|tool| tool.operation);
        if let Some(refused) = self.refused.iter().find(|refused| refused.is == values) {
            return format!("{text}: {}", refused.why);
        }
        if let Some(operation) = all().find(|operation| operation.is == values) {
            let needs: Vec<_> = operation.has.iter().map(|member| name(member)).collect();
            return format!("{text} without {}", needs.join(", "));
        }
        // Operations with the same last selector are the closest; if there are none, all are listed.
        let shares = |it: &Operation| it.is.len() > 1 && it.is.last() == values.last();
        let near: BTreeSet<_> = all().filter(shares).map(|it| it.words()).collect();
        let words = if near.is_empty() { all().map(|it| it.words()).collect() } else { near };
        format!("{text}; there is {}", words.into_iter().collect::<Vec<_>>().join(", "))
    }
}

/// Returns the name of the member that a pointer leads to.
fn name(pointer: &str) -> String {
    pointer::split_last(pointer).map_or_else(String::new, |(_, name)| name)
}

impl ToolSpec {
    /// Returns the name, or `tool/name` of an operation.
    pub fn label(&self) -> &'static str {
        self.operation.map_or(self.name, |operation| operation.label)
    }

    /// Returns the operations; a tool without selectors is its only one.
    pub fn operations(&'static self) -> &'static [Self] {
        match &self.operations {
            Some(operations) => operations.all,
            None => std::slice::from_ref(self),
        }
    }

    /// Returns the operation of a request, which may be the tool itself; `None` if the tool has none for it.
    pub fn operation_of(&'static self, arguments: &Map<String, Value>) -> Option<&'static Self> {
        match &self.operations {
            Some(operations) => operations.choose(arguments),
            None => Some(self),
        }
    }
}
