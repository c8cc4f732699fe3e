//! The architecture's invariants in the README that neither the compiler nor the crates' dependencies enforce.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;
use tabellion_contracts::CONTRACTS;
use tabellion_runtime::ContractSpec;
use walkdir::DirEntry;

use crate::support::below;

/// The folders of the server's code, from the top of the workspace: of all its crates but the tests'.
static PRODUCT: LazyLock<Vec<String>> = LazyLock::new(|| {
    let server = workspace().join("server");
    let folders = PACKAGES.iter().filter_map(|package| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest.parent().filter(|folder| folder.starts_with(&server))?;
        let folder = folder.strip_prefix(workspace()).expect("a member");
        Some(folder.join("src").to_string_lossy().replace('\\', "/"))
    });
    folders.filter(|folder| folder != "server/it/src").collect()
});

pub(crate) fn workspace() -> &'static Path {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.into_iter().nth(2).expect("this crate is two folders below the workspace")
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    below(dir).map(DirEntry::into_path).filter(is_rust).collect()
}

/// Returns the files below `dir` that contain one of `words`, as `file: word`.
fn mentions(dir: &str, words: &[&str], except: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = vec![];
    for file in rust_files(&workspace().join(dir)).iter().filter(|file| !except(file)) {
        let code = fs::read_to_string(file).expect("a source file");
        for word in words.iter().filter(|word| code.contains(**word)) {
            found.push(format!("{}: {word}", file.display()));
        }
    }
    found
}

/// The packages of the workspace, as Cargo describes them.
static PACKAGES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let output = Command::new(cargo).args(arguments).current_dir(workspace()).output();
    let metadata: Value = serde_json::from_slice(&output.expect("cargo runs").stdout).expect("JSON");
    list(&metadata["packages"])
});

/// Each package of the workspace with its dependencies, those of its tests left out.
static DEPENDENCIES: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let package = |package: &Value| {
        let dependencies = list(&package["dependencies"]);
        let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
        (name(package), normal.map(name).collect())
    };
    PACKAGES.iter().map(package).collect()
});

fn list(value: &Value) -> Vec<Value> {
    value.as_array().expect("a list").clone()
}

fn name(value: &Value) -> String {
    value["name"].as_str().expect("a name").to_owned()
}

#[test]
fn cargo_run_starts_the_server() {
    let defaults = PACKAGES.iter().filter_map(|package| package["default_run"].as_str());
    assert_eq!(defaults.collect::<Vec<_>>(), ["tabellion"], "`cargo run` needs exactly one default");
}

/// The packages of the workspace that `package` depends on.
fn ours(package: &str) -> Vec<&str> {
    let ours = DEPENDENCIES[package].iter().filter(|name| DEPENDENCIES.contains_key(*name));
    ours.map(String::as_str).collect()
}

const NONE: [String; 0] = [];

fn is_test(file: &Path) -> bool {
    let folder = file.components().any(|part| part.as_os_str() == "tests");
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    folder || stem.is_some_and(|stem| stem.ends_with("tests") || stem == "testing")
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
    // Uses of the words in other meanings: `index` is git's where a repository's files are read; an `agent` is
    // in notes' front matter, in tokens, and in the clients' descriptions of themselves.
    let of_others = [
        ("server/library/src", "\"index\""),
        ("server/vcs/src", "\"index\""),
        ("server/notes/src", "\"agent\""),
        ("server/http/src", "\"agent\""),
        ("server/rest/src", "\"agent\""),
        // A keyword of SQL.
        ("server/syntax/src", "\"index\""),
        // A kind of row.
        ("server/packs/mcb/src", "\"project\""),
        // A body in a test.
        ("server/retrieval/embed/src", "\"hello\""),
    ];
    let of_git = workspace().join("server/upkeep/src/doctor");
    // The page's paths and words are people's; it can reach no contract.
    for folder in PRODUCT.iter().filter(|folder| *folder != "server/page/src") {
        let is_ours = |literal: &&str| !of_others.contains(&(folder.as_str(), *literal));
        let literals: Vec<&str> = literals.iter().map(String::as_str).filter(is_ours).collect();
        let exempt = |file: &Path| is_test(file) || file.starts_with(&of_git);
        assert_eq!(mentions(folder, &literals, exempt), NONE);
    }
}

