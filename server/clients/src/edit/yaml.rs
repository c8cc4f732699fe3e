//! YAML, in block or flow style. The parser reports positions; a new entry becomes the first of its map or list, on separate lines,
//! so no other entry is touched.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value, json};

use super::{
    error::EditError,
    render,
    scan::{self, splice},
};
use crate::tree::{EntryPath, Kind, Member, Node, Shape};

/// Collections nested deeper are refused.
const MAX_DEPTH: usize = 128;

pub(super) fn parse(text: &str) -> Result<Option<Node>, EditError> {
    let syntax = |at: usize, message: String| {
        let (line, column) = scan::line_and_column(text, at);
        EditError::Syntax { line, column, message }
    };
    let offsets = Offsets::new(text);
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| syntax(offsets.byte(error.marker().index()), error.info().to_owned()))?;
        let start = offsets.byte(span.start.index());
        builder.take(event, offsets.range(span)).map_err(|message| syntax(start, message.into()))?;
    }
    Ok(builder.root)
}

/// Byte offsets of characters: the parser counts characters; texts are cut at bytes.
struct Offsets(Vec<usize>);

impl Offsets {
    fn new(text: &str) -> Self {
        let all = text.char_indices().map(|(at, _)| at);
        Self(all.chain([text.len()]).collect())
    }

    fn byte(&self, character: usize) -> usize {
        self.0[character.min(self.0.len() - 1)]
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        self.byte(span.start.index())..self.byte(span.end.index())
    }
}

/// Builds the tree from the parser's events.
#[derive(Default)]
struct Builder {
    root: Option<Node>,
    /// The open collections, and for maps the key whose value is pending.
    open: Vec<(Node, Option<Node>)>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: std::ops::Range<usize>) -> Result<(), &'static str> {
        let kind = match event {
            Event::MappingStart(..) => Kind::Map(vec![]),
            Event::SequenceStart(..) => Kind::List(vec![]),
            Event::Scalar(text, style, _, tag) => scalar(text.into_owned(), style, tag.is_some()),
            Event::Alias(id) => Kind::Bare(format!("*{id}")),
            Event::MappingEnd | Event::SequenceEnd => {
                let Some((mut node, _)) = self.open.pop() else {
                    return Err("unexpected end");
                };
                node.span.end = span.end;
                return self.put(node);
            }
            _ => return Ok(()),
        };
        if self.open.is_empty() && self.root.is_some() {
            return Err("the file has several documents; only one is expected");
        }
        let node = Node { span, kind };
        if !matches!(node.kind, Kind::Map(_) | Kind::List(_)) {
            return self.put(node);
        }
        if self.open.len() == MAX_DEPTH {
            return Err("collections are nested too deeply");
        }
        self.open.push((node, None));
        Ok(())
    }

    fn put(&mut self, node: Node) -> Result<(), &'static str> {
        let Some((parent, waiting)) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut parent.kind {
            Kind::List(items) => items.push(node),
            Kind::Map(members) => match waiting.take() {
                None => *waiting = Some(node),
                Some(key) => members.push(Member {
                    key: match &key.kind {
                        Kind::Text(text) | Kind::Bare(text) => text.clone(),
                        other => format!("{other:?}"),
                    },
                    key_span: key.span,
                    value: node,
                }),
            },
            _ => {}
        }
        Ok(())
    }
}

fn scalar(text: String, style: ScalarStyle, tagged: bool) -> Kind {
    if tagged || style != ScalarStyle::Plain {
        return Kind::Text(text);
    }
    let is_number = || serde_json::from_str::<serde_json::Number>(&text).is_ok();
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bare("true".into()),
        "false" | "False" | "FALSE" => Kind::Bare("false".into()),
        _ if is_number() => Kind::Bare(text),
        _ => Kind::Text(text),
    }
}

