//! `limits/each`, `limits/retry-after` and `limits/shared`: limits for each session hold, report when to retry, and are shared by all
//! servers.

use std::time::{Duration, Instant};

use tabellion_runtime::{
    rates::RETRY_AFTER as DETAIL,
    spec::{RETRY_AFTER_SECONDS, RateLimit, RateLimitPer, RestOperation},
};

use super::kept::{self, TOO_MANY};
use crate::{
    checks::{
        prelude::*,
        rest::{
            faces::{Conditions, Faces, endpoint},
            outcome::RestAnswer,
            program::{self, Memory, Step},
        },
    },
    launch,
    scene::View,
};

/// The most calls that are made to exceed a limit.
const MAX_CALLS: u32 = 60;
/// Shortest time after which a limit permits one more call, so that the calls of a check are faster.
const MIN_INTERVAL: Duration = Duration::from_secs(10);

pub(super) const EACH: Check = Check {
    id: "limits/each",
    guarantees: &["limits-hold"],
    states: "A limit for each session permits exactly its calls; the next is refused with the declared error, and changes nothing.",
    explains: "Makes as many calls in a new session as the contract's smallest limit for each session permits: none may be refused for it. The \
               next must be refused with 429 and an error of the contract, and no file may change. Another session of the same caller must \
               be free. Limits of more than 60 calls, and those that permit a further one within 10 s, are not tried.",
    cases: of_limits,
    ..Check::must(|bench, case| each(bench, &case.read::<String>()?))
};

pub(super) const RETRY_AFTER: Check = Check {
    id: "limits/retry-after",
    guarantees: &["limits-hold"],
    states: "The refusal of a call that exceeds a limit says in `Retry-After` when a further one is permitted.",
    explains: "Exceeds the limit of `limits/each`. `Retry-After` must be a number of seconds from 1 to the time in which the limit permits one \
               more call, and the details of the error must not say otherwise. Clients that can't tell how long to wait come back at once.",
    cases: of_limits,
    ..Check::must(|bench, case| retry_after(bench, &case.read::<String>()?))
};

pub(super) const SHARED: Check = Check {
    id: "limits/shared",
    guarantees: &["limits-hold"],
    states: "All servers of a library share sessions and their limits.",
    explains: "Opens a session at one of two servers of a library, and makes the calls that its limit permits at both in turn: none may be \
               refused for it. The next must be refused at both with 429. Otherwise, a limit grows with the number of servers.",
    cases: of_limits,
    ..Check::must(|bench, case| shared(bench, &case.read::<String>()?))
};

/// Returns the case of the smallest limit that can be tried, by the operation that it is tried with.
fn of_limits(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    endpoint(bench, RestOperation::SessionCreate)?;
    endpoint(bench, RestOperation::ToolExecute)?;
    let tried = program::operations(bench).filter(|tool| program::example(tool).is_some());
    let tried = tried.filter_map(|tool| Some((tool, limit(bench, tool.label())?)));
    let (tool, limit) = tried
        .min_by_key(|(_, limit)| limit.calls)
        .ok_or_else(|| not_applicable("the contract has no limit for each session that can be tried"))?;
    let name = format!("`{}`, {} calls", limit.name, limit.calls);
    Ok(vec![Case::new(name, tool.label())])
}

