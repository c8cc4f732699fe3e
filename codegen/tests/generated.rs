//! Generated files are checked in, compared byte by byte, and compiled.

// Compiled here, so that a golden file that is not Rust can't be accepted.
#[path = "../examples/bulletin/generated/mod.rs"]
mod bulletin_module;
#[path = "../examples/desk/generated/mod.rs"]
mod desk_module;
#[path = "../examples/drafts/generated/mod.rs"]
mod drafts_module;
mod golden;
#[path = "../examples/logbook/generated/mod.rs"]
mod logbook_module;
#[path = "../examples/notes/generated/mod.rs"]
mod notes_module;
mod support;
#[path = "../examples/tracker/generated/mod.rs"]
mod tracker_module;

use std::{collections::BTreeMap, fs};

use golden::kitchen_sink::{CONTRACT, Colour, Everything, KitchenEveryShapeRequest, TOOLS};
use serde_json::{Value, json};
use support::{desk, files, notes, root};
use tabellion_codegen::{Sources, generate, generate_from, table};

/// The command that writes the checked-in modules.
const BY: &str = "UPDATE_GOLDEN=1 cargo test -p tabellion-codegen";

#[test]
fn the_checked_in_modules_are_what_the_contracts_say() {
    for (schemas, folder) in [
        (notes(), "examples/notes/generated"),
        (desk(), "examples/desk/generated"),
        (root().join("examples/drafts/schemas"), "examples/drafts/generated"),
        (root().join("examples/bulletin/schemas"), "examples/bulletin/generated"),
        (root().join("examples/tracker/schemas"), "examples/tracker/generated"),
        (root().join("examples/logbook/schemas"), "examples/logbook/generated"),
        (root().join("tests/contracts"), "tests/golden"),
    ] {
        let generated = generate(&schemas, BY).unwrap_or_else(|problems| panic!("{problems}"));
        for (name, text) in generated {
            support::golden(&format!("{folder}/{name}"), &text);
        }
    }
}

#[test]
fn the_output_depends_on_nothing_but_the_files() {
    let expected = generate(&notes(), BY).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let schemas = elsewhere.path().join("some where").join("schemas");
    for (name, text) in files(&notes()).into_iter().rev() {
        let path = schemas.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::write(schemas.join("notes/source.md"), "not a contract's file").unwrap();
    fs::write(schemas.join("notes/tools/read_note.json~"), "an editor's").unwrap();
    assert_eq!(generate(&schemas, BY).unwrap(), expected);
    assert_eq!(generate(&schemas, BY).unwrap(), expected);
    let in_memory = Sources::from_map("schemas", files(&notes()));
    assert_eq!(generate_from(&in_memory, BY).unwrap(), expected);
}

// Most of both comes from the same values: this finds fields that are not emitted, and mistakes of `rust::literal`. The golden files show
// the values.
#[test]
fn the_table_at_run_time_is_the_generated_one() {
    for (folder, generated) in [
        ("tests/contracts/kitchen-sink", &CONTRACT),
        ("examples/notes/schemas/notes", &notes_module::notes::CONTRACT),
        ("examples/desk/schemas/desk", &desk_module::desk::CONTRACT),
        ("examples/drafts/schemas/drafts", &drafts_module::drafts::CONTRACT),
        ("examples/bulletin/schemas/bulletin", &bulletin_module::bulletin::CONTRACT),
        ("examples/tracker/schemas/tracker", &tracker_module::tracker::CONTRACT),
        ("examples/logbook/schemas/logbook", &logbook_module::logbook::CONTRACT),
    ] {
        let table = table(&root().join(folder)).unwrap_or_else(|problems| panic!("{problems}"));
        let [table, generated] = [table, generated].map(|table| format!("{table:#?}"));
        let differs = table.lines().zip(generated.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{folder}; if generated files were just rewritten, run the test again");
        assert_eq!(table.len(), generated.len(), "{folder}");
    }
}

#[test]
fn contracts_of_one_run_do_not_touch_each_other() {
    let mut both = files(&notes());
    both.extend(files(&root().join("tests/contracts")));
    let both = generate_from(&Sources::from_map("schemas", both), BY).unwrap();
    let alone = generate(&notes(), BY).unwrap();
    assert_eq!(both["notes.rs"], alone["notes.rs"]);
    assert_eq!(
        both.keys().collect::<Vec<_>>(),
        ["kitchen_sink.json", "kitchen_sink.rs", "mod.rs", "notes.json", "notes.rs"]
    );
}

/// The valid requests of the kitchen sink, by the name of the example.
fn requests() -> BTreeMap<String, Value> {
    let file = root().join("tests/contracts/kitchen-sink/tools/kitchen.every-shape.json");
    let tool: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let examples = tool["examples"].as_array().unwrap().iter();
    examples
        .filter(|example| example["valid"] == true && example.get("input").is_some())
        .map(|example| (example["name"].as_str().unwrap().into(), example["input"].clone()))
        .collect()
}

#[test]
fn what_a_schema_accepts_decodes_and_comes_out_as_it_went_in() {
    let request = &requests()["everything"];
    TOOLS[1].input.check(request).unwrap();
    let decoded: KitchenEveryShapeRequest = serde_json::from_value(request.clone()).unwrap();
    // Compared as text: the order of members counts too.
    assert_eq!(serde_json::to_string(&decoded).unwrap(), request.to_string());
}

#[test]
fn absent_values_are_their_defaults_or_remain_absent() {
    let decoded: KitchenEveryShapeRequest = serde_json::from_value(requests()["the least"].clone()).unwrap();
    assert_eq!(decoded.ratio, 0.5);
    assert_eq!(decoded.count, -3);
    assert!(decoded.on);
    assert!(!decoded.off);
    assert_eq!(decoded.word, "say \"#\"");
    assert_eq!(decoded.colour, Colour::DarkRed);
    assert_eq!(decoded.tags, None);
    assert_eq!(decoded.free, None);
    let encoded = serde_json::to_value(&decoded).unwrap();
    TOOLS[1].input.check(&encoded).unwrap();
    assert_eq!(encoded["nullable"], Value::Null);
    assert_eq!(encoded.get("tags"), None);
}

#[test]
fn a_tag_with_one_field_for_all_variants_is_still_a_union() {
    let one = Everything::One { of: None };
    assert_eq!(serde_json::to_value(&one).unwrap(), json!({ "kind": "one", "of": null }));
}
