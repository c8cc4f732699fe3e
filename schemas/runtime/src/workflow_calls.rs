//! Requests and answers about workflows, in addition to the tools: requests that start instances and complete their tasks, and instances as
//! clients see them.
//!
//! A contract whose `rest` has such endpoints has a method for each in its trait, with these types. The implementation decides who may see
//! an instance, and where it is stored.

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    auth::REASON,
    caller::KnownCaller,
    failure::{Failure, FailureKind},
    gates::fill_defaults,
    pointer,
    schema::Violation,
    spec::{ContractSpec, Outcome, Starts, TaskSpec, TransitionSpec, WorkflowSpec},
    vocabulary::vocabulary,
    workflow::{self, Instance, Passage},
};

/// Name of the notes in the data of a decision.
pub const NOTES: &str = "notes";

/// A request to start an instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartWorkflow {
    /// Id of the workflow.
    pub workflow_id: String,
    /// Its parameters.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// A request for an instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GetInstance {
    /// Id of the instance.
    pub instance_id: String,
}

/// A request for instances, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ListInstances {
    /// Only those with this status.
    pub status: Option<InstanceStatus>,
    /// Only those of this workflow.
    pub workflow_id: Option<String>,
    /// Only those that the caller has started.
    #[serde(default)]
    pub mine: bool,
    /// Maximum number of instances.
    #[serde(default = "max_listed")]
    pub limit: usize,
    /// Only those after the instance with this id.
    pub after: Option<String>,
}

/// Maximum number of instances in one answer.
pub const MAX_LISTED: usize = 100;

fn max_listed() -> usize {
    MAX_LISTED
}

/// A request to complete a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CompleteTask {
    /// Id of the instance.
    pub instance_id: String,
    /// Name of the state that the task belongs to.
    pub task_id: String,
    /// The decision.
    pub decision: String,
    /// The caller's notes.
    pub notes: Option<String>,
    /// Result data of the task.
    pub data: Option<Map<String, Value>>,
}

vocabulary! {
    /// The status of an instance.
    #[serde(rename_all = "snake_case")]
    pub enum InstanceStatus {
        /// A task waits.
        Active,
        /// It reached its end.
        Completed,
        /// It was abandoned.
        Cancelled,
    }
}

vocabulary! {
    /// The status of a task.
    #[serde(rename_all = "snake_case")]
    pub enum TaskState {
        /// It waits for a decision.
        Ready,
        /// It was decided on.
        Completed,
        /// The instance was abandoned first.
        Cancelled,
    }
}

/// The answer to a request that started an instance.
#[derive(Debug, Clone, Serialize)]
pub struct StartedInstance {
    /// Id of the instance.
    pub instance_id: String,
    /// Id of its workflow.
    pub workflow_id: String,
    /// Version of its workflow.
    pub version: u32,
    /// Its status.
    pub status: InstanceStatus,
    /// Its state.
    pub state: String,
    /// The waiting task; `None` if the instance has ended at once.
    pub next_task: Option<TaskView>,
}

/// Instances, oldest first.
#[derive(Debug, Clone, Serialize)]
pub struct Instances {
    /// The number of instances.
    pub count: usize,
    /// The instances.
    pub instances: Vec<InstanceView>,
}

/// An instance as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InstanceView {
    /// Its id.
    pub instance_id: String,
    /// Id of its workflow.
    pub workflow_id: String,
    /// Version of its workflow at the start.
    pub version: u32,
    /// Its status.
    pub status: InstanceStatus,
    /// Its state.
    pub state: String,
    /// Its subject, as the workflow's `about` defines it.
    #[serde(flatten)]
    pub about: Map<String, Value>,
    /// The tasks that it has reached, in the order of first arrival, each with its current status.
    pub tasks: Vec<TaskView>,
    /// The data given at the start and with its tasks.
    pub data: Map<String, Value>,
    /// Identity of the caller who started it.
    pub started_by: String,
    /// When it was started (RFC 3339).
    pub created_at: String,
    /// When it last changed (RFC 3339).
    pub updated_at: String,
    /// Its history, oldest first.
    pub history: Vec<PassageView>,
}

/// A task of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskView {
    /// Name of the state that it belongs to.
    pub task_id: String,
    /// Name for people.
    pub name: String,
    /// The roles that may complete it: one, or several.
    pub role: RoleNames,
    /// Its status.
    pub state: TaskState,
    /// The decisions that the caller may make on it now.
    pub decisions: Vec<String>,
    /// The decision that was made.
    pub decision: Option<String>,
    /// Identity of the caller who made it.
    pub completed_by: Option<String>,
    /// When it was made (RFC 3339).
    pub completed_at: Option<String>,
}

/// Roles, as contracts write them: one name, or a list of names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RoleNames {
    /// One role.
    One(String),
    /// Several roles.
    Several(Vec<String>),
}

