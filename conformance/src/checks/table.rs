//! Changes of many documents: a case applies one effect with one content to each document that supports the effect.

use crate::{
    check::each_alone,
    checks::prelude::*,
    documents::{self, CHANGES, Content, Document},
    promises, request,
};

/// An effect with a content, and the documents to apply it to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    /// Index of the effect in [`CHANGES`].
    effect: usize,
    content: String,
    documents: Vec<String>,
}

/// Returns cases of `kinds`, each with some contents (all of them in the full profile), on the documents that `fits`
/// accepts.
pub(super) fn cases(
    bench: &Bench<'_>,
    kinds: &[EffectKind],
    fits: fn(&Bench<'_>, &Document) -> bool,
) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    let keeps = promises::are_texts_kept(bench.subject.contract);
    let all = documents::contents().iter();
    let is_promised = promises::are_of(bench.subject.contract);
    let all: Vec<_> = all
        .filter(|it| keeps || !it.text.contains('\r'))
        // An empty change may be refused.
        .filter(|it| !(is_promised && it.text.is_empty()))
        .collect();
    for (effect, kind) in CHANGES.into_iter().enumerate() {
        if !kinds.contains(&kind) || bench.subject.tool_with(kind).is_none() {
            continue;
        }
        let contents = match kind {
            EffectKind::Delete => 1,
            _ => bench.pick(2, all.len()),
        };
        for number in 0..contents {
            // In the quick profile each kind gets other contents, so that each content has some kind.
            let content = all[(number * 7 + effect) % all.len()];
            let fitting = documents::all().iter().filter(|it| fits(bench, it) && it.takes(kind));
            let row = Row {
                effect,
                content: content.name.clone(),
                documents: fitting.map(|it| it.name.clone()).collect(),
            };
            cases.push(Case::new(format!("{kind} with {}", content.name), row));
        }
    }
    Ok(cases)
}

/// Returns each document as a case of its own.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    let name = |_, document: &String| format!("{} on {document}", case.name);
    each_alone(case, |row: &mut Row| &mut row.documents, name)
}

impl Row {
    pub(super) fn kind(&self) -> EffectKind {
        CHANGES[self.effect]
    }

    pub(super) fn content(&self) -> Result<&'static Content, Stop> {
        let found = documents::contents().iter().find(|it| it.name == self.content);
        found.ok_or_else(|| Stop::Harness(format!("unknown content `{}`", self.content)))
    }

    /// Returns the documents, at paths that `applies` can name. If the contract permits few names, two may get the same path;
    /// then only the first is returned.
    pub(super) fn documents(&self, applies: &'static ToolSpec) -> Result<Vec<Document>, Stop> {
        let mut found: Vec<Document> = Vec::new();
        for name in &self.documents {
            let document = documents::named(name);
            let mut document =
                document.cloned().ok_or_else(|| Stop::Harness(format!("unknown document `{name}`")))?;
            if applies.path.is_some() {
                let Some(path) = request::place(applies, &document.path) else { continue };
                document.path = path;
            }
            if found.iter().all(|it| it.path != document.path) {
                found.push(document);
            }
        }
        nonempty(found, "no example of the contract has a path of a document to change")
    }
}

/// The refusals of valid calls in a case. A server with tools of its own need not take every document.
#[derive(Default)]
pub(super) struct Refusals {
    first: Option<Stop>,
    is_any_taken: bool,
}

impl Refusals {
    /// Adds a refused call on one document.
    ///
    /// # Errors
    /// The refusal, if the server has the contract's own tools.
    pub(super) fn add(&mut self, bench: &Bench<'_>, stop: Stop) -> Judgement {
        if bench.subject.is_native() {
            return Err(stop);
        }
        self.first.get_or_insert(stop);
        Ok(())
    }

    /// Counts an accepted call.
    pub(super) fn taken(&mut self) {
        self.is_any_taken = true;
    }

    /// Ends the case.
    ///
    /// # Errors
    /// The first refusal, if no call was accepted.
    pub(super) fn end(self) -> Judgement {
        self.first.filter(|_| !self.is_any_taken).map_or(Ok(()), Err)
    }
}

/// Creates a library of `documents`.
pub(super) fn scene<'a>(bench: &Bench<'a>, documents: &[Document]) -> Result<Scene<'a>, Stop> {
    let texts = documents.iter().map(|it| (it.path.as_str(), it.text()));
    bench.scene(&texts.collect::<Vec<_>>())
}

/// Returns the arguments of an effect on `document`.
pub(super) fn with<'a>(document: &'a Document, content: &'a str) -> With<'a> {
    With { path: &document.path, content, target: document.target.as_deref().unwrap_or_default() }
}
