//! The learning OS: readable paths, and append-only memory with a person's approval.

use std::{
    os::unix::fs::symlink,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tabellion_conformance::ledger;
use tabellion_contracts::learning_os::{CONTRACT, tool};
use tabellion_runtime::{Answer, Approver, BoxFuture, CallContext, Contract, Decision, Proposal, Rejection};

use crate::{
    session::refuse,
    support::{Library, Server, contract},
};

const LOG: &str = ".claude/memory/progress_log.jsonl";
const PRACTICES: &str = ".claude/memory/best_practices.md";
const NOW: &str = "2026-01-31T09:30:00+01:00";

const INVALID: i64 = -32602;
const DENIED: i64 = -32000;
const NOT_ALLOWED: i64 = -32001;
const TOO_LARGE: i64 = -32002;

fn serve(library: &Library) -> Server {
    library.serve_with(&["--contract", CONTRACT.id])
}

#[test]
fn a_greeting_needs_a_name() {
    let library = Library::with(&[]);
    let mut server = serve(&library);
    for name in ["Ada", "Ada Lovelace", "{name}", &"é".repeat(100)] {
        let greeting = server.call(tool::HELLO, json!({ "name": name })).expect("a greeting");
        assert_eq!(greeting, json!({ "greeting": format!("Hello, {name}!") }));
    }
    for arguments in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": " \t\n" }),
        json!({ "name": 7 }),
        json!({ "name": "é".repeat(101) }),
    ] {
        let refusal = refuse(&library, &mut server, tool::HELLO, arguments, json!({}));
        assert_eq!(refusal.code, INVALID);
        assert!(refusal.message.starts_with("Invalid params: "), "{}", refusal.message);
        assert!(refusal.message.ends_with(refusal.data["details"].as_str().expect("details")));
    }
    server.close();
}

#[test]
fn the_server_reads_permitted_paths_only() {
    let library = Library::with(&[
        ("docs/a.md", "# A\r\n\u{feff}\n"),
        ("docs/deep/er/b.txt", "b"),
        ("paths/p.json", "{}"),
        ("stacks/empty", ""),
        (LOG, "{}\n"),
        (".claude/commands/c.md", "c"),
        (".claude/skills/s/run.sh", "#!/bin/sh\n"),
        ("README.md", "readme"),
        ("CLAUDE.md", "claude"),
        ("docs/.github/x.yml", "x"),
        ("docs/aux.md", "x"),
        ("docs/ends./x.", "x"),
        ("docs/most", &"x".repeat(100 * 1024)),
        ("docs/more", &"x".repeat(100 * 1024 + 1)),
        (".env", "SECRET"),
        ("docs/.env", "SECRET"),
        ("docs/.ENV.local", "SECRET"),
        ("docs/Secrets.md", "SECRET"),
        ("docs/secrets/x.md", "SECRET"),
        ("docs/tls.KEY", "SECRET"),
        ("docs/tls.pem", "SECRET"),
        ("notes.md", "SECRET"),
        (".claude/settings.json", "SECRET"),
        ("documents/x.md", "SECRET"),
        ("docs.md", "SECRET"),
        ("sub/README.md", "SECRET"),
    ]);
    library.put("docs/bytes.md", b"ab\xffcd");
    symlink("../notes.md", library.path("docs/link.md")).expect("a link");
    symlink("..", library.path("docs/up")).expect("a link");
    symlink("/etc", library.path("paths/etc")).expect("a link");
    let mut server = serve(&library);

    for path in [
        "docs/a.md",
        "docs/deep/er/b.txt",
        "paths/p.json",
        "stacks/empty",
        LOG,
        ".claude/commands/c.md",
        ".claude/skills/s/run.sh",
        "README.md",
        "CLAUDE.md",
        "docs/.github/x.yml",
        "docs/aux.md",
        "docs/ends./x.",
        "docs/most",
    ] {
        let read = server.call(tool::READ_REPO_FILE, json!({ "path": path }));
        let content = String::from_utf8(library.get(path)).expect("text");
        assert_eq!(read.expect(path), json!({ "content": content, "exists": true }), "{path}");
    }
    for path in
        ["docs/none.md", "docs/none/x.md", "docs/CON.md", "docs/a.md.", ".claude/memory/decisions.jsonl"]
    {
        let read = server.call(tool::READ_REPO_FILE, json!({ "path": path })).expect(path);
        let error = format!("there is no file `{path}`");
        assert_eq!(read, json!({ "exists": false, "error": error }), "{path}");
    }
    for (path, code) in [
        (".env", DENIED),
        ("docs/.env", DENIED),
        ("docs/.ENV.local", DENIED),
        ("DOCS/.Env", DENIED),
        ("docs/Secrets.md", DENIED),
        ("docs/secrets/x.md", DENIED),
        ("docs/tls.KEY", DENIED),
        ("docs/tls.pem", DENIED),
        (".git/config", DENIED),
        ("docs/.git/config", DENIED),
        ("docs/../.env", DENIED),
        ("docs/link.md", DENIED),
        ("docs/up/notes.md", DENIED),
        ("paths/etc/passwd", DENIED),
        ("docs", DENIED),
        ("docs/deep", DENIED),
        ("notes.md", NOT_ALLOWED),
        (".claude/settings.json", NOT_ALLOWED),
        ("documents/x.md", NOT_ALLOWED),
        ("docs.md", NOT_ALLOWED),
        ("sub/README.md", NOT_ALLOWED),
        ("docs/../notes.md", NOT_ALLOWED),
        ("docs/./a.md", NOT_ALLOWED),
        ("docs//a.md", NOT_ALLOWED),
        ("docs/", NOT_ALLOWED),
        ("/docs/a.md", NOT_ALLOWED),
        ("/etc/passwd", NOT_ALLOWED),
        ("../x", NOT_ALLOWED),
        ("docs/.gitignore", NOT_ALLOWED),
        ("docs/more", TOO_LARGE),
        ("docs/bytes.md", INVALID),
        ("docs/a b.md", INVALID),
        ("docs\\a.md", INVALID),
        ("", INVALID),
    ] {
        let arguments = json!({ "path": path });
        let refusal = refuse(&library, &mut server, tool::READ_REPO_FILE, arguments, json!({}));
        assert_eq!(refusal.code, code, "{path}: {refusal:?}");
        assert!(!refusal.data["details"].as_str().expect("details").is_empty(), "{path}");
        assert!(!format!("{refusal:?}").contains("SECRET"), "{path}");
    }
    server.close();
}

