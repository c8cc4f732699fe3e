//! The contracts' declarations match the runtime's behaviour.

use serde_json::{Value, json};
use tabellion_contracts::{CONTRACTS, brainforge};
use tabellion_runtime::{ContractSpec, EffectKind, ErrorChannel, ToolSpec, openapi, schema, text};

fn tools() -> impl Iterator<Item = &'static ToolSpec> {
    CONTRACTS.iter().flat_map(|contract| contract.tools)
}

#[test]
fn every_example_is_judged_as_it_says() {
    let mut judged = 0;
    for tool in tools() {
        for example in &*tool.examples {
            let case = format!("{}: {}", tool.name, example.name);
            let violations = tool.input.check(&example.input).err().unwrap_or_default();
            assert_eq!(violations.is_empty(), example.valid, "{case}: {violations:?}");
            let at = |at: &str| violations.iter().any(|found| found.pointer.starts_with(at));
            assert!(example.at.as_deref().is_none_or(at), "{case}: {violations:?}");
            let alone = |rule: &str| violations.iter().all(|found| found.rule == rule);
            assert!(example.rule.as_deref().is_none_or(alone), "{case}: {violations:?}");
            let mut twice = violations.iter().enumerate();
            let twice = twice.find(|(at, found)| violations[..*at].contains(found));
            assert!(twice.is_none(), "{case}: {violations:?}");
            judged += 1;
        }
    }
    assert!(judged > 0);
}

#[test]
fn endpoints_are_described_as_the_checked_in_documents_do() {
    let with_endpoints = CONTRACTS.iter().filter(|contract| !contract.rest.is_empty());
    for contract in with_endpoints {
        let file = format!("src/generated/{}.openapi.json", contract.id.replace('-', "_"));
        let checked_in = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(openapi::text(contract) == checked_in, "{file} differs; run `cargo xtask codegen`");
    }
}

