//! Workflows as contracts write them.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec::{Outcome, Starts, Unless};

/// A workflow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Workflow {
    /// Name for people.
    pub name: String,
    /// Version of its states and transitions.
    pub version: u32,
    /// The purpose.
    pub description: String,
    /// The start of an instance: a tool or a request.
    pub starts: Starts,
    /// Names of the gates that it belongs to.
    #[serde(default)]
    pub gates: Vec<String>,
    /// Schema of the parameters of a request that starts an instance.
    pub parameters: Option<Value>,
    /// Schema of the data that a decision may include.
    pub takes: Option<Value>,
    /// Schemas of the data that describe its instances' subjects, by member.
    #[serde(default)]
    pub about: IndexMap<String, Value>,
    /// The first state.
    pub initial: String,
    /// The states by name.
    pub states: IndexMap<String, State>,
    /// The transitions.
    pub transitions: Vec<Transition>,
}

/// A state of a workflow: with a task, or final.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct State {
    /// The task that waits in it.
    pub task: Option<Task>,
    /// Outcome of an instance in it.
    #[serde(rename = "final")]
    pub outcome: Option<Outcome>,
}

/// A task of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Name for people.
    pub name: String,
    /// The roles that may complete it.
    pub role: OneOrMore,
    /// The role that may not complete the task; only the author's.
    pub not_by: Option<String>,
}

/// A transition of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Transition {
    /// The states that it leads from.
    pub from: OneOrMore,
    /// The event.
    pub on: String,
    /// The state that it leads to.
    pub to: String,
    /// A further effect in the same commit.
    pub effect: Option<String>,
    /// The conditions under which it is not possible.
    pub unless: Option<OneOrMore<Unless>>,
    /// Members that the event needs.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The tool whose call is the event.
    pub by: Option<String>,
    /// The roles that may do it, if not those of the task.
    pub role: Option<OneOrMore>,
}

/// A name or a list of names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore<T = String> {
    /// One.
    One(T),
    /// Several.
    More(Vec<T>),
}

impl<T> OneOrMore<T> {
    /// Returns all names.
    pub fn names(&self) -> &[T] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::More(names) => names,
        }
    }
}

impl Transition {
    /// Returns the conditions under which it is not possible.
    pub(super) fn hindrances(&self) -> &[Unless] {
        self.unless.as_ref().map_or(&[], OneOrMore::names)
    }
}

impl Workflow {
    /// Returns the transitions from a state.
    pub(super) fn from<'a>(&'a self, state: &'a str) -> impl Iterator<Item = &'a Transition> {
        let leads_from =
            move |transition: &&Transition| transition.from.names().iter().any(|from| from == state);
        self.transitions.iter().filter(leads_from)
    }

    /// Returns the events, in the order in which transitions name them.
    pub(super) fn events(&self) -> Vec<&str> {
        distinct(self.transitions.iter().map(|transition| transition.on.as_str()))
    }

    /// Returns the effects, likewise.
    pub(super) fn effects(&self) -> Vec<&str> {
        distinct(self.transitions.iter().filter_map(|transition| transition.effect.as_deref()))
    }
}

impl Transition {
    /// Returns the roles that may make the transition from `state`; `None` if its tool decides.
    pub(super) fn roles<'a>(&'a self, state: &'a State) -> Option<&'a [String]> {
        match (&self.role, &self.by, &state.task) {
            (Some(role), _, _) => Some(role.names()),
            (None, None, Some(task)) => Some(task.role.names()),
            _ => None,
        }
    }

    /// Returns true if the author may not make the transition from `state`.
    pub(super) fn is_barred(&self, state: &State) -> bool {
        let is_decision = self.role.is_none() && self.by.is_none();
        is_decision && state.task.as_ref().is_some_and(|task| task.not_by.is_some())
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
