//! The runtime's promises, on a store in memory: what is published is what was validated, once, or nothing.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use serde_json::{Map, Value, json};
use tabellion_schemas::{
    Annotations, Answer, BoxFuture, CallContext, Caller, Change, Content, ContractError, Document, Entry,
    ErrorAnswer, Failure, FailureKind, Prepared, Progress, Rejection, Replay, Rule, Session, Setback, Shape,
    Snapshot, Store, ToolSpec, WriteCx,
    call::{BASE, REPLAYED},
    dispatch,
};

const INPUT: &str = r#"{ "type": "object", "required": ["path", "text"], "properties": {
    "path": { "type": "string", "allOf": [{ "not": { "pattern": "\\.\\." } }] },
    "text": { "type": "string" }, "times": { "type": "integer", "default": 1 }
}, "additionalProperties": false }"#;
const OUTPUT: &str = r#"{ "type": "object", "required": ["commit"],
    "properties": {
    "commit": { "type": "string", "pattern": "^c[0-9]+$" }, "length": { "type": "integer", "minimum": 0 }
} }"#;
const RULES: [Rule; 1] = [Rule {
    at: "/properties/path/allOf/0",
    id: "climbs",
    message: "`path` must not climb",
}];

static APPEND: ToolSpec = ToolSpec {
    name: "append",
    description: "",
    annotations: Annotations {
        read_only: false,
        destructive: false,
        idempotent: false,
        open_world: false,
    },
    mutating: true,
    path: Some("/path"),
    path_in: None,
    paths: None,
    commit: Some("/commit"),
    approval: None,
    errors: &["INVALID", "CONFLICT", "IO"],
    effects: &[],
    input: Shape::new(INPUT, INPUT, &RULES),
    output: Shape::new(OUTPUT, OUTPUT, &[]),
    examples: &[],
};

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
        let Failure { kind, message, data } = self.0;
        let (name, code) = match kind {
            FailureKind::Invalid => ("INVALID", -32602),
            FailureKind::Conflict => ("CONFLICT", -32001),
            FailureKind::Io => ("IO", -32002),
            _ => ("OTHER", -32099),
        };
        ErrorAnswer {
            name,
            code,
            message,
            data,
        }
    }
}

/// A store in memory: documents, and one key and request per commit.
#[derive(Default)]
struct Memory {
    state: Mutex<State>,
    /// How many publications somebody else will be faster than.
    races: AtomicU32,
}

#[derive(Default, Clone)]
struct State {
    documents: BTreeMap<String, Vec<u8>>,
    commits: Vec<Commit>,
}

#[derive(Clone)]
struct Commit {
    key: Option<String>,
    request: Option<String>,
    before: BTreeMap<String, Vec<u8>>,
}

struct Turn<'a> {
    store: &'a Memory,
    before: State,
    next: Option<State>,
}

fn document(documents: &BTreeMap<String, Vec<u8>>, path: &str) -> Option<Document> {
    let bytes = documents.get(path)?.clone();
    Some(Document {
        id: id(&bytes),
        bytes,
    })
}

fn id(bytes: &[u8]) -> String {
    format!("id:{}", String::from_utf8_lossy(bytes))
}

impl Snapshot for Memory {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        Ok(document(&self.state.lock().unwrap().documents, path))
    }
}

impl Store for Memory {
    fn difference(&self, path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
        let [old, new] = [old, new].map(|side| side.map_or("-".into(), String::from_utf8_lossy));
        format!("{path}: {old} > {new}")
    }

    fn begin<'a>(&'a self, _: u32) -> BoxFuture<'a, Result<Box<dyn Session + 'a>, Failure>> {
        let before = self.state.lock().unwrap().clone();
        Box::pin(async move {
            Ok(Box::new(Turn {
                store: self,
                before,
                next: None,
            }) as Box<dyn Session>)
        })
    }
}

impl Snapshot for Turn<'_> {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        Ok(document(&self.before.documents, path))
    }
}

struct Past(BTreeMap<String, Vec<u8>>);

impl Snapshot for Past {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        Ok(document(&self.0, path))
    }
}

impl Session for Turn<'_> {
    fn replay(&self, key: &str, request: &str) -> Result<Option<Replay>, Setback> {
        let commits = &self.before.commits;
        let Some(at) = commits
            .iter()
            .position(|commit| commit.key.as_deref() == Some(key))
        else {
            return Ok(None);
        };
        if commits[at].request.as_deref() != Some(request) {
            return Err(Failure::new(FailureKind::Conflict, "the key is taken").into());
        }
        let before = Box::new(Past(commits[at].before.clone()));
        Ok(Some(Replay {
            commit: format!("c{at}"),
            before,
        }))
    }

    fn prepare(&mut self, change: &Change, entry: &Entry<'_>) -> Result<Prepared, Setback> {
        let mut next = self.before.clone();
        next.commits.push(Commit {
            key: entry.call.idempotency_key.clone(),
            request: entry.request.map(String::from),
            before: self.before.documents.clone(),
        });
        let content = match &change.content {
            Content::Write(bytes) => {
                next.documents.insert(change.path.clone(), bytes.clone());
                Some(id(bytes))
            }
            Content::Delete => {
                next.documents.remove(&change.path);
                None
            }
        };
        let base = self.before.documents.get(&change.path).map(|bytes| id(bytes));
        self.next = Some(next);
        Ok(Prepared {
            commit: format!("c{}", self.before.commits.len()),
            base,
            content,
        })
    }

    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), Setback>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let mut state = self.store.state.lock().unwrap();
            if self.store.races.load(Ordering::SeqCst) > 0 {
                self.store.races.fetch_sub(1, Ordering::SeqCst);
                state.documents.entry("a".into()).or_default().extend(b"+");
                return Err(Setback::Moved);
            }
            *state = self.next.expect("prepared");
            Ok(())
        })
    }
}

