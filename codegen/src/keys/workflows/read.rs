//! Workflows as contracts write them.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec::{Starts, StateKind, TransitionSpec};

/// A workflow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Workflow {
    pub name: &'static str,
    pub version: u32,
    pub description: &'static str,
    pub starts: Starts,
    #[serde(default)]
    pub gates: Vec<&'static str>,
    pub parameters: Option<Value>,
    pub takes: Option<Value>,
    #[serde(default)]
    pub about: IndexMap<&'static str, Value>,
    pub initial: &'static str,
    pub states: IndexMap<&'static str, StateKind>,
    pub transitions: Vec<TransitionSpec>,
}

impl Workflow {
    pub(super) fn from(&self, state: &str) -> impl Iterator<Item = &TransitionSpec> {
        self.transitions.iter().filter(move |transition| transition.from.contains(&state))
    }

    /// Returns the events, in the order in which transitions name them.
    pub(super) fn events(&self) -> Vec<&str> {
        distinct(self.transitions.iter().map(|transition| transition.on))
    }

    /// Returns the effects, likewise.
    pub(super) fn effects(&self) -> Vec<&str> {
        distinct(self.transitions.iter().filter_map(|transition| transition.effect))
    }
}

pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = vec![];
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
