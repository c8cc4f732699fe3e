//! Three calls at once, whose commits are one transaction and one pack: after a fault at any of its points, each is made as a whole or not
//! at all, no acknowledged call is lost, and no refused one is there.
//!
//! The same holds while such packs are gathered: then no commit is lost, and the next server gathers them.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::{
    ledger,
    stepper::{Call, Counting, Effect, Fault, Stepper},
};

use super::{
    Effort, cases,
    faults::{self, MountedLibrary, Tried, try_points},
    history, judge,
};
use crate::support::{Answer, Library, Outcome, Refusal, Server, outcome};

pub(super) const CALLERS: usize = 3;
/// Maximum number of times that the calls are made until they share a transaction.
const ATTEMPTS: usize = 10;

/// The outcomes of three calls; `None` without an answer.
pub(super) type Answers = [Option<Outcome<Answer>>; CALLERS];

/// Makes the calls of a tool with these arguments, all in one write. Their idempotency keys are `key-0`, `key-1` and `key-2`.
pub(super) fn call(server: &mut Server, tool: &str, arguments: [Value; CALLERS]) -> Answers {
    call_with_keys(server, "key", tool, arguments)
}

/// As [`call`], with idempotency keys that begin with `prefix`.
fn call_with_keys(server: &mut Server, prefix: &str, tool: &str, arguments: [Value; CALLERS]) -> Answers {
    let lines = arguments.into_iter().enumerate().map(|(caller, arguments)| {
        let meta = json!({ "tabellion/idempotencyKey": format!("{prefix}-{caller}") });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": 100 + caller, "method": "tools/call", "params": params }).to_string()
    });
    let lines: Vec<_> = lines.collect();
    let mut answers = Answers::default();
    if server.target.send(lines.join("\n")).is_err() {
        return answers;
    }
    while answers.iter().any(Option::is_none)
        && let Ok(message) = server.target.receive()
    {
        let caller = message["id"].as_u64().and_then(|id| usize::try_from(id).ok()?.checked_sub(100));
        if let Some(answer) = caller.and_then(|caller| answers.get_mut(caller)) {
            *answer = Some(outcome(&message));
        }
    }
    answers
}

/// The result of a fault in three calls at once, on a library or on rows.
pub(super) struct Struck<S> {
    pub(super) store: S,
    pub(super) answers: Answers,
    pub(super) calls: Vec<Call>,
}

impl<S> Struck<S> {
    /// Returns the problems of the answers, given for each call true if it was made. An error must be one of the disk.
    pub(super) fn problems(
        &self,
        made: [bool; CALLERS],
        is_of_disk: impl Fn(&Refusal) -> bool,
    ) -> Vec<String> {
        let is_once = self.calls.iter().any(|call| matches!(call.effect, Some(Effect::Fail(_))));
        let mut problems = vec![];
        for (caller, (answer, is_made)) in self.answers.iter().zip(made).enumerate() {
            match answer {
                Some(Ok(_)) if !is_made => problems.push(format!("{caller} was acknowledged, and is gone")),
                Some(Err(refusal)) if !is_of_disk(refusal) => {
                    problems.push(format!("{caller} has a wrong error: {refusal:?}"));
                }
                Some(Err(refusal)) if is_made && is_once => {
                    problems.push(format!("{caller} was refused, and made: {refusal:?}"));
                }
                _ => {}
            }
        }
        problems
    }
}

/// Returns the problems of the answers to the same calls again, given for each call true if it had been made.
pub(super) fn problems_of_repetition(answers: Answers, made: [bool; CALLERS]) -> Vec<String> {
    let mut problems = vec![];
    for (caller, (answer, is_made)) in answers.into_iter().zip(made).enumerate() {
        match answer {
            Some(Ok(answer)) => {
                let is_replayed = answer.meta.get("tabellion/replayed") == Some(&json!(true));
                if is_replayed != is_made {
                    problems.push(format!("{caller} again was replayed: {is_replayed}, of {is_made}"));
                }
            }
            other => problems.push(format!("{caller} again: {other:?}")),
        }
    }
    problems
}

