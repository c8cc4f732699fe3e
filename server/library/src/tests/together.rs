//! Callers that wait at the same time are published together, without a visible difference.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use tabellion_runtime::{Change, Claim, Session, Store, StoreError};

use super::support::{Bench, begin, change, prepare};
use crate::{
    Library,
    checkpoint::{Checkpoint, Watch},
};

/// A call that is polled by hand: many wait at once.
type Call<'a> = std::pin::Pin<Box<dyn Future<Output = Result<String, StoreError>> + 'a>>;

/// Makes the change that `plan` computes from the document's text, in the way of the runtime, once.
fn call<'a>(library: &'a Library, path: &'a str, plan: impl Fn(&str) -> Option<String> + 'a) -> Call<'a> {
    Box::pin(async move {
        let mut session: Box<dyn Session> =
            library.begin(Claim::default()).await.map_err(StoreError::Failure)?;
        let old = session.view().read(path)?.map(|document| document.bytes).unwrap_or_default();
        let new = plan(std::str::from_utf8(&old).unwrap());
        let prepared = prepare(&mut *session, &change(path, new.as_deref()))?;
        session.publish().await?;
        Ok(prepared.commit.into())
    })
}

/// Starts all calls during another caller's turn, then polls them until all are done.
fn all(library: &Library, mut calls: Vec<Call<'_>>) -> Vec<Result<String, StoreError>> {
    let mut context = Context::from_waker(Waker::noop());
    let turn = begin(library);
    for call in &mut calls {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    drop(turn);
    let mut calls: Vec<_> = calls.into_iter().map(|call| (Some(call), None)).collect();
    while calls.iter().any(|(_, outcome)| outcome.is_none()) {
        for (call, outcome) in &mut calls {
            if let Some(waiting) = call
                && let Poll::Ready(done) = waiting.as_mut().poll(&mut context)
            {
                *outcome = Some(done);
                *call = None;
            }
        }
    }
    calls.into_iter().filter_map(|(_, outcome)| outcome).collect()
}

/// Counts how often the branch moves.
fn counted(bench: &Bench) -> (Library, Arc<AtomicUsize>) {
    let moves = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&moves);
    let watch: Watch = Box::new(move |step| {
        if step == Checkpoint::Committed {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    });
    (bench.watched(watch), moves)
}

#[test]
fn each_has_a_commit_of_its_own_and_all_move_the_branch_once() {
    let bench = Bench::new();
    bench.write("notes/b.md", "dirty\n");
    let before = bench.head();
    let (library, moves) = counted(&bench);
    let append = |line: &'static str| move |old: &str| Some(format!("{old}{line}\n"));
    let outcomes = all(
        &library,
        vec![
            call(&library, "notes/a.md", append("1")),
            call(&library, "notes/b.md", append("2")),
            call(&library, "notes/a.md", append("3")),
            call(&library, "x/new.md", append("4")),
            call(&library, "x/new.md", |_| None),
            call(&library, "x/y/new.md", append("5")),
            call(&library, "plan.md", |_| None),
            call(&library, "plan.md", append("6")),
        ],
    );
    let commits: Vec<String> = outcomes.into_iter().map(Result::unwrap).collect();

    assert_eq!(moves.load(Ordering::SeqCst), 1);
    let made = bench.git(&["log", "--reverse", "--format=%H", &format!("{before}..HEAD")]);
    let of_tools: Vec<&str> = made.lines().filter(|id| commits.iter().any(|c| c == id)).collect();
    assert_eq!(of_tools, commits, "in the order of their turns");
    assert_eq!(made.lines().count(), commits.len() + 1, "and one of what was not committed");
    for commit in made.lines() {
        let touched = bench.git(&["diff-tree", "-r", "--name-only", "--no-commit-id", commit]);
        assert_eq!(touched.lines().count(), 1, "{commit}: {touched}");
    }
    for (path, content) in [
        ("notes/a.md", Some("old a\n1\n3\n")),
        ("notes/b.md", Some("dirty\n2\n")),
        ("x/new.md", None),
        ("x/y/new.md", Some("5\n")),
        ("plan.md", Some("6\n")),
    ] {
        assert_eq!(bench.read(path).as_deref(), content, "{path}");
    }
    assert_eq!(bench.status(), "");
    let entries = library.activity(100).unwrap();
    assert_eq!(
        entries.iter().map(|entry| &entry.commit).collect::<Vec<_>>(),
        commits.iter().collect::<Vec<_>>()
    );
    let reflog = bench.git(&["reflog", "--format=%H", "-n", "8"]);
    assert_eq!(reflog.lines().rev().collect::<Vec<_>>(), commits, "the log of HEAD");
    bench.assert_sound();
}

#[test]
fn names_that_differ_only_in_case_are_seen_among_those_that_come() {
    let bench = Bench::new();
    let library = bench.library();
    let create = |_: &str| Some("new\n".to_owned());
    let outcomes = all(
        &library,
        vec![
            call(&library, "notes/a.md", create),
            call(&library, "y/New.md", create),
            call(&library, "y/new.md", create),
            call(&library, "Y/other.md", create),
        ],
    );
    let made: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(made, [true, true, false, false], "{outcomes:?}");
    bench.assert_sound();
}

#[test]
fn one_failure_makes_the_whole_batch_try_again() {
    let bench = Bench::new();
    let top = bench.path("");
    // A person saves one of the documents that are about to be exchanged.
    let watch: Watch = Box::new(move |step| {
        if step == Checkpoint::Locked {
            std::fs::write(top.join("notes/a.md"), "mine\n").unwrap();
        }
        Ok(())
    });
    let library = bench.watched(watch);
    let append = |old: &str| Some(format!("{old}+\n"));
    let outcomes = all(
        &library,
        vec![
            call(&library, "plan.md", append),
            call(&library, "notes/a.md", append),
            call(&library, "notes/b.md", append),
        ],
    );
    assert_eq!(outcomes, [Err(StoreError::Conflict), Err(StoreError::Conflict), Err(StoreError::Conflict)]);
    assert_eq!(bench.read("notes/a.md").as_deref(), Some("mine\n"));
    assert_eq!(bench.read("plan.md").as_deref(), Some("old plan\n"));
    bench.assert_sound();
}

#[test]
fn dropped_callers_do_not_block_others() {
    let bench = Bench::new();
    let library = bench.library();
    let mut context = Context::from_waker(Waker::noop());
    let append = |old: &str| Some(format!("{old}+\n"));
    let mut turn = Box::pin(library.begin(Claim::default()));
    let Poll::Ready(Ok(turn)) = turn.as_mut().poll(&mut context) else {
        panic!("the turn is free");
    };
    let mut waiting: Vec<Call<'_>> =
        ["notes/a.md", "notes/b.md", "plan.md"].map(|path| call(&library, path, append)).into();
    for call in &mut waiting {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    drop(turn);
    // The first plans and waits for the others to plan; then all of them go.
    assert!(waiting[0].as_mut().poll(&mut context).is_pending());
    drop(waiting);
    let commit = super::support::make(&bench.library(), &change("x.md", Some("new\n"))).unwrap();
    assert_eq!(bench.head(), commit);
    assert_eq!(bench.status(), "");
    bench.assert_sound();
}

#[test]
fn a_key_that_waits_is_not_used_twice() {
    use tabellion_runtime::{CallContext, Entry, IdempotencyKey, Replay};
    let bench = Bench::new();
    let library = bench.library();
    let keyed =
        CallContext { idempotency_key: Some(IdempotencyKey::parse("k").unwrap()), ..CallContext::default() };
    let entry = Entry { tool: "a_tool", call: &keyed, request: Some("{}"), details: &serde_json::Map::new() };
    let made: Change = change("notes/a.md", Some("new\n"));
    let outcomes = all(
        &library,
        (0..3)
            .map(|_| {
                let (library, made) = (&library, &made);
                Box::pin(async move {
                    let mut session = library.begin(Claim::default()).await.map_err(StoreError::Failure)?;
                    let key = IdempotencyKey::parse("k").unwrap();
                    if let Some(Replay::Before { commit, .. }) =
                        session.replay(entry.call, &key, "{}").await?
                    {
                        return Ok(commit.into());
                    }
                    let prepared = session.prepare(made, &entry).await?;
                    session.publish().await?;
                    Ok(prepared.commit.into())
                }) as Call<'_>
            })
            .collect(),
    );
    let commits: std::collections::BTreeSet<_> = outcomes.into_iter().flatten().collect();
    assert_eq!(commits.len(), 1);
    assert_eq!(bench.git(&["rev-list", "--count", "HEAD"]), "2");
}
