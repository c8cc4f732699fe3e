//! The runtime's promises, on a store in memory: a validated change is published once, as validated, or not at all.

mod support;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Map, Value, json};
use support::{
    memory::{Memory, id},
    ready,
};
use tabellion_runtime::{
    Answer, Approval, Approver, BoxFuture, CallContext, Caller, Change, Content, ContractError, Decision,
    Edit, ErrorAnswer, Failure, FailureKind, PathPolicy, Progress, Proposal, Rejection, Schema, Shows,
    Snapshot as _, Text, ToolSpec, WriteCx, call,
    context::{BASE, COMMIT, REPLAYED},
    dispatch,
};

static INPUT: Schema = Schema::authored(Text::Written(
    r#"{ "type": "object", "required": ["path", "text"], "properties": {
    "path": { "type": "string", "x-enforce": [
        { "id": "climbs", "message": "`path` must not climb", "schema": { "not": { "pattern": "\\.\\." } } }
    ] },
    "text": { "type": "string" }, "times": { "type": "integer", "default": 1 }
}, "additionalProperties": false }"#,
));
static OUTPUT: Schema = Schema::plain(
    r#"{ "type": "object", "required": ["commit"],
    "properties": {
    "commit": { "type": "string", "pattern": "^c[0-9]+$" }, "length": { "type": "integer", "minimum": 0 }
} }"#,
);
/// A tool that appends, under these conditions.
const fn append(
    paths: Option<PathPolicy>,
    approval: Option<Approval>,
    commit: Option<&'static str>,
) -> ToolSpec {
    named("append", paths, approval, commit)
}

const fn named(
    name: &'static str,
    paths: Option<PathPolicy>,
    approval: Option<Approval>,
    commit: Option<&'static str>,
) -> ToolSpec {
    ToolSpec {
        name,
        mutating: true,
        path: Some("/path"),
        path_in: if paths.is_some() { Some("notes/") } else { None },
        paths,
        commit,
        approval,
        errors: &["INVALID", "CONFLICT", "IO", "DENIED", "NOT_ALLOWED", "DECLINED"],
        ..ToolSpec::new(&INPUT, &OUTPUT)
    }
}

const COMMIT_AT: Option<&str> = Some("/commit");
const POLICY: PathPolicy = PathPolicy { allow: &["notes/**"], deny: &["**/secret*"] };

static PLAIN: ToolSpec = append(None, None, COMMIT_AT);
static BELOW: ToolSpec = append(Some(POLICY), None, COMMIT_AT);
static SHOWS_APPENDED: ToolSpec = append(None, Some(Approval { shows: Shows::Appended }), COMMIT_AT);
static SHOWS_DIFF: ToolSpec = append(None, Some(Approval { shows: Shows::Diff }), COMMIT_AT);
static ANOTHER: ToolSpec = named("another", None, Some(Approval { shows: Shows::Diff }), COMMIT_AT);
static SILENT: ToolSpec = append(None, None, None);

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Request {
    path: String,
    text: String,
    #[serde(default = "once")]
    times: u64,
}

fn once() -> u64 {
    1
}

#[derive(serde::Serialize)]
struct Response {
    commit: String,
    length: i64,
}

struct Error(Failure);

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl ContractError for Error {
    fn answer(self) -> ErrorAnswer {
        let Failure { kind, message, data, .. } = self.0;
        let (name, code) = match kind {
            FailureKind::Invalid => ("INVALID", -32602),
            FailureKind::Conflict => ("CONFLICT", -32001),
            FailureKind::Io => ("IO", -32002),
            FailureKind::AccessDenied => ("DENIED", -32003),
            FailureKind::PathNotAllowed => ("NOT_ALLOWED", -32004),
            FailureKind::Declined => ("DECLINED", -32005),
            _ => ("OTHER", -32099),
        };
        ErrorAnswer { name, code, message, data }
    }
}

type Method = call::MutatingMethod<(), Request, Response, Error>;

fn appended<'c>(cx: &'c WriteCx<'c>, request: Request) -> Result<Change, Error> {
    let mut bytes = cx.read(&request.path)?.map(|document| document.bytes).unwrap_or_default();
    (0..request.times).for_each(|_| bytes.extend(request.text.as_bytes()));
    Ok(Change::one(request.path, Content::Write(bytes), "append", ""))
}

