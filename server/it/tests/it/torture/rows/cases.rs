//! The changes of rows, and the work on their file, that are interrupted at each of their points.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    data::{Data, entity},
    support::process,
};

/// The work that is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// The case's call, to a server that runs already.
    Call,
    /// The start of a server, and then the call.
    Start,
    /// A command of `tabellion data`, which is repeated after the fault.
    Command(&'static str),
}

/// A change or command to interrupt.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Makes the data as they are before.
    pub(super) prepare: fn(&Data),
    pub(super) work: Work,
    /// Arguments of the call, which names all its ids.
    pub(super) call: Value,
}

pub(super) fn all() -> Vec<Case> {
    let team = json!({ "action": "create", "resource": "team", "data": { "id": "new", "name": "new" } });
    let call = |action: &str, resource: &str, more: Value| {
        let mut arguments = json!({ "action": action, "resource": resource });
        let members = arguments.as_object_mut().expect("an object");
        members.extend(more.as_object().cloned().unwrap_or_default());
        arguments
    };
    let case = |name, work, prepare: fn(&Data), call| Case { name, prepare, work, call };
    let large = json!({ "text": "x".repeat(60_000) }).to_string();
    vec![
        case("insert", Work::Call, people, team.clone()),
        case(
            "insert of many pages",
            Work::Call,
            people,
            call("create", "org", json!({ "data": { "id": "new", "name": "new", "settings_json": large } })),
        ),
        case(
            "insert of a secret",
            Work::Call,
            people,
            call(
                "create",
                "api_key",
                json!({ "data": { "id": "new", "user_id": "user_default", "name": "new" } }),
            ),
        ),
        case(
            "patch",
            Work::Call,
            people,
            call("update", "team", json!({ "id": "core", "data": { "name": "new" } })),
        ),
        case("cascade", Work::Call, people, call("delete", "team", json!({ "id": "core" }))),
        case("insert with a checkpoint", Work::Call, with_log_of_writes, team.clone()),
        case("first start", Work::Start, |_| (), team.clone()),
        case("start after a kill", Work::Start, with_log_of_writes, team.clone()),
        case("migration at the start", Work::Start, of_fewer_fields, team.clone()),
        case("migrate", Work::Command("migrate"), of_more_fields, team.clone()),
        case("recover", Work::Command("recover"), damaged, team.clone()),
        case("import", Work::Command("import"), exported, team),
    ]
}

fn people(data: &Data) {
    let mut server = data.serve();
    let mut make = |resource: &str, row: Value| {
        entity(&mut server, "create", resource, json!({ "data": row })).expect("made");
    };
    make("team", json!({ "id": "core", "name": "Core" }));
    for id in ["a", "b"] {
        make("user", json!({ "id": id, "email": format!("{id}@example.org"), "display_name": id }));
        make("team_member", json!({ "team_id": "core", "user_id": id }));
    }
    server.close();
}

/// Leaves a log of writes so long that the next change moves it into the file.
fn with_log_of_writes(data: &Data) {
    people(data);
    let mut server = data.serve();
    let settings = json!({ "text": "x".repeat(60_000) }).to_string();
    for number in 0..28 {
        let row =
            json!({ "id": format!("o{number}"), "name": number.to_string(), "settings_json": settings });
        entity(&mut server, "create", "org", json!({ "data": row })).expect("made");
    }
    let id = Pid::from_raw(process(&server.target) as i32).expect("a process");
    kill_process(id, Signal::KILL).expect("killed");
    drop(server);
}

/// Data of an older contract, which lacked a field.
fn of_fewer_fields(data: &Data) {
    people(data);
    data.tamper(
        "UPDATE meta SET value = '0.0.1' WHERE name = 'version';
         UPDATE meta SET value = json_remove(value, '$.repository.columns.url') WHERE name = 'layout';
         ALTER TABLE repositories DROP COLUMN url",
    );
}

/// Data of an older contract, which had an additional field.
fn of_more_fields(data: &Data) {
    people(data);
    data.tamper(
        "UPDATE meta SET value = '0.0.1' WHERE name = 'version';
         UPDATE meta SET value = json_set(value, '$.team.columns.motto', json('{\"kind\":\"text\",\"required\":false}'))
         WHERE name = 'layout';
         ALTER TABLE teams ADD COLUMN motto TEXT",
    );
}

fn damaged(data: &Data) {
    people(data);
    data.damage("teams");
}

/// Name of the file that is imported.
pub(super) const EXPORT: &str = "export.jsonl";

/// Leaves an export alone, which is to be imported.
fn exported(data: &Data) {
    people(data);
    let (code, lines, said) = data.upkeep(&["export"]);
    assert_eq!(code, Some(0), "{said}");
    for entry in fs::read_dir(data.folder()).expect("a folder").flatten() {
        fs::remove_file(entry.path()).expect("removed");
    }
    fs::write(data.folder().join(EXPORT), lines).expect("written");
}
