//! Every pitfall is a problem with file, pointer and help: one change of a sound contract each.

mod support;

use std::{collections::BTreeMap, fs, path::Path};

use support::{changed, check_cases};
use tabellion_codegen::{Sources, generate, generate_from};

#[test]
fn each_pitfall_is_said_with_its_place_and_what_to_do() {
    check_cases("tests/problems", |change| match generate_from(&changed(change), "cargo build") {
        Ok(_) => "fine\n".into(),
        Err(problems) => format!("{problems}\n"),
    });
}

#[test]
fn a_problem_has_the_line_and_column_of_what_it_means() {
    let change = serde_json::json!({ "replace": { "$/read_note.json": ["\"lines\": {", "\"lines\": { \"min\": 1,"] } });
    let problems = generate_from(&changed(&change), "cargo build").unwrap_err();
    let places: Vec<_> = problems
        .iter()
        .map(|problem| (problem.pointer.as_str(), problem.place.map(|place| (place.line, place.column))))
        .collect();
    assert_eq!(places, [("/inputSchema/properties/lines/min", Some((18, 18)))]);
}

#[test]
fn contracts_must_not_share_a_module() {
    let mut files = support::files(&support::notes());
    for (name, text) in files.clone() {
        let text = text.replace("\"contract\": \"notes\"", "\"contract\": \"jottings\"");
        files.insert(name.replace("notes/", "jottings/"), text);
    }
    let problems = generate_from(&Sources::from_map("schemas", files), "cargo build").unwrap_err();
    assert_eq!(
        problems.to_string(),
        "schemas/notes/contract.json#/rust/module: `notes` is also the module of contract `jottings`\n  \
         help: give each contract a different module"
    );
}

#[test]
fn a_folder_that_is_not_there_is_a_problem_and_no_panic() {
    let problems = generate(std::path::Path::new("/nowhere/schemas"), "cargo build").unwrap_err();
    assert!(problems.to_string().starts_with("schemas/: can't be read"), "{problems}");
}

#[test]
fn a_main_that_returns_problems_prints_them_as_text() {
    let change = serde_json::json!({ "set": {
        "notes/contract.json#/tools/-": "absent",
        "$/read_note.json#/path": "/nowhere",
    } });
    let problems = generate_from(&changed(&change), "cargo build").unwrap_err();
    let one = problems.iter().next().unwrap();
    assert!(format!("{problems:?}").contains(&one.to_string()), "{problems:?}");
    let boxed: Box<dyn std::error::Error> = problems.clone().into();
    assert_eq!(format!("{boxed:?}").trim_start(), problems.to_string());
}

/// The README's messages while its tool is added to its contract: not listed, then listed, then with the examples that they demand.
#[test]
fn the_readme_shows_the_messages_on_the_way_to_a_new_tool() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(workspace.join("codegen/README.md")).expect("the README");
    let start = readme.find("## Adding a tool").expect("the section");
    let end = readme[start..].find("3. **Build.**").expect("the next step");
    let blocks: Vec<_> = readme[start..start + end].split("```").collect();
    let unindented = |block: &str| block.replace("\n   ", "\n").trim().to_owned();
    let [_, json, _, unlisted, _, without_examples, _] = blocks[..] else {
        panic!("three blocks, not {}", blocks.len() / 2);
    };
    let tool = unindented(json.trim_start_matches("json"));
    let mut files = support::files(&workspace.join("schemas"));
    files.retain(|name, _| name.starts_with("braindrive-markdown/"));
    let said = |files: &BTreeMap<String, String>| {
        let sources = Sources::from_map("schemas", files.clone());
        match generate_from(&sources, "cargo xtask codegen") {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    };
    files.insert("braindrive-markdown/tools/count_words.json".into(), tool.clone());
    assert_eq!(said(&files), unindented(unlisted));
    let contract = files.get_mut("braindrive-markdown/contract.json").expect("the contract");
    *contract = contract.replacen("\"read_markdown\",", "\"read_markdown\", \"count_words\",", 1);
    assert_eq!(said(&files), unindented(without_examples));
    let examples = r#", "examples": [
        { "name": "a file", "input": { "path": "a.md" }, "valid": true },
        { "name": "above", "input": { "path": "../a.md" }, "valid": false, "rule": "path_climbs" }
    ] }"#;
    let tool = tool.strip_suffix('}').expect("an object").to_owned() + examples;
    files.insert("braindrive-markdown/tools/count_words.json".into(), tool);
    assert_eq!(said(&files), "");
}
