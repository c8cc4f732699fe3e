//! Edits of a document's text. An edit is a splice: it never renders a syntax tree, so all other bytes stay. After each edit the
//! text is parsed again, and must differ by the entry alone.

mod error;
mod json;
mod render;
mod scan;
mod toml;
mod yaml;

use serde::Deserialize;
use serde_json::Value;

pub use self::error::EditError;
use crate::tree::{EntryPath, Kind, Node, Shape};

/// The notation of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON. Comments and trailing commas are kept, even if the client does not read them.
    Json,
    /// JSON in which the client reads comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Returns the document's root, or `None` if the text has none: it is empty, or has comments only.
///
/// # Errors
/// If the text is not in its format.
pub(crate) fn parse(format: Format, text: &str) -> Result<Option<Node>, EditError> {
    match format {
        Format::Json | Format::Jsonc => json::parse(text),
        Format::Toml => toml::parse(text),
        Format::Yaml => yaml::parse(text),
    }
}

/// Like [`parse`], and checks that `place` can hold an entry.
pub(crate) fn check(format: Format, text: &str, place: EntryPath<'_>) -> Result<Option<Node>, EditError> {
    let root = parse(format, text)?;
    let Some(node) = &root else { return Ok(root) };
    let wrong = |node: &Node, what: String, expected| EditError::Kind {
        line: scan::line(text, node.span.start),
        what,
        expected,
        found: node.kind_name(),
    };
    let is_blank = format == Format::Yaml && node.kind == Kind::Null;
    if !is_blank && !matches!(node.kind, Kind::Map(_)) {
        return Err(wrong(node, "the whole document".into(), "a map"));
    }
    let twice = |key: &str, first: usize, second: usize| EditError::Twice {
        key: key.into(),
        first: scan::line(text, first),
        second: scan::line(text, second),
    };
    let mut all = node.members().iter().filter(|member| member.key == place.servers);
    if let (Some(first), Some(second)) = (all.next(), all.next()) {
        return Err(twice(place.servers, first.key_span.start, second.key_span.start));
    }
    let Some(servers) = node.get(place.servers) else {
        return Ok(root);
    };
    let start = |at: usize| match &servers.kind {
        Kind::Map(members) => members[at].key_span.start,
        Kind::List(items) => items[at].span.start,
        _ => servers.span.start,
    };
    match (&servers.kind, place.shape) {
        (Kind::Null, _) | (Kind::Map(_), Shape::Map) | (Kind::List(_), Shape::List) => {}
        (_, Shape::Map) => return Err(wrong(servers, format!("`{}`", place.servers), "a map")),
        (_, Shape::List) => return Err(wrong(servers, format!("`{}`", place.servers), "a list")),
    }
    if let [first, second, ..] = place.positions(node)[..] {
        return Err(twice(place.name, start(first), start(second)));
    }
    Ok(root)
}

/// Returns the text with a new entry added.
pub(crate) fn insert(
    format: Format,
    text: &str,
    place: EntryPath<'_>,
    entry: &Value,
) -> Result<String, EditError> {
    let root = check(format, text, place)?;
    let candidates = match format {
        Format::Json | Format::Jsonc => json::insert(text, root.as_ref(), place, entry),
        Format::Toml => toml::insert(text, place, entry),
        Format::Yaml => yaml::insert(text, root.as_ref(), place, entry),
    };
    let before = place.without(root.as_ref());
    let is_right = |new: &String| {
        check(format, new, place).is_ok_and(|new| {
            let found = new.as_ref().and_then(|root| place.entry(root));
            found.map(Node::to_json).as_ref() == Some(entry) && place.without(new.as_ref()) == before
        })
    };
    candidates.into_iter().find(is_right).ok_or(EditError::Layout)
}

/// Returns the text with an existing entry removed.
pub(crate) fn remove(format: Format, text: &str, place: EntryPath<'_>) -> Result<String, EditError> {
    let Some(root) = check(format, text, place)? else {
        return Err(EditError::Layout);
    };
    let candidates = match format {
        Format::Json | Format::Jsonc => json::remove(text, &root, place),
        Format::Toml => toml::remove(text, place),
        Format::Yaml => yaml::remove(text, &root, place),
    };
    let before = place.without(Some(&root));
    let is_right = |new: &String| {
        check(format, new, place).is_ok_and(|new| {
            let found = new.as_ref().and_then(|root| place.entry(root));
            found.is_none() && place.without(new.as_ref()) == before
        })
    };
    candidates.into_iter().find(is_right).ok_or(EditError::Layout)
}

/// Returns the text without its servers, which must be empty; the unchanged text if they can't be removed.
pub(crate) fn remove_servers(format: Format, text: &str, place: EntryPath<'_>) -> String {
    let root = match check(format, text, place) {
        Ok(Some(root)) => root,
        _ => return text.into(),
    };
    let Some(at) = root.members().iter().position(|member| member.key == place.servers) else {
        return text.into();
    };
    if !root.members()[at].value.is_empty() {
        return text.into();
    }
    let candidates = match format {
        Format::Json | Format::Jsonc => json::remove_member(text, &root, at),
        Format::Toml => vec![],
        Format::Yaml => yaml::remove_member(text, &root, at),
    };
    let before = place.without(Some(&root));
    let is_right = |new: &String| {
        parse(format, new).is_ok_and(|new| {
            let still = new.as_ref().is_some_and(|root| root.get(place.servers).is_some());
            !still && place.without(new.as_ref()) == before
        })
    };
    candidates.into_iter().find(is_right).unwrap_or_else(|| text.into())
}
