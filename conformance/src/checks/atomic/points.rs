//! Cases: each kind of mutation, each of its system calls that changes the disk, and each fault at that call.

use std::path::Path;

use super::mutation::{Mutation, library_in_memory};
use crate::{
    checks::prelude::*,
    settled,
    stepper::{Call, Counting, Effect, Errno, Fault},
};

/// Maximum number of points of one mutation.
const MAX_POINTS: usize = 400;
/// Approximate number of points of all mutations in the quick profile.
const MAX_QUICK_POINTS: usize = 25;

/// A fault at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::checks) enum FaultKind {
    Killed,
    FullOnce,
    FullFromThenOn,
    BrokenOnce,
    BrokenFromThenOn,
}

impl FaultKind {
    /// Returns the stepper's effect for this fault.
    pub(in crate::checks) fn effect(self) -> Effect {
        match self {
            Self::Killed => Effect::Kill,
            Self::FullOnce => Effect::Fail(Errno::ENOSPC),
            Self::FullFromThenOn => Effect::FailOn(Errno::ENOSPC),
            Self::BrokenOnce => Effect::Fail(Errno::EIO),
            Self::BrokenFromThenOn => Effect::FailOn(Errno::EIO),
        }
    }
}

/// A fault at a system call of a mutation.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) mutation: Mutation,
    /// Number of the system call, counted from 1.
    pub(super) at: usize,
    #[serde(rename = "happening")]
    pub(super) kind: FaultKind,
}

impl Point {
    /// Returns the fault for the stepper.
    pub(super) fn fault(self) -> Fault {
        Fault { at: self.at, effect: self.kind.effect() }
    }

    fn case(self, call: &Call) -> Case {
        let (mutation, at, effect) = (self.mutation, self.at, self.kind.effect());
        let paths: Vec<_> = call.paths.iter().map(|path| without_ids(path)).collect();
        let (name, paths) = (call.name, paths.join(" -> "));
        Case::new(format!("{mutation}, {effect} at {at}: {name} {paths}"), self)
    }
}

/// Returns the cases of a check for these faults: all points, or in the quick profile some of each mutation.
///
/// # Errors
/// If programs can't be run step by step on this machine, or the server refuses a mutation without faults.
pub(super) fn cases(bench: &Bench<'_>, kinds: &[FaultKind]) -> Result<Vec<Case>, Stop> {
    let mutations = Mutation::supported(bench)?;
    let mut dice = bench.dice(&format!("{kinds:?}"));
    let max = bench.pick(MAX_QUICK_POINTS.div_ceil(mutations.len()), MAX_POINTS);
    let mut cases = Vec::new();
    for mutation in mutations {
        let calls = record(bench, mutation)?;
        for at in choose_points(&calls, kinds, max, &mut dice) {
            let kinds = possible(kinds, &calls[at]);
            let some = [kinds[dice.usize(..kinds.len())]];
            let tried = bench.pick(&some[..], &kinds);
            cases.extend(tried.iter().map(|&kind| {
                let point = Point { mutation, at: at + 1, kind };
                point.case(&calls[at])
            }));
        }
    }
    if cases.is_empty() {
        return Err(not_shown("no system call of the server's mutations can be observed"));
    }
    Ok(cases)
}

/// Returns the system calls of a mutation without faults.
fn record(bench: &Bench<'_>, mutation: Mutation) -> Result<Vec<Call>, Stop> {
    let call = mutation.call(bench.subject)?;
    let scene = library_in_memory(bench)?;
    let (mut client, stepper) = scene.start_stepped(Counting::WhenArmed)?;
    mutation.prepare(bench.subject, &mut client)?;
    // A server may initialize something on its first call.
    settled::log(bench.subject, &mut client)?;
    stepper.arm(None);
    client.make(&call)?.must("a valid call")?;
    Ok(stepper.disarm())
}

/// Returns those of the faults that can happen at a call.
pub(in crate::checks) fn possible(kinds: &[FaultKind], call: &Call) -> Vec<FaultKind> {
    let kinds = kinds.iter().copied();
    kinds.filter(|kind| kind.effect().is_of(call.name)).collect()
}

