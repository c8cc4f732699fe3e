//! The splices that set and remove a key. Each function returns candidates, the best one first; the caller parses them to select
//! the right one.

use std::ops::Range;

use saphyr_parser::ScalarStyle;
use serde_json::Value;

use super::{
    parsed::{FrontMatter, next_line},
    render::{self, Quotes, UNIT},
    yaml::{Kind, Member, Node},
};
use crate::lines::{BOM, ending_of, line_start};

/// Returns the document with a new key below the others.
pub(super) fn add(front_matter: &FrontMatter<'_>, key: &str, value: &Value) -> Vec<String> {
    let FrontMatter { text, content, .. } = front_matter;
    let ending = ending(front_matter);
    if front_matter.is_present() {
        let first = front_matter.members.first();
        let indent = first.map_or("", |first| indent(front_matter, first.key_span.start));
        let lines = joined(render::member(key, value), indent, ending);
        return vec![splice(text, content.end..content.end, &lines)];
    }
    let start = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    let lines = joined(render::member(key, value), "", ending);
    vec![splice(text, start..start, &format!("---{ending}{lines}---{ending}"))]
}

/// Returns the document without a key and its lines.
pub(super) fn remove(front_matter: &FrontMatter<'_>, member: &Member) -> Vec<String> {
    let FrontMatter { text, masked, whole, content, .. } = front_matter;
    let start = line_start(masked, member.key_span.start);
    let [end, longest] = ends(front_matter, member).map(|end| next_line(masked, end).min(content.end));
    // Blank lines below would become part of a block scalar above that keeps its line endings.
    let below = masked[longest..content.end].trim_start();
    let next = line_start(masked, content.end - below.len()).max(longest);
    let without = |end| match start..end {
        lines if lines == *content => splice(text, whole.clone(), ""),
        lines => splice(text, lines, ""),
    };
    [end, longest, next].map(without).into()
}

/// Returns the document with another value of a key.
pub(super) fn replace(front_matter: &FrontMatter<'_>, member: &Member, value: &Value) -> Vec<String> {
    let text = front_matter.text;
    let Some(colon) = colon(front_matter, member) else {
        return vec![];
    };
    let mut candidates = vec![];
    candidates.extend(in_line(front_matter, member, colon, value));
    candidates.extend(in_list(front_matter, member, value));
    let [end, longest] = ends(front_matter, member);
    let head = head(front_matter, member, colon);
    let indent = indent(front_matter, member.key_span.start);
    let new = if render::is_block(value) {
        let ending = ending(front_matter);
        let lines = render::lines(value);
        let lines = lines.into_iter().map(|line| [ending, indent, UNIT, &line].concat());
        let head = text[colon..head].trim_end();
        [head.into(), lines.collect::<String>()].concat()
    } else {
        // A comment behind the colon stays behind the value.
        let comment = text[colon..head].trim_end();
        format!(" {}{comment}", render::flow(value, Quotes::Plain))
    };
    candidates.push(splice(text, colon..end, &new));
    candidates.push(splice(text, colon..longest, &new));
    candidates
}

/// Returns the document with only the bytes of a value on one line replaced, in the same style.
fn in_line(front_matter: &FrontMatter<'_>, member: &Member, colon: usize, value: &Value) -> Option<String> {
    let (text, Node { span, kind, .. }) = (front_matter.text, &member.value);
    let quotes = match kind {
        Kind::Scalar(_, ScalarStyle::Plain) => Quotes::Plain,
        Kind::Scalar(_, ScalarStyle::SingleQuoted) => Quotes::Single,
        Kind::Scalar(_, ScalarStyle::DoubleQuoted) => Quotes::Double,
        Kind::List(_) | Kind::Map(_) if member.value.is_flow => Quotes::Plain,
        _ => return None,
    };
    let is_alone = text.get(colon..span.start)?.trim_matches([' ', '\t']).is_empty();
    let is_same = match kind {
        Kind::Scalar(..) => !render::is_block(value),
        Kind::List(_) => value.is_array(),
        _ => value.is_object(),
    };
    let old = text.get(span.clone())?;
    if !is_alone || !is_same || old.is_empty() || old.contains(['\n', '\r']) {
        return None;
    }
    Some(splice(text, span.clone(), &render::flow(value, quotes)))
}

