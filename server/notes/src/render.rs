//! The text of new notes, and changes of existing ones, which preserve all other bytes.

use std::borrow::Cow;

use serde_json::Value;
use tabellion_markdown::{Flavor, FrontMatter, Outline, ending_of, with_endings_of};

use crate::{
    Link, Metadata, NoteError,
    metadata::{KEPT_KEYS, is_spelled},
};

/// Returns the text of a new note: front matter with `metadata`, followed by the unchanged `content`.
///
/// # Errors
/// [`NoteError::ContentHasFrontMatter`] if the content begins with front matter.
pub fn render(metadata: &Metadata, content: &str) -> Result<String, NoteError> {
    check_content(content)?;
    Ok(front_matter(metadata.members(), content)? + content)
}

/// Returns front matter with these members and the line ending of `text`, `\n` or `\r\n`; the empty text without members.
///
/// # Errors
/// [`NoteError::FrontMatter`] if a member can't be written.
pub fn front_matter<K: AsRef<str>>(
    members: impl IntoIterator<Item = (K, Value)>,
    text: &str,
) -> Result<String, NoteError> {
    // A lone `\r` ends no line for git and for most readers of YAML.
    let ending = Some(ending_of(text)).filter(|ending| *ending != "\r").unwrap_or("\n");
    // Front matter that is added to a text has the text's ending.
    let mut front_matter = ending.to_owned();
    for (key, value) in members {
        front_matter = FrontMatter::parse(&front_matter)?.set(key.as_ref(), &value)?;
    }
    front_matter.truncate(front_matter.len() - ending.len());
    Ok(front_matter)
}

/// Returns a note's text with other values of keys. `None` removes a key. A key keeps its spelling, and has one spelling afterwards.
///
/// # Errors
/// [`NoteError::FrontMatter`] if the front matter can't be read, or changed without changing more than these keys;
/// [`NoteError::Foreign`] if a key that tools set has a value that no tool has written.
pub fn set(text: &str, changes: &[(&str, Option<Value>)]) -> Result<String, NoteError> {
    let others = Metadata::from_members(FrontMatter::parse(text)?.values()).0.others;
    let is_foreign = |key: &&str| KEPT_KEYS.contains(key) && others.contains_key(*key);
    if let Some(key) = changes.iter().map(|(key, _)| *key).find(is_foreign) {
        return Err(NoteError::Foreign(key.to_owned()));
    }
    let mut text = text.to_owned();
    for (key, value) in changes {
        let mut names: Vec<_> =
            FrontMatter::parse(&text)?.values().into_iter().map(|(name, _)| name).collect();
        names.retain(|name| is_spelled(name, key));
        let kept = names.iter().position(|name| name == key).unwrap_or(0);
        let kept = if names.is_empty() { (*key).to_owned() } else { names.swap_remove(kept) };
        for name in names {
            text = FrontMatter::parse(&text)?.remove(&name)?;
        }
        let front_matter = FrontMatter::parse(&text)?;
        text = match value {
            Some(value) => front_matter.set(&kept, value)?,
            None => front_matter.remove(&kept)?,
        };
    }
    Ok(text)
}

/// Returns a note's text with this link at the end of `links`. A link with the same target and relation gets its metadata and maker instead.
///
/// # Errors
/// As [`set`]. It is also an error if `links` is not a list: its value would be lost.
pub fn put_link(text: &str, link: &Link) -> Result<String, NoteError> {
    let front_matter = FrontMatter::parse(text)?;
    let mut links = match front_matter.get("links") {
        None | Some(Value::Null) => vec![],
        Some(Value::Array(links)) => links,
        Some(_) => return Err(NoteError::LinksAreNoList),
    };
    let is_same = |value: &&mut Value| {
        Link::parse(value).is_ok_and(|known| known.to == link.to && known.relation == link.relation)
    };
    let value = link.to_value();
    match links.iter_mut().find(is_same) {
        Some(Value::Object(known)) => {
            for key in ["by", "by_id", "metadata"] {
                match value.get(key) {
                    Some(value) => known.insert(key.into(), value.clone()),
                    None => known.shift_remove(key),
                };
            }
        }
        _ => links.push(value),
    }
    Ok(front_matter.set("links", &Value::Array(links))?)
}

/// Returns a note's text with other content, with the text's line ending. The front matter is preserved, whether it can be read or not.
///
/// # Errors
/// [`NoteError::ContentHasFrontMatter`] if the content begins with front matter.
pub fn replace_body(text: &str, content: &str) -> Result<String, NoteError> {
    check_content(content)?;
    Ok(tabellion_markdown::with_body(text, &with_ending_of(text, content)))
}

/// Returns content with the line ending of a note's text, unless its own lines have several.
pub fn with_ending_of<'c>(text: &str, content: &'c str) -> Cow<'c, str> {
    match with_endings_of(text.as_bytes(), content.as_bytes()) {
        Cow::Borrowed(_) => content.into(),
        Cow::Owned(bytes) => String::from_utf8(bytes).map_or(content.into(), Cow::from),
    }
}

fn check_content(content: &str) -> Result<(), NoteError> {
    let front_matter = Outline::parse(content, Flavor::CommonMark).front_matter();
    if front_matter.is_empty() { Ok(()) } else { Err(NoteError::ContentHasFrontMatter) }
}
