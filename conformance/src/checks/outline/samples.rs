//! The documents of the table, each as the contract's single document.

use super::editor::Editor;
use crate::{
    check::each_alone,
    checks::prelude::*,
    documents::{self, Document},
    layout::DOCUMENT,
    markdown::{self, Section},
};

/// Names of documents, in the order of use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::checks) struct Samples(Vec<String>);

/// Returns cases of a few documents each; in the quick profile, of every fourth document.
pub(in crate::checks) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let fitting = documents::all().iter().filter(|it| it.name != "carriage returns alone");
    let step = bench.pick(4, 1);
    let names: Vec<_> = fitting.step_by(step).map(|it| it.name.clone()).collect();
    let cases = names.chunks(4).map(|names| Case::new(names.join(", "), Samples(names.to_vec())));
    Ok(cases.collect())
}

/// Returns each document as a case of its own.
pub(in crate::checks) fn shrink(case: &Case) -> Vec<Case> {
    each_alone(case, |Samples(names): &mut Samples| names, |_, name| name.clone())
}

/// Runs `judge` for each document, with one editor.
pub(in crate::checks) fn for_each_document(
    bench: &Bench<'_>,
    case: &Case,
    judge: impl Fn(&Scene<'_>, &mut Editor<'_>, &Document) -> Judgement,
) -> Judgement {
    let Samples(names) = case.read()?;
    let scene = bench.scene(&[(DOCUMENT, "# Plan\n")])?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    for name in &names {
        let document = documents::named(name);
        let document = document.ok_or_else(|| Stop::Harness(format!("unknown document `{name}`")))?;
        bench.trace.did(format!("the document is {}", document.name));
        judge(&scene, &mut editor, document)?;
    }
    Ok(())
}

/// Saves and commits the document as a person does.
pub(in crate::checks) fn commit_document(scene: &Scene<'_>, text: &str) -> Result<(), Stop> {
    scene.put(DOCUMENT, text)?;
    scene.commit_all("a document")
}

/// Returns the document's text in the folder; empty if it is missing.
pub(in crate::checks) fn document_text(scene: &Scene<'_>) -> String {
    let bytes = scene.read(DOCUMENT).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns true if an edit may be refused: the document is odd, or ends within a block that would swallow a heading.
pub(in crate::checks) fn may_refuse(document: &Document) -> bool {
    let text = document.text();
    let with_one_more = format!("{text}\n\n# One more\n");
    let count = |text: &str| markdown::sections(text).map(|all| all.len());
    document.odd || count(&with_one_more) == count(&text)
}

/// A section according to the suite's parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::checks) struct SectionView {
    /// Text of the heading.
    pub heading: String,
    /// Level of the heading.
    pub level: u8,
    /// Offset of the heading.
    pub start: usize,
    /// Range of the section's own text.
    pub own: std::ops::Range<usize>,
    /// End of the section with its nested sections.
    pub end: usize,
    /// Number of sections, counting itself and nested ones.
    pub size: usize,
}

/// Returns the sections of a text.
///
/// # Errors
/// [`Stop::NotShown`] if parsers may disagree about them.
pub(in crate::checks) fn sections(text: &str) -> Result<Vec<SectionView>, Stop> {
    let all = markdown::sections(text).map_err(|unclear| not_shown(unclear.to_string()))?;
    let view = |(number, section): (usize, &Section)| {
        let next = all.get(number + 1).map_or(text.len(), |next| next.heading.start);
        let inside = all[number + 1..].iter().take_while(|it| it.heading.start < section.end);
        SectionView {
            heading: section.text.clone(),
            level: section.level,
            start: section.heading.start,
            own: section.heading.end.min(next)..next,
            end: section.end,
            size: 1 + inside.count(),
        }
    };
    Ok(all.iter().enumerate().map(view).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_own_text_and_nested_sections() {
        let text = "intro\n# A\n\na\n\n## B\nb\n# C\n";
        let parsed: Vec<_> = sections(text)
            .unwrap()
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
            parsed,
            [
                ("A".into(), "\n\na\n\n".into(), 2, false),
                ("B".into(), "\nb\n".into(), 1, false),
                ("C".into(), "\n".into(), 1, true),
            ]
        );
    }
}