#[test]
fn every_contract_of_the_suite_is_served_and_no_other() {
    let mut served = tabellion::PACKS.names();
    let mut contracts: Vec<&str> = CONTRACTS.iter().map(|contract| contract.id).collect();
    served.sort_unstable();
    contracts.sort_unstable();
    assert_eq!(served, contracts);
}

#[test]
fn codegen_and_runtime_name_no_contract() {
    // An id may be a word of its own too.
    let quoted = |contract: &&ContractSpec| ['"', '`'].map(|quote| format!("{quote}{}{quote}", contract.id));
    let mut names: Vec<_> = CONTRACTS.iter().flat_map(quoted).collect();
    names.push("braindrive".to_owned());
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for folder in ["codegen/src", "schemas/runtime/src"] {
        assert_eq!(mentions(folder, &names, is_test), NONE);
    }
}

#[test]
fn contracts_and_runtime_know_no_file_system_no_git_and_no_mcp_library() {
    let pure = [
        "chrono",
        "data-encoding",
        // Waiting for several futures; it has no runtime.
        "futures-util",
        // Names of statuses.
        "http",
        // Domains of addresses; `jsonschema` needs it too.
        "idna",
        "jsonschema",
        "percent-encoding",
        "serde",
        "serde_json",
        "sha2",
        "strsim",
        "thiserror",
        "tracing",
        "unicode-normalization",
        "tabellion-runtime",
    ];
    for package in ["tabellion-contracts", "tabellion-runtime"] {
        for dependency in &DEPENDENCIES[package] {
            assert!(pure.contains(&dependency.as_str()), "{package} depends on {dependency}");
        }
    }
    for folder in ["schemas/src", "schemas/runtime/src"] {
        assert_eq!(mentions(folder, &["std::fs", "std::process", "std::net"], |_| false), NONE);
    }
}

/// The dependencies between the server's crates: each crate, and the crates that it depends on, by their short names. An edge that is
/// missing here needs a reason, and a new map in the README.
const EDGES: &str = "
    platform:
    sqlite: platform
    markdown:
    library: markdown platform remotes runtime sqlite
    remotes: platform
    records: platform runtime sqlite
    retrieval: sqlite
    vcs: platform syntax
    syntax:
    code: platform retrieval sqlite syntax
    notes: library markdown platform retrieval sqlite
    rules: platform syntax
    embed: platform
    meaning: embed platform retrieval sqlite
    pack: library records runtime vcs
    documents: contracts library markdown pack runtime
    brainforge: contracts library markdown meaning notes pack platform retrieval runtime
    mcb: code contracts meaning pack platform records retrieval rules runtime sqlite vcs
    clients: platform
    gateway: runtime
    mcp: gateway runtime
    rest: gateway runtime
    http: gateway mcp platform rest runtime
    upkeep: clients http library pack platform records runtime
    serve: calls gateway http library markdown mcp notes pack page platform records runtime upkeep vcs
    terminal: calls gateway http library markdown pack page platform runtime serve upkeep
";

/// The crates that may use a foreign library, by their short names.
const USERS: &str = "
    rmcp: it mcp
    gix: library vcs
    rusqlite: calls code conformance library meaning notes lab records reference retrieval sqlite
    rust-stemmers: retrieval
    ureq: embed lab
    pulldown-cmark: markdown page reference
    maud: page
    markdown: conformance markdown
    ring: http
    jsonc-parser: clients
    saphyr-parser: clients markdown rules
    toml_edit: clients
    clap: tabellion codegen conformance-cli lab reference xtask
";

/// Returns the lines of a table: a name, and the names after its colon.
fn table(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| {
        let (name, names) = line.split_once(':').expect("a name and a colon");
        (name, names.split_whitespace().collect())
    })
}

