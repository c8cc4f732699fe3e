//! Decisions, and their effects.

use super::{
    decision::{self, Decision},
    review::{BEFORE, Decided, PROPOSED, Proposal},
    shelf::{By, Shelf, made, word},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const DECIDED: Check = Check {
    id: "review/decided",
    guarantees: &["agents-are-reviewed"],
    states: "What a person approves is part of the library with its number, and nothing else is; a decision is one commit, and final.",
    explains: "Approves, rejects and sends back an agent's notes and changes. What was approved must be found, read and exported as it was \
               proposed; what was not must stay unseen, and a person can go on from what is there. What was decided on can't be decided \
               on again.",
    cases: |_| Ok(Decided::cases()),
    ..Check::must(|bench, case| decided(bench, case.read()?))
};

pub(super) const STALE: Check = Check {
    id: "review/stale",
    guarantees: &["locks-hold"],
    states: "A proposal whose note has changed since can't be approved.",
    explains: "Lets an agent propose a change, changes the note as a person, by the tool or by hand, and approves the proposal. That must be \
               refused and change nothing: it would undo what the person wrote, and no person has seen both. This includes \
               a note that was already edited by hand before the proposal: a further edit by hand leaves its number as it is.",
    cases: |_| Ok(Meanwhile::ALL.map(|meanwhile| Case::new(meanwhile.name(), meanwhile)).into()),
    ..Check::must(|bench, case| stale(bench, case.read()?))
};

named! {
    /// The way in which a person changes a note while a proposal waits.
    enum Meanwhile {
        Tool = "by the tool",
        Hand = "by hand",
        /// By hand, after an earlier change by hand before the proposal.
        HandAgain = "by hand, not for the first time",
    }
}

fn decided(bench: &Bench<'_>, case: Decided) -> Judgement {
    let Decided { proposal, decision } = case;
    let mut shelf = Shelf::start(bench)?;
    decision::required(&shelf)?;
    let before = shelf.create(By::Person, &word(BEFORE))?;
    let proposed = proposal.make(&mut shelf, &before, &word(PROPOSED))?;
    let earlier = shelf.scene.view()?.library;
    shelf.must_decide(decision, proposed.instance()?)?;
    shelf.ensure_one_commit(&earlier, "a decision is")?;
    let is_approved = decision == Decision::Approve;
    let is_change = proposed.id == before.id;
    let why = format!("on which a person decided: {decision}");
    for by in [By::Person, By::Agent] {
        shelf.ensure_seen(by, &word(PROPOSED), is_approved, &why)?;
        let there = !(is_approved && is_change);
        shelf.ensure_seen(by, &word(BEFORE), there, &why)?;
    }
    let (_, file) = shelf.export(By::Person, &json!({}))?;
    let exported = String::from_utf8_lossy(&file);
    ensure(exported.contains(&word(PROPOSED)) == is_approved, || {
        format!("the export does not say what was decided: {exported}")
    })?;
    if decision != Decision::Revise {
        for again in [Decision::Approve, Decision::Reject] {
            let instance = proposed.instance()?;
            let what = format!("after {decision}, a person could {again} it again");
            shelf.must_not_decide(|| shelf.decide(again, &[], instance), what)?;
        }
    }
    // A person continues from the current version.
    if is_approved || is_change {
        let version = if is_approved { proposed.version } else { before.version };
        let next = shelf.update(By::Person, &proposed.id, version, &word(3))?;
        let next = made(next)?;
        ensure(next.version == version + 1, || {
            format!("the version after {version} is {}, after a person decided: {decision}", next.version)
        })?;
        shelf.ensure_seen(By::Agent, &word(3), true, "which a person wrote")?;
    }
    Ok(())
}

fn stale(bench: &Bench<'_>, meanwhile: Meanwhile) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    decision::required(&shelf)?;
    let mut before = shelf.create(By::Person, &word(BEFORE))?;
    let path = shelf.file_with(&word(BEFORE))?;
    let edit = |shelf: &mut Shelf<'_, '_>, from: usize, to: usize| {
        let text = String::from_utf8_lossy(&shelf.scene.read(&path).unwrap_or_default()).into_owned();
        shelf.scene.put(&path, text.replace(&word(from), &word(to)))
    };
    let mut last = BEFORE;
    if meanwhile == Meanwhile::HandAgain {
        last = 4;
        edit(&mut shelf, BEFORE, last)?;
        before.version += 1;
    }
    let proposed = Proposal::Change.make(&mut shelf, &before, &word(PROPOSED))?;
    match meanwhile {
        Meanwhile::Tool => {
            made(shelf.update(By::Person, &before.id, before.version, &word(3))?)?;
        }
        Meanwhile::Hand | Meanwhile::HandAgain => edit(&mut shelf, last, 3)?,
    }
    let instance = proposed.instance()?;
    let what = "a proposal could be approved, although its note has changed since";
    shelf.must_not_decide(|| shelf.decide(Decision::Approve, &[], instance), what)?;
    shelf.ensure_seen(By::Person, &word(3), true, "which a person wrote meanwhile")?;
    shelf.ensure_seen(By::Person, &word(PROPOSED), false, "which no person has approved")
}
