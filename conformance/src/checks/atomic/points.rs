//! The cases: each kind of mutation, each call in it that changes something on the disk, each thing that can happen there.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mutation::{self, Mutation, library_in_memory};
use crate::{
    check::{Bench, Case},
    judgement::{Stop, fail},
    reply::Reply,
    settled,
    stepper::{Call, Effect, Errno, Fault},
};

/// How many points of one mutation are tried.
const MAX_POINTS: usize = 400;
/// How many points are tried in the quick profile, of all mutations together.
const MAX_QUICK_POINTS: usize = 25;

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Happening {
    Killed,
    FullOnce,
    FullFromThenOn,
    BrokenOnce,
    BrokenFromThenOn,
}

impl Happening {
    pub(super) fn effect(self) -> Effect {
        match self {
            Self::Killed => Effect::Kill,
            Self::FullOnce => Effect::Fail(Errno::ENOSPC),
            Self::FullFromThenOn => Effect::FailOn(Errno::ENOSPC),
            Self::BrokenOnce => Effect::Fail(Errno::EIO),
            Self::BrokenFromThenOn => Effect::FailOn(Errno::EIO),
        }
    }
}

/// A mutation, and what happens at which of its calls.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) mutation: Mutation,
    /// Counted from one.
    pub(super) at: usize,
    pub(super) happening: Happening,
}

impl Point {
    pub(super) fn fault(self) -> Fault {
        Fault {
            at: self.at,
            effect: self.happening.effect(),
        }
    }

    fn case(self, call: &Call) -> Case {
        let (mutation, at, effect) = (self.mutation, self.at, self.happening.effect());
        let paths: Vec<_> = call.paths.iter().map(|path| plain(path)).collect();
        let (name, paths) = (call.name, paths.join(" -> "));
        Case::new(format!("{mutation}, {effect} at {at}: {name} {paths}"), self)
    }
}

/// The cases of a check for these happenings: in the quick profile, some points spread over each mutation.
///
/// # Errors
/// When programs can't be stepped through here, or the server does not make the mutations undisturbed.
pub(super) fn cases(bench: &Bench<'_>, happenings: &[Happening]) -> Result<Vec<Case>, Stop> {
    let mutations = Mutation::of(bench)?;
    let mut dice = bench.dice(&format!("{happenings:?}"));
    let most = bench.pick(MAX_QUICK_POINTS.div_ceil(mutations.len()), MAX_POINTS);
    let mut cases = Vec::new();
    for mutation in mutations {
        let calls = count(bench, mutation)?;
        for at in chosen(&calls, most, &mut dice) {
            let some = [happenings[dice.usize(..happenings.len())]];
            let tried = bench.pick(&some[..], happenings);
            cases.extend(tried.iter().map(|&happening| {
                let point = Point {
                    mutation,
                    at: at + 1,
                    happening,
                };
                point.case(&calls[at])
            }));
        }
    }
    if cases.is_empty() {
        return Err(Stop::NotTestable(
            "the server's mutations make no system call that can be seen".into(),
        ));
    }
    Ok(cases)
}

/// The calls that a mutation makes when nothing happens.
fn count(bench: &Bench<'_>, mutation: Mutation) -> Result<Vec<Call>, Stop> {
    let call = mutation.call(bench.subject)?;
    let scene = library_in_memory(bench)?;
    let (mut client, stepper) = mutation::start(bench, &scene)?;
    mutation.prepare(bench.subject, &mut client)?;
    // A server may do some things once, when it is first asked for something.
    settled::log(bench.subject, &mut client)?;
    stepper.arm(None);
    match client.make(&call)? {
        Reply::Done(_) => Ok(stepper.disarm()),
        Reply::Refused(refusal) => Err(fail(format!("a valid call was refused: {}", refusal.message))),
    }
}

/// The places of up to `most` of the calls: first of those to the documents' own folder, where the worst can happen, then of
/// those to git's; each about half of them if there are as many.
fn chosen(calls: &[Call], most: usize, dice: &mut fastrand::Rng) -> Vec<usize> {
    let is_of_git = |call: &Call| call.paths.iter().all(|path| path.starts_with(".git"));
    let (git, own): (Vec<_>, Vec<_>) = (0..calls.len()).partition(|at| is_of_git(&calls[*at]));
    let of_own = own
        .len()
        .min(most.div_ceil(2).max(most.saturating_sub(git.len())));
    let own = spread(own.len(), of_own, dice).into_iter().map(|at| own[at]);
    let git = spread(git.len(), most - of_own, dice)
        .into_iter()
        .map(|at| git[at]);
    own.chain(git).collect()
}

/// Up to `most` of the numbers below `all`, one from each of so many equal parts.
fn spread(all: usize, most: usize, dice: &mut fastrand::Rng) -> Vec<usize> {
    let parts = most.min(all);
    (0..parts)
        .map(|part| dice.usize(part * all / parts..(part + 1) * all / parts))
        .collect()
}

/// A path without what differs from run to run: ids and numbers.
fn plain(path: &Path) -> String {
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
            if is_id(bare) {
                format!("*{}", &word[bare.len()..])
            } else {
                word.to_owned()
            }
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
        for (all, most) in [(0, 5), (3, 5), (5, 5), (100, 6), (7, 6)] {
            let points = spread(all, most, &mut dice);
            assert_eq!(points.len(), all.min(most));
            assert!(points.is_sorted_by(|a, b| a < b) && points.iter().all(|at| *at < all));
        }
    }

    #[test]
    fn calls_to_documents_come_first() {
        let mut dice = fastrand::Rng::with_seed(1);
        let call = |path: &str| Call {
            name: "write",
            paths: vec![path.into()],
            effect: None,
        };
        let git = std::iter::repeat_n(call(".git/index.lock"), 10);
        let calls: Vec<_> = git.chain([call("a.md"), call("b.md")]).collect();
        assert_eq!(
            chosen(&calls, 12, &mut dice),
            [10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        );
        assert_eq!(chosen(&calls, 4, &mut dice)[..2], [10, 11]);
        assert_eq!(chosen(&calls, 4, &mut dice).len(), 4);
        assert_eq!(chosen(&calls[..10], 4, &mut dice).len(), 4);
        assert_eq!(chosen(&calls[10..], 4, &mut dice), [0, 1]);
    }

    #[test]
    fn names_of_calls_are_the_same_in_every_run() {
        let cases = [
            ("notes/plan.md", "notes/plan.md"),
            (".git/objects/3f/tmp_obj_a8Zk2x", ".git/objects/*/tmp_obj_*"),
            (".git/objects/3f/tmp_obj_WuBAOF", ".git/objects/*/tmp_obj_*"),
            (
                ".git/objects/ab/0123456789abcdef0123456789abcdef012345",
                ".git/objects/*/*",
            ),
            (".git/index.lock", ".git/index.lock"),
            ("notes/.plan.md.f00ba4.tmp", "notes/.plan.md.*.tmp"),
        ];
        for (path, expected) in cases {
            assert_eq!(plain(Path::new(path)), expected);
        }
    }
}
