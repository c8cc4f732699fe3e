//! Unusual files: broken, foreign, linked, protected.

use std::{fs, io, path::Path};

use serde_json::json;

use super::{install, installed, names, stdio, uninstall};
use crate::{Action, Config, FileError, Force, Server, client};

/// A client, a text that is refused, and parts of the message.
const REFUSED: [(&str, &str, &[&str]); 20] = [
    ("cursor", "{\n  \"a\": tru\n}", &["line 2, column 8"]),
    ("cursor", "{\n  \"a\": 1\n", &["line "]),
    ("cursor", "{ a: 1 }", &["line 1, column 3"]),
    ("cursor", "{ 'a': 1 }", &["line 1, column 3"]),
    ("cursor", "[]", &["line 1", "the whole document should be a map, but is a list"]),
    ("cursor", "\n\n3", &["line 3", "is a number"]),
    ("cursor", "{\n\"mcpServers\": \"x\"}", &["line 2", "`mcpServers` should be a map, but is a string"]),
    ("cursor", "{\"mcpServers\": []}", &["is a list"]),
    (
        "cursor",
        "{\n\"mcpServers\": {},\n\n\"mcpServers\": {}}",
        &["`mcpServers` appears twice, in lines 2 and 4"],
    ),
    (
        "cursor",
        "{\"mcpServers\": {\n\"tabellion\": 1,\n\"tabellion\": 2}}",
        &["`tabellion` appears twice, in lines 2 and 3"],
    ),
    (
        "cursor",
        "{\"mcpServers\": {\"tabellion\": {\"command\": \"npx\", \"args\": [\"x\"]}}}",
        &["not Tabellion's", "--name", "--force"],
    ),
    ("cursor", "{\"mcpServers\": {\"tabellion\": 1}}", &["not Tabellion's"]),
    ("codex", "a = 1\nb = \n", &["line 2"]),
    ("codex", "a = 1\na = 2\n", &["line 2"]),
    ("codex", "mcp_servers = 1\n", &["should be a map"]),
    ("codex", "[[mcp_servers]]\n", &["should be a map, but is a list"]),
    ("goose", "a: [\n", &["line 2"]),
    ("goose", "- a\n", &["is a list"]),
    ("goose", "extensions:\n  - type: builtin\n", &["line 2", "should be a map, but is a list"]),
    ("goose", "a: 1\n---\nb: 2\n", &["line 3, column 1: the file has several documents"]),
];

#[test]
fn broken_and_foreign_files_are_refused_and_stay() {
    for (id, text, parts) in REFUSED {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("config");
        fs::write(&path, text).expect("a file");
        let client = client(id).expect("a client");
        let error = install(client, &path, "tabellion", &stdio()).expect_err(text).to_string();
        for part in parts.iter().chain([&"config`"]) {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(fs::read_to_string(&path).expect("text"), text);
        assert_eq!(names(place.path()), ["config"], "{text}");
    }
}

#[test]
fn what_is_no_text_file_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let cursor = client("cursor").expect("a client");
    let refused = |name: &str| {
        let path = place.path().join(name);
        install(cursor, &path, "tabellion", &stdio()).expect_err(name).to_string()
    };
    fs::create_dir(place.path().join("folder")).expect("a folder");
    assert!(refused("folder").contains("not a regular file"));
    fs::write(place.path().join("latin"), b"{\n\"a\": \"\xe9\"}").expect("a file");
    assert!(refused("latin").contains("not UTF-8 in line 2"));
    let huge = fs::File::create(place.path().join("huge")).expect("a file");
    huge.set_len(65 * 1024 * 1024).expect("a hole");
    assert!(refused("huge").contains("more than the"));
    let deep = ["{\"a\":", &"[".repeat(100_000)].concat();
    fs::write(place.path().join("deep"), deep).expect("a file");
    assert!(refused("deep").contains("line 1"));
    assert_eq!(names(place.path()), ["deep", "folder", "huge", "latin"]);
}