const GOOD: Method = |(), cx, request| {
    Box::pin(async move {
        Ok(cx
            .stage(appended(cx, request)?, |receipt| Response { commit: receipt.commit().into(), length: 1 }))
    })
};
const BREAKS_ITS_SCHEMA: Method = |(), cx, request| {
    Box::pin(async move {
        Ok(cx.stage(appended(cx, request)?, |receipt| Response {
            commit: receipt.commit().into(),
            length: -1,
        }))
    })
};
const NAMES_ANOTHER_COMMIT: Method = |(), cx, request| {
    Box::pin(async move {
        Ok(cx.stage(appended(cx, request)?, |_| Response { commit: "c999".into(), length: 1 }))
    })
};
const ANSWERS_UNDECLARED: Method =
    |(), _, _| Box::pin(async move { Err(Failure::new(FailureKind::Busy, "undeclared").into()) });

fn call(store: &Memory, method: Method, arguments: Value, conditions: Value) -> Result<Answer, Rejection> {
    let conditions: &Map<String, Value> = conditions.as_object().expect("an object");
    let call = CallContext::from_meta(None, conditions).expect("good conditions");
    call_as(store, method, arguments, call)
}

fn call_as(store: &Memory, method: Method, arguments: Value, call: CallContext) -> Result<Answer, Rejection> {
    call_tool(&PLAIN, store, method, arguments, call)
}

fn call_tool(
    tool: &'static ToolSpec,
    store: &Memory,
    method: Method,
    arguments: Value,
    call: CallContext,
) -> Result<Answer, Rejection> {
    ready(dispatch::mutate(tool, &(), store, &call, arguments, method))
}

fn text(store: &Memory) -> String {
    let document = store.read("a").expect("readable").map(|document| document.bytes).unwrap_or_default();
    String::from_utf8(document).expect("UTF-8")
}

fn commits(store: &Memory) -> usize {
    store.state.lock().unwrap().commits.len()
}

fn name(rejection: Result<Answer, Rejection>) -> &'static str {
    match rejection {
        Err(Rejection::Declared(error)) => error.name,
        Err(Rejection::Breach { .. }) => "breach",
        Err(Rejection::UnknownTool | Rejection::Unknown) => "unknown",
        Err(Rejection::InputRequired(_)) => "ask",
        Ok(_) => "accepted",
    }
}

#[test]
fn a_change_is_published_once_and_named_in_the_answer() {
    let store = Memory::default();
    let answer =
        call(&store, GOOD, json!({ "path": "a", "text": "x", "times": 2.0 }), json!({})).expect("made");
    assert_eq!(answer.response, json!({ "commit": "c0", "length": 1 }));
    assert_eq!(answer.meta[BASE], "id:xx");
    assert_eq!((text(&store).as_str(), commits(&store)), ("xx", 1));
}

#[test]
fn what_breaks_the_contract_writes_nothing() {
    for method in [BREAKS_ITS_SCHEMA, NAMES_ANOTHER_COMMIT, ANSWERS_UNDECLARED] {
        let store = Memory::default();
        assert_eq!(name(call(&store, method, json!({ "path": "a", "text": "x" }), json!({}))), "breach");
        assert_eq!(commits(&store), 0);
    }
}

#[test]
fn bad_arguments_say_rule_pointer_and_message() {
    for (arguments, rule, pointer) in [
        (json!({ "path": "../a", "text": "x" }), "climbs", "/path"),
        (json!({ "path": "a" }), "required", ""),
        (json!({ "path": "a", "text": "x", "b/c": 1 }), "additionalProperties", "/b~1c"),
        (json!({ "path": "a", "text": "x", "times": 1.5 }), "type", "/times"),
        (json!([]), "type", ""),
    ] {
        let store = Memory::default();
        let Err(Rejection::Declared(error)) = call(&store, GOOD, arguments.clone(), json!({})) else {
            panic!("{arguments} was accepted");
        };
        let violation = &error.data["violations"][0];
        assert_eq!(
            (&violation["rule"], &violation["pointer"]),
            (&json!(rule), &json!(pointer)),
            "{arguments}"
        );
        assert_eq!(commits(&store), 0);
    }
}

