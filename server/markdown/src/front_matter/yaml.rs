//! YAML as a tree of values with their positions. The events are `saphyr-parser`'s, which keeps to YAML 1.2.

use std::{collections::HashMap, ops::Range};

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use super::error::FrontMatterError;
use crate::lines;

/// Collections nested deeper are refused.
const MAX_DEPTH: usize = 64;
/// Maximum size in bytes. The parser takes many times that, and front matter is written by people.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of values, each of which an anchor around it keeps once more.
const MAX_VALUES: usize = 50_000;
/// Maximum number of values that aliases may repeat.
const MAX_REPEATED: usize = 10_000;

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Its bytes in the text, without tag and anchor.
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// True for a list in brackets or a map in braces.
    pub(super) is_flow: bool,
}

/// Kind and content of a [`Node`].
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Scalar(Value, ScalarStyle),
    /// An alias, with the value of its anchor.
    Alias(Value),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// A key of a map, and its value.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: String,
    /// The key's bytes in the text.
    pub(super) key_span: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value, _) | Kind::Alias(value) => value.clone(),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(members) => members
                .iter()
                .map(|member| (member.key.clone(), member.value.to_json()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    /// Returns true for a list or map without brackets and braces.
    pub(super) fn is_block(&self) -> bool {
        matches!(self.kind, Kind::List(_) | Kind::Map(_)) && !self.is_flow
    }

    pub(super) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar(Value::String(_), _) => "a text",
            Kind::Scalar(..) => "a single value",
            Kind::Alias(_) => "an alias",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}

/// Parses the YAML at `range` of `text`; `None` if it is empty or has comments only.
///
/// # Errors
/// If it is not one document of YAML, or has a key twice.
pub(super) fn parse(text: &str, range: Range<usize>) -> Result<Option<Node>, FrontMatterError> {
    let yaml = &text[range.clone()];
    let syntax = |at: usize, message: &str| FrontMatterError::Syntax {
        line: lines::number(text, at),
        column: 1 + text[lines::line_start(text, at)..at].chars().count(),
        message: message.into(),
    };
    if yaml.len() > MAX_BYTES {
        let message = format!("front matter has at most {MAX_BYTES} bytes");
        return Err(syntax(range.start, &message));
    }
    let places = Places::new(yaml, range.start);
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(yaml) {
        let (event, span) =
            event.map_err(|error| syntax(places.byte(error.marker().index()), error.info()))?;
        let start = places.byte(span.start.index());
        builder.take(event, places.range(span)).map_err(|why| match why {
            Why::Refused(message) => syntax(start, message),
            Why::Twice { key, first, second } => FrontMatterError::Twice {
                key,
                first: lines::number(text, first),
                second: lines::number(text, second),
            },
        })?;
    }
    Ok(builder.root)
}

/// Positions in bytes. The parser counts characters.
struct Places(Vec<usize>);

impl Places {
    fn new(yaml: &str, start: usize) -> Self {
        let all = yaml.char_indices().map(|(at, _)| start + at);
        Self(all.chain([start + yaml.len()]).collect())
    }

    fn byte(&self, character: usize) -> usize {
        self.0[character.min(self.0.len() - 1)]
    }

    fn range(&self, span: Span) -> Range<usize> {
        self.byte(span.start.index())..self.byte(span.end.index())
    }
}

/// Error when building the tree.
enum Why {
    Refused(&'static str),
    Twice { key: String, first: usize, second: usize },
}

/// A collection whose end is pending.
struct Open {
    node: Node,
    anchor: usize,
    /// The key of a map whose value is pending.
    key: Option<Node>,
}

/// Builds the tree from the parser's events.
struct Builder<'t> {
    text: &'t str,
    root: Option<Node>,
    open: Vec<Open>,
    /// Values by anchor.
    anchors: HashMap<usize, Value>,
    /// Number of values.
    values: usize,
    /// Number of values that aliases have repeated.
    repeated: usize,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, root: None, open: vec![], anchors: HashMap::new(), values: 0, repeated: 0 }
    }

    fn take(&mut self, event: Event<'_>, mut span: Range<usize>) -> Result<(), Why> {
        let (kind, anchor) = match event {
            Event::MappingStart(anchor, _) => (Kind::Map(vec![]), anchor),
            Event::SequenceStart(anchor, _) => (Kind::List(vec![]), anchor),
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.is_some());
                (Kind::Scalar(value, style), anchor)
            }
            Event::Alias(anchor) => (Kind::Alias(self.value_of(anchor)?), 0),
            Event::MappingEnd | Event::SequenceEnd => {
                let Some(Open { mut node, anchor, .. }) = self.open.pop() else {
                    return Err(Why::Refused("unexpected end"));
                };
                // A closing bracket has blanks and a comment in its span.
                node.span.end = if node.is_flow { span.start + 1 } else { span.end };
                return self.put(node, anchor);
            }
            _ => return Ok(()),
        };
        if self.open.is_empty() && self.root.is_some() {
            return Err(Why::Refused("there are several YAML documents"));
        }
        let is_collection = matches!(kind, Kind::Map(_) | Kind::List(_));
        let opening = self.text[span.clone()].trim_end();
        let is_flow = is_collection && opening.ends_with(['[', '{']);
        if is_flow {
            // The span begins with the anchor and the tag.
            span.start += opening.len() - 1;
        } else if let Kind::Scalar(_, style) = kind {
            span = written(self.text, span, style);
        }
        let node = Node { span, kind, is_flow };
        if !is_collection {
            return self.put(node, anchor);
        }
        if self.open.len() == MAX_DEPTH {
            return Err(Why::Refused("collections are nested too deeply"));
        }
        self.open.push(Open { node, anchor, key: None });
        Ok(())
    }

    /// Returns the value of an anchor.
    fn value_of(&mut self, anchor: usize) -> Result<Value, Why> {
        let value = self.anchors.get(&anchor);
        let value = value.ok_or(Why::Refused("an alias stands inside of its own anchor"))?;
        self.repeated += count(value);
        if self.repeated > MAX_REPEATED {
            return Err(Why::Refused("aliases repeat too much"));
        }
        Ok(value.clone())
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Why> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Why::Refused("there are too many values"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.to_json());
        }
        let Some(Open { node: parent, key, .. }) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut parent.kind {
            Kind::List(items) => items.push(node),
            Kind::Map(members) => match key.take() {
                None => *key = Some(node),
                Some(found) => add_member(members, found, node)?,
            },
            Kind::Scalar(..) | Kind::Alias(_) => {}
        }
        Ok(())
    }
}

