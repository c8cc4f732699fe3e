//! Tests that the crates are ready to be published. `cargo publish --workspace --dry-run` checks it in full, in minutes.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use toml::{Table, Value};

use xtask::root;

/// Limit of crates.io.
const MAX_KEYWORDS: usize = 5;

/// Returns the folder and the manifest of each member of the workspace.
fn members() -> Vec<(PathBuf, Table)> {
    let manifest = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let workspace: Table = toml::from_str(&manifest(root())).unwrap();
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let folders = members.iter().map(|member| root().join(member.as_str().unwrap()));
    folders
        .map(|folder| {
            let text = manifest(&folder);
            (folder, toml::from_str(&text).unwrap())
        })
        .collect()
}

fn is_published(manifest: &Table) -> bool {
    manifest["package"].get("publish") == Some(&Value::Boolean(true))
}

fn name(manifest: &Table) -> &str {
    manifest["package"]["name"].as_str().unwrap()
}

/// Returns the obstacles to publishing a crate; `published` are the names of the published crates.
fn problems(folder: &Path, manifest: &Table, published: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    let package = manifest["package"].as_table().unwrap();
    for key in ["description", "keywords", "categories", "readme", "license", "repository"] {
        if !package.contains_key(key) {
            problems.push(format!("has no `{key}`"));
        }
    }
    let keywords = package.get("keywords").and_then(Value::as_array);
    if keywords.is_some_and(|keywords| keywords.len() > MAX_KEYWORDS) {
        problems.push("has too many keywords".into());
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        if !folder.join(licence).exists() {
            problems.push(format!("has no `{licence}`"));
        }
    }
    let dependencies = manifest.get("dependencies").and_then(Value::as_table);
    for dependency in dependencies.into_iter().flat_map(Table::keys) {
        if dependency.starts_with("tabellion") && !published.contains(&&**dependency) {
            problems.push(format!("depends on `{dependency}`, which is not published"));
        }
    }
    let mut folders = vec![folder.join("src")];
    while let Some(within) = folders.pop() {
        for entry in fs::read_dir(within).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let outside = |included: &PathBuf| !included.starts_with(folder);
                let code = fs::read_to_string(&path).unwrap();
                let included = included(&path, &code).into_iter().filter(outside);
                problems.extend(included.map(|included| format!("includes `{}`", included.display())));
            }
        }
    }
    problems
}

/// Returns the files that a source file includes.
fn included(file: &Path, code: &str) -> Vec<PathBuf> {
    let after = code.split("include_str!(").skip(1);
    let quoted = after.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    quoted
        .map(|path| {
            let mut folder = file.parent().unwrap().to_owned();
            for part in Path::new(path).components() {
                match part {
                    Component::ParentDir => drop(folder.pop()),
                    part => folder.push(part),
                }
            }
            folder
        })
        .collect()
}

#[test]
fn published_crates_are_whole_and_depend_on_published_ones() {
    let members = members();
    let published: Vec<_> = members
        .iter()
        .filter(|(_, manifest)| is_published(manifest))
        .map(|(_, manifest)| name(manifest))
        .collect();
    for wanted in ["tabellion", "tabellion-codegen", "tabellion-conformance"] {
        assert!(published.contains(&wanted), "{wanted}");
    }
    let problems: Vec<_> = members
        .iter()
        .filter(|(_, manifest)| is_published(manifest))
        .flat_map(|(folder, manifest)| {
            let problems = problems(folder, manifest, &published);
            problems.into_iter().map(move |problem| format!("{}: {problem}", name(manifest)))
        })
        .collect();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn an_unpublished_dependency_and_a_file_outside_are_problems() {
    let members = members();
    let (folder, manifest) = members.iter().find(|(_, it)| name(it) == "tabellion-http").unwrap();
    let published = ["tabellion-gateway", "tabellion-platform", "tabellion-rest", "tabellion-runtime"];
    let found = problems(folder, manifest, &published);
    assert_eq!(found, ["depends on `tabellion-mcp`, which is not published"]);
    let code = "include_str!(\"a.md\"), include_str!(\n    \"../../b.md\"\n)";
    let files = included(Path::new("/crate/src/main.rs"), code);
    assert_eq!(files, [Path::new("/crate/src/a.md"), Path::new("/b.md")]);
}
