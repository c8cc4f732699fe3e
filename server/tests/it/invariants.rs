//! The architecture's invariants, as the README's map names them, where a test can hold them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tabellion_contracts::CONTRACTS;

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the server is in a workspace")
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The files below `dir` in which one of `words` occurs, as `file: word`.
fn mentions(dir: &str, words: &[&str], except: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = vec![];
    for file in rust_files(&workspace().join(dir))
        .iter()
        .filter(|file| !except(file))
    {
        let code = fs::read_to_string(file).expect("a source file");
        for word in words.iter().filter(|word| code.contains(**word)) {
            found.push(format!("{}: {word}", file.display()));
        }
    }
    found
}

fn dependencies(package: &str) -> Vec<String> {
    let manifest = fs::read_to_string(workspace().join(package).join("Cargo.toml")).expect("a manifest");
    let normal = manifest.split("[dependencies]").nth(1).expect("dependencies");
    let normal = normal.split("\n[").next().unwrap_or_default();
    normal
        .lines()
        .filter_map(|line| Some(line.split(['.', '=', ' ']).next()?.to_string()))
        .filter(|name| !name.is_empty())
        .collect()
}

const NONE: [String; 0] = [];

fn is_test(file: &Path) -> bool {
    let folder = file.components().any(|part| part.as_os_str() == "tests");
    folder
        || file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .is_some_and(|stem| stem.ends_with("tests"))
}

#[test]
fn the_server_names_no_tool_no_resource_and_no_prompt() {
    let names = CONTRACTS.iter().flat_map(|contract| {
        let tools = contract.tools.iter().map(|tool| tool.name);
        let resources = contract.resources.iter().map(|resource| resource.uri);
        let prompts = contract.prompts.iter().map(|prompt| prompt.name);
        tools.chain(resources).chain(prompts)
    });
    let literals: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
    assert_eq!(mentions("server/src", &literals, is_test), NONE);
}

/// What is served for the official conformance suite alone takes a feature that nobody asks for.
#[test]
fn no_release_has_fixtures() {
    let mut served = tabellion::contracts::names();
    let mut contracts: Vec<&str> = CONTRACTS.iter().map(|contract| contract.id).collect();
    contracts.extend(cfg!(feature = "fixtures").then_some("official-suite"));
    served.sort_unstable();
    contracts.sort_unstable();
    assert_eq!(served, contracts);
    for package in [
        "schemas",
        "schemas/runtime",
        "codegen",
        "server",
        "conformance",
        "xtask",
    ] {
        let manifest = fs::read_to_string(workspace().join(package).join("Cargo.toml")).expect("a manifest");
        let asks = |line: &&str| line.contains("fixtures\"") || line.starts_with("default =");
        assert_eq!(manifest.lines().find(asks), None, "{package}");
    }
}

#[test]
fn codegen_names_no_contract() {
    let mut names: Vec<&str> = CONTRACTS.iter().map(|contract| contract.id).collect();
    names.push("braindrive");
    assert_eq!(mentions("codegen/src", &names, is_test), NONE);
}

#[test]
fn contracts_and_runtime_know_no_file_system_no_git_and_no_mcp_library() {
    let strange = ["std::fs", "std::process", "std::net", "gix", "rmcp", "tokio"];
    for (package, known) in [
        (
            "schemas",
            &["chrono", "serde", "serde_json", "tabellion-runtime"][..],
        ),
        (
            "schemas/runtime",
            &["chrono", "jsonschema", "serde", "serde_json", "sha2", "thiserror"],
        ),
    ] {
        assert_eq!(mentions(&format!("{package}/src"), &strange, |_| false), NONE);
        for name in dependencies(package) {
            assert!(known.contains(&name.as_str()), "{package} depends on {name}");
        }
    }
}

#[test]
fn the_runtime_names_no_contract() {
    let names: Vec<&str> = CONTRACTS.iter().map(|contract| contract.id).collect();
    assert_eq!(mentions("schemas/runtime/src", &names, is_test), NONE);
}

