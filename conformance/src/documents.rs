//! Documents and texts that many checks share, read from `documents.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use tabellion_runtime::spec::EffectKind;

/// A document, split into the parts that a change replaces or keeps. The head of `documents.toml` describes them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Unique name: the property that sets it apart.
    pub name: String,
    /// Unique path.
    pub path: String,
    #[serde(default)]
    head: String,
    #[serde(default)]
    lead: String,
    #[serde(default)]
    section: String,
    #[serde(default)]
    rest: String,
    /// Heading of the section.
    pub target: Option<String>,
    /// True if a server may refuse to change the document.
    #[serde(default)]
    pub odd: bool,
}

/// A text to write to a document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Unique name: the property that sets it apart.
    pub name: String,
    /// The text.
    pub text: String,
    /// True if a server may refuse the text.
    #[serde(default)]
    pub odd: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    document: Vec<Document>,
    content: Vec<Content>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table: Table =
        toml::from_str(include_str!("../documents.toml")).expect("`documents.toml` is valid");
    for it in &mut table.document {
        for part in [&mut it.head, &mut it.lead, &mut it.section, &mut it.rest] {
            *part = filled(part);
        }
    }
    table
});

/// Returns all documents.
pub fn all() -> &'static [Document] {
    &TABLE.document
}

/// Returns the document with this name.
pub fn named(name: &str) -> Option<&'static Document> {
    all().iter().find(|it| it.name == name)
}

/// Returns all texts.
pub fn contents() -> &'static [Content] {
    &TABLE.content
}

/// The kinds of effects that change a document, in an order in which each can follow the one before.
pub const CHANGES: [EffectKind; 7] = [
    EffectKind::Write,
    EffectKind::Append,
    EffectKind::Prepend,
    EffectKind::ReplaceSection,
    EffectKind::InsertBefore,
    EffectKind::InsertAfter,
    EffectKind::Delete,
];

/// Returns true if an effect of this kind needs a section.
pub fn on_section(kind: EffectKind) -> bool {
    use EffectKind::{InsertAfter, InsertBefore, ReplaceSection};
    matches!(kind, ReplaceSection | InsertBefore | InsertAfter)
}

impl Document {
    /// Returns the whole text.
    pub fn text(&self) -> String {
        [&*self.head, &self.lead, &self.section, &self.rest].concat()
    }

    /// Returns true if it contains no text that careless servers rewrite or refuse: an ordinary name, and neither head, nor carriage
    /// returns, nor blanks at the ends of lines.
    pub fn is_plain(&self) -> bool {
        let text = self.text();
        let is_bare = self.head.is_empty() && !text.contains('\r') && !text.starts_with("---");
        let is_bare = is_bare
            && self.path.ends_with(".md")
            && !self.path.contains(['"', ' '])
            && !self.path.contains("/-");
        is_bare && text.lines().all(|line| line.trim_end() == line)
    }

    /// Returns true if an effect of this kind is possible on the document.
    pub fn takes(&self, kind: EffectKind) -> bool {
        self.target.is_some() || !on_section(kind)
    }

