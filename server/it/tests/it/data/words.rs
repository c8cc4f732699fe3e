//! The index of words: making it anew while it is served, and the findings of `doctor` about it.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Data, provenance};
use crate::support::{Answer, Outcome, Server};

/// Calls a tool with complete provenance.
fn call(server: &mut Server, tool: &str, arguments: Value) -> Outcome<Answer> {
    server.call_with(tool, arguments, provenance())
}

fn note(server: &mut Server, content: &str) {
    let data = json!({ "content": content, "observation_type": "decision" });
    let stored =
        call(server, "memory", json!({ "action": "store", "resource": "observation", "data": data }));
    stored.expect("stored");
}

fn found(server: &mut Server, query: &str) -> u64 {
    let hits = call(server, "search", json!({ "resource": "memory", "query": query })).expect("an answer");
    hits.response["total"].as_u64().expect("a number")
}

/// A change, and the output of `doctor` and `reindex` after it.
#[test]
fn the_index_is_made_anew_while_it_is_served() {
    let data = Data::new();
    let mut server = data.serve();
    for number in 0..30 {
        note(&mut server, &format!("note {number} of the heron"));
    }
    assert_eq!(found(&mut server, "heron"), 30);
    let (code, out, said) = data.upkeep(&["reindex"]);
    assert_eq!(code, Some(0), "{out}{said}");
    assert_eq!(
        out,
        "`~/data/mcb-words.db`: made anew from 30 rows\n30 of `observation`, 0 of `error_pattern`, 0 of `session_summary`\n"
    );
    assert_eq!(said, "tabellion: 0 of 30 rows are in the index\ntabellion: 30 of 30 rows are in the index\n");
    // The server that kept running finds the old notes, and those that it stores now.
    assert_eq!(found(&mut server, "heron"), 30);
    note(&mut server, "the heron lands");
    assert_eq!(found(&mut server, "lands"), 1);
    let (code, out, _) = data.upkeep(&["reindex", "--json"]);
    let shown: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &shown["rows"]), (Some(0), &json!(31)));
    assert_eq!(shown["entities"]["observation"], 31);
    server.close();
    let (code, _, said) = Data::new().upkeep(&["reindex"]);
    assert!(code == Some(1) && said.contains("name the data folder with `--data DIR`"), "{said}");
}

#[test]
fn doctor_tells_what_is_indexed() {
    let index = |data: &Data| data.folder().join("mcb-words.db");
    let tamper = |data: &Data, sql: &str| {
        let connection = Connection::open(index(data)).expect("the index");
        connection.execute_batch(sql).expect("changed");
    };
    let search = |data: &Data| {
        let mut server = data.serve();
        assert_eq!(found(&mut server, "heron"), 1);
        server.close();
    };
    type Case<'a> = (&'a str, &'a str, &'a dyn Fn(&Data));
    let cases: [Case<'_>; 7] = [
        ("green", "none of 2 rows are indexed: there is no `", &|_| {}),
        ("green", "is current: 2 of 2 rows, up to change 3", &|data| search(data)),
        ("green", "is behind: it has changes up to 3 of 4, and 2 rows where 3 are there", &|data| {
            search(data);
            let mut server = data.serve();
            note(&mut server, "an egret");
            server.close();
        }),
        ("yellow", "is no index of these rows: it was made of other data", &|data| {
            search(data);
            tamper(data, "UPDATE state SET mark = 'x'");
        }),
        ("yellow", "its documents were made in a different way", &|data| {
            search(data);
            tamper(data, "UPDATE state SET recipe = 'x'");
        }),
        (
            "yellow",
            "the next search makes it anew, or `tabellion data reindex --data ~/data --contract mcb`",
            &|data| fs::write(index(data), "no database").expect("written"),
        ),
        (
            "red",
            "says that it has everything, and has 0 rows where 2 are there `tabellion data reindex --data ~/data --contract mcb`",
            &|data| {
                search(data);
                tamper(data, "DELETE FROM document");
            },
        ),
    ];
    for (status, expected, done) in cases {
        let data = Data::new();
        let mut server = data.serve();
        note(&mut server, "the heron waits");
        note(&mut server, "the stork waits");
        server.close();
        done(&data);
        let (_, findings) = super::upkeep::doctor(&data);
        let found = findings.iter().find(|(id, ..)| id == "words");
        let (_, found, said) = found.expect("a line about the index");
        assert!(found == status && said.contains(expected), "{found} {said}");
        assert_eq!(data.upkeep(&["reindex"]).0, Some(0), "{expected}");
        let (_, findings) = super::upkeep::doctor(&data);
        let is_current =
            |(id, _, said): &&(String, String, String)| id == "words" && said.contains("is current");
        assert!(findings.iter().any(|finding| is_current(&finding)), "{findings:?}");
    }
}
