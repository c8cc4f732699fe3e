//! Progress and cancellation of calls.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};
use tabellion_conformance::{Target, ledger};

use crate::support::{Library, exited, process, stateless};

const STATELESS: &str = "2026-07-28";
const REVISIONS: [&str; 2] = ["2025-11-25", STATELESS];

/// Creates a library that takes long to search and little disk space: most files are hard links.
fn large() -> Library {
    let library = Library::with(&[("a.md", "# A\n")]);
    library.put("0.md", "No needle in here, nor anywhere else.\n".repeat(1 << 16));
    for number in 1..2000 {
        fs::hard_link(library.path("0.md"), library.path(&format!("{number}.md"))).expect("a link");
    }
    library
}

fn start(library: &Library, revision: &str) -> Target {
    let mut target = Target::start(&mut library.command()).expect("the server starts");
    if revision != STATELESS {
        target.initialize(revision).expect("a handshake");
    }
    target
}

fn post(target: &mut Target, revision: &str, tool: &str, arguments: Value, mut meta: Value) -> i64 {
    if revision == STATELESS {
        meta.as_object_mut().expect("an object").extend(stateless(&json!({})));
    }
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    target.post("tools/call", params).expect("sent")
}

fn cancel(target: &mut Target, id: i64) {
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    target.send(cancelled.to_string()).expect("sent");
}

/// Returns the CPU time of a process in clock ticks.
#[cfg(target_os = "linux")]
fn ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let fields = stat.rsplit(')').next().expect("fields");
    let number = |at: usize| fields.split_whitespace().nth(at).and_then(|field| field.parse::<u64>().ok());
    number(11).expect("user") + number(12).expect("system")
}

#[test]
#[cfg(target_os = "linux")]
fn a_search_reports_progress_and_stops_when_cancelled() {
    let library = large();
    for revision in REVISIONS {
        let mut target = start(&library, revision);
        let arguments = json!({ "query": "absent" });
        let search =
            post(&mut target, revision, "search_markdown", arguments, json!({ "progressToken": "t" }));
        let mut heard = vec![];
        while heard.len() < 3 {
            let message = target.receive().expect("progress");
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], "t");
            heard.push(message["params"]["progress"].as_f64().expect("a number"));
        }
        assert!(heard.is_sorted_by(|one, other| one < other), "{heard:?}");
        cancel(&mut target, search);
        // The server answers other requests; the search sends at most the progress that was under way.
        let listing = post(&mut target, revision, "list_markdown_files", json!({ "path": "" }), json!({}));
        loop {
            let message = target.receive().expect("an answer");
            if message["id"] == listing {
                break;
            }
            assert_eq!(message["method"], "notifications/progress", "{message}");
        }
        let idle = (0..100).any(|_| {
            let before = ticks(process(&target));
            thread::sleep(Duration::from_millis(100));
            ticks(process(&target)) == before
        });
        assert!(idle, "the search goes on");
        let last = post(&mut target, revision, "list_markdown_files", json!({ "path": "" }), json!({}));
        assert_eq!(target.receive().expect("an answer")["id"], last);
        assert!(exited(target).success());
    }
}

#[test]
fn a_cancelled_change_is_complete_or_has_no_effect() {
    let library = Library::with(&[("a.md", "# A\n")]);
    for revision in REVISIONS {
        let mut target = start(&library, revision);
        for round in 0..12 {
            let before = library.ledger();
            let path = format!("{revision}-{round}.md");
            let content = "whole\n".repeat(1000);
            let arguments = json!({ "path": path, "content": content });
            let write = post(&mut target, revision, "write_markdown", arguments, json!({}));
            thread::sleep(Duration::from_millis(round));
            cancel(&mut target, write);
            // The next change waits for the previous one.
            let arguments = json!({ "path": "a.md", "content": format!("{revision} {round}\n") });
            let next = post(&mut target, revision, "write_markdown", arguments, json!({}));
            while target.receive().expect("an answer")["id"] != next {}
            let after = library.ledger();
            let made = after.commits_since(&before).len() - 1;
            let found = fs::read_to_string(library.path(&path));
            match made {
                0 => assert!(found.is_err(), "{path}"),
                1 => assert_eq!(found.expect("the file"), content),
                more => panic!("{more} commits"),
            }
            assert_eq!(after.status, "");
        }
        assert!(exited(target).success());
    }
    ledger::fsck(library.root()).expect("a sound repository");
}
