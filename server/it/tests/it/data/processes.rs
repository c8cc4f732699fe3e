//! Several processes on one data folder, and the files that remain when they end.

use std::{collections::BTreeSet, fs, thread};

use rustix::process::{Pid, Signal, kill_process};

use super::{Data, create_team};
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
