//! A repository that several users share: they can change the files that the server creates, as with git.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::json;

use super::{State, picture::FileTree, scene::Scene};
use crate::support::edit;

/// The repository's sharing, and the modes of a new folder, of the index, and of an object in it.
const SHARING: [(&str, [u32; 3]); 4] = [
    ("group", [0o2770, 0o660, 0o440]),
    ("all", [0o2775, 0o664, 0o444]),
    ("0640", [0o2750, 0o640, 0o440]),
    ("umask", [0o700, 0o600, 0o400]),
];

fn mode(path: &Path) -> u32 {
    let metadata = fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    metadata.permissions().mode() & 0o7777
}

#[test]
fn the_server_shares_new_files_of_a_shared_repository() {
    for (how, [folder, file, object]) in SHARING {
        let mut scene = Scene::new(State::served("shared", ""));
        scene.shell(
            "lib",
            &format!(
                "umask 077; rm -rf .git; git init -q --template= --shared={how}; git add .; git commit -qm first
                 git switch -q --orphan team/plan; touch x; git add .; git commit -qm second
                 git pack-refs --all; git switch -q --orphan team/fresh; touch other.txt"
            ),
        );
        let state = State::served("shared", "").within("umask 077");
        scene.state = state;
        let before = FileTree::read(&scene);
        let mut server = scene.serve();
        for _ in 0..2 {
            server.call("write_markdown", json!({ "path": "new.md", "content": "new\n" })).expect("written");
        }
        server.call("edit_markdown", edit("new.md", "append", "", "more\n")).expect("edited");
        server.close();
        let git = scene.library().join(".git");
        assert_eq!(mode(&git), folder, "{how}: what git made");
        for made in FileTree::read(&scene).changed_since(&before) {
            let path = scene.top().join(&made);
            if !path.starts_with(&git) || path == git {
                continue;
            }
            let expected = if path.is_dir() {
                folder
            } else if path.starts_with(git.join("objects")) {
                object
            } else {
                file
            };
            assert_eq!(mode(&path), expected, "{how}: {}", made.display());
        }
        if how != "umask" {
            assert_eq!(mode(&git.join("tabellion")), folder, "{how}");
            assert_eq!(mode(&git.join("tabellion/lock")), file, "{how}");
        }
    }
}
