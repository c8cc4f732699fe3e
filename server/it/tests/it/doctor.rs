//! `tabellion doctor`: its findings in each state, and that it changes no file.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tabellion_conformance::ledger::git;

use crate::{
    support::{Library, TABELLION},
    terminal::{Reply, head, run, run_at},
};

/// All files and folders with content, permissions and time.
fn picture(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, bool, SystemTime)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let metadata = entry.symlink_metadata().expect("metadata");
            let bytes = if metadata.is_file() { fs::read(&entry).unwrap_or_default() } else { vec![] };
            if metadata.is_dir() {
                folders.push(entry.clone());
            }
            found.insert(
                entry,
                (bytes, metadata.permissions().readonly(), metadata.modified().expect("a time")),
            );
        }
    }
    found
}

/// Sets a file's time to `seconds` from now.
fn shift(path: &Path, seconds: i64) {
    let by = Duration::from_secs(seconds.unsigned_abs());
    let now = SystemTime::now();
    let time = if seconds < 0 { now - by } else { now + by };
    let file = fs::File::options().write(true).open(path).expect("a file");
    file.set_modified(time).expect("a time");
}

fn findings(reply: &Reply) -> Vec<Value> {
    let shown: Value =
        serde_json::from_str(&reply.stdout).unwrap_or_else(|error| panic!("{error}: {reply:?}"));
    assert_eq!((&shown["form"], shown["ok"] == true), (&1.into(), reply.code == 0), "{shown}");
    shown["findings"].as_array().expect("a list").clone()
}

/// A state: the function that makes it, the finding, its colour, and true if it can be repaired.
struct State {
    name: &'static str,
    make: fn(&Library),
    id: &'static str,
    colour: &'static str,
    part: &'static str,
    fixable: bool,
}

fn put_in_git(library: &Library, name: &str, content: &str) {
    library.put(&format!(".git/{name}"), content);
}

const STATES: &[State] = &[
    State {
        name: "nothing unusual",
        make: |_| {},
        id: "state",
        colour: "green",
        part: "branch `main`",
        fixable: false,
    },
    State {
        name: "a merge in progress",
        make: |library| {
            let head = head(library);
            put_in_git(library, "MERGE_HEAD", &format!("{head}\n"));
        },
        id: "state",
        colour: "red",
        part: "merge --abort",
        fixable: false,
    },
    State {
        name: "no branch",
        make: |library| drop(git(library.root(), &["checkout", "--quiet", "--detach"]).expect("git")),
        id: "state",
        colour: "red",
        part: "HEAD is detached",
        fixable: false,
    },
    State {
        name: "an old lock",
        make: |library| {
            put_in_git(library, "index.lock", "");
            shift(&library.path(".git/index.lock"), -3600);
        },
        id: "locks",
        colour: "red",
        part: "60 minutes old",
        fixable: true,
    },
    State {
        name: "a new lock",
        make: |library| put_in_git(library, "refs/heads/main.lock", ""),
        id: "locks",
        colour: "yellow",
        part: "main.lock",
        fixable: false,
    },
    State {
        name: "a hook",
        make: |library| {
            put_in_git(library, "hooks/pre-commit", "#!/bin/sh\n");
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(library.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755))
                .expect("a mode");
        },
        id: "hooks",
        colour: "yellow",
        part: "pre-commit",
        fixable: false,
    },
    State {
        name: "uncommitted edits",
        make: |library| library.put("a.md", "edited\n"),
        id: "uncommitted",
        colour: "green",
        part: "1 document with uncommitted edits",
        fixable: false,
    },
    State {
        name: "a damaged index",
        make: |library| put_in_git(library, "index", "nonsense, but long enough to be read"),
        id: "index",
        colour: "red",
        part: "index",
        fixable: false,
    },
    State {
        name: "an index of version 4 without checksum",
        make: |library| {
            git(library.root(), &["config", "index.skipHash", "true"]).expect("git");
            git(library.root(), &["update-index", "--index-version", "4"]).expect("git");
        },
        id: "index",
        colour: "green",
        part: "version 4, without a checksum",
        fixable: false,
    },
    State {
        name: "leftovers",
        make: |library| put_in_git(library, "tabellion/object-1", "x"),
        id: "leftovers",
        colour: "yellow",
        part: "1 temporary file",
        fixable: true,
    },
    State {
        name: "a late save",
        make: |library| put_in_git(library, "tabellion/late-abc.md", "x"),
        id: "late-saves",
        colour: "yellow",
        part: "late-abc.md",
        fixable: false,
    },
    State {
        name: "a torn intent",
        make: |library| put_in_git(library, "tabellion/intent", "tabellion intent 2\nbranch re"),
        id: "recovery",
        colour: "yellow",
        part: "before it began",
        fixable: true,
    },
    State {
        name: "a damaged cache",
        make: |library| put_in_git(library, "tabellion/log.sqlite", "nonsense"),
        id: "log-cache",
        colour: "yellow",
        part: "can't be read",
        fixable: false,
    },
    State {
        name: "a cache whose writing ended the server",
        make: |library| put_in_git(library, "tabellion/log.sqlite-attempts", "2"),
        id: "log-cache-run",
        colour: "yellow",
        part: "is not tried again",
        fixable: true,
    },
    State {
        name: "a recovery that ended the server",
        make: |library| put_in_git(library, "tabellion/recovery-attempts", "2"),
        id: "recovery-run",
        colour: "red",
        part: "is not tried again",
        fixable: true,
    },
    State {
        name: "an amended entry",
        make: |library| {
            let call = ["call", "braindrive-markdown", "write_markdown", "--path", "a.md", "--content", "x"];
            assert_eq!(run(library, &call, "").code, 0);
            library.put("b.md", "b\n");
            git(library.root(), &["add", "b.md"]).expect("git");
            git(library.root(), &["commit", "--quiet", "--amend", "--no-edit"]).expect("git");
        },
        id: "log",
        colour: "yellow",
        part: "also changed `b.md`",
        fixable: false,
    },
    State {
        name: "Syncthing",
        make: |library| fs::create_dir(library.path(".stfolder")).expect("a folder"),
        id: "sync",
        colour: "yellow",
        part: "Syncthing",
        fixable: false,
    },
    State {
        name: "a conflicted copy in git's folder",
        make: |library| put_in_git(library, "index (Ann's conflicted copy 2026-01-02)", "x"),
        id: "sync-conflicts",
        colour: "red",
        part: "conflicted copy",
        fixable: false,
    },
    State {
        name: "a file from the future",
        make: |library| shift(&library.path("a.md"), 86_400),
        id: "file-times",
        colour: "yellow",
        part: "a.md",
        fixable: false,
    },
    State {
        name: "a configuration for another file system",
        make: |library| drop(git(library.root(), &["config", "core.ignoreCase", "true"]).expect("git")),
        id: "names",
        colour: "yellow",
        part: "distinguishes case",
        fixable: false,
    },
    State {
        name: "names in two Unicode forms",
        make: |library| {
            library.put("caf\u{e9}.md", "x");
            library.put("cafe\u{301}.md", "x");
        },
        id: "unicode",
        colour: "yellow",
        part: "two Unicode forms",
        fixable: false,
    },
    State {
        name: "a damaged repository",
        make: |library| fs::remove_file(library.path(".git/HEAD")).expect("a HEAD"),
        id: "library",
        colour: "red",
        part: "restore it from a backup",
        fixable: false,
    },
];

