//! Callers and gates, with the contract of the example `bulletin`: each clause alone, all violations at once, and no writes.

#[path = "../../../codegen/examples/bulletin/generated/mod.rs"]
mod generated;
#[path = "../../../codegen/examples/notes/memory.rs"]
mod memory;

mod support;

use std::sync::Arc;

use generated::bulletin::{
    AUTH, Bulletin, CONTRACT, PostNoticeRequest, PostNoticeResponse, ReadNoticeRequest, ReadNoticeResponse,
    RemoveNoticeRequest, RemoveNoticeResponse, Service, Status, ToolError,
};
use memory::Memory;
use serde_json::{Value, json};
use support::ready;
use tabellion_runtime::{
    Agent, Answer, CallContext, Change, Content, Contract, ErrorAnswer, Identity, KnownCaller, ReadCx,
    Rejection, Snapshot as _, Staged, WriteCx,
    auth::{NEEDS, REASON},
    context::GATES,
    gates::{self, VIOLATIONS},
    spec::{CallerKind, Fact, GateTime, ScopeWord},
};

/// Notices in memory.
struct Board;

impl Bulletin for Board {
    async fn read_notice(
        &self,
        cx: &ReadCx<'_>,
        req: ReadNoticeRequest,
    ) -> Result<ReadNoticeResponse, ToolError> {
        let found = cx.read(&req.path)?.ok_or_else(|| ToolError::invalid("no such notice"))?;
        Ok(ReadNoticeResponse { path: Some(req.path.clone()), text: String::from_utf8(found.bytes).ok() })
    }

    async fn post_notice(
        &self,
        cx: &WriteCx<'_>,
        req: PostNoticeRequest,
    ) -> Result<Staged<PostNoticeResponse>, ToolError> {
        let waits = cx.gates().requires_review();
        let old = cx.read(&req.path)?.map_or(0, |old| old.bytes.len());
        let kept = (req.text.len() * 100).checked_div(old).unwrap_or(100);
        cx.fact(Fact::Plan, json!({ "kept_percent": kept }));
        let path = if waits { format!("waiting/{}", req.path) } else { req.path.clone() };
        let status = if waits { Status::Waiting } else { Status::Posted };
        let change = Change::one(path.clone(), Content::Write(req.text.into()), "post", "post");
        Ok(cx.stage(change, move |_| PostNoticeResponse { path: Some(path), status: Some(status) }))
    }

    async fn remove_notice(
        &self,
        cx: &WriteCx<'_>,
        req: RemoveNoticeRequest,
    ) -> Result<Staged<RemoveNoticeResponse>, ToolError> {
        let path = req.path.clone();
        let change = Change::one(path.clone(), Content::Delete, "remove", "remove");
        Ok(cx.stage(change, |_| RemoveNoticeResponse { path: Some(path) }))
    }
}

const EVERYTHING: &[ScopeWord] = &[ScopeWord::Read, ScopeWord::Write, ScopeWord::Review];

fn human(scopes: &[ScopeWord]) -> KnownCaller {
    KnownCaller::human(&AUTH, Identity::local("ada"), "ada", scopes.to_vec())
}

fn agent(scopes: &[ScopeWord]) -> KnownCaller {
    let agent = Agent::parse("helper@1").unwrap();
    KnownCaller::agent(&AUTH, agent, Identity::local("ada"), "ada", scopes.to_vec())
}

/// A board with one long notice and one confidential one.
fn board() -> (Service<Board>, Arc<Memory>) {
    let store = Arc::new(Memory::default());
    let service = Service::new(Board, store.clone());
    for (path, text) in [("long.md", "a long notice about tea".repeat(9)), ("pay.md", "Confidential.".into())]
    {
        let request = json!({ "path": path, "text": text });
        call(&service, Some(human(EVERYTHING)), "post_notice", request).unwrap();
    }
    (service, store)
}

