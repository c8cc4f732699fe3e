//! What the contracts say of themselves is what the runtime makes of it.

use serde_json::Value;
use tabellion_schemas::{CONTRACTS, EffectKind, ToolSpec};

fn tools() -> impl Iterator<Item = &'static ToolSpec> {
    CONTRACTS.iter().flat_map(|contract| contract.tools)
}

#[test]
fn every_example_is_judged_as_it_says() {
    let mut judged = 0;
    for tool in tools() {
        for example in tool.examples {
            let request: Value = serde_json::from_str(example.json).unwrap();
            let case = format!("{}: {}", tool.name, example.name);
            let violations = tool.input.check(&request).err().unwrap_or_default();
            assert_eq!(violations.is_empty(), example.valid, "{case}: {violations:?}");
            let at = |at: &str| violations.iter().any(|found| found.pointer.starts_with(at));
            assert!(example.at.is_none_or(at), "{case}: {violations:?}");
            let alone = |rule: &str| violations.iter().all(|found| found.rule == rule);
            assert!(example.rule.is_none_or(alone), "{case}: {violations:?}");
            judged += 1;
        }
    }
    assert!(judged > 0);
}

#[test]
fn a_request_has_the_effect_whose_condition_holds() {
    use EffectKind::{Append, Delete, InsertAfter, InsertBefore, Prepend, Read, ReplaceSection, Write};
    let edit = |kind: &str| format!(r#"{{ "operation": {{ "type": "{kind}" }} }}"#);
    for (tool, request, effect) in [
        ("read_markdown", "{}".into(), Some(Read)),
        ("write_markdown", "{}".into(), Some(Write)),
        ("delete_markdown", "{}".into(), Some(Delete)),
        ("edit_markdown", edit("append"), Some(Append)),
        ("edit_markdown", edit("prepend"), Some(Prepend)),
        ("edit_markdown", edit("replace_section"), Some(ReplaceSection)),
        ("edit_markdown", edit("insert_before"), Some(InsertBefore)),
        ("edit_markdown", edit("insert_after"), Some(InsertAfter)),
        ("edit_markdown", edit("rename"), None),
        ("edit_markdown", r#"{ "operation": "append" }"#.into(), None),
        ("preview_markdown_change", edit("append"), None),
        ("list_markdown_files", "{}".into(), None),
    ] {
        let spec = tools().find(|spec| spec.name == tool).unwrap();
        let found = spec.effect(&serde_json::from_str(&request).unwrap());
        assert_eq!(found.map(|found| found.kind), effect, "{tool} {request}");
    }
}
