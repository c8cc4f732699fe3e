//! JSON, with or without comments and trailing commas. A new member becomes the first of its object: no other member's comma and no
//! comment is touched.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectPropName, Value as Ast},
    common::Ranged as _,
};
use serde_json::{Map, Value, json};

use super::{
    error::EditError,
    render,
    scan::{self, splice},
};
use crate::tree::{EntryPath, Kind, Member, Node, Shape};

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Option<Node>, EditError> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    match parsed {
        Ok(parsed) => Ok(parsed.value.map(node)),
        Err(error) => {
            let (line, column) = scan::line_and_column(text, error.range().start);
            let message = error.kind().to_string();
            Err(EditError::Syntax { line, column, message })
        }
    }
}

fn node(value: Ast<'_>) -> Node {
    let range = value.range();
    let kind = match value {
        Ast::NullKeyword(_) => Kind::Null,
        Ast::StringLit(literal) => Kind::Text(literal.value.into_owned()),
        Ast::NumberLit(literal) => Kind::Bare(literal.value.into()),
        Ast::BooleanLit(literal) => Kind::Bare(literal.value.to_string()),
        Ast::Array(array) => Kind::List(array.elements.into_iter().map(node).collect()),
        Ast::Object(object) => Kind::Map(
            object
                .properties
                .into_iter()
                .map(|property| {
                    let range = property.name.range();
                    let key = match property.name {
                        ObjectPropName::String(literal) => literal.value.into_owned(),
                        ObjectPropName::Word(literal) => literal.value.into(),
                    };
                    Member { key, key_span: range.start..range.end, value: node(property.value) }
                })
                .collect(),
        ),
    };
    Node { span: range.start..range.end, kind }
}

pub(super) fn insert(text: &str, root: Option<&Node>, place: EntryPath<'_>, entry: &Value) -> Vec<String> {
    let servers = match place.shape {
        Shape::Map => Value::Object(Map::from_iter([(place.name.to_owned(), entry.clone())])),
        Shape::List => json!([entry]),
    };
    let Some(root) = root else {
        let whole = Value::Object(Map::from_iter([(place.servers.to_owned(), servers)]));
        let newline = scan::newline(text);
        let whole = render::pretty(&whole, "", "  ", newline);
        return vec![[&scan::ended(text), &*whole, newline].concat()];
    };
    let style = Style::detect(text, root);
    let new = match root.get(place.servers) {
        None => style.member(root, place.servers, &servers),
        Some(node) if node.kind == Kind::Null => {
            let indent = scan::indent(text, node.span.start);
            let servers = render::pretty(&servers, indent, &style.unit, style.newline);
            splice(text, node.span.start, node.span.end, &servers)
        }
        Some(node) => match place.shape {
            Shape::Map => style.member(node, place.name, entry),
            Shape::List => return vec![],
        },
    };
    vec![new]
}

/// Layout of a document.
struct Style<'t> {
    text: &'t str,
    newline: &'static str,
    /// The blanks of one level.
    unit: String,
}

impl<'t> Style<'t> {
    fn detect(text: &'t str, root: &Node) -> Self {
        let own = scan::indent(text, root.span.start);
        let first = root.members().first().map(|member| member.key_span.start);
        let unit = first
            .filter(|at| starts_line(text, *at))
            .and_then(|at| scan::indent(text, at).strip_prefix(own))
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ");
        Self { text, newline: scan::newline(text), unit: unit.into() }
    }

    /// Returns the text with a new first member in `object`.
    fn member(&self, object: &Node, name: &str, value: &Value) -> String {
        let Self { text, newline, unit } = self;
        let open = object.span.start + 1;
        let own = scan::indent(text, open);
        let key = render::compact(&Value::String(name.into()));
        let below = [own, unit].concat();
        let on_lines = |indent: &str| {
            let value = render::pretty(value, indent, unit, newline);
            format!("{newline}{indent}{key}: {value}")
        };
        match object.members().first() {
            None => {
                let member = on_lines(&below);
                match end_of_line(text, open) {
                    Some(at) => splice(text, at, at, &member),
                    None => splice(text, open, open, &[&member, *newline, own].concat()),
                }
            }
            Some(first) => {
                let start = first.key_span.start;
                match end_of_line(text, open) {
                    Some(at) => {
                        let indent =
                            if starts_line(text, start) { scan::indent(text, start) } else { &below };
                        splice(text, at, at, &[&on_lines(indent), ","].concat())
                    }
                    None => {
                        let member = format!("{key}: {},", render::compact(value));
                        let is_spaced = text[open..].starts_with([' ', '\t']);
                        let member =
                            if is_spaced { [" ", &member].concat() } else { [&member, " "].concat() };
                        splice(text, open, open, &member)
                    }
                }
            }
        }
    }
}

/// Returns true if only blanks are before `at` on its line.
fn starts_line(text: &str, at: usize) -> bool {
    scan::blanks_before(text, at) == scan::line_start(text, at)
}

/// Returns the end of the line if only blanks and comments follow on it.
fn end_of_line(text: &str, at: usize) -> Option<usize> {
    let end = trivia(text, at, |rest| rest.starts_with(['\r', '\n']));
    text[end..].starts_with(['\r', '\n']).then_some(end)
}

/// Returns the end of the blanks, line breaks and comments from `at`, or the first place where `stop` is true.
fn trivia(text: &str, mut at: usize, stop: impl Fn(&str) -> bool) -> usize {
    loop {
        let rest = &text[at..];
        if stop(rest) {
            return at;
        }
        at += if rest.starts_with("//") {
            scan::line_end(text, at) - at
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with([' ', '\t', '\r', '\n']) {
            1
        } else {
            return at;
        };
    }
}

pub(super) fn remove(text: &str, root: &Node, place: EntryPath<'_>) -> Vec<String> {
    let Some(servers) = root.get(place.servers) else {
        return vec![];
    };
    match (&servers.kind, place.positions(root).first()) {
        (Kind::Map(_), Some(at)) => remove_member(text, servers, *at),
        _ => vec![],
    }
}

/// Returns the text without the member of `object` at this position.
pub(super) fn remove_member(text: &str, object: &Node, position: usize) -> Vec<String> {
    let members = object.members();
    let member = &members[position];
    let (start, mut end) = (member.key_span.start, member.value.span.end);
    let mut text = text.to_owned();
    let comma = trivia(&text, end, |_| false);
    if text[comma..].starts_with(',') {
        end = comma + 1;
    }
    let blanks = scan::blanks_before(&text, start);
    let mut from = blanks;
    if text[..from].ends_with('\n') {
        from -= 1;
        from -= usize::from(text[..from].ends_with('\r'));
    } else if blanks == start && text[end..].starts_with([' ', '\t']) {
        end += 1;
    }
    if members.len() == 1 && text[object.span.start + 1..from].trim().is_empty() {
        let close = object.span.end - 1;
        if text[end..close].trim().is_empty() {
            (from, end) = (object.span.start + 1, close);
        }
    }
    text.replace_range(from..end, "");
    // Without a comma after it, it was the last: the comma before it is now a trailing one.
    let is_last = position + 1 == members.len();
    if is_last && position > 0 && !text[from..].starts_with(',') && end == member.value.span.end {
        let before = members[position - 1].value.span.end;
        let comma = trivia(&text, before, |_| false);
        if text[comma..].starts_with(',') {
            text.remove(comma);
        }
    }
    vec![text]
}
