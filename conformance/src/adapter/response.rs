//! Translates a server's response to the contract's.
//!
//! A client adds the translation's other inputs to a message: the pages before it, and the pointers whose holes the request
//! fills.

use regex::Regex;
use serde_json::{Map, Value};
use tabellion_runtime::pointer;

use super::{template::Part, values::Values};
use crate::reply::{self, Refusal, Reply, Success};

/// Member of a message for the client's notes.
const NOTES: &str = "tabellion/notes";

/// Sources of the contract's response in a server's, and the pattern of refusals.
#[derive(Debug, Default)]
pub(super) struct Mapping {
    /// Sources, with pointers into the contract's response.
    pub(super) members: Vec<(String, Source)>,
    /// Pattern of a text that means a refusal, although the result is not marked as an error.
    pub(super) refused: Option<Regex>,
}

/// Source of one value.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) from: From,
    /// For a list: pointers into the contract's item, each with a pointer into the server's item.
    pub(super) each: Vec<(String, String)>,
    /// For a list: true to reverse the order.
    pub(super) reversed: bool,
}

#[derive(Debug)]
pub(super) enum From {
    /// `at`: a pointer into the result.
    Result(Pointer),
    /// `json`: a pointer into the JSON that the result's text is.
    Json(Pointer),
    /// `text`: the result's text, or the first group of a pattern in it.
    Text(Option<Regex>),
    /// `lines`: the first group of a pattern, for each matching line of the text.
    Lines(Regex),
    /// `is`: a constant.
    Is(Value),
}

/// A JSON pointer, perhaps with holes.
#[derive(Debug)]
pub(super) enum Pointer {
    Plain(String),
    WithHoles {
        /// As in the file.
        text: String,
        parts: Vec<Part>,
    },
}

impl Pointer {
    /// Returns the pointer; `None` if it has holes that the client did not fill.
    fn resolved<'a>(&'a self, message: &'a Value) -> Option<&'a str> {
        match self {
            Self::Plain(pointer) => Some(pointer),
            Self::WithHoles { text, .. } => message[NOTES]["pointers"][text].as_str(),
        }
    }

    /// Fills the holes, and notes the pointer in `message`.
    fn note(&self, message: &mut Value, values: &Values<'_>) {
        let Self::WithHoles { text, parts } = self else {
            return;
        };
        let mut pointer = String::new();
        for part in parts {
            match (part, part.text(values)) {
                (Part::Text(plain), _) => pointer.push_str(plain),
                (Part::Hole(_), Ok(value)) => pointer.push_str(&value.replace('~', "~0").replace('/', "~1")),
                // Without the value, there is no such pointer.
                (Part::Hole(_), Err(_)) => return,
            }
        }
        message[NOTES]["pointers"][text] = pointer.into();
    }
}

/// Instructions to get the rest of an answer in pages.
#[derive(Debug)]
pub(super) struct Paging {
    /// Position of the next page: the value for `{next}`, or `true` for the number of characters or items so far.
    pub(super) next: Source,
    /// Value that must be equal in all pages.
    pub(super) same: Option<Source>,
    /// Pointer to the text in the contract's response, which the pages continue.
    pub(super) content: Option<&'static str>,
}

impl Mapping {
    /// Fills the holes of pointers.
    pub(super) fn note(&self, message: &mut Value, values: &Values<'_>) {
        for (_, source) in &self.members {
            source.note(message, values);
        }
    }

    /// Returns the value for `{next}` of the page after `message`; `None` after the last page.
    pub(super) fn next(&self, paging: &Paging, message: &Value) -> Option<Value> {
        match paging.next.value(message)? {
            Value::Null | Value::Bool(false) => None,
            Value::String(text) if text.is_empty() => None,
            Value::Bool(true) => Some(self.received(paging, message).into()),
            next => Some(next),
        }
    }

    /// Returns the number of characters of the text, or items of the first list, so far.
    fn received(&self, paging: &Paging, message: &Value) -> usize {
        let Reply::Done(Success { response, .. }) = self.paged_reply(Some(paging), message) else {
            return 0;
        };
        let text = paging.content.and_then(|pointer| response.pointer(pointer)?.as_str());
        let lists = self.members.iter().map(|(pointer, _)| response.pointer(pointer));
        let mut lists = lists.filter_map(|list| list?.as_array());
        text.map_or_else(|| lists.next().map_or(0, Vec::len), |text| text.chars().count())
    }

    /// Returns the answer in the contract's shape: of all pages, if the client noted several.
    pub(super) fn paged_reply(&self, paging: Option<&Paging>, message: &Value) -> Reply {
        if let Some(refusal) = self.refusal(message) {
            return Reply::Refused(refusal);
        }
        let content = paging.and_then(|paging| paging.content);
        let mut response = Value::Object(Map::new());
        for (pointer, source) in &self.members {
            let continues = content == Some(pointer);
            let pages = pages(message).iter().chain([message]);
            let values = pages.filter_map(|page| source.value(page));
            if let Some(value) = values.reduce(|all, page| {
                let (first, second) = if source.reversed { (page, all) } else { (all, page) };
                joined(first, second, continues)
            }) {
                put(&mut response, pointer, value);
            }
        }
        Reply::Done(Success::new(response, &message["result"]))
    }