/// Returns a package's name without the prefix that nearly all have.
fn short(package: &str) -> &str {
    package.strip_prefix("tabellion-").unwrap_or(package)
}

#[test]
fn the_servers_crates_depend_only_downwards() {
    for (name, below) in table(EDGES) {
        let package = format!("tabellion-{name}");
        let found: Vec<_> = ours(&package).into_iter().map(short).collect();
        assert_eq!(found, below, "{package}");
    }
}

/// Returns the names of the crates in `server/packs`, the description of a pack left out.
fn packs() -> BTreeSet<String> {
    let folder = workspace().join("server/packs");
    let is_pack = |package: &&Value| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        manifest.starts_with(&folder) && !manifest.starts_with(folder.join("pack"))
    };
    PACKAGES.iter().filter(is_pack).map(name).collect()
}

#[test]
fn only_the_program_depends_on_packs() {
    let packs = packs();
    assert!(!packs.is_empty());
    for (package, dependencies) in DEPENDENCIES.iter().filter(|(name, _)| *name != "tabellion") {
        let used: Vec<_> = dependencies.intersection(&packs).collect();
        assert!(used.is_empty(), "{package} depends on {used:?}");
    }
    let paths: Vec<_> = packs.iter().map(|name| name.replace('-', "_") + "::").collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let list = workspace().join("server/src/packs.rs");
    assert_ne!(mentions("server/src", &paths, |_| false), NONE);
    assert_eq!(mentions("server/src", &paths, |file| file == list), NONE);
}

#[test]
fn packs_know_nothing_that_serves_clients() {
    let serving = ["tabellion-gateway", "tabellion-mcp", "tabellion-rest", "tabellion-http", "rmcp"];
    let mut above = packs();
    above.insert("tabellion-pack".into());
    // Indirect dependencies count too.
    let mut reached: Vec<&String> = above.iter().collect();
    let mut seen: BTreeSet<&String> = reached.iter().copied().collect();
    while let Some(package) = reached.pop() {
        for dependency in DEPENDENCIES.get(package).into_iter().flatten() {
            assert!(!serving.contains(&dependency.as_str()), "{package} depends on {dependency}");
            if seen.insert(dependency) {
                reached.push(dependency);
            }
        }
    }
}

#[test]
fn foreign_libraries_stay_in_the_crates_that_need_them() {
    for (dependency, users) in table(USERS) {
        for (package, _) in DEPENDENCIES.iter().filter(|(_, all)| all.contains(dependency)) {
            assert!(users.contains(&short(package)), "{package} depends on {dependency}");
        }
    }
}

#[test]
fn conformance_never_depends_on_the_server() {
    let suite = [
        "tabellion-codegen",
        "tabellion-conformance",
        "tabellion-conformance-brainforge",
        "tabellion-conformance-cli",
        "tabellion-conformance-mcb",
        "tabellion-contracts",
        "tabellion-reference",
        "tabellion-runtime",
    ];
    for package in DEPENDENCIES.keys().filter(|name| suite.contains(&name.as_str())) {
        for dependency in ours(package) {
            assert!(suite.contains(&dependency), "{package} depends on {dependency}");
        }
    }
}

/// Functions that change files: code that changes a file calls one of these.
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
    // The guided tour creates the folder that it serves, and `man --out` one for its pages; search indexes, API keys, the
    // configurations of clients and the data folder, which keeps sign-ins too, are outside all libraries.
    let writing = [
        ("server/src", &["demo/mod.rs", "cli/generated.rs"][..]),
        ("server/calls/src", &["servers.rs"]),
        ("server/clients/src", &["file.rs"]),
        ("server/code/src", &["index.rs"]),
        ("server/http/src", &["keys/file.rs"]),
        ("server/notes/src", &["export/files.rs", "export/secret.rs"]),
        ("server/serve/src", &["page/door.rs"]),
        ("server/remotes/src", &["lib.rs"]),
        (
            "server/records/src",
            &[
                "records.rs",
                "sqlite/connection.rs",
                "sqlite/file.rs",
                "sqlite/mark.rs",
                "sqlite/replacement.rs",
                "sqlite/upkeep.rs",
            ],
        ),
        ("server/retrieval/embed/src", &["download.rs", "install.rs"]),
        ("server/sqlite/src", &["derived.rs"]),
    ];
    let others = |folder: &&String| !["server/library/src", "server/platform/src"].contains(&folder.as_str());
    for folder in PRODUCT.iter().filter(others) {
        let root = workspace().join(folder);
        let writers = writing.iter().filter(|(of, _)| of == folder);
        let writers: Vec<_> = writers.flat_map(|(_, writers)| *writers).collect();
        let may_write = |file: &Path| is_test(file) || writers.iter().any(|writer| file == root.join(writer));
        assert_eq!(mentions(folder, &WRITES, may_write), NONE);
    }
}