#[test]
fn messages_never_quote_a_value() {
    let store = Memory::default();
    let arguments = json!({ "path": 7, "text": ["hunter2"], "times": "hunter2" });
    let Err(Rejection::Declared(error)) = call(&store, GOOD, arguments, json!({})) else {
        panic!("accepted");
    };
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn a_lost_race_is_planned_anew_on_the_new_state() {
    let store = Memory::default();
    store.races.store(3, Ordering::SeqCst);
    call(&store, GOOD, json!({ "path": "a", "text": "x" }), json!({})).expect("made");
    assert_eq!((text(&store).as_str(), commits(&store)), ("+++x", 1));
    store.races.store(dispatch::MAX_ATTEMPTS, Ordering::SeqCst);
    assert_eq!(name(call(&store, GOOD, json!({ "path": "a", "text": "x" }), json!({}))), "CONFLICT");
    assert_eq!(commits(&store), 1);
}

#[test]
fn a_stale_base_is_refused() {
    let store = Memory::default();
    let request = json!({ "path": "a", "text": "x" });
    let make = |base: Value| name(call(&store, GOOD, request.clone(), json!({ "tabellion/ifBase": base })));
    assert_eq!(make(json!("id:x")), "CONFLICT");
    assert_eq!(make(Value::Null), "accepted");
    assert_eq!(make(Value::Null), "CONFLICT");
    assert_eq!(make(json!("id:x")), "accepted");
    assert_eq!(make(json!("id:x")), "CONFLICT");
    // Also if the document moves between planning and publishing.
    store.races.store(1, Ordering::SeqCst);
    assert_eq!(make(json!("id:xx")), "CONFLICT");
    assert_eq!((text(&store).as_str(), commits(&store)), ("xx+", 2));
}

#[test]
fn a_repeated_key_answers_with_the_first_commit() {
    let store = Memory::default();
    let make = |text: &str| {
        call(&store, GOOD, json!({ "path": "a", "text": text }), json!({ "tabellion/idempotencyKey": "k" }))
    };
    let first = make("x").expect("made");
    call(&store, GOOD, json!({ "path": "a", "text": "y" }), json!({})).expect("made");
    let again = make("x").expect("answered");
    assert_eq!((&again.response, &again.meta[REPLAYED]), (&first.response, &json!(true)));
    assert_eq!(name(make("z")), "CONFLICT");
    assert_eq!((text(&store).as_str(), commits(&store)), ("xy", 2));
}

/// A caller that gives up after a number of calls of `has_cancelled`.
struct Impatient(AtomicUsize);

impl Caller for Impatient {
    fn has_cancelled(&self) -> bool {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.is_err()
    }

    fn hear(&self, _: Progress) {}
}

#[test]
fn a_call_that_is_cancelled_changes_nothing_or_all() {
    for (patience, changes) in [(0, false), (1, false), (2, true)] {
        let store = Memory::default();
        let caller = Arc::new(Impatient(AtomicUsize::new(patience)));
        let call = CallContext::default().with_caller(caller);
        let answer = call_as(&store, GOOD, json!({ "path": "a", "text": "x", "times": 1 }), call);
        assert_eq!(answer.is_ok(), changes, "{patience}");
        assert_eq!(text(&store), if changes { "x" } else { "" });
        assert_eq!(commits(&store), usize::from(changes));
    }
}

#[test]
fn a_path_is_judged_where_it_lies_before_the_method_is_called() {
    const NEVER: Method = |(), _, _| unreachable!("the path is refused");
    for (path, expected) in [
        ("secret", "DENIED"),
        ("a/Secrets/b", "DENIED"),
        ("/a", "NOT_ALLOWED"),
        ("a//b", "NOT_ALLOWED"),
        ("", "NOT_ALLOWED"),
    ] {
        let store = Memory::default();
        let arguments = json!({ "path": path, "text": "x" });
        let answer = call_tool(&BELOW, &store, NEVER, arguments, CallContext::default());
        assert_eq!(name(answer), expected, "{path}");
    }
    let store = Memory::default();
    let arguments = json!({ "path": "a", "text": "x" });
    let answer = call_tool(&BELOW, &store, GOOD, arguments, CallContext::default());
    assert_eq!(name(answer), "accepted");
}

/// Answers the same each time, and records the proposals. A test decides what happens to the store meanwhile.
struct Person {
    decision: Decision,
    insists: bool,
    shown: Mutex<Vec<Proposal>>,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Person")
    }
}