#[test]
fn conformance_never_depends_on_the_server() {
    let manifest = fs::read_to_string(workspace().join("conformance/Cargo.toml")).expect("a manifest");
    assert!(
        !manifest
            .lines()
            .any(|line| line.starts_with("tabellion.") || line.starts_with("tabellion ="))
    );
    assert_eq!(mentions("conformance/src", &["tabellion::"], |_| false), NONE);
}

/// Whatever changes a file names one of these.
const WRITES: [&str; 12] = [
    "fs::write",
    "File::create",
    "OpenOptions",
    "fs::rename",
    "remove_file",
    "remove_dir",
    "create_dir",
    "hard_link",
    "renameat",
    "unlinkat",
    "set_permissions",
    "gix::init",
];

#[test]
fn only_the_library_writes() {
    let library = |file: &Path| {
        let inside = file
            .strip_prefix(workspace().join("server/src"))
            .expect("a file of the server");
        inside.starts_with("library") || inside.starts_with("platform")
            // The demonstration makes the folder that it hands to a server.
            || inside == Path::new("demo/mod.rs")
            // Keys are in a file of their own, which is in no library.
            || inside == Path::new("keys/file.rs")
            || is_test(file)
    };
    assert_eq!(mentions("server/src", &WRITES, library), NONE);
}

/// The modules of the library that change files, and what of.
const WRITERS: [(&str, &str); 11] = [
    ("init.rs", "a repository where there is none"),
    (
        "mod.rs",
        "the folder that a library or our own files are to be in",
    ),
    ("durable.rs", "files of our own"),
    ("objects.rs", "git's objects"),
    ("lock.rs", "git's locks"),
    ("branch.rs", "the branch and its logs"),
    ("document.rs", "folders on the way to a document"),
    ("transaction.rs", "documents"),
    ("recovery.rs", "documents, back or forth"),
    ("build.rs", "the log's cache"),
    ("maintenance.rs", "nothing itself; git's program"),
];

/// What changes a file through a folder held open.
const WRITES_IN_FOLDERS: [&str; 5] = [
    ".create_file(",
    ".exchange(",
    ".rename_noreplace(",
    ".remove_file(",
    "Command::new(",
];

#[test]
fn only_named_modules_of_the_library_write() {
    let named = |file: &Path| {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        is_test(file) || WRITERS.iter().any(|(writer, _)| *writer == name)
    };
    let words = [&WRITES[..], &WRITES_IN_FOLDERS].concat();
    assert_eq!(mentions("server/src/library", &words, named), NONE);
}

#[test]
fn only_the_transaction_commits() {
    let elsewhere = |allowed: &'static str| {
        move |file: &Path| is_test(file) || file.ends_with(Path::new("library").join(allowed))
    };
    for (word, allowed) in [
        ("branch::commit(", "transaction.rs"),
        ("BranchMove::prepare(", "transaction.rs"),
        ("transaction::publish(", "session.rs"),
        ("branch::take_back(", "recovery.rs"),
    ] {
        assert_eq!(
            mentions("server/src", &[word], elsewhere(allowed)),
            NONE,
            "{word}"
        );
        assert_ne!(mentions("server/src", &[word], |_| false), NONE, "{word} is gone");
    }
}

#[test]
fn nothing_prints_to_standard_output_but_the_protocol_and_what_is_asked_for() {
    let asked_for = |file: &Path| {
        let source = workspace().join("server/src");
        file.starts_with(source.join("demo")) || file == source.join("keys/command.rs")
    };
    assert_eq!(
        mentions("server/src", &["println!(", "print!(", "io::stdout"], |file| {
            asked_for(file)
                || fs::read_to_string(file).is_ok_and(|code| {
                    !code
                        .replace("eprintln!(", "")
                        .replace("eprint!(", "")
                        .contains("print")
                })
        }),
        NONE
    );
}