pub(super) fn insert(text: &str, root: Option<&Node>, place: EntryPath<'_>, entry: &Value) -> Vec<String> {
    let newline = scan::newline(text);
    let item = match place.shape {
        Shape::Map => Value::Object(Map::from_iter([(place.name.to_owned(), entry.clone())])),
        Shape::List => json!([entry]),
    };
    let lines = |indent: &str, value: &Value| {
        let lines = render::yaml(value).into_iter();
        lines.map(|line| [indent, &line, newline].concat()).collect::<String>()
    };
    let whole = Value::Object(Map::from_iter([(place.servers.to_owned(), item.clone())]));
    let at_end = |indent: &str| [scan::ended(text), lines(indent, &whole)].concat();
    let Some(root) = root.filter(|root| root.kind != Kind::Null) else {
        return vec![at_end("")];
    };
    let Some(member) = root.members().iter().find(|member| member.key == place.servers) else {
        return match flow(text, root) {
            Some(open) => vec![in_flow(text, open, root, &whole)],
            None => {
                let first = root.members().first().map_or(0, |member| member.key_span.start);
                let start = scan::line_start(text, first);
                let indent = scan::indent(text, first);
                vec![at_end(indent), splice(text, start, start, &lines(indent, &whole))]
            }
        };
    };
    let servers = &member.value;
    let below = scan::next_line(text, member.key_span.end);
    // The key's line may be the last, without a line break.
    let on_lines = |indent: &str| {
        let (head, tail) = text.split_at(below);
        [&scan::ended(head), &*lines(indent, &item), tail].concat()
    };
    if let Some(open) = flow(text, servers) {
        return vec![in_flow(text, open, servers, &item)];
    }
    let first = match &servers.kind {
        Kind::Map(members) => members.first().map(|member| member.key_span.start),
        Kind::List(items) => items.first().map(|item| item.span.start),
        Kind::Null if servers.span.is_empty() => {
            let indent = scan::indent(text, member.key_span.start);
            return vec![on_lines(&[indent, "  "].concat())];
        }
        _ => {
            let new = render::compact(&item);
            return vec![splice(text, servers.span.start, servers.span.end, &new)];
        }
    };
    first.map_or_else(Vec::new, |first| vec![on_lines(scan::indent(text, first))])
}

/// Returns the start of a collection in flow style.
fn flow(text: &str, node: &Node) -> Option<usize> {
    let opens = match node.kind {
        Kind::Map(_) => '{',
        Kind::List(_) => '[',
        _ => return None,
    };
    let start = node.span.start;
    (text[start..].starts_with(opens) && node.span.end > start + 1).then_some(start)
}

/// Returns the text with the content of `item`, a map or list of one, at the start of a collection in flow style.
fn in_flow(text: &str, open: usize, collection: &Node, item: &Value) -> String {
    let item = render::compact(item);
    let content = &item[1..item.len() - 1];
    // In YAML a colon ends a key only if a blank follows, or the key has quotes, as here.
    let comma = if collection.is_empty() { "" } else { ", " };
    splice(text, open + 1, open + 1, &[content, comma].concat())
}

pub(super) fn remove(text: &str, root: &Node, place: EntryPath<'_>) -> Vec<String> {
    let member = root.members().iter().find(|member| member.key == place.servers);
    let (Some(member), Some(at)) = (member, place.positions(root).first().copied()) else {
        return vec![];
    };
    let servers = &member.value;
    let spans: Vec<(usize, usize)> = match &servers.kind {
        Kind::Map(members) => {
            members.iter().map(|member| (member.key_span.start, end(text, &member.value))).collect()
        }
        Kind::List(items) => items.iter().map(|item| (item.span.start, end(text, item))).collect(),
        _ => return vec![],
    };
    if flow(text, servers).is_some() {
        return vec![out_of_flow(text, &spans, at)];
    }
    let (start, end) = lines(text, spans[at]);
    let mut new = splice(text, start, end, "");
    if spans.len() == 1 {
        let empty = match place.shape {
            Shape::Map => " {}",
            Shape::List => " []",
        };
        if let Some(colon) = text[member.key_span.end..].find(':') {
            new.insert_str(member.key_span.end + colon + 1, empty);
        }
    }
    vec![new]
}

/// Returns the text without the member of a map at this position.
pub(super) fn remove_member(text: &str, map: &Node, position: usize) -> Vec<String> {
    let span = |member: &Member| {
        let end = match member.value.kind {
            Kind::Null => member.key_span.end,
            _ => end(text, &member.value),
        };
        (member.key_span.start, end)
    };
    let spans: Vec<_> = map.members().iter().map(span).collect();
    if flow(text, map).is_some() {
        return vec![out_of_flow(text, &spans, position)];
    }
    let (start, end) = lines(text, spans[position]);
    vec![splice(text, start, end, "")]
}

/// Returns the end of the last line of a value, as an upper bound.
fn end(text: &str, node: &Node) -> usize {
    let last = match &node.kind {
        _ if flow(text, node).is_some() => node.span.end,
        Kind::Map(members) => {
            members.last().map_or(node.span.end, |member| end(text, &member.value).max(member.key_span.end))
        }
        Kind::List(items) => items.last().map_or(node.span.end, |item| end(text, item)),
        _ => node.span.end,
    };
    // A block scalar ends at the start of the next node.
    text[..last].trim_end().len()
}

/// Returns the whole lines of a span.
fn lines(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    (scan::line_start(text, start), scan::next_line(text, end))
}

fn out_of_flow(text: &str, spans: &[(usize, usize)], at: usize) -> String {
    let (start, end) = spans[at];
    match (spans.get(at + 1), at.checked_sub(1)) {
        (Some((next, _)), _) => splice(text, start, *next, ""),
        (None, Some(before)) => splice(text, spans[before].1, end, ""),
        (None, None) => splice(text, start, end, ""),
    }
}