impl Approver for Person {
    fn insists_on(&self, _: &ToolSpec) -> bool {
        self.insists
    }

    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision> {
        self.shown.lock().unwrap().push(proposal.clone());
        (self.meanwhile)();
        Box::pin(async { self.decision.clone() })
    }
}

fn person(decision: Decision) -> Person {
    Person { decision, insists: false, shown: Mutex::default(), meanwhile: Box::new(|| {}) }
}

/// Returns the result of a call with this person as approver, and the proposals that the person was shown.
fn proposed(
    tool: &'static ToolSpec,
    store: &Memory,
    method: Method,
    arguments: Value,
    person: Person,
) -> (Result<Answer, Rejection>, Vec<Proposal>) {
    let person = Arc::new(person);
    let call = CallContext::default().with_approver(Arc::clone(&person) as Arc<dyn Approver>);
    let answer = call_tool(tool, store, method, arguments, call);
    let shown = person.shown.lock().unwrap().clone();
    (answer, shown)
}

/// Returns the result of appending `x` to the document `a`, and the texts that the person was shown.
fn asked(
    tool: &'static ToolSpec,
    store: &Memory,
    person: Person,
) -> (Result<Answer, Rejection>, Vec<String>) {
    let (answer, shown) = proposed(tool, store, GOOD, json!({ "path": "a", "text": "x" }), person);
    (answer, shown.into_iter().map(|proposal| proposal.shown).collect())
}

fn holding(text: &str) -> Arc<Memory> {
    let store = Memory::default();
    let mut state = store.state.lock().unwrap();
    state.documents.insert("a".into(), text.into());
    drop(state);
    Arc::new(store)
}

#[test]
fn nothing_is_written_without_approval_of_what_is_shown() {
    let insists = || Person { insists: true, ..person(Decision::Declined("no".into())) };
    for (tool, person, expected, shown) in [
        (&SHOWS_APPENDED, person(Decision::Granted), "accepted", &["x"][..]),
        (&SHOWS_APPENDED, person(Decision::Declined("no".into())), "DECLINED", &["x"]),
        (&SHOWS_APPENDED, person(Decision::Ask), "ask", &["x"]),
        (&SHOWS_DIFF, person(Decision::Granted), "accepted", &["a: old > oldx"]),
        (&SHOWS_DIFF, person(Decision::Ask), "ask", &["a: old > oldx"]),
        (&PLAIN, person(Decision::Declined("no".into())), "accepted", &[]),
        (&PLAIN, insists(), "DECLINED", &["a: old > oldx"]),
    ] {
        let store = holding("old");
        let (answer, seen) = asked(tool, &store, person);
        assert_eq!((name(answer), seen), (expected, shown.iter().map(ToString::to_string).collect()));
        let written = expected == "accepted";
        assert_eq!(text(&store), if written { "oldx" } else { "old" });
        assert_eq!(commits(&store), usize::from(written));
    }
    let store = holding("old");
    let arguments = json!({ "path": "a", "text": "x" });
    let answer = call_tool(&SHOWS_APPENDED, &store, GOOD, arguments, CallContext::default());
    assert_eq!(name(answer), "DECLINED", "no approver");
    assert_eq!(commits(&store), 0);
}

#[test]
fn an_approval_holds_for_what_was_shown_and_for_nothing_else() {
    let becomes = |store: &Arc<Memory>, text: &'static str| {
        let store = Arc::clone(store);
        Person {
            meanwhile: Box::new(move || {
                let mut state = store.state.lock().unwrap();
                state.documents.insert("a".into(), text.into());
            }),
            ..person(Decision::Granted)
        }
    };
    // An appended text does not depend on the text before it; a difference does.
    for (tool, expected, after) in
        [(&SHOWS_APPENDED, "accepted", "old, newx"), (&SHOWS_DIFF, "CONFLICT", "old, new")]
    {
        let store = holding("old");
        let (answer, _) = asked(tool, &store, becomes(&store, "old, new"));
        assert_eq!((name(answer), text(&store).as_str()), (expected, after));
    }
}

