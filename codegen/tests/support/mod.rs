//! Shared by the tests: the contracts to start from, changes to them as data, and golden files.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tabellion_codegen::Sources;

/// The folder of `tabellion-codegen`, also for the crate in it.
pub(crate) fn root() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = folders.find(|folder| folder.ends_with("codegen"));
    root.expect("the crate is in `codegen`").into()
}

/// Returns the folder of the contract `notes`, from which most cases start.
pub(crate) fn notes() -> PathBuf {
    root().join("examples/notes/schemas")
}

/// Returns the folder of the contract `desk`, whose tools have operations.
pub(crate) fn desk() -> PathBuf {
    root().join("examples/desk/schemas")
}

/// Returns the JSON files below `schemas`, in the form of `Sources::from_map`.
pub(crate) fn files(schemas: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![schemas.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(schemas).unwrap().to_str().unwrap().replace('\\', "/");
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// Returns the contract `notes`, or the one that `change` names as `contract`, after `change`, which has in this order: `replace` (file →
/// [text, other text]), `remove` and `set` (parts by file and JSON pointer), `copy` (file → other file), `then_set` (once more), `delete`
/// (files). A file that begins with `$/` is in the contract's `tools`, one with `@/` in its `operations`, one with `#/` in its `entities`.
pub(crate) fn changed(change: &Value) -> Sources {
    let contract = change["contract"].as_str().unwrap_or("notes");
    let mut files = files(&root().join(format!("examples/{contract}/schemas")));
    let name = |name: &str| {
        let name = name.replacen("$/", &format!("{contract}/tools/"), 1);
        let name = name.replacen("@/", &format!("{contract}/operations/"), 1);
        name.replacen("#/", &format!("{contract}/entities/"), usize::from(name.starts_with('#')))
    };
    for (file, texts) in members(change, "replace") {
        let (from, to) = (texts[0].as_str().unwrap(), texts[1].as_str().unwrap());
        let text = files.get_mut(&name(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        *text = text.replacen(from, to, 1);
    }
    for place in change["remove"].as_array().into_iter().flatten() {
        edit(&mut files, &name(place.as_str().unwrap()), None);
    }
    for (place, value) in members(change, "set") {
        edit(&mut files, &name(place), Some(value));
    }
    for (file, to) in members(change, "copy") {
        files.insert(name(to.as_str().unwrap()), files[&name(file)].clone());
    }
    for (place, value) in members(change, "then_set") {
        edit(&mut files, &name(place), Some(value));
    }
    for file in change["delete"].as_array().into_iter().flatten() {
        files.remove(&name(file.as_str().unwrap())).unwrap();
    }
    Sources::from_map("schemas", files)
}

fn members<'a>(change: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    change[key].as_object().into_iter().flatten()
}

/// Sets or removes the value at `file#pointer`; `-` as last step appends.
fn edit(files: &mut BTreeMap<String, String>, place: &str, value: Option<&Value>) {
    let (file, pointer) = place.split_once('#').unwrap();
    let mut document: Value = serde_json::from_str(&files[file]).unwrap();
    let (parent, last) = tabellion_runtime::pointer::split_last(pointer).unwrap();
    let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {place}"));
    match (parent, value) {
        (Value::Object(members), Some(value)) => {
            members.insert(last, value.clone());
        }
        (Value::Object(members), None) => {
            members.shift_remove(&last).unwrap_or_else(|| panic!("nothing at {place}"));
        }
        (Value::Array(items), Some(value)) if last == "-" => items.push(value.clone()),
        (Value::Array(items), Some(value)) => items[last.parse::<usize>().unwrap()] = value.clone(),
        (Value::Array(items), None) => {
            items.remove(last.parse().unwrap());
        }
        _ => panic!("{place} is in neither object nor array"),
    }
    files.insert(file.into(), serde_json::to_string_pretty(&document).unwrap());
}

/// Compares the text of `say` for each named case of the JSON files in `folder` with the text next to each file.
#[track_caller]
pub(crate) fn check_cases(folder: &str, say: impl Fn(&Value) -> String) {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut subjects: Vec<_> =
        names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
    subjects.sort();
    assert!(!subjects.is_empty(), "{folder} has no cases");
    for subject in subjects {
        let cases = fs::read_to_string(root().join(folder).join(&subject).with_extension("json")).unwrap();
        let cases: serde_json::Map<String, Value> = serde_json::from_str(&cases).unwrap();
        let text = cases.iter().map(|(name, case)| format!("== {name}\n{}\n", say(case)));
        golden(&format!("{folder}/{subject}.txt"), &text.collect::<String>());
    }
}

/// Compares `text` with a checked-in file; with `UPDATE_GOLDEN` set, writes it.
#[track_caller]
pub(crate) fn golden(file: &str, text: &str) {
    let path = root().join(file);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected == text {
        return;
    }
    let line = expected.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
    panic!(
        "{file}:{}: expected {:?}, found {:?}\nif that is right, run `UPDATE_GOLDEN=1 cargo test -p tabellion-codegen`",
        line + 1,
        expected.lines().nth(line).unwrap_or("the end"),
        text.lines().nth(line).unwrap_or("the end"),
    );
}
