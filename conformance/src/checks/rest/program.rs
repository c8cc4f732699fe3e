//! Programs: calls that are made one after the other, built from the contract's examples.
//!
//! A note that a call changes has an id that the server made up. So an argument with a schema of a UUID, and a name that ends with that
//! of a UUID in an earlier result (`source_note_id`, `note_id`), is replaced by that result's: the latest first.

use std::collections::BTreeMap;

use tabellion_runtime::spec::RoleSpec;

use super::{
    faces::{Conditions, Face, Faces, changes},
    outcome::{Outcome, RestAnswer},
};
use crate::{
    checks::{gates, prelude::*},
    http::Request,
    request,
};

/// Calls of one caller, over documents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Program {
    /// Name of the caller's role.
    pub(super) role: Option<String>,
    pub(super) documents: BTreeMap<String, String>,
    pub(super) steps: Vec<Step>,
}

/// A call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Step {
    /// Label of the operation.
    operation: String,
    arguments: Value,
    condition: Condition,
}

/// The condition of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Condition {
    /// No condition.
    None,
    /// The content that the last answer reported.
    Same,
    /// A content that no document has.
    Other,
    /// The absence of the document.
    Absent,
}

impl Condition {
    pub(super) const ALL: [Self; 3] = [Self::Same, Self::Other, Self::Absent];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Same => " if the document is as it was",
            Self::Other => " if the document is another",
            Self::Absent => " if there is no document",
        }
    }
}

impl Step {
    fn new(tool: &ToolSpec, arguments: Value) -> Self {
        Self { operation: tool.label().to_owned(), arguments, condition: Condition::None }
    }

    /// Returns the arguments, as the example has them.
    pub(super) const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Returns true if it calls this operation.
    pub(super) fn is_of(&self, tool: &ToolSpec) -> bool {
        self.operation == tool.label()
    }

    /// Returns the operation.
    ///
    /// # Errors
    /// If a saved case is of another contract.
    pub(super) fn tool(&self, bench: &Bench<'_>) -> Result<&'static ToolSpec, Stop> {
        let tool = bench.subject.contract.operation(&self.operation);
        tool.ok_or_else(|| fail(format!("there is no operation `{}`", self.operation)))
    }
}

impl Step {
    /// Makes the call over REST; returns the answer.
    pub(super) fn send(&self, faces: &Faces<'_, '_>, memory: &mut Memory) -> Result<RestAnswer, Stop> {
        self.send_with(faces, memory, Conditions::default())
    }

    /// As [`send`](Self::send), in the session of these conditions, and asynchronously if they ask for it.
    pub(super) fn send_with(
        &self,
        faces: &Faces<'_, '_>,
        memory: &mut Memory,
        with: Conditions,
    ) -> Result<RestAnswer, Stop> {
        let tool = self.tool(faces.bench)?;
        let (path, request) = self.request(faces, memory, with)?;
        let answer = faces.send(&path, &request)?;
        if let Ok(outcome) = Outcome::of_rest(faces.bench.subject.contract, &answer) {
            memory.learn(tool, &outcome);
        }
        Ok(answer)
    }

    /// Returns the request that makes the call over REST, as [`send_with`](Self::send_with) does, and its path.
    ///
    /// # Errors
    /// "Not applicable", if the contract has no endpoint for it.
    pub(super) fn request(
        &self,
        faces: &Faces<'_, '_>,
        memory: &Memory,
        with: Conditions,
    ) -> Result<(String, Request), Stop> {
        let tool = self.tool(faces.bench)?;
        let conditions = Conditions {
            session: with.session,
            is_async: with.is_async,
            ..memory.conditions(self.condition)
        };
        faces.execution(tool, &memory.arguments(tool, &self.arguments), &conditions)
    }
}

/// The outcome of a step.
pub(super) struct Ran {
    /// The call, for people.
    pub(super) what: String,
    pub(super) outcome: Outcome,
    /// Number of recorded changes.
    pub(super) changes: usize,
    /// The last commit after it.
    pub(super) head: Option<String>,
}

/// Data from results so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Memory {
    /// Names and values of UUIDs, in the order of the results.
    ids: Vec<(String, String)>,
    base: Option<String>,
}