#[test]
fn a_failed_precondition_is_reported_before_the_approver_is_asked() {
    let store = holding("old");
    let conditions = json!({ "tabellion/ifBase": "of another text" });
    let person = Arc::new(person(Decision::Granted));
    let call = CallContext::from_meta(None, conditions.as_object().unwrap()).unwrap();
    let call = call.with_approver(Arc::clone(&person) as Arc<dyn Approver>);
    let answer = call_tool(&SHOWS_DIFF, &store, GOOD, json!({ "path": "a", "text": "x" }), call);
    assert_eq!((name(answer), commits(&store)), ("CONFLICT", 0));
    assert_eq!(person.shown.lock().unwrap().len(), 0);
}

#[test]
fn a_proposal_is_of_one_state_of_the_document() {
    let store = holding("old");
    store.slips.store(true, Ordering::Relaxed);
    let (answer, shown) = asked(&SHOWS_APPENDED, &store, person(Decision::Granted));
    assert_eq!((name(answer), shown), ("accepted", vec!["x".to_owned()]));
}

#[test]
fn the_end_of_the_line_before_is_no_part_of_what_is_appended() {
    for (old, text, shown) in [
        ("old", "\nx\n", "x\n"),
        ("old", "\r\nx", "x"),
        ("old", "\n\nx", "\nx"),
        ("old", "x\n", "x\n"),
        ("old\n", "\nx", "\nx"),
        ("", "\nx", "\nx"),
    ] {
        let store = holding(old);
        let request = json!({ "path": "a", "text": text });
        let (answer, proposals) = proposed(&SHOWS_APPENDED, &store, GOOD, request, person(Decision::Granted));
        assert_eq!((name(answer), &*proposals[0].shown), ("accepted", shown), "{old:?} {text:?}");
    }
}

#[test]
fn a_digest_stands_for_tool_path_and_bytes() {
    let digest = |tool: &'static ToolSpec, old: Option<&str>, path: &str, text: &str| {
        let store = old.map_or_else(Arc::default, holding);
        let request = json!({ "path": path, "text": text });
        let (answer, shown) = proposed(tool, &store, GOOD, request, person(Decision::Ask));
        let Err(Rejection::InputRequired(proposal)) = answer else { panic!("not asked") };
        assert_eq!(shown, [*proposal.clone()]);
        proposal.digest
    };
    let appended = digest(&SHOWS_APPENDED, Some("old"), "a", "x");
    assert_eq!(appended, digest(&SHOWS_APPENDED, Some("older"), "a", "x"));
    assert_eq!(appended, digest(&SHOWS_APPENDED, None, "a", "x"));
    let shown = digest(&SHOWS_DIFF, Some("old"), "a", "x");
    let different = [
        appended,
        shown.clone(),
        digest(&SHOWS_APPENDED, Some("old"), "b", "x"),
        digest(&SHOWS_APPENDED, Some("old"), "a", "y"),
        digest(&ANOTHER, Some("old"), "a", "x"),
        digest(&SHOWS_DIFF, Some("older"), "a", "x"),
        digest(&SHOWS_DIFF, Some(""), "a", "x"),
        digest(&SHOWS_DIFF, None, "a", "x"),
        digest(&SHOWS_DIFF, Some("old"), "a", "y"),
    ];
    let unique: std::collections::BTreeSet<_> = different.iter().collect();
    assert_eq!(unique.len(), different.len());
    assert_eq!(shown, digest(&SHOWS_DIFF, Some("old"), "a", "x"));
}

#[test]
fn what_may_only_append_breaks_its_contract_otherwise() {
    const REPLACES: Method = |(), cx, request| {
        Box::pin(async move {
            let content = Content::Write(request.text.into_bytes());
            let change = Change::one(request.path, content, "append", "");
            Ok(cx.stage(change, |receipt| Response { commit: receipt.commit().into(), length: 1 }))
        })
    };
    let store = holding("old");
    let call = CallContext::default().with_approver(Arc::new(person(Decision::Granted)));
    let answer = call_tool(&SHOWS_APPENDED, &store, REPLACES, json!({ "path": "a", "text": "x" }), call);
    assert_eq!(name(answer), "breach");
    assert_eq!(text(&store), "old");
}