/// Returns the limit of an operation, if it is for each session and can be tried.
fn limit(bench: &Bench<'_>, label: &str) -> Option<&'static RateLimit> {
    let contract = bench.subject.contract;
    let name = contract.operation(label)?.rate_limit?;
    let mut limits = contract.rate_limits.iter();
    limits.find(|limit| {
        limit.name == name
            && limit.per == RateLimitPer::Session
            && limit.calls.get() <= MAX_CALLS
            && interval(limit) >= MIN_INTERVAL
    })
}

/// Returns the time after which a limit permits one more call.
fn interval(limit: &RateLimit) -> Duration {
    Duration::from_secs(limit.seconds.into()) / limit.calls.get()
}

/// A server, and a call whose limit is tried.
struct Trial<'b, 'a> {
    faces: Faces<'b, 'a>,
    limit: &'static RateLimit,
    step: Step,
    /// Calls that prepare for it.
    prefix: Vec<Step>,
    memory: Memory,
    begun: Instant,
}

impl<'b, 'a> Trial<'b, 'a> {
    fn begin(bench: &'b Bench<'a>, label: &str) -> Result<Self, Stop> {
        let tool = bench.subject.contract.operation(label);
        let step = tool.and_then(program::example);
        let (limit, step) = limit(bench, label)
            .zip(step)
            .ok_or_else(|| fail(format!("`{label}` has no limit that can be tried")))?;
        let prefixes = program::prefixes(bench).into_iter();
        let prefix = prefixes.filter(|(tool, _)| tool.label() == label);
        Ok(Self {
            faces: Faces::open(bench, kept::caller(bench), [])?,
            limit,
            step,
            prefix: prefix.flat_map(|(_, steps)| steps).collect(),
            memory: Memory::default(),
            begun: Instant::now(),
        })
    }

    /// Makes the calls that prepare for the tried one, in the session of the caller.
    fn prepare(&mut self) -> Judgement {
        for step in &self.prefix {
            step.send(&self.faces, &mut self.memory)?;
        }
        Ok(())
    }

    fn call(&mut self, session: &str) -> Result<RestAnswer, Stop> {
        let within = Conditions { session: Some(session.to_owned()), ..Conditions::default() };
        self.step.send_with(&self.faces, &mut self.memory, within)
    }

    /// Fails if a call that the limit permits was refused for it.
    fn ensure_permitted(&self, answer: &RestAnswer, what: &str) -> Judgement {
        ensure(answer.status != TOO_MANY, || {
            format!(
                "{what} was refused, although the limit permits {} of a session: {}",
                self.limit.calls,
                answer.shown()
            )
        })
    }

    /// Makes all calls that the limit permits in a session, and one more; returns its answer, and the view before it.
    fn exceed(&mut self, session: &str) -> Result<(View, RestAnswer), Stop> {
        self.prepare()?;
        for number in 1..=self.limit.calls.get() {
            let answer = self.call(session)?;
            self.ensure_permitted(&answer, &format!("call {number}"))?;
        }
        self.prepare()?;
        let before = self.faces.scene.view()?;
        let answer = self.call(session)?;
        self.ensure_in_time()?;
        Ok((before, answer))
    }

    /// Stops if so much time has passed that the limit permits one more call.
    fn ensure_in_time(&self) -> Judgement {
        if self.begun.elapsed() < interval(self.limit) {
            return Ok(());
        }
        let why =
            "the calls took so long that the limit permits a further one; run the check on a faster machine";
        Err(not_shown(why))
    }
}

fn each(bench: &Bench<'_>, label: &str) -> Judgement {
    let mut trial = Trial::begin(bench, label)?;
    let session = kept::open(&trial.faces, None)?;
    let other = kept::open(&trial.faces, None)?;
    let (before, answer) = trial.exceed(&session)?;
    before.same(&trial.faces.scene.view()?, "a call that exceeds a limit")?;
    let contract = bench.subject.contract;
    kept::ensure_too_many(contract, &answer, "a call that exceeds a limit")?;
    let free = trial.call(&other)?;
    trial.ensure_permitted(&free, "the first call of another session")?;
    trial.faces.close()
}

fn retry_after(bench: &Bench<'_>, label: &str) -> Judgement {
    let mut trial = Trial::begin(bench, label)?;
    let session = kept::open(&trial.faces, None)?;
    let (_, answer) = trial.exceed(&session)?;
    let refused = kept::refusal(bench.subject.contract, &answer, "a call that exceeds a limit")?;
    let seconds = kept::retry_after(&answer)?;
    // Rounded up, and a second for servers that add one to be sure.
    let most = u64::from(trial.limit.seconds.div_ceil(trial.limit.calls.get())) + 1;
    ensure(seconds <= most, || format!("`Retry-After` should be no more than {most}: {}", answer.shown()))?;
    let said = refused.details.get(DETAIL).or(refused.details.get(RETRY_AFTER_SECONDS));
    ensure(said.is_none_or(|said| *said == seconds), || {
        format!("`Retry-After` is {seconds}, and the body says otherwise: {}", answer.shown())
    })?;
    trial.faces.close()
}

fn shared(bench: &Bench<'_>, label: &str) -> Judgement {
    if bench.subject.launch.running().is_some() {
        return Err(launch::not_ours());
    }
    let trial = Trial::begin(bench, label)?;
    let second = trial.faces.another_server()?;
    let session = kept::open(&trial.faces, None)?;
    let within = Conditions { session: Some(session), ..Conditions::default() };
    let (path, request) = trial.step.request(&trial.faces, &trial.memory, within)?;
    let call = |number: u32| {
        if number.is_multiple_of(2) {
            trial.faces.send_to(&second, &path, &request)
        } else {
            trial.faces.send(&path, &request)
        }
    };
    let calls = trial.limit.calls.get();
    for number in 1..=calls {
        trial.ensure_permitted(&call(number)?, &format!("call {number}, at two servers in turn,"))?;
    }
    for number in [calls + 1, calls + 2] {
        let answer = call(number)?;
        trial.ensure_in_time()?;
        let what = "a call that exceeds a limit at two servers together";
        kept::ensure_too_many(bench.subject.contract, &answer, what)?;
    }
    second.close()?;
    trial.faces.close()
}
