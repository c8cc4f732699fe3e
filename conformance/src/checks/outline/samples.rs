//! The documents of the table, each tried in the place of a contract's one document.

use serde::{Deserialize, Serialize};

use super::editor::Editor;
use crate::{
    check::{Bench, Case},
    documents::{self, Document},
    judgement::{Judgement, Stop},
    layout::DOCUMENT,
    markdown::{self, Section},
    scene::Scene,
};

/// Names of documents that are tried one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::checks) struct Samples(Vec<String>);

/// Cases of a few documents each; in the quick profile, of every fourth.
pub(in crate::checks) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let fitting = documents::all()
        .iter()
        .filter(|it| it.name != "carriage returns alone");
    let step = bench.pick(4, 1);
    let names: Vec<_> = fitting.step_by(step).map(|it| it.name.clone()).collect();
    let cases = names
        .chunks(4)
        .map(|names| Case::new(names.join(", "), Samples(names.to_vec())));
    Ok(cases.collect())
}

/// Each document by itself.
pub(in crate::checks) fn shrink(case: &Case) -> Vec<Case> {
    match case.read() {
        Ok(Samples(names)) if names.len() > 1 => {
            let all = names.into_iter();
            all.map(|name| Case::new(name.clone(), Samples(vec![name])))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Judges each document: with it in the folder, committed, and an editor that runs.
pub(in crate::checks) fn each(
    bench: &Bench<'_>,
    case: &Case,
    judge: impl Fn(&Scene<'_>, &mut Editor<'_>, &Document) -> Judgement,
) -> Judgement {
    let Samples(names) = case.read()?;
    let scene = bench.scene(&[(DOCUMENT, "# Plan\n")])?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    for name in &names {
        let document = documents::named(name);
        let document = document.ok_or_else(|| Stop::Harness(format!("there is no document `{name}`")))?;
        bench.trace.did(format!("the document is {}", document.name));
        judge(&scene, &mut editor, document)?;
    }
    Ok(())
}

/// Puts a text into the folder as a person does, and commits it.
pub(in crate::checks) fn begin(scene: &Scene<'_>, text: &str) -> Result<(), Stop> {
    scene.put(DOCUMENT, text)?;
    scene.commit_all("a document")
}

/// The document as it lies in the folder; empty where there is none.
pub(in crate::checks) fn held(scene: &Scene<'_>) -> String {
    let bytes = scene.read(DOCUMENT).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether an edit of the document may be refused: it is odd, or ends within something that a heading would be part of.
pub(in crate::checks) fn may_refuse(document: &Document) -> bool {
    let text = document.text();
    let with_one_more = format!("{text}\n\n# One more\n");
    document.odd || sections(&with_one_more).len() == sections(&text).len()
}

/// A section as the tester sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::checks) struct Seen {
    /// Its heading's text.
    pub heading: String,
    /// How deep it is.
    pub level: u8,
    /// Where its heading begins.
    pub start: usize,
    /// Where its own text begins and ends.
    pub own: std::ops::Range<usize>,
    /// Where it ends, with the sections in it.
    pub end: usize,
    /// How many sections it is, with those in it.
    pub size: usize,
}

/// The sections of a text.
pub(in crate::checks) fn sections(text: &str) -> Vec<Seen> {
    let all = markdown::sections(text);
    let seen = |(number, section): (usize, &Section)| {
        let next = all.get(number + 1).map_or(text.len(), |next| next.heading.start);
        let inside = all[number + 1..]
            .iter()
            .take_while(|it| it.heading.start < section.end);
        Seen {
            heading: section.text.clone(),
            level: section.level,
            start: section.heading.start,
            own: section.heading.end.min(next)..next,
            end: section.end,
            size: 1 + inside.count(),
        }
    };
    all.iter().enumerate().map(seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_own_text_and_those_in_it() {
        let text = "intro\n# A\n\na\n\n## B\nb\n# C\n";
        let seen: Vec<_> = sections(text)
            .iter()
            .map(|it| {
                (
                    it.heading.clone(),
                    text[it.own.clone()].to_owned(),
                    it.size,
                    &text[it.start..it.end] == "# C\n",
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("A".into(), "\n\na\n\n".into(), 2, false),
                ("B".into(), "\nb\n".into(), 1, false),
                ("C".into(), "\n".into(), 1, true),
            ]
        );
    }
}
