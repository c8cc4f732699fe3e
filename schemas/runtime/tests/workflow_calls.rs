//! Requests of clients about workflows, and the instances that they are shown, as tables.

use chrono::DateTime;
use serde_json::{Value, json};
use tabellion_runtime::{
    ContractSpec, Identity, KnownCaller, Schema,
    spec::{AUTHOR, AuthSpec, Outcome, Starts, StateKind, StateSpec, TaskSpec, TransitionSpec, WorkflowSpec},
    workflow::{Instance, Passage},
    workflow_calls::{CompleteTask, InstanceView, RoleNames, StartWorkflow, StartedInstance},
};

const fn task(name: &'static str, roles: &'static [&'static str]) -> StateSpec {
    StateSpec { name, kind: StateKind::Task(TaskSpec { name, roles, not_by_author: false }) }
}

const fn end(name: &'static str, outcome: Outcome) -> StateSpec {
    StateSpec { name, kind: StateKind::Final(outcome) }
}

const fn on(from: &'static [&'static str], on: &'static str, to: &'static str) -> TransitionSpec {
    TransitionSpec { from, on, to, effect: None, unless: &[], needs: &[], by: None, roles: &[] }
}

static PARAMETERS: Schema = Schema::plain(
    r#"{ "type": "object", "required": ["topic"], "properties": { "topic": { "type": "string" }, "depth": { "type": "integer", "default": 3 } } }"#,
);

static LOOP: WorkflowSpec = WorkflowSpec {
    id: "loop",
    name: "Loop",
    version: 2,
    description: "",
    starts: Starts::Request,
    gates: &[],
    parameters: Some(&PARAMETERS),
    takes: None,
    initial: "look",
    states: &[
        task("look", &["owner", "agent"]),
        task("mend", &[AUTHOR]),
        end("kept", Outcome::Completed),
        end("left", Outcome::Cancelled),
    ],
    transitions: &[
        on(&["look"], "keep", "kept"),
        on(&["look"], "return", "mend"),
        TransitionSpec { by: Some("write"), ..on(&["look", "mend"], "mended", "look") },
        TransitionSpec { roles: &[AUTHOR], ..on(&["look", "mend"], "leave", "left") },
    ],
};

static BARE: WorkflowSpec = WorkflowSpec { id: "bare", parameters: None, takes: None, ..LOOP };
static BY_TOOL: WorkflowSpec =
    WorkflowSpec { id: "by_tool", starts: Starts::Tool, parameters: None, takes: None, ..LOOP };
static CONTRACT: ContractSpec = ContractSpec { workflows: &[&LOOP, &BARE, &BY_TOOL], ..ContractSpec::EMPTY };

/// A caller with this role, or the one who started all instances.
fn caller(role: &'static str) -> KnownCaller {
    let auth = AuthSpec { roles: &[], resources: &[] };
    let caller = KnownCaller::human(&auth, Identity::local(role), role, vec![]);
    KnownCaller { roles: vec![role], ..caller }
}

/// An instance of `LOOP` after these events, with the resulting states.
fn after(events: &[(&str, &str)]) -> Instance {
    let mut instance = Instance {
        workflow: LOOP.id.into(),
        version: LOOP.version,
        state: LOOP.initial.into(),
        author: "ada".into(),
        author_name: None,
        author_identity: Some(Identity::local("author")),
        history: vec![Passage {
            from: None,
            to: LOOP.initial.into(),
            on: "start".into(),
            by: "ada".into(),
            at: "2026-01-01T00:00:00Z".into(),
        }],
    };
    for (number, (on, to)) in events.iter().enumerate() {
        let from = std::mem::replace(&mut instance.state, (*to).into());
        let at = DateTime::from_timestamp(number as i64, 0).expect("a time");
        instance.history.push(Passage {
            from: Some(from),
            to: (*to).into(),
            on: (*on).into(),
            by: format!("{on}er"),
            at: at.to_rfc3339(),
        });
    }
    instance
}

#[test]
fn tasks_are_shown_as_they_are_now() {
    for (events, status, expected) in [
        (&[][..], "active", &[("look", "ready", None)][..]),
        (&[("return", "mend")], "active", &[("look", "completed", Some("return")), ("mend", "ready", None)]),
        (
            &[("return", "mend"), ("mended", "look")],
            "active",
            &[("look", "ready", None), ("mend", "completed", Some("mended"))],
        ),
        (&[("mended", "look")], "active", &[("look", "ready", None)]),
        (&[("keep", "kept")], "completed", &[("look", "completed", Some("keep"))]),
        (
            &[("return", "mend"), ("leave", "left")],
            "cancelled",
            &[("look", "completed", Some("return")), ("mend", "cancelled", None)],
        ),
    ] {
        let instance = after(events);
        let view = InstanceView::new(&LOOP, "i1", &instance, &caller("owner")).expect("it is sound");
        let view = serde_json::to_value(view).expect("JSON");
        assert_eq!(view["status"], status, "{events:?}");
        let tasks = view["tasks"].as_array().expect("tasks");
        let found: Vec<_> = tasks
            .iter()
            .map(|task| {
                let text = |name: &str| task[name].as_str();
                assert_eq!(task["completed_by"].is_null(), text("decision").is_none());
                (text("task_id").expect("an id"), text("state").expect("a state"), text("decision"))
            })
            .collect();
        assert_eq!(found, expected, "{events:?}");
        let next = StartedInstance::new(&LOOP, "i1", &instance, &caller("owner")).next_task;
        let waits = expected.iter().find(|(_, state, _)| *state == "ready");
        assert_eq!(next.map(|task| task.task_id), waits.map(|(id, ..)| (*id).to_owned()));
    }
}

