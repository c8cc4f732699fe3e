//! What a document may be after a call, from the effect that the contract declares.
//!
//! A contract says what comes and where it comes to; which line endings and blank lines go between what comes and what is
//! there is the server's to choose. Nothing else is: every other byte stays.

use std::ops::Range;

use serde_json::Value;
use tabellion_runtime::spec::{Effect, EffectKind};

use crate::{
    judgement::{Judgement, Stop, fail},
    markdown::{self, NoSection},
    request::Call,
};

/// How many bytes of line endings may be added before and after new content.
const MAX_GAP_BYTES: usize = 4;

/// What a call does to its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing: it is only read.
    None,
    /// It becomes this.
    Whole(Vec<u8>),
    /// It goes.
    Gone,
    /// This comes in the place of these bytes, with line endings around it as the server likes.
    Splice(Range<usize>, Vec<u8>),
}

/// Why a call can't be made on a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Impossible {
    /// There is no such document.
    NoDocument,
    /// It is no text.
    NoText,
    /// The heading is not there, or several times.
    NoSection(NoSection),
    /// The contract does not say what the call does, or says it by ids that only the server knows.
    NotDeclared,
}

/// What `call` does to a document that holds `before`.
///
/// # Errors
/// [`Impossible`]; such a call must be refused.
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
            let sections = markdown::sections(document);
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
            // How deep the section is, and what stands between its heading and its text, is the server's to say.
            let heading = text(arguments, effect.target);
            let position = effect.position.and_then(|at| arguments.pointer(at)?.as_u64());
            let sections = markdown::sections(document()?);
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

/// Fails unless a document that held `before` may hold `after` when `call` has been accepted.
///
/// # Errors
/// The failure, which shows the document.
pub fn allowed(call: &Call, before: Option<&[u8]>, after: Option<&[u8]>) -> Judgement {
    let path = call.path();
    let change = match change(call, before) {
        Ok(change) => change,
        Err(Impossible::NotDeclared) => return Ok(()),
        Err(impossible) => {
            let why = match impossible {
                Impossible::NoDocument => "there is no such document",
                Impossible::NoText => "the document is no text",
                Impossible::NoSection(NoSection::Missing) => "there is no such heading",
                Impossible::NoSection(NoSection::Ambiguous(_)) => "several headings match",
                Impossible::NotDeclared => "",
            };
            return Err(fail(format!("the call was accepted although {why}")).showing(&path, before, after));
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
    let what = format!(
        "after {} of `{path}`, the document is not what it should be",
        words(kind)
    );
    Err(fail(what).showing(&path, plainest(&change, before).as_deref(), after))
}

/// What a call makes of a document, in the plainest way.
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

/// What stands in `after` between the bytes of `before` on both sides of `at`; `None` where those are not there.
fn middle<'a>(before: &[u8], at: &Range<usize>, after: &'a [u8]) -> Option<&'a [u8]> {
    let rest = after.strip_prefix(&before[..at.start])?;
    rest.strip_suffix(&before[at.end..])
}

/// Whether `middle` is `content` with a few line endings around it. What is only line endings may be any few of them.
fn is_within_line_endings(content: &[u8], middle: &[u8]) -> bool {
    let is_ending = |byte: &u8| matches!(byte, b'\n' | b'\r');
    (0..=MAX_GAP_BYTES.min(middle.len())).any(|start| {
        middle[..start].iter().all(is_ending)
            && middle[start..]
                .strip_prefix(content)
                .is_some_and(|end| end.len() <= MAX_GAP_BYTES && end.iter().all(is_ending))
    })
}

/// The words for what is done.
pub fn words(kind: Option<EffectKind>) -> &'static str {
    match kind {
        None => "a call",
        Some(EffectKind::Read) => "a reading",
        Some(EffectKind::Write) => "a write",
        Some(EffectKind::Delete) => "a deletion",
        Some(EffectKind::Append) => "an appending",
        Some(EffectKind::Prepend) => "a prepending",
        Some(EffectKind::ReplaceSection) => "a replacement of a section",
        Some(EffectKind::InsertBefore) => "an insertion before a section",
        Some(EffectKind::InsertAfter) => "an insertion after a section",
        Some(EffectKind::AppendLine) => "an appending of a line",
        Some(EffectKind::ReadSection) => "a reading of a section",
        Some(EffectKind::InsertSection) => "an insertion of a section",
        Some(EffectKind::UpdateSection) => "an update of a section",
        Some(EffectKind::DeleteSection) => "a deletion of a section",
        Some(EffectKind::MoveSection) => "a move of a section",
        Some(EffectKind::Undo) => "an undo",
        Some(EffectKind::Redo) => "a redo",
    }
}

fn text<'a>(arguments: &'a Value, pointer: Option<&str>) -> &'a str {
    pointer
        .and_then(|at| arguments.pointer(at)?.as_str())
        .unwrap_or_default()
}

/// What a response of a reading call says that the document holds.
///
/// # Errors
/// When the response has no such text.
pub fn content_read<'a>(effect: &Effect, response: &'a Value) -> Result<&'a str, Stop> {
    let found = effect.content.and_then(|at| response.pointer(at)?.as_str());
    found.ok_or_else(|| fail("the response does not have the document's text"))
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
        let with = With {
            path: "a.md",
            content: "new",
            target: "## B",
        };
        let call = with_effect(tool, effect, with).expect("an example");
        allowed(&call, before.map(str::as_bytes), after.map(str::as_bytes)).is_ok()
    }

    #[test]
    fn what_comes_is_where_it_should_be_and_all_else_stays() {
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
            (
                Prepend,
                Some("---\na: 1\n---\nb\n"),
                Some("---\na: 1\n---\nnew\n\nb\n"),
                true,
            ),
            (
                Prepend,
                Some("---\na: 1\n---\nb\n"),
                Some("new\n---\na: 1\n---\nb\n"),
                false,
            ),
            (
                ReplaceSection,
                Some(DOCUMENT),
                Some("# A\n\na\n\nnew\n\n# C\n"),
                true,
            ),
            (
                ReplaceSection,
                Some(DOCUMENT),
                Some("# A\n\na\n\n## B\nnew\n\n# C\n"),
                false,
            ),
            (
                InsertBefore,
                Some(DOCUMENT),
                Some("# A\n\na\n\nnew\n\n## B\n\nb\n\n# C\n"),
                true,
            ),
            (
                InsertAfter,
                Some(DOCUMENT),
                Some("# A\n\na\n\n## B\n\nb\n\nnew\n\n# C\n"),
                true,
            ),
            (
                InsertAfter,
                Some(DOCUMENT),
                Some("# A\n\na\n\n## B\n\nb\n\n# C\nnew\n"),
                false,
            ),
            (InsertAfter, Some("# A\n"), Some("# A\nnew\n"), false),
        ];
        for (kind, before, after, expected) in cases {
            assert_eq!(
                judged(kind, before, after),
                expected,
                "{kind:?} {before:?} {after:?}"
            );
        }
    }
}
