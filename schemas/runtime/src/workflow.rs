//! Workflows as pure functions: a [`WorkflowSpec`], an instance, an event and an actor give the next instance, or a refusal.
//!
//! The store of the instances makes each step one commit, together with the transition's effect. This module does not know effects, or when
//! a proposal is stale: the event carries the conditions.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    auth::{NEEDS, REASON},
    caller::KnownCaller,
    failure::{Failure, FailureKind},
    identity::{Identity, PersonNames},
    spec::{AUTHOR, Outcome, StateSpec, TransitionSpec, Unless, WorkflowSpec},
    text::is_blank,
};

/// Name of the event that starts an instance, in its history.
pub const START: &str = "start";

/// An instance of a workflow, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Id of the workflow.
    pub workflow: String,
    /// Version of the workflow at the start.
    pub version: u32,
    /// Name of the state.
    pub state: String,
    /// Name of the caller who started it, as shown to people.
    pub author: String,
    /// The person's own name, if `author` is their address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_name: Option<String>,
    /// Identity of that caller; `None` in instances from before identities were stored. Such an instance belongs to no caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_identity: Option<Identity>,
    /// Its history, oldest first: at least the start.
    pub history: Vec<Passage>,
}

/// One step in the history of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The state before; `None` at the start.
    pub from: Option<String>,
    /// The state after.
    pub to: String,
    /// The event.
    pub on: String,
    /// The caller's name, as shown to people.
    pub by: String,
    /// Time, in UTC, to the millisecond (RFC 3339).
    pub at: String,
}

/// An event of an instance.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Name of the event.
    pub on: &'a str,
    /// The tool whose call it is; `None` for a decision on a task.
    pub tool: Option<&'a str>,
    /// Data of the event, such as the reviewer's `notes`.
    pub given: &'a Map<String, Value>,
    /// The conditions that hold now.
    pub holds: &'a [Unless],
    /// Now.
    pub at: DateTime<Utc>,
}

/// The refusal of an event. The instance does not change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The instance belongs to another workflow, or is in a state that the workflow lacks.
    #[error(
        "the instance is in `{state}` of `{workflow}`, version {version}, which this server does not know"
    )]
    Unknown {
        /// Id of its workflow.
        workflow: String,
        /// Version of its workflow.
        version: u32,
        /// Its state.
        state: String,
    },
    /// The instance has ended.
    #[error("it was decided already, and has ended as `{state}`; nothing can be decided any more")]
    Ended {
        /// The final state.
        state: &'static str,
    },
    /// No transition leads from the state on the event.
    #[error(
        "`{on}` is not possible in `{state}`; {}",
        if possible.is_empty() { "it is for others to go on".into() } else { format!("possible are {}", possible.join(", ")) }
    )]
    NotReady {
        /// The event.
        on: String,
        /// The state.
        state: &'static str,
        /// The events that this actor may cause.
        possible: Vec<&'static str>,
    },
    /// The event is the call of a tool; this is a decision, or the call of a different tool.
    #[error("`{on}` happens by a call of `{tool}`")]
    ByTool {
        /// The event.
        on: &'static str,
        /// The tool.
        tool: &'static str,
    },
    /// The event is a decision, and this is the call of a tool.
    #[error("`{on}` is a decision, which no call of a tool can make")]
    ByDecision {
        /// The event.
        on: &'static str,
    },
    /// The actor lacks all of the roles.
    #[error("`{on}` needs the role {}", needs.join(" or "))]
    Role {
        /// The event.
        on: &'static str,
        /// The roles.
        needs: &'static [&'static str],
    },
    /// The actor has started the instance and must not decide on it.
    #[error("`{on}` is not for the author of what is decided on; a different caller must do it")]
    Author {
        /// The event.
        on: &'static str,
    },
    /// The event lacks required members.
    #[error("`{on}` needs {}", missing.join(" and "))]
    Needs {
        /// The event.
        on: &'static str,
        /// The missing or blank members.
        missing: Vec<&'static str>,
    },
    /// The subject of the decision has changed since it was shown.
    #[error("`{on}` is on what was shown, and that has changed since: look at it again, and decide then")]
    Moved {
        /// The event.
        on: &'static str,
    },
    /// The subject of the instance has changed since.
    #[error("`{on}` is not possible any more: what it is about has changed since; revise it, or reject it")]
    Stale {
        /// The event.
        on: &'static str,
    },
}

impl Refusal {
    /// Returns the reason in one word, for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unknown { .. } | Self::Ended { .. } | Self::NotReady { .. } => "not_ready",
            Self::ByTool { .. } | Self::ByDecision { .. } => "by",
            Self::Role { .. } => "role",
            Self::Author { .. } => "own",
            Self::Needs { .. } => "needs",
            Self::Stale { .. } => "stale",
            Self::Moved { .. } => "moved",
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let kind = match &refusal {
            Refusal::Unknown { .. }
            | Refusal::Ended { .. }
            | Refusal::NotReady { .. }
            | Refusal::Stale { .. }
            | Refusal::Moved { .. } => FailureKind::Conflict,
            Refusal::Role { .. } | Refusal::Author { .. } => FailureKind::Unauthenticated,
            Refusal::ByTool { .. } | Refusal::ByDecision { .. } | Refusal::Needs { .. } => {
                FailureKind::Invalid
            }
        };
        let failure = Self::new(kind, refusal.to_string()).with(REASON, refusal.reason());
        match refusal {
            Refusal::Role { needs, .. } => failure.with(NEEDS, needs.to_vec()),
            Refusal::Needs { missing, .. } => failure.with(NEEDS, missing),
            _ => failure,
        }
    }
}

