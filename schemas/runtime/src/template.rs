//! Templates of prompts: text with placeholders, which are names in braces: `{section_content}`.

use serde_json::Value;

/// Returns the names of the placeholders of `template`, each once, in the order of the text.
pub fn placeholders(template: &str) -> Vec<&str> {
    let mut names = vec![];
    let mut rest = template;
    while let Some((_, name, after)) = placeholder(rest) {
        if !names.contains(&name) {
            names.push(name);
        }
        rest = after;
    }
    names
}

/// Returns `template` with each placeholder replaced by the text of that name in `values`, or `None` if a name has no text.
/// Braces in values stay as they are.
pub(crate) fn render(template: &str, values: &Value) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, name, after)) = placeholder(rest) {
        text += before;
        text += values[name].as_str()?;
        rest = after;
    }
    Some(text + rest)
}

/// Returns the text before the first placeholder of `template`, its name, and the text after it.
fn placeholder(template: &str) -> Option<(&str, &str, &str)> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    template.match_indices('{').find_map(|(open, _)| {
        let (name, after) = template[open + 1..].split_once('}')?;
        let is_name = !name.is_empty() && name.bytes().all(is_part);
        is_name.then_some((&template[..open], name, after))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_placeholder_is_a_name_in_braces_and_is_listed_once() {
        for (template, expected) in [
            ("no values", &[][..]),
            ("{b} and {a_2} and {b}", &["b", "a_2"]),
            ("{ a } {} {A} {{a}} {open", &["a"]),
        ] {
            assert_eq!(placeholders(template), expected, "{template}");
        }
    }

    #[test]
    fn a_prompt_is_its_template_and_values_are_taken_as_they_are() {
        for (template, values, expected) in [
            ("no values", json!({}), Some("no values")),
            ("one:\n{a}\n", json!({ "a": "x" }), Some("one:\nx\n")),
            ("{a}{b_2}{a}", json!({ "a": "{b_2}", "b_2": "y" }), Some("{b_2}y{b_2}")),
            ("{ a } {} {A} {{a}}", json!({ "a": "x" }), Some("{ a } {} {A} {x}")),
            ("open { and {a", json!({}), Some("open { and {a")),
            ("{missing}", json!({}), None),
        ] {
            assert_eq!(render(template, &values).as_deref(), expected, "{template}");
        }
    }
}