/// Returns the document with only those items of a list in block style replaced that differ.
fn in_list(front_matter: &FrontMatter<'_>, member: &Member, value: &Value) -> Option<String> {
    let (Kind::List(items), Value::Array(new)) = (&member.value.kind, value) else {
        return None;
    };
    let FrontMatter { text, masked, .. } = front_matter;
    if !member.value.is_block() || new.is_empty() {
        return None;
    }
    let old: Vec<_> = items.iter().map(Node::to_json).collect();
    let most = old.len().min(new.len());
    let same = |(a, b): &(&Value, &Value)| a == b;
    let before = old.iter().zip(new).take_while(same).count();
    let after = old.iter().rev().zip(new.iter().rev());
    let after = after.take(most - before).take_while(same).count();

    let line = |item: &Node| line_start(masked, item.span.start);
    let last_line = next_line(masked, end(front_matter, &member.value, false));
    let start = items.get(before).map_or(last_line, line);
    let stop = items.get(old.len() - after).map_or(last_line, line);
    let first = items.first()?;
    // The dash of the first item, preceded only by blanks.
    let dash = &masked[line(first)..first.span.start];
    let indent = &dash[..dash.find('-')?];
    let lines: String = new[before..new.len() - after]
        .iter()
        .map(|item| joined(render::item(item), indent, ending(front_matter)))
        .collect();
    Some(splice(text, start..stop, &lines))
}

/// Returns the position behind the colon of a key.
fn colon(front_matter: &FrontMatter<'_>, member: &Member) -> Option<usize> {
    let rest = front_matter.text.get(member.key_span.end..)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest[blanks..].starts_with(':').then_some(member.key_span.end + blanks + 1)
}

/// Returns the start of a value in block style, below its key; for every other value the position behind the colon.
fn head(front_matter: &FrontMatter<'_>, member: &Member, colon: usize) -> usize {
    let first = match &member.value.kind {
        Kind::List(items) => items.first().map(|item| item.span.start),
        Kind::Map(members) => members.first().map(|member| member.key_span.start),
        Kind::Scalar(..) | Kind::Alias(_) => None,
    };
    first
        .filter(|_| member.value.is_block())
        .map_or(colon, |first| line_start(&front_matter.masked, first).max(colon))
}

/// Returns the end of a member, and its end if the blank lines below a block scalar belong to it.
fn ends(front_matter: &FrontMatter<'_>, member: &Member) -> [usize; 2] {
    let behind = colon(front_matter, member).unwrap_or(member.key_span.end);
    [false, true].map(|blanks| end(front_matter, &member.value, blanks).max(behind))
}

/// Returns the end of a value; for one without bytes, the end of the text before it.
fn end(front_matter: &FrontMatter<'_>, node: &Node, with_blanks: bool) -> usize {
    let text = front_matter.text;
    match &node.kind {
        Kind::List(items) if node.is_block() => {
            items.last().map_or(node.span.start, |item| end(front_matter, item, with_blanks))
        }
        Kind::Map(members) if node.is_block() => members.last().map_or(node.span.start, |member| {
            let value = end(front_matter, &member.value, with_blanks);
            value.max(member.key_span.end)
        }),
        Kind::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded) => {
            let end = text[..node.span.end].trim_end().len();
            // The position of the line ending.
            if with_blanks { end.max(node.span.end - 1) } else { end }
        }
        Kind::Scalar(..) if node.span.is_empty() => text[..node.span.start].trim_end().len(),
        _ => node.span.end,
    }
}

/// Returns the blanks at the start of the position's line.
fn indent<'f>(front_matter: &'f FrontMatter<'_>, position: usize) -> &'f str {
    let line = &front_matter.masked[line_start(&front_matter.masked, position)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the line ending of the opening fence, or the document's if there is none.
fn ending(front_matter: &FrontMatter<'_>) -> &'static str {
    let FrontMatter { text, whole, content, .. } = front_matter;
    if whole.is_empty() {
        return ending_of(text);
    }
    let fence = &text[whole.start..content.start];
    match (fence.ends_with("\r\n"), fence.ends_with('\r')) {
        (true, _) => "\r\n",
        (_, true) => "\r",
        _ => "\n",
    }
}

fn joined(lines: Vec<String>, indent: &str, ending: &str) -> String {
    lines.into_iter().map(|line| [indent, &line, ending].concat()).collect()
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}
