//! `tabellion doctor`: its findings in each state, and that it changes no file.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tabellion_conformance::ledger::git;
use walkdir::DirEntry;

use crate::{
    support::{Library, TABELLION, below},
    terminal::{Reply, head, run, run_at},
};

/// All files and folders with content, permissions and time.
fn picture(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, bool, SystemTime)> {
    let seen = |entry: DirEntry| {
        let metadata = entry.metadata().expect("metadata");
        let bytes = if metadata.is_file() { fs::read(entry.path()).unwrap_or_default() } else { vec![] };
        let is_read_only = metadata.permissions().readonly();
        (entry.into_path(), (bytes, is_read_only, metadata.modified().expect("a time")))
    };
    below(root).map(seen).collect()
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

/// A state of a library, and the doctor's finding about it: its colour, a part of its message, and whether it can be repaired.
struct State {
    name: &'static str,
    make: fn(&Library),
    id: &'static str,
    colour: &'static str,
    part: &'static str,
    fixable: bool,
}

const fn green(name: &'static str, id: &'static str, part: &'static str, make: fn(&Library)) -> State {
    State { name, make, id, colour: "green", part, fixable: false }
}

const fn yellow(name: &'static str, id: &'static str, part: &'static str, make: fn(&Library)) -> State {
    State { colour: "yellow", ..green(name, id, part, make) }
}

const fn red(name: &'static str, id: &'static str, part: &'static str, make: fn(&Library)) -> State {
    State { colour: "red", ..green(name, id, part, make) }
}

impl State {
    const fn fixable(self) -> Self {
        Self { fixable: true, ..self }
    }
}

fn put_in_git(library: &Library, name: &str, content: &str) {
    library.put(&format!(".git/{name}"), content);
}

const STATES: &[State] = &[
    green("nothing unusual", "state", "branch `main`", |_| {}),
    red("a merge in progress", "state", "merge --abort", |library| {
        let head = head(library);
        put_in_git(library, "MERGE_HEAD", &format!("{head}\n"));
    }),
    red("no branch", "state", "HEAD is detached", |library| {
        drop(git(library.root(), &["checkout", "--quiet", "--detach"]).expect("git"))
    }),
    red("an old lock", "locks", "60 minutes old", |library| {
        put_in_git(library, "index.lock", "");
        shift(&library.path(".git/index.lock"), -3600);
    })
    .fixable(),
    yellow("a new lock", "locks", "main.lock", |library| put_in_git(library, "refs/heads/main.lock", "")),
    yellow("a hook", "hooks", "pre-commit", |library| {
        put_in_git(library, "hooks/pre-commit", "#!/bin/sh\n");
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(library.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755))
            .expect("a mode");
    }),
    green("uncommitted edits", "uncommitted", "1 document with uncommitted edits", |library| {
        library.put("a.md", "edited\n")
    }),
    red("a damaged index", "index", "index", |library| {
        put_in_git(library, "index", "nonsense, but long enough to be read")
    }),
    green("an index of version 4 without checksum", "index", "version 4, without a checksum", |library| {
        git(library.root(), &["config", "index.skipHash", "true"]).expect("git");
        git(library.root(), &["update-index", "--index-version", "4"]).expect("git");
    }),
    yellow("leftovers", "leftovers", "1 temporary file", |library| {
        put_in_git(library, "tabellion/object-1", "x")
    })
    .fixable(),
    yellow("a late save", "late-saves", "late-abc.md", |library| {
        put_in_git(library, "tabellion/late-abc.md", "x")
    }),
    yellow("a torn intent", "recovery", "before it began", |library| {
        put_in_git(library, "tabellion/intent", "tabellion intent 2\nbranch re")
    })
    .fixable(),
    yellow("a damaged cache", "log-cache", "can't be read", |library| {
        put_in_git(library, "tabellion/log.sqlite", "nonsense")
    }),
    yellow("a cache whose writing ended the server", "log-cache-run", "is not tried again", |library| {
        put_in_git(library, "tabellion/log.sqlite-attempts", "2")
    })
    .fixable(),
    red("a recovery that ended the server", "recovery-run", "is not tried again", |library| {
        put_in_git(library, "tabellion/recovery-attempts", "2")
    })
    .fixable(),
    yellow("an amended entry", "log", "also changed `b.md`", |library| {
        let call = ["call", "braindrive-markdown", "write_markdown", "--path", "a.md", "--content", "x"];
        assert_eq!(run(library, &call, "").code, 0);
        library.put("b.md", "b\n");
        git(library.root(), &["add", "b.md"]).expect("git");
        git(library.root(), &["commit", "--quiet", "--amend", "--no-edit"]).expect("git");
    }),
    yellow("Syncthing", "sync", "Syncthing", |library| {
        fs::create_dir(library.path(".stfolder")).expect("a folder")
    }),
    red("a conflicted copy in git's folder", "sync-conflicts", "conflicted copy", |library| {
        put_in_git(library, "index (Ann's conflicted copy 2026-01-02)", "x")
    }),
    yellow("a file from the future", "file-times", "a.md", |library| shift(&library.path("a.md"), 86_400)),
    yellow("a configuration for another file system", "names", "distinguishes case", |library| {
        drop(git(library.root(), &["config", "core.ignoreCase", "true"]).expect("git"))
    }),
    yellow("names in two Unicode forms", "unicode", "two Unicode forms", |library| {
        library.put("caf\u{e9}.md", "x");
        library.put("cafe\u{301}.md", "x");
    }),
    red("a damaged repository", "library", "restore it from a backup", |library| {
        fs::remove_file(library.path(".git/HEAD")).expect("a HEAD")
    }),
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