impl Memory {
    fn learn(&mut self, tool: &ToolSpec, outcome: &Outcome) {
        let Outcome::Done(done) = outcome else { return };
        self.base = done.base.clone().or(self.base.take());
        let wire = tool.output.wire();
        for (name, value) in done.result.as_object().into_iter().flatten() {
            let is_id = wire["properties"][name]["format"] == "uuid";
            self.ids.extend(value.as_str().filter(|_| is_id).map(|id| (name.clone(), id.to_owned())));
        }
    }

    /// Returns the arguments of a step, with the ids of this run.
    fn arguments(&self, tool: &ToolSpec, arguments: &Value) -> Value {
        let (wire, mut arguments) = (tool.input.wire(), arguments.clone());
        let mut taken: Vec<&str> = Vec::new();
        for (name, value) in arguments.as_object_mut().into_iter().flatten() {
            if wire["properties"][name]["format"] != "uuid" {
                continue;
            }
            let is_it = |(of, id): &&(String, String)| {
                (name == of || name.ends_with(&format!("_{of}"))) && !taken.contains(&id.as_str())
            };
            if let Some((_, id)) = self.ids.iter().rev().find(is_it) {
                *value = id.as_str().into();
                taken.push(id);
            }
        }
        arguments
    }

    fn conditions(&self, condition: Condition) -> Conditions {
        let base = match condition {
            Condition::None => None,
            Condition::Same => self.base.clone().map(Value::String),
            Condition::Other => {
                let base = self.base.as_deref().unwrap_or("0001");
                Some(base.chars().rev().collect::<String>().into())
            }
            Condition::Absent => Some(Value::Null),
        };
        Conditions { base, ..Conditions::default() }
    }
}

/// Makes a call.
pub(super) fn run(
    faces: &mut Faces<'_, '_>,
    face: Face,
    step: &Step,
    memory: &mut Memory,
    key: Option<&str>,
) -> Result<Ran, Stop> {
    let tool = step.tool(faces.bench)?;
    let arguments = memory.arguments(tool, &step.arguments);
    let conditions = Conditions { key: key.map(str::to_owned), ..memory.conditions(step.condition) };
    let before = faces.scene.view()?;
    let outcome = faces.call(face, tool, &arguments, &conditions)?;
    let after = faces.scene.view()?;
    memory.learn(tool, &outcome);
    Ok(Ran {
        what: format!("`{}`{} {arguments}", tool.label(), step.condition.name()),
        outcome,
        changes: changes(&before, &after),
        head: faces.scene.head(),
    })
}

/// Returns the step with an operation's first valid example.
pub(super) fn example(tool: &'static ToolSpec) -> Option<Step> {
    request::examples(tool).next().map(|it| Step::new(tool, it))
}

/// Returns the steps that call each changing operation with its valid examples, the first of each twice, and the others in between.
fn changing(bench: &Bench<'_>) -> Vec<Step> {
    let (changing, reading): (Vec<_>, Vec<_>) = operations(bench).partition(|tool| tool.mutating);
    let read = || {
        let steps = reading.iter().map(|tool| request::examples(tool).next().map(|it| (*tool, it)));
        steps.flatten()
    };
    let last = changing.len().saturating_sub(1);
    let mut steps = Vec::new();
    for (place, tool) in changing.iter().enumerate() {
        let mut examples: Vec<_> = request::examples(tool).collect();
        examples.extend(examples.first().cloned());
        steps.extend(examples.into_iter().map(|it| (*tool, it)));
        if place == 0 || place == last {
            steps.extend(read());
        }
    }
    let steps = steps.into_iter();
    steps.map(|(tool, arguments)| Step::new(tool, arguments)).collect()
}

