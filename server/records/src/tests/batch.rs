//! Turns that share a transaction: calls are polled by hand, so their order is known.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use proptest::prelude::*;
use serde_json::{Value, json};
use tabellion_runtime::{
    Answer, CallContext, ContentId, Precondition,
    spec::Action::{Create, List},
};

use super::tracker::{Bench, called, keyed, wait};
use crate::{failures::Doing, sqlite::session::Turn};

type Outcome = Result<Answer, Value>;

/// Calls that wait for the writer, in the order of their turns.
struct Queue<'a> {
    bench: &'a Bench,
    /// Calls that have not ended.
    calls: Vec<Option<Pin<Box<dyn Future<Output = Outcome> + 'a>>>>,
    outcomes: Vec<Option<Outcome>>,
}

impl<'a> Queue<'a> {
    /// Enqueues these calls: all wait for the writer.
    fn new(bench: &'a Bench, calls: impl IntoIterator<Item = (&'a CallContext, String)>) -> Self {
        let writer = bench.records.file().writer.try_lock().expect("no turn is open");
        writer.lock().max_time = Duration::MAX;
        let calls = calls.into_iter().map(|(context, name)| {
            let request = json!({ "data": { "name": name } });
            let call = called(&bench.records, context, "project", Create, request);
            Some(Box::pin(call) as Pin<Box<dyn Future<Output = Outcome>>>)
        });
        let calls: Vec<_> = calls.collect();
        let mut queue = Self { outcomes: calls.iter().map(|_| None).collect(), bench, calls };
        queue.poll_all();
        drop(writer);
        queue
    }

    fn poll(&mut self, at: usize) {
        let Some(call) = &mut self.calls[at] else { return };
        if let Poll::Ready(outcome) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            (self.calls[at], self.outcomes[at]) = (None, Some(outcome));
        }
    }

    fn poll_all(&mut self) {
        (0..self.calls.len()).for_each(|at| self.poll(at));
    }

    /// Completes all calls, and returns their outcomes.
    fn run(mut self) -> Vec<Option<Outcome>> {
        self.poll_all();
        self.poll_all();
        assert!(self.calls.iter().all(Option::is_none), "no caller waits for ever");
        self.bench.records.check().expect("the log replays");
        self.outcomes
    }
}

/// Counts commits from now on, and makes each fail if `fails`.
fn hook(bench: &Bench, fails: bool) -> Arc<AtomicUsize> {
    let commits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&commits);
    let writer = bench.records.file().writer.try_lock().expect("no turn is open");
    let hook = move || {
        count.fetch_add(1, Ordering::SeqCst);
        fails
    };
    writer.lock().connection.commit_hook(Some(hook)).expect("a hook");
    commits
}

fn names(bench: &Bench) -> Vec<String> {
    let listed = bench.call("project", List, json!({})).expect("a list");
    let items = listed["items"].as_array().expect("items").iter();
    items.map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
}

fn name(outcome: Option<&Outcome>) -> Option<&str> {
    outcome?.as_ref().ok()?.response["name"].as_str()
}

#[test]
fn turns_that_wait_share_a_commit() {
    let bench = Bench::in_file();
    bench.create("project", json!({"name": "first"}));
    let commits = hook(&bench, false);
    let context = CallContext::default();
    let ended = Queue::new(&bench, (0..8).map(|at| (&context, format!("n{at}")))).run();
    assert_eq!(commits.load(Ordering::SeqCst), 1);
    for (at, outcome) in ended.iter().enumerate() {
        assert_eq!(name(outcome.as_ref()), Some(&*format!("n{at}")));
    }
    assert_eq!(names(&bench).len(), 9);
}

#[test]
fn a_commit_that_fails_changes_nothing_for_any_of_its_callers() {
    let bench = Bench::in_file();
    bench.create("project", json!({"name": "first"}));
    let before = bench.export();
    let context = CallContext::default();
    hook(&bench, true);
    let ended = Queue::new(&bench, (0..3).map(|at| (&context, format!("n{at}")))).run();
    for outcome in &ended {
        let error = outcome.as_ref().expect("an end").as_ref().expect_err("it failed");
        let message = error["message"].as_str().expect("text");
        assert!(message.contains("nothing has changed"), "{message}");
    }
    assert_eq!(bench.export(), before);
    hook(&bench, false);
    bench.create("project", json!({"name": "n0"}));
}

