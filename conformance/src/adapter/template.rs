//! Templates of arguments: JSON whose strings have holes, like `{/path}` or `{absolute}`.

use serde_json::{Map, Value};

use super::values::Values;

/// JSON with holes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Template {
    /// As it is.
    Value(Value),
    /// A text with holes. One that is nothing but a hole takes the value as it is, text or not.
    Text(Vec<Part>),
    /// A list.
    List(Vec<Template>),
    /// An object. A member that is nothing but a hole, for which there is no value, is left out.
    Object(Vec<(String, Template)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Hole(Hole),
}

/// What a hole is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hole {
    /// `{/a/b}`: what stands there in the request.
    Request(String),
    /// `{library}`: the library's root.
    Library,
    /// `{absolute}`: the document's absolute path.
    Absolute,
    /// `{old}`: a part of the document that is there once, which the call replaces.
    Old,
    /// `{new}`: what it is replaced with.
    New,
    /// `{content}`: what the whole document is to be.
    Content,
}

/// The holes that have names.
pub(super) const NAMED: [(&str, Hole); 5] = [
    ("library", Hole::Library),
    ("absolute", Hole::Absolute),
    ("old", Hole::Old),
    ("new", Hole::New),
    ("content", Hole::Content),
];

impl Template {
    /// The template that a string is. `{{` and `}}` stand for braces.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of_text(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let end = rest.find('}').filter(|_| brace == "{");
            let end = end.ok_or_else(|| {
                format!("`{brace}` stands alone in {text:?}; write `{brace}{brace}` for a brace")
            })?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Hole(hole(&rest[..end])?));
            rest = &rest[end + 1..];
        }
        plain.push_str(rest);
        if parts.is_empty() {
            return Ok(Self::Value(plain.into()));
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self::Text(parts))
    }

    /// The holes in it.
    pub(super) fn holes(&self) -> Vec<&Hole> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Text(parts) => {
                let holes = parts.iter().filter_map(|part| match part {
                    Part::Hole(hole) => Some(hole),
                    Part::Text(_) => None,
                });
                holes.collect()
            }
            Self::List(items) => items.iter().flat_map(Self::holes).collect(),
            Self::Object(members) => members.iter().flat_map(|(_, item)| item.holes()).collect(),
        }
    }

    /// The JSON; `None` if it is nothing but a hole for which the request has no value.
    ///
    /// # Errors
    /// When a value can't be had.
    pub(super) fn fill(&self, values: &Values<'_>) -> Result<Option<Value>, String> {
        Ok(Some(match self {
            Self::Value(value) => value.clone(),
            Self::Text(parts) => match &parts[..] {
                [Part::Hole(hole)] => return values.of(hole),
                parts => text(parts, values)?.into(),
            },
            Self::List(items) => {
                let items = items.iter().map(|item| item.fill(values));
                Value::Array(items.filter_map(Result::transpose).collect::<Result<_, _>>()?)
            }
            Self::Object(members) => {
                let mut object = Map::new();
                for (name, item) in members {
                    if let Some(value) = item.fill(values)? {
                        object.insert(name.clone(), value);
                    }
                }
                object.into()
            }
        }))
    }
}

fn hole(name: &str) -> Result<Hole, String> {
    if name.starts_with('/') {
        return Ok(Hole::Request(name.to_owned()));
    }
    let named = NAMED.into_iter().find(|(known, _)| *known == name);
    named.map(|(_, hole)| hole).ok_or_else(|| {
        let known = NAMED.map(|(known, _)| format!("`{{{known}}}`")).join(", ");
        format!("there is no value `{{{name}}}`; there is {known}, and `{{/a/pointer}}` into the request")
    })
}

fn text(parts: &[Part], values: &Values<'_>) -> Result<String, String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(plain) => text.push_str(plain),
            Part::Hole(hole) => match values.of(hole)? {
                Some(Value::String(value)) => text.push_str(&value),
                Some(value) => text.push_str(&value.to_string()),
                None => return Err("the request lacks a value that the adapter needs".to_owned()),
            },
        }
    }
    Ok(text)
}
