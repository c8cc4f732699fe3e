//! Parts of a proposal, of which a person approves some.

use super::{
    decision::{self, Decision},
    shelf::{By, Shelf, change, creation, made, word},
    tool::Tool,
    written::Written,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const EXACT: Check = Check {
    id: "review/parts",
    guarantees: &["parts-are-exact"],
    states: "A proposal approved in part becomes the note with exactly the parts that were taken, and its author goes on with the others.",
    explains: "Lets an agent propose a change that replaces a line, removes one and adds one, or a note of three sections, and approves \
               selections of these parts. In one commit the note must get the lines of the parts that were taken, and of no other. What was \
               left must stay unseen, and can't be approved until its author proposes it again, which must work.",
    cases: |bench| {
        // Each bit is a part.
        let selections: &[u8] = bench.pick(&[0b001, 0b010, 0b101, 0b110], &[1, 2, 3, 4, 5, 6]);
        let all = Proposal::ALL.into_iter();
        let case = |proposal: Proposal| {
            move |selection: &u8| {
                let parts: Vec<usize> = (1..=PARTS).filter(|part| selection >> (part - 1) & 1 == 1).collect();
                Case::new(format!("parts {parts:?} of {}", proposal.name()), Parts { proposal, parts })
            }
        };
        Ok(all.flat_map(|proposal| selections.iter().map(case(proposal))).collect())
    },
    ..Check::must(|bench, case| exact(bench, &case.read()?))
};

pub(super) const UNKNOWN: Check = Check {
    id: "review/unknown-parts",
    guarantees: &["parts-are-exact"],
    states: "Parts that a proposal does not have, or that are named twice, are refused, and nothing changes.",
    explains: "Lets an agent propose a change of three parts, and approves parts 0 and 4, and one part twice: also beside parts that are \
               there. A server that passes over them approves something else than the person meant.",
    cases: |_| {
        let all: [&[usize]; 5] = [&[0], &[4], &[2, 4], &[0, 1], &[1, 1]];
        Ok(all.map(|parts| Case::new(format!("parts {parts:?}"), parts)).into())
    },
    ..Check::must(|bench, case| unknown(bench, &case.read::<Vec<usize>>()?))
};

/// A selection of parts of a proposal.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Parts {
    proposal: Proposal,
    parts: Vec<usize>,
}

named! {
    /// A proposal of three parts.
    enum Proposal {
        /// A change: each part is a run of changed lines.
        Change = "a change",
        /// A note: each part is a section.
        Sections = "a note",
    }
}

/// Number of parts of each proposal.
const PARTS: usize = 3;

/// Lines before and after a proposal. Segments that differ are parts.
struct Segment {
    before: String,
    after: String,
}

impl Proposal {
    fn segments(self) -> Vec<Segment> {
        let sentence = |number: usize| format!("A sentence on {}, and no other.\n", word(number));
        let stays = |text: &str| Segment { before: text.to_owned(), after: text.to_owned() };
        let part = |before: String, after: String| Segment { before, after };
        let section =
            |heading: &str, number| part(String::new(), format!("{heading}\n\n{}\n", sentence(number)));
        match self {
            Self::Change => vec![
                stays("# A note\n\n"),
                part(sentence(1), sentence(2)),
                stays("The first line that stays.\n"),
                part(sentence(3), String::new()),
                stays("The second line that stays.\n"),
                part(String::new(), sentence(4)),
                stays("The last line that stays.\n"),
            ],
            Self::Sections => {
                vec![section("# A note", 1), section("## A section", 2), section("## Another section", 3)]
            }
        }
    }

    /// Returns the content with the parts of these numbers, from 1.
    fn content(self, parts: &[usize]) -> String {
        let mut number = 0;
        let mut content = String::new();
        for Segment { before, after } in self.segments() {
            number += usize::from(before != after);
            content += if parts.contains(&number) { &after } else { &before };
        }
        content
    }

