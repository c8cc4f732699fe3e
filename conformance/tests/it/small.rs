//! The checks of the contracts that have no zoo: the small server of each passes them, and each way to break it is seen by
//! the check that is named for it.

use std::{path::Path, sync::Mutex, thread};

use tabellion_conformance::{
    reference::small::{self, Break, by_contract},
    report::{Verdict, progress::Silent},
    run::{self, Options},
    subject::Era,
};

const FAMILIES: [&str; 6] = [
    "append",
    "approval",
    "policy",
    "outline",
    "undo",
    "mutation/recorded",
];

/// What came of these checks: id, verdict and reason.
fn verdicts(contract: &str, broken: Option<&Break>, only: &[&str]) -> Vec<(String, Verdict, String)> {
    let program = Path::new(env!("CARGO_BIN_EXE_tabellion-reference"));
    let subject = small::subject(program, contract, broken);
    let options = Options {
        only: only.iter().map(ToString::to_string).collect(),
        eras: vec![Era::Stateless],
        jobs: 2,
        verdicts_alone: true,
        ..Options::default()
    };
    let report = run::run(&subject, &options, &Silent);
    let checks = report.checks.into_iter();
    checks
        .map(|check| (check.id, check.verdict, check.reason.unwrap_or_default()))
        .collect()
}

#[test]
fn the_small_servers_are_right() {
    for contract in by_contract().into_keys() {
        let found = verdicts(contract, None, &FAMILIES);
        let wrong: Vec<_> = found
            .iter()
            .filter(|(_, verdict, _)| !matches!(verdict, Verdict::Pass | Verdict::NotApplicable))
            .collect();
        assert!(wrong.is_empty(), "{contract}: {wrong:#?}");
        assert!(
            found
                .iter()
                .filter(|(_, verdict, _)| *verdict == Verdict::Pass)
                .count()
                >= 13
        );
    }
}

#[test]
fn every_way_to_break_them_is_seen() {
    let left = Mutex::new(small::breaks().collect::<Vec<_>>());
    let missed = Mutex::new(Vec::new());
    let next = || left.lock().unwrap().pop();
    let work = || {
        while let Some(it) = next() {
            let found = verdicts(it.contract, Some(it), &[it.seen_by]);
            if !matches!(&found[..], [(_, Verdict::Fail, _)]) {
                missed.lock().unwrap().push(format!("{}: {found:?}", it.name));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "{missed:#?}");
}
