//! A data file as a tree whose nodes know their lines, in any of the formats.
//!
//! JSON is read as a subset of YAML.

use saphyr_parser::{Event, Parser, ScalarStyle};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::problem::Problem;

/// Collections nested deeper are refused.
const MAX_DEPTH: usize = 32;

/// A value and the line, from 1, on which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Vec<Member>),
    /// Anything else: a float, a date, null.
    Other(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) value: Node,
}

impl Value {
    /// Returns the name of the value's form, for messages.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) => "an integer",
            Self::Boolean(_) => "a boolean",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(_) => "a different value",
        }
    }
}

pub(crate) fn read_toml(text: &str) -> Result<Node, Problem> {
    let line =
        |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count();
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Problem::new(line(at), error.message())
    })?;
    of_table(table.into_inner(), 1, &line, 0)
}

fn of_table(
    table: DeTable<'_>,
    at: usize,
    line: &dyn Fn(usize) -> usize,
    depth: usize,
) -> Result<Node, Problem> {
    let mut members = Vec::new();
    for (key, value) in table {
        members.push(Member {
            line: line(key.span().start),
            key: key.into_inner().into_owned(),
            value: of_value(value, line, depth + 1)?,
        });
    }
    // The order of the file: the parser sorts by key.
    members.sort_by_key(|member| member.line);
    Ok(Node { line: at, value: Value::Table(members) })
}

fn of_value(
    value: Spanned<DeValue<'_>>,
    line: &dyn Fn(usize) -> usize,
    depth: usize,
) -> Result<Node, Problem> {
    let at = line(value.span().start);
    if depth > MAX_DEPTH {
        return Err(Problem::new(at, format!("nested deeper than {MAX_DEPTH} levels")));
    }
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Other(number.as_str().to_owned()),
        },
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Array(items) => {
            let items: Result<_, _> = items.into_iter().map(|item| of_value(item, line, depth + 1)).collect();
            Value::List(items?)
        }
        DeValue::Table(table) => return of_table(table, at, line, depth),
        DeValue::Float(number) => Value::Other(number.as_str().to_owned()),
        DeValue::Datetime(time) => Value::Other(time.to_string()),
    };
    Ok(Node { line: at, value })
}

/// Reads YAML or JSON.
pub(crate) fn read_yaml(text: &str) -> Result<Node, Problem> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Problem::new(error.marker().line(), error.info()))?;
        let line = span.start.line();
        builder.take(event, line).map_err(|message| Problem::new(line, message))?;
    }
    builder.root.ok_or_else(|| Problem::new(1, "the file is empty"))
}

/// Builds the tree from the parser's events.
#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Node>,
    /// For each open table, the key that waits for its value.
    keys: Vec<Option<(String, usize)>>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        let node = |value| Node { line, value };
        match event {
            Event::Scalar(text, style, anchor, _) => {
                refuse_anchor(anchor)?;
                let waiting_key = self.keys.last_mut().filter(|_| self.open.last().is_some_and(is_table));
                match waiting_key {
                    Some(key @ None) => *key = Some((text.into_owned(), line)),
                    _ => self.add(node(scalar(&text, style)))?,
                }
            }
            Event::SequenceStart(anchor, _) => {
                refuse_anchor(anchor)?;
                self.begin(node(Value::List(Vec::new())))?;
            }
            Event::MappingStart(anchor, _) => {
                refuse_anchor(anchor)?;
                self.begin(node(Value::Table(Vec::new())))?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.keys.pop();
                let closed = self.open.pop().expect("a collection ends after it begins");
                self.add(closed)?;
            }
            Event::Alias(_) => return Err("aliases are not read here; write the value out".into()),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn begin(&mut self, node: Node) -> Result<(), String> {
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        if self.open.last().is_some_and(is_table) && self.keys.last().is_some_and(Option::is_none) {
            return Err("a key must be a text".into());
        }
        self.open.push(node);
        self.keys.push(None);
        Ok(())
    }

    fn add(&mut self, node: Node) -> Result<(), String> {
        match self.open.last_mut().map(|open| &mut open.value) {
            Some(Value::List(items)) => items.push(node),
            Some(Value::Table(members)) => {
                let (key, line) =
                    self.keys.last_mut().and_then(Option::take).expect("a value follows its key");
                if members.iter().any(|member| member.key == key) {
                    return Err(format!("`{key}` is there twice"));
                }
                members.push(Member { key, line, value: node });
            }
            _ if self.root.is_some() => return Err("a file holds one document".into()),
            _ => self.root = Some(node),
        }
        Ok(())
    }
}

fn is_table(node: &Node) -> bool {
    matches!(node.value, Value::Table(_))
}

fn refuse_anchor(anchor: usize) -> Result<(), String> {
    if anchor == 0 {
        return Ok(());
    }
    Err("anchors are not read here; remove it".into())
}

/// Returns a scalar as the core schema of YAML 1.2 reads it.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::Text(text.to_owned());
    }
    match text {
        "true" | "True" | "TRUE" => Value::Boolean(true),
        "false" | "False" | "FALSE" => Value::Boolean(false),
        "" | "~" | "null" | "Null" | "NULL" => Value::Other("null".into()),
        _ if text.parse::<i64>().is_ok() => Value::Integer(text.parse().unwrap_or_default()),
        _ if text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
            && text.parse::<f64>().is_ok() =>
        {
            Value::Other(text.to_owned())
        }
        _ => Value::Text(text.to_owned()),
    }
}
