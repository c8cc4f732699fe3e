//! The clients as data.

use std::{collections::BTreeSet, path::Path};

use super::{http, stdio};
use crate::{Machine, System, client, clients};

fn machine(system: System, home: &Path, variables: &[(&str, &str)]) -> Machine {
    let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    Machine { system, home: home.to_owned(), variables: variables.collect() }
}

#[test]
fn every_client_has_a_file_on_every_system_and_an_entry() {
    let ids: BTreeSet<_> = clients().iter().map(|client| &client.id).collect();
    assert_eq!(ids.len(), clients().len());
    for client in clients() {
        for system in [System::MacOs, System::Linux, System::Windows] {
            let file = client.file(&machine(system, Path::new("/no/home"), &[]));
            assert!(file.is_some_and(|file| file.starts_with("/no/home")), "{}", client.id);
        }
        for server in [stdio(), http()] {
            let Some(entry) = client.entry("notes", &server) else {
                assert_eq!(client.id, "claude-desktop");
                continue;
            };
            assert_eq!(client.server(&entry), Some(server.clone()), "{}", client.id);
            for placeholder in ["{command}", "{args}", "{url}", "{key}", "{name}"] {
                assert!(!entry.to_string().contains(placeholder), "{}", client.id);
            }
            assert!(client.snippet("notes", &entry).expect("text").contains("notes"));
        }
    }
}

#[test]
fn variables_and_what_exists_decide_about_the_file() {
    let place = tempfile::tempdir().expect("a folder");
    let home = place.path();
    let put = |path: &str| {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, "").expect("a file");
    };
    let elsewhere = home.join("elsewhere").to_string_lossy().into_owned();
    let file = |id: &str, system, variables: &[(&str, &str)]| {
        let file = client(id).expect("a client").file(&machine(system, home, variables));
        let file = file.expect("a file");
        file.strip_prefix(home).expect("below home").to_string_lossy().into_owned()
    };
    use System::{Linux, MacOs, Windows};
    assert_eq!(file("codex", Linux, &[]), ".codex/config.toml");
    assert_eq!(file("codex", Linux, &[("CODEX_HOME", &elsewhere)]), "elsewhere/config.toml");
    assert_eq!(file("codex", Linux, &[("CODEX_HOME", "")]), ".codex/config.toml");
    assert_eq!(file("goose", Linux, &[("XDG_CONFIG_HOME", &elsewhere)]), "elsewhere/goose/config.yaml");
    assert_eq!(file("goose", Linux, &[("XDG_CONFIG_HOME", "relative")]), ".config/goose/config.yaml");
    assert_eq!(
        file("goose", Windows, &[("APPDATA", &elsewhere)]),
        "elsewhere/Block/goose/config/config.yaml"
    );
    assert_eq!(file("opencode", Linux, &[]), ".config/opencode/opencode.jsonc");
    put(".opencode.json");
    assert_eq!(file("opencode", Linux, &[]), ".opencode.json");
    put(".config/opencode/opencode.json");
    assert_eq!(file("opencode", Linux, &[]), ".config/opencode/opencode.json");
    assert_eq!(file("zed", MacOs, &[]), ".config/zed/settings.json");
    put("Library/Application Support/Zed/other");
    assert_eq!(file("zed", MacOs, &[]), "Library/Application Support/Zed/settings.json");

    let found = |id: &str| client(id).expect("a client").is_found(&machine(Linux, home, &[]));
    assert!(!found("claude-code") && !found("cursor"));
    put(".claude/settings.json");
    put(".cursor/x");
    assert!(found("claude-code") && found("cursor"));
}