/// Tries faults of three calls at once. `strike` makes the calls under the stepper; it returns `None`, with a message, if that is not
/// possible. `first` returns the number of the first system call to try; `None` if the calls do not share a transaction.
pub(super) fn sweep<S>(
    what: &str,
    strike: impl Fn(Option<Fault>) -> Option<Struck<S>> + Sync,
    first: impl Fn(&[Call]) -> Option<usize>,
    judge: impl Fn(&Struck<S>) -> Vec<String> + Sync,
) {
    // Without another change at the same time, a call is published alone: then the calls are repeated.
    let undisturbed = (0..ATTEMPTS)
        .map(|_| strike(None))
        .find(|struck| struck.as_ref().is_none_or(|struck| first(&struck.calls).is_some()));
    let Some(undisturbed) = undisturbed.expect("calls that share a transaction") else {
        return;
    };
    assert!(undisturbed.answers.iter().all(|answer| matches!(answer, Some(Ok(_)))));
    let first = first(&undisturbed.calls).expect("found above");
    let effort = Effort::from_environment();
    let all: Vec<_> = faults::each_of(&undisturbed.calls).filter(|fault| fault.at >= first).collect();
    let some = (0..3).map(|number| all[effort.chance(number, all.len() as u64) as usize]);
    try_points(what, effort, effort.choose(some, all.iter().copied()), |fault| {
        // A batch that is divided differently may not reach the point.
        let is_struck = |struck: &Struck<S>| struck.calls.iter().any(|call| call.effect.is_some());
        let mut attempts = (0..ATTEMPTS).take_while(|_| !effort.is_over());
        let struck = attempts.find_map(|_| strike(Some(fault)).filter(is_struck))?;
        Some(Tried { case: "three at once", fault, problems: judge(&struck), calls: struck.calls })
    });
}

fn path(caller: usize) -> String {
    format!("x/{caller}/new.md")
}

fn write(server: &mut Server) -> Answers {
    let arguments = |caller| json!({ "path": path(caller), "content": format!("{caller}\n") });
    call(server, "write_markdown", std::array::from_fn(arguments))
}

/// Returns the number of transactions: each moves the branch.
fn transactions(calls: &[Call]) -> usize {
    let moves = |call: &&Call| {
        call.name.starts_with("rename") && call.paths.iter().any(|path| path.ends_with("refs/heads/main"))
    };
    calls.iter().filter(moves).count()
}

/// Returns for each call true if it has its commit. Adds a problem if documents and commits disagree.
fn made(library: &MountedLibrary, problems: &mut Vec<String>) -> [bool; CALLERS] {
    let commits = history::commits(library.root(), &history::HERE);
    problems.extend(judge::faults_of_library(library, &commits));
    let untracked = ledger::git(library.root(), &["status", "--porcelain", "x"]).expect("git status");
    if !untracked.is_empty() {
        problems.push(format!("not committed: {untracked}"));
    }
    std::array::from_fn(|caller| {
        let key = format!("key-{caller}");
        let of_key: Vec<_> = commits.iter().filter(|commit| history::key(commit) == Some(&*key)).collect();
        let is_whole = of_key.iter().all(|commit| commit.paths.iter().eq([&path(caller)]));
        let text = std::fs::read_to_string(library.path(&path(caller))).ok();
        if of_key.len() > 1 || !is_whole || text.is_some_and(|text| text != format!("{caller}\n")) {
            problems.push(format!("{caller} is not whole: {of_key:?}"));
        }
        !of_key.is_empty()
    })
}

/// Returns all problems after the fault.
fn judge(struck: &Struck<MountedLibrary>) -> Vec<String> {
    let library = &struck.store;
    let mut problems = vec![];
    let mut server = match faults::serve(library) {
        Ok(server) => server,
        Err(said) => return vec![format!("a new server does not start: {said}")],
    };
    let before = made(library, &mut problems);
    problems.extend(struck.problems(before, |refusal| refusal.name == "IO_ERROR"));
    problems.extend(problems_of_repetition(write(&mut server), before));
    server.close();
    if made(library, &mut problems) != [true; CALLERS] {
        problems.push("not all are there at the end".into());
    }
    problems
}

