//! Several processes on one data folder, and processes that are killed.

use std::{
    collections::BTreeSet,
    fs,
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Data, create_team, entity};
use crate::support::{ended, exited, process};

/// Number of clients, each with its own server.
const CLIENTS: usize = 4;

#[test]
fn changes_of_several_processes_are_all_there_once() {
    let data = Data::new();
    data.serve().close();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let data = &data;
            scope.spawn(move || {
                let mut server = data.serve();
                for number in 0..25 {
                    create_team(&mut server, &format!("{client}-{number}")).expect("made");
                }
                server.close();
            });
        }
    });
    let export = data.checked();
    assert_eq!(export.teams().len(), CLIENTS * 25);
    let places: Vec<_> = export.changes.iter().map(|change| change["seq"].as_u64()).collect();
    let expected = 1..=places.len() as u64;
    assert_eq!(places, expected.map(Some).collect::<Vec<_>>(), "the log has no gap");
}

/// Servers that start at once on a folder that does not exist yet.
#[test]
fn the_first_starts_may_be_at_once() {
    for _ in 0..5 {
        let data = Data::new();
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let data = &data;
                scope.spawn(move || {
                    let mut server = data.serve();
                    create_team(&mut server, &client.to_string()).expect("made");
                    server.close();
                });
            }
        });
        let export = data.checked();
        assert_eq!(export.teams().len(), CLIENTS);
        let seeds = export.changes.iter().filter(|change| change["tool"] == "seed");
        assert_eq!(seeds.count(), 1);
    }
}

/// Each server makes a change and ends; then the data file is copied alone.
#[test]
fn an_orderly_end_leaves_a_file_that_is_whole_alone() {
    let data = Data::new();
    let mut expected = BTreeSet::new();
    for round in 0..6 {
        let name = format!("team {round}");
        let mut server = data.serve();
        create_team(&mut server, &name).expect("made");
        expected.insert(name);
        if round % 2 == 0 {
            server.close();
        } else {
            let id = Pid::from_raw(process(&server.target) as i32).expect("a process");
            kill_process(id, Signal::TERM).expect("asked to end");
            assert!(exited(server.target).success(), "asked to end, it ends as otherwise");
        }
        let copy = Data::new();
        fs::create_dir(copy.folder()).expect("a folder");
        fs::copy(data.file(), copy.file()).expect("copied");
        let found = copy.checked();
        let expected = expected.iter().map(String::as_str);
        assert_eq!(found.teams(), expected.collect(), "round {round}");
    }
}

/// A killed server leaves changes in SQLite's log. If it is removed, the server does not continue as if they had never been made.
#[test]
fn changes_that_are_missing_are_told() {
    let (lost, alone) = ("change 4 was acknowledged", "was copied while it was in use");
    for (removed, expected) in [(&["db-wal"][..], lost), (&["db-wal", "mark"], alone)] {
        let data = Data::new();
        let mut server = data.serve();
        for name in ["a", "b", "c"] {
            create_team(&mut server, name).expect("made");
        }
        let id = Pid::from_raw(process(&server.target) as i32).expect("a process");
        kill_process(id, Signal::KILL).expect("killed");
        drop(server);
        for extension in removed {
            fs::remove_file(data.file().with_extension(extension)).expect("removed");
        }
        for command in ["check", "export"] {
            let (code, _, said) = data.upkeep(&[command]);
            assert!(code == Some(1) && said.contains(expected), "{said}");
        }
        let (code, _, said) = ended(&mut data.command());
        assert!(code == Some(1) && said.contains(expected), "{said}");
        let (code, out, said) = data.upkeep(&["recover"]);
        assert!(code == Some(0) && out.contains("later entries are lost"), "{out}{said}");
        data.serve().close();
        data.checked();
    }
}

/// Changes that a killed server acknowledged are there; unacknowledged ones are there once or not at all.
#[test]
fn what_a_killed_server_acknowledged_stays() {
    let data = Data::new();
    data.serve().close();
    let acknowledged = Mutex::new(vec![]);
    for round in 0..8 {
        thread::scope(|scope| {
            for client in 0..2 {
                let (data, acknowledged) = (&data, &acknowledged);
                scope.spawn(move || {
                    let mut server = data.serve();
                    let id = Pid::from_raw(process(&server.target) as i32).expect("a process");
                    // Killed some time after its first answer.
                    let (answered, first) = mpsc::channel();
                    let killer = thread::spawn(move || {
                        first.recv().expect("an answer");
                        thread::sleep(Duration::from_millis(3 * round));
                        kill_process(id, Signal::KILL).expect("killed");
                    });
                    for number in 0.. {
                        let name = format!("{round}-{client}-{number}");
                        let create =
                            json!({ "action": "create", "resource": "team", "data": { "name": name } });
                        let answer = server.target.call("entity", create, Default::default());
                        match answer {
                            Ok(answer)
                                if answer["result"]["isError"] != true && answer.get("error").is_none() =>
                            {
                                acknowledged.lock().expect("no panic").push(name);
                                // The killer needs one message.
                                let _ = answered.send(());
                            }
                            Ok(answer) => panic!("{answer}"),
                            Err(_) => break,
                        }
                    }
                    killer.join().expect("it killed");
                });
            }
        });
        let export = data.checked();
        let teams = export.teams();
        let acknowledged = acknowledged.lock().expect("no panic");
        let lost: Vec<_> = acknowledged.iter().filter(|name| !teams.contains(name.as_str())).collect();
        assert!(lost.is_empty(), "{lost:?}");
        assert!(teams.len() <= acknowledged.len() + 2 * (round as usize + 1), "{}", teams.len());
    }
    assert!(!acknowledged.into_inner().expect("no panic").is_empty());
    let mut server = data.serve();
    entity(&mut server, "list", "team", json!({})).expect("a list");
    server.close();
}