type Method = dispatch::MutatingMethod<(), Request, Response, Error>;

fn appended<'c>(cx: &'c WriteCx<'c>, request: Request) -> Result<Change, Error> {
    let mut bytes = cx
        .read(&request.path)?
        .map(|document| document.bytes)
        .unwrap_or_default();
    (0..request.times).for_each(|_| bytes.extend(request.text.as_bytes()));
    Ok(Change {
        path: request.path,
        content: Content::Write(bytes),
        operation: "append",
        summary: String::new(),
    })
}

const GOOD: Method = |(), cx, request| {
    Box::pin(async move {
        Ok(cx.stage(appended(cx, request)?, |receipt| Response {
            commit: receipt.commit().into(),
            length: 1,
        }))
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
        Ok(cx.stage(appended(cx, request)?, |_| Response {
            commit: "c999".into(),
            length: 1,
        }))
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
    let answer = dispatch::mutate(&APPEND, &(), store, &call, arguments, method);
    // Nothing here waits for anything, so one poll is enough.
    let mut answer = std::pin::pin!(answer);
    match answer
        .as_mut()
        .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => unreachable!("the store in memory never waits"),
    }
}

fn text(store: &Memory) -> String {
    let document = store
        .read("a")
        .expect("readable")
        .map(|document| document.bytes)
        .unwrap_or_default();
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
    let answer = call(
        &store,
        GOOD,
        json!({ "path": "a", "text": "x", "times": 2.0 }),
        json!({}),
    )
    .expect("made");
    assert_eq!(answer.response, json!({ "commit": "c0", "length": 1 }));
    assert_eq!(answer.meta[BASE], "id:xx");
    assert_eq!((text(&store).as_str(), commits(&store)), ("xx", 1));
}

#[test]
fn what_breaks_the_contract_writes_nothing() {
    for method in [BREAKS_ITS_SCHEMA, NAMES_ANOTHER_COMMIT, ANSWERS_UNDECLARED] {
        let store = Memory::default();
        assert_eq!(
            name(call(
                &store,
                method,
                json!({ "path": "a", "text": "x" }),
                json!({})
            )),
            "breach"
        );
        assert_eq!(commits(&store), 0);
    }
}

#[test]
fn bad_arguments_say_rule_pointer_and_message() {
    for (arguments, rule, pointer) in [
        (json!({ "path": "../a", "text": "x" }), "climbs", "/path"),
        (json!({ "path": "a" }), "required", ""),
        (
            json!({ "path": "a", "text": "x", "b/c": 1 }),
            "additionalProperties",
            "/b~1c",
        ),
        (
            json!({ "path": "a", "text": "x", "times": 1.5 }),
            "type",
            "/times",
        ),
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
    store.races.store(dispatch::ATTEMPTS, Ordering::SeqCst);
    assert_eq!(
        name(call(&store, GOOD, json!({ "path": "a", "text": "x" }), json!({}))),
        "CONFLICT"
    );
    assert_eq!(commits(&store), 1);
}

#[test]
fn a_stale_base_is_refused() {
    let store = Memory::default();
    let request = json!({ "path": "a", "text": "x" });
    let make = |base: Value| {
        name(call(
            &store,
            GOOD,
            request.clone(),
            json!({ "tabellion/ifBase": base }),
        ))
    };
    assert_eq!(make(json!("id:x")), "CONFLICT");
    assert_eq!(make(Value::Null), "accepted");
    assert_eq!(make(Value::Null), "CONFLICT");
    assert_eq!(make(json!("id:x")), "accepted");
    assert_eq!(make(json!("id:x")), "CONFLICT");
    // Also where the document moves between planning and publishing.
    store.races.store(1, Ordering::SeqCst);
    assert_eq!(make(json!("id:xx")), "CONFLICT");
    assert_eq!((text(&store).as_str(), commits(&store)), ("xx+", 2));
}

#[test]
fn a_repeated_key_answers_with_the_first_commit() {
    let store = Memory::default();
    let make = |text: &str| {
        call(
            &store,
            GOOD,
            json!({ "path": "a", "text": text }),
            json!({ "tabellion/idempotencyKey": "k" }),
        )
    };
    let first = make("x").expect("made");
    call(&store, GOOD, json!({ "path": "a", "text": "y" }), json!({})).expect("made");
    let again = make("x").expect("answered");
    assert_eq!(
        (&again.response, &again.meta[REPLAYED]),
        (&first.response, &json!(true))
    );
    assert_eq!(name(make("z")), "CONFLICT");
    assert_eq!((text(&store).as_str(), commits(&store)), ("xy", 2));
}

/// A caller that gives up after it was asked a number of times.
struct Impatient(AtomicUsize);

impl Caller for Impatient {
    fn has_cancelled(&self) -> bool {
        let left = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
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
        let answer = call_as(
            &store,
            GOOD,
            json!({ "path": "a", "text": "x", "times": 1 }),
            call,
        );
        assert_eq!(answer.is_ok(), changes, "{patience}");
        assert_eq!(text(&store), if changes { "x" } else { "" });
        assert_eq!(commits(&store), usize::from(changes));
    }
}
