//! A crash, a full disk and a failing disk at each system call by which rows, or the file that has them, change.
//!
//! After each fault, the tables are as before or as after the change, and are what replaying the log gives; an acknowledged change
//! is there, and a refused one is not. The same call with the same idempotency key then leads to the one change. A command that was
//! interrupted does the rest when it is run again.

mod cases;
mod sweep;

use tabellion_conformance::stepper::{Call, Counting, Fault, OUTPUT};

use self::{
    cases::Work,
    sweep::{Sweep, sweeps},
};
use super::{
    Effort,
    faults::{EFFECTS, Report, at_once},
};

/// Upper bound of the system calls of a start.
const MAX_START_CALLS: usize = 60;

#[test]
fn a_fault_at_any_point_keeps_rows_whole() {
    let Some(sweeps) = sweeps(|_| true) else { return };
    let effort = Effort::from_environment();
    let longest = sweeps.iter().map(|sweep| sweep.points).max().unwrap_or_default();
    let all = (1..=longest).flat_map(|at| sweeps.iter().map(move |sweep| (sweep, at)));
    let all = all.flat_map(|(sweep, at)| EFFECTS.map(|effect| (sweep, Fault { at, effect })));
    let some = (0..).zip(&sweeps).map(|(number, sweep)| {
        let at = 1 + effort.chance(number, sweep.points as u64) as usize;
        let effect = EFFECTS[number as usize % EFFECTS.len()];
        (sweep, Fault { at, effect })
    });
    let points: Vec<_> = effort.pick(some.collect(), effort.shuffled(all.collect()));
    let report = Report::new("change of rows");
    at_once(points, |(sweep, fault)| {
        if !effort.is_over()
            && let Some(struck) = sweep.strike(fault)
        {
            let calls = struck.calls.clone();
            report.add(sweep.case.name, fault, &calls, sweep.judge(struck));
        }
    });
    report.finish(effort);
}

/// The start after a kill makes up for what the kill left: it must bear a fault of its own.
#[test]
fn a_fault_at_any_point_of_the_start_after_a_kill_keeps_rows_whole() {
    let Some(sweeps) = sweeps(|case| case.work == Work::Call) else {
        return;
    };
    let effort = Effort::from_environment();
    let kills = sweeps
        .iter()
        .flat_map(|sweep| (1..=sweep.points).map(move |at| (sweep, at)));
    let kills: Vec<_> = kills.collect();
    let all = (1..MAX_START_CALLS).flat_map(|at| kills.iter().map(move |kill| (kill, at)));
    let all = all.flat_map(|(kill, at)| EFFECTS.map(|effect| (kill, Fault { at, effect })));
    let some = (0..4).map(|number| {
        let kill = &kills[effort.chance(number, kills.len() as u64) as usize];
        let at = 1 + effort.chance(number + 10, 8) as usize;
        let effect = EFFECTS[number as usize % EFFECTS.len()];
        (kill, Fault { at, effect })
    });
    let points: Vec<_> = effort.pick(some.collect(), effort.shuffled(all.collect()));
    let report = Report::new("start after a kill");
    at_once(points, |((sweep, killed), fault)| {
        if !effort.is_over()
            && let Some(struck) = sweep.strike_start(*killed, fault)
        {
            let calls = struck.calls.clone();
            report.add(sweep.case.name, fault, &calls, sweep.judge(struck));
        }
    });
    report.finish(effort);
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
        sweep::call(&mut server, &case.call)
            .expect("an answer")
            .expect("made");
        let calls = stepper.disarm();
        let answered = calls
            .iter()
            .position(|call| call.name == OUTPUT)
            .expect("an answer");
        let unsynced = unsynced(&calls[..answered]);
        assert!(unsynced.is_empty(), "{}: {unsynced:?} in {calls:#?}", case.name);
        let written = calls[..answered].iter().any(is_write);
        assert!(written, "{}: {calls:#?}", case.name);
    }
}

fn is_write(call: &Call) -> bool {
    call.name.contains("write")
}

/// Returns the files that were written and not synced afterwards. SQLite's index of its log is made anew from the log.
fn unsynced(calls: &[Call]) -> Vec<String> {
    let mut unsynced = vec![];
    for call in calls {
        let paths = call.paths.iter().map(|path| path.to_string_lossy().into_owned());
        if is_write(call) {
            unsynced.extend(paths.filter(|path| !path.ends_with("-shm")));
        } else if call.name.ends_with("sync") {
            let synced: Vec<_> = paths.collect();
            unsynced.retain(|path| !synced.contains(path));
        }
    }
    unsynced
}
