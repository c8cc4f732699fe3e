//! Workflows: state machines for pending decisions of people and agents.

use serde::Deserialize;

use super::read::{is_given, list, one_or_several};
use crate::{schema::Schema, vocabulary::vocabulary};

vocabulary! {
    /// The start event of an instance of a workflow.
    #[serde(rename_all = "snake_case")]
    pub enum Starts {
        /// A call of a tool whose answer is pending.
        Tool,
        /// A caller's request.
        Request,
    }
}

vocabulary! {
    /// The result of an instance.
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// It reached its end.
        Completed,
        /// It was abandoned.
        Cancelled,
    }
}

vocabulary! {
    /// A condition that blocks a transition.
    #[serde(rename_all = "snake_case")]
    pub enum Unless {
        /// The subject of the instance has changed since.
        Stale,
        /// The instance or its subject differs from the version that the decision names as shown.
        Moved,
    }
}

/// Name of the role of the caller who started the instance.
pub const AUTHOR: &str = "author";

/// A workflow.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowSpec {
    /// Id in the contract.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Version: one more with each change of its states or transitions.
    pub version: u32,
    /// Its purpose.
    pub description: &'static str,
    /// The start event of an instance.
    pub starts: Starts,
    /// Names of the gates that it belongs to.
    pub gates: &'static [&'static str],
    /// Schema of the parameters of a request that starts one.
    pub parameters: Option<&'static Schema>,
    /// Schema of the optional data of a decision; `None` permits any.
    pub takes: Option<&'static Schema>,
    /// The first state.
    pub initial: &'static str,
    /// The states.
    pub states: &'static [StateSpec],
    /// The transitions. At most one leads from a state on an event.
    pub transitions: &'static [TransitionSpec],
}

/// A state of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSpec {
    /// Its name.
    pub name: &'static str,
    /// Its kind: a waiting task, or an end.
    pub kind: StateKind,
}

/// The kind of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", bound(deserialize = "'de: 'static"))]
pub enum StateKind {
    /// A task waits.
    Task(TaskSpec),
    /// The instance has ended.
    Final(Outcome),
}

/// A task of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TaskSpec {
    /// Name for people.
    pub name: &'static str,
    /// The roles of which a caller must have one to complete it: roles of the contract, or [`AUTHOR`].
    #[serde(rename = "role", deserialize_with = "one_or_several")]
    pub roles: &'static [&'static str],
    /// True if the caller who started the instance may not complete it, whichever roles they have.
    #[serde(rename = "notBy", default, deserialize_with = "is_given")]
    pub not_by_author: bool,
}

/// A transition of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TransitionSpec {
    /// The states that it leads from.
    #[serde(deserialize_with = "one_or_several")]
    pub from: &'static [&'static str],
    /// The event.
    pub on: &'static str,
    /// The state that it leads to.
    pub to: &'static str,
    /// Further effect in the same commit.
    pub effect: Option<&'static str>,
    /// The conditions that block it.
    #[serde(default, deserialize_with = "one_or_several")]
    pub unless: &'static [Unless],
    /// Members that the event must have, other than null and blank texts.
    #[serde(default, deserialize_with = "list")]
    pub needs: &'static [&'static str],
    /// The tool whose call is the event; the tool's own roles apply. `None` for a decision on the task.
    pub by: Option<&'static str>,
    /// The roles that may trigger it, if not those of the task.
    #[serde(rename = "role", default, deserialize_with = "one_or_several")]
    pub roles: &'static [&'static str],
}

impl WorkflowSpec {
    /// Returns the state of that name.
    pub fn state(&self, name: &str) -> Option<&'static StateSpec> {
        self.states.iter().find(|state| state.name == name)
    }

    /// Returns the transitions from a state.
    pub fn from(&self, state: &str) -> impl Iterator<Item = &'static TransitionSpec> {
        self.transitions.iter().filter(move |transition| transition.from.contains(&state))
    }
}

impl StateKind {
    /// Returns the outcome of an instance in such a state, if it has ended.
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Final(outcome) => Some(outcome),
            Self::Task(_) => None,
        }
    }

    /// Returns its task, if one waits.
    pub fn task(self) -> Option<TaskSpec> {
        match self {
            Self::Task(task) => Some(task),
            Self::Final(_) => None,
        }
    }
}

impl TransitionSpec {
    /// Returns the roles of which a caller must have one to trigger it from such a state; empty if the roles of its tool decide.
    pub fn roles_from(&self, state: StateKind) -> &'static [&'static str] {
        match (self.roles, self.by, state) {
            ([], None, StateKind::Task(task)) => task.roles,
            (roles, ..) => roles,
        }
    }

    /// Returns true if the caller who started the instance may not trigger it from such a state.
    pub fn bars_author(&self, state: StateKind) -> bool {
        let is_decision = self.by.is_none() && self.roles.is_empty();
        is_decision && state.task().is_some_and(|task| task.not_by_author)
    }
}

/// The mark of an answer whose change is pending: canonical data has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Pending {
    /// JSON pointer in the response to a string.
    pub at: &'static str,
    /// The string of a pending answer.
    pub is: &'static str,
    /// JSON pointer in the response to the id of the workflow's instance.
    pub instance: &'static str,
}
