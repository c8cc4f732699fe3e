//! Decisions whose command is killed.

use std::time::{Duration, Instant};

use super::{
    decision::{self, Decision},
    review::{BEFORE, PROPOSED, Proposal},
    shelf::{By, Shelf, word},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "review/killed",
    guarantees: &["no-partial-application"],
    states: "A decision that is killed at any moment has been taken whole or not at all: note and proposal agree, in one commit.",
    explains: "Approves an agent's change, and kills the command at moments that are spread over the time that it takes. Afterwards the change \
               is either seen, and can't be approved again, or it waits as before, and is approved by the next attempt; the history has \
               one commit of it, and nothing is left over in the folder. A decision writes two documents: the note, and what waits.",
    cases: |bench| {
        let many: u32 = bench.pick(6, 40);
        let case = |part| Case::new(format!("after {part} of {many} parts of its time"), (part, many));
        Ok((0..=many).map(case).collect())
    },
    ..Check::must(|bench, case| {
        let (part, of) = case.read()?;
        killed(bench, part, of)
    })
};

/// Returns a library with a proposal, and the id of its instance.
fn proposed<'b, 'a>(bench: &'b Bench<'a>) -> Result<(Shelf<'b, 'a>, String), Stop> {
    let mut shelf = Shelf::start(bench)?;
    decision::required(&shelf)?;
    let before = shelf.create(By::Person, &word(BEFORE))?;
    let proposed = Proposal::Change.make(&mut shelf, &before, &word(PROPOSED))?;
    let instance = proposed.instance()?.to_owned();
    shelf.restart()?;
    shelf.must_show(&instance)?;
    Ok((shelf, instance))
}

fn killed(bench: &Bench<'_>, part: u32, of: u32) -> Judgement {
    let (shelf, instance) = proposed(bench)?;
    let since = Instant::now();
    let outcome = shelf.decide_as_shown(Decision::Approve, &[], &instance)?;
    outcome.map_err(|why| fail(format!("a person can't approve what waits: it {why}")))?;
    let takes: Duration = since.elapsed();
    let (mut shelf, instance) = proposed(bench)?;
    let earlier = shelf.scene.view()?.library;
    shelf.decide_and_kill(Decision::Approve, &instance, takes * part / of)?;
    let is_taken = shelf.sees(By::Person, &word(PROPOSED))?;
    shelf.ensure_seen(By::Person, &word(BEFORE), !is_taken, "after a decision was killed")?;
    let again = shelf.decide(Decision::Approve, &[], &instance)?;
    ensure(again.is_ok() != is_taken, || {
        let (seen, done) = (if is_taken { "seen" } else { "not seen" }, again.is_ok());
        format!("after a decision was killed, the change is {seen}, and approving it again succeeds: {done}")
    })?;
    shelf.ensure_seen(By::Person, &word(PROPOSED), true, "which was approved")?;
    let (_, file) = shelf.export(By::Person, &json!({}))?;
    let exported = String::from_utf8_lossy(&file);
    ensure(exported.contains(&word(PROPOSED)) && !exported.contains(&word(BEFORE)), || {
        format!("the export has not what was approved: {exported}")
    })?;
    let later = shelf.scene.view()?.library;
    let commits = later.commits_since(&earlier).len();
    ensure(commits == 1 && later.status == earlier.status, || {
        format!("an approval that was killed has {commits} commits, and `git status` says: {}", later.status)
    })
}
