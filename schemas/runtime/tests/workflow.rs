//! Random programs of events, compared with a model of one workflow that was written by hand and shares no code with the engine.

use chrono::DateTime;
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    Failure, FailureKind, Identity, KnownCaller,
    spec::{
        AUTHOR, CallerKind, Outcome, Starts, StateKind, StateSpec, TaskSpec, TransitionSpec, Unless,
        WorkflowSpec,
    },
    workflow::{Event, Instance, Refusal, step, transition},
};

const fn task(name: &'static str, roles: &'static [&'static str], not_by_author: bool) -> StateSpec {
    StateSpec { name, kind: StateKind::Task(TaskSpec { name, roles, not_by_author }) }
}

const fn end(name: &'static str, outcome: Outcome) -> StateSpec {
    StateSpec { name, kind: StateKind::Final(outcome) }
}

const fn on(from: &'static [&'static str], on: &'static str, to: &'static str) -> TransitionSpec {
    TransitionSpec { from, on, to, effect: None, unless: &[], needs: &[], by: None, roles: &[] }
}

static REVIEW: WorkflowSpec = WorkflowSpec {
    id: "agent_note_review",
    name: "Agent Note Review",
    version: 3,
    description: "",
    starts: Starts::Tool,
    gates: &[],
    parameters: None,
    takes: None,
    initial: "human_review",
    states: &[
        task("human_review", &["reviewer"], true),
        task("needs_revision", &[AUTHOR], false),
        end("approved", Outcome::Completed),
        end("rejected", Outcome::Completed),
        end("withdrawn", Outcome::Cancelled),
    ],
    transitions: &[
        TransitionSpec {
            effect: Some("publish"),
            unless: &[Unless::Stale],
            ..on(&["human_review"], "approve", "approved")
        },
        TransitionSpec { needs: &["notes"], ..on(&["human_review"], "reject", "rejected") },
        TransitionSpec { needs: &["notes"], ..on(&["human_review"], "needs_revision", "needs_revision") },
        TransitionSpec {
            by: Some("update_note"),
            ..on(&["human_review", "needs_revision"], "revise", "human_review")
        },
        TransitionSpec {
            roles: &[AUTHOR],
            ..on(&["human_review", "needs_revision"], "withdraw", "withdrawn")
        },
    ],
};

/// A person's description of the workflow: the state, and the author of the proposal.
struct Model {
    state: &'static str,
    author: &'static str,
}

/// An attempt, in plain words.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    event: &'static str,
    actor: &'static str,
    is_reviewer: bool,
    tool: Option<&'static str>,
    notes: Option<&'static str>,
    is_stale: bool,
}

impl Model {
    /// Returns the new state, or the reason of the refusal.
    fn attempt(&self, it: Attempt) -> Result<&'static str, &'static str> {
        let is_author = it.actor == self.author;
        let has_notes = it.notes.is_some_and(|notes| !notes.trim().is_empty());
        let is_decision = || if it.tool.is_some() { Err("by") } else { Ok(()) };
        match (self.state, it.event) {
            ("human_review", "approve" | "reject" | "needs_revision") => {
                is_decision()?;
                if !it.is_reviewer {
                    return Err("role");
                }
                if is_author {
                    return Err("own");
                }
                match it.event {
                    "approve" if it.is_stale => Err("stale"),
                    "approve" => Ok("approved"),
                    _ if !has_notes => Err("needs"),
                    "reject" => Ok("rejected"),
                    _ => Ok("needs_revision"),
                }
            }
            ("human_review" | "needs_revision", "revise") => match it.tool {
                Some("update_note") => Ok("human_review"),
                _ => Err("by"),
            },
            ("human_review" | "needs_revision", "withdraw") => {
                is_decision()?;
                if is_author { Ok("withdrawn") } else { Err("role") }
            }
            _ => Err("not_ready"),
        }
    }
}

/// Numbers of a linear congruential generator, so that a failure has one number to repeat it.
struct Dice(u64);

impl Dice {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from[(self.0 >> 33) as usize % from.len()]
    }

    fn attempt(&mut self) -> Attempt {
        let mostly = [None, None, None];
        Attempt {
            event: self.pick(&[
                "approve",
                "reject",
                "needs_revision",
                "revise",
                "revise",
                "withdraw",
                "dance",
            ]),
            actor: self.pick(&["agent:a/1", "ann", "bob"]),
            is_reviewer: self.pick(&[true, false]),
            tool: self.pick(
                &[&mostly[..], &[Some("update_note"), Some("update_note"), Some("create_note")]].concat(),
            ),
            notes: self.pick(&[None, Some(""), Some(" \n"), Some("too long")]),
            is_stale: self.pick(&[true, false]),
        }
    }
}