impl Instance {
    /// Starts an instance of a workflow.
    pub fn start(spec: &WorkflowSpec, author: &KnownCaller, at: DateTime<Utc>) -> Self {
        Self {
            workflow: spec.id.into(),
            version: spec.version,
            state: spec.initial.into(),
            history: vec![Passage {
                from: None,
                to: spec.initial.into(),
                on: START.into(),
                by: author.name.to_string(),
                at: moment(at),
            }],
            author: author.name.to_string(),
            author_name: author.own_name.as_deref().map(str::to_owned),
            author_identity: Some(author.identity.clone()),
        }
    }

    /// Returns true if `caller` has started it.
    pub fn is_by(&self, caller: &KnownCaller) -> bool {
        let author = self.author_identity.as_ref();
        author.is_some_and(|author| author.is_same_actor(&caller.identity))
    }

    /// Returns true if `caller` must not decide on it: its author, and everyone who by name or address may be the author. That covers a
    /// person with two keys, and instances from before identities were stored.
    fn bars(&self, caller: &KnownCaller) -> bool {
        let author = PersonNames { shown: &self.author, own: self.author_name.as_deref() };
        self.is_by(caller) || author.may_be(caller.person())
    }

    /// Returns its outcome; `None` if it has not ended, or is in an unknown state.
    pub fn outcome(&self, spec: &WorkflowSpec) -> Option<Outcome> {
        spec.state(&self.state)?.kind.outcome()
    }
}

/// Returns the instance after `event`.
///
/// # Errors
/// If the event is not possible, or `actor` may not cause it.
pub fn step(
    spec: &WorkflowSpec,
    instance: &Instance,
    event: &Event<'_>,
    actor: &KnownCaller,
) -> Result<Instance, Refusal> {
    let transition = transition(spec, instance, event, actor)?;
    let mut next = instance.clone();
    next.history.push(Passage {
        from: Some(std::mem::replace(&mut next.state, transition.to.into())),
        to: transition.to.into(),
        on: transition.on.into(),
        by: actor.name.to_string(),
        at: moment(event.at),
    });
    Ok(next)
}

/// Returns the transition that [`step`] makes; its effect belongs into the same commit.
///
/// # Errors
/// As [`step`].
pub fn transition(
    spec: &WorkflowSpec,
    instance: &Instance,
    event: &Event<'_>,
    actor: &KnownCaller,
) -> Result<&'static TransitionSpec, Refusal> {
    let state = spec.state(&instance.state).filter(|_| instance.workflow == spec.id);
    let state = state.ok_or_else(|| Refusal::Unknown {
        workflow: instance.workflow.clone(),
        version: instance.version,
        state: instance.state.clone(),
    })?;
    if state.kind.outcome().is_some() {
        return Err(Refusal::Ended { state: state.name });
    }
    let transition = spec.from(state.name).find(|transition| transition.on == event.on).ok_or_else(|| {
        Refusal::NotReady {
            on: event.on.into(),
            state: state.name,
            possible: spec
                .from(state.name)
                .filter(|transition| permit(transition, state, instance, actor).is_ok())
                .map(|transition| transition.on)
                .collect(),
        }
    })?;
    let on = transition.on;
    match transition.by {
        Some(tool) if event.tool != Some(tool) => return Err(Refusal::ByTool { on, tool }),
        None if event.tool.is_some() => return Err(Refusal::ByDecision { on }),
        _ => {}
    }
    permit(transition, state, instance, actor)?;
    let is_given = |member: &&str| match event.given.get(*member) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !is_blank(text),
        Some(_) => true,
    };
    let missing: Vec<_> = transition.needs.iter().copied().filter(|member| !is_given(member)).collect();
    if !missing.is_empty() {
        return Err(Refusal::Needs { on, missing });
    }
    let hindrance = transition.unless.iter().find(|condition| event.holds.contains(condition));
    match hindrance {
        Some(Unless::Stale) => Err(Refusal::Stale { on }),
        Some(Unless::Moved) => Err(Refusal::Moved { on }),
        None => Ok(transition),
    }
}

/// Refuses a transition from `state` to an actor without its roles, and to the author if it is not for the author.
fn permit(
    transition: &TransitionSpec,
    state: &StateSpec,
    instance: &Instance,
    actor: &KnownCaller,
) -> Result<(), Refusal> {
    let (on, needs) = (transition.on, transition.roles_from(state.kind));
    let has = |role: &&str| (*role == AUTHOR && instance.is_by(actor)) || actor.roles.contains(role);
    if !needs.is_empty() && !needs.iter().any(has) {
        return Err(Refusal::Role { on, needs });
    }
    if transition.bars_author(state.kind) && instance.bars(actor) {
        return Err(Refusal::Author { on });
    }
    Ok(())
}

/// Returns the decisions that `caller` may make on an instance now, where these conditions hold.
pub fn decisions(
    spec: &WorkflowSpec,
    instance: &Instance,
    caller: &KnownCaller,
    holds: &[Unless],
) -> Vec<&'static str> {
    let nothing = Map::new();
    let may = |on: &&str| {
        let event = Event { on, tool: None, given: &nothing, holds: &[], at: DateTime::UNIX_EPOCH };
        matches!(transition(spec, instance, &event, caller), Ok(_) | Err(Refusal::Needs { .. }))
    };
    let possible = spec.from(&instance.state);
    let possible =
        possible.filter(|transition| !transition.unless.iter().any(|unless| holds.contains(unless)));
    possible.map(|transition| transition.on).filter(may).collect()
}

fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
