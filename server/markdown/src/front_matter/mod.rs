//! Front matter: metadata between two equal fence lines at the very start of a file.
//!
//! [`FrontMatter`] reads YAML front matter and changes one key at a time. A change is a splice: unknown keys, comments, the order
//! and quoting of keys, line endings, a byte order mark and the body stay as they are. Each new text is parsed again and must
//! differ by that key alone.
//!
//! | module | contents |
//! |---|---|
//! | `find` | range of the front matter |
//! | `yaml` | YAML as a tree of values with their positions |
//! | `edit` | the splices that set and remove a key |
//! | `render` | values as YAML |

mod edit;
mod error;
mod find;
mod render;
mod yaml;

use std::{borrow::Cow, ops::Range};

use serde_json::{Map, Value};

use self::yaml::{Kind, Member};
use super::lines::{self, mask_lone_cr};

pub use self::error::FrontMatterError;
pub(super) use self::find::find;

/// The YAML front matter of a document, which may have none.
///
/// Values are JSON. A plain scalar is a number if JSON has it (`12`, `-1.5e3`), `true`, `false` or `null` in YAML's spellings,
/// and else a string, dates included. An alias has the value of its anchor. Tags are ignored, but a tagged scalar is a string.
#[derive(Debug, Clone)]
pub struct FrontMatter<'a> {
    text: &'a str,
    /// The text with each lone `\r` replaced by `\n`.
    masked: Cow<'a, str>,
    /// The front matter with both fence lines; empty if there is none.
    whole: Range<usize>,
    /// The lines between the fences.
    content: Range<usize>,
    members: Vec<Member>,
    /// True if all of it is one map in braces.
    is_flow: bool,
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
            return Err(FrontMatterError::Toml {
                line: lines::number(masked, whole.start),
            });
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
        all.map(|member| (member.key.clone(), member.value.to_json()))
            .collect()
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

    /// Returns the document with `value` as the value of `key`. A new key becomes the last one; front matter is added if there is none.
    ///
    /// # Errors
    /// [`FrontMatterError::Layout`] if that is not possible without changing more than this key.
    pub fn set(&self, key: &str, value: &Value) -> Result<String, FrontMatterError> {
        match self.member(key) {
            Some(member) if member.value.to_json() == *value => Ok(self.text.into()),
            Some(member) => self.first_right(key, Some(value), edit::replace(self, member, value)),
            None => self.first_right(key, Some(value), edit::add(self, key, value)),
        }
    }

    /// Returns the document without `key`. Front matter that had only this key and no comment is removed with it.
    ///
    /// # Errors
    /// As [`FrontMatter::set`].
    pub fn remove(&self, key: &str) -> Result<String, FrontMatterError> {
        match self.member(key) {
            None => Ok(self.text.into()),
            Some(member) => self.first_right(key, None, edit::remove(self, member)),
        }
    }

    fn member(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.key == key)
    }

    /// Returns the first candidate in which `key` has the value and the rest is unchanged.
    fn first_right(
        &self,
        key: &str,
        value: Option<&Value>,
        candidates: Vec<String>,
    ) -> Result<String, FrontMatterError> {
        let others = |front_matter: &FrontMatter<'_>| {
            let others = front_matter.members.iter().filter(|member| member.key != key);
            others
                .map(|member| (member.key.clone(), member.value.to_json()))
                .collect::<Vec<_>>()
        };
        let is_right = |new: &String| {
            FrontMatter::parse(new).is_ok_and(|new| {
                new.get(key).as_ref() == value && others(&new) == others(self) && new.body() == self.body()
            })
        };
        let layout = || FrontMatterError::Layout {
            key: key.into(),
            line: self
                .line_of(key)
                .unwrap_or_else(|| lines::number(&self.masked, self.content.start)),
        };
        candidates
            .into_iter()
            .filter(|_| !self.is_flow)
            .find(is_right)
            .ok_or_else(layout)
    }
}

/// Returns a document's front matter, even if it is invalid, with `body` below it. A last line without an ending gets one.
pub fn with_body(text: &str, body: &str) -> String {
    let front_matter = &text[..find(&mask_lone_cr(text)).end];
    let is_joined = lines::would_merge(front_matter.trim_start_matches(lines::BOM), body);
    let ending = if is_joined { lines::ending_of(text) } else { "" };
    [front_matter, ending, body].concat()
}

/// Returns the start of the line after that of `position`; the end of the text if there is none.
fn next_line(masked: &str, position: usize) -> usize {
    masked[position..]
        .find('\n')
        .map_or(masked.len(), |newline| position + newline + 1)
}
