//! Shows a tool's answer to a person.

use anstyle::Style;
use serde_json::{Map, Value};
use tabellion_runtime::{Answer, ContractSpec, ToolSpec, context};
use tabellion_upkeep::page::{FAINT, NAME, Page};

/// Adds the answer of `tool` to the page. A text that the tool reads is shown alone, so that it can be redirected.
pub(super) fn add(
    page: &mut Page,
    contract: &ContractSpec,
    tool: &ToolSpec,
    request: &Value,
    answer: &Answer,
) {
    let read = tool.effect(request).filter(|effect| effect.kind.reads());
    let text = read.and_then(|effect| answer.response.pointer(effect.content?)?.as_str());
    if let Some(text) = text {
        page.text(Style::new(), text);
        return;
    }
    let preview = contract.previews.iter().find(|pair| pair.preview == tool.name);
    let diff = preview.and_then(|pair| answer.response.pointer(pair.diff)?.as_str());
    add_value(page, &answer.response, 0);
    if let Some(commit) = answer.meta.get(context::COMMIT).and_then(Value::as_str) {
        page.put(NAME, "commit").line(&format!(": {commit}"));
    }
    if let Some(change) = answer.meta.get(context::CHANGE).and_then(Value::as_str) {
        page.put(NAME, "change").line(&format!(": {change}"));
    }
    if let Some(diff) = diff.filter(|diff| diff.is_empty()) {
        page.put(FAINT, "(no difference)").line(diff);
    }
}

/// Returns the answer's further notes for people, apart from the response.
pub(super) fn notes(meta: &Map<String, Value>) -> Vec<String> {
    let silent = [context::BASE, context::COMMIT, context::CHANGE];
    let said = meta.iter().filter(|(key, _)| !silent.contains(&key.as_str()));
    said.map(|(key, value)| format!("{}: {value}", key.strip_prefix("tabellion/").unwrap_or(key))).collect()
}

fn add_value(page: &mut Page, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                page.put(Style::new(), &indent).put(NAME, name);
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        page.line(":");
                        add_value(page, value, depth + 1);
                    }
                    Value::Array(items) if !items.is_empty() => {
                        page.line(":");
                        add_value(page, value, depth + 1);
                    }
                    Value::String(text) if text.contains('\n') => {
                        page.line(":").diff_or_text(text);
                        if !text.ends_with('\n') {
                            page.line("");
                        }
                    }
                    _ => {
                        page.line(&format!(": {}", scalar(value)));
                    }
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                if item.is_object() {
                    add_value(page, item, depth);
                    if items.len() > 1 {
                        page.line("");
                    }
                } else {
                    page.put(Style::new(), &indent).line(&scalar(item));
                }
            }
        }
        other => {
            page.put(Style::new(), &indent).line(&scalar(other));
        }
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".into(),
        other => other.to_string(),
    }
}
