//! Workflows as contracts write them.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec::{Starts, StateKind, TransitionSpec};

/// A workflow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Workflow {
    /// Name for people.
    pub name: &'static str,
    /// Version of its states and transitions.
    pub version: u32,
    /// The purpose.
    pub description: &'static str,
    /// The start of an instance: a tool or a request.
    pub starts: Starts,
    /// Names of the gates that it belongs to.
    #[serde(default)]
    pub gates: Vec<&'static str>,
    /// Schema of the parameters of a request that starts an instance.
    pub parameters: Option<Value>,
    /// Schema of the data that a decision may include.
    pub takes: Option<Value>,
    /// Schemas of the data that describe its instances' subjects, by member.
    #[serde(default)]
    pub about: IndexMap<&'static str, Value>,
    /// The first state.
    pub initial: &'static str,
    /// The states by name.
    pub states: IndexMap<&'static str, StateKind>,
    /// The transitions.
    pub transitions: Vec<TransitionSpec>,
}

impl Workflow {
    /// Returns the transitions from a state.
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
