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
//! | `parsed` | front matter, read |
//! | `edit` | the splices that set and remove a key |
//! | `render` | values as YAML |

mod edit;
mod error;
mod find;
mod parsed;
mod render;
mod yaml;

use serde_json::Value;

use super::lines::{self, mask_lone_cr};

pub(super) use self::find::find;
pub use self::{error::FrontMatterError, parsed::FrontMatter};

impl FrontMatter<'_> {
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

    /// Returns the first candidate in which `key` has the value and the rest is unchanged.
    fn first_right(
        &self,
        key: &str,
        value: Option<&Value>,
        candidates: Vec<String>,
    ) -> Result<String, FrontMatterError> {
        let others = |front_matter: &FrontMatter<'_>| {
            let others = front_matter.members.iter().filter(|member| member.key != key);
            others.map(|member| (member.key.clone(), member.value.to_json())).collect::<Vec<_>>()
        };
        let is_right = |new: &String| {
            FrontMatter::parse(new).is_ok_and(|new| {
                new.get(key).as_ref() == value && others(&new) == others(self) && new.body() == self.body()
            })
        };
        let layout = || FrontMatterError::Layout {
            key: key.into(),
            line: self.line_of(key).unwrap_or_else(|| lines::number(&self.masked, self.content.start)),
        };
        candidates.into_iter().filter(|_| !self.is_flow).find(is_right).ok_or_else(layout)
    }
}

/// Returns a document's front matter, even if it is invalid, with `body` below it. A last line without an ending gets one.
pub fn with_body(text: &str, body: &str) -> String {
    let front_matter = &text[..find(&mask_lone_cr(text)).end];
    let is_joined = lines::would_merge(front_matter.trim_start_matches(lines::BOM), body);
    let ending = if is_joined { lines::ending_of(text) } else { "" };
    [front_matter, ending, body].concat()
}