/// The modules of the library that change files, with the files.
const WRITERS: [(&str, &str); 18] = [
    ("folder.rs", "the folder of the library"),
    ("init.rs", "a repository where there is none"),
    ("working_tree.rs", "the folder of our own files"),
    ("durable.rs", "files of our own"),
    ("objects.rs", "git's objects"),
    ("gathering.rs", "packs of ours, gathered"),
    ("lock.rs", "git's locks"),
    ("branch.rs", "the branch and its logs"),
    ("document.rs", "folders on the way to a document"),
    ("transaction.rs", "documents"),
    ("recovery.rs", "documents, back or forth"),
    ("history/build.rs", "the log's cache"),
    ("history/keeper.rs", "the folder of the log's cache"),
    ("aside.rs", "short texts of our own"),
    ("attempts.rs", "counters of background runs"),
    ("maintenance.rs", "nothing itself; git's program"),
    ("remote/settings.rs", "the settings of the remote"),
    ("remote/shared.rs", "what is wrong with the remote"),
];

/// Functions that change a file through an open folder.
const WRITES_IN_FOLDERS: [&str; 5] =
    [".create_file(", ".exchange(", ".rename_noreplace(", ".remove_file(", "Command::new("];

#[test]
fn only_named_modules_of_the_library_write() {
    let root = workspace().join("server/library/src");
    let named = |file: &Path| is_test(file) || WRITERS.iter().any(|(writer, _)| file == root.join(writer));
    let words = [&WRITES[..], &WRITES_IN_FOLDERS].concat();
    assert_eq!(mentions("server/library/src", &words, named), NONE);
}

#[test]
fn only_the_transaction_commits() {
    let library = "server/library/src";
    for (word, allowed) in [
        ("branch::commit(", &["transaction.rs"][..]),
        ("BranchMove::prepare(", &["transaction.rs"]),
        ("transaction::publish(", &["session.rs", "remote/mod.rs"]),
        ("branch::move_back(", &["recovery.rs"]),
    ] {
        let is_allowed =
            |file: &Path| allowed.iter().any(|name| file == workspace().join(library).join(name));
        let may = |file: &Path| is_test(file) || is_allowed(file);
        assert_eq!(mentions(library, &[word], may), NONE, "{word}");
        assert_ne!(mentions(library, &[word], |_| false), NONE, "{word} is gone");
    }
}

#[test]
fn nothing_prints_to_standard_output_but_the_protocol_and_what_is_asked_for() {
    let asked_for = [
        "server/src/demo/mod.rs",
        "server/src/cli/clients.rs",
        "server/src/cli/install.rs",
        "server/src/cli/key.rs",
        "server/upkeep/src/console.rs",
        "server/upkeep/src/data/upkeep.rs",
    ];
    let prints = ["println!(", "print!(", "io::stdout"];
    for folder in &*PRODUCT {
        let allowed = |file: &Path| {
            let on_stderr = |code: String| {
                let rest = code.replace("eprintln!(", "").replace("eprint!(", "");
                !prints.iter().any(|word| rest.contains(word))
            };
            asked_for.iter().any(|asked| file == workspace().join(asked))
                || fs::read_to_string(file).is_ok_and(on_stderr)
        };
        assert_eq!(mentions(folder, &prints, allowed), NONE);
    }
}
