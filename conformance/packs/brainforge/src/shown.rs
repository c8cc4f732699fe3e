//! Decisions on a proposal that was revised after it was shown.

use super::{
    decision::{self, Decision},
    review::{BEFORE, Decided, PROPOSED},
    shelf::{By, Shelf, word},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "review/shown",
    guarantees: &["decides-what-was-shown"],
    states: "A decision on a proposal that was revised after the person was shown it is refused, and changes nothing.",
    explains: "Shows a person an agent's proposal, lets the agent revise it, and then decides as the person who has seen the first version: by \
               approval, rejection and sending back. That must be refused, since an approval would publish what no person has read. Shown \
               the proposal again, the person must be able to decide on it.",
    cases: |_| Ok(Decided::cases()),
    ..Check::must(|bench, case| shown(bench, case.read()?))
};

/// Word of the revision.
const REVISED: usize = 3;

fn shown(bench: &Bench<'_>, case: Decided) -> Judgement {
    let Decided { proposal, decision } = case;
    let mut shelf = Shelf::start(bench)?;
    decision::shown(&shelf)?;
    let before = shelf.create(By::Person, &word(BEFORE))?;
    let proposed = proposal.make(&mut shelf, &before, &word(PROPOSED))?;
    shelf.must_show(proposed.instance()?)?;
    let revised = shelf.update(By::Agent, &proposed.id, proposed.version, &word(REVISED))?;
    let instance = proposed.instance()?;
    let what = format!("a person could {decision} a revision of a proposal without having been shown it");
    shelf.must_not_decide(|| shelf.decide_as_shown(decision, &[], instance), what)?;
    shelf.must_decide(decision, revised.instance()?)?;
    let is_approved = decision == Decision::Approve;
    let why = format!("on which a person decided: {decision}");
    shelf.ensure_seen(By::Agent, &word(REVISED), is_approved, &why)?;
    shelf.ensure_seen(By::Agent, &word(PROPOSED), false, "which its author has revised")
}