/// Tries faults of three calls at once, and of the work that they start, on a library that `prepare` has changed. `arm` arms the stepper;
/// `wait` waits for the end of that work.
fn sweep_libraries(
    what: &str,
    prepare: fn(&MountedLibrary),
    arm: fn(&Stepper, Option<Fault>),
    wait: fn(&Library, &Stepper),
    first: fn(&[Call]) -> Option<usize>,
    judge: fn(&Struck<MountedLibrary>) -> Vec<String>,
) {
    let case = cases::all().swap_remove(0);
    let template = MountedLibrary::empty(&case).expect("a library");
    (case.prepare)(&template);
    prepare(&template);
    let strike = |fault| {
        let library = MountedLibrary::copy_of(&template, &case);
        let (mut server, stepper) = faults::step(&library, Counting::WhenArmed)?;
        arm(&stepper, fault);
        let answers = server.as_mut().map(write).unwrap_or_default();
        wait(&library, &stepper);
        Some(Struck { answers, calls: stepper.disarm(), store: library })
    };
    sweep(what, strike, first, judge);
}

#[test]
fn a_fault_at_any_point_of_a_batch_keeps_each_of_its_commits_whole() {
    let is_one = |calls: &[Call]| (transactions(calls) == 1).then_some(1);
    sweep_libraries("batch of commits", |_| (), Stepper::arm, |_, _| (), is_one, judge);
}

/// Number of packs from which on they are gathered.
const MANY_PACKS: usize = 8;
/// The lock of the process that gathers.
const GATHERING: &str = ".git/tabellion/gathering.lock";

/// Returns true for files that gathering changes.
fn is_gathered(path: &Path) -> bool {
    path.starts_with(".git/objects/pack") || path.to_string_lossy().starts_with(".git/tabellion/gather")
}

/// Returns the names of files in the folder of packs with this extension, without the extension.
fn packs(library: &Library, extension: &str) -> BTreeSet<String> {
    let names = fs::read_dir(library.path(".git/objects/pack")).into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(extension).map(str::to_owned)).collect()
}

/// Makes batches of changes until `is_enough`.
fn make_packs(library: &Library, prefix: &str, is_enough: impl Fn(&Library) -> bool) {
    let mut server = library.serve();
    for round in 0.. {
        let arguments =
            |caller| json!({ "path": format!("{prefix}/{caller}/{round}.md"), "content": "text\n" });
        let prefix = format!("{prefix}-{round}");
        let answers = call_with_keys(&mut server, &prefix, "write_markdown", std::array::from_fn(arguments));
        assert!(answers.iter().all(|answer| matches!(answer, Some(Ok(_)))), "{answers:?}");
        if is_enough(library) {
            break;
        }
        assert!(round < 10 * MANY_PACKS, "packs: {:?}", packs(library, ".pack"));
    }
    server.close();
}

/// Waits until packs were gathered, or the fault has struck, and nothing is gathered any more.
fn wait_for_gathering(library: &Library, stepper: &Stepper) {
    let until = Instant::now() + Duration::from_secs(60);
    let has_ended =
        || stepper.has_struck() || stepper.status().is_some() || packs(library, ".pack").len() < MANY_PACKS;
    while !has_ended() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    if let Ok(lock) = File::open(library.path(GATHERING)) {
        lock.lock().expect("a lock");
    }
}

#[test]
fn a_fault_at_any_point_of_gathering_loses_no_commit() {
    sweep_libraries(
        "gathering",
        // The pack of the three calls is the first one too many.
        |library| make_packs(library, "before", |library| packs(library, ".pack").len() == MANY_PACKS - 1),
        // The log is read at the same time, by calls that would change the numbers of these.
        |stepper, fault| stepper.arm_for(fault, is_gathered),
        wait_for_gathering,
        |calls| {
            let is_gathering = |call: &Call| call.paths.iter().any(|path| path.ends_with(GATHERING));
            calls.iter().position(is_gathering).map(|index| index + 1)
        },
        |struck| {
            let mut problems = judge(struck);
            // Each server gathers after its first batch.
            make_packs(&struck.store, "after", |library| {
                let packs = [".pack", ".idx"].map(|extension| packs(library, extension));
                packs[0].len() < MANY_PACKS && packs[0] == packs[1]
            });
            if made(&struck.store, &mut problems) != [true; CALLERS] {
                problems.push("not all are there after gathering".into());
            }
            problems
        },
    );
}
