//! Installing followed by uninstalling restores the original bytes, for each client.

use std::fs;

use proptest::prelude::*;

use super::{configs::sketches, http, install, installed, names, stdio, uninstall};
use crate::{Action, Client, clients, edit};

/// Installs, checks, and uninstalls, in a folder with a file of this text.
fn there_and_back(client: &'static Client, text: &str) -> Result<(), TestCaseError> {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("config");
    fs::write(&path, text).expect("a file");
    let read = || fs::read_to_string(&path).expect("text");
    let failed = |error| TestCaseError::fail(format!("{}: {error}\n{text}", client.id));

    // Two entries, removed in either order.
    for first in ["tabellion", "other-notes"] {
        prop_assert_eq!(install(client, &path, "tabellion", &stdio()).map_err(failed)?, Action::Add);
        prop_assert_eq!(installed(client, &path, "tabellion"), Some(stdio()));
        let once = read();
        let action = install(client, &path, "tabellion", &stdio()).map_err(failed)?;
        prop_assert_eq!(action, Action::Nothing);
        install(client, &path, "other-notes", &stdio()).map_err(failed)?;
        uninstall(client, &path, first).map_err(failed)?;
        if first == "other-notes" {
            prop_assert_eq!(read(), once, "{}", client.id);
        }
        let second = if first == "tabellion" { "other-notes" } else { "tabellion" };
        uninstall(client, &path, second).map_err(failed)?;
        prop_assert_eq!(read(), text, "{}", client.id);
        prop_assert_eq!(names(place.path()), vec!["config"]);
    }
    Ok(())
}

/// Removes an entry without the backup: the document is as before, and identical in bytes if it had other servers on separate lines.
fn back_without_backup(client: &'static Client, text: &str) -> Result<(), TestCaseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (format, place) = (client.format(), client.place("tabellion"));
    let entry = client.entry("tabellion", &stdio()).expect("an entry");
    let failed = |error| TestCaseError::fail(format!("{}: {error}\n{text}", client.id));
    let new = edit::insert(format, text, place, &entry).map_err(failed)?;
    let back = edit::remove(format, &new, place).map_err(failed)?;
    let tree = |text: &str| place.without(edit::parse(format, text).expect("valid").as_ref());
    prop_assert_eq!(tree(&back), tree(text));
    let root = edit::parse(format, text).map_err(failed)?;
    let servers = root.as_ref().and_then(|root| root.get(place.servers));
    if servers.is_some_and(|servers| !servers.is_empty()) && text.ends_with('\n') {
        prop_assert_eq!(back, text, "{}", client.id);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn uninstalling_restores_the_original_bytes(sketch in sketches()) {
        for client in clients() {
            there_and_back(client, &sketch.text(client))?;
        }
    }

    #[test]
    fn an_entry_can_be_removed_without_the_backup(sketch in sketches()) {
        for client in clients() {
            back_without_backup(client, &sketch.text(client))?;
        }
    }
}

#[test]
fn empty_and_blank_files_are_restored() {
    for client in clients() {
        for text in ["", "\n", "\u{feff}", "\r\n\r\n"] {
            there_and_back(client, text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        }
    }
}

#[test]
fn a_missing_file_and_its_folders_are_removed_again() {
    for client in clients() {
        for (server, folder) in [(Some(stdio()), "a/b"), (client.entry("x", &http()).map(|_| http()), "")] {
            let Some(server) = server else { continue };
            let place = tempfile::tempdir().expect("a folder");
            let path = place.path().join(folder).join("config");
            install(client, &path, "tabellion", &server).expect("installed");
            assert_eq!(installed(client, &path, "tabellion"), Some(server.clone()), "{}", client.id);
            install(client, &path, "other-notes", &server).expect("installed");
            uninstall(client, &path, "tabellion").expect("uninstalled");
            assert!(path.exists());
            uninstall(client, &path, "other-notes").expect("uninstalled");
            assert_eq!(names(place.path()), Vec::<String>::new(), "{}", client.id);
        }
    }
}

/// A person, or the client, edits the file while the entry is there.
#[test]
fn later_edits_stay() {
    for (id, before, edit, after) in [
        ("cursor", "{}\n", ("{\n", "{\n  \"theme\": 1,\n"), "{\n  \"theme\": 1\n}\n"),
        (
            "cursor",
            "{\"mcpServers\": {\"a\": {\"args\": []}}}",
            ("\"a\"", "\"b\""),
            "{\"mcpServers\": {\"b\": {\"args\": []}}}",
        ),
        ("goose", "a: 1\n", ("a: 1\n", "a: 2\n"), "a: 2\n"),
        ("continue", "", ("mcpServers", "name: n\nmcpServers"), "name: n\n"),
        ("codex", "a = 1\n", ("a = 1\n", "a = 2\nb = 3\n"), "a = 2\nb = 3\n"),
    ] {
        let client = crate::client(id).expect("a client");
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("config");
        fs::write(&path, before).expect("a file");
        install(client, &path, "tabellion", &stdio()).expect("installed");
        let text = fs::read_to_string(&path).expect("text");
        assert!(text.contains(edit.0), "{id}: {text}");
        fs::write(&path, text.replacen(edit.0, edit.1, 1)).expect("a file");
        uninstall(client, &path, "tabellion").expect("uninstalled");
        assert_eq!(fs::read_to_string(&path).expect("text"), after, "{id}");
    }
}
