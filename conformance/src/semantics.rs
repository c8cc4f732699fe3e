//! Derives from a declared effect the possible content of a document after a call.
//!
//! A contract declares which content is written and where. The server chooses the line endings and blank lines between
//! new and existing content. Every other byte must stay unchanged.

use std::ops::Range;

use serde_json::Value;
use tabellion_runtime::spec::{Effect, EffectKind};

use crate::{
    judgement::{Judgement, Shows, Stop, accepted, fail},
    markdown::{self, NoSection, Unclear},
    request::Call,
};

/// Number of bytes of line endings that a server may add before, and after, new content.
const MAX_GAP_BYTES: usize = 4;

/// Effect of a call on its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The document stays unchanged.
    None,
    /// The document is replaced by this text.
    Whole(Vec<u8>),
    /// The document is deleted.
    Gone,
    /// These bytes are replaced by this text, with line endings around it.
    Splice(Range<usize>, Vec<u8>),
}

/// Reason why a call on a document must be refused, or why it is not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Impossible {
    /// The document does not exist.
    NoDocument,
    /// The document is not UTF-8.
    NoText,
    /// No heading matches, or several do.
    NoSection(NoSection),
    /// Servers may read the document's headings differently.
    Unclear(Unclear),
    /// The contract declares no effect, or declares it by ids that only the server knows.
    NotDeclared,
}

impl Impossible {
    /// Returns true if the server must refuse the call; otherwise its effect is unknown.
    pub fn must_be_refused(&self) -> bool {
        !matches!(self, Self::Unclear(_) | Self::NotDeclared)
    }
}

/// Returns the effect of `call` on a document that holds `before`.
///
/// # Errors
/// [`Impossible`] if the server must refuse the call, or if the effect of the call is unknown.
pub fn change(call: &Call, before: Option<&[u8]>) -> Result<Change, Impossible> {
    let Call { tool, arguments } = call;
    let effect = tool.effect(arguments).ok_or(Impossible::NotDeclared)?;
    let content = || match effect.kind {
        EffectKind::AppendLine => effect
            .content
            .and_then(|at| arguments.pointer(at))
            .map(|object| object.to_string().into_bytes())
            .unwrap_or_default(),
        _ => text(arguments, effect.content).as_bytes().to_vec(),
    };
    let before = match effect.kind {
        EffectKind::Write => return Ok(Change::Whole(content())),
        _ => before.ok_or(Impossible::NoDocument)?,
    };
    let document = || str::from_utf8(before).map_err(|_| Impossible::NoText);
    let at = match effect.kind {
        EffectKind::Write | EffectKind::Read | EffectKind::ReadSection => return Ok(Change::None),
        EffectKind::Delete => return Ok(Change::Gone),
        EffectKind::Append | EffectKind::AppendLine => before.len()..before.len(),
        EffectKind::Prepend => {
            let front = markdown::front(document()?);
            front..front
        }
        EffectKind::ReplaceSection | EffectKind::InsertBefore | EffectKind::InsertAfter => {
            let document = document()?;
            let sections = markdown::sections(document).map_err(Impossible::Unclear)?;
            let section = markdown::find(document, &sections, text(arguments, effect.target));
            let section = section.map_err(Impossible::NoSection)?;
            let (start, end) = (section.heading.start, section.end);
            match effect.kind {
                EffectKind::ReplaceSection => start..end,
                EffectKind::InsertBefore => start..start,
                _ => end..end,
            }
        }
        EffectKind::InsertSection => {
            // The server chooses the section's level and the text between its heading and its content.
            let heading = text(arguments, effect.target);
            let position = effect.position.and_then(|at| arguments.pointer(at)?.as_u64());
            let sections = markdown::sections(document()?).map_err(Impossible::Unclear)?;
            let section = position.and_then(|at| sections.get(usize::try_from(at).ok()?));
            match section {
                Some(section) if heading.starts_with('#') && content().is_empty() => {
                    return Ok(Change::Splice(
                        section.heading.start..section.heading.start,
                        heading.as_bytes().to_vec(),
                    ));
                }
                _ => return Err(Impossible::NotDeclared),
            }
        }
        EffectKind::UpdateSection
        | EffectKind::DeleteSection
        | EffectKind::MoveSection
        | EffectKind::Undo
        | EffectKind::Redo => return Err(Impossible::NotDeclared),
    };
    Ok(Change::Splice(at, content()))
}

