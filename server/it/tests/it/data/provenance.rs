//! Provenance of calls: the required, discovered and configured fields, and the ones that are kept.

use std::{fs, process::Command, thread, time::Duration};

use serde_json::{Map, Value, json};

use super::Data;
use crate::{
    http,
    support::{Outcome, Server, ended},
};

/// The fields that are discovered, in the order of the message about missing ones, each with a value and a header.
const NEEDED: [(&str, &str, &str); 9] = [
    ("session_id", "s-17", "X-Session-Id"),
    ("project_id", "ada/engine", "X-Project-Id"),
    ("repo_id", "r-1", "X-Repo-Id"),
    ("repo_path", "/srv/engine", "X-Workspace-Root"),
    ("worktree_id", "main", "X-Worktree-Id"),
    ("operator_id", "ada", "X-Operator-Id"),
    ("machine_id", "loom", "X-Machine-Id"),
    ("agent_program", "shuttle", "X-Agent-Program"),
    ("model_id", "m-2", "X-Model-Id"),
];

/// The fields with a default, which a strict server does not take.
const DEFAULTED: [&str; 2] = ["delegated", "timestamp"];

/// Stores an observation, which requires provenance.
fn store(server: &mut Server, meta: Value) -> Outcome<Value> {
    let arguments = json!({
        "action": "store", "resource": "observation", "data": { "content": "Prices are in cents.", "observation_type": "decision" },
    });
    server.call_with("memory", arguments, meta).map(|answer| answer.response)
}

/// Returns a strict server's refusal of a call that lacks these fields, and does not mention those with a default.
fn missing(fields: &[&str]) -> String {
    let fields = [fields, &DEFAULTED].concat();
    format!("Missing execution provenance for 'memory': {}", fields.join(", "))
}

/// Returns values of the fields with a default.
fn defaulted() -> Map<String, Value> {
    let values = [json!(false), json!(1_700_000_000)];
    DEFAULTED.map(String::from).into_iter().zip(values).collect()
}

fn all() -> Map<String, Value> {
    let all = NEEDED.iter().map(|(name, value, _)| ((*name).to_owned(), (*value).into()));
    all.chain(defaulted()).collect()
}

fn names() -> Vec<&'static str> {
    NEEDED.iter().map(|(name, ..)| *name).collect()
}

/// Returns the provenance in the last entry of the log.
fn last_provenance(data: &Data) -> Value {
    let export = data.checked();
    export.changes.last().expect("a change")["details"]["provenance"].clone()
}

fn over_http(data: &Data, arguments: &[&str]) -> (http::Server, Server) {
    let served = data.serve_http(arguments);
    let target = served.connect();
    (served, Server { target })
}

#[test]
fn strict_takes_only_what_is_said() {
    let data = Data::new();
    let mut server = Server::start(data.command().args(["--provenance", "strict"]));
    let refusal = store(&mut server, json!({})).expect_err("nothing is said");
    assert_eq!(refusal.message, missing(&names()));
    let all_names = [&names()[..], &DEFAULTED].concat();
    let hint = refusal.data["hint"].as_str().unwrap_or_default();
    assert!(refusal.code == -32602 && hint.contains("--provenance discover"), "{refusal:?}");
    assert_eq!(refusal.data["missing"], json!(all_names));
    // Neither a default nor the time of the call replaces a client's value.
    for (field, value, expected) in [
        ("delegated", json!("perhaps"), "`delegated` must be true or false"),
        ("is_delegated", json!(7), "`is_delegated` must be true or false"),
        ("timestamp", json!("yesterday"), "`timestamp` must be an integer"),
        ("model", json!(["m-2"]), "`model` must be a text"),
    ] {
        let mut said = all();
        said.shift_remove(if field == "model" { "model_id" } else { field });
        if field == "is_delegated" {
            said.shift_remove("delegated");
        }
        said.insert(field.into(), value);
        let refusal = store(&mut server, said.into()).expect_err("it is of another type");
        assert_eq!((&*refusal.message, &refusal.data["rule"]), (expected, &json!("provenance")));
    }
    assert!(data.checked().changes.iter().all(|change| change["tool"] != "memory/store-observation"));
    store(&mut server, all().into()).expect("all is said");
    let kept = last_provenance(&data);
    for (name, value, _) in NEEDED {
        assert_eq!(kept[name], value, "{name}");
    }
    assert_eq!((&kept["delegated"], &kept["discovered"]), (&json!(false), &json!([])));
    assert_eq!(kept["timestamp"], 1_700_000_000);
    server.close();
}

#[test]
fn over_stdio_what_is_not_said_is_discovered_and_marked() {
    let data = Data::new();
    for arguments in [&[][..], &["--provenance", "discover"]] {
        let mut server = Server::start(data.command().args(arguments));
        store(&mut server, json!({ "model_id": "m-2" })).expect("the rest is discovered");
        let kept = last_provenance(&data);
        let discovered: Vec<_> = names().into_iter().filter(|name| *name != "model_id").collect();
        assert_eq!(kept["discovered"], json!(discovered), "{arguments:?}");
        assert_eq!(kept["model_id"], "m-2");
        assert!(discovered.iter().all(|name| kept[*name].is_string()), "{kept}");
        server.close();
    }
}

