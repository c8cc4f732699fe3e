//! The folder that is used, the paths of a URL that serve rows, and options that contradict the contracts.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use tabellion_conformance::Target;

use super::{Data, create_team};
use crate::{
    http,
    support::{Library, Server, TABELLION, ended},
};

const MCB: &[&str] = &["--contract", "mcb"];
const BOTH: &[&str] = &["--contract", "mcb", "--contract", "braindrive-markdown"];

/// Runs `serve` without a client; returns the exit code and standard error.
fn serve(place: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(TABELLION);
    let command = command.arg("serve").args(arguments).current_dir(place);
    command.env_remove("TABELLION_DATA").env_remove("XDG_DATA_HOME");
    let (code, out, said) = ended(command.envs(environment.iter().copied()));
    assert_eq!(out, "", "{arguments:?}");
    (code, said)
}

/// Options, the exit code, and the part of standard error about them.
#[test]
fn options_must_fit_the_contracts() {
    let place = Library::empty();
    fs::write(place.path("file"), "").expect("a file");
    let cases: [(&[&str], Option<i32>, &str); 11] = [
        (&["--contract", "mcb", "--data", "d", "lib"], Some(2), "a library is for contracts over documents"),
        (&["--contract", "mcb", "--data", "d", "--library", "lib"], Some(2), "leave it out, or add"),
        (
            &["--contract", "mcb", "--data", "d", "--document", "a.md"],
            Some(2),
            "`--document` is for contracts over",
        ),
        (&["--data", "d", "lib"], Some(2), "leave it out, or add `--contract mcb`"),
        (
            &["--contract", "mcb", "--contract", "learning-os", "--data", "d"],
            Some(2),
            "contract `learning-os` works on a library",
        ),
        (&[], Some(2), "or serve a contract over rows, which needs none: `--contract mcb`"),
        (&["--contract", "mcb", "--data", "a/b"], Some(1), "`mkdir -p a`"),
        (&["--contract", "mcb", "--data", "file"], Some(1), "is not a folder; choose another data folder"),
        (&["--contract", "mcb", "--data", "/etc/d"], Some(1), "belongs to the system"),
        (
            &["--contract", "mcb", "--data", "d", "--approve", "entity/list-team"],
            Some(2),
            "is not a tool that changes",
        ),
        (
            &[
                "--contract",
                "mcb",
                "--contract",
                "learning-os",
                "--data",
                "d",
                "--library",
                "n=lib",
                "--http",
                "0",
                "--stdio",
            ],
            Some(2),
            "omit `NAME=`, or `--stdio`",
        ),
    ];
    for (arguments, code, expected) in cases {
        let (exit, said) = serve(place.root(), arguments, &[]);
        assert!(exit == code && said.contains(expected), "{arguments:?}: {exit:?} {said}");
        for created in ["d", "lib", "a"] {
            assert!(!place.path(created).exists(), "{arguments:?} created {created}");
        }
    }
}

/// Arguments, environment, and the folder that is created.
#[cfg(target_os = "linux")]
#[test]
fn the_folder_is_named_or_that_of_the_system_and_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let at = |place: &Library, name: &str| place.path(name).to_string_lossy().into_owned();
    for (arguments, variables, created) in [
        (&["--data", "d"][..], &[("TABELLION_DATA", "other")][..], "d"),
        (&[], &[("TABELLION_DATA", "e"), ("XDG_DATA_HOME", "x")], "e"),
        (&[], &[("XDG_DATA_HOME", "x")], "x/tabellion"),
        (&[], &[], "home/.local/share/tabellion"),
        (&["--data", "a/b", "--create"], &[], "a/b"),
        // A library in the environment is for other contracts.
        (&["--data", "f"], &[("BRAINDRIVE_LIBRARY_PATH", "lib")], "f"),
    ] {
        let place = Library::empty();
        fs::create_dir(place.path("home")).expect("a folder");
        let home = [("HOME", at(&place, "home"))];
        let variables = variables.iter().map(|(name, value)| (*name, at(&place, value)));
        let environment: Vec<_> = home.into_iter().chain(variables).collect();
        let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, &**value)).collect();
        let (code, said) = serve(place.root(), &[MCB, arguments].concat(), &environment);
        let folder = place.path(created);
        assert_eq!(code, Some(0), "{said}");
        assert!(folder.join("mcb.db").exists(), "{arguments:?}, {environment:?}: {said}");
        assert!(said.starts_with("tabellion: created the data folder `"), "{said}");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("mcb.db")), 0o600);
        assert!(!place.path("lib").exists() && !place.path("other").exists());
        let (code, said) = serve(place.root(), &[MCB, arguments].concat(), &environment);
        assert_eq!((code, &*said), (Some(0), ""), "the second start says nothing");
    }
}