#[test]
fn decisions_are_those_of_the_caller_now() {
    for (events, who, expected) in [
        (&[][..], "owner", &[&["keep", "return"][..]][..]),
        (&[], "author", &[&["leave"]]),
        (&[], "reader", &[&[]]),
        (&[("return", "mend")], "owner", &[&[], &[]]),
        (&[("return", "mend")], "author", &[&[], &["leave"]]),
        (&[("keep", "kept")], "owner", &[&[]]),
    ] {
        let view = InstanceView::new(&LOOP, "i1", &after(events), &caller(who)).expect("it is sound");
        let found: Vec<_> = view.tasks.iter().map(|task| &task.decisions).collect();
        assert_eq!(found, expected, "{who} {events:?}");
        assert_eq!(view.tasks[0].role, RoleNames::Several(vec!["owner".into(), "agent".into()]));
    }
}

#[test]
fn what_is_no_instance_of_the_workflow_is_not_shown() {
    let sound = after(&[("return", "mend")]);
    let with = |change: fn(&mut Instance)| {
        let mut instance = sound.clone();
        change(&mut instance);
        instance
    };
    assert!(InstanceView::new(&LOOP, "i1", &sound, &caller("owner")).is_some());
    for broken in [
        with(|it| it.workflow = "bare".into()),
        with(|it| it.version = 0),
        with(|it| it.state = "nowhere".into()),
        with(|it| it.history.clear()),
        with(|it| it.history[1].at = "yesterday".into()),
        with(|it| it.history[1].to = "nowhere".into()),
        with(|it| it.history[1].on = "sleep".into()),
    ] {
        assert_eq!(InstanceView::new(&LOOP, "i1", &broken, &caller("owner")), None, "{broken:?}");
    }
}

#[test]
fn parameters_are_checked_and_completed() {
    for (workflow, parameters, expected) in [
        ("loop", json!({ "topic": "x" }), Ok(json!({ "topic": "x", "depth": 3 }))),
        (
            "loop",
            json!({ "topic": "x", "depth": 5, "more": [] }),
            Ok(json!({ "topic": "x", "depth": 5, "more": [] })),
        ),
        ("loop", json!({}), Err(json!({ "violations": "/parameters" }))),
        ("loop", json!({ "topic": 1 }), Err(json!({ "violations": "/parameters/topic" }))),
        ("bare", json!({}), Ok(json!({}))),
        ("bare", json!({ "topic": "x" }), Err(json!({ "reason": "parameters" }))),
        ("by_tool", json!({}), Err(json!({ "reason": "started_by_tool" }))),
        ("nothing", json!({}), Err(json!({ "reason": "not_found" }))),
    ] {
        let request: StartWorkflow =
            serde_json::from_value(json!({ "workflow_id": workflow, "parameters": parameters }))
                .expect("a request");
        let admitted = request.admit(&CONTRACT);
        let found = match admitted {
            Ok((spec, parameters)) => {
                assert_eq!(spec.id, workflow);
                Ok(Value::Object(parameters))
            }
            Err(failure) => match failure.data.get("violations") {
                Some(violations) => Err(json!({ "violations": violations[0]["pointer"] })),
                None => Err(json!({ "reason": failure.data["reason"] })),
            },
        };
        assert_eq!(found, expected, "{workflow} {parameters}");
    }
}

#[test]
fn a_decision_is_of_the_task_that_waits() {
    let waits = after(&[("return", "mend")]);
    let ended = after(&[("keep", "kept")]);
    for (instance, task, decision, expected) in [
        (&waits, "mend", "leave", None),
        // The engine decides whether it leads from there.
        (&waits, "mend", "keep", None),
        (&waits, "mend", "mended", Some("decision")),
        (&waits, "mend", "sleep", Some("decision")),
        (&waits, "look", "keep", Some("not_ready")),
        (&waits, "kept", "keep", Some("not_found")),
        (&waits, "nothing", "keep", Some("not_found")),
        (&ended, "look", "keep", Some("not_ready")),
    ] {
        let request: CompleteTask =
            serde_json::from_value(json!({ "instance_id": "i1", "task_id": task, "decision": decision }))
                .expect("a request");
        let refused = request.check(&LOOP, instance).err();
        let reason = refused.as_ref().and_then(|failure| failure.data["reason"].as_str());
        assert_eq!(reason, expected, "{task} {decision}");
    }
}
