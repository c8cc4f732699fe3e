//! Instances of workflows: permissions by role and state, random programs compared with a model, and views.

use std::{collections::BTreeSet, fs, sync::Arc};

use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Value, json};
use tabellion_contracts::brainforge::{CONTRACT, tool};
use tabellion_pack::review::{Decide, Over, ReviewDesk as _, Shown, Waiting};
use tabellion_runtime::{
    CallContext, ContentId, IdempotencyKey, Identity, KnownCaller, Precondition,
    spec::{RestOperation, ScopeWord},
};

use super::{AGENT, Bench, By, created, run, updated};

const OTHER: By = By::Agent("other");
/// The callers of each case; the agent is the author of the instances that they act on.
const CALLERS: [By; 5] = [By::Owner, By::Reviewer, By::Reader, AGENT, OTHER];
const STEPS: [&str; 5] =
    ["topic_analysis", "source_discovery", "content_analysis", "synthesis", "report_generation"];

pub(super) fn name(is: RestOperation) -> &'static str {
    CONTRACT.call_of(is).unwrap().name
}

impl Bench {
    fn start(&self, by: By, parameters: Value) -> Result<Value, Value> {
        let request = json!({ "workflow_id": "research_workflow", "parameters": parameters });
        self.try_call(by, name(RestOperation::WorkflowStart), request)
    }

    fn started(&self, by: By) -> String {
        let started = self.start(by, json!({ "topic": "locks" })).unwrap();
        text(&started["instance_id"])
    }

    fn shown(&self, by: By, id: &str) -> Result<Value, Value> {
        self.try_call(by, name(RestOperation::InstanceGet), json!({ "instance_id": id }))
    }

    fn listed(&self, by: By, query: Value) -> Vec<String> {
        let listed = self.call(by, name(RestOperation::InstanceList), query);
        let listed = listed["instances"].as_array().unwrap();
        listed.iter().map(|instance| text(&instance["instance_id"])).collect()
    }

    fn complete(&self, by: By, id: &str, task: &str, decision: &str) -> Result<Value, Value> {
        let request =
            json!({ "instance_id": id, "task_id": task, "decision": decision, "notes": "a remark" });
        let base = self.base(by, id);
        let context =
            CallContext { if_base: base.map(|base| Precondition::Has(ContentId::new(base))), ..by.context() };
        let answer = self.call_in(&context, name(RestOperation::TaskComplete), request)?;
        assert_eq!(answer, self.shown(by, id)?, "the answer is the instance after the decision");
        Ok(answer)
    }

    /// Returns the content id in the view of an instance.
    fn base(&self, by: By, id: &str) -> Option<String> {
        let (get, request) = (name(RestOperation::InstanceGet), json!({ "instance_id": id }));
        let shown = run(self.contract.call(&by.context(), get, request)).ok()?;
        Some(text(&shown.meta["tabellion/base"]))
    }

    /// Completes a task; returns the state after it, or the reason of the refusal.
    fn outcome(&self, by: By, id: &str, task: &str, decision: &str) -> String {
        match self.complete(by, id, task, decision) {
            Ok(instance) => text(&instance["state"]),
            Err(error) => reason(&error),
        }
    }

    /// Returns a proposal of the agent's in this state.
    fn proposal_in(&self, state: &str) -> String {
        let note = self.note(AGENT, "proposed");
        let id = text(&note["review_workflow_id"]);
        match state {
            "human_review" => {}
            "needs_revision" => {
                self.complete(By::Reviewer, &id, "human_review", "needs_revision").unwrap();
            }
            "approved" => {
                self.complete(By::Reviewer, &id, "human_review", "approve").unwrap();
            }
            other => panic!("{other}"),
        }
        id
    }

