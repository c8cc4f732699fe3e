//! `rest/errors`: refusals over REST have the form that the contract declares.

use tabellion_runtime::{rates::RETRY_AFTER, spec::RETRY_AFTER_SECONDS};

use super::{
    bad::{self, Bad, Expected},
    faces::Faces,
    outcome::{Refused, RestAnswer},
};
use crate::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "rest/errors",
    guarantees: &["rest-is-mcp"],
    states: "A refused request over REST has the declared status and the contract's form of errors, and changes nothing.",
    explains: "Calls tools that do not exist, sends bodies that are no object of JSON or not said to be one, other methods, no \
               credentials and unknown ones, invalid arguments, calls that the caller's role may not make, calls that break \
               clauses, and one call more than the limit of a rate permits. The status must be the one that the contract declares \
               for the error, or HTTP's own where the request is no call; the body must have the contract's form; 405 needs \
               `Allow`, 401 `WWW-Authenticate`, and an exceeded limit `Retry-After`. No file may change.",
    cases: |bench| Ok(bad::cases(bench)),
    ..Check::must(judge)
};

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let bad: Bad = case.read()?;
    let mut faces = Faces::open(bench, bad.role(bench).as_deref(), &bad.documents())?;
    bad.prepare(&mut faces)?;
    let before = faces.scene.view()?;
    let sent = bad.send(&faces)?;
    // First, since this is the worst.
    before.same(&faces.scene.view()?, "a request that must be refused")?;
    ensure_refused(bench, &bad, &sent.answer)?;
    faces.ensure_harmless(&before, "a refused request")?;
    faces.close()
}

fn ensure_refused(bench: &Bench<'_>, bad: &Bad, answer: &RestAnswer) -> Judgement {
    let contract = bench.subject.contract;
    ensure(answer.status >= 400, || {
        format!("a request that must be refused was answered with {}", answer.shown())
    })?;
    let refused = Refused::of_rest(contract, answer)?;
    match bad.expected() {
        Expected::OneOf(statuses) => {
            ensure(statuses.contains(&answer.status), || {
                let all: Vec<_> = statuses.iter().map(ToString::to_string).collect();
                format!("the status should be {}: {}", all.join(" or "), answer.shown())
            })?;
            let mut of_status = contract.statuses.iter().filter(|it| it.status == answer.status);
            let is_declared =
                of_status.clone().next().is_none() || of_status.any(|it| it.error == refused.name);
            ensure(is_declared, || {
                format!("the contract has another error for this status: {}", answer.shown())
            })?;
        }
        Expected::Declared => {
            let declared = refused.declared_status(contract);
            ensure(declared == Some(answer.status), || {
                let declared = declared.map_or_else(|| "no status".to_owned(), |status| status.to_string());
                format!("the contract declares {declared} for this error: {}", answer.shown())
            })?;
        }
    }
    for name in bad.headers() {
        ensure(answer.header(name).is_some(), || {
            format!("the refusal lacks the header `{name}`: {}", answer.shown())
        })?;
    }
    ensure_retry(&refused, answer)
}

/// Fails unless `Retry-After`, if it is there, is a number of seconds, and that of the details.
fn ensure_retry(refused: &Refused, answer: &RestAnswer) -> Result<(), Stop> {
    let Some(header) = answer.header("Retry-After") else {
        return Ok(());
    };
    let seconds: u64 =
        header.parse().map_err(|_| fail(format!("`Retry-After` is no number of seconds: `{header}`")))?;
    let details = [RETRY_AFTER, RETRY_AFTER_SECONDS].map(|name| refused.details.get(name));
    let said = details.into_iter().flatten().find_map(Value::as_u64);
    ensure(said.is_none_or(|said| said == seconds), || {
        format!("`Retry-After` is {seconds}, and the body says otherwise: {}", answer.shown())
    })
}