#[test]
fn a_request_has_the_effect_whose_condition_holds() {
    use EffectKind::{
        Append, AppendLine, Delete, InsertAfter, InsertBefore, Prepend, Read, ReadSection, ReplaceSection,
        Undo, Write,
    };
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
        ("write_memory_entry", r#"{ "file": "decisions.jsonl" }"#.into(), Some(AppendLine)),
        ("write_memory_entry", r#"{ "file": "best_practices.md" }"#.into(), Some(Append)),
        ("write_memory_entry", r#"{ "file": "other.md" }"#.into(), None),
        ("read_repo_file", "{}".into(), None),
        ("get_section", "{}".into(), Some(ReadSection)),
        ("undo", "{}".into(), Some(Undo)),
    ] {
        let spec = tools().find(|spec| spec.name == tool).unwrap();
        let found = spec.effect(&serde_json::from_str(&request).unwrap());
        assert_eq!(found.map(|found| found.kind), effect, "{tool} {request}");
    }
}

#[test]
fn a_path_lies_where_the_contract_says() {
    for (tool, request, path) in [
        ("read_markdown", r#"{ "path": "a.md" }"#, Some("a.md")),
        ("read_repo_file", r#"{ "path": "docs/a.md" }"#, Some("docs/a.md")),
        ("write_memory_entry", r#"{ "file": "decisions.jsonl" }"#, Some(".claude/memory/decisions.jsonl")),
        ("write_memory_entry", "{}", None),
        ("hello", r#"{ "name": "a.md" }"#, None),
    ] {
        let spec = tools().find(|spec| spec.name == tool).unwrap();
        let found = spec.path_of(&serde_json::from_str(request).unwrap());
        assert_eq!(found.as_deref(), path, "{tool} {request}");
    }
}

/// The source documents, by the contract that was taken from them.
fn sources() -> [(&'static ContractSpec, &'static str); 4] {
    [
        (
            &tabellion_contracts::braindrive_markdown::CONTRACT,
            include_str!("../braindrive-markdown/source.md"),
        ),
        (&tabellion_contracts::learning_os::CONTRACT, include_str!("../learning-os/source.md")),
        (
            &tabellion_contracts::safe_markdown_editor::CONTRACT,
            include_str!("../safe-markdown-editor/source.md"),
        ),
        (&tabellion_contracts::mcb::CONTRACT, include_str!("../mcb/source.md")),
    ]
}

#[test]
fn descriptions_templates_and_the_codes_of_documented_errors_are_the_documents() {
    for (contract, source) in sources() {
        for tool in contract.tools {
            // The editor's document describes undo and redo together.
            let said = match tool.name {
                "undo" | "redo" => "Undo/redo the last operation.",
                _ => tool.description,
            };
            assert!(source.contains(said), "{}: {said}", tool.name);
        }
        for resource in contract.resources {
            assert!(source.contains(resource.description), "{}", resource.name);
        }
        for prompt in contract.prompts {
            let block = format!("### {}\n**Template:**\n```\n{}\n```\n", prompt.name, prompt.template);
            assert!(source.contains(&block), "{}", prompt.name);
        }
        if contract.error_channel == ErrorChannel::JsonRpc {
            for error in contract.errors {
                let rows = [
                    format!("- `{}`: {}", error.code, error.message),
                    format!("| {} | {} |", error.code, error.message),
                ];
                assert!(rows.iter().any(|row| source.contains(row)), "{}", error.name);
            }
        }
    }
}

/// Returns the cells of a Markdown table's rows in `text`, without its head.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells = line.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim()).collect()
    })
}

/// Returns the texts in backticks.
fn quoted(text: &str) -> Vec<Value> {
    let parts = text.split('`').skip(1).step_by(2);
    parts.map(Value::from).collect()
}

/// Returns the property that a row of a parameter table describes. `section` lists the values of an enum if its row does not.
fn property(cells: &[&str], section: &str) -> Value {
    let (kind, description) = (cells[1], cells[3]);
    let mut property = match kind {
        "string[]" => json!({ "type": "array", "items": { "type": "string" } }),
        "float" => json!({ "type": "number" }),
        "enum" => {
            let line = section.lines().find(|line| line.starts_with("**Resources**"));
            let mut values = quoted(description);
            if values.is_empty() {
                values = quoted(line.unwrap_or_default());
            }
            json!({ "type": "string", "enum": values })
        }
        kind => json!({ "type": kind }),
    };
    property["description"] = description.into();
    property
}

#[test]
fn requests_of_mcb_are_the_parameter_tables_of_its_document() {
    let (contract, source) = sources()[3];
    let mut described = vec![];
    for section in source.split("\n---\n").filter(|section| section.contains("` Tool\n")) {
        let name = section.split('`').nth(1).unwrap();
        described.push(name);
        let Some(tool) = contract.tool(name) else {
            panic!("`{name}` is not offered");
        };
        let wire = tool.input.wire();
        let properties = wire["properties"].as_object().unwrap();
        let names: Vec<_> = rows(section).map(|cells| cells[0].trim_matches('`')).collect();
        assert_eq!(properties.keys().collect::<Vec<_>>(), names, "{name}");
        let mut required = vec![];
        for cells in rows(section) {
            let parameter = cells[0].trim_matches('`');
            assert_eq!(properties[parameter], property(&cells, section), "{name} {parameter}");
            if cells[2] == "**yes**" {
                required.push(parameter);
            }
        }
        assert_eq!(wire["required"], json!(required), "{name}");
        assert_eq!(wire["additionalProperties"], false, "{name}");
        let listed = format!("| `{name}` | {} |", tool.description);
        assert!(source.contains(&listed), "{listed}");
    }
    for tool in contract.tools {
        assert!(described.contains(&tool.name), "`{}` has no table", tool.name);
    }
    assert_eq!(described.len(), 9);
}

/// A person who reads sees none of these characters, and a rule that asks for a text is not met by them.
#[test]
fn the_patterns_of_the_contract_and_the_server_agree_on_characters_that_are_not_seen() {
    let contract = std::fs::read_to_string("brainforge/contract.json").unwrap();
    let parameters = brainforge::CONTRACT.workflow("research_workflow").unwrap().parameters.unwrap().wire();
    let pattern = &parameters["properties"]["topic"]["pattern"];
    let seen = schema::compile(&json!({ "pattern": pattern })).unwrap();
    for c in '\0'..=char::MAX {
        let text = c.to_string();
        assert_eq!(seen.is_valid(&json!(text)), !text::is_blank(&text), "{}", c.escape_unicode());
    }
    let class = pattern.to_string();
    let class = class.trim_matches('"').trim_start_matches("[^").trim_end_matches(']');
    assert_eq!(contract.matches(class).count(), 8);
    assert_eq!(contract.matches("\\\\S").count(), 0);
}