fn call(
    service: &Service<Board>,
    caller: Option<KnownCaller>,
    tool: &str,
    request: Value,
) -> Result<Answer, ErrorAnswer> {
    let context = CallContext { caller: caller.map(Arc::new), ..CallContext::default() };
    match ready(service.call(&context, tool, request)) {
        Ok(answer) => Ok(answer),
        Err(Rejection::Declared(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn roles_follow_from_the_kind_of_caller_and_what_its_key_permits() {
    use ScopeWord::{Read, Review, Write};
    for (kind, scopes, expected) in [
        (CallerKind::Human, &[][..], &[][..]),
        (CallerKind::Human, &[Read], &["reader"]),
        (CallerKind::Human, &[Write], &["owner", "reader"]),
        (CallerKind::Human, &[Review], &["reviewer", "reader"]),
        (CallerKind::Human, &[Write, Review], &["owner", "reviewer", "reader"]),
        (CallerKind::Agent, &[], &["agent"]),
        (CallerKind::Agent, &[Write], &["agent"]),
    ] {
        assert_eq!(AUTH.roles_of(kind, scopes), expected, "{kind} {scopes:?}");
    }
    assert_eq!(agent(EVERYTHING).scopes, [Read, Write], "an agent never reviews");
    for (text, expected) in [
        ("helper@1", Some((Some("helper"), Some("1")))),
        ("a@b@2", Some((Some("a@b"), Some("2")))),
        ("helper", Some((Some("helper"), None))),
        ("helper@", None),
        ("@1", None),
        ("", None),
        (" @ ", None),
        ("...@-", None),
    ] {
        let parsed = Agent::parse(text);
        let parsed = parsed.as_ref().map(|it| (it.name.as_deref(), it.version.as_deref()));
        assert_eq!(parsed, expected, "{text}");
    }
    for (part, is_said) in [
        ("0", true),
        ("é", true),
        ("e\u{301}", true),
        ("助手", true),
        ("\u{200b}a", true),
        (" \t\u{a0}", false),
        ("...", false),
        ("-", false),
        ("\u{200b}", false),
        ("\u{200e}", false),
        ("\u{ad}", false),
        ("\u{2800}", false),
        ("\u{301}", false),
        ("\u{345}", false),
        ("\u{115f}\u{1160}\u{3164}\u{ffa0}", false),
    ] {
        let part = Some(part.to_owned());
        let said = Agent::said(part.clone(), part.clone());
        let expected = part.filter(|_| is_said);
        assert_eq!(said, Agent { name: expected.clone(), version: expected });
    }
}

#[test]
fn a_call_needs_a_known_caller_with_one_of_the_roles_and_the_scope() {
    use ScopeWord::{Read, Review, Write};
    let post = json!({ "path": "tea.md", "text": "Tea.", "reason": "Ada asked" });
    let read = json!({ "path": "long.md" });
    for (caller, tool, request, expected) in [
        (None, "read_notice", &read, Some(("missing", json!(["owner", "reviewer", "reader", "agent"])))),
        (None, "post_notice", &post, Some(("missing", json!(["owner", "agent"])))),
        // A caller without permission gets no information about the request.
        (None, "post_notice", &json!({}), Some(("missing", json!(["owner", "agent"])))),
        (Some(human(&[Read])), "read_notice", &read, None),
        (Some(human(&[Read])), "post_notice", &post, Some(("role", json!(["owner", "agent"])))),
        (Some(human(&[Review])), "read_notice", &read, None),
        (Some(human(&[Review])), "post_notice", &post, Some(("role", json!(["owner", "agent"])))),
        (
            Some(human(&[])),
            "read_notice",
            &read,
            Some(("role", json!(["owner", "reviewer", "reader", "agent"]))),
        ),
        (Some(human(&[Write])), "post_notice", &post, None),
        (Some(agent(&[Write])), "post_notice", &post, None),
        (Some(agent(&[Read])), "post_notice", &post, Some(("scope", json!("write")))),
        (Some(agent(&[])), "read_notice", &read, Some(("scope", json!("read")))),
        (Some(agent(&[Review])), "read_notice", &read, Some(("scope", json!("read")))),
    ] {
        let (service, _) = board();
        let outcome = call(&service, caller.clone(), tool, request.clone());
        let refusal = outcome.err().map(|error| {
            assert_eq!((error.name, error.code), ("AUTH_REQUIRED", 401));
            let reason = error.data[REASON].as_str().unwrap().to_owned();
            let status = CONTRACT.status(&error);
            assert_eq!(status, Some(if reason == "missing" { 401 } else { 403 }));
            (reason, error.data[NEEDS].clone())
        });
        let expected = expected.map(|(reason, needs)| (reason.to_owned(), needs));
        assert_eq!(refusal, expected, "{tool} by {caller:?}");
    }
}

#[test]
fn the_examples_of_each_clause_break_it_alone_or_satisfy_it() {
    let mut broken = 0;
    for gate in CONTRACT.gates {
        for clause in gate.clauses {
            for example in clause.examples {
                let mut facts = example.json.value();
                let tool = CONTRACT.operation(facts["tool"].as_str().unwrap()).unwrap();
                gates::fill_defaults(&tool.input.wire(), &mut facts["request"]);
                let report = gates::judge(tool, clause.at, &facts);
                let asks = report.gates.iter().find(|it| it.gate == gate.name).unwrap().requires_review;
                let violated: Vec<_> = report.violations.iter().map(|it| it.clause).collect();
                match clause.asks {
                    Some(_) => assert_eq!((asks, violated), (example.breaks, vec![]), "{}", clause.id),
                    None => {
                        let expected = if example.breaks { vec![clause.id] } else { vec![] };
                        assert_eq!(violated, expected, "{}: {}", clause.id, example.name);
                    }
                }
                broken += usize::from(example.breaks);
            }
        }
    }
    assert_eq!(broken, 6);
}

/// The clauses that calls of `post_notice` violate, stated without their schemas.
fn expected(request: &Value, is_agent: bool, kept: u64) -> (bool, Vec<&'static str>, Vec<&'static str>) {
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    let clauses = [
        ("agents_say_why", is_agent && text("reason").trim().is_empty()),
        ("says_something", !text("text").chars().any(char::is_alphanumeric)),
        ("agents_are_calm", is_agent && request["urgent"] == true),
    ];
    let violated = clauses.into_iter().filter(|(_, is_violated)| *is_violated);
    let after = if kept < 50 { vec!["others_keep_their_words"] } else { vec![] };
    (is_agent, violated.map(|(id, _)| id).collect(), after)
}

/// Every combination of the facts in clauses.
fn all_calls() -> impl Iterator<Item = (Value, KnownCaller, u64)> {
    let texts = ["Tea.", "…", "", "1", "é"];
    let reasons = [None, Some(""), Some(" "), Some("asked")];
    let hurries = [None, Some(false), Some(true)];
    let callers = [human(EVERYTHING), agent(EVERYTHING)];
    let kept = [0, 49, 50, 1000];
    texts.into_iter().flat_map(move |text| {
        let callers = callers.clone();
        reasons.into_iter().flat_map(move |reason| {
            let callers = callers.clone();
            hurries.into_iter().flat_map(move |urgent| {
                let callers = callers.clone();
                callers.into_iter().flat_map(move |caller| {
                    kept.into_iter().map(move |kept| {
                        let mut request = json!({ "path": "tea.md", "text": text });
                        if let Some(reason) = reason {
                            request["reason"] = reason.into();
                        }
                        if let Some(urgent) = urgent {
                            request["urgent"] = urgent.into();
                        }
                        (request, caller.clone(), kept)
                    })
                })
            })
        })
    })
}

#[test]
fn all_violations_are_said_and_the_same_facts_have_the_same_outcome() {
    let tool = CONTRACT.operation("post_notice").unwrap();
    let mut calls = 0;
    for (request, caller, kept) in all_calls() {
        calls += 1;
        let (asks, before, after) = expected(&request, caller.kind == CallerKind::Agent, kept);
        let mut facts = gates::facts(tool, Some(&caller), &request);
        assert!(facts["request"]["urgent"].is_boolean(), "defaults are filled in");
        facts.insert("plan".into(), json!({ "kept_percent": kept }));
        facts.insert("answer".into(), json!({ "path": "tea.md" }));
        // The order of members, and facts that no clause uses, change nothing.
        let mut others: serde_json::Map<_, _> = facts.clone().into_iter().rev().collect();
        others["caller"]["identity"] = "another".into();
        others.insert("target".into(), json!({ "status": 1 }));
        for (at, expected) in [(GateTime::Before, before), (GateTime::After, after)] {
            let report = gates::judge(tool, at, &facts.clone().into());
            let said: Vec<_> = report.violations.iter().map(|it| it.clause).collect();
            assert_eq!(said, expected, "{request} by {caller:?}");
            assert_eq!(report.is_approved(), expected.is_empty());
            assert_eq!(report.requires_review(), asks && at == GateTime::Before);
            for same in [&facts, &others] {
                assert_eq!(gates::judge(tool, at, &same.clone().into()), report);
            }
        }
    }
    assert_eq!(calls, 5 * 4 * 3 * 2 * 4);
}

#[test]
fn a_call_with_violations_changes_nothing_and_says_all_of_them() {
    for (request, caller, _) in all_calls() {
        let (service, store) = board();
        let (asks, before, _) = expected(&request, caller.kind == CallerKind::Agent, 100);
        let outcome = call(&service, Some(caller), "post_notice", request.clone());
        match outcome {
            Ok(answer) => {
                assert_eq!(before, Vec::<&str>::new(), "{request}");
                assert_eq!(answer.response["status"], if asks { "waiting" } else { "posted" });
                assert_eq!(answer.meta[GATES]["requires_review"], asks);
                let path = answer.response["path"].as_str().unwrap();
                assert!(store.read(path).unwrap().is_some());
            }
            Err(error) => {
                assert_eq!((error.name, error.code), ("VIOLATION", 4030));
                let violations = error.data[VIOLATIONS].as_array().unwrap();
                let said: Vec<_> = violations.iter().map(|it| it["clause"].as_str().unwrap()).collect();
                assert_eq!(said, before, "{request}");
                assert_eq!(error.data["requires_review"], asks);
                for path in ["tea.md", "waiting/tea.md"] {
                    assert_eq!(store.read(path).unwrap(), None);
                }
                let body = CONTRACT.error_body(&error).unwrap();
                assert_eq!(body["error"]["code"], "VIOLATION");
                assert_eq!(body["error"]["violations"], json!(violations));
                assert_eq!(body["error"]["details"].get(VIOLATIONS), None);
            }
        }
    }
}

#[test]
fn what_only_the_method_knows_is_judged_before_anything_is_published() {
    let (service, store) = board();
    let before = store.read("long.md").unwrap();
    let owner = || Some(human(EVERYTHING));
    let short = json!({ "path": "long.md", "text": "short" });
    let error = call(&service, owner(), "post_notice", short).unwrap_err();
    assert_eq!(error.data[VIOLATIONS][0]["clause"], "others_keep_their_words");
    assert_eq!(error.data["gates"], json!(["manners"]));
    assert_eq!(store.read("long.md").unwrap(), before);

    let pay = json!({ "path": "pay.md" });
    let error = call(&service, Some(agent(EVERYTHING)), "read_notice", pay.clone()).unwrap_err();
    assert_eq!(error.data[VIOLATIONS][0]["clause"], "confidential_notices_stay");
    assert!(!format!("{error:?}").contains("Confidential."), "the answer is not told");
    let answer = call(&service, owner(), "read_notice", pay).unwrap();
    let gates = json!({
        "approved": true,
        "requires_review": false,
        "gates": [{ "gate": "discretion", "approved": true, "requires_review": false }],
        "violations": [],
    });
    assert_eq!(answer.meta[GATES], gates);
}

#[test]
fn other_errors_have_no_violations_in_their_body() {
    let (service, _) = board();
    let error = call(&service, Some(human(EVERYTHING)), "read_notice", json!({})).unwrap_err();
    let body = CONTRACT.error_body(&error).unwrap();
    assert_eq!((&body["error"]["code"], &body["error"]["violations"]), (&json!("INVALID"), &json!([])));
    assert_eq!(body["error"]["details"]["violations"][0]["rule"], "required");
    assert_eq!(CONTRACT.status(&error), Some(422));
}
