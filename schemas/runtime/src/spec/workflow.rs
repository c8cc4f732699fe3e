//! Workflows: state machines for pending decisions of people and agents.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateKind {
    /// A task waits.
    Task(TaskSpec),
    /// The instance has ended.
    Final(Outcome),
}

/// A task of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskSpec {
    /// Name for people.
    pub name: &'static str,
    /// The roles of which a caller must have one to complete it: roles of the contract, or [`AUTHOR`].
    pub roles: &'static [&'static str],
    /// True if the caller who started the instance may not complete it, whichever roles they have.
    pub not_by_author: bool,
}

/// A transition of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionSpec {
    /// The states that it leads from.
    pub from: &'static [&'static str],
    /// The event.
    pub on: &'static str,
    /// The state that it leads to.
    pub to: &'static str,
    /// Further effect in the same commit.
    pub effect: Option<&'static str>,
    /// The conditions that block it.
    pub unless: &'static [Unless],
    /// Members that the event must have, other than null and blank texts.
    pub needs: &'static [&'static str],
    /// The tool whose call is the event; the tool's own roles apply. `None` for a decision on the task.
    pub by: Option<&'static str>,
    /// The roles that may trigger it, if not those of the task.
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

/// The mark of an answer whose change is pending: canonical data has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// JSON pointer in the response to a string.
    pub at: &'static str,
    /// The string of a pending answer.
    pub is: &'static str,
    /// JSON pointer in the response to the id of the workflow's instance.
    pub instance: &'static str,
}

impl Pending {
    /// Returns the id of the instance if `response` is pending; `None` otherwise.
    pub fn instance_of<'r>(&self, response: &'r serde_json::Value) -> Option<&'r str> {
        let status = response.pointer(self.at)?.as_str()?;
        response.pointer(self.instance)?.as_str().filter(|_| status == self.is)
    }
}