    pub(super) fn refusal(&self, message: &Value) -> Option<Refusal> {
        let marked = Refusal::from_message(message);
        let by_text = || {
            let text = reply::text(&message["result"]);
            let pattern = self.refused.as_ref()?;
            pattern.is_match(&text).then_some(Refusal { code: None, message: text })
        };
        marked.or_else(by_text).or_else(|| told(&message["result"]))
    }

    /// Returns the pointers for which a response has no value.
    pub(super) fn missing(&self, message: &Value) -> Vec<String> {
        let nowhere = self.members.iter().filter(|(_, source)| source.value(message).is_none());
        nowhere.map(|(pointer, _)| pointer.clone()).collect()
    }
}

impl Source {
    pub(super) fn note(&self, message: &mut Value, values: &Values<'_>) {
        if let From::Result(pointer) | From::Json(pointer) = &self.from {
            pointer.note(message, values);
        }
    }

    /// Returns the value in a response message.
    pub(super) fn value(&self, message: &Value) -> Option<Value> {
        let result = &message["result"];
        let value = match &self.from {
            From::Result(pointer) => result.pointer(pointer.resolved(message)?)?.clone(),
            From::Json(pointer) => {
                let text = reply::text(result);
                let json: Value = serde_json::from_str(&text).ok()?;
                json.pointer(pointer.resolved(message)?)?.clone()
            }
            From::Text(pattern) => {
                result["content"].as_array()?;
                let text = reply::text(result);
                match pattern {
                    None => text.into(),
                    Some(pattern) => pattern.captures(&text)?.get(1)?.as_str().into(),
                }
            }
            From::Lines(pattern) => {
                let text = reply::text(result);
                let found = text
                    .lines()
                    .filter_map(|line| pattern.captures(line)?.get(1).map(|it| it.as_str().into()));
                Value::Array(found.collect())
            }
            From::Is(value) => return Some(value.clone()),
        };
        let Value::Array(mut items) = value else {
            return self.each.is_empty().then_some(value);
        };
        if !self.each.is_empty() {
            items = items.iter().map(|item| self.item(item)).collect::<Option<_>>()?;
        }
        if self.reversed {
            items.reverse();
        }
        Some(items.into())
    }

    fn item(&self, item: &Value) -> Option<Value> {
        let mut made = Value::Object(Map::new());
        for (pointer, from) in &self.each {
            put(&mut made, pointer, item.pointer(from)?.clone());
        }
        Some(made)
    }
}

/// Values of `status` with which a result reports a failure.
const FAILED: [&str; 8] =
    ["failed", "failure", "error", "skipped", "refused", "rejected", "denied", "not_found"];

/// Returns the refusal that a successful result contains as JSON: of the whole, or of the only item of a list.
fn told(result: &Value) -> Option<Refusal> {
    let text = reply::text(result);
    let json = match &result["structuredContent"] {
        Value::Null => serde_json::from_str(&text).ok()?,
        structured => structured.clone(),
    };
    let only =
        |value: &Value| value.as_array().filter(|items| items.len() == 1).map(|items| items[0].clone());
    let member = || json.as_object()?.values().find_map(only);
    let item = only(&json).or_else(member);
    let failed = [item.as_ref(), Some(&json)].into_iter().flatten().find(|object| says_failed(object))?;
    let why = ["/error", "/error/message", "/message", "/reason"];
    let why = why.iter().find_map(|pointer| failed.pointer(pointer)?.as_str());
    Some(Refusal { code: None, message: why.map_or(text, str::to_owned) })
}

fn says_failed(object: &Value) -> bool {
    let is = |name: &str, value: bool| object[name] == value;
    let has_error = match &object["error"] {
        Value::String(text) => !text.is_empty(),
        error => error.is_object(),
    };
    let has_failed =
        object["status"].as_str().is_some_and(|status| FAILED.contains(&&*status.to_lowercase()));
    is("success", false)
        || is("ok", false)
        || has_failed
        || has_error && !is("success", true) && !is("ok", true)
}

/// Returns the pages before a message.
fn pages(message: &Value) -> &[Value] {
    message[NOTES]["pages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Notes the page before a message, and the pages before that one.
pub(super) fn note_page(message: &mut Value, mut before: Value) {
    let mut all = match before[NOTES]["pages"].take() {
        Value::Array(pages) => pages,
        _ => Vec::new(),
    };
    all.push(before);
    message[NOTES]["pages"] = all.into();
}

/// Joins a value of two pages: lists, and the text that `continues`. Of other values, the first stays.
fn joined(all: Value, page: Value, continues: bool) -> Value {
    match (all, page) {
        (Value::Array(mut all), Value::Array(page)) => {
            all.extend(page);
            all.into()
        }
        (Value::String(all), Value::String(page)) if continues => (all + &page).into(),
        (all, _) => all,
    }
}

/// Sets the value at `pointer`, and creates the objects above it.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for name in pointer::tokens(pointer) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[name];
    }
    *at = value;
}
