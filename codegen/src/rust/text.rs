//! Literals and doc comments.

use std::fmt::Debug;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use serde_json::{Map, Value, json};

/// Maximum width of a line of JSON that can be broken.
const WIDTH: usize = 100;

/// Returns the Rust name of a word of a closed vocabulary.
pub(crate) fn variant(word: impl Debug) -> Ident {
    ident(&format!("{word:?}"))
}

/// Returns `name` as an identifier.
pub(crate) fn ident(name: &str) -> Ident {
    format_ident!("{name}")
}

pub(crate) fn optional(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}

/// Returns `#[doc]` attributes with `text`, line by line.
pub(crate) fn docs(text: &str) -> TokenStream {
    let lines = doc_lines(text);
    quote!(#(#[doc = #lines])*)
}

/// Like [`docs`], for the enclosing item.
pub(super) fn inner_docs(text: &str) -> TokenStream {
    let lines = doc_lines(text);
    quote!(#(#![doc = #lines])*)
}

/// Prevents code blocks in a contract's descriptions from becoming doctests.
fn doc_lines(text: &str) -> Vec<String> {
    let mut fenced = false;
    // Doc comments can't have a carriage return.
    text.lines()
        .flat_map(|line| line.split('\r'))
        .map(|line| {
            let line = line.trim();
            if let Some(info) = line.strip_prefix("```") {
                fenced = !fenced;
                if fenced && info.is_empty() {
                    return " ```text".into();
                }
            }
            if line.is_empty() { String::new() } else { format!(" {line}") }
        })
        .collect()
}

/// Returns the arm of `Service::call` for the method of an operation.
pub(crate) fn arm(label: &str, mutating: bool, method: &str) -> TokenStream {
    let (run, method) = (ident(if mutating { "mutate" } else { "read" }), ident(method));
    quote!(#label => run.#run(|service, cx, req| Box::pin(service.#method(cx, req))).await,)
}

/// The texts in the file next to the generated module, by name.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) tools: Map<String, Value>,
    pub(crate) others: Map<String, Value>,
}

impl Texts {
    /// Adds a text, and returns the expression that refers to it.
    pub(crate) fn keep(&mut self, name: impl Into<String>, value: Value) -> TokenStream {
        let name = name.into();
        let expression = quote!(TEXTS.text(#name));
        self.others.insert(name, value);
        expression
    }

    /// Adds the texts of another.
    pub(crate) fn extend(&mut self, other: Self) {
        self.tools.extend(other.tools);
        self.others.extend(other.others);
    }

    pub(super) fn file(self) -> String {
        pretty(&json!({ "tools": self.tools, "texts": self.others })) + "\n"
    }
}

/// Returns `value` in the layout of hand-written JSON.
pub(crate) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, 0, &mut text);
    text
}

/// Writes `value`, on one line if it fits after the `taken` columns.
fn write(value: &Value, indent: usize, taken: usize, out: &mut String) {
    let line = one_line(value);
    if indent * 2 + taken + line.chars().count() < WIDTH {
        out.push_str(&line);
        return;
    }
    let (open, close, parts): (_, _, Vec<(String, &Value)>) = match value {
        Value::Object(members) => {
            let key = |name: &String| format!("{}: ", Value::from(name.as_str()));
            ('{', '}', members.iter().map(|(name, value)| (key(name), value)).collect())
        }
        Value::Array(items) => ('[', ']', items.iter().map(|value| (String::new(), value)).collect()),
        _ => {
            out.push_str(&line);
            return;
        }
    };
    out.push(open);
    for (i, (key, value)) in parts.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        out.push_str(&format!("{comma}\n{}{key}", "  ".repeat(indent + 1)));
        write(value, indent + 1, key.chars().count() + 1, out);
    }
    out.push_str(&format!("\n{}{close}", "  ".repeat(indent)));
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let members = members
                .iter()
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), one_line(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::doc_lines;

    #[test]
    fn doc_lines_have_no_line_ends() {
        assert_eq!(doc_lines("a\r\nb\rc\n\nd"), [" a", " b", " c", "", " d"]);
    }
}