fn add_member(members: &mut Vec<Member>, key: Node, value: Node) -> Result<(), Why> {
    let name = match key.to_json() {
        Value::String(text) => text,
        Value::Array(_) | Value::Object(_) => return Err(Why::Refused("a key is a list or a map")),
        other => other.to_string(),
    };
    if let Some(first) = members.iter().find(|member| member.key == name) {
        return Err(Why::Twice { first: first.key_span.start, second: key.span.start, key: name });
    }
    members.push(Member { key: name, key_span: key.span, value });
    Ok(())
}

/// Returns the bytes of a scalar. The parser's span of a quoted one has blanks and a comment at its end.
fn written(text: &str, span: Range<usize>, style: ScalarStyle) -> Range<usize> {
    let quote = match style {
        ScalarStyle::SingleQuoted => '\'',
        ScalarStyle::DoubleQuoted => '"',
        _ => return span,
    };
    let mut all = text[span.clone()].char_indices().skip(1).peekable();
    while let Some((at, c)) = all.next() {
        match c {
            '\\' if quote == '"' => drop(all.next()),
            '\'' if quote == c && all.peek().is_some_and(|(_, next)| *next == quote) => drop(all.next()),
            _ if c == quote => return span.start..span.start + at + 1,
            _ => {}
        }
    }
    span
}

/// Returns the number of values in a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

fn scalar(text: &str, style: ScalarStyle, is_tagged: bool) -> Value {
    if is_tagged || style != ScalarStyle::Plain {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

/// Parses a number of JSON. `serde_json` alone may miss the nearest float by one unit in the last place.
fn number(text: &str) -> Option<Number> {
    serde_json::from_str::<Number>(text).ok()?;
    let integer = text.parse::<i64>().map(Number::from).ok();
    let integer = integer.or_else(|| text.parse::<u64>().map(Number::from).ok());
    integer.filter(|_| text != "-0").or_else(|| Number::from_f64(text.parse().ok()?))
}
