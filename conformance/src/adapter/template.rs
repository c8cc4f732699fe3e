//! Templates of arguments: JSON whose strings contain holes such as `{/path}` or `{absolute}`.

use serde_json::{Map, Value};

use super::{
    hole::{Hole, NAMED},
    values::Values,
};

/// JSON with holes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Template {
    /// A constant.
    Value(Value),
    /// A string with holes. A string that is a single hole becomes the hole's value, of any type.
    Text(Vec<Part>),
    /// A list.
    List(Vec<Template>),
    /// An object. A member that is a single hole without a value is omitted.
    Object(Vec<(String, Template)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Hole(Hole),
}

impl Hole {
    /// Returns true if the value is derived from a change of the document.
    pub(super) fn is_of_edit(&self) -> bool {
        use Hole::{Content, New, Old, OldEndLine, OldSha256, OldStartLine};
        matches!(self, Old | New | Content | OldStartLine | OldEndLine | OldSha256)
    }

    /// Returns true if the value is derived from the document's path.
    pub(super) fn is_of_document(&self) -> bool {
        use Hole::{Absolute, Basename, Dirname, GitBlob, Mtime, MtimeMs, Sha256, Size};
        matches!(self, Absolute | Dirname | Basename | Sha256 | GitBlob | Size | Mtime | MtimeMs)
    }
}

impl Template {
    /// Parses a string as a template. `{{` and `}}` stand for braces; `taken` are the names of further holes.
    pub(super) fn of_text(text: &str, taken: &[String]) -> Result<Self, String> {
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
                format!("unmatched `{brace}` in {text:?}; write `{brace}{brace}` for a brace")
            })?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Hole(hole(&rest[..end], taken)?));
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

    /// Returns the JSON; `None` if the template is a single hole without a value.
    ///
    /// # Errors
    /// If a value is missing or cannot be derived.
    pub(super) fn fill(&self, values: &Values<'_>) -> Result<Option<Value>, String> {
        Ok(Some(match self {
            Self::Value(value) => value.clone(),
            Self::Text(parts) => match &parts[..] {
                [Part::Hole(hole)] => return values.resolve(hole),
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

fn hole(name: &str, taken: &[String]) -> Result<Hole, String> {
    if name.starts_with('/') {
        return Ok(Hole::Request(name.to_owned()));
    }
    if taken.iter().any(|known| known == name) {
        return Ok(Hole::Taken(name.to_owned()));
    }
    let named = NAMED.into_iter().find(|(known, _)| *known == name);
    named.map(|(_, hole)| hole).ok_or_else(|| {
        let names = NAMED.iter().map(|(known, _)| *known);
        let known: Vec<_> = names.chain(taken.iter().map(String::as_str)).collect();
        let known: Vec<_> = known.iter().map(|known| format!("`{{{known}}}`")).collect();
        let known = known.join(", ");
        format!(
            "there is no value `{{{name}}}`; the values are {known}, and `{{/a/pointer}}` into the request"
        )
    })
}

fn text(parts: &[Part], values: &Values<'_>) -> Result<String, String> {
    parts.iter().map(|part| part.text(values)).collect::<Result<_, _>>()
}

impl Part {
    /// Returns the part's text.
    ///
    /// # Errors
    /// If its value is missing or cannot be derived.
    pub(super) fn text(&self, values: &Values<'_>) -> Result<String, String> {
        match self {
            Self::Text(plain) => Ok(plain.clone()),
            Self::Hole(hole) => match values.resolve(hole)? {
                Some(Value::String(value)) => Ok(value),
                Some(value) => Ok(value.to_string()),
                None => Err("there is no value for a part of a text".to_owned()),
            },
        }
    }
}