fn caller(identity: &str, is_reviewer: bool) -> KnownCaller {
    KnownCaller {
        kind: CallerKind::Human,
        identity: Identity::local(identity),
        name: identity.into(),
        own_name: None,
        agent: None,
        roles: if is_reviewer { vec!["owner", "reviewer"] } else { vec!["owner"] },
        scopes: vec![],
    }
}

fn made(instance: &Instance, it: Attempt, at: i64) -> Result<Instance, Refusal> {
    let mut given = Map::new();
    if let Some(notes) = it.notes {
        given.insert("notes".into(), notes.into());
    }
    let holds: &[Unless] = if it.is_stale { &[Unless::Stale] } else { &[] };
    let event = Event {
        on: it.event,
        tool: it.tool,
        given: &given,
        holds,
        at: DateTime::from_timestamp_millis(at).unwrap(),
    };
    step(&REVIEW, instance, &event, &caller(it.actor, it.is_reviewer))
}

#[test]
fn random_programs_end_as_the_model_says() {
    let (mut ends, mut refusals) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for seed in 0..4_000 {
        let mut dice = Dice(seed);
        let author = dice.pick(&["agent:a/1", "ann"]);
        let mut model = Model { state: "human_review", author };
        let mut instance = Instance::start(&REVIEW, &caller(author, false), DateTime::UNIX_EPOCH);
        for number in 1..=12 {
            let it = dice.attempt();
            let before = instance.clone();
            match (made(&instance, it, number), model.attempt(it)) {
                (Ok(next), Ok(state)) => {
                    assert_eq!(next.state, state, "seed {seed}, {it:?}");
                    let passage = next.history.last().unwrap();
                    let shown = (passage.from.as_deref(), &*passage.to, &*passage.on, &*passage.by);
                    assert_eq!(shown, (Some(model.state), state, it.event, it.actor));
                    assert_eq!(passage.at, format!("1970-01-01T00:00:00.{number:03}Z"));
                    assert_eq!(next.history[..before.history.len()], before.history[..]);
                    model.state = state;
                    instance = next;
                }
                (Err(refusal), Err(reason)) => {
                    assert_eq!(refusal.reason(), reason, "seed {seed}, {it:?}: {refusal}");
                    refusals.insert(reason);
                }
                (found, expected) => panic!("seed {seed}, {it:?}: {found:?} instead of {expected:?}"),
            }
        }
        let kept: Instance = serde_json::from_value(json!(instance)).unwrap();
        assert_eq!(kept, instance);
        ends.insert(model.state);
    }
    assert_eq!(ends.len(), 5, "each state is an end: {ends:?}");
    assert_eq!(refusals.len(), 6, "each reason is given: {refusals:?}");
}

#[test]
fn a_refusal_is_a_failure_that_says_what_to_do() {
    let given = Map::new();
    let start = |state: &str| Instance {
        state: state.into(),
        ..Instance::start(&REVIEW, &caller("ann", false), DateTime::UNIX_EPOCH)
    };
    let foreign = Instance { workflow: "another_workflow".into(), ..start("human_review") };
    for (instance, on, tool, is_reviewer, kind, words, needs) in [
        (
            start("approved"),
            "approve",
            None,
            true,
            FailureKind::Conflict,
            "has ended as `approved`",
            Value::Null,
        ),
        (
            start("lost"),
            "approve",
            None,
            true,
            FailureKind::Conflict,
            "which this server does not know",
            Value::Null,
        ),
        (
            foreign,
            "approve",
            None,
            true,
            FailureKind::Conflict,
            "of `another_workflow`, version 3",
            Value::Null,
        ),
        (
            start("needs_revision"),
            "approve",
            None,
            true,
            FailureKind::Conflict,
            "; possible are revise",
            Value::Null,
        ),
        (
            start("human_review"),
            "revise",
            None,
            true,
            FailureKind::Invalid,
            "a call of `update_note`",
            Value::Null,
        ),
        (
            start("human_review"),
            "approve",
            Some("x"),
            true,
            FailureKind::Invalid,
            "is a decision",
            Value::Null,
        ),
        (
            start("human_review"),
            "approve",
            None,
            false,
            FailureKind::Unauthenticated,
            "the role reviewer",
            json!(["reviewer"]),
        ),
        (start("human_review"), "reject", None, true, FailureKind::Invalid, "needs notes", json!(["notes"])),
    ] {
        let event = Event { on, tool, given: &given, holds: &[], at: DateTime::UNIX_EPOCH };
        let refusal = transition(&REVIEW, &instance, &event, &caller("bob", is_reviewer)).unwrap_err();
        let reason = refusal.reason();
        let failure = Failure::from(refusal);
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains(words), "{failure}");
        assert_eq!(failure.data["reason"], reason);
        assert_eq!(failure.data.get("needs").cloned().unwrap_or_default(), needs);
    }
}

