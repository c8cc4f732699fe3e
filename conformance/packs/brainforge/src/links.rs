//! Links between notes.

use super::{
    shelf::{By, Shelf, made, word},
    tool::Tool,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const ENDS: Check = Check {
    id: "links/ends",
    guarantees: &["links-are-sound"],
    states: "A link has two ends, which are different notes of the library.",
    explains: "Links a note with itself and with notes that do not exist, and to ids that are none. All of it must be refused and change \
               nothing: a link that leads nowhere is found by everyone who follows it.",
    cases: |_| Ok(Ends::ALL.map(|ends| Case::new(ends.name(), ends)).into()),
    ..Check::must(|bench, case| ends(bench, case.read()?))
};

pub(super) const ONCE: Check = Check {
    id: "links/once",
    guarantees: &["links-are-sound"],
    states: "A link is there once for its ends and its relation, with the id of the first call, and is read from both ends.",
    explains: "Makes links of several relations in both directions, each of them twice, also after a restart and as another caller. The second \
               call must answer with the first one's id and time, and change no file; the others must have ids of their own. Both notes \
               must then list them.",
    ..Check::must(|bench, _| once(bench))
};

/// An id that no note has.
const ABSENT: &str = "00000000-0000-4000-8000-000000000000";

named! {
    /// Impossible ends of a link.
    enum Ends {
        Itself = "with itself",
        ToAbsent = "to a note that does not exist",
        FromAbsent = "from a note that does not exist",
        NoId = "to what is no id",
    }
}

fn link(source: &str, target: &str, relation: &str) -> Value {
    json!({ "source_note_id": source, "target_note_id": target, "relation_type": relation })
}

fn ends(bench: &Bench<'_>, ends: Ends) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let note = made(shelf.create(By::Person, &word(0))?)?;
    let (source, target) = match ends {
        Ends::Itself => (&*note.id, &*note.id),
        Ends::ToAbsent => (&*note.id, ABSENT),
        Ends::FromAbsent => (ABSENT, &*note.id),
        Ends::NoId => (&*note.id, "../secret"),
    };
    for by in [By::Person, By::Agent] {
        let why = format!("a link {}", ends.name());
        shelf.must_not(by, Tool::Link, &link(source, target, "cites"), &why)?;
    }
    Ok(())
}

/// Returns the identity of a link in an answer.
fn identity(answer: &Value) -> Result<(String, String), Stop> {
    let text = |key: &str| answer[key].as_str().map(str::to_owned);
    let found = text("link_id").zip(text("created_at"));
    found.ok_or_else(|| fail(format!("the answer lacks an id or a time: {answer}")))
}

fn once(bench: &Bench<'_>) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let one = made(shelf.create(By::Person, &word(0))?)?.id;
    let other = made(shelf.create(By::Person, &word(1))?)?.id;
    let links = [link(&one, &other, "cites"), link(&one, &other, "supports"), link(&other, &one, "cites")];
    let mut first = Vec::new();
    for link in &links {
        first.push(identity(&shelf.must(By::Person, Tool::Link, link)?)?);
    }
    for by in [By::Person, By::Agent] {
        for (link, first) in links.iter().zip(&first) {
            let before = shelf.scene.view()?;
            let again = identity(&shelf.must(by, Tool::Link, link)?)?;
            ensure(again == *first, || {
                format!("the link `{link}` is {first:?}, and {again:?} when it is made again")
            })?;
            let changed = shelf.scene.view()?.library.changed_since(&before.library);
            ensure(changed.is_empty(), || {
                format!("a link that was there is made again, and {changed:?} change")
            })?;
        }
        shelf.restart()?;
    }
    let mut ids: Vec<_> = first.iter().map(|(id, _)| id.clone()).collect();
    ids.sort();
    ids.dedup();
    ensure(ids.len() == links.len(), || format!("{} links have these ids: {ids:?}", links.len()))?;
    for (note, out) in [(&one, 2), (&other, 1)] {
        let uri = format!("note://{note}/links");
        let read = shelf.resource(By::Agent, &uri)?.unwrap_or_default();
        let many = |side: &str| read[side].as_array().map_or(0, Vec::len);
        ensure((many("out"), many("in")) == (out, links.len() - out), || {
            format!("`{uri}` should list {out} links out of it and the others into it: {read}")
        })?;
    }
    Ok(())
}
