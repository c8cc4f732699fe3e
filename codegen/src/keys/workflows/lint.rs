//! Lints of a workflow: its names exist, at most one transition leads from a state on an event, every state is reachable, and from every
//! state that is not final, a final one is reachable.

use std::collections::BTreeSet;

use tabellion_runtime::{
    schema::compile,
    spec::{AUTHOR, Starts},
};

use super::{calls::MEMBERS, read::Workflow};
use crate::{contract::Contract, pointer, problem::Problem};

/// The problems of one workflow.
struct Lint<'a> {
    contract: &'a Contract,
    workflow: &'a Workflow,
    at: String,
    problems: &'a mut Vec<Problem>,
}

pub(super) fn workflow(contract: &Contract, id: &str, workflow: &Workflow, problems: &mut Vec<Problem>) {
    let mut lint = Lint { contract, workflow, at: pointer::push("/workflows", id), problems };
    lint.whole();
    let is_sound = lint.states() & lint.transitions();
    if is_sound {
        lint.ways();
    }
}

impl Lint<'_> {
    fn say(&mut self, at: &str, message: String, help: impl Into<String>) {
        let at = format!("{}{at}", self.at);
        self.problems.push(self.contract.document.problem(at, message, help.into()));
    }

    fn whole(&mut self) {
        for (i, gate) in self.workflow.gates.iter().enumerate() {
            if !self.contract.spec.gates.contains_key(gate) {
                let help = "add it to `gates` in contract.json, or correct its spelling";
                self.say(&format!("/gates/{i}"), format!("there is no gate `{gate}`"), help);
            }
        }
        for (name, schema) in &self.workflow.about {
            let at = pointer::push("/about", name);
            if MEMBERS.contains(name) {
                let message = format!("every instance has a member `{name}` already");
                self.say(&at, message, "choose a different name");
            }
            if let Err(error) = compile(schema) {
                self.say(&at, format!("this is no JSON Schema: {error}"), "correct it");
            }
        }
        let Some(parameters) = &self.workflow.parameters else {
            return;
        };
        if self.workflow.starts == Starts::Tool {
            let message = "a workflow that a tool starts takes no parameters".into();
            self.say("/parameters", message, "remove them, or let a request start it");
        }
        if let Err(error) = compile(parameters) {
            self.say("/parameters", format!("this is no JSON Schema: {error}"), "correct it");
        }
    }

    fn role(&mut self, at: &str, role: &str) {
        let roles = self.contract.spec.auth.as_ref().map(|auth| &auth.roles);
        if role == AUTHOR || roles.is_some_and(|roles| roles.contains_key(role)) {
            return;
        }
        let known: Vec<_> = roles.into_iter().flatten().map(|(name, _)| *name).collect();
        let known = [known, vec![AUTHOR]].concat().join(", ");
        self.say(at, format!("there is no role `{role}`"), format!("the roles are {known}"));
    }

    /// Returns true if the state exists; reports it otherwise.
    fn exists(&mut self, at: &str, state: &str) -> bool {
        let exists = self.workflow.states.contains_key(state);
        if !exists {
            let help = "add it to `states`, or correct its spelling";
            self.say(at, format!("there is no state `{state}`"), help);
        }
        exists
    }

    fn states(&mut self) -> bool {
        let workflow = self.workflow;
        for (name, state) in &workflow.states {
            for role in state.task().into_iter().flat_map(|task| task.roles) {
                self.role(&format!("/states/{name}/task/role"), role);
            }
        }
        self.exists("/initial", workflow.initial)
    }

    fn transitions(&mut self) -> bool {
        let workflow = self.workflow;
        let mut is_sound = true;
        let mut seen = BTreeSet::new();
        for (i, transition) in workflow.transitions.iter().enumerate() {
            let at = format!("/transitions/{i}");
            is_sound &= self.exists(&format!("{at}/to"), transition.to);
            for from in transition.from {
                is_sound &= self.exists(&format!("{at}/from"), from);
                if workflow.states.get(*from).is_some_and(|state| state.outcome().is_some()) {
                    let message = format!("`{from}` is final, so nothing leads from it");
                    self.say(
                        &format!("{at}/from"),
                        message,
                        "remove the transition, or give the state a task",
                    );
                }
                if !seen.insert((from, transition.on)) {
                    let message = format!("`{}` leads from `{from}` twice", transition.on);
                    self.say(&format!("{at}/on"), message, "choose a different event");
                }
            }
            for role in transition.roles {
                self.role(&format!("{at}/role"), role);
            }
            if let Some(tool) = transition.by {
                self.tool(&format!("{at}/by"), tool);
            }
        }
        is_sound
    }

    fn tool(&mut self, at: &str, label: &str) {
        match self.contract.operation(label) {
            None => {
                let help = "name a tool, or an operation as `tool/operation`";
                self.say(at, format!("there is no tool `{label}`"), help);
            }
            Some(tool) if !tool.spec.mutating => {
                let message = format!("`{label}` changes nothing, so its calls can't be an event");
                self.say(at, message, "name a mutating tool");
            }
            Some(_) => {}
        }
    }

    /// Checks that every state is reachable, and leads to a final one.
    fn ways(&mut self) {
        let workflow = self.workflow;
        let mut reached = BTreeSet::from([workflow.initial]);
        let mut waiting = vec![workflow.initial];
        while let Some(state) = waiting.pop() {
            for transition in workflow.from(state) {
                if reached.insert(transition.to) {
                    waiting.push(transition.to);
                }
            }
        }
        let mut ending: BTreeSet<&str> = workflow
            .states
            .iter()
            .filter(|(_, state)| state.outcome().is_some())
            .map(|(name, _)| *name)
            .collect();
        loop {
            let leads = |state: &&&str| workflow.from(state).any(|transition| ending.contains(transition.to));
            let more: Vec<_> = workflow.states.keys().filter(leads).copied().collect();
            let before = ending.len();
            ending.extend(more);
            if ending.len() == before {
                break;
            }
        }
        for state in workflow.states.keys() {
            let at = pointer::push("/states", state);
            if !reached.contains(state) {
                let message = format!("no transition leads to `{state}`");
                self.say(&at, message, "add one, or remove the state");
            } else if !ending.contains(state) {
                let message = format!("from `{state}`, no final state can be reached");
                self.say(&at, message, "add a transition from it, or make it final");
            }
        }
    }
}