#[test]
fn an_instance_knows_how_it_ended() {
    let mut instance = Instance::start(&REVIEW, &caller("ann", false), DateTime::UNIX_EPOCH);
    for (state, outcome) in [
        ("human_review", None),
        ("withdrawn", Some(Outcome::Cancelled)),
        ("approved", Some(Outcome::Completed)),
        ("lost", None),
    ] {
        instance.state = state.into();
        assert_eq!(instance.outcome(&REVIEW), outcome, "{state}");
    }
}

#[test]
fn a_name_makes_no_caller_the_author() {
    let person =
        |identity: Identity, name: &str| KnownCaller { identity, name: name.into(), ..caller("", true) };
    let token = |subject: &str| Identity::token("https://issuer.example", subject);
    let (ada, address) = (token("s1"), "s1@example.com");
    let helper = ada.clone().with_agent("helper");
    // The author, the actor, and whether the actor may withdraw and approve it.
    for (author, actor, withdraws, approves) in [
        ((&ada, address), (&ada, address), true, false),
        ((&ada, address), (&ada, "another name"), true, false),
        ((&ada, address), (&ada.clone().with_client("browser"), address), true, false),
        // Another subject who claims the name has none of the author's rights, and all of the author's restrictions.
        ((&ada, address), (&token("s2"), address), false, false),
        ((&ada, address), (&token("s2"), "S1@Example.com"), false, false),
        ((&ada, address), (&Identity::key("s1"), "ada"), false, true),
        ((&ada, address), (&token("s2"), "s2@example.com"), false, true),
        // An agent is not the person it acts for.
        ((&helper, "agent:helper/s1@example.com"), (&helper, "x"), true, false),
        ((&helper, "agent:helper/s1@example.com"), (&ada, address), false, true),
        (
            (&helper, "agent:helper/s1@example.com"),
            (&token("s2"), "agent:helper/s1@example.com"),
            false,
            false,
        ),
    ] {
        let instance = Instance::start(&REVIEW, &person(author.0.clone(), author.1), DateTime::UNIX_EPOCH);
        let actor = person(actor.0.clone(), actor.1);
        for (on, expected) in [("withdraw", withdraws), ("approve", approves)] {
            let event = Event { on, tool: None, given: &Map::new(), holds: &[], at: DateTime::UNIX_EPOCH };
            let made = step(&REVIEW, &instance, &event, &actor);
            assert_eq!(made.is_ok(), expected, "{author:?}, {on} by {actor:?}: {made:?}");
            // An instance from before identities were stored: it belongs to no caller, and callers of that name may not decide on it.
            let old = Instance { author_identity: None, ..instance.clone() };
            let is_named = old.author.eq_ignore_ascii_case(&actor.name);
            let made = step(&REVIEW, &old, &event, &actor);
            assert_eq!(made.is_ok(), on == "approve" && !is_named, "{author:?}, {on} by {actor:?}");
        }
    }
}

#[test]
fn one_person_may_not_approve_under_two_names() {
    let (ann, at_x) = ((None, "Ann"), (Some("Ann"), "ann@x.org"));
    for (a, b, is_one) in [
        (ann, at_x, true),
        (at_x, (Some("Ann"), "ANN@x.org"), true),
        (at_x, (Some("Anna Lee"), "ann@x.org"), true),
        (at_x, (None, "Ann@X.org"), true),
        ((None, "Ann Lee"), (None, "ann\u{a0} lee "), true),
        ((None, "Ann Lee"), (None, "An\u{200b}n \u{200b} Lee"), true),
        ((None, "Ren\u{e9}"), (None, "Rene\u{301}"), true),
        ((None, "Straße"), (None, "STRASSE"), true),
        ((None, "\u{ff21}\u{ff4e}\u{ff4e}"), at_x, true),
        (at_x, (Some("Ann"), "ann@y.org"), false),
        (at_x, (Some("Bob"), "bob@x.org"), false),
        (ann, (None, "Anne"), false),
        (ann, (Some("Bob"), "bob@x.org"), false),
        (ann, (None, "agent:helper/Ann"), false),
    ] {
        let person = |id: &str, (own_name, name): (Option<&str>, &str)| KnownCaller {
            identity: Identity::key(id),
            name: name.into(),
            ..caller("", true).with_own_name(own_name)
        };
        for (author, reviewer) in [(a, b), (b, a)] {
            let instance = Instance::start(&REVIEW, &person("1", author), DateTime::UNIX_EPOCH);
            let kept: Instance = serde_json::from_value(json!(instance)).unwrap();
            let event =
                Event { on: "approve", tool: None, given: &Map::new(), holds: &[], at: DateTime::UNIX_EPOCH };
            let made = step(&REVIEW, &kept, &event, &person("2", reviewer));
            let refusal = made.err().map(|refusal| refusal.reason());
            assert_eq!(refusal, is_one.then_some("own"), "{author:?}, approved by {reviewer:?}");
        }
    }
}