#[test]
fn code_is_found_after_a_remote_has_changed_the_discovered_project() {
    let data = Data::new();
    let shop = data.beside("shop");
    fs::create_dir(&shop).expect("a folder");
    fs::write(shop.join("a.rs"), "fn total() {}\n").expect("a file");
    let git = |arguments: &[&str]| {
        let status = Command::new("git").arg("-C").arg(&shop).args(arguments).status();
        assert!(status.expect("git").success());
    };
    let call = |tool: &str, arguments: Value| {
        let mut server = Server::start(data.command().current_dir(&shop));
        let mut asked =
            |tool: &str, arguments| server.call_with(tool, arguments, json!({})).expect("an answer").response;
        let answer = asked(tool, arguments);
        while asked("index", json!({ "action": "status" })).to_string().contains("\"indexing\"") {
            thread::sleep(Duration::from_millis(10));
        }
        server.close();
        answer
    };
    let project = || {
        let rows = data.checked().rows;
        let collection = rows.iter().find(|(entity, _)| entity == "collection");
        collection.expect("a collection").1["project_id"].clone()
    };
    git(&["init", "-q"]);
    call("index", json!({ "action": "start", "path": "." }));
    assert_eq!(project(), "shop");
    git(&["remote", "add", "origin", "git@example.org:ada/shop.git"]);
    for _ in 0..2 {
        let status = call("index", json!({ "action": "status" }));
        assert_eq!(status["collections"][0]["collection"], "shop", "{status}");
        call("search", json!({ "resource": "code", "query": "total", "collection": "shop" }));
        call("index", json!({ "action": "start", "path": ".", "collection": "shop" }));
        assert_eq!(project(), "ada/shop");
    }
    call("index", json!({ "action": "clear", "collection": "shop" }));
}

#[test]
fn over_http_strict_is_the_default_and_headers_are_read() {
    let data = Data::new();
    let (served, mut server) = over_http(&data, &[]);
    let refusal = store(&mut server, json!({})).expect_err("nothing is said");
    assert_eq!(refusal.message, missing(&names()));
    let headers = NEEDED.map(|(_, value, header)| (header.to_owned(), value.to_owned()));
    server.target.set_headers(headers.to_vec());
    // `_meta` takes precedence over a header.
    let mut said = defaulted();
    said.insert("tabellion/provenance".into(), json!({ "model": "m-3" }));
    store(&mut server, said.into()).expect("all is said");
    let found = last_provenance(&data);
    for (name, value, _) in NEEDED {
        let expected = if name == "model_id" { "m-3" } else { value };
        assert_eq!(found[name], expected, "{name}");
    }
    drop(server);
    assert_eq!(served.terminate(), Some(0));
    let (served, mut server) = over_http(&data, &["--provenance", "discover"]);
    store(&mut server, json!({})).expect("it is discovered");
    assert_eq!(last_provenance(&data)["discovered"], json!(names()));
    drop(server);
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn what_is_configured_counts_after_what_is_said_and_a_wrong_file_stops_the_start() {
    let data = Data::new();
    let folder = data.folder();
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(".mcp-context.toml");
    let strict = ["--provenance", "strict"];
    fs::write(&file, "[provenance]\nproject_id = \"configured\"\nmodel_id = \"m-9\"\n").expect("a file");
    let mut server = Server::start(data.command().args(strict));
    let refusal = store(&mut server, json!({})).expect_err("the rest is missing");
    let rest: Vec<_> =
        names().into_iter().filter(|name| !matches!(*name, "project_id" | "model_id")).collect();
    assert_eq!(refusal.message, missing(&rest));
    let mut said = all();
    said.shift_remove("project_id");
    store(&mut server, said.into()).expect("all is said or configured");
    let kept = last_provenance(&data);
    assert_eq!((&kept["project_id"], &kept["model_id"]), (&json!("configured"), &json!("m-2")));
    server.close();
    for (text, expected) in [
        ("[provenance]\nmodel_id = 7\n", "`model_id` in `[provenance]`"),
        ("[provenance]\ncolour = \"red\"\n", "`colour` in `[provenance]`"),
        ("[provenance\n", "is not TOML"),
    ] {
        fs::write(&file, text).expect("a file");
        let (code, _, said) = ended(data.command().args(strict));
        assert_ne!(code, Some(0), "{text}");
        assert!(said.contains(expected) && said.contains(".mcp-context.toml"), "{said}");
    }
}

#[test]
fn a_later_call_has_the_session_of_the_first_and_another_session_has_nothing_of_it() {
    let data = Data::new();
    let mut server = Server::start(data.command().args(["--provenance", "strict"]));
    store(&mut server, all().into()).expect("all is said");
    // Person, machine, program and model are not bound to a connection.
    let unbound = ["operator_id", "machine_id", "agent_program", "model_id"];
    let refusal = store(&mut server, json!({})).expect_err("some are missing");
    assert_eq!(refusal.message, missing(&unbound));
    let refusal = store(&mut server, json!({ "session_id": "s-18" })).expect_err("most are missing");
    assert_eq!(refusal.message, missing(&names()[1..]));
    let mut rest = defaulted();
    for name in unbound {
        rest.insert(name.to_owned(), "later".into());
    }
    store(&mut server, rest.into()).expect("the rest is bound");
    let kept = last_provenance(&data);
    assert_eq!((&kept["session_id"], &kept["model_id"]), (&json!("s-17"), &json!("later")));
    server.close();
}