/// Returns two flags: true if the server at a path has the tools of rows, and true if it has those of documents.
fn tools(target: &mut Target) -> (bool, bool) {
    let list = target.request("tools/list", json!({})).expect("a list");
    let has = |name: &str| {
        let tools = list["result"]["tools"].as_array().expect("tools");
        tools.iter().any(|tool| tool["name"] == name)
    };
    (has("entity"), has("write_markdown"))
}

/// Libraries, and for each path two flags: rows, and documents.
#[test]
fn rows_are_at_the_path_without_a_name() {
    for (libraries, contracts, paths) in [
        (&[][..], MCB, &[("/mcp", true, false)][..]),
        (&["lib"], BOTH, &[("/mcp", true, true)]),
        (&["a=lib"], BOTH, &[("/mcp", true, false), ("/mcp/a", false, true)]),
        (&["lib", "a=other"], BOTH, &[("/mcp", true, true), ("/mcp/a", false, true)]),
    ] {
        let data = Data::new();
        let place = Library::empty();
        let mut command = Command::new(TABELLION);
        command.arg("serve").args(contracts).args(["--http", "0", "--data"]).arg(data.folder());
        for library in libraries {
            command.args(["--library", library]);
        }
        let command = command.current_dir(place.root()).stdin(Stdio::null()).stdout(Stdio::null());
        // The test accepts any line with an address that the helper waits for.
        let server = http::Server::start(command);
        for (path, rows, documents) in paths {
            assert_eq!(tools(&mut server.connect_at(path)), (*rows, *documents), "{libraries:?}, {path}");
        }
        let mut rows = Server { target: server.connect_at("/mcp") };
        create_team(&mut rows, "a").expect("made");
        assert_eq!(server.terminate(), Some(0));
    }
}

#[test]
fn one_client_on_stdio_has_both() {
    let (data, library) = (Data::new(), Library::empty());
    let mut command = data.command();
    command.args(["--contract", "braindrive-markdown", "--library"]).arg(library.root());
    let mut target = Target::start(&mut command).expect("it starts");
    let hello = target.initialize("2025-11-25").expect("a handshake");
    let said = hello["result"]["instructions"].as_str().expect("instructions");
    assert!(said.contains("A library of Markdown files") && said.contains("A database of rows"), "{said}");
    assert_eq!(tools(&mut target), (true, true));
    let mut server = Server { target };
    create_team(&mut server, "a").expect("made");
    let write = json!({ "path": "a.md", "content": "# A\n" });
    server.call("write_markdown", write).expect("written");
    server.close();
    assert_eq!((data.checked().teams(), library.get("a.md")), (["a"].into(), b"# A\n".to_vec()));
}

#[test]
fn an_entry_of_a_client_names_the_data_folder() {
    let place = Library::empty();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(TABELLION);
        command.arg("install").args(arguments).args(["cursor", "--print"]);
        command.current_dir(place.root()).env("HOME", place.root()).env_remove("TABELLION_DATA");
        let (code, out, said) = ended(&mut command);
        let shown = |text: String| text.replace(&*place.root().to_string_lossy(), "~");
        (code, shown(out), shown(said))
    };
    for (arguments, expected) in [
        (&["--contract", "mcb", "--data", "d"][..], "\"serve\",\"--data\",\"~/d\",\"--contract\",\"mcb\""),
        (&["--contract", "mcb"], "\"--data\",\"~/.local/share/tabellion\""),
        (
            &["--contract", "mcb", "--contract", "learning-os", "--library", "lib", "--data", "d"],
            "\"serve\",\"--library\",\"~/lib\",\"--data\",\"~/d\"",
        ),
    ] {
        let (code, printed, said) = run(arguments);
        let printed: String = printed.split_whitespace().collect();
        assert!(code == Some(0) && printed.contains(expected), "{arguments:?}: {printed} {said}");
    }
    for (arguments, expected) in [
        (&["--contract", "mcb", "--library", "lib"][..], "leave it out"),
        (&["--data", "d", "--library", "lib"], "add `--contract mcb`"),
        (&[], "--library <DIR>"),
    ] {
        let (code, _, said) = run(arguments);
        assert!(code == Some(2) && said.contains(expected), "{arguments:?}: {code:?} {said}");
    }
}