    fn commits(&self) -> usize {
        let head = self.folder.path().join(".git/logs/HEAD");
        fs::read_to_string(head).map_or(0, |log| log.lines().count())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

fn reason(error: &Value) -> String {
    error["details"]["reason"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn who_may_decide_on_a_proposal_depends_on_its_state() {
    let bench = Bench::new();
    // The outcome for each of `CALLERS`: the next state, or the reason of the refusal.
    for (state, decision, expected) in [
        ("human_review", "approve", ["role", "approved", "role", "role", "not_found"]),
        ("human_review", "reject", ["role", "rejected", "role", "role", "not_found"]),
        ("human_review", "needs_revision", ["role", "needs_revision", "role", "role", "not_found"]),
        ("human_review", "withdraw", ["role", "role", "role", "withdrawn", "not_found"]),
        ("human_review", "revise", ["decision", "decision", "role", "decision", "not_found"]),
        ("human_review", "sleep_on_it", ["decision", "decision", "role", "decision", "not_found"]),
        ("needs_revision", "approve", ["not_ready", "not_ready", "role", "not_ready", "not_found"]),
        ("needs_revision", "reject", ["role", "rejected", "role", "role", "not_found"]),
        ("needs_revision", "withdraw", ["role", "role", "role", "withdrawn", "not_found"]),
        ("approved", "approve", ["not_ready", "not_ready", "role", "not_ready", "not_found"]),
        ("approved", "withdraw", ["not_ready", "not_ready", "role", "not_ready", "not_found"]),
    ] {
        let mut id = bench.proposal_in(state);
        let task = if state == "approved" { "human_review" } else { state };
        for (by, expected) in CALLERS.into_iter().zip(expected) {
            let before = bench.shown(By::Reader, &id).unwrap();
            let outcome = bench.outcome(by, &id, task, decision);
            assert_eq!(outcome, expected, "{decision} in {state} by {by:?}");
            let after = bench.shown(By::Reader, &id).unwrap();
            if after == before {
                assert!(CONTRACT.workflow("agent_note_review").unwrap().state(expected).is_none());
            } else {
                assert_eq!(after["state"], expected);
                id = bench.proposal_in(state);
            }
        }
    }
}

#[test]
fn who_may_complete_a_step_of_research() {
    let bench = Bench::new();
    let by_others = bench.started(By::Reviewer);
    let mut id = bench.started(AGENT);
    for (step, next) in STEPS.iter().zip(STEPS[1..].iter().chain(&["done"])) {
        for (by, expected) in [
            (By::Reviewer, "role"),
            (By::Reader, "role"),
            (if *step == STEPS[0] { OTHER } else { AGENT }, next),
        ] {
            assert_eq!(bench.outcome(by, &id, step, "done"), expected, "{step} by {by:?}");
        }
        for waits_no_longer in STEPS.iter().filter(|other| *other != next) {
            assert_eq!(bench.outcome(AGENT, &id, waits_no_longer, "done"), "not_ready");
        }
        assert_eq!(bench.outcome(By::Owner, &by_others, step, "done"), *next);
    }
    let done = bench.shown(AGENT, &id).unwrap();
    assert_eq!((&done["status"], &done["state"]), (&json!("completed"), &json!("done")));
    id.replace_range(..1, if id.starts_with('0') { "1" } else { "0" });
    for unknown in [id.as_str(), "nothing", "../notes/a", ""] {
        assert_eq!(bench.outcome(AGENT, unknown, STEPS[0], "done"), "not_found");
    }
}

#[test]
fn what_does_not_start_is_refused_and_leaves_nothing() {
    let bench = Bench::new();
    let before = (bench.files(), bench.commits());
    let long = "x".repeat(70_000);
    for (by, workflow, parameters, expected) in [
        (By::Reader, "research_workflow", json!({ "topic": "locks" }), "role"),
        (By::Owner, "agent_note_review", json!({}), "started_by_tool"),
        (By::Owner, "nothing", json!({}), "not_found"),
        (By::Owner, "research_workflow", json!({}), "none"),
        (By::Owner, "research_workflow", json!({ "topic": "" }), "none"),
        (By::Owner, "research_workflow", json!({ "topic": "x", "priority": "urgent" }), "none"),
        (By::Owner, "research_workflow", json!({ "topic": "x", "depth": 3 }), "none"),
        (By::Owner, "research_workflow", json!({ "topic": long }), "too_large"),
    ] {
        let request = json!({ "workflow_id": workflow, "parameters": parameters });
        let refused = bench.try_call(by, name(RestOperation::WorkflowStart), request);
        let refused = refused.unwrap_err();
        assert_eq!(reason(&refused), expected, "{refused}");
        if expected == "none" {
            let place = refused["details"]["violations"][0]["pointer"].as_str().unwrap();
            assert!(place.starts_with("/parameters"), "{refused}");
        }
    }
    // An agent may, but not with a key that permits reading alone.
    let auth = CONTRACT.auth.unwrap();
    let agent = tabellion_runtime::Agent::parse("helper@1").unwrap();
    let caller = KnownCaller::agent(auth, agent, Identity::local("ada"), "ada", vec![ScopeWord::Read]);
    let context = CallContext { caller: Some(caller.into()), ..CallContext::default() };
    let request = json!({ "workflow_id": "research_workflow", "parameters": { "topic": "locks" } });
    for (context, expected) in [(context, "scope"), (CallContext::default(), "missing")] {
        let refused = bench.call_in(&context, name(RestOperation::WorkflowStart), request.clone());
        assert_eq!(reason(&refused.unwrap_err()), expected);
    }
    assert_eq!((bench.files(), bench.commits()), before);
}

#[test]
fn a_reviewer_can_not_approve_their_own_note() {
    let bench = Bench::new();
    let auth = CONTRACT.auth.unwrap();
    let both =
        KnownCaller::human(auth, Identity::local("ada"), "ada", vec![ScopeWord::Write, ScopeWord::Review]);
    let context = CallContext { caller: Some(both.into()), ..CallContext::default() };
    let mut request = created("own");
    request["note_type"] = "agent_generated".into();
    let note = bench.call_in(&context, tool::CREATE_NOTE, request).unwrap();
    let id = text(&note["review_workflow_id"]);
    let request = json!({ "instance_id": id, "task_id": "human_review", "decision": "approve" });
    let refused = bench.call_in(&context, name(RestOperation::TaskComplete), request);
    assert_eq!(reason(&refused.unwrap_err()), "own");
    assert_eq!(bench.outcome(By::Reviewer, &id, "human_review", "approve"), "approved");
    assert_eq!(bench.exported().len(), 1);
}

#[test]
fn an_edit_by_hand_makes_a_proposal_stale() {
    const IDEA: &str = "---\ntags: [locks]\n---\nA lock is short.\n";
    let id = tabellion_notes::derived_id("idea.md").to_string();
    // No tool has changed the note, so all edits are version 1.
    for (edited, outcome) in [
        (Some(IDEA.replace("short", "long")), "stale"),
        (Some(IDEA.replace("locks", "git")), "stale"),
        (Some(IDEA.to_owned()), "approved"),
        // A link does not belong to any proposal.
        (None, "approved"),
    ] {
        let bench = Bench::new();
        let write = |text: &str| fs::write(bench.folder.path().join("idea.md"), text).unwrap();
        write(IDEA);
        let other = text(&bench.note(By::Owner, "other")["note_id"]);
        bench.call(AGENT, tool::UPDATE_NOTE, updated(&id, 1, "proposed"));
        match &edited {
            Some(text) => write(text),
            None => {
                let link = json!({ "source_note_id": id, "target_note_id": other, "relation_type": "cites" });
                bench.call(By::Owner, tool::CREATE_LINK, link);
            }
        }
        let waiting = bench.listed(By::Reviewer, json!({ "status": "active" }));
        let decisions = bench.shown(By::Reviewer, &waiting[0]).unwrap()["tasks"][0]["decisions"].to_string();
        assert_eq!(decisions.contains("approve"), outcome == "approved", "{edited:?} {decisions}");
        let decided = bench.outcome(By::Reviewer, &waiting[0], "human_review", "approve");
        assert_eq!(decided, outcome, "{edited:?}");
    }
}

const OLD: &str = "---\nid: 00000000-0000-4000-8000-00000000000a\nversion: 1\ntags: [ops]\n---\n# Backups\n\nkept for a week\n\n## Drill\n\nnow and then\n\n## See also\n\nthe manual\n";
const NEW: &str = "# Backups\n\nkept for 35 days\n\n## Drill\n\neach month\n\n## See also\n\nthe manual\n";
const ID: &str = "00000000-0000-4000-8000-00000000000a";

/// The agent's change of the note.
fn change(version: u64, content: &str) -> Value {
    json!({
        "note_id": ID, "version": version, "content": content, "change_reason": "it changed",
        "metadata": { "tags": ["ops", "backup"] }
    })
}

/// A library with a note, and an agent's proposed change of it: front matter and two places.
fn with_a_change() -> (Bench, String) {
    with_a_change_of(OLD)
}

fn with_a_change_of(old: &str) -> (Bench, String) {
    let bench = Bench::new();
    fs::write(bench.folder.path().join("backups.md"), old).unwrap();
    bench.call(AGENT, tool::UPDATE_NOTE, change(1, NEW));
    let waiting = bench.listed(By::Reviewer, json!({ "status": "active" }));
    (bench, waiting[0].clone())
}

/// A decision on the proposal as the desk shows it now.
fn on_shown(bench: &Bench, id: &str, on: &str, parts: &[usize]) -> (Decide, Waiting) {
    let waiting = run(bench.desk.show(&By::Reviewer.context(), id)).unwrap();
    let decide = Decide {
        id: id.into(),
        on: on.into(),
        notes: Some("the rest please again".into()),
        shown: Shown {
            revision: Some(waiting.revision.clone()),
            over: waiting.over.clone().map_or(Over::Nothing, Over::Note),
            parts: parts.to_vec(),
            remarks: vec![],
        },
    };
    (decide, waiting)
}

#[test]
fn parts_are_approved_exactly_as_previewed_and_the_rest_goes_on() {
    for parts in [&[1][..], &[2], &[3], &[1, 2], &[3, 1], &[2, 3]] {
        let (bench, id) = with_a_change();
        let (decide, waiting) = on_shown(&bench, &id, "approve_part", parts);
        let document = waiting.document.unwrap();
        assert_eq!(
            document.parts.iter().map(|part| part.front_matter).collect::<Vec<_>>(),
            [true, false, false]
        );
        let (before, commits) = (bench.files(), bench.commits());
        let preview = run(bench.desk.preview(&By::Reviewer.context(), &decide)).unwrap();
        assert_eq!((bench.files(), bench.commits()), (before, commits), "a preview changes nothing");
        run(bench.desk.decide(&By::Reviewer.context(), &decide)).unwrap();
        assert_eq!(bench.commits(), commits + 1, "{parts:?}");
        let (path, published) = preview.note.unwrap();
        assert_eq!(bench.files()[&path], published, "{parts:?}");
        for (part, new) in [(1, "backup"), (2, "35 days"), (3, "each month")] {
            assert_eq!(published.contains(new), parts.contains(&part), "{parts:?} {part}: {published}");
        }
        let shown = bench.shown(AGENT, &id).unwrap();
        assert_eq!(shown["state"], "needs_revision");
        let notes = text(&shown["data"]["notes"]);
        assert_eq!(Some(&notes), preview.message.as_ref());
        assert!(notes.starts_with("the rest please again") && notes.contains("```diff"), "{notes}");
        // The author proposes the rest again, on top of the note as it is now.
        let version = shown["proposed_version"].as_u64().unwrap();
        bench.call(AGENT, tool::UPDATE_NOTE, change(version, NEW));
        let (decide, _) = on_shown(&bench, &id, "approve", &[]);
        run(bench.desk.decide(&By::Reviewer.context(), &decide)).unwrap();
        let text = &bench.files()[&path];
        assert!(text.ends_with(NEW) && text.contains("backup"), "{parts:?}: {text}");
    }
}

#[test]
fn the_text_of_a_sensitive_proposal_is_for_owners_and_its_author() {
    for (sensitive, is_shown) in [("", true), ("sensitive: true\n", false)] {
        let old = OLD.replacen("---\n", &format!("---\n{sensitive}"), 1);
        let (bench, id) = with_a_change_of(&old);
        let (decide, _) = on_shown(&bench, &id, "approve_part", &[3]);
        let by_key = KnownCaller { identity: Identity::key("rita"), ..By::Reviewer.caller() };
        let by_key = CallContext { caller: Some(Arc::new(by_key)), ..CallContext::default() };
        assert_eq!(run(bench.desk.preview(&by_key, &decide)).is_ok(), is_shown);
        let decisions = run(bench.desk.show(&by_key, &id)).unwrap().decisions;
        let approvals = ["approve", "approve_part"].iter().filter(|on| decisions.iter().any(|it| it == *on));
        assert_eq!(approvals.count(), if is_shown { 2 } else { 0 }, "{decisions:?}");
        for (member, decided) in [("content", false), ("reason", false), ("notes", true)] {
            if decided {
                run(bench.desk.decide(&By::Reviewer.context(), &decide)).unwrap();
            }
            for (by, reads) in [(By::Owner, true), (AGENT, true), (By::Reviewer, is_shown)] {
                let shown = bench.shown(by, &id).unwrap();
                assert_eq!(shown["data"].get(member).is_some(), reads, "{member} {by:?}");
            }
        }
        let notes = text(&bench.shown(AGENT, &id).unwrap()["data"]["notes"]);
        assert!(notes.contains("35 days"), "{notes}");
        assert_eq!(notes.contains("a week"), is_shown, "{notes}");
        let titles = || {
            let waiting = run(bench.contract.read_resource(&By::Reviewer.context(), "waiting")).unwrap();
            let shown = bench.shown(By::Reviewer, &id).unwrap();
            let listed = [&waiting.response["instances"][0]["title"], &shown["data"]["title"]].map(text);
            [listed[0].clone(), listed[1].clone(), bench.waiting()[0].title.clone()]
        };
        assert_eq!(titles(), ["Backups"; 3]);
        fs::remove_file(bench.folder.path().join("backups.md")).unwrap();
        assert_eq!(titles(), ["note"; 3], "the note may have been sensitive");
        assert!(bench.shown(By::Reviewer, &id).unwrap()["data"].get("content").is_none());
    }
}

/// The agent's list of its own proposals.
fn mine(bench: &Bench, by: By) -> Vec<Value> {
    let answer = run(bench.contract.read_resource(&by.context(), "mine")).unwrap();
    answer.response["proposals"].as_array().unwrap().clone()
}

#[test]
fn agents_read_the_message_on_their_own_proposals() {
    let remarks = json!([{ "side": "old", "line": 3, "quote": "30 days", "text": "name the source" }]);
    for (on, parts, state) in [
        ("needs_revision", &[][..], Some("needs_revision")),
        ("approve_part", &[2], Some("needs_revision")),
        ("reject", &[], None),
        ("approve", &[], None),
    ] {
        let (bench, id) = with_a_change();
        let version = || run(bench.contract.resource_version("mine")).unwrap();
        let [waits] = &mine(&bench, AGENT)[..] else { panic!("one proposal waits") };
        assert_eq!(
            (&waits["review_workflow_id"], &waits["state"], &waits["stale"]),
            (&json!(id), &json!("human_review"), &json!(false))
        );
        assert!(waits.get("notes").is_none() && waits.get("remarks").is_none());
        assert!(mine(&bench, By::Agent("other")).is_empty());
        for by in [By::Owner, By::Reviewer, By::Reader] {
            assert!(run(bench.contract.read_resource(&by.context(), "mine")).is_err());
        }
        let (mut decide, _) = on_shown(&bench, &id, on, parts);
        decide.shown.remarks = serde_json::from_value(remarks.clone()).unwrap();
        let preview = run(bench.desk.preview(&By::Reviewer.context(), &decide)).unwrap();
        let before = version();
        run(bench.desk.decide(&By::Reviewer.context(), &decide)).unwrap();
        assert_ne!(version(), before, "{on}: subscribers are notified");
        let [sent_back] = &mine(&bench, AGENT)[..] else {
            assert_eq!((state, mine(&bench, AGENT).len()), (None, 0), "{on}");
            continue;
        };
        assert_eq!(sent_back["state"].as_str(), state, "{on}");
        assert_eq!(sent_back["notes"].as_str(), preview.message.as_deref(), "{on}");
        assert_eq!(sent_back["remarks"], remarks, "{on}");
        let proposed = sent_back["proposed_version"].as_u64().unwrap();
        bench.call(AGENT, tool::UPDATE_NOTE, change(proposed, NEW));
        assert_eq!(mine(&bench, AGENT)[0]["state"], "human_review", "{on}");
    }
}

#[test]
fn sections_of_a_new_note_are_its_parts() {
    let bench = Bench::new();
    let mut request = created("sections");
    request["content"] = json!("intro\n\n## One\n\n1\n\n## Two\n\n2\n");
    let note = bench.call(AGENT, tool::CREATE_NOTE, request);
    let id = text(&note["review_workflow_id"]);
    let (decide, waiting) = on_shown(&bench, &id, "approve_part", &[1, 3]);
    assert_eq!(waiting.document.unwrap().parts.len(), 3);
    let data = json!({ "revision": decide.shown.revision, "parts": decide.shown.parts });
    let request = json!({ "instance_id": id, "task_id": "human_review", "decision": "approve_part", "notes": "so far", "data": data });
    let answer = bench.call(By::Reviewer, name(RestOperation::TaskComplete), request);
    assert_eq!(answer, bench.shown(By::Reviewer, &id).unwrap());
    let exported = bench.exported();
    assert_eq!(exported, ["intro\n\n## Two\n\n2\n"]);
    let (decide, _) = on_shown(&bench, &id, "withdraw", &[]);
    assert!(run(bench.desk.decide(&By::Reviewer.context(), &decide)).is_err());
}

#[test]
fn what_moved_is_not_decided_on_and_parts_are_parts() {
    type Meanwhile = fn(&Bench);
    let nothing: Meanwhile = |_| {};
    let link: Meanwhile = |bench| {
        let other = text(&bench.note(By::Owner, "other")["note_id"]);
        let link = json!({ "source_note_id": ID, "target_note_id": other, "relation_type": "cites" });
        bench.call(By::Owner, tool::CREATE_LINK, link);
    };
    let revise: Meanwhile = |bench| {
        bench.call(AGENT, tool::UPDATE_NOTE, change(2, &NEW.replace("each", "every")));
    };
    for (on, parts, meanwhile, expected) in [
        ("approve", &[][..], link, "moved"),
        ("approve", &[], revise, "moved"),
        ("reject", &[], revise, "moved"),
        ("needs_revision", &[], link, "moved"),
        ("approve_part", &[1], revise, "moved"),
        ("approve_part", &[4], nothing, "parts"),
        ("approve_part", &[1, 1], nothing, "parts"),
        ("approve_part", &[1, 2, 3], nothing, "parts"),
        ("approve_part", &[], nothing, "needs"),
        ("approve", &[1], nothing, "parts"),
    ] {
        let (bench, id) = with_a_change();
        let (decide, waiting) = on_shown(&bench, &id, on, parts);
        meanwhile(&bench);
        let before = (bench.files(), bench.commits());
        let refused = run(bench.desk.decide(&By::Reviewer.context(), &decide)).unwrap_err();
        assert_eq!(refused.reason(), Some(expected), "{on} {parts:?}: {refused}");
        let previewed = run(bench.desk.preview(&By::Reviewer.context(), &decide)).unwrap_err();
        assert_eq!(previewed.to_string(), refused.to_string());
        assert_eq!((bench.files(), bench.commits()), before, "{on} {parts:?}");
        let earlier = run(bench.desk.earlier(&By::Reviewer.context(), &id, &waiting.revision)).unwrap();
        assert_eq!(earlier.map(|text| text.ends_with(NEW)), Some(true), "what was shown is still known");
    }
    let (bench, id) = with_a_change();
    let (mut decide, _) = on_shown(&bench, &id, "approve", &[]);
    decide.shown.revision = Some(String::new());
    let refused = run(bench.desk.decide(&By::Reviewer.context(), &decide)).unwrap_err();
    assert_eq!(refused.reason(), Some("moved"), "an empty revision names none");
}

#[test]
fn an_approval_publishes_in_the_same_commit_and_a_stale_one_is_refused() {
    let bench = Bench::new();
    let rejected = bench.proposal_in("human_review");
    bench.complete(By::Reviewer, &rejected, "human_review", "reject").unwrap();
    assert_eq!(run(bench.desk.show(&By::Reviewer.context(), &rejected)).unwrap().title, "Note");
    let id = bench.proposal_in("human_review");
    let before = bench.commits();
    let approved = bench.complete(By::Reviewer, &id, "human_review", "approve").unwrap();
    assert_eq!(bench.commits(), before + 1);
    assert_eq!(bench.exported().len(), 1);
    assert!(approved["data"].get("content").is_none(), "{approved}");
    let note = text(&approved["note_id"]);

    let changed = bench.call(AGENT, tool::UPDATE_NOTE, updated(&note, 1, "anew"));
    assert_eq!(changed["status"], "pending_review");
    let [.., waiting] = &bench.listed(By::Reviewer, json!({ "status": "active" }))[..] else {
        panic!("nothing waits")
    };
    bench.call(By::Owner, tool::UPDATE_NOTE, updated(&note, 1, "meanwhile"));
    assert_eq!(bench.shown(By::Reviewer, waiting).unwrap()["data"]["stale"], true);
    assert_eq!(bench.outcome(By::Reviewer, waiting, "human_review", "approve"), "stale");
    assert_eq!(bench.outcome(By::Reviewer, waiting, "human_review", "reject"), "rejected");
}

#[test]
fn an_instance_says_what_happened_when_by_whom_and_in_which_commit() {
    let bench = Bench::new();
    let started = bench.start(AGENT, json!({ "topic": "locks" })).unwrap();
    assert_eq!(started["next_task"]["state"], "ready");
    let id = text(&started["instance_id"]);
    let data =
        json!({ "found": ["a", { "b": null }], "share": 0.25, "none": {}, "": "\u{1f600}\n# x\n---\n" });
    let request = json!({ "instance_id": id, "task_id": STEPS[0], "decision": "done", "data": data });
    bench.call(AGENT, name(RestOperation::TaskComplete), request);
    bench.complete(By::Owner, &id, STEPS[1], "done").unwrap();
    let shown = bench.shown(AGENT, &id).unwrap();
    assert_eq!(
        shown["data"],
        json!({
            "parameters": { "topic": "locks", "priority": "normal" },
            "tasks": { "topic_analysis": { "data": data }, "source_discovery": { "notes": "a remark" } },
        })
    );
    let tasks = shown["tasks"].as_array().unwrap();
    let tasks: Vec<_> = tasks
        .iter()
        .map(|task| {
            (
                task["task_id"].as_str().unwrap(),
                task["state"].as_str().unwrap(),
                task["completed_by"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        tasks,
        [
            (STEPS[0], "completed", Some("agent:helper/ada")),
            (STEPS[1], "completed", Some("ada")),
            (STEPS[2], "ready", None),
        ]
    );
    let commits = |shown: &Value| -> Vec<Option<String>> {
        let history = shown["history"].as_array().unwrap().iter();
        history.map(|step| step["commit"].as_str().map(String::from)).collect()
    };
    let named = commits(&shown);
    assert!(named.iter().all(Option::is_some), "{shown}");
    assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), 3);
    // The answer of a change names its own commit.
    let answer = bench.complete(By::Owner, &id, STEPS[2], "done").unwrap();
    assert_eq!(commits(&answer)[..3], named[..]);
    assert_eq!(answer["history"], bench.shown(By::Owner, &id).unwrap()["history"]);

    // Edits by hand are not steps.
    let path = bench.folder.path().join(format!("workflows/{id}.md"));
    let document = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{document}A remark by hand.\n")).unwrap();
    let after = bench.complete(By::Owner, &id, STEPS[3], "done").unwrap();
    assert_eq!(commits(&after)[..3], named[..]);
    assert_eq!(after["history"], bench.shown(By::Owner, &id).unwrap()["history"]);
    assert_eq!(after["state"], STEPS[4]);
}

#[test]
fn a_repeated_call_is_answered_as_the_first_and_a_condition_is_kept() {
    let bench = Bench::new();
    let id = bench.started(AGENT);
    let with = |key: Option<&str>, base: Option<&str>| CallContext {
        idempotency_key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
        if_base: base.map(|base| Precondition::Has(ContentId::new(base))),
        ..AGENT.context()
    };
    let start = json!({ "workflow_id": "research_workflow", "parameters": { "topic": "keys" } });
    let start =
        |key| bench.call_in(&with(Some(key), None), name(RestOperation::WorkflowStart), start.clone());
    assert_eq!(start("one").unwrap(), start("one").unwrap());
    assert_ne!(start("one").unwrap(), start("two").unwrap());

    let base = bench.base(AGENT, &id).unwrap();
    let request = json!({ "instance_id": id, "task_id": STEPS[0], "decision": "done" });
    let complete =
        |key, base| bench.call_in(&with(key, base), name(RestOperation::TaskComplete), request.clone());
    let first = complete(Some("three"), Some(&base)).unwrap();
    assert_eq!(complete(Some("three"), Some(&base)).unwrap(), first);
    assert_eq!(bench.shown(AGENT, &id).unwrap(), first);
    let stale = json!({ "instance_id": id, "task_id": STEPS[1], "decision": "done" });
    let stale = bench.call_in(&with(None, Some(&base)), name(RestOperation::TaskComplete), stale);
    assert_eq!(stale.unwrap_err()["details"]["rule"], "stale");
}

#[test]
fn instances_are_listed_oldest_first_for_those_who_may_see_them() {
    let bench = Bench::new();
    let (by_owner, by_agent) = (bench.started(By::Owner), bench.started(AGENT));
    let proposal = bench.proposal_in("human_review");
    let ended = bench.proposal_in("approved");
    let by_other = bench.started(OTHER);
    let all = [&by_owner, &by_agent, &proposal, &ended, &by_other];
    for (by, query, expected) in [
        (By::Reader, json!({}), &[0, 1, 2, 3, 4][..]),
        (AGENT, json!({}), &[0, 1, 2, 3, 4]),
        (OTHER, json!({}), &[0, 1, 4]),
        (AGENT, json!({ "mine": true }), &[1, 2, 3]),
        (By::Owner, json!({ "mine": true }), &[0]),
        (By::Owner, json!({ "status": "completed" }), &[3]),
        (By::Owner, json!({ "workflow_id": "agent_note_review" }), &[2, 3]),
        (By::Owner, json!({ "limit": 2 }), &[0, 1]),
        (By::Owner, json!({ "limit": 2, "after": by_agent }), &[2, 3]),
        (AGENT, json!({ "limit": 1, "after": by_agent }), &[2]),
        (By::Owner, json!({ "after": by_other }), &[]),
    ] {
        let expected: Vec<_> = expected.iter().map(|at| all[*at].clone()).collect();
        assert_eq!(bench.listed(by, query.clone()), expected, "{by:?} {query}");
    }
    for (by, query, expected) in [
        (OTHER, json!({ "after": proposal }), "not_found"),
        (By::Owner, json!({ "after": "nothing" }), "not_found"),
        (By::Owner, json!({ "limit": 101 }), "none"),
        (By::Owner, json!({ "workflow_id": "nothing" }), "none"),
    ] {
        let refused = bench.try_call(by, name(RestOperation::InstanceList), query);
        assert_eq!(reason(&refused.unwrap_err()), expected);
    }
    for (by, id, is_shown) in
        [(AGENT, &by_other, true), (OTHER, &proposal, false), (By::Reader, &proposal, true)]
    {
        assert_eq!(bench.shown(by, id).is_ok(), is_shown, "{by:?}");
    }
    // A proposal's content is shown to its author, reviewers and owners, and is in no list.
    for (by, is_shown) in [(AGENT, true), (By::Reviewer, true), (By::Owner, true), (By::Reader, false)] {
        let shown = bench.shown(by, &proposal).unwrap();
        assert_eq!(shown["data"].get("content").is_some(), is_shown, "{by:?}");
    }
    let listed = bench.call(By::Owner, name(RestOperation::InstanceList), json!({}));
    assert!(!listed.to_string().contains("proposed, and nothing else"), "{listed}");
}

#[test]
fn both_kinds_of_documents_lie_in_one_folder_and_neither_is_taken_for_the_other() {
    let bench = Bench::new();
    let (proposal, research) = (bench.proposal_in("human_review"), bench.started(AGENT));
    let waiting = bench.waiting();
    assert_eq!(waiting.iter().map(|it| &it.id).collect::<Vec<_>>(), [&proposal]);
    let refused = bench.decide(By::Reviewer, &research, "approve").unwrap_err();
    assert!(refused.contains("there is no review"), "{refused}");
    assert_eq!(bench.exported(), Vec::<String>::new());
    let found = bench.call(By::Owner, tool::SEMANTIC_SEARCH, json!({ "query": "locks" }));
    assert_eq!(found["total_results"], 0);
    // A document that a person made invalid is not an instance any more, and hides no other.
    let folder = bench.folder.path().join("workflows");
    let path = folder.join(format!("{research}.md"));
    let sound = fs::read_to_string(&path).unwrap();
    for (what, by) in [
        ("state: topic_analysis", "state: nowhere"),
        ("workflow: research_workflow", "workflow: nothing"),
        ("at: 20", "at: in 20"),
        ("workflow_version: 1", "workflow_version: -1"),
        ("parameters:", "parameters: []\nother:"),
    ] {
        assert!(sound.contains(what), "{sound}");
        fs::write(&path, sound.replace(what, by)).unwrap();
        assert_eq!(bench.listed(By::Owner, json!({})), [proposal.as_str()], "{by}");
        assert_eq!(reason(&bench.shown(By::Owner, &research).unwrap_err()), "not_found");
        assert_eq!(bench.outcome(By::Owner, &research, STEPS[0], "done"), "not_found");
    }
    fs::write(&path, sound).unwrap();
    assert_eq!(bench.listed(By::Owner, json!({})), [proposal, research]);
}

/// A step of a program.
#[derive(Debug, Clone)]
enum Step {
    Start { by: By, topic: Option<u8> },
    Complete { by: By, instance: Index, task: usize, is_next: bool, decision: &'static str },
}

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let by = || proptest::sample::select(CALLERS.to_vec());
    let start = (by(), proptest::option::weighted(0.8, any::<u8>()))
        .prop_map(|(by, topic)| Step::Start { by, topic });
    let decision = proptest::sample::select(vec!["done", "done", "done", "undone"]);
    let complete = (by(), any::<Index>(), 0..STEPS.len(), prop::bool::weighted(0.8), decision).prop_map(
        |(by, instance, task, is_next, decision)| Step::Complete { by, instance, task, is_next, decision },
    );
    vec(prop_oneof![1 => start, 4 => complete], 1..30)
}

/// Expected state of an instance.
struct ExpectedInstance {
    id: String,
    by: By,
    /// The callers who completed its steps so far.
    done: Vec<By>,
}

impl ExpectedInstance {
    fn state(&self) -> &'static str {
        STEPS.get(self.done.len()).copied().unwrap_or("done")
    }

    /// Returns the state that completing a task leads to, or the reason of the refusal.
    fn complete(&mut self, by: By, task: &str, decision: &str) -> &'static str {
        if by == By::Reader {
            return "role";
        }
        if decision != "done" {
            return "decision";
        }
        if task != self.state() {
            return "not_ready";
        }
        if by == By::Reviewer {
            return "role";
        }
        self.done.push(by);
        self.state()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn research_goes_step_by_step_by_those_who_may(program in programs()) {
        let bench = Bench::new();
        let mut known: Vec<ExpectedInstance> = vec![];
        let mut changes = 0;
        for step in program {
            match step {
                Step::Start { by, topic } => {
                    let parameters = topic.map_or_else(|| json!({}), |topic| json!({ "topic": topic.to_string() }));
                    let started = bench.start(by, parameters);
                    prop_assert_eq!(started.is_ok(), topic.is_some() && by != By::Reader, "{:?}", started);
                    if let Ok(started) = started {
                        known.push(ExpectedInstance { id: text(&started["instance_id"]), by, done: vec![] });
                        changes += 1;
                    }
                }
                Step::Complete { by, instance, task, is_next, decision } if !known.is_empty() => {
                    let instance = instance.get_mut(&mut known);
                    let task = if is_next && instance.done.len() < STEPS.len() { instance.state() } else { STEPS[task] };
                    let before = instance.done.len();
                    let expected = instance.complete(by, task, decision);
                    prop_assert_eq!(bench.outcome(by, &instance.id, task, decision), expected);
                    changes += instance.done.len() - before;
                }
                Step::Complete { .. } => {}
            }
            prop_assert_eq!(bench.commits(), changes);
        }
        for ExpectedInstance { id, by, done } in &known {
            let shown = bench.shown(*by, id).unwrap();
            let completed: Vec<_> = shown["tasks"].as_array().unwrap().iter().filter_map(|task| task["completed_by"].as_str()).collect();
            let expected: Vec<_> = done.iter().map(|by| by.caller().name.to_string()).collect();
            prop_assert_eq!(completed, expected);
            prop_assert_eq!(shown["history"].as_array().unwrap().len(), done.len() + 1);
            prop_assert_eq!(&shown["status"], if done.len() == STEPS.len() { "completed" } else { "active" });
        }
        let ids: Vec<_> = known.iter().map(|known| known.id.clone()).collect();
        prop_assert_eq!(bench.listed(By::Owner, json!({})), ids);
    }
}