#[cfg(unix)]
#[test]
fn links_and_modes_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name);
    let cursor = client("cursor").expect("a client");
    fs::create_dir(at("dotfiles")).expect("a folder");
    fs::write(at("dotfiles/mcp.json"), "{}").expect("a file");
    fs::set_permissions(at("dotfiles/mcp.json"), fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink("dotfiles/mcp.json", at("mcp.json")).expect("a link");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;

    install(cursor, &at("mcp.json"), "tabellion", &stdio()).expect("installed");
    assert!(at("mcp.json").is_symlink());
    assert_eq!(names(&at("dotfiles")), ["mcp.json", "mcp.json.tabellion-backup"]);
    assert_eq!(mode(&at("dotfiles/mcp.json")), 0o640);
    assert_eq!(mode(&at("dotfiles/mcp.json.tabellion-backup")), 0o640);
    uninstall(cursor, &at("mcp.json"), "tabellion").expect("uninstalled");
    assert!(at("mcp.json").is_symlink());
    assert_eq!(mode(&at("dotfiles/mcp.json")), 0o640);
    assert_eq!(names(&at("dotfiles")), ["mcp.json"]);

    install(cursor, &at("new.json"), "tabellion", &stdio()).expect("installed");
    assert_eq!(mode(&at("new.json")), 0o600, "it may contain a key");
    for (name, target) in [("loop", "loop"), ("nowhere", "missing")] {
        symlink(target, at(name)).expect("a link");
        let error = install(cursor, &at(name), "tabellion", &stdio()).expect_err(name).to_string();
        assert!(error.contains("is a symbolic link that does not lead to a file"), "{error}");
    }
}

#[test]
fn an_entry_is_updated_with_what_a_person_added_to_it() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("config");
    let cursor = client("cursor").expect("a client");
    let old = json!({ "mcpServers": { "a": { "args": [] }, "tabellion": {
        "command": "tabellion", "args": ["serve", "old"], "env": { "TABELLION_LOG": "debug" }, "disabled": true
    } } });
    fs::write(&path, old.to_string()).expect("a file");
    assert_eq!(install(cursor, &path, "tabellion", &stdio()).expect("updated"), Action::Update);
    let Some(Server::Stdio { arguments, env, .. }) = installed(cursor, &path, "tabellion") else {
        panic!("no server");
    };
    assert_eq!(arguments[1], "--library");
    assert_eq!(env["TABELLION_LOG"], "debug");
    let text = fs::read_to_string(&path).expect("text");
    assert!(text.contains("\"disabled\":true"), "{text}");
    assert_eq!(install(cursor, &path, "tabellion", &stdio()).expect("as it is"), Action::Nothing);
    assert_eq!(install(cursor, &path, "tabellion", &super::http()).expect("updated"), Action::Update);
    let text = fs::read_to_string(&path).expect("text");
    assert!(!text.contains("command") && text.contains("\"disabled\":true"), "{text}");
}

#[test]
fn a_foreign_entry_is_replaced_by_force_and_restored() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("config");
    let text = "{\"mcpServers\": {\"tabellion\": {\"command\": \"other\"}, \"a\": {}}}";
    fs::write(&path, text).expect("a file");
    let cursor = client("cursor").expect("a client");
    let entry = cursor.entry("tabellion", &stdio()).expect("an entry");
    let force = || {
        let config = Config::read(cursor, &path).expect("a configuration");
        let change = config.install("tabellion", &stdio(), &entry, Force::Yes);
        let written = change.expect("forced").write().expect("written");
        assert_eq!(installed(cursor, &path, "tabellion"), Some(stdio()));
        written
    };
    let is_original = || {
        assert_eq!(fs::read_to_string(&path).expect("text"), text);
        assert_eq!(names(place.path()), ["config"]);
    };
    force().undo().expect("undone");
    is_original();
    let _ = force();
    uninstall(cursor, &path, "tabellion").expect("uninstalled");
    is_original();

    let _ = force();
    install(cursor, &path, "tabellion", &super::http()).expect("updated");
    let changed = fs::read_to_string(&path).expect("text").replace("\"a\"", "\"b\"");
    fs::write(&path, changed).expect("a file");
    uninstall(cursor, &path, "tabellion").expect("uninstalled");
    let text = fs::read_to_string(&path).expect("text");
    assert!(text.contains("\"command\":\"other\"") && text.contains("\"b\": {}"), "{text}");
}

