//! `sessions/most`: a caller has so many sessions, and uses no others.

use tabellion_runtime::{
    ContractSpec,
    spec::{RestOperation, SessionsSpec},
};

use super::kept::{self, UNKNOWN};
use crate::{
    checks::{
        prelude::*,
        rest::{
            faces::{Conditions, Face, Faces, endpoint},
            outcome::{Outcome, RestAnswer},
            program::{self, Memory},
        },
    },
    era::Era,
};

/// The most sessions that are opened.
const MAX_SESSIONS: u32 = 100;

pub(super) const CHECK: Check = Check {
    id: "sessions/most",
    guarantees: &["sessions-end"],
    states: "A caller has at most as many sessions as the contract says, and can use no session that is another's, unknown or ended.",
    explains: "Opens as many sessions as a caller may have: one more must be refused with 429, an error of the contract and `Retry-After`, \
               another caller's must not, and ending one makes room. Names sessions of another caller, unknown ones and ended ones in calls \
               over REST and MCP, and to renew and end them: each must be refused with the error that the contract has for it, and change \
               nothing.",
    cases,
    ..Check::must(judge)
};

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Attempt {
    /// One session more than a caller may have.
    OneMore,
    /// A session that is not one of the caller's active ones.
    NotOwn { whose: Whose, usage: Usage },
}

named! {
    /// Reason why a session is not one of the caller's active ones.
    enum Whose {
        Foreign = "a session of another caller",
        Unknown = "an unknown session",
        Ended = "a session that has ended",
    }
}

named! {
    /// The use that a request makes of a session.
    pub(super) enum Usage {
        CallOverRest = "a call over REST",
        /// In the era without sessions of the transport's own.
        CallOverMcp = "a call over MCP",
        Renew = "renewing it",
        End = "ending it",
    }
}

impl Usage {
    /// Returns those that the suite can try in its era.
    pub(super) fn all(bench: &Bench<'_>) -> impl Iterator<Item = Self> {
        let is_stateless = bench.subject.era == Era::Stateless;
        let all = Self::ALL.into_iter();
        all.filter(move |usage| is_stateless || *usage != Self::CallOverMcp)
    }
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    endpoint(bench, RestOperation::SessionCreate)?;
    let mut cases = vec![Case::new("one session more than there may be", Attempt::OneMore)];
    for whose in Whose::ALL {
        for usage in Usage::all(bench) {
            let name = format!("{} with {}", usage.name(), whose.name());
            cases.push(Case::new(name, Attempt::NotOwn { whose, usage }));
        }
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    match case.read()? {
        Attempt::OneMore => one_more(bench),
        Attempt::NotOwn { whose, usage } => not_own(bench, whose, usage),
    }
}

/// Returns the contract's declaration of sessions.
///
/// # Errors
/// "Not applicable", if it has none.
pub(super) fn sessions(bench: &Bench<'_>) -> Result<&'static SessionsSpec, Stop> {
    let sessions = bench.subject.contract.sessions;
    sessions.ok_or_else(|| not_applicable("the contract has no sessions"))
}

fn one_more(bench: &Bench<'_>) -> Judgement {
    let most = sessions(bench)?.most;
    if most > MAX_SESSIONS {
        let why = format!("a caller may have {most} sessions, which are too many to open");
        return Err(not_applicable(why));
    }
    let other = kept::stranger(bench)?;
    let faces = Faces::open(bench, kept::caller(bench), [])?;
    let mut own = Vec::new();
    for _ in 0..most {
        own.push(kept::open(&faces, None)?);
    }
    let more = kept::ask(&faces, RestOperation::SessionCreate, &[], None)?;
    let what = format!("session {} of a caller who may have {most}", most + 1);
    kept::ensure_too_many(bench.subject.contract, &more, &what)?;
    kept::retry_after(&more)?;
    // Others have their own, and none was ended for the one that was refused.
    kept::open(&faces, Some(other))?;
    for (id, is) in
        own.iter().map(|id| (id, RestOperation::SessionRenew)).chain([(&own[0], RestOperation::SessionEnd)])
    {
        let answer = kept::ask(&faces, is, &[id], None)?;
        ensure(answer.is_success(), || format!("the caller's own session was refused: {}", answer.shown()))?;
    }
    kept::open(&faces, None)?;
    faces.close()
}

fn not_own(bench: &Bench<'_>, whose: Whose, usage: Usage) -> Judgement {
    let mut faces = Faces::open(bench, kept::caller(bench), [])?;
    let other = match whose {
        Whose::Foreign => Some(kept::stranger(bench)?),
        Whose::Unknown | Whose::Ended => None,
    };
    let id = match whose {
        Whose::Unknown => UNKNOWN.to_owned(),
        Whose::Foreign | Whose::Ended => kept::open(&faces, other)?,
    };
    if whose == Whose::Ended {
        let ended = kept::ask(&faces, RestOperation::SessionEnd, &[&id], None)?;
        ensure(ended.is_success(), || format!("a session could not be ended: {}", ended.shown()))?;
    }
    let what = format!("{} with {}", usage.name(), whose.name());
    ensure_of_no_use(&mut faces, &id, usage, &what)?;
    if whose == Whose::Foreign {
        let renewed = kept::ask(&faces, RestOperation::SessionRenew, &[&id], other)?;
        ensure(renewed.is_success(), || format!("{what} has ended it: {}", renewed.shown()))?;
    }
    faces.close()
}

/// Fails unless the use of a session is refused with the error that the contract has for it, and changes nothing.
pub(super) fn ensure_of_no_use(faces: &mut Faces<'_, '_>, id: &str, usage: Usage, what: &str) -> Judgement {
    let expired = sessions(faces.bench)?.expired;
    let before = faces.scene.view()?;
    let error = used(faces, id, usage)?;
    before.same(&faces.scene.view()?, what)?;
    ensure(error == expired, || format!("{what} should be refused with `{expired}`, and came to {error}"))
}

/// Uses a session; returns the name of the error, or the answer if there is none.
pub(super) fn used(faces: &mut Faces<'_, '_>, id: &str, usage: Usage) -> Result<String, Stop> {
    let contract = faces.bench.subject.contract;
    let within = Conditions { session: Some(id.to_owned()), ..Conditions::default() };
    let mut changing = program::operations(faces.bench).filter(|tool| tool.mutating);
    let step = changing.find_map(|tool| Some((tool, program::example(tool)?)));
    let (tool, step) = step.ok_or_else(|| not_applicable("no changing tool has a valid example"))?;
    let is = match usage {
        Usage::CallOverMcp => {
            let outcome = faces.call(Face::Mcp, tool, step.arguments(), &within)?;
            return Ok(match outcome {
                Outcome::Refused(refused) => refused.name,
                Outcome::Done(done) => format!("a result: {}", done.result),
            });
        }
        Usage::CallOverRest => {
            let answer = step.send_with(faces, &mut Memory::default(), within)?;
            return named(contract, &answer);
        }
        Usage::Renew => RestOperation::SessionRenew,
        Usage::End => RestOperation::SessionEnd,
    };
    named(contract, &kept::ask(faces, is, &[id], None)?)
}

fn named(contract: &ContractSpec, answer: &RestAnswer) -> Result<String, Stop> {
    if answer.is_success() {
        return Ok(answer.shown());
    }
    Ok(kept::refusal(contract, answer, "the use of a session")?.name)
}