/// Fails unless the accepted `call` may change a document from `before` to `after`.
///
/// # Errors
/// The failure, with the document's expected and actual content.
pub fn allowed(call: &Call, before: Option<&[u8]>, after: Option<&[u8]>) -> Judgement {
    let path = call.path();
    let change = match change(call, before) {
        Ok(change) => change,
        Err(impossible) if !impossible.must_be_refused() => return Ok(()),
        Err(impossible) => {
            let why = match impossible {
                Impossible::NoDocument => "the document does not exist",
                Impossible::NoText => "the document is not UTF-8",
                Impossible::NoSection(NoSection::Missing) => "the heading does not exist",
                Impossible::NoSection(NoSection::Ambiguous(_)) => "several headings match",
                Impossible::Unclear(_) | Impossible::NotDeclared => "",
            };
            let failure = accepted(format!("the call was accepted although {why}"));
            return Err(failure.shows(Shows::Documents).showing(&path, before, after));
        }
    };
    let holds = match (&change, after) {
        (Change::None, _) => before == after,
        (Change::Whole(content), Some(after)) => content == after,
        (Change::Gone, None) => true,
        (Change::Splice(at, content), Some(after)) => {
            let before = before.unwrap_or_default();
            middle(before, at, after).is_some_and(|middle| is_within_line_endings(content, middle))
        }
        _ => false,
    };
    if holds {
        return Ok(());
    }
    let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
    let what = format!("`{path}` has unexpected content after {}", words(kind));
    Err(fail(what).shows(Shows::Documents).showing(&path, plainest(&change, before).as_deref(), after))
}

/// Returns the content after the change, without added line endings.
pub fn plainest(change: &Change, before: Option<&[u8]>) -> Option<Vec<u8>> {
    match change {
        Change::None => before.map(<[u8]>::to_vec),
        Change::Whole(content) => Some(content.clone()),
        Change::Gone => None,
        Change::Splice(at, content) => {
            let before = before.unwrap_or_default();
            Some([&before[..at.start], content, &before[at.end..]].concat())
        }
    }
}

/// Returns the part of `after` between the bytes of `before` on both sides of `at`; `None` if those bytes changed.
fn middle<'a>(before: &[u8], at: &Range<usize>, after: &'a [u8]) -> Option<&'a [u8]> {
    let rest = after.strip_prefix(&before[..at.start])?;
    rest.strip_suffix(&before[at.end..])
}

/// Returns true if `middle` is `content` with at most [`MAX_GAP_BYTES`] of line endings on each side. Content of line
/// endings only matches any few line endings.
fn is_within_line_endings(content: &[u8], middle: &[u8]) -> bool {
    let is_ending = |byte: &u8| matches!(byte, b'\n' | b'\r');
    (0..=MAX_GAP_BYTES.min(middle.len())).any(|start| {
        middle[..start].iter().all(is_ending)
            && middle[start..]
                .strip_prefix(content)
                .is_some_and(|end| end.len() <= MAX_GAP_BYTES && end.iter().all(is_ending))
    })
}

/// Returns a noun phrase for an effect, for failure messages.
pub fn words(kind: Option<EffectKind>) -> &'static str {
    match kind {
        None => "a call",
        Some(EffectKind::Read) => "a read",
        Some(EffectKind::Write) => "a write",
        Some(EffectKind::Delete) => "a deletion",
        Some(EffectKind::Append) => "an append",
        Some(EffectKind::Prepend) => "a prepend",
        Some(EffectKind::ReplaceSection) => "a replacement of a section",
        Some(EffectKind::InsertBefore) => "an insertion before a section",
        Some(EffectKind::InsertAfter) => "an insertion after a section",
        Some(EffectKind::AppendLine) => "an append of a line",
        Some(EffectKind::ReadSection) => "a read of a section",
        Some(EffectKind::InsertSection) => "an insertion of a section",
        Some(EffectKind::UpdateSection) => "an update of a section",
        Some(EffectKind::DeleteSection) => "a deletion of a section",
        Some(EffectKind::MoveSection) => "a move of a section",
        Some(EffectKind::Undo) => "an undo",
        Some(EffectKind::Redo) => "a redo",
    }
}

