//! A crash, a full disk and a failing disk at each system call by which rows, or the file that has them, change.
//!
//! After each fault, the tables are as before or as after the change, and equal the replay of the log; an acknowledged change is
//! there, and a refused one is not. The same call with the same idempotency key then leads to the one change. An interrupted
//! command does the rest when it is run again.

mod batch;
mod cases;
mod sweep;

use std::{collections::BTreeMap, sync::Mutex};

use tabellion_conformance::stepper::{Call, Counting, Fault, OUTPUT};

use self::{
    cases::Work,
    sweep::{Crash, Sweep, sweeps},
};
use super::{
    Effort,
    faults::{at_once, each_of, try_points},
};

#[test]
fn a_fault_at_any_point_keeps_rows_whole() {
    let Some(sweeps) = sweeps(|_| true) else { return };
    let effort = Effort::from_environment();
    let all = sweeps.iter().flat_map(|sweep| each_of(&sweep.calls).map(move |fault| (sweep, fault)));
    let some = (0..).zip(&sweeps).map(|(number, sweep)| (sweep, one_fault(effort, number, &sweep.calls)));
    try_points("change of rows", effort, effort.choose(some, all), |(sweep, fault)| {
        Some(sweep.tried(fault, sweep.strike(fault)?))
    });
}

/// The start after a kill completes or undoes the interrupted change: it must also survive a fault.
#[test]
fn a_fault_at_any_point_of_the_start_after_a_kill_keeps_rows_whole() {
    let Some(sweeps) = sweeps(|case| case.work == Work::Call) else {
        return;
    };
    let effort = Effort::from_environment();
    let kills = sweeps.iter().flat_map(|sweep| (1..=sweep.calls.len()).map(move |at| (sweep, at)));
    let kills: Vec<_> = kills.collect();
    let some = (0..4).map(|number| kills[effort.chance(number, kills.len() as u64) as usize]);
    // Crashes count as one if the next server's calls after them are the same.
    let crashes = Mutex::new(BTreeMap::new());
    at_once(effort.choose(some, kills.iter().copied()), |(sweep, at)| {
        if let Some(crash) = sweep.crash(at) {
            crashes.lock().expect("no panic").entry(crash.kind()).or_insert(crash);
        }
    });
    let crashes: Vec<Crash<'_>> = crashes.into_inner().expect("no panic").into_values().collect();
    let all = crashes.iter().flat_map(|crash| each_of(&crash.calls).map(move |fault| (crash, fault)));
    let some = (10..).zip(&crashes).map(|(number, crash)| (crash, one_fault(effort, number, &crash.calls)));
    let points = effort.choose(some, all);
    // Making the crashes takes long, and does not count in the time for the points.
    let effort = Effort::from_environment();
    try_points("start after a kill", effort, points, |(crash, fault)| {
        Some(crash.sweep.tried(fault, crash.strike(fault)?))
    });
}

fn one_fault(effort: Effort, number: u64, calls: &[Call]) -> Fault {
    let all: Vec<_> = each_of(calls).collect();
    all[effort.chance(number, all.len() as u64) as usize]
}

/// Between the last write to a file of the data and the answer, that file is synced.
#[test]
fn a_change_is_synced_before_it_is_answered() {
    let Some(sweeps) = sweeps(|case| case.work == Work::Call) else {
        return;
    };
    for Sweep { case, template, .. } in &sweeps {
        let data = template.copy();
        let (server, stepper) = sweep::step(&data, Counting::WhenArmed).expect("it was possible before");
        let mut server = server.expect("a handshake");
        stepper.record_with_output();
        sweep::call(&mut server, &case.call).expect("an answer").expect("made");
        let calls = stepper.disarm();
        let answered = calls.iter().position(|call| call.name == OUTPUT).expect("an answer");
        let unsynced = unsynced(&calls[..answered]);
        assert!(unsynced.is_empty(), "{}: {unsynced:?} in {calls:#?}", case.name);
        let written = calls[..answered].iter().any(is_write);
        assert!(written, "{}: {calls:#?}", case.name);
    }
}

fn is_write(call: &Call) -> bool {
    call.name.contains("write")
}

/// Returns the files that were written and not synced afterwards. SQLite's index of its log is made anew from the log, and the mark is
/// only a lower bound of the data's end.
fn unsynced(calls: &[Call]) -> Vec<String> {
    let mut unsynced = vec![];
    for call in calls {
        let paths = call.paths.iter().map(|path| path.to_string_lossy().into_owned());
        if is_write(call) {
            unsynced.extend(paths.filter(|path| !path.ends_with("-shm") && !path.ends_with(".mark")));
        } else if call.name.ends_with("sync") {
            let synced: Vec<_> = paths.collect();
            unsynced.retain(|path| !synced.contains(path));
        }
    }
    unsynced
}
