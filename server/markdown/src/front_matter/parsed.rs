//! Front matter, read.

use std::{borrow::Cow, ops::Range};

use serde_json::{Map, Value};

use super::{
    error::FrontMatterError,
    find::find,
    yaml::{self, Kind, Member},
};
use crate::lines::{self, mask_lone_cr};

/// The YAML front matter of a document, which may have none.
///
/// Values are JSON. A plain scalar is a number if JSON has it (`12`, `-1.5e3`), `true`, `false` or `null` in YAML's spellings,
/// and else a string, dates included. An alias has the value of its anchor. Tags are ignored, but a tagged scalar is a string.
#[derive(Debug, Clone)]
pub struct FrontMatter<'a> {
    pub(super) text: &'a str,
    /// The text with each lone `\r` replaced by `\n`.
    pub(super) masked: Cow<'a, str>,
    /// The front matter with both fence lines; empty if there is none.
    pub(super) whole: Range<usize>,
    /// The lines between the fences.
    pub(super) content: Range<usize>,
    pub(super) members: Vec<Member>,
    /// True if all of it is one map in braces.
    pub(super) is_flow: bool,
}

impl<'a> FrontMatter<'a> {
    /// Reads the front matter of a document.
    ///
    /// # Errors
    /// If there is front matter that is not a YAML map, or that has a key twice.
    pub fn parse(text: &'a str) -> Result<Self, FrontMatterError> {
        let masked = mask_lone_cr(text);
        let whole = find(&masked);
        let mut front_matter = Self {
            text,
            content: whole.clone(),
            whole: whole.clone(),
            masked,
            members: vec![],
            is_flow: false,
        };
        if whole.is_empty() {
            return Ok(front_matter);
        }
        let masked = &front_matter.masked;
        if masked[whole.start..].starts_with("+++") {
            return Err(FrontMatterError::Toml { line: lines::number(masked, whole.start) });
        }
        let content = next_line(masked, whole.start)..lines::line_start(masked, whole.end - 1);
        let root = yaml::parse(masked, content.clone())?;
        front_matter.content = content;
        let Some(root) = root else { return Ok(front_matter) };
        front_matter.is_flow = root.is_flow;
        match root.kind {
            Kind::Map(members) => front_matter.members = members,
            Kind::Scalar(Value::Null, _) => {}
            _ => {
                return Err(FrontMatterError::NotAMap {
                    line: lines::number(&front_matter.masked, root.span.start),
                    found: root.kind_name(),
                });
            }
        }
        Ok(front_matter)
    }

    /// Returns true if the document has front matter, even if it is empty.
    pub fn is_present(&self) -> bool {
        !self.whole.is_empty()
    }

    /// Returns the value of a key; `None` if there is no such key.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.member(key).map(|member| member.value.to_json())
    }

    /// Returns all keys with their values, in their order.
    pub fn values(&self) -> Map<String, Value> {
        let all = self.members.iter();
        all.map(|member| (member.key.clone(), member.value.to_json())).collect()
    }

    /// Returns the line of a key in the document, from 1; `None` if there is no such key.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        let member = self.member(key)?;
        Some(lines::number(&self.masked, member.key_span.start))
    }

    /// Returns the document's text below the front matter.
    pub fn body(&self) -> &'a str {
        &self.text[self.whole.end..]
    }

    /// Returns the member with this key.
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.key == key)
    }
}

/// Returns the start of the line after that of `position`; the end of the text if there is none.
pub(super) fn next_line(masked: &str, position: usize) -> usize {
    masked[position..].find('\n').map_or(masked.len(), |newline| position + newline + 1)
}