/// An approver that records the proposals it was shown.
#[derive(Debug)]
struct Person {
    decision: Decision,
    shown: Mutex<Vec<Proposal>>,
}

impl Approver for Person {
    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision> {
        self.shown.lock().expect("whole").push(proposal.clone());
        Box::pin(async { self.decision.clone() })
    }
}

/// Appends with a given decision; returns the answer and the shown proposals.
fn append(
    contract: &dyn Contract,
    arguments: Value,
    decision: Decision,
) -> (Result<Answer, Rejection>, Vec<Proposal>) {
    let person = Arc::new(Person { decision, shown: Mutex::default() });
    let call = CallContext::default().with_approver(Arc::clone(&person) as Arc<dyn Approver>);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let answer = runtime.block_on(contract.call(&call, tool::WRITE_MEMORY_ENTRY, arguments));
    let shown = std::mem::take(&mut *person.shown.lock().expect("whole"));
    (answer, shown)
}

fn entry(event: &str) -> Value {
    json!({ "file": "progress_log.jsonl", "entry": { "timestamp": NOW, "event": event } })
}

fn practice(content: &str) -> Value {
    json!({ "file": "best_practices.md", "content": content })
}

#[test]
fn an_append_adds_exactly_the_shown_text() {
    let line = |event: &str| format!("{{\"timestamp\":\"{NOW}\",\"event\":{}}}\n", json!(event));
    let cases: Vec<(&str, Option<&[u8]>, Value, String)> = vec![
        (LOG, None, entry("a"), line("a")),
        (LOG, Some(b""), entry("a"), line("a")),
        (LOG, Some(b"{}\n"), entry("a"), line("a")),
        (LOG, Some(b"{}"), entry("a"), format!("\n{}", line("a"))),
        (LOG, Some(b"{}\r\n"), entry("a"), line("a").replace('\n', "\r\n")),
        (LOG, Some(b"{}\r"), entry("a"), format!("\n{}", line("a"))),
        (LOG, Some(b"\xff\xfe"), entry("a"), format!("\n{}", line("a"))),
        (
            LOG,
            Some(b"\n\n"),
            entry("two\nlines \u{2028} \"and\" more"),
            line("two\nlines \u{2028} \"and\" more"),
        ),
        (
            LOG,
            None,
            json!({ "file": "progress_log.jsonl", "entry": { "z": [1, { "b": null }], "timestamp": "2026-01-31T09:30:00Z", "a": 1.5 } }),
            "{\"z\":[1,{\"b\":null}],\"timestamp\":\"2026-01-31T09:30:00Z\",\"a\":1.5}\n".into(),
        ),
        (PRACTICES, None, practice("- one\n- two\n"), "- one\n- two\n".into()),
        (PRACTICES, Some(b"# Best"), practice("- one"), "\n- one\n".into()),
        (PRACTICES, Some(b"# Best\r\n"), practice("- one"), "- one\r\n".into()),
        (PRACTICES, Some(b"a\r\nb"), practice("- one"), "\r\n- one\r\n".into()),
        (PRACTICES, Some(b"# Best\n"), practice("- one\n\n"), "- one\n\n".into()),
    ];
    for (path, before, arguments, appended) in cases {
        let library = Library::with(&[("README.md", "x")]);
        if let Some(before) = before {
            library.put(path, before);
            library.commit_all("memory");
        }
        let ledger = library.ledger();
        let (answer, shown) = append(&*contract(library.root(), CONTRACT.id), arguments, Decision::Granted);
        let answer = answer.expect(path);
        assert_eq!(answer.response["success"], true);
        let after = library.get(path);
        assert_eq!(after, [before.unwrap_or_default(), appended.as_bytes()].concat());
        let shown: Vec<_> = shown.into_iter().map(|it| (it.path, it.shown)).collect();
        // A missing final newline is not part of the entry.
        let text = appended.strip_prefix('\r').unwrap_or(&appended);
        let text = text.strip_prefix('\n').unwrap_or(text);
        assert_eq!(shown, [(path.into(), text.into())]);
        let commits = library.ledger().commits_since(&ledger);
        assert_eq!(commits, [answer.meta["tabellion/commit"].as_str().expect("a commit")]);
        assert_eq!(library.ledger().changed_since(&ledger), [Path::new(path)]);
        ledger::fsck(library.root()).expect("a sound repository");
    }
}