/// One step in the history of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassageView {
    /// The state before; `None` at the start.
    pub from: Option<String>,
    /// The state after.
    pub to: String,
    /// The event.
    pub on: String,
    /// Identity of the caller.
    pub by: String,
    /// When it happened (RFC 3339).
    pub at: String,
    /// Id of the commit; `None` if no commit made this step alone.
    pub commit: Option<String>,
}

impl RoleNames {
    /// Returns the roles of a task.
    pub fn from_task(task: &TaskSpec) -> Self {
        match task.roles {
            [role] => Self::One((*role).into()),
            roles => Self::Several(roles.iter().map(|role| (*role).into()).collect()),
        }
    }
}

impl WorkflowSpec {
    /// Returns the decisions on the task of a state: transitions that are not tool calls and that are open to a role of the task.
    pub fn decisions(&self, state: &str) -> impl Iterator<Item = &'static TransitionSpec> {
        let task = self.state(state).and_then(|state| state.kind.task());
        let roles = task.map_or(&[][..], |task| task.roles);
        self.from(state).filter(move |transition| {
            let is_for_them = |role| roles.contains(role);
            transition.by.is_none()
                && (transition.roles.is_empty() || transition.roles.iter().any(is_for_them))
        })
    }
}

impl StartWorkflow {
    /// Returns the workflow that is to be started, and its parameters with their defaults.
    ///
    /// # Errors
    /// If there is no such workflow, a tool starts it, or the parameters do not match its schema.
    pub fn admit(
        &self,
        contract: &ContractSpec,
    ) -> Result<(&'static WorkflowSpec, Map<String, Value>), Failure> {
        let Some(workflow) = contract.workflow(&self.workflow_id) else {
            let ids: Vec<_> = contract.workflows.iter().map(|workflow| workflow.id).collect();
            let message = format!("there is no such workflow; there are {}", ids.join(", "));
            return Err(Failure::new(FailureKind::NotFound, message).with(REASON, "not_found"));
        };
        if workflow.starts == Starts::Tool {
            let tools = contract.operations().filter(|tool| tool.pending.is_some());
            let tools: Vec<_> = tools.map(|tool| format!("`{}`", tool.label())).collect();
            let message = format!(
                "`{}` is started by a tool, not by a request: call {}",
                workflow.id,
                tools.join(" or ")
            );
            return Err(Failure::new(FailureKind::Invalid, message).with(REASON, "started_by_tool"));
        }
        let mut parameters = Value::Object(self.parameters.clone());
        let Some(schema) = workflow.parameters else {
            return match self.parameters.keys().next() {
                None => Ok((workflow, Map::new())),
                Some(_) => {
                    let message = format!("`{}` takes no parameters; send none", workflow.id);
                    Err(Failure::new(FailureKind::Invalid, message).with(REASON, "parameters"))
                }
            };
        };
        if let Err(violations) = schema.check(&parameters) {
            return Err(placed("parameters", violations));
        }
        fill_defaults(&schema.wire(), &mut parameters);
        match parameters {
            Value::Object(parameters) => Ok((workflow, parameters)),
            _ => unreachable!("it was an object"),
        }
    }
}

/// Returns the failure of violations within a member.
fn placed(member: &str, violations: Vec<Violation>) -> Failure {
    let placed = violations
        .into_iter()
        .map(|violation| Violation { pointer: pointer::push("", member) + &violation.pointer, ..violation });
    Failure::violations(&placed.collect::<Vec<_>>())
}

impl CompleteTask {
    /// Checks that the task is waiting, that the workflow has the decision, and that the decision's data match the workflow's schema.
    ///
    /// # Errors
    /// If one of these does not hold.
    pub fn check(&self, workflow: &WorkflowSpec, instance: &Instance) -> Result<(), Failure> {
        let task = workflow.state(&self.task_id);
        if task.and_then(|state| state.kind.task()).is_none() {
            let message =
                format!("`{}` has no such task; its instance is in `{}`", workflow.id, instance.state);
            return Err(Failure::new(FailureKind::NotFound, message).with(REASON, "not_found"));
        }
        let decisions = || workflow.transitions.iter().filter(|it| it.by.is_none());
        if !decisions().any(|transition| transition.on == self.decision) {
            let mut known: Vec<_> = decisions().map(|transition| transition.on).collect();
            known.dedup();
            let message = format!("`{}` has no such decision; it has {}", workflow.id, known.join(", "));
            return Err(Failure::new(FailureKind::Invalid, message).with(REASON, "decision"));
        }
        let data = self.data.as_ref().zip(workflow.takes);
        if let Some(Err(violations)) = data.map(|(data, schema)| schema.check(&Value::Object(data.clone()))) {
            return Err(placed("data", violations));
        }
        if self.task_id == instance.state {
            return Ok(());
        }
        let message = match instance.outcome(workflow) {
            Some(_) => {
                format!(
                    "it was decided already, and has ended as `{}`; nothing can be decided any more",
                    instance.state
                )
            }
            None => format!("`{}` does not wait for a decision now; `{}` does", self.task_id, instance.state),
        };
        Err(Failure::new(FailureKind::Conflict, message).with(REASON, "not_ready"))
    }