#[test]
fn each_state_is_found_and_nothing_is_changed() {
    for state in STATES {
        let library = Library::with(&[("a.md", "a\n")]);
        (state.make)(&library);
        let before = picture(library.root());
        let reply = run(&library, &["doctor", "--json"], "");
        assert_eq!(picture(library.root()), before, "{}: it changes nothing", state.name);
        let found = findings(&reply);
        let finding = found.iter().find(|finding| finding["id"] == state.id);
        let finding = finding.unwrap_or_else(|| panic!("{}: {found:?}", state.name));
        assert_eq!(finding["status"], state.colour, "{}: {finding}", state.name);
        assert!(finding["message"].as_str().unwrap().contains(state.part), "{}: {finding}", state.name);
        assert_eq!(finding["fixable"], state.fixable, "{}: {finding}", state.name);
        assert_eq!(finding["mend"].is_null(), state.colour == "green", "{}: {finding}", state.name);
        let is_red = found.iter().any(|finding| finding["status"] == "red");
        assert_eq!(
            (is_red, reply.code),
            (state.colour == "red", i32::from(is_red)),
            "{}: {found:?}",
            state.name
        );
    }
}

#[test]
fn fix_mends_what_it_offers_and_asks_first() {
    for state in STATES.iter().filter(|state| state.fixable) {
        let library = Library::with(&[("a.md", "a\n")]);
        (state.make)(&library);
        let before = picture(library.root());
        let reply = run(&library, &["doctor", "--fix"], "y\n");
        assert_eq!(reply.code, 1, "{}: {reply:?}", state.name);
        assert!(reply.stderr.contains("`--yes`"), "{}: {reply:?}", state.name);
        assert_eq!(picture(library.root()), before, "{}: without a terminal it mends nothing", state.name);
        let reply = run(&library, &["doctor", "--fix", "--yes"], "");
        assert_eq!(reply.code, 0, "{}: {reply:?}", state.name);
        let found = findings(&run(&library, &["doctor", "--json"], ""));
        let left = found.iter().find(|finding| finding["id"] == state.id && finding["status"] != "green");
        assert_eq!(left, None, "{}", state.name);
        assert_eq!(library.get("a.md"), b"a\n");
    }
    let library = Library::empty();
    assert_eq!(run(&library, &["doctor", "--fix", "--yes"], "").code, 0);
    assert!(library.path(".git/HEAD").exists());
}

/// Client entries are tried as the client would, unless that would change their library.
#[test]
fn entries_of_clients_are_tried() {
    let (library, other) = (Library::with(&[("a.md", "# A\n")]), Library::empty());
    let program = TABELLION;
    // A server makes its folder in `.git` when it serves a library for the first time.
    library.serve().close();
    let cases = [
        (Some((program, library.root())), "green", "answers in"),
        (Some(("/nonexistent/tabellion", library.root())), "red", "tabellion install cursor"),
        (Some((program, other.root())), "yellow", "was not tried"),
        (None, "yellow", "line 1"),
    ];
    for (entry, colour, part) in cases {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join(".cursor/mcp.json");
        fs::create_dir(home.path().join(".cursor")).expect("a folder");
        let config = match entry {
            Some((command, root)) => {
                let arguments = ["serve", "--library", root.to_str().expect("UTF-8")];
                json!({ "mcpServers": { "notes": { "command": command, "args": arguments } } }).to_string()
            }
            None => "{ \"mcpServers\": ".to_owned(),
        };
        fs::write(&file, config).expect("a file");
        let before = [home.path(), library.root(), other.root()].map(picture);
        let found = findings(&run_at(home.path(), &library, &["doctor", "--json"], ""));
        let of_client: Vec<_> = found.iter().filter(|finding| finding["id"] == "client").collect();
        assert_eq!(of_client.len(), 1, "{found:?}");
        let shown = of_client[0].to_string();
        assert_eq!(of_client[0]["status"], colour, "{shown}");
        assert!(shown.contains(part), "{shown}");
        let after = [home.path(), library.root(), other.root()].map(picture);
        assert!(before == after, "{shown}");
    }
}
