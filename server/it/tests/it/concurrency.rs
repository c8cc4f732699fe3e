//! Concurrent calls: no acknowledged change is lost or doubled.

use std::{collections::BTreeSet, thread};

use serde_json::json;
use tabellion_conformance::ledger;

use crate::support::{Library, edit, outcome};

const PROCESSES: usize = 2;
const APPENDS: usize = 20;

#[test]
fn two_processes_append_to_one_file_without_loss() {
    let library = Library::with(&[("list.md", "# List\n")]);
    let servers: Vec<_> = (0..PROCESSES).map(|_| library.serve()).collect();
    let threads: Vec<_> = servers
        .into_iter()
        .enumerate()
        .map(|(process, mut server)| {
            thread::spawn(move || {
                // All requests are in flight before the first answer is read.
                for line in 0..APPENDS {
                    let request = edit("list.md", "append", "", &format!("- {process}/{line}\n"));
                    server
                        .target
                        .post("tools/call", json!({ "name": "edit_markdown", "arguments": request }))
                        .expect("sent");
                }
                let answers: Vec<_> =
                    (0..APPENDS).map(|_| server.target.receive().expect("an answer")).collect();
                server.close();
                answers
            })
        })
        .collect();
    let answers: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect();

    let commits: BTreeSet<String> = answers
        .iter()
        .map(|answer| {
            outcome(answer).expect("acknowledged").response["git_commit_sha"]
                .as_str()
                .unwrap_or_default()
                .to_string()
        })
        .collect();
    assert_eq!(commits.len(), PROCESSES * APPENDS, "each acknowledged edit has a commit of its own");

    let text = String::from_utf8(library.get("list.md")).expect("UTF-8");
    let lines: BTreeSet<&str> = text.lines().skip(1).collect();
    let expected: BTreeSet<String> = (0..PROCESSES)
        .flat_map(|process| (0..APPENDS).map(move |line| format!("- {process}/{line}")))
        .collect();
    assert_eq!(lines, expected.iter().map(String::as_str).collect());
    assert_eq!(text.lines().count(), 1 + PROCESSES * APPENDS);

    let ledger = library.ledger();
    assert_eq!(ledger.commits.len(), 1 + PROCESSES * APPENDS);
    assert_eq!(ledger.status, "");
    let entries = library.serve().call("get_markdown_activity_log", json!({})).expect("a log");
    let logged: Vec<_> = entries["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| entry["git_commit_sha"].clone())
        .collect();
    let newest_last: Vec<_> =
        ledger.commits.iter().take(PROCESSES * APPENDS).rev().map(|commit| json!(commit)).collect();
    assert_eq!(logged, newest_last);
    ledger::fsck(library.root()).expect("a sound repository");
}

/// Git removes the document and writes it again, in several steps.
#[test]
fn a_reader_sees_one_whole_branch_while_git_switches() {
    let contents = ["one\n", "another\n"].map(|line| line.repeat(50_000));
    let library = Library::with(&[("long.md", &contents[0])]);
    let git = |arguments: &[&str]| ledger::git(library.root(), arguments).expect("git");
    git(&["switch", "--quiet", "--create", "other"]);
    library.put("long.md", &contents[1]);
    library.commit_all("other");
    let mut server = library.serve();
    thread::scope(|scope| {
        let switching = scope.spawn(|| {
            for _ in 0..150 {
                git(&["switch", "--quiet", "main"]);
                git(&["switch", "--quiet", "other"]);
            }
        });
        while !switching.is_finished() {
            let read = server.call("read_markdown", json!({ "path": "long.md" }));
            let content = read.expect("it is there")["content"].take();
            let length = content.as_str().map(str::len);
            assert!(contents.iter().any(|whole| content == **whole), "{length:?} bytes");
        }
    });
    server.close();
}
