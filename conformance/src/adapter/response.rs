//! Translates a server's response to the contract's.

use regex::Regex;
use serde_json::{Map, Value};
use tabellion_runtime::pointer;

use crate::reply::{self, Refusal, Reply, Success};

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
    /// For a list: whether to reverse the order.
    pub(super) reversed: bool,
}

#[derive(Debug)]
pub(super) enum From {
    /// `at`: a pointer into the result.
    Result(String),
    /// `json`: a pointer into the JSON that the result's text is.
    Json(String),
    /// `text`: the result's text, or the first group of a pattern in it.
    Text(Option<Regex>),
    /// `lines`: the first group of a pattern, for each matching line of the text.
    Lines(Regex),
    /// `is`: a constant.
    Is(Value),
}

impl Mapping {
    pub(super) fn reply(&self, message: &Value) -> Reply {
        if let Some(refusal) = self.refusal(message) {
            return Reply::Refused(refusal);
        }
        let result = &message["result"];
        let mut response = Value::Object(Map::new());
        for (pointer, source) in &self.members {
            if let Some(value) = source.value(result) {
                put(&mut response, pointer, value);
            }
        }
        Reply::Done(Success {
            response,
            meta: super::meta(result),
        })
    }

    fn refusal(&self, message: &Value) -> Option<Refusal> {
        let marked = Refusal::of(message);
        let by_text = || {
            let text = reply::text(&message["result"]);
            let pattern = self.refused.as_ref()?;
            pattern.is_match(&text).then_some(Refusal {
                code: None,
                message: text,
            })
        };
        marked.or_else(by_text)
    }

    /// Returns the pointers for which a response has no value.
    pub(super) fn missing(&self, message: &Value) -> Vec<String> {
        let result = &message["result"];
        let nowhere = self
            .members
            .iter()
            .filter(|(_, source)| source.value(result).is_none());
        nowhere.map(|(pointer, _)| pointer.clone()).collect()
    }
}

impl Source {
    fn value(&self, result: &Value) -> Option<Value> {
        let value = match &self.from {
            From::Result(pointer) => result.pointer(pointer)?.clone(),
            From::Json(pointer) => {
                let json: Value = serde_json::from_str(&reply::text(result)).ok()?;
                json.pointer(pointer)?.clone()
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
