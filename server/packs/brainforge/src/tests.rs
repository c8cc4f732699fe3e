//! Calls of the contract and decisions of reviewers, compared with a model of the permitted ones.

mod proposals;
mod versions;
mod workflows;

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Value, json};
use tabellion_contracts::brainforge::{CONTRACT, Service, tool};
use tabellion_library::{Library, Options};
use tabellion_markdown::FrontMatter;
use tabellion_runtime::{
    Agent, Answer, CallContext, Contract, IdempotencyKey, Identity, KnownCaller, Rejection,
    context::GATES,
    meta::REVIEW,
    spec::{RestOperation, ScopeWord},
};
use tempfile::TempDir;

use super::{Forge, desk::Desk, instances, moments::digest, shelf::Shelf};
use tabellion_meaning::NoModel;
use tabellion_pack::review::{Decide, Filter, Page, ReviewDesk as _, Row, Shown};

/// The contract over a temporary library.
struct Bench {
    folder: TempDir,
    contract: Arc<dyn Contract>,
    desk: Desk,
    calls: AtomicU64,
}

/// A caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Owner,
    Agent(&'static str),
    /// An agent of another person, with the names of the agent `helper`.
    Namesake,
    Reviewer,
    Reader,
}

impl By {
    fn caller(self) -> KnownCaller {
        let auth = CONTRACT.auth.unwrap();
        match self {
            Self::Owner => KnownCaller::human(auth, Identity::local("ada"), "ada", vec![ScopeWord::Write]),
            Self::Reviewer => {
                KnownCaller::human(auth, Identity::local("rita"), "rita", vec![ScopeWord::Review])
            }
            Self::Reader => KnownCaller::human(auth, Identity::local("bob"), "bob", vec![ScopeWord::Read]),
            Self::Agent(_) | Self::Namesake => {
                let (name, account) = match self {
                    Self::Agent(name) => (name, "ada"),
                    _ => ("helper", "another ada"),
                };
                let agent = Agent { name: Some(name.into()), version: Some("1".into()) };
                KnownCaller::agent(
                    auth,
                    agent,
                    Identity::local(account),
                    "ada",
                    vec![ScopeWord::Read, ScopeWord::Write],
                )
            }
        }
    }

    fn context(self) -> CallContext {
        let known = self.caller();
        CallContext {
            identity: Some(known.identity.clone()),
            caller: Some(Arc::new(known)),
            ..CallContext::default()
        }
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
    runtime.unwrap().block_on(future)
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = Arc::new(Library::open(folder.path(), Options::default()).unwrap());
        let shelf = Shelf::new(Arc::clone(&library), Box::new(NoModel), instances::parse);
        let forge = Forge { shelf: Arc::clone(&shelf) };
        Self {
            contract: Arc::new(Service::new(forge, Arc::clone(&library) as _)),
            desk: Desk::over(shelf, library),
            folder,
            calls: AtomicU64::new(0),
        }
    }

    fn try_call(&self, by: By, tool: &str, request: Value) -> Result<Value, Value> {
        // Each call is counted separately, so no rate limit is reached.
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let context = CallContext { counted_as: Some(call.to_string().into()), ..by.context() };
        self.call_in(&context, tool, request)
    }

