//! Options of `serve` that contradict each other are refused before the library is touched.

use std::{fs, process::Command};

use serde_json::{Map, json};
use tabellion::PACKS;

use crate::support::{Library, Server, TABELLION, ended};

/// Returns the message with which the server refuses these arguments.
fn complaint(arguments: &[&str]) -> String {
    let library = Library::empty();
    let (code, out, said) = ended(library.command().args(arguments));
    assert_eq!(code, Some(2), "{arguments:?}: {said}");
    assert_eq!(out, "", "{arguments:?}");
    assert_eq!(fs::read_dir(library.root()).expect("a folder").count(), 0, "{arguments:?}");
    said
}

#[test]
fn the_server_refuses_contradictory_options_with_advice() {
    let cases: [(&[&str], &str); 10] = [
        (&["--contract", "no-such"], "braindrive-markdown"),
        (&["--document", "a.md"], "`--document a.md` is for contracts that work on one document"),
        (&["--approve", "no_such"], "`--approve no_such` is not a tool that changes something"),
        (&["--approve", "write_markdown,read_markdown"], "`--approve read_markdown` is not a tool"),
        (&["--approve", ""], "these are: write_markdown"),
        (&["--approval", "perhaps"], "prompt, auto, deny"),
        (&["--mode", "x"], "`--mode`"),
        (&["--as", "owner"], "`--as` is for contracts with roles"),
        (&["--http", "0", "--allow-origin", "nope"], "is not an origin"),
        (&["--read-only", "--approve", "write_markdown"], "cannot be used with"),
    ];
    for (arguments, expected) in cases {
        let said = complaint(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

/// A folder to serve, arguments and environment, and the expected parts of standard error; empty if there is no message.
#[test]
fn a_new_library_is_announced_and_a_mistyped_path_refused() {
    let place = Library::empty();
    fs::create_dir_all(place.path("Documents/Notes")).expect("folders");
    let said = |folder: &str, arguments: &[&str], environment: &str| {
        let mut command = Command::new(TABELLION);
        command.arg("serve").args(arguments).current_dir(place.root());
        if !environment.is_empty() {
            command.env("BRAINDRIVE_LIBRARY_PATH", environment);
        }
        if !folder.is_empty() {
            command.arg(folder);
        }
        let (code, out, said) = ended(&mut command);
        assert_eq!(out, "", "{folder}");
        let root = place.root().canonicalize().expect("a path");
        (code, said.replace(&*root.to_string_lossy(), "~"))
    };
    let announced = |path: &str| (Some(0), format!("tabellion: created a new library at `~/{path}`\n"));
    let silent = (Some(0), String::new());
    assert_eq!(said("new", &[], ""), announced("new"));
    assert_eq!(said("new", &[], ""), silent);
    assert_eq!(said("", &[], "new"), silent);
    assert_eq!(said("new", &[], "other"), silent, "an argument outweighs the environment");
    assert!(!place.path("other").exists());
    assert_eq!(said("", &["--library", "a=third", "--http", "8000", "--keys", "none"], "").0, Some(1));
    assert!(!place.path("third").exists(), "a wrong option creates nothing");
    assert_eq!(
        said("Documents/Notes", &[], ""),
        (Some(0), "tabellion: created a git repository in `~/Documents/Notes`\n".into())
    );
    let (code, refused) = said("Documants/Notes", &[], "");
    assert_eq!(code, Some(1));
    for part in [
        "`~/Documants/Notes` does not exist",
        "nearest existing folder is `~` ",
        "did you mean `~/Documents/Notes`?",
        "`--create`",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(!place.path("Documants").exists());
    let (code, created) = said("Documants/Notes", &["--create"], "");
    assert_eq!(code, Some(0), "{created}");
    assert!(created.contains("If you meant `~/Documents/Notes`"), "{created}");
    fs::write(place.path("file.md"), "").expect("a file");
    let (code, refused) = said("file.md", &[], "");
    assert_eq!(code, Some(1));
    assert!(refused.contains("`~/file.md` is not a folder; choose"), "{refused}");
    fs::remove_file(place.path("new/.git/HEAD")).expect("a HEAD");
    let (code, refused) = said("new", &[], "");
    assert_eq!(code, Some(1));
    assert!(refused.contains("restore it from a backup"), "{refused}");
    let (code, refused) = said("", &[], "");
    assert_eq!(code, Some(2));
    assert!(refused.contains("<DIR>"), "{refused}");
    assert_eq!(said("new", &["--library", "other"], "").0, Some(2));
}

#[test]
fn a_wrong_value_of_a_key_is_an_invalid_command_line() {
    let place = Library::empty();
    for (arguments, why) in [
        (&["--name", ""][..], "can't be the name of a key's owner"),
        (&["--name", "Ann", "--email", "nope"], "is not an e-mail address"),
        (&["--name", "Ann", "--scope", "write:nope"], "there is no contract `nope`"),
        (&["--name", "Ann", "--scope", "read@A"], "can't be the name of a library"),
        (&["--name", "Ann", "--scope", "review", "--agent", "a@1"], "only people review"),
    ] {
        let mut command = Command::new(TABELLION);
        command.args(["key", "create", "--keys", "keys.json"]).args(arguments).current_dir(place.root());
        let (code, out, said) = ended(&mut command);
        assert!(code == Some(2) && out.is_empty() && said.contains(why), "{arguments:?}: {code:?} {said}");
        assert_eq!(fs::read_dir(place.root()).expect("a folder").count(), 0, "{arguments:?}");
    }
    let mut command = Command::new(TABELLION);
    command.args(["key", "create", "--name", "Ann", "--keys", "."]).current_dir(place.root());
    assert_eq!(ended(&mut command).0, Some(1));
    assert_eq!(fs::read_dir(place.root()).expect("a folder").count(), 0, "a folder gets no lock");
}

#[test]
fn contracts_of_one_document_require_its_name() {
    let wanting = PACKS.specs().into_iter().filter(|spec| spec.document).map(|spec| spec.id);
    for name in wanting {
        let said = complaint(&["--contract", name]);
        assert!(said.contains("choose it with `--document PATH`"), "{said}");
        for path in ["../a.md", "/a.md", "a.txt", ""] {
            let said = complaint(&["--contract", name, "--document", path]);
            assert!(said.contains("must be a document of the library"), "{path}: {said}");
        }
    }
}

#[test]
fn a_read_only_server_offers_no_tool_that_changes_documents() {
    let specs = PACKS.specs().into_iter();
    for spec in specs.filter(|spec| spec.rows.is_none()) {
        let name = spec.id;
        let library = Library::with(&[("note.md", "# Note\n")]);
        let mut command = library.command();
        command.args(["--read-only", "--contract", name]);
        if spec.document {
            command.args(["--document", "note.md"]);
        }
        let mut target = Server::start(&mut command).target;
        let list = target.request("tools/list", json!({})).expect("a list");
        let listed = list["result"]["tools"].as_array().expect("tools");
        let listed: Vec<_> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let (changing, reading): (Vec<_>, Vec<_>) = spec.tools.iter().partition(|tool| tool.mutating);
        let reading: Vec<_> = reading.iter().map(|tool| tool.name).collect();
        assert_eq!(listed, reading, "{name}");
        assert!(!changing.is_empty(), "{name}");
        for tool in changing {
            let arguments = json!({ "path": "note.md", "content": "changed\n" });
            let answer = target.call(tool.name, arguments, Map::new()).expect("an answer");
            assert_eq!(answer["error"]["code"], -32602, "{name}, {}: {answer}", tool.name);
            let message = answer["error"]["message"].as_str().expect("a message");
            assert!(
                message.starts_with(&format!("this server is read-only, so `{}` is not offered", tool.name)),
                "{message}"
            );
        }
        assert_eq!(library.get("note.md"), b"# Note\n", "{name}");
    }
}