    /// Returns the words that only the content without a part has, and those that only the content with it has.
    fn words(self, part: usize) -> (&'static [usize], &'static [usize]) {
        match (self, part) {
            (Self::Change, 1) => (&[1], &[2]),
            (Self::Change, 2) => (&[3], &[]),
            (Self::Change, _) => (&[], &[4]),
            (Self::Sections, 1) => (&[], &[1]),
            (Self::Sections, 2) => (&[], &[2]),
            (Self::Sections, _) => (&[], &[3]),
        }
    }

    /// Lets an agent make the proposal.
    fn make(self, shelf: &mut Shelf<'_, '_>) -> Result<Written, Stop> {
        let (tool, mut arguments) = match self {
            Self::Change => {
                let mut arguments = creation(By::Person, "");
                arguments["content"] = self.content(&[]).into();
                let note = made(shelf.must_write(By::Person, Tool::Create, &arguments)?)?;
                (Tool::Update, change(&note.id, note.version, ""))
            }
            Self::Sections => (Tool::Create, creation(By::Agent, "")),
        };
        arguments["content"] = self.whole().into();
        let proposed = shelf.must_write(By::Agent, tool, &arguments)?;
        proposed.instance()?;
        Ok(proposed)
    }

    /// Returns the content with all parts.
    fn whole(self) -> String {
        self.content(&(1..=PARTS).collect::<Vec<_>>())
    }
}

/// Fails unless the note has this version and content.
fn ensure_note(shelf: &mut Shelf<'_, '_>, id: &str, version: u64, content: &str) -> Judgement {
    let note = shelf.resource(By::Agent, &format!("note://{id}"))?;
    let is_right = note.as_ref().is_some_and(|note| {
        let is = note["content"].as_str().unwrap_or_default();
        note["version"] == version && is.trim() == content.trim()
    });
    ensure(is_right, || {
        format!("version {version} of the note should be {content:?}, but the note is {note:?}")
    })
}

fn exact(bench: &Bench<'_>, case: &Parts) -> Judgement {
    let Parts { proposal, parts } = case;
    let mut shelf = Shelf::start(bench)?;
    decision::in_parts(&shelf)?;
    let proposed = proposal.make(&mut shelf)?;
    let earlier = shelf.scene.view()?.library;
    let outcome = shelf.decide(Decision::Approve, parts, proposed.instance()?)?;
    outcome.map_err(|why| fail(format!("a person can't approve the parts {parts:?}: it {why}")))?;
    shelf.ensure_one_commit(&earlier, "an approval of parts is")?;
    ensure_note(&mut shelf, &proposed.id, proposed.version, &proposal.content(parts))?;
    for part in 1..=PARTS {
        let is_taken = parts.contains(&part);
        let (without, with) = proposal.words(part);
        for (words, should) in [(without, !is_taken), (with, is_taken)] {
            for number in words {
                let why = format!("after a person approved the parts {parts:?}");
                shelf.ensure_seen(By::Agent, &word(*number), should, &why)?;
            }
        }
    }
    let instance = proposed.instance()?;
    let what = "what was left of a proposal could be approved, although its author has not proposed it again";
    shelf.must_not_decide(|| shelf.decide(Decision::Approve, &[], instance), what)?;
    let mut arguments = change(&proposed.id, proposed.version + 1, "");
    arguments["content"] = proposal.whole().into();
    let again = shelf.write(By::Agent, Tool::Update, &arguments)?;
    let again = again.map_err(|why| {
        let message = why.message;
        fail(format!(
            "the author can't propose again what was left, as a change of the new version: {message}"
        ))
    })?;
    shelf.must_decide(Decision::Approve, again.instance()?)?;
    ensure_note(&mut shelf, &proposed.id, again.version, &proposal.whole())
}

fn unknown(bench: &Bench<'_>, parts: &[usize]) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    decision::in_parts(&shelf)?;
    let proposed = Proposal::Change.make(&mut shelf)?;
    let instance = proposed.instance()?;
    let what = format!("the parts {parts:?} of a proposal that has {PARTS} could be approved");
    shelf.must_not_decide(|| shelf.decide(Decision::Approve, parts, instance), what)?;
    shelf.must_decide(Decision::Approve, instance)
}
