//! Pending notes are unseen, and authors can't approve their own.

use super::{
    decision::{self, Decision},
    shelf::{By, Shelf, change, content, creation, word},
    tool::Tool,
    written::Written,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const PENDING_UNSEEN: Check = Check {
    id: "review/pending-unseen",
    guarantees: &["agents-are-reviewed"],
    states: "What waits for a person is in no search, export, link or resource, and changes nothing that is there.",
    explains: "Lets an agent create and change notes, and a person store what an AI wrote. Then the person and the agent search for it, export \
               everything, link with it and read it: none of it may turn up, and what is there must be as it was. A library that shows what \
               no person has approved passes it on to the next agent as knowledge.",
    cases: |_| Ok(Proposal::ALL.map(|it| Case::new(it.name(), it)).into()),
    ..Check::must(|bench, case| unseen(bench, case.read()?))
};

pub(super) const OWN: Check = Check {
    id: "review/own",
    guarantees: &["nobody-approves-their-own"],
    states: "No caller approves what they have proposed.",
    explains: "Stores what an AI wrote as the person who then decides, who must be refused; the proposal must still wait, and nothing else may \
               have changed. Over HTTP it is not known whose key the command has, and it is not tested.",
    cases: |bench| {
        if bench.subject.launch.is_http() {
            return Err(not_applicable("over HTTP it is not known who the person is that decides"));
        }
        Ok(Decision::ALL.map(|decision| Case::new(decision.to_string(), decision)).into())
    },
    ..Check::must(|bench, case| own(bench, case.read()?))
};

named! {
    /// The kind of a proposal.
    pub(super) enum Proposal {
        /// A note, by an agent.
        Note = "an agent's note",
        /// A change, by an agent.
        Change = "an agent's change",
        /// A note of an AI, by a person.
        ByPerson = "an AI's note, stored by a person",
    }
}

impl Proposal {
    /// Returns its author.
    pub(super) const fn author(self) -> By {
        match self {
            Self::Note | Self::Change => By::Agent,
            Self::ByPerson => By::Person,
        }
    }

    /// Proposes it with this word; a change edits the note `of`.
    pub(super) fn make(self, shelf: &mut Shelf<'_, '_>, of: &Written, word: &str) -> Result<Written, Stop> {
        let (tool, arguments) = match self {
            Self::Note => (Tool::Create, creation(By::Agent, word)),
            Self::Change => (Tool::Update, change(&of.id, of.version, word)),
            Self::ByPerson => {
                let arguments = json!({
                    "content": content(word),
                    "note_type": "agent_generated",
                    "ai_justification": "the suite asks for it",
                });
                (Tool::Create, arguments)
            }
        };
        let written = shelf.must_write(self.author(), tool, &arguments)?;
        written.instance()?;
        Ok(written)
    }
}

/// A decision on a proposal.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Decided {
    pub(super) proposal: Proposal,
    pub(super) decision: Decision,
}

impl Decided {
    /// Returns a case for each decision on a proposal of an agent.
    pub(super) fn cases() -> Vec<Case> {
        let all = [Proposal::Note, Proposal::Change].into_iter().flat_map(|proposal| {
            Decision::ALL.map(|decision| {
                Case::new(format!("{}: {decision}", proposal.name()), Self { proposal, decision })
            })
        });
        all.collect()
    }
}

/// Word of the existing note.
pub(super) const BEFORE: usize = 1;
/// Word of the proposal.
pub(super) const PROPOSED: usize = 2;

fn unseen(bench: &Bench<'_>, proposal: Proposal) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let before = shelf.create(By::Person, &word(BEFORE))?;
    let there = shelf.file_with(&word(BEFORE))?;
    let bytes = shelf.scene.read(&there);
    let proposed = proposal.make(&mut shelf, &before, &word(PROPOSED))?;
    ensure(shelf.scene.read(&there) == bytes, || {
        format!("`{there}` has changed, although the change waits")
    })?;
    for by in [By::Person, By::Agent] {
        shelf.ensure_seen(by, &word(PROPOSED), false, "which no person has approved")?;
        shelf.ensure_seen(by, &word(BEFORE), true, "which is there")?;
        let (answer, file) = shelf.export(by, &json!({}))?;
        let text = String::from_utf8_lossy(&file);
        ensure(!text.contains(&word(PROPOSED)) && answer["note_count"] == 1, || {
            format!("the export has what no person has approved: {answer}")
        })?;
        let read = shelf.resource(by, &format!("note://{}", proposed.id))?;
        let shows = read.is_some_and(|note| note.to_string().contains(&word(PROPOSED)));
        ensure(!shows, || {
            format!("`note://{}` can be read, although no person has approved it", proposed.id)
        })?;
    }
    if proposed.id != before.id {
        for (source, target) in [(&before.id, &proposed.id), (&proposed.id, &before.id)] {
            let link =
                json!({ "source_note_id": source, "target_note_id": target, "relation_type": "cites" });
            let why = "although one of the notes waits for a person";
            shelf.must_not(By::Agent, Tool::Link, &link, why)?;
        }
    }
    shelf.restart()?;
    shelf.ensure_seen(By::Person, &word(PROPOSED), false, "which no person has approved, after a restart")
}

fn own(bench: &Bench<'_>, decision: Decision) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    decision::required(&shelf)?;
    let before = shelf.create(By::Person, &word(BEFORE))?;
    let proposed = Proposal::ByPerson.make(&mut shelf, &before, &word(PROPOSED))?;
    let instance = proposed.instance()?;
    let what = format!("the author of a proposal could {decision} it");
    shelf.must_not_decide(|| shelf.decide(decision, &[], instance), what)?;
    shelf.ensure_seen(By::Person, &word(PROPOSED), false, "on which only its author has decided")
}