#[test]
fn a_file_that_changes_in_between_is_not_overwritten() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("config");
    fs::write(&path, "{}").expect("a file");
    let cursor = client("cursor").expect("a client");
    let entry = cursor.entry("tabellion", &stdio()).expect("an entry");
    let plan = || {
        let config = Config::read(cursor, &path).expect("a configuration");
        config.install("tabellion", &stdio(), &entry, Force::No).expect("planned")
    };
    let change = plan();
    fs::write(&path, "{ }").expect("a file");
    let error = change.write().expect_err("changed").to_string();
    assert!(error.contains("changed by another program"), "{error}");
    let written = plan().write().expect("written");
    fs::write(&path, "{}  ").expect("a file");
    let error = written.undo().expect_err("changed").to_string();
    assert!(error.contains("changed by another program"), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("text"), "{}  ");
}

#[test]
fn programs_and_urls_of_ours_are_recognised() {
    let stdio = |command: &str, arguments: &[&str]| Server::Stdio {
        command: command.into(),
        arguments: arguments.iter().map(ToString::to_string).collect(),
        env: [].into(),
    };
    let http = |url: &str, key: Option<&str>| Server::Http { url: url.into(), key: key.map(str::to_owned) };
    let running = std::env::current_exe().expect("a program");
    for (server, expected) in [
        (stdio("/usr/bin/tabellion", &[]), true),
        (stdio(r"C:\Program Files\Tabellion.exe", &[]), true),
        (stdio("npx", &["-y", "tabellion@1", "serve"]), true),
        (stdio("npx", &["-y", "other"]), false),
        (stdio("node", &["tabellion"]), false),
        (stdio("/opt/tabellion/other", &[]), false),
        (stdio("/opt/notes-mcp", &["serve", "--library", "/notes"]), true),
        (stdio("/opt/notes-mcp", &["serve", "--port", "1"]), false),
        (stdio(&running.to_string_lossy(), &[]), true),
        (http("http://127.0.0.1:8000/mcp", None), true),
        (http("http://localhost/mcp/work", None), true),
        (http("http://[::1]:8000/mcp", None), true),
        (http("https://mcp.linear.app/mcp", None), false),
        (http("https://127.0.0.1.example/mcp", None), false),
        (http("https://localhost:1@notes.example/mcp", None), false),
        (http("https://notes.example/mcp/work", Some("tbl_1_2")), true),
        (http("https://notes.example/mcp", Some("ghp_1")), false),
        (http("https://notes.example/sse", None), false),
    ] {
        assert_eq!(server.is_ours("linear"), expected, "{server:?}");
    }
    assert!(http("https://notes.example/mcp", None).is_ours("tabellion-work"));
}

#[test]
fn what_is_read_only_is_named_with_the_remedy() {
    for (kind, is_advised) in [
        (io::ErrorKind::PermissionDenied, true),
        (io::ErrorKind::ReadOnlyFilesystem, true),
        (io::ErrorKind::StorageFull, false),
    ] {
        let error = FileError::Io { action: "write", path: "/home/.tabellion-1".into(), source: kind.into() };
        let said = error.about(Path::new("/home/mcp.json")).to_string();
        let names_file = said.starts_with("`/home/mcp.json` can't be written") && said.contains("--print");
        assert_eq!(names_file, is_advised, "{said}");
    }
}