#[test]
fn what_was_done_under_a_key_needs_no_second_approval() {
    let store = holding("old");
    let conditions = json!({ "tabellion/idempotencyKey": "k" });
    let keyed = |decision| {
        let call = CallContext::from_meta(None, conditions.as_object().unwrap()).unwrap();
        let call = call.with_approver(Arc::new(person(decision)));
        name(call_tool(&SHOWS_DIFF, &store, GOOD, json!({ "path": "a", "text": "x" }), call))
    };
    assert_eq!(keyed(Decision::Granted), "accepted");
    assert_eq!(keyed(Decision::Declined("no".into())), "accepted");
    assert_eq!((text(&store).as_str(), commits(&store)), ("oldx", 1));
}

#[test]
fn a_commit_without_a_place_in_the_response_is_in_meta() {
    let store = Memory::default();
    let arguments = json!({ "path": "a", "text": "x" });
    let answer = call_tool(&SILENT, &store, GOOD, arguments, CallContext::default()).expect("made");
    assert_eq!(answer.meta[COMMIT], "c0");
}

/// Appends to the document at `path` and to the one at `b`.
const CHANGES_TWO: Method = |(), cx, request| {
    Box::pin(async move {
        let second = Request { path: "b".into(), ..request.clone() };
        let changes = [appended(cx, request)?, appended(cx, second)?];
        let edits: Vec<Edit> = changes.iter().flat_map(|change| change.edits().iter().cloned()).collect();
        Ok(cx.stage(Change::new(edits, "append", "").unwrap(), |receipt| Response {
            commit: receipt.commit().into(),
            length: 2,
        }))
    })
};

#[test]
fn two_documents_change_in_one_commit_or_not_at_all() {
    let request = json!({ "path": "a", "text": "x" });
    let both = |store: &Memory| {
        let read = |path| store.read(path).unwrap().map(|document| document.id);
        [read("a"), read("b")]
    };
    let id = |text: &str| Some(id(text.as_bytes()));

    let store = Memory::default();
    let answer = call(&store, CHANGES_TWO, request.clone(), json!({})).expect("made");
    assert_eq!(answer.meta[BASE], "id:x", "that of the first document");
    assert_eq!((both(&store), commits(&store)), ([id("x"), id("x")], 1));

    // A lost race is worked out again for both.
    store.races.store(1, Ordering::SeqCst);
    call(&store, CHANGES_TWO, request.clone(), json!({})).expect("made");
    assert_eq!((both(&store), commits(&store)), ([id("x+x"), id("xx")], 2));

    // The base is that of the first document.
    for (base, expected) in [("id:xx", "CONFLICT"), ("id:x+x", "accepted")] {
        let answer = call(&store, CHANGES_TWO, request.clone(), json!({ "tabellion/ifBase": base }));
        assert_eq!(name(answer), expected, "{base}");
    }
    assert_eq!((both(&store), commits(&store)), ([id("x+xx"), id("xxx")], 3));
}

#[test]
fn an_approval_of_two_documents_shows_both_and_holds_for_both() {
    let asked = |tool: &'static ToolSpec, store: &Memory, person: Person| {
        let request = json!({ "path": "a", "text": "x" });
        let (answer, shown) = proposed(tool, store, CHANGES_TWO, request, person);
        (name(answer), shown[0].clone())
    };
    let (outcome, diff) = asked(&SHOWS_DIFF, &holding("old"), person(Decision::Granted));
    assert_eq!(outcome, "accepted");
    assert_eq!((diff.path.as_str(), diff.shown.as_str()), ("a, b", "a: old > oldx; b: - > x"));
    let (_, appended) = asked(&SHOWS_APPENDED, &holding("old"), person(Decision::Granted));
    assert_eq!(appended.shown, "xx");

    // The second document changes while the person is asked.
    let store = holding("old");
    let meanwhile = Arc::clone(&store);
    let slow = Person {
        meanwhile: Box::new(move || {
            let mut state = meanwhile.state.lock().unwrap();
            state.documents.insert("b".into(), "new".into());
        }),
        ..person(Decision::Granted)
    };
    let (outcome, _) = asked(&SHOWS_DIFF, &store, slow);
    assert_eq!((outcome, commits(&store)), ("CONFLICT", 0));
}
