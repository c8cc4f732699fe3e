//! TOML. A new entry is a separate table at the end of the file, unless the servers are an inline table or dotted keys.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, Item, TableLike, Value as TomlValue};

use super::{
    error::EditError,
    render,
    scan::{self, splice},
};
use crate::tree::{EntryPath, Kind, Member, Node};

pub(super) fn parse(text: &str) -> Result<Option<Node>, EditError> {
    let document = document(text)?;
    Ok(Some(table(document.as_table(), 0..0)))
}

fn document(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = scan::line_and_column(text, at);
        let message = error.message().to_owned();
        EditError::Syntax { line, column, message }
    })
}

fn table(table: &dyn TableLike, span: Range<usize>) -> Node {
    let member = |(name, item): (&str, &Item)| {
        let key = table.key(name).and_then(toml_edit::Key::span);
        Member { key: name.into(), key_span: key.unwrap_or(0..0), value: node(item) }
    };
    Node { kind: Kind::Map(table.iter().map(member).collect()), span }
}

fn node(item: &Item) -> Node {
    let span = item.span().unwrap_or(0..0);
    if let Some(it) = item.as_table_like() {
        return table(it, span);
    }
    let kind = match item {
        Item::None => Kind::Null,
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter();
            Kind::List(tables.map(|it| table(it, it.span().unwrap_or(0..0))).collect())
        }
        Item::Value(value) => return scalar(value),
        Item::Table(_) => Kind::Map(vec![]),
    };
    Node { span, kind }
}

fn scalar(value: &TomlValue) -> Node {
    let span = value.span().unwrap_or(0..0);
    let kind = match value {
        TomlValue::String(text) => Kind::Text(text.value().clone()),
        TomlValue::Integer(number) => Kind::Bare(number.value().to_string()),
        TomlValue::Float(number) => Kind::Bare(number.value().to_string()),
        TomlValue::Boolean(value) => Kind::Bare(value.value().to_string()),
        TomlValue::Datetime(moment) => Kind::Bare(moment.value().to_string()),
        TomlValue::Array(items) => Kind::List(items.iter().map(scalar).collect()),
        TomlValue::InlineTable(it) => return table(it, span),
    };
    Node { span, kind }
}

pub(super) fn insert(text: &str, place: EntryPath<'_>, entry: &Value) -> Vec<String> {
    let newline = scan::newline(text);
    let (servers, name) = (render::key(place.servers), render::key(place.name));
    let mut block = format!("[{servers}.{name}]{newline}");
    for (key, value) in entry.as_object().into_iter().flatten() {
        block.push_str(&format!("{} = {}{newline}", render::key(key), render::toml(value)));
    }
    let gap = if text.trim().is_empty() { "" } else { newline };
    let at_end = [&scan::ended(text), gap, &block].concat();

    let inline = format!("{name} = {}", render::toml(entry));
    let dotted = [&format!("{servers}.{inline}{newline}"), text].concat();
    let mut candidates = vec![at_end];
    if let Some(open) = inline_table(text, place.servers) {
        for comma in [", ", ""] {
            let is_spaced = text[open..].starts_with(' ');
            let member =
                if is_spaced { format!(" {inline}{}", comma.trim_end()) } else { format!("{inline}{comma}") };
            candidates.push(splice(text, open, open, &member));
        }
    }
    candidates.push(dotted);
    candidates
}

/// Returns the start of the content of an inline table.
fn inline_table(text: &str, key: &str) -> Option<usize> {
    let document = document(text).ok()?;
    let item = document.as_table().get(key)?;
    item.as_inline_table()?;
    let start = item.span()?.start;
    text[start..].starts_with('{').then_some(start + 1)
}

pub(super) fn remove(text: &str, place: EntryPath<'_>) -> Vec<String> {
    let Ok(document) = document(text) else {
        return vec![];
    };
    let Some(servers) = document.as_table().get(place.servers) else {
        return vec![];
    };
    let Some(table) = servers.as_table_like() else {
        return vec![];
    };
    let (Some(entry), Some(key)) = (table.get(place.name), table.key(place.name)) else {
        return vec![];
    };
    let mut spans = vec![];
    parts(key, entry, &mut spans);
    vec![without_lines(text, &spans), without_inline(text, table, place.name)]
}

/// Collects the headers and values of a table and the tables below it.
fn parts(key: &toml_edit::Key, item: &Item, spans: &mut Vec<Range<usize>>) {
    match item {
        Item::Table(table) => {
            // A table in dotted keys, or an implicit one, has no header in the text.
            if !table.is_dotted() && !table.is_implicit() {
                spans.extend(table.span());
            }
            for (name, item) in table.iter() {
                if let Some(key) = table.key(name) {
                    parts(key, item, spans);
                }
            }
        }
        Item::ArrayOfTables(tables) => {
            for table in tables.iter() {
                spans.extend(table.span());
                for (name, item) in table.iter() {
                    if let Some(key) = table.key(name) {
                        parts(key, item, spans);
                    }
                }
            }
        }
        Item::Value(_) | Item::None => {
            let (start, end) = (key.span(), item.span());
            spans.extend(start.zip(end).map(|(key, value)| key.start.min(value.start)..value.end));
        }
    }
}

/// Returns the text without the lines of these spans, and without one empty line before each group of them.
fn without_lines(text: &str, spans: &[Range<usize>]) -> String {
    let mut ranges: Vec<(usize, usize)> = spans
        .iter()
        .map(|span| (scan::line_start(text, span.start), scan::next_line(text, span.end)))
        .collect();
    ranges.sort_unstable();
    let mut new = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in ranges {
        if start > at {
            let kept = &text[at..start];
            let shorter = kept
                .strip_suffix("\r\n\r\n")
                .map(|kept| [kept, "\r\n"].concat())
                .or_else(|| kept.strip_suffix("\n\n").map(|kept| [kept, "\n"].concat()));
            new.push_str(shorter.as_deref().unwrap_or(kept));
        }
        at = at.max(end);
    }
    new.push_str(&text[at..]);
    new
}

/// Returns the text without a member of an inline table.
fn without_inline(text: &str, table: &dyn TableLike, name: &str) -> String {
    let start = |name: &str| table.key(name).and_then(toml_edit::Key::span).map(|span| span.start);
    let end = |name: &str| table.get(name).and_then(Item::span).map(|span| span.end);
    let names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
    let at = names.iter().position(|it| *it == name).unwrap_or(0);
    let from_to = match (names.get(at + 1), at.checked_sub(1)) {
        (Some(next), _) => start(name).zip(start(next)),
        (None, Some(before)) => end(names[before]).zip(end(name)),
        (None, None) => start(name).zip(end(name)),
    };
    match from_to {
        Some((from, to)) if from <= to => splice(text, from, to, ""),
        _ => text.into(),
    }
}