#[test]
fn a_repeated_call_is_answered_once_the_first_is_durable() {
    for fails in [false, true] {
        let bench = Bench::in_file();
        bench.create("project", json!({"name": "first"}));
        let (context, keyed) = (CallContext::default(), keyed("k"));
        let commits = hook(&bench, fails);
        let calls = [(&keyed, "n0"), (&keyed, "n0"), (&context, "n1")];
        let mut queue = Queue::new(&bench, calls.map(|(context, name)| (context, name.to_owned())));
        queue.poll(0);
        assert!(queue.calls[0].is_some(), "it waits for the commit");
        queue.poll(1);
        // A failed commit is followed by one that hides its remains.
        assert_ne!(commits.load(Ordering::SeqCst), 0, "the repeated call commits for both");
        let ended = queue.run();
        let ids: Vec<_> = ended
            .iter()
            .map(|outcome| outcome.as_ref().expect("an end").as_ref().ok())
            .map(|answer| answer.map(|answer| answer.response["id"].clone()))
            .collect();
        assert_eq!(ids[0], ids[1]);
        assert_eq!(ids[0].is_some(), !fails);
    }
}

#[test]
fn a_turn_whose_transaction_has_ended_writes_nothing() {
    let bench = Bench::in_file();
    let before = bench.export();
    let turn = wait(Turn::begin(bench.records.file())).expect("a turn");
    // As SQLite does itself when a disk fails.
    turn.with_few(|connection| connection.execute_batch("ROLLBACK").doing("end it")).expect("it ends");
    let sql = "UPDATE meta SET value = '7' WHERE name = 'undone'";
    let written = turn.with_few(|connection| connection.execute_batch(sql).doing("write"));
    assert!(written.expect_err("it has ended").message.contains("nothing has changed"));
    drop(turn);
    assert_eq!(bench.export(), before);
    bench.create("project", json!({"name": "one"}));
    bench.records.check().expect("the log replays");
}

/// Behaviour of a caller.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Creates a project.
    Creates,
    /// Requests a name that is taken.
    Refused,
    /// Expects a different row, which is noticed only after it has written its own.
    Stale,
    /// Goes away while it waits for its turn.
    Leaves,
    /// Goes away while another caller commits its change.
    LeavesReleased,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn callers_are_isolated(
        kinds in proptest::collection::vec(
            proptest::sample::select(vec![Kind::Creates, Kind::Creates, Kind::Refused, Kind::Stale, Kind::Leaves, Kind::LeavesReleased]),
            1..9,
        ),
    ) {
        let bench = Bench::in_file();
        bench.create("project", json!({"name": "first"}));
        let contexts = kinds.iter().map(|kind| CallContext {
            if_base: (*kind == Kind::Stale).then(|| Precondition::Has(ContentId::new("another"))),
            ..CallContext::default()
        });
        let contexts: Vec<_> = contexts.collect();
        let name_of = |at: usize| match kinds[at] {
            Kind::Refused => "first".to_owned(),
            _ => format!("n{at}"),
        };
        let mut queue = Queue::new(&bench, (0..kinds.len()).map(|at| (&contexts[at], name_of(at))));
        for (at, kind) in kinds.iter().enumerate() {
            if *kind != Kind::Leaves {
                queue.poll(at);
            }
            if matches!(kind, Kind::Leaves | Kind::LeavesReleased) {
                queue.calls[at] = None;
            }
        }
        let ended = queue.run();
        let mut expected = vec!["first".to_owned()];
        for (at, kind) in kinds.iter().enumerate() {
            match kind {
                Kind::Creates => prop_assert_eq!(name(ended[at].as_ref()), Some(&*name_of(at))),
                Kind::Refused => {
                    let error = ended[at].as_ref().expect("an end").as_ref().expect_err("it is taken");
                    prop_assert_eq!(&error["rule"], "taken");
                }
                Kind::Stale => prop_assert!(ended[at].as_ref().expect("an end").is_err()),
                Kind::Leaves | Kind::LeavesReleased => {}
            }
            if matches!(kind, Kind::Creates | Kind::LeavesReleased) {
                expected.push(name_of(at));
            }
        }
        prop_assert_eq!(names(&bench), expected);
    }
}