    fn call_in(&self, context: &CallContext, tool: &str, request: Value) -> Result<Value, Value> {
        match run(self.contract.call(context, tool, request)) {
            Ok(answer) => Ok(answer.response),
            Err(Rejection::Declared(error)) => {
                Err(json!({ "code": error.name, "message": error.message, "details": error.data }))
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn call(&self, by: By, tool: &str, request: Value) -> Value {
        self.try_call(by, tool, request).unwrap()
    }

    /// Makes a call that is refused; returns the code and the reason.
    #[track_caller]
    fn refusal(&self, by: By, tool: &str, request: Value) -> (String, String) {
        let error = self.try_call(by, tool, request).unwrap_err();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&error["code"]), text(&error["details"]["reason"]))
    }

    fn decide(&self, by: By, id: &str, on: &str) -> Result<String, String> {
        let shown = run(self.desk.show(&by.context(), id)).ok();
        self.decide_on(by, id, on, shown.as_ref().map(|shown| shown.revision.as_str()))
    }

    /// Decides on a revision of a proposal.
    fn decide_on(&self, by: By, id: &str, on: &str, revision: Option<&str>) -> Result<String, String> {
        let decide = Decide {
            id: id.into(),
            on: on.into(),
            notes: Some("a remark".into()),
            shown: Shown { revision: revision.map(str::to_owned), ..Shown::default() },
        };
        let decided = run(self.desk.decide(&by.context(), &decide));
        decided.map_err(|error| error.to_string())
    }

    /// Returns the proposals that wait.
    fn waiting(&self) -> Vec<Row> {
        let page = Page { offset: 0, limit: usize::MAX };
        let listed = run(self.desk.list(&By::Reviewer.context(), &Filter::default(), page));
        listed.unwrap().rows
    }

    fn note(&self, by: By, word: &str) -> Value {
        self.call(by, tool::CREATE_NOTE, created(word))
    }

    fn resource(&self, by: By, template: &str, variables: Value) -> Result<Value, Rejection> {
        run(self.contract.read_instance(&by.context(), template, variables)).map(|answer| answer.response)
    }

    /// Returns the Markdown files and their texts.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for folder in ["", "notes", "workflows"] {
            let Ok(entries) = fs::read_dir(self.folder.path().join(folder)) else {
                continue;
            };
            for path in entries.map(|entry| entry.unwrap().path()) {
                if path.extension().is_some_and(|extension| extension == "md") {
                    let name = path.strip_prefix(self.folder.path()).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        files
    }

    fn path(&self, id: &str) -> PathBuf {
        let note = self.resource(By::Owner, "note", json!({ "note_id": id })).unwrap();
        self.folder.path().join(note["path"].as_str().unwrap())
    }

    /// Returns all notes in an export.
    fn exported_notes(&self) -> Vec<Value> {
        let answer = self.call(By::Owner, tool::EXPORT_LIBRARY, json!({}));
        let path = answer["download_url"].as_str().unwrap().strip_prefix("file://").unwrap();
        let export: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        export["notes"].as_array().unwrap().clone()
    }

    fn exported(&self) -> Vec<String> {
        let notes = self.exported_notes();
        notes.iter().map(|note| note["content"].as_str().unwrap().to_owned()).collect()
    }
}

fn content(word: &str) -> String {
    format!("# Note\n\nThe word here is {word}, and nothing else.\n")
}

fn created(word: &str) -> Value {
    json!({ "content": content(word), "note_type": "permanent", "ai_justification": "asked to" })
}

fn updated(id: &str, version: u64, word: &str) -> Value {
    json!({ "note_id": id, "version": version, "content": content(word), "change_reason": "it changed" })
}

const AGENT: By = By::Agent("helper");

/// An agent could have its unread text approved, by changing the proposal between reading and approval.
#[test]
fn an_approval_is_of_the_revision_that_was_read() {
    let by_agent = |bench: &Bench, _: &str, note: &Value| {
        let note = note["note_id"].as_str().unwrap();
        bench.call(AGENT, tool::UPDATE_NOTE, updated(note, 1, "unread"));
    };
    let by_hand = |bench: &Bench, id: &str, _: &Value| {
        let file = bench.folder.path().join(format!("workflows/{id}.md"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(file, text.replace("read", "unread")).unwrap();
    };
    type Edit<'e> = &'e dyn Fn(&Bench, &str, &Value);
    let none: Edit<'_> = &|_, _, _| {};
    // The edit of the proposal after it was read, the revision that the decision names, and the outcome.
    for (edit, named, ends) in [
        (none, None, Ok("read")),
        (none, Some(0), Ok("read")),
        (&by_agent, None, Err("was changed since it was made")),
        (&by_hand, None, Err("was changed since it was made")),
        (&by_agent, Some(0), Err("content: ")),
        (&by_hand, Some(0), Err("has changed since you were shown it")),
        (&by_agent, Some(1), Ok("unread")),
        (&by_hand, Some(1), Ok("unread")),
    ] as [(Edit<'_>, Option<usize>, Result<&str, &str>); 8]
    {
        let bench = Bench::new();
        let note = bench.note(AGENT, "read");
        let id = note["review_workflow_id"].as_str().unwrap();
        let shown = || run(bench.desk.show(&By::Reviewer.context(), id)).unwrap().revision.clone();
        let first = shown();
        edit(&bench, id, &note);
        let revisions = [first, shown()];
        let named = named.map(|index: usize| &revisions[index][..12]);
        let decided = bench.decide_on(By::Reviewer, id, "approve", named);
        match ends {
            Ok(word) => {
                decided.unwrap();
                assert!(bench.exported()[0].contains(word));
            }
            Err(says) => {
                let refused = decided.unwrap_err();
                assert!(refused.contains(says), "{named:?}: {refused}");
                assert!(bench.exported().is_empty());
                bench.decide_on(By::Reviewer, id, "reject", None).unwrap();
            }
        }
    }
}

#[test]
fn what_is_wrong_is_refused_with_a_reason_and_changes_nothing() {
    use By::{Owner, Reader, Reviewer};
    use tool::{CREATE_LINK, CREATE_NOTE, EXPORT_LIBRARY, SEMANTIC_SEARCH, UPDATE_NOTE};
    let bench = Bench::new();
    let note = bench.note(By::Owner, "first");
    let other = bench.note(By::Owner, "second");
    let waiting = bench.note(AGENT, "third");
    let id = |answer: &Value| answer["note_id"].as_str().unwrap().to_owned();
    let (note, other, waiting) = (id(&note), id(&other), id(&waiting));
    let link = |from: &str, to: &str| json!({ "source_note_id": from, "target_note_id": to, "relation_type": "cites" });
    let with = |mut request: Value, key: &str, value: Value| {
        request[key] = value;
        request
    };
    let with_metadata = |metadata: Value| with(link(&note, &other), "metadata", metadata);
    let unknown = digest("unknown").to_string();
    let before = bench.files();
    let long = "x".repeat((1 << 20) + 1);
    let is_refused = |by: By, tool: &str, request: Value, code: &str, reason: &str| {
        let shown: String = request.to_string().chars().take(200).collect();
        assert_eq!(bench.refusal(by, tool, request), (code.into(), reason.into()), "{by:?} {tool} {shown}");
    };
    for (by, tool, request, reason) in [
        (Owner, UPDATE_NOTE, updated(&note, 2, "x"), "version_conflict"),
        (Owner, UPDATE_NOTE, updated(&unknown, 1, "x"), "not_found"),
        (Owner, UPDATE_NOTE, updated(&waiting, 1, "x"), "pending_review"),
        (By::Agent("other"), UPDATE_NOTE, updated(&waiting, 1, "x"), "pending_review"),
        (AGENT, UPDATE_NOTE, updated(&waiting, 2, "x"), "version_conflict"),
        (
            Owner,
            UPDATE_NOTE,
            with(updated(&note, 1, "x"), "metadata", json!({ "created_by": "me" })),
            "immutable",
        ),
        (Owner, CREATE_NOTE, with(created("x"), "metadata", json!({ "reviewed_by": "me" })), "immutable"),
        (Owner, UPDATE_NOTE, with(updated(&note, 1, "x"), "metadata", json!({ "tags": "many" })), "metadata"),
        (
            Owner,
            CREATE_NOTE,
            with(created("x"), "content", "---\ntitle: x\n---\ntext that is long".into()),
            "front_matter",
        ),
        (Owner, CREATE_NOTE, with(created("x"), "content", long.into()), "too_large"),
        (Owner, CREATE_LINK, link(&note, &note), "self_link"),
        (Owner, CREATE_LINK, link(&note, &unknown), "not_found"),
        (Owner, CREATE_LINK, link(&waiting, &note), "not_found"),
        (Owner, CREATE_LINK, link(&note, &waiting), "not_found"),
        (Owner, EXPORT_LIBRARY, json!({ "filters": { "note_ids": [other, waiting] } }), "not_found"),
        (
            Owner,
            SEMANTIC_SEARCH,
            json!({ "query": "word", "filters": { "created_after": "2026-02-01T00:00:00Z", "created_before": "2026-01-01T00:00:00Z" } }),
            "range",
        ),
        (Owner, SEMANTIC_SEARCH, json!({ "query": "word", "filters": { "tags": ["x", ""] } }), "filter"),
        (Owner, SEMANTIC_SEARCH, json!({ "query": "word", "filters": { "tags": ["#"] } }), "filter"),
        (Owner, EXPORT_LIBRARY, json!({ "filters": { "tags": [" "] } }), "filter"),
        (Owner, UPDATE_NOTE, with(updated(&note, 1, "x"), "metadata", json!({ "tags": ["#"] })), "metadata"),
        (Owner, CREATE_NOTE, with(created("x"), "metadata", json!({ "tags": ["#\u{200b}"] })), "metadata"),
        (
            Owner,
            CREATE_NOTE,
            with(created("x"), "metadata", json!({ "title": "\u{2800}\u{ad}" })),
            "metadata",
        ),
        (Owner, SEMANTIC_SEARCH, json!({ "query": "word", "filters": { "tags": ["\u{200b}"] } }), "filter"),
        (AGENT, CREATE_LINK, with_metadata(json!({ "text": "x".repeat(1 << 10) })), "too_large"),
        (AGENT, CREATE_LINK, with_metadata(json!({ "pages": [1] })), "metadata"),
    ] {
        is_refused(by, tool, request, "MCP_INVALID_INPUT", reason);
    }
    for (by, tool, request, code, reason) in [
        (
            Owner,
            CREATE_LINK,
            with_metadata(json!({ "headers": [{ "apiKey": "x" }] })),
            "MCP_CONSTITUTION_VIOLATION",
            "",
        ),
        (
            AGENT,
            UPDATE_NOTE,
            json!({ "note_id": note, "version": 1, "content": content("x") }),
            "MCP_CONSTITUTION_VIOLATION",
            "",
        ),
        (Reader, EXPORT_LIBRARY, json!({}), "MCP_CONSTITUTION_VIOLATION", ""),
        (Reader, CREATE_NOTE, created("x"), "MCP_AUTH_REQUIRED", "role"),
        (Reviewer, CREATE_NOTE, created("x"), "MCP_AUTH_REQUIRED", "role"),
    ] {
        is_refused(by, tool, request, code, reason);
    }
    assert_eq!(bench.files(), before);
}

#[test]
fn an_index_is_of_tags_and_types_that_there_can_be() {
    let bench = Bench::new();
    bench.note(By::Owner, "first");
    fs::write(bench.folder.path().join("Day.md"), "---\ntype: journal\n---\n#day\n").unwrap();
    for (variables, outcome) in [
        (json!({ "tag": "" }), Err(("filter", "tag"))),
        (json!({ "tag": "#" }), Err(("filter", "tag"))),
        (json!({ "note_type": "" }), Err(("filter", "note_type"))),
        (json!({ "note_type": "bogus" }), Err(("filter", "note_type"))),
        (json!({ "note_type": "insight" }), Ok(0)),
        (json!({ "note_type": "journal", "tag": "unused" }), Ok(0)),
        (json!({ "note_type": "journal" }), Ok(1)),
        (json!({ "tag": "#day" }), Ok(1)),
        (json!({}), Ok(2)),
        (json!({ "after": digest("gone").to_string() }), Err(("not_found", "after"))),
        (json!({ "after": "1.2" }), Err(("not_found", "after"))),
    ] {
        let read = match bench.resource(By::Reader, "index", variables.clone()) {
            Ok(index) => Ok(index["notes"].as_array().unwrap().len()),
            Err(Rejection::Declared(error)) => Err(error.data),
            Err(other) => panic!("{other:?}"),
        };
        let said =
            read.as_ref().map_err(|data| (data["reason"].as_str().unwrap(), data["key"].as_str().unwrap()));
        assert_eq!(said.copied(), outcome, "{variables}");
    }
}

#[test]
fn pages_of_an_index_go_on_from_a_place() {
    let edit: fn(&PathBuf) = |path| fs::write(path, "changed").unwrap();
    let remove: fn(&PathBuf) = |path| fs::remove_file(path).unwrap();
    for (change, whole) in [(edit, 151), (remove, 150)] {
        let bench = Bench::new();
        for number in 0..150 {
            let path = bench.folder.path().join(format!("{number}.md"));
            fs::write(&path, "").unwrap();
            let time = SystemTime::now() - Duration::from_secs(1000 - number);
            fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
        }
        let page = |variables| bench.resource(By::Reader, "index", variables).unwrap();
        let first = page(json!({}));
        change(&bench.folder.path().join("99.md"));
        let titles = |page: &Value| {
            let notes = page["notes"].as_array().unwrap();
            notes.iter().map(|note| note["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let second = page(json!({ "after": first["next"] }));
        let all = [titles(&first), titles(&second)].concat();
        assert_eq!((all.len(), &*all[100], second.get("next")), (whole, "100", None));
        // The id of a note that is there names its place, too.
        let after_id = page(json!({ "after": first["notes"][49]["note_id"] }));
        assert_eq!(titles(&after_id)[0], "50");
    }
}

#[test]
fn metadata_of_a_link_are_those_that_were_given_last() {
    let bench = Bench::new();
    let [from, to] = ["first", "second"].map(|word| bench.note(By::Owner, word)["note_id"].clone());
    let path = bench.path(from.as_str().unwrap());
    let (first, second) = (json!({ "why": "one" }), json!({ "why": "two", "page": 1 }));
    let mut made = None;
    for (by, given, outcome, kept) in [
        (AGENT, Some(&first), "changed", &first),
        (AGENT, Some(&second), "changed", &second),
        (AGENT, Some(&second), "same", &second),
        (By::Agent("other"), Some(&first), "refused", &second),
        (By::Namesake, Some(&first), "refused", &second),
        (By::Agent("other"), Some(&second), "same", &second),
        (By::Owner, None, "same", &second),
        (By::Owner, Some(&first), "changed", &first),
        (AGENT, Some(&second), "refused", &first),
        (AGENT, None, "same", &first),
        (By::Owner, Some(&json!({})), "changed", &Value::Null),
    ] {
        let mut request = json!({ "source_note_id": from, "target_note_id": to, "relation_type": "related" });
        if let Some(given) = given {
            request["metadata"] = given.clone();
        }
        let before = fs::read(&path).unwrap();
        let answer = bench.try_call(by, tool::CREATE_LINK, request);
        let is_changed = before != fs::read(&path).unwrap();
        let found = match &answer {
            Err(refused) if !is_changed && refused["details"]["reason"] == "immutable" => "refused",
            Ok(answer) if made.get_or_insert(answer.clone()) == answer => {
                ["same", "changed"][usize::from(is_changed)]
            }
            _ => "otherwise",
        };
        assert_eq!(found, outcome, "{by:?} {given:?}: {answer:?}");
        let links =
            bench.resource(By::Owner, "note_links", json!({ "note_id": from })).unwrap()["out"].clone();
        assert_eq!((links.as_array().unwrap().len(), &links[0]["metadata"]), (1, kept), "{by:?} {given:?}");
    }
}

#[test]
fn metadata_of_links_has_no_names_of_secrets() {
    let bench = Bench::new();
    let [from, to] = ["first", "second"].map(|word| bench.note(By::Owner, word)["note_id"].clone());
    let link = |name: &str, value: Value| {
        let request = json!({
            "source_note_id": from, "target_note_id": to, "relation_type": "cites", "metadata": { (name): value },
        });
        bench.try_call(By::Owner, tool::CREATE_LINK, request)
    };
    for name in [
        "secrets",
        "tokens",
        "credentials",
        "passwd",
        "pwd",
        "passphrase",
        "private_key",
        "access_key",
        "authorization",
        "cookie",
        "jwt",
        "bearer",
        "token",
        "accessToken",
        "API-Key",
        "x-authorization",
        "db.password2",
        "token_value",
        "t_o k-e\u{200b}n",
        "\u{ff30}\u{ff37}\u{ff24}",
    ] {
        for value in [json!("x"), json!([{ (name): 1 }])] {
            let refused = link(name, value).unwrap_err();
            assert_eq!(refused["code"], "MCP_CONSTITUTION_VIOLATION", "{name}: {refused}");
        }
        assert!(link("below", json!({ (name): "x" })).is_err(), "{name} below");
    }
    for name in ["token_count", "tokenizer", "secretary", "page", "keyword", "bearing"] {
        assert!(link(name, json!("x")).is_ok(), "{name}");
    }
}

#[test]
fn authors_do_not_decide_on_their_own_and_agents_decide_on_nothing() {
    let bench = Bench::new();
    let own = json!({ "content": content("own"), "ai_justification": "a machine wrote it" });
    let waiting = [bench.call(By::Owner, tool::CREATE_NOTE, own), bench.note(AGENT, "agents")];
    let [own, agents] = waiting.each_ref().map(|answer| answer["review_workflow_id"].as_str().unwrap());
    let before = bench.files();
    for (by, id, on, says) in [
        (By::Owner, own, "approve", "needs the role reviewer"),
        (AGENT, agents, "approve", "needs the role reviewer"),
        (By::Reviewer, agents, "withdraw", "needs the role author"),
        (By::Reviewer, agents, "revise", "happens by a call"),
        (By::Reviewer, "00000000", "approve", "there is no review"),
    ] {
        let refused = bench.decide(by, id, on).unwrap_err();
        assert!(refused.contains(says), "{by:?} {on}: {refused}");
    }
    assert_eq!(bench.files(), before);
    assert!(bench.decide(AGENT, agents, "withdraw").is_ok());
    assert!(bench.decide(By::Reviewer, own, "approve").is_ok());
    assert!(bench.exported()[0].contains("own"));
    assert_eq!(bench.exported().len(), 1);
}

#[test]
fn versions_are_gits_history_and_a_hand_edit_is_one() {
    let bench = Bench::new();
    let answer = bench.note(By::Owner, "first");
    let id = answer["note_id"].as_str().unwrap();
    let path = bench.path(id);
    let other = bench.note(By::Owner, "other")["note_id"].clone();
    let edit = |word: &str| {
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + word + "\n").unwrap();
    };
    let version = || bench.resource(By::Owner, "note", json!({ "note_id": id })).unwrap()["version"].clone();
    edit("by hand");
    edit("and again");
    assert_eq!(version(), 2);
    let link = json!({ "source_note_id": id, "target_note_id": other, "relation_type": "supports" });
    let first = bench.call(By::Owner, tool::CREATE_LINK, link.clone());
    assert_eq!(bench.call(AGENT, tool::CREATE_LINK, link), first, "one link, however often it is asked for");
    assert_eq!(version(), 2, "a link is no version, and hides none");
    bench.call(By::Owner, tool::UPDATE_NOTE, updated(id, 2, "third"));
    let versions = bench.resource(By::Owner, "note_versions", json!({ "note_id": id })).unwrap();
    let numbers: Vec<_> =
        versions["versions"].as_array().unwrap().iter().map(|it| it["version"].clone()).collect();
    assert_eq!(numbers, [3, 2, 1]);
    let summaries = ["it changed", "edited by hand", "create"];
    for (version, summary) in versions["versions"].as_array().unwrap().iter().zip(summaries) {
        assert_eq!(version["summary"], summary);
    }
    for (number, has) in [("1", "first"), ("2", "and again"), ("3", "third")] {
        let version = json!({ "note_id": id, "version": number });
        let version = bench.resource(By::Owner, "version_of_note", version).unwrap();
        assert!(version["content"].as_str().unwrap().contains(has), "{number}: {version}");
    }
    let links = bench.resource(By::Owner, "note_links", json!({ "note_id": other })).unwrap();
    assert_eq!(links["in"][0]["link_id"], first["link_id"]);
}

#[test]
fn texts_of_all_scripts_say_something() {
    let bench = Bench::new();
    for text in [
        "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f} 🏳\u{fe0f}\u{200d}🌈 👍🏽 🎉 🚀 🐍 🦀 📚 🔒",
        "الأقفال تُحفظ ما دام التغيير",
        "می\u{200c}خواهم قفل را نگه دارم",
        "잠금은 변경이 걸리는 동안 유지된다",
        "Donau\u{ad}dampf\u{ad}schiff",
        "⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙",
    ] {
        let request = json!({ "content": text, "ai_justification": text, "metadata": { "title": text, "tags": [text.replace(' ', "")] } });
        let note = bench.call(AGENT, tool::CREATE_NOTE, request)["note_id"].clone();
        let request = json!({ "note_id": note, "content": text, "change_reason": text, "version": 1 });
        bench.call(AGENT, tool::UPDATE_NOTE, request);
        let topic = json!({ "workflow_id": "research_workflow", "parameters": { "topic": text } });
        bench.call(AGENT, workflows::name(RestOperation::WorkflowStart), topic);
        // Emoji and Braille are no words.
        let query = json!({ "query": format!("{text} x") });
        bench.call(AGENT, tool::SEMANTIC_SEARCH, query);
    }
}

#[test]
fn a_repeated_call_is_answered_as_the_first() {
    let bench = Bench::new();
    let keyed = |by: By, key: &str| CallContext {
        idempotency_key: Some(IdempotencyKey::parse(key).unwrap()),
        ..by.context()
    };
    let note = bench.call_in(&keyed(By::Owner, "a"), tool::CREATE_NOTE, created("first")).unwrap();
    let id = note["note_id"].as_str().unwrap();
    let target = bench.note(By::Owner, "target");
    let link = json!({ "source_note_id": id, "target_note_id": target["note_id"], "relation_type": "cites" });
    let answer = |by: By, key: &str, tool: &str, request: &Value| {
        let Answer { response, meta } =
            run(bench.contract.call(&keyed(by, key), tool, request.clone())).unwrap();
        (response, [REVIEW, GATES].map(|key| meta.get(key).cloned()))
    };
    let mut calls = vec![];
    for (by, key, tool, request) in [
        (By::Owner, "a", tool::CREATE_NOTE, created("first")),
        (AGENT, "link", tool::CREATE_LINK, link),
        (AGENT, "b", tool::CREATE_NOTE, created("second")),
        (By::Owner, "c", tool::UPDATE_NOTE, updated(id, 1, "third")),
        (AGENT, "d", tool::UPDATE_NOTE, updated(id, 2, "fourth")),
        (AGENT, "e", tool::UPDATE_NOTE, updated(id, 3, "fifth")),
    ] {
        let first = answer(by, key, tool, &request);
        let files = bench.files();
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let again = answer(by, key, tool, &request);
        assert_eq!((&first, files), (&again, bench.files()), "{tool} {key}");
        calls.push((by, key, tool, request, first));
    }
    let (_, [review, _]) = &calls.last().unwrap().4;
    let review = review.as_ref().unwrap();
    let data = json!({ "revision": review["revision"] });
    let decision = json!({ "instance_id": review["id"], "task_id": "human_review", "decision": "approve", "data": data });
    let complete = workflows::name(RestOperation::TaskComplete);
    let decided = answer(By::Reviewer, "g", complete, &decision);
    calls.push((By::Reviewer, "g", complete, decision, decided));

    let [note, target] = [id, target["note_id"].as_str().unwrap()].map(|id| bench.path(id));
    let moved = bench.folder.path().join("archive.md");
    for (after, change) in [
        ("the note was moved", &(|| fs::rename(&note, &moved).unwrap()) as &dyn Fn()),
        ("the link's target was deleted", &|| fs::remove_file(&target).unwrap()),
        ("the note was deleted", &|| fs::remove_file(&moved).unwrap()),
    ] {
        change();
        for (by, key, tool, request, first) in &calls {
            assert_eq!(answer(*by, key, tool, request), *first, "{tool} {key} after {after}");
        }
    }
    // Another caller's call with the same key is another call.
    let [own, other] = [AGENT, By::Owner]
        .map(|by| bench.call_in(&keyed(by, "f"), tool::CREATE_NOTE, created("sixth")).unwrap());
    assert_ne!(own["note_id"], other["note_id"]);
}

#[test]
fn a_repeated_call_does_not_see_what_came_later() {
    let bench = Bench::new();
    let note = bench.note(By::Owner, "first");
    let id = note["note_id"].as_str().unwrap();
    let keyed = CallContext { idempotency_key: Some(IdempotencyKey::parse("a").unwrap()), ..AGENT.context() };
    let proposed = || bench.call_in(&keyed, tool::UPDATE_NOTE, updated(id, 1, "second"));
    let first = proposed().unwrap();
    let waiting = bench.waiting();
    assert_eq!(proposed().unwrap(), first, "once what waits is known");
    bench.decide(By::Reviewer, &waiting[0].id, "approve").unwrap();
    assert_eq!(proposed().unwrap(), first, "once it is approved");
    let waiting = bench.waiting();
    assert_eq!(waiting.len(), 0, "a repetition lets nothing wait again");
}

#[test]
fn no_number_is_given_twice_whatever_a_person_writes() {
    let bench = Bench::new();
    let note = bench.note(By::Owner, "first");
    let id = note["note_id"].as_str().unwrap();
    for version in 1..4 {
        bench.call(By::Owner, tool::UPDATE_NOTE, updated(id, version, "next"));
    }
    for (written, version) in [("version: 1", 5), ("version: 40", 41), ("version: x", 5), ("", 5)] {
        let path = bench.path(id);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("version: 4", written)).unwrap();
        let shown = bench.resource(By::Owner, "note", json!({ "note_id": id })).unwrap();
        assert_eq!(shown["version"], version, "{written}");
        let versions = bench.resource(By::Owner, "note_versions", json!({ "note_id": id })).unwrap();
        assert_eq!(versions["versions"][0]["version"], version, "{written}");
        fs::write(&path, text).unwrap();
    }
}

#[test]
fn names_of_metadata_are_names_and_nothing_else() {
    let bench = Bench::new();
    for key in [
        "reviewed_by: rita\nx",
        "x\n---\nreviewed_by",
        "reviewed_by ",
        " reviewed_by",
        "\"reviewed_by\"",
        "'id'",
        "---",
        "...",
        "<<",
        "*id",
        "&id x",
        "!!str id",
        "? id",
        "- id",
        "#id",
        "{id: 1}",
        "%YAML",
        "\u{feff}id",
        "id\u{85}x",
        "",
        "日本",
    ] {
        let mut request = created("word");
        request["metadata"] = json!({ key: "value", "title": key });
        let Ok(answer) = bench.try_call(AGENT, tool::CREATE_NOTE, request) else {
            continue;
        };
        let (id, review) = (&answer["note_id"], answer["review_workflow_id"].as_str().unwrap());
        bench.decide(By::Reviewer, review, "approve").unwrap();
        let text = fs::read_to_string(bench.path(id.as_str().unwrap())).unwrap();
        let front_matter = FrontMatter::parse(&text).unwrap();
        assert_eq!(front_matter.get("reviewed_by"), Some("rita".into()), "{key:?}: {text}");
        assert_eq!(front_matter.get("id"), Some(id.clone()), "{key:?}: {text}");
        assert_eq!(front_matter.get(key), Some("value".into()), "{key:?}: {text}");
        assert_eq!(front_matter.body(), content("word"), "{key:?}: {text}");
    }
}

#[test]
fn metadata_does_not_read_like_what_the_server_says() {
    let bench = Bench::new();
    for (key, value, is_free) in [
        ("reviewed_by ", "rita", false),
        ("Reviewed-By", "rita", false),
        ("reviewed by", "rita", false),
        ("\u{ff52}eviewed_by", "rita", false),
        ("reviewed\u{200b}_by", "rita", false),
        ("approved", "yes", false),
        ("Approved By", "rita", false),
        ("status", "approved", false),
        ("Status ", "Human Review", false),
        ("status", "draft", true),
        ("state", "Bavaria", true),
        ("colour", "approved", true),
        ("previously_reviewed_in", "2024", true),
        ("note_type", "fleeting", false),
        ("Updated At", "2024-01-01", false),
        ("Title", "Locks", false),
        ("SENSITIVE", "false", false),
        ("ti\u{200b}tle", "Locks", false),
        ("title", "Locks", true),
        ("subtitle", "Locks", true),
    ] {
        let mut request = created("word");
        request["metadata"] = json!({ key: value });
        let made = bench.try_call(AGENT, tool::CREATE_NOTE, request);
        let reason = made.as_ref().err().map(|error| error["details"]["reason"].clone());
        let expected = (!is_free).then(|| json!("immutable"));
        assert_eq!(reason, expected, "{key:?}: {value}: {made:?}");
    }
}

#[test]
fn names_of_answers_are_no_names_of_metadata() {
    let bench = Bench::new();
    let made = bench.note(By::Owner, "first");
    let id = made["note_id"].as_str().unwrap();
    let changed = bench.call(By::Owner, tool::UPDATE_NOTE, updated(id, 1, "second"));
    let read = bench.resource(By::Owner, "note", json!({ "note_id": id })).unwrap();
    let found = bench.call(By::Owner, tool::SEMANTIC_SEARCH, json!({ "query": "second" }));
    let proposed = bench.note(AGENT, "third");
    let answers = [&made, &changed, &read, &found["results"][0], &proposed];
    for name in answers.iter().flat_map(|answer| answer.as_object().unwrap().keys()) {
        let is_free = ["title", "tags", "source", "status"].contains(&name.as_str());
        for key in [name.to_owned(), name.to_uppercase()].into_iter().filter(|_| !is_free) {
            let mut request = updated(id, 2, "third");
            request["metadata"] = json!({ key: "x" });
            assert_eq!(bench.refusal(By::Owner, tool::UPDATE_NOTE, request).1, "immutable", "{name}");
        }
    }
}

#[test]
fn files_of_people_are_notes_until_a_tool_changes_them_and_stay_theirs() {
    let bench = Bench::new();
    let path = bench.folder.path().join("Plan.md");
    fs::write(&path, "---\ncolour: red # mine\n---\n# Plan\n\nThe plan is old.\n").unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
    fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    let found = bench.call(AGENT, tool::SEMANTIC_SEARCH, json!({ "query": "plan" }));
    let id = found["results"][0]["note_id"].as_str().unwrap().to_owned();
    assert_eq!(found["results"][0]["excerpt"], "The plan is old.");
    bench.call(By::Owner, tool::UPDATE_NOTE, updated(&id, 1, "new"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("---\ncolour: red # mine\n"), "{text}");
    assert!(text.contains(&format!("id: {id}\n")) && text.contains("version: 2\n"), "{text}");
    assert!(text.contains("created_at: 1970-01-02T00:00:00Z\n"), "{text}");
    let quiet = json!({ "query": "new", "include_excerpts": false });
    let found = bench.call(By::Reader, tool::SEMANTIC_SEARCH, quiet);
    assert_eq!(found["results"][0]["note_id"], *id);
    assert_eq!(found["results"][0].get("excerpt"), None);
}

#[test]
fn members_that_only_a_person_understands_stay() {
    for (member, by, tool, outcome) in [
        ("id: 202401011200", By::Owner, tool::UPDATE_NOTE, Ok(())),
        ("id: 202401011200", AGENT, tool::CREATE_LINK, Ok(())),
        ("created_at: spring 1999", AGENT, tool::CREATE_LINK, Ok(())),
        ("version: 1.2.0", AGENT, tool::CREATE_LINK, Ok(())),
        ("version: 1.2.0", By::Owner, tool::UPDATE_NOTE, Err("front_matter")),
        ("version: 1.2.0", AGENT, tool::UPDATE_NOTE, Err("front_matter")),
        ("reviewed_by: [Ann, Bob]", AGENT, tool::UPDATE_NOTE, Err("front_matter")),
    ] {
        let bench = Bench::new();
        let other = bench.note(By::Owner, "other")["note_id"].clone();
        let path = bench.folder.path().join("plan.md");
        fs::write(&path, format!("---\n{member}\n---\nThe plan is old.\n")).unwrap();
        let found = bench.call(AGENT, tool::SEMANTIC_SEARCH, json!({ "query": "plan" }));
        let id = found["results"][0]["note_id"].as_str().unwrap();
        let request = match tool {
            tool::UPDATE_NOTE => updated(id, 1, "new"),
            _ => json!({ "source_note_id": id, "target_note_id": other, "relation_type": "cites" }),
        };
        let made = bench.try_call(by, tool, request).map(drop);
        let reason = made.map_err(|error| error["details"]["reason"].as_str().unwrap().to_owned());
        assert_eq!(reason.as_ref().map_err(String::as_str).copied(), outcome, "{member} {tool}");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&format!("---\n{member}\n")), "{text}");
        let exported = bench.exported_notes();
        let plan = exported.iter().find(|note| note["id"] == id).unwrap();
        let key = member.split(':').next().unwrap();
        assert!(plan["metadata"].get(key).is_some(), "{plan}");
    }
}

#[test]
fn sensitive_notes_leave_with_an_owner_alone() {
    let bench = Bench::new();
    let mut secret = created("secret");
    secret["metadata"] = json!({ "sensitive": true });
    secret["content"] = "The word here is secret.\n".into();
    bench.call(By::Owner, tool::CREATE_NOTE, secret);
    assert!(bench.files().keys().all(|path| path.starts_with("notes/note-")), "{:?}", bench.files());
    assert_eq!(bench.refusal(AGENT, tool::EXPORT_LIBRARY, json!({})).0, "MCP_CONSTITUTION_VIOLATION");
    let exports = fs::read_dir(bench.folder.path().join(".git/tabellion/notes/exports")).unwrap();
    assert_eq!(exports.count(), 0, "what is refused is removed");
    assert_eq!(bench.exported().len(), 1);
    let note = bench.call(By::Owner, tool::SEMANTIC_SEARCH, json!({ "query": "secret" }));
    let id = &note["results"][0]["note_id"];
    for (by, is_shown) in [(By::Owner, true), (AGENT, false), (By::Reader, false), (By::Reviewer, false)] {
        let version = json!({ "note_id": id, "version": "1" });
        let whole = json!({ "note_id": id });
        for (template, variables) in
            [("note", &whole), ("note_versions", &whole), ("version_of_note", &version)]
        {
            let read = bench.resource(by, template, variables.clone());
            assert_eq!(read.is_ok(), is_shown, "{by:?} {template}");
        }
        let found = bench.call(by, tool::SEMANTIC_SEARCH, json!({ "query": "secret" }));
        assert_eq!(found["total_results"], u8::from(is_shown), "{by:?}");
        assert_eq!(found["results"][0].get("excerpt").is_some(), is_shown, "{by:?}");
    }
    for (version, sensitive, why) in [(1, json!(true), "the price is 5"), (2, Value::Null, "it is public")] {
        let mut update = updated(id.as_str().unwrap(), version, "new");
        update["metadata"] = json!({ "sensitive": sensitive });
        update["change_reason"] = why.into();
        bench.call(By::Owner, tool::UPDATE_NOTE, update);
    }
    for (by, is_shown) in [(By::Owner, true), (AGENT, false)] {
        let versions = bench.resource(by, "note_versions", json!({ "note_id": id })).unwrap().to_string();
        assert_eq!(versions.contains("the price is 5"), is_shown, "{versions}");
        assert!(versions.contains("it is public"), "{versions}");
    }
}

#[test]
fn front_matter_that_cannot_be_read_is_searched_and_said() {
    for (front_matter, line) in [
        ("---\ntitle: Q3: plan\n---\n", "line 2"),
        ("---\nA plan, between two lines\n---\n", "line 2"),
        ("---\ntitle: plan\n...\nMore\n---\n", "line 3: the front matter ends with `...`"),
        ("+++\ntitle = 'plan'\n+++\n", "line 1"),
    ] {
        let bench = Bench::new();
        fs::write(bench.folder.path().join("Q3.md"), [front_matter, "Text\n"].concat()).unwrap();
        let found = bench.call(AGENT, tool::SEMANTIC_SEARCH, json!({ "query": "plan" }));
        let id = json!({ "note_id": found["results"][0]["note_id"] });
        let read = run(bench.contract.read_instance(&AGENT.context(), "note", id.clone())).unwrap();
        let problems = read.meta["tabellion/problems"].to_string();
        assert!(problems.contains(line), "{front_matter:?}: {problems}");
        let note = run(bench.contract.read_instance(&AGENT.context(), "note", id.clone())).unwrap().response;
        let update = json!({ "note_id": id["note_id"], "version": 1, "content": note["content"], "change_reason": "why" });
        // Front matter that is not closed is content, above which a tool puts its own.
        let refused = bench.try_call(AGENT, tool::UPDATE_NOTE, update).err().map(|error| error.to_string());
        assert!(refused.is_none_or(|refused| refused.contains(line)), "{front_matter:?}");
        let library = Library::inspect(bench.folder.path()).unwrap();
        let said = super::problems(&library).unwrap();
        assert_eq!(said[0].0, "Q3.md");
        assert!(said[0].1[0].to_string().contains(line), "{said:?}");
    }
}

#[test]
fn documents_in_workflows_that_are_no_proposals_are_reported() {
    let bench = Bench::new();
    let note = json!({ "content": "A note of ten letters", "note_type": "permanent", "ai_justification": "asked for" });
    bench.call(AGENT, tool::CREATE_NOTE, note);
    bench.call(AGENT, tool::SEMANTIC_SEARCH, json!({ "query": "letters" }));
    let folder = bench.folder.path().join("workflows");
    let proposal = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let library = Library::inspect(bench.folder.path()).unwrap();
    assert_eq!(super::problems(&library).unwrap(), []);
    fs::write(folder.join("How we deploy.md"), "# How we deploy\n").unwrap();
    let text = fs::read_to_string(&proposal).unwrap();
    fs::write(&proposal, text.replace("state: ", "state: [")).unwrap();
    let mut reported: Vec<_> = super::problems(&library).unwrap().into_iter().map(|(path, _)| path).collect();
    reported.sort();
    let name = proposal.file_name().unwrap().to_str().unwrap();
    let mut expected = ["workflows/How we deploy.md".to_owned(), format!("workflows/{name}")];
    expected.sort();
    assert_eq!(reported, expected);
}

#[test]
fn front_matter_has_the_line_ending_of_the_content() {
    let bench = Bench::new();
    for by in [By::Owner, AGENT] {
        let mut request = created("first");
        request["content"] = content("first").replace('\n', "\r\n").into();
        let made = bench.call(by, tool::CREATE_NOTE, request);
        let has_one_ending = |bench: &Bench| {
            let files = bench.files();
            files.values().all(|text| text.matches("\r\n").count() == text.matches('\n').count())
        };
        assert!(has_one_ending(&bench), "{:?}", bench.files());
        if let Some(review) = made["review_workflow_id"].as_str() {
            bench.decide(By::Reviewer, review, "approve").unwrap();
            let file = bench.path(made["note_id"].as_str().unwrap());
            let text = fs::read_to_string(file).unwrap();
            assert_eq!(text.matches("\r\n").count(), text.matches('\n').count(), "{text:?}");
        }
        let id = made["note_id"].as_str().unwrap();
        bench.call(By::Owner, tool::UPDATE_NOTE, updated(id, 1, "second"));
        let text = fs::read_to_string(bench.path(id)).unwrap();
        assert!(text.ends_with(&content("second").replace('\n', "\r\n")), "{text:?}");
    }
}

/// A step of a program.
#[derive(Debug, Clone)]
enum Step {
    Create(By),
    /// An update of some note, with a wrong version if `wrong` is set.
    Update {
        by: By,
        note: Index,
        wrong: bool,
    },
    Decide {
        note: Index,
        on: &'static str,
    },
    EditByHand(Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let by = prop_oneof![Just(By::Owner), Just(AGENT), Just(By::Agent("other"))];
    let on = prop_oneof![3 => Just("approve"), 1 => Just("reject"), 2 => Just("needs_revision")];
    let step = prop_oneof![
        2 => by.clone().prop_map(Step::Create),
        5 => (by, any::<Index>(), prop::bool::weighted(0.1))
            .prop_map(|(by, note, wrong)| Step::Update { by, note, wrong }),
        4 => (any::<Index>(), on).prop_map(|(note, on)| Step::Decide { note, on }),
        1 => any::<Index>().prop_map(Step::EditByHand),
    ];
    vec(step, 1..20)
}

/// Expected state of a note.
#[derive(Debug, Clone)]
struct ExpectedNote {
    id: String,
    /// Number and word of the canonical version; the number counts a hand edit.
    canonical: Option<(u64, String)>,
    highest: u64,
    open: Option<Open>,
}

/// Expected open proposal.
#[derive(Debug, Clone)]
struct Open {
    review: String,
    by: By,
    number: u64,
    /// The canonical version that it changes.
    base: Option<(u64, String)>,
    word: String,
    is_returned: bool,
}

impl ExpectedNote {
    fn current(&self) -> Option<u64> {
        self.canonical.as_ref().map(|(number, _)| *number)
    }

    /// Returns the expected answer to an update: the status and the number, or the reason of its refusal.
    fn update(&mut self, by: By, version: u64, word: &str) -> Result<(&'static str, u64), &'static str> {
        let current = self.current();
        let next = self.highest.max(current.unwrap_or(0)) + 1;
        match &mut self.open {
            Some(open) if open.by == by => {
                if open.number != version {
                    return Err("version_conflict");
                }
                open.base = open.base.take().and(self.canonical.clone());
                open.number = next;
                open.word = word.into();
                open.is_returned = false;
                self.highest = next;
                return Ok(("pending_review", next));
            }
            Some(_) if by != By::Owner || current.is_none() => return Err("pending_review"),
            _ => {}
        }
        let current = current.ok_or("not_found")?;
        if version != current {
            return Err("version_conflict");
        }
        if by == By::Owner {
            self.canonical = Some((current + 1, word.into()));
            return Ok(("updated", current + 1));
        }
        self.highest = next;
        self.open = Some(Open {
            review: String::new(),
            by,
            number: next,
            base: self.canonical.clone(),
            word: word.into(),
            is_returned: false,
        });
        Ok(("pending_review", next))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_was_not_approved_is_not_to_be_found(program in steps()) {
        let bench = Bench::new();
        let mut notes: Vec<ExpectedNote> = vec![];
        for (number, step) in program.into_iter().enumerate() {
            let word = format!("word{number}x");
            match step {
                Step::Create(by) => {
                    let answer = bench.note(by, &word);
                    let waits = by != By::Owner;
                    prop_assert_eq!(&answer["status"], if waits { "pending_review" } else { "created" });
                    let review = answer["review_workflow_id"].as_str().unwrap_or_default().to_owned();
                    let open = Open { review, by, number: 1, base: None, word: word.clone(), is_returned: false };
                    notes.push(ExpectedNote {
                        id: answer["note_id"].as_str().unwrap().to_owned(),
                        canonical: (!waits).then_some((1, word)),
                        highest: if waits { 1 } else { 0 },
                        open: waits.then_some(open),
                    });
                }
                Step::Update { by, note, wrong } if !notes.is_empty() => {
                    let note = note.get_mut(&mut notes);
                    let own = note.open.as_ref().filter(|open| open.by == by).map(|open| open.number);
                    let version = own.or(note.current()).unwrap_or(1) + u64::from(wrong);
                    let context = CallContext { counted_as: Some(word.as_str().into()), ..by.context() };
                    let answer = run(bench.contract.call(&context, tool::UPDATE_NOTE, updated(&note.id, version, &word)));
                    let expected = note.update(by, version, &word);
                    match answer {
                        Ok(answer) => {
                            let found = answer.response["status"].as_str().zip(answer.response["new_version"].as_u64());
                            prop_assert_eq!(found, expected.ok());
                            if let Some(open) = &mut note.open && expected.is_ok_and(|(status, _)| status == "pending_review") {
                                open.review = answer.meta["review_workflow_id"].as_str().unwrap().to_owned();
                            }
                        }
                        Err(Rejection::Declared(error)) => {
                            prop_assert_eq!(error.data["reason"].as_str(), expected.err(), "{}", error.message);
                        }
                        Err(other) => panic!("{other:?}"),
                    }
                }
                Step::Decide { note, on } if !notes.is_empty() => {
                    let note = note.get_mut(&mut notes);
                    let Some(open) = note.open.clone() else { continue };
                    let is_stale = open.base != note.canonical;
                    let decided = bench.decide(By::Reviewer, &open.review, on);
                    let is_possible = if open.is_returned { on == "reject" } else { on != "approve" || !is_stale };
                    prop_assert_eq!(decided.is_ok(), is_possible, "{}: {:?}", on, decided);
                    match on {
                        _ if !is_possible => {}
                        "approve" => {
                            note.canonical = Some((open.number, open.word));
                            note.open = None;
                        }
                        "reject" => note.open = None,
                        _ => note.open = Some(Open { is_returned: true, ..open }),
                    }
                }
                Step::EditByHand(note) if !notes.is_empty() => {
                    let note = note.get_mut(&mut notes);
                    let Some((current, old)) = note.canonical.clone() else { continue };
                    let path = bench.path(&note.id);
                    let text = fs::read_to_string(&path).unwrap();
                    fs::write(&path, text.replace(&old, &word)).unwrap();
                    // Several edits after one change of a tool are one version.
                    let said = text.lines().find_map(|line| line.strip_prefix("version: ")?.parse().ok());
                    note.canonical = Some((said.map_or(current, |said: u64| said + 1), word));
                }
                _ => {}
            }
            let mut expected: Vec<String> = notes.iter().filter_map(|note| note.canonical.as_ref()).map(|(_, word)| content(word)).collect();
            let mut found = bench.exported();
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
            for note in &notes {
                let shown = bench.resource(By::Reader, "note", json!({ "note_id": note.id })).ok();
                prop_assert_eq!(shown.and_then(|shown| shown["version"].as_u64()), note.current());
                if let Some(open) = &note.open {
                    let found = bench.call(By::Reviewer, tool::SEMANTIC_SEARCH, json!({ "query": open.word }));
                    prop_assert!(!found.to_string().contains(&open.word), "{}", found);
                }
            }
        }
    }
}