/// Returns the operations that programs call: those without approval by a person, who can't be asked over REST.
pub(super) fn operations<'s>(bench: &Bench<'s>) -> impl Iterator<Item = &'static ToolSpec> + use<'s> {
    let all = bench.subject.operations();
    all.filter(|tool| tool.approval.is_none())
}

/// Returns the role that may call the most; `None` if the contract has no roles.
pub(super) fn writer(bench: &Bench<'_>) -> Option<&'static RoleSpec> {
    let may = |role: &RoleSpec| operations(bench).filter(|tool| tool.roles.contains(&role.name)).count();
    let roles = bench.subject.contract.auth?.roles.iter();
    // The first of several, since `max_by_key` returns the last.
    roles.rev().max_by_key(|role| may(role))
}

fn named(role: Option<&RoleSpec>) -> Option<String> {
    role.map(|role| role.name.to_owned())
}

/// Returns the programs, by name.
pub(super) fn all(bench: &Bench<'_>) -> Vec<(String, Program)> {
    let contract = bench.subject.contract;
    let mut programs = Vec::new();
    let roles = contract.auth.map_or(&[][..], |auth| auth.roles);
    let roles: Vec<_> = match roles {
        [] => vec![None],
        roles => roles.iter().map(Some).collect(),
    };
    for role in roles {
        let steps = changing(bench).into_iter().chain(invalid(bench)).collect();
        let name =
            role.map_or_else(|| "everything".to_owned(), |role| format!("everything, as {}", role.name));
        let documents = BTreeMap::new();
        let role = named(role);
        programs.push((name, Program { role, documents, steps }));
    }
    programs.extend(conditional(bench));
    programs.extend(of_gates(bench));
    programs
}

/// Returns the steps with the contract's invalid examples.
fn invalid(bench: &Bench<'_>) -> Vec<Step> {
    let of = |tool: &'static ToolSpec| {
        request::invalid_examples(tool).map(move |arguments| Step::new(tool, arguments))
    };
    operations(bench).flat_map(of).collect()
}

/// Returns, for each changing operation, the programs that call it with a condition, after those before it and after reading.
fn conditional(bench: &Bench<'_>) -> Vec<(String, Program)> {
    let mut programs = Vec::new();
    for (tool, before) in prefixes(bench) {
        for condition in Condition::ALL {
            let Some(step) = example(tool) else {
                continue;
            };
            let mut steps = before.clone();
            steps.push(Step { condition, ..step });
            let program = Program { role: named(writer(bench)), documents: BTreeMap::new(), steps };
            programs.push((format!("`{}`{}", tool.label(), condition.name()), program));
        }
    }
    programs
}

/// Returns each changing operation with calls that prepare for it: those of the other changing operations before it, or of itself if it is
/// the first.
pub(super) fn prefixes(bench: &Bench<'_>) -> Vec<(&'static ToolSpec, Vec<Step>)> {
    let changing: Vec<_> = operations(bench).filter(|tool| tool.mutating).collect();
    let all = changing.iter().enumerate().map(|(place, tool)| {
        let before = changing[..place.max(1)].iter().copied().filter_map(example);
        // Twice, since an operation may take two results of another.
        let steps: Vec<_> = before.flat_map(|step| [step.clone(), step]).collect();
        (*tool, steps)
    });
    all.collect()
}

/// Returns the programs of one call each that break a clause of a gate.
fn of_gates(bench: &Bench<'_>) -> Vec<(String, Program)> {
    let breaking = gates::breaking(bench).into_iter();
    let programs = breaking.map(|(name, attempt)| {
        let step =
            Step { operation: attempt.operation, arguments: attempt.request, condition: Condition::None };
        let program = Program { role: attempt.role, documents: attempt.documents, steps: vec![step] };
        (name, program)
    });
    programs.collect()
}
