//! A crash, a full disk and a failing disk at each system call by which a run of the index of code changes a file.
//!
//! After each fault, an acknowledged run is ended by the same server or by the next one, or the status has the reason of its failure and
//! another run ends: each file is found once, no removed file is found, and the status counts the files. Failures were reported: in an
//! answer, in the status or in the log.

mod sweep;
mod workspace;

use tabellion_conformance::stepper::Fault;

use self::sweep::Sweep;
use super::{
    Effort,
    faults::{Tried, each_of, try_points},
};

/// Number of points of a case in the short form.
const SAMPLES: u64 = 6;

/// The files to index.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    /// True if the files are those of two branches, not of the folder.
    of_branches: bool,
    /// True if the collection has other files before.
    is_again: bool,
}

const CASES: [Case; 4] = [
    Case { name: "first run", of_branches: false, is_again: false },
    Case { name: "run after changes", of_branches: false, is_again: true },
    Case { name: "first run over branches", of_branches: true, is_again: false },
    Case { name: "run after branches moved", of_branches: true, is_again: true },
];

#[test]
fn a_fault_at_any_point_of_a_run_loses_no_file() {
    let Some(sweeps) = CASES.into_iter().map(Sweep::new).collect::<Option<Vec<_>>>() else {
        return;
    };
    let effort = Effort::from_environment();
    let all = sweeps.iter().flat_map(|sweep| each_of(&sweep.calls).map(move |fault| (sweep, fault)));
    let all: Vec<_> = all.collect();
    let sampled = || {
        let of =
            |sweep: &Sweep| all.iter().copied().filter(|(it, _)| it.case.name == sweep.case.name).collect();
        let by_case = sweeps.iter().map(of);
        let mut some = vec![];
        for (number, points) in (0..).zip(by_case) {
            let points: Vec<(&Sweep, Fault)> = points;
            let chosen = (0..SAMPLES).map(|at| effort.chance(SAMPLES * number + at, points.len() as u64));
            some.extend(chosen.map(|at| points[at as usize]));
        }
        some
    };
    try_points("run of the index", effort, effort.choose(sampled(), all.clone()), |(sweep, fault)| {
        let (calls, problems) = sweep.strike(fault)?;
        Some(Tried { case: sweep.case.name, fault, calls, problems })
    });
}