/// Returns the indices of up to `max` calls at which some of the faults can happen, about half of them on documents and
/// half on git's files if there are enough.
///
/// Calls on documents come first because faults at them do the most harm.
fn choose_points(calls: &[Call], kinds: &[FaultKind], max: usize, dice: &mut fastrand::Rng) -> Vec<usize> {
    let is_of_git = |call: &Call| call.paths.iter().all(|path| path.starts_with(".git"));
    let at = (0..calls.len()).filter(|&at| !possible(kinds, &calls[at]).is_empty());
    let (git, own): (Vec<_>, Vec<_>) = at.partition(|at| is_of_git(&calls[*at]));
    let of_own = own.len().min(max.div_ceil(2).max(max.saturating_sub(git.len())));
    let own = spread(own.len(), of_own, dice).into_iter().map(|at| own[at]);
    let git = spread(git.len(), max - of_own, dice).into_iter().map(|at| git[at]);
    own.chain(git).collect()
}

/// Returns up to `max` of the numbers below `all`: a random one from each of `max` equal parts.
pub(in crate::checks) fn spread(all: usize, max: usize, dice: &mut fastrand::Rng) -> Vec<usize> {
    let parts = max.min(all);
    (0..parts).map(|part| dice.usize(part * all / parts..(part + 1) * all / parts)).collect()
}

/// Replaces ids and numbers, which differ between runs, by `*`.
pub(in crate::checks) fn without_ids(path: &Path) -> String {
    let parts = path.components().map(|part| {
        let part = part.as_os_str().to_string_lossy();
        let is_id = |word: &str| {
            let digits = word.bytes().filter(u8::is_ascii_digit).count();
            let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
            let is_mixed = digits > 0 || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
            is_mixed && word.len() >= 6 || word.len() == 2 && word.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let words = part.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
        let words = words.map(|word| {
            let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if is_id(bare) { format!("*{}", &word[bare.len()..]) } else { word.to_owned() }
        });
        words.collect::<String>()
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_over_all() {
        let mut dice = fastrand::Rng::with_seed(1);
        for (all, max) in [(0, 5), (3, 5), (5, 5), (100, 6), (7, 6)] {
            let points = spread(all, max, &mut dice);
            assert_eq!(points.len(), all.min(max));
            assert!(points.is_sorted_by(|a, b| a < b) && points.iter().all(|at| *at < all));
        }
    }

    #[test]
    fn calls_to_documents_come_first() {
        const KILLED: [FaultKind; 1] = [FaultKind::Killed];
        let mut dice = fastrand::Rng::with_seed(1);
        let call = |path: &str| Call { name: "write", paths: vec![path.into()], effect: None };
        let git = std::iter::repeat_n(call(".git/index.lock"), 10);
        let calls: Vec<_> = git.chain([call("a.md"), call("b.md")]).collect();
        assert_eq!(choose_points(&calls, &KILLED, 12, &mut dice), [10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(choose_points(&calls, &KILLED, 4, &mut dice)[..2], [10, 11]);
        assert_eq!(choose_points(&calls, &KILLED, 4, &mut dice).len(), 4);
        assert_eq!(choose_points(&calls[..10], &KILLED, 4, &mut dice).len(), 4);
        assert_eq!(choose_points(&calls[10..], &KILLED, 4, &mut dice), [0, 1]);
    }

    #[test]
    fn case_names_are_the_same_in_every_run() {
        let cases = [
            ("notes/plan.md", "notes/plan.md"),
            (".git/objects/3f/tmp_obj_a8Zk2x", ".git/objects/*/tmp_obj_*"),
            (".git/objects/3f/tmp_obj_WuBAOF", ".git/objects/*/tmp_obj_*"),
            (".git/objects/ab/0123456789abcdef0123456789abcdef012345", ".git/objects/*/*"),
            (".git/index.lock", ".git/index.lock"),
            ("notes/.plan.md.f00ba4.tmp", "notes/.plan.md.*.tmp"),
        ];
        for (path, expected) in cases {
            assert_eq!(without_ids(Path::new(path)), expected);
        }
    }
}
