//! A process that is killed midway: acknowledged changes survive, and no change is partial.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::json;
use tabellion_runtime::{
    CallContext,
    spec::Action::{Create, Delete, Get},
};

use super::tracker::{Bench, call, open_file};

/// Environment variable with the folder that the child process changes until it is killed.
const FOLDER: &str = "TABELLION_TEST_FOLDER";
/// Number of times that a process is killed.
const KILLS: u64 = 12;

/// The child process: adds, in three threads, an issue with a comment and removes every third, and prints the acknowledged changes.
#[test]
#[ignore = "run by a_killed_process_loses_nothing_that_it_acknowledged"]
fn changes_until_killed() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let records = open_file(&folder);
    let call = |entity, action, request| call(&records, &CallContext::default(), entity, action, request);
    let change = || {
        for at in 0_u64.. {
            let data = json!({"project_id": "p", "title": "x".repeat(10_000)});
            let issue = call("issue", Create, json!({ "data": data })).unwrap().response;
            let data = json!({"issue_id": issue["id"], "body": "close it"});
            call("comment", Create, json!({ "data": data })).unwrap();
            let mut state = "added";
            if at.is_multiple_of(3) {
                call("issue", Delete, json!({"id": issue["id"]})).unwrap();
                state = "removed";
            }
            // In one piece, so no partial line remains.
            let line = format!("ACK {state} {}\n", issue["id"].as_str().unwrap());
            std::io::stderr().write_all(line.as_bytes()).unwrap();
        }
    };
    // Their changes share transactions.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(change);
        }
    });
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let bench = Bench::in_file();
    bench.create("project", json!({"id": "p", "name": "One"}));
    let mut acknowledged = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "tests::crash::changes_until_killed", "--nocapture"])
            .env(FOLDER, bench.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            let lines = lines.map_while(Result::ok);
            lines.filter(|line| line.starts_with("ACK ")).collect::<Vec<_>>()
        });
        std::thread::sleep(Duration::from_millis(120 + kill * 17));
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = reader.join().unwrap();
        let records = open_file(bench.folder.path());
        records.check().unwrap();
        for line in &lines {
            let [_, state, id] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let found = call(&records, &CallContext::default(), "issue", Get, json!({ "id": id }));
            let status =
                found.map_or_else(|error| error["rule"].clone(), |answer| answer.response["status"].clone());
            let expected = if state == "added" { "closed" } else { "not_found" };
            assert_eq!(status, expected, "{line}");
        }
        acknowledged += lines.len();
    }
    assert!(acknowledged > 20, "{acknowledged}");
}