#[test]
fn a_refused_append_leaves_no_trace() {
    let library = Library::with(&[(LOG, "{}\n")]);
    let contract = contract(library.root(), CONTRACT.id);
    let json_of = |bytes: usize| {
        let around = json!({ "timestamp": NOW, "event": "" }).to_string().len();
        entry(&"x".repeat(bytes - around))
    };
    for (arguments, expected) in [
        (practice(&"é".repeat(2561)), TOO_LARGE),
        (practice(&"x".repeat(5001)), INVALID),
        (json_of(5001), TOO_LARGE),
        (entry(&"é".repeat(2560)), TOO_LARGE),
        (practice(""), INVALID),
        (json!({ "file": "progress_log.jsonl" }), INVALID),
        (json!({ "file": "progress_log.jsonl", "content": "x" }), INVALID),
        (json!({ "file": "best_practices.md", "entry": { "timestamp": NOW } }), INVALID),
        (json!({ "file": "decisions.jsonl", "entry": { "event": "x" } }), INVALID),
        (json!({ "file": "decisions.jsonl", "entry": { "timestamp": "2026-01-31T09:30:00" } }), INVALID),
        (json!({ "file": "decisions.jsonl", "entry": { "timestamp": "yesterday" } }), INVALID),
        (json!({ "file": "decisions.jsonl", "entry": { "timestamp": 7 } }), INVALID),
        (json!({ "file": "../../README.md", "content": "x" }), INVALID),
        (json!({ "content": "x" }), INVALID),
    ] {
        let before = library.ledger();
        let (answer, shown) = append(&*contract, arguments.clone(), Decision::Granted);
        let Err(Rejection::Declared(error)) = answer else { panic!("{arguments}: {answer:?}") };
        assert_eq!(i64::from(error.code), expected, "{arguments}: {error:?}");
        assert_eq!(shown, [], "an invalid call must not ask for approval: {arguments}");
        assert_eq!(library.ledger(), before, "{arguments}");
    }
    for most in [practice(&"x".repeat(5000)), json_of(5000), practice(&"é".repeat(2560))] {
        assert!(append(&*contract, most, Decision::Granted).0.is_ok());
    }
}

#[test]
fn the_server_writes_nothing_without_approval() {
    let library = Library::with(&[(LOG, "{}\n")]);
    let before = library.ledger();
    let contract = contract(library.root(), CONTRACT.id);
    let (answer, shown) = append(&*contract, entry("a"), Decision::Declined("not today".into()));
    let Err(Rejection::Declared(error)) = answer else { panic!("{answer:?}") };
    assert_eq!((i64::from(error.code), shown.len()), (DENIED, 1));
    assert!(error.message.contains("not today"), "{}", error.message);
    let (answer, shown) = append(&*contract, entry("a"), Decision::Ask);
    assert_eq!(answer, Err(Rejection::InputRequired(Box::new(shown[0].clone()))));
    assert_eq!(library.ledger(), before);
}
