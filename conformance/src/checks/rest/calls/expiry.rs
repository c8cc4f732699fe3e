//! `sessions/idle` and `sessions/age`: sessions end by themselves.

use std::time::Duration;

use tabellion_runtime::spec::{RestOperation, SessionsSpec};

use super::{
    kept,
    sessions::{Usage, ensure_of_no_use, sessions, used},
};
use crate::checks::{
    prelude::*,
    rest::faces::{Faces, endpoint},
};

/// Time before and after the end of a session at which it is tried; longer than a case takes.
const MARGIN: Duration = Duration::from_mins(1);
/// The most servers that are started one after the other.
const MAX_SERVERS: u32 = 100;

pub(super) const IDLE: Check = Check {
    id: "sessions/idle",
    guarantees: &["sessions-end"],
    states: "A session without a call ends after the time that the contract says, and no sooner; each call puts that off.",
    explains: "Opens a session, and starts the server anew with its clock ahead. A minute before the session is to end, a call in it must \
               succeed, and so must one as long after that call; a minute after the session is to end, each use of it must be refused with \
               the error that the contract has for it and change nothing, and it must no longer count among the sessions that a caller may \
               have. Needs a server whose clock can be set ahead.",
    cases: idle_cases,
    ..Check::must(|bench, case| match case.read()? {
        Attempt::InUse(usage) => in_use(bench, usage),
        Attempt::Idle(usage) => idle(bench, usage),
        Attempt::Room => room(bench),
    })
};

pub(super) const AGE: Check = Check {
    id: "sessions/age",
    guarantees: &["sessions-end"],
    states: "A session that is in use all the time ends at the age that the contract says, and no sooner.",
    explains: "Opens a session, and renews it as often as it takes to keep it from being idle, at servers whose clocks are ahead more and \
               more. A minute before the greatest age that the contract permits, it must still live; a minute after, each use of it must be \
               refused with the error that the contract has for it and change nothing. Needs a server whose clock can be set ahead.",
    cases: age_cases,
    ..Check::must(|bench, _| age(bench))
};

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Attempt {
    /// A session that is used like this, each time shortly before it ends.
    InUse(Usage),
    /// One that is used after it has ended.
    Idle(Usage),
    /// As many sessions as a caller may have, all ended.
    Room,
}

/// Lifetimes of sessions.
#[derive(Debug, Clone, Copy)]
struct Life {
    idle: Duration,
    most: Duration,
}

impl Life {
    /// Reads the limits of a session from the contract.
    ///
    /// # Errors
    /// "Not applicable", if it is too short to be tried.
    fn from_spec(spec: &SessionsSpec) -> Result<Self, Stop> {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let life = Self { idle: seconds(spec.idle_seconds), most: seconds(spec.seconds) };
        if life.idle < 5 * MARGIN || life.most < 2 * life.idle {
            let why =
                "the contract's sessions live so short that what is tried of them depends on this machine";
            return Err(not_applicable(why));
        }
        Ok(life)
    }

    /// Returns the times at which a session is renewed so that it is never idle: until a minute before its greatest age.
    fn renewals(self) -> impl Iterator<Item = Duration> {
        let (step, last) = (self.idle - 3 * MARGIN, self.most - MARGIN);
        let times = (1..).map(move |number| number * step);
        times.take_while(move |time| *time < last).chain([last])
    }
}

/// Returns the lifetimes of sessions, if a server's clock can be set ahead.
fn life(bench: &Bench<'_>) -> Result<Life, Stop> {
    endpoint(bench, RestOperation::SessionCreate)?;
    endpoint(bench, RestOperation::SessionRenew)?;
    bench.subject.launch.clock_variable()?;
    Life::from_spec(sessions(bench)?)
}

fn idle_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    life(bench)?;
    let lasting = Usage::all(bench).filter(|usage| *usage != Usage::End);
    let in_use = lasting.map(|usage| {
        let name = format!("{} before the session ends", usage.name());
        Case::new(name, Attempt::InUse(usage))
    });
    let idle = Usage::all(bench).map(|usage| {
        let name = format!("{} after the session has ended", usage.name());
        Case::new(name, Attempt::Idle(usage))
    });
    let room = Case::new("sessions that have ended make room", Attempt::Room);
    Ok(in_use.chain(idle).chain([room]).collect())
}

fn age_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let servers = life(bench)?.renewals().count();
    if servers > MAX_SERVERS as usize {
        let why = format!("to keep a session from being idle until it ends takes {servers} servers");
        return Err(not_applicable(why));
    }
    Ok(Case::only())
}

/// Fails if a use of a session that lives is refused as if it had ended.
fn ensure_lives(faces: &mut Faces<'_, '_>, id: &str, usage: Usage, when: &str) -> Judgement {
    let expired = sessions(faces.bench)?.expired;
    let error = used(faces, id, usage)?;
    ensure(error != expired, || format!("{} was refused with `{expired}` {when}", usage.name()))
}

fn in_use(bench: &Bench<'_>, usage: Usage) -> Judgement {
    let time = life(bench)?.idle - MARGIN;
    let mut faces = Faces::open(bench, kept::caller(bench), [])?;
    let id = kept::open(&faces, None)?;
    for times in 1..=2 {
        faces = faces.later(times * time)?;
        let when = format!("{} s after the last use of the session", time.as_secs());
        ensure_lives(&mut faces, &id, usage, &when)?;
    }
    faces.close()
}

fn idle(bench: &Bench<'_>, usage: Usage) -> Judgement {
    let time = life(bench)?.idle + MARGIN;
    let faces = Faces::open(bench, kept::caller(bench), [])?;
    let id = kept::open(&faces, None)?;
    let mut faces = faces.later(time)?;
    let what = format!("{}, {} s after its last use", usage.name(), time.as_secs());
    ensure_of_no_use(&mut faces, &id, usage, &what)?;
    faces.close()
}

fn room(bench: &Bench<'_>) -> Judgement {
    let time = life(bench)?.idle + MARGIN;
    let most = sessions(bench)?.most.min(MAX_SERVERS);
    let faces = Faces::open(bench, kept::caller(bench), [])?;
    for _ in 0..most {
        kept::open(&faces, None)?;
    }
    let faces = faces.later(time)?;
    for _ in 0..most {
        kept::open(&faces, None)?;
    }
    faces.close()
}

fn age(bench: &Bench<'_>) -> Judgement {
    let life = life(bench)?;
    let mut faces = Faces::open(bench, kept::caller(bench), [])?;
    let id = kept::open(&faces, None)?;
    for time in life.renewals() {
        faces = faces.later(time)?;
        let when = format!("at the age of {} s, although it is never idle", time.as_secs());
        ensure_lives(&mut faces, &id, Usage::Renew, &when)?;
    }
    let time = life.most + MARGIN;
    faces = faces.later(time)?;
    for usage in Usage::all(bench) {
        let what = format!("{} at the age of {} s", usage.name(), time.as_secs());
        ensure_of_no_use(&mut faces, &id, usage, &what)?;
    }
    faces.close()
}