    /// Judges `after`, the document after a change of this kind with `content`. Every byte outside of the change must
    /// be unchanged, and the changed range must hold `content` alone, with line endings around it.
    ///
    /// # Errors
    /// A description of the first difference.
    pub fn judge(&self, kind: EffectKind, content: &str, after: Option<&[u8]>) -> Result<(), String> {
        let Self { head, lead, section, rest, .. } = self;
        let (before, behind) = match kind {
            EffectKind::Read | EffectKind::ReadSection => return Ok(()),
            EffectKind::Delete if after.is_none() => return Ok(()),
            EffectKind::Delete => return Err("the document still exists".into()),
            EffectKind::Write if after == Some(content.as_bytes()) => return Ok(()),
            EffectKind::Write => return Err("the document does not hold the written content".into()),
            EffectKind::Append | EffectKind::AppendLine => (self.text(), String::new()),
            EffectKind::Prepend => (head.clone(), [&**lead, section, rest].concat()),
            EffectKind::ReplaceSection => ([&**head, lead].concat(), rest.clone()),
            EffectKind::InsertBefore => ([&**head, lead].concat(), [&**section, rest].concat()),
            EffectKind::InsertAfter => ([&**head, lead, section].concat(), rest.clone()),
            EffectKind::InsertSection
            | EffectKind::UpdateSection
            | EffectKind::DeleteSection
            | EffectKind::MoveSection
            | EffectKind::Undo
            | EffectKind::Redo => {
                return Err("the effect of this call cannot be judged from the text alone".into());
            }
        };
        let after = after.ok_or("the document is gone")?;
        let middle = after
            .strip_prefix(before.as_bytes())
            .ok_or_else(|| first_difference("from the beginning", before.bytes(), after.iter().copied()))?;
        let middle = middle.strip_suffix(behind.as_bytes()).ok_or_else(|| {
            let (old, new) = (behind.bytes().rev(), middle.iter().rev().copied());
            first_difference("from the end", old, new)
        })?;
        let is_bare = |text: &[u8], content: &[u8]| {
            let ending = |byte: &u8| matches!(byte, b'\r' | b'\n');
            let start = |text: &[u8]| text.iter().take_while(|byte| ending(byte)).count();
            let bare = |text: &[u8]| {
                let text = text[start(text)..].to_vec();
                let end = text.iter().rev().take_while(|byte| ending(byte)).count();
                text[..text.len() - end].to_vec()
            };
            bare(text) == bare(content)
        };
        if is_bare(middle, content.as_bytes()) {
            Ok(())
        } else {
            let middle = String::from_utf8_lossy(middle);
            Err(format!("expected {content:?}, found {:?}", cut(&middle)))
        }
    }
}

fn first_difference(
    whence: &str,
    old: impl Iterator<Item = u8>,
    mut new: impl Iterator<Item = u8>,
) -> String {
    let mut at = 0;
    for old in old {
        let new = new.next();
        if new != Some(old) {
            let new = new.map_or("nothing".to_owned(), |new| format!("0x{new:02x}"));
            return format!("byte {at} {whence}, outside of the change, was 0x{old:02x} and is {new}");
        }
        at += 1;
    }
    format!("it differs at byte {at} {whence}")
}

/// Returns the first hundred characters.
fn cut(text: &str) -> String {
    text.chars().take(100).collect()
}

/// Returns `text` with each `{word*3}` replaced by `wordwordword`.
pub fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let repeated = after.split_once('}').and_then(|(inside, behind)| {
            let (word, times) = inside.rsplit_once('*')?;
            Some((word.repeat(times.parse().ok()?), behind))
        });
        match repeated {
            Some((repeated, behind)) => {
                filled.push_str(&repeated);
                rest = behind;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::markdown;

    #[test]
    fn the_parts_of_each_document_match_the_parser() {
        let names: HashSet<_> = all().iter().map(|it| &it.name).collect();
        let paths: HashSet<_> = all().iter().map(|it| &it.path).collect();
        assert_eq!((names.len(), paths.len()), (all().len(), all().len()));
        for document in all() {
            let text = document.text();
            assert_eq!(markdown::front(&text), document.head.len(), "{}", document.name);
            let Some(target) = &document.target else {
                continue;
            };
            let sections = markdown::sections(&text).expect(&document.name);
            let found = markdown::find(&text, &sections, target).expect(&document.name);
            let start = document.head.len() + document.lead.len();
            assert_eq!(
                (found.heading.start, found.end),
                (start, start + document.section.len()),
                "{}",
                document.name
            );
        }
    }

    #[test]
    fn bytes_outside_of_the_change_must_stay() {
        let plain = named("plain").unwrap();
        let judged = |kind, after: &str| plain.judge(kind, "new", Some(after.as_bytes())).is_ok();
        let text = plain.text();
        assert!(judged(EffectKind::Append, &format!("{text}\nnew\n")));
        assert!(!judged(EffectKind::Append, &format!("{text}newer")));
        assert!(!judged(EffectKind::Append, &format!("{}new", text.replace('\n', "\r\n"))));
        assert!(judged(EffectKind::ReplaceSection, "# Plan\n\nIntro.\n\nnew\n\n## Later\n\nNothing.\n"));
        assert!(!judged(EffectKind::ReplaceSection, "# Plan\n\nIntro.\n\nnew\n\n## Later\n\nNothing."));
        assert!(!judged(EffectKind::Delete, &text));
    }

    #[test]
    fn repetitions_are_filled_in() {
        assert_eq!(filled("a{bc*3}d{0}{x}{y*1}"), "abcbcbcd{0}{x}y");
    }
}