fn text<'a>(arguments: &'a Value, pointer: Option<&str>) -> &'a str {
    pointer.and_then(|at| arguments.pointer(at)?.as_str()).unwrap_or_default()
}

/// Returns the document's text in the response to a call that reads it.
///
/// # Errors
/// If the response lacks the text.
pub fn content_read<'a>(effect: &Effect, response: &'a Value) -> Result<&'a str, Stop> {
    let found = effect.content.and_then(|at| response.pointer(at)?.as_str());
    found.ok_or_else(|| fail("the response lacks the document's text").shows(Shows::Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{With, with_effect};

    const DOCUMENT: &str = "# A\n\na\n\n## B\n\nb\n\n# C\n";

    #[track_caller]
    fn judged(kind: EffectKind, before: Option<&str>, after: Option<&str>) -> bool {
        let tools = crate::contracts::CONTRACTS[0].tools.iter();
        let mut effects = tools.flat_map(|tool| tool.effects.iter().map(move |effect| (tool, effect)));
        let (tool, effect) = effects.find(|(_, effect)| effect.kind == kind).expect("declared");
        let with = With { path: "a.md", content: "new", target: "## B" };
        let call = with_effect(tool, effect, with).expect("an example");
        allowed(&call, before.map(str::as_bytes), after.map(str::as_bytes)).is_ok()
    }

    #[test]
    fn new_content_is_in_its_range_and_all_other_bytes_stay() {
        use EffectKind::{Append, Delete, InsertAfter, InsertBefore, Prepend, Read, ReplaceSection, Write};
        let cases = [
            (Read, Some("x"), Some("x"), true),
            (Read, Some("x"), Some("y"), false),
            (Write, None, Some("new"), true),
            (Write, Some("x"), Some("new\n"), false),
            (Delete, Some("x"), None, true),
            (Delete, Some("x"), Some("x"), false),
            (Delete, None, None, false),
            (Append, Some("a\n"), Some("a\nnew"), true),
            (Append, Some("a"), Some("a\r\n\r\nnew\r\n"), true),
            (Append, Some("a\n"), Some("a\nnewnew"), false),
            (Append, Some("a\r\n"), Some("a\nnew"), false),
            (Append, None, Some("new"), false),
            (Prepend, Some("---\na: 1\n---\nb\n"), Some("---\na: 1\n---\nnew\n\nb\n"), true),
            (Prepend, Some("---\na: 1\n---\nb\n"), Some("new\n---\na: 1\n---\nb\n"), false),
            (ReplaceSection, Some(DOCUMENT), Some("# A\n\na\n\nnew\n\n# C\n"), true),
            (ReplaceSection, Some(DOCUMENT), Some("# A\n\na\n\n## B\nnew\n\n# C\n"), false),
            (InsertBefore, Some(DOCUMENT), Some("# A\n\na\n\nnew\n\n## B\n\nb\n\n# C\n"), true),
            (InsertAfter, Some(DOCUMENT), Some("# A\n\na\n\n## B\n\nb\n\nnew\n\n# C\n"), true),
            (InsertAfter, Some(DOCUMENT), Some("# A\n\na\n\n## B\n\nb\n\n# C\nnew\n"), false),
            (InsertAfter, Some("# A\n"), Some("# A\nnew\n"), false),
        ];
        for (kind, before, after, expected) in cases {
            assert_eq!(judged(kind, before, after), expected, "{kind:?} {before:?} {after:?}");
        }
    }
}
