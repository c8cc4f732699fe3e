//! Workflows as BPMN 2.0, for other engines and editors.
//!
//! | in the declaration | in BPMN |
//! |---|---|
//! | state with a task | `userTask` with the state's name for an id |
//! | transitions from it | `exclusiveGateway`, with a condition on the variable `decision` for each |
//! | effect of a transition | `serviceTask` |
//! | final state | `endEvent` with the state's name for an id |
//!
//! Ids of other elements begin with `_`, which states' names never do. Roles are only `potentialOwner`s; the permissions, requirements and
//! conditions of decisions are enforced by the server and not part of the executable process. There is no diagram.

use std::{borrow::Cow, fmt::Write as _};

use crate::spec::{Outcome, StateKind, TaskSpec, TransitionSpec, WorkflowSpec};

/// The variable in conditions: the decision on the last task.
const DECISION: &str = "decision";
const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance""#;

/// Returns the workflow as a document of BPMN 2.0.
pub fn render(workflow: &WorkflowSpec) -> String {
    let mut process = Process { xml: String::new(), flows: 0, effects: 0 };
    process.put(format_args!(r#"<startEvent id="_start"/>"#));
    process.flow("_start", workflow.initial, None);
    for state in workflow.states {
        match state.kind {
            StateKind::Task(task) => process.task(workflow, state.name, task),
            StateKind::Final(outcome) => {
                let name = match outcome {
                    Outcome::Completed => state.name.to_owned(),
                    Outcome::Cancelled => format!("{} (cancelled)", state.name),
                };
                process.put(format_args!(r#"<endEvent id="{}" name="{}"/>"#, state.name, escaped(&name)));
            }
        }
    }
    // A state may have the same name as the workflow.
    let clash = if workflow.state(workflow.id).is_some() { "_" } else { "" };
    format!(
        "{HEAD} id=\"_definitions\" targetNamespace=\"urn:tabellion:workflow:{id}\">\n  \
         <process id=\"{clash}{id}\" name=\"{name}\" isExecutable=\"true\">\n    \
         <documentation>{description}</documentation>\n{elements}  </process>\n</definitions>\n",
        id = workflow.id,
        name = escaped(workflow.name),
        description = escaped(workflow.description),
        elements = process.xml,
    )
}

/// The elements of a process that are written so far.
struct Process {
    xml: String,
    flows: usize,
    effects: usize,
}

impl Process {
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.xml, "    {element}");
    }

    /// Adds a task and the consequences of its decisions.
    fn task(&mut self, workflow: &WorkflowSpec, state: &str, task: TaskSpec) {
        let owners: String = task
            .roles
            .iter()
            .map(|role| {
                format!(
                    "<potentialOwner><resourceAssignmentExpression><formalExpression>{}</formalExpression>\
                     </resourceAssignmentExpression></potentialOwner>",
                    escaped(role)
                )
            })
            .collect();
        let name = escaped(task.name);
        self.put(format_args!(r#"<userTask id="{state}" name="{name}">{owners}</userTask>"#));
        let gateway = format!("_decision_{state}");
        self.put(format_args!(r#"<exclusiveGateway id="{gateway}"/>"#));
        self.flow(state, &gateway, None);
        for transition in workflow.from(state) {
            self.transition(&gateway, transition);
        }
    }

    /// Adds a transition, with its effect on the way.
    fn transition(&mut self, from: &str, transition: &TransitionSpec) {
        let condition = Some(transition.on);
        let Some(effect) = transition.effect else {
            return self.flow(from, transition.to, condition);
        };
        self.effects += 1;
        let id = format!("_effect_{}_{effect}", self.effects);
        self.flow(from, &id, condition);
        self.put(format_args!(r#"<serviceTask id="{id}" name="{}"/>"#, escaped(effect)));
        self.flow(&id, transition.to, None);
    }

    /// Adds a flow, which is taken if the decision is `condition`.
    fn flow(&mut self, from: &str, to: &str, condition: Option<&str>) {
        self.flows += 1;
        let head = format!(r#"sequenceFlow id="_flow_{}" sourceRef="{from}" targetRef="{to}""#, self.flows);
        match condition {
            None => self.put(format_args!("<{head}/>")),
            Some(decision) => self.put(format_args!(
                r#"<{head} name="{decision}"><conditionExpression xsi:type="tFormalExpression">{DECISION} == '{decision}'</conditionExpression></sequenceFlow>"#
            )),
        }
    }
}

/// Returns text for an element or an attribute in double quotes, without characters that XML does not permit.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !matches!(c, '&' | '<' | '>' | '"') && is_character(c) && !c.is_ascii_control();
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // In attributes they would become blanks.
            '\n' | '\t' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            c if is_character(c) => escaped.push(c),
            _ => {}
        }
    }
    escaped.into()
}

/// Returns true if XML 1.0 permits this character.
fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Starts, StateSpec};

    const fn transition(on: &'static str, to: &'static str, effect: Option<&'static str>) -> TransitionSpec {
        TransitionSpec { from: &["look"], on, to, effect, unless: &[], needs: &[], by: None, roles: &[] }
    }

    const STATES: &[StateSpec] = &[
        StateSpec {
            name: "look",
            kind: StateKind::Task(TaskSpec {
                name: "Look <closely>",
                roles: &["owner", "agent"],
                not_by_author: false,
            }),
        },
        StateSpec { name: "kept", kind: StateKind::Final(Outcome::Completed) },
        StateSpec { name: "left", kind: StateKind::Final(Outcome::Cancelled) },
    ];

    fn workflow(id: &'static str, transitions: &'static [TransitionSpec]) -> String {
        render(&WorkflowSpec {
            id,
            name: "Keep & \"leave\"",
            version: 1,
            description: "One\u{0}\u{fffe} look,\nthen <done>.",
            starts: Starts::Request,
            gates: &[],
            parameters: None,
            takes: None,
            initial: "look",
            states: STATES,
            transitions,
        })
    }

    #[test]
    fn a_workflow_becomes_tasks_gateways_and_events() {
        static TWO: [TransitionSpec; 2] =
            [transition("keep", "kept", Some("store")), transition("leave", "left", None)];
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" id="_definitions" targetNamespace="urn:tabellion:workflow:keeping">
  <process id="keeping" name="Keep &amp; &quot;leave&quot;" isExecutable="true">
    <documentation>One look,&#10;then &lt;done&gt;.</documentation>
    <startEvent id="_start"/>
    <sequenceFlow id="_flow_1" sourceRef="_start" targetRef="look"/>
    <userTask id="look" name="Look &lt;closely&gt;"><potentialOwner><resourceAssignmentExpression><formalExpression>owner</formalExpression></resourceAssignmentExpression></potentialOwner><potentialOwner><resourceAssignmentExpression><formalExpression>agent</formalExpression></resourceAssignmentExpression></potentialOwner></userTask>
    <exclusiveGateway id="_decision_look"/>
    <sequenceFlow id="_flow_2" sourceRef="look" targetRef="_decision_look"/>
    <sequenceFlow id="_flow_3" sourceRef="_decision_look" targetRef="_effect_1_store" name="keep"><conditionExpression xsi:type="tFormalExpression">decision == 'keep'</conditionExpression></sequenceFlow>
    <serviceTask id="_effect_1_store" name="store"/>
    <sequenceFlow id="_flow_4" sourceRef="_effect_1_store" targetRef="kept"/>
    <sequenceFlow id="_flow_5" sourceRef="_decision_look" targetRef="left" name="leave"><conditionExpression xsi:type="tFormalExpression">decision == 'leave'</conditionExpression></sequenceFlow>
    <endEvent id="kept" name="kept"/>
    <endEvent id="left" name="left (cancelled)"/>
  </process>
</definitions>
"#;
        assert_eq!(workflow("keeping", &TWO), expected);
    }

    #[test]
    fn ids_are_unique() {
        static ONE: [TransitionSpec; 1] = [transition("keep", "kept", None)];
        let bpmn = workflow("look", &ONE);
        assert!(bpmn.contains(r#"<process id="_look""#), "{bpmn}");
        let ids: Vec<_> = bpmn.split(" id=\"").skip(1).collect();
        let ids: Vec<_> = ids.iter().filter_map(|rest| rest.split('"').next()).collect();
        let mut distinct = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    }
}