    /// Returns the decision's notes by name.
    pub fn given(&self) -> Map<String, Value> {
        let notes = self.notes.iter();
        notes.map(|notes| (NOTES.to_owned(), notes.as_str().into())).collect()
    }
}

impl InstanceStatus {
    /// Returns the status of an instance.
    pub fn from_instance(workflow: &WorkflowSpec, instance: &Instance) -> Self {
        match instance.outcome(workflow) {
            None => Self::Active,
            Some(Outcome::Completed) => Self::Completed,
            Some(Outcome::Cancelled) => Self::Cancelled,
        }
    }
}

impl StartedInstance {
    /// Returns the answer to a request that started `instance`.
    pub fn new(
        workflow: &'static WorkflowSpec,
        id: impl Into<String>,
        instance: &Instance,
        caller: &KnownCaller,
    ) -> Self {
        Self {
            instance_id: id.into(),
            workflow_id: workflow.id.into(),
            version: instance.version,
            status: InstanceStatus::from_instance(workflow, instance),
            state: instance.state.clone(),
            next_task: tasks(workflow, instance, caller)
                .into_iter()
                .find(|task| task.state == TaskState::Ready),
        }
    }
}

impl InstanceView {
    /// Returns an instance as `caller` sees it, without its subject; `None` if it does not match the workflow as it is declared now, such as
    /// after a person has edited its document.
    pub fn new(
        workflow: &'static WorkflowSpec,
        id: impl Into<String>,
        instance: &Instance,
        caller: &KnownCaller,
    ) -> Option<Self> {
        let (first, last) = (instance.history.first()?, instance.history.last()?);
        let is_sound_step = |passage: &Passage| {
            let is_event = |on: &str| workflow.transitions.iter().any(|transition| transition.on == on);
            DateTime::parse_from_rfc3339(&passage.at).is_ok()
                && workflow.state(&passage.to).is_some()
                && (passage.from.is_none() || is_event(&passage.on))
        };
        let is_sound = instance.workflow == workflow.id
            && instance.version > 0
            && workflow.state(&instance.state).is_some()
            && instance.history.iter().all(is_sound_step);
        is_sound.then(|| Self {
            instance_id: id.into(),
            workflow_id: workflow.id.into(),
            version: instance.version,
            status: InstanceStatus::from_instance(workflow, instance),
            state: instance.state.clone(),
            about: Map::new(),
            tasks: tasks(workflow, instance, caller),
            data: Map::new(),
            started_by: instance.author.clone(),
            created_at: first.at.clone(),
            updated_at: last.at.clone(),
            history: instance
                .history
                .iter()
                .map(|passage| PassageView {
                    from: passage.from.clone(),
                    to: passage.to.clone(),
                    on: passage.on.clone(),
                    by: passage.by.clone(),
                    at: passage.at.clone(),
                    commit: None,
                })
                .collect(),
        })
    }
}

/// Returns the tasks that an instance has reached.
fn tasks(workflow: &'static WorkflowSpec, instance: &Instance, caller: &KnownCaller) -> Vec<TaskView> {
    let mut tasks: Vec<TaskView> = vec![];
    for passage in &instance.history {
        let left = tasks.iter_mut().find(|task| Some(&task.task_id) == passage.from.as_ref());
        if let Some(task) = left {
            let ends_as = workflow.state(&passage.to).and_then(|state| state.kind.outcome());
            if ends_as == Some(Outcome::Cancelled) {
                task.state = TaskState::Cancelled;
            } else {
                task.state = TaskState::Completed;
                task.decision = Some(passage.on.clone());
                task.completed_by = Some(passage.by.clone());
                task.completed_at = Some(passage.at.clone());
            }
        }
        let Some(task) = workflow.state(&passage.to).and_then(|state| state.kind.task()) else {
            continue;
        };
        let reached = TaskView {
            task_id: passage.to.clone(),
            name: task.name.into(),
            role: RoleNames::from_task(&task),
            state: TaskState::Ready,
            decisions: vec![],
            decision: None,
            completed_by: None,
            completed_at: None,
        };
        match tasks.iter_mut().find(|task| task.task_id == passage.to) {
            Some(before) => *before = reached,
            None => tasks.push(reached),
        }
    }
    if let Some(waiting) = tasks.iter_mut().find(|task| task.task_id == instance.state) {
        let decisions = workflow::decisions(workflow, instance, caller, &[]);
        waiting.decisions = decisions.into_iter().map(String::from).collect();
    }
    tasks
}
