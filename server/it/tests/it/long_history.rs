//! A library with a long history: its log and idempotency keys, in any state of their cache.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::json;
use tabellion_conformance::ledger;

use crate::support::Library;

const LENGTH: usize = 30_000;

/// Returns the identity of the tests' client, as commits have it.
fn identity() -> String {
    let library = Library::empty();
    let mut server = library.serve();
    let request = json!({ "path": "a.md", "content": "a\n" });
    server.call("write_markdown", request).expect("it is written");
    server.close();
    let message = ledger::git(library.root(), &["log", "-1", "--format=%B"]).expect("a log");
    let mut lines = message.lines();
    let caller = lines.find_map(|line| line.strip_prefix("Tabellion-Caller: "));
    caller.expect("a caller").to_owned()
}

/// Creates a library with many commits, each with a log entry and the key `key-N` of the tests' client.
fn long() -> Library {
    let identity = identity();
    let library = Library::empty();
    ledger::git(library.root(), &["init", "--quiet", "--initial-branch=main"]).expect("git init");
    let mut text = String::new();
    for at in 0..LENGTH {
        let path = format!("d{}/n{}.md", at % 10, at % 500);
        let message = format!(
            "append: {path}\n\nTabellion-Operation: append\nTabellion-Path: {path}\nTabellion-Tool: edit_markdown\n\
             Tabellion-Time: 2025-01-01T00:00:00.000Z\nTabellion-Summary: number {at}\nTabellion-Key: {identity} key-{at}\n\
             Tabellion-Request: {at:040}\n"
        );
        let (time, length, content) = (1_700_000_000 + at, message.len(), at.to_string());
        text += &format!(
            "commit refs/heads/main\ncommitter A <a@b> {time} +0000\ndata {length}\n{message}\nM 644 inline {path}\n\
             data {}\n{content}\n",
            content.len()
        );
    }
    let mut import = Command::new("git")
        .arg("-C")
        .arg(library.root())
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git");
    import.stdin.take().expect("piped").write_all(text.as_bytes()).expect("written");
    assert!(import.wait().expect("git").success());
    ledger::git(library.root(), &["reset", "--quiet", "--hard"]).expect("git reset");
    library
}

/// Checks that the log and keys from its whole length are found, and an unused key is not.
#[track_caller]
fn assert_exact(library: &Library, newer: usize) {
    let mut server = library.serve();
    let log = server.call("get_markdown_activity_log", json!({ "limit": 20 })).expect("a log");
    let summaries: Vec<_> =
        log["entries"].as_array().expect("entries").iter().map(|entry| &entry["summary"]).collect();
    let of_old = summaries.len() - newer;
    let expected: Vec<_> = (LENGTH - of_old..LENGTH).map(|at| json!(format!("number {at}"))).collect();
    assert_eq!(summaries[..of_old], expected.iter().collect::<Vec<_>>());
    for key in [0, 1, LENGTH / 2, LENGTH - 1].map(|at| format!("key-{at}")) {
        let request = json!({ "path": "new.md", "content": "new\n" });
        let refusal = server
            .call_with("write_markdown", request, json!({ "tabellion/idempotencyKey": key }))
            .expect_err("the key is another request's");
        assert!(refusal.message.contains(&key), "{}", refusal.message);
    }
    server.close();
}

#[test]
fn a_kill_while_the_cache_is_built_keeps_the_log_correct() {
    let library = long();
    for round in 0..6 {
        let mut server = library.serve();
        server.call("get_markdown_activity_log", json!({ "limit": 1 })).expect("a log");
        thread::sleep(Duration::from_millis(80 + 150 * round));
        server.target.kill();
        assert_exact(&library, 0);
    }
    // Two concurrent servers, both of which find the cache missing.
    let _ = std::fs::remove_dir_all(library.path(".git/tabellion"));
    let mut servers = [library.serve(), library.serve()];
    for (number, server) in servers.iter_mut().enumerate() {
        let request = json!({ "path": format!("{number}.md"), "content": "x\n" });
        let meta = json!({ "tabellion/idempotencyKey": format!("fresh-{number}") });
        let first = server.call_with("write_markdown", request.clone(), meta.clone()).expect("written");
        let again = server.call_with("write_markdown", request, meta).expect("the same");
        assert_eq!(first.response, again.response);
        assert_eq!(again.meta["tabellion/replayed"], true);
    }
    let [one, two] = servers;
    one.close();
    two.close();
    assert_exact(&library, 2);
    ledger::fsck(library.root()).expect("a sound repository");
}
