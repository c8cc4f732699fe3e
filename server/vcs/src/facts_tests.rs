use std::fs;

use super::*;
use crate::testing::git;

#[test]
fn a_uuid_is_that_of_the_standard() {
    // RFC 9562, appendix A.4.
    let dns =
        [0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8];
    assert_eq!(uuid(dns, b"www.example.com"), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

#[test]
fn a_project_is_the_end_of_its_url() {
    for (url, expected) in [
        ("https://example.com/ada/engine.git", Some("ada/engine")),
        ("https://user@example.com:8443/group/ada/engine", Some("ada/engine")),
        ("ssh://git@example.com/ada/engine.git/", Some("ada/engine")),
        ("git@example.com:ada/engine.git", Some("ada/engine")),
        ("/srv/git/ada/engine.git", Some("ada/engine")),
        ("../engine.git", Some("../engine")),
        ("https://example.com/engine?x=/y", Some("engine")),
        ("https://example.com", None),
        ("https://example.com/", None),
        ("", None),
    ] {
        assert_eq!(project(url).as_deref(), expected, "{url}");
    }
}

#[test]
fn a_repository_is_the_same_in_clones_and_linked_work_trees() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = platform::canonicalize(folder.path()).expect("a path");
    let at = |name: &str| folder.join(name);
    fs::create_dir_all(at("engine/src/deep")).expect("folders");
    let nothing = facts(&at("engine/src"));
    assert_eq!((&nothing.top, &*nothing.project), (&at("engine/src"), "src"));

    git(&at("engine"), &["init", "-q"]);
    let unborn = facts(&at("engine/src/deep"));
    assert_eq!((&unborn.top, &*unborn.project), (&at("engine"), "engine"));
    for message in ["first", "second", "third"] {
        git(&at("engine"), &["commit", "-q", "--allow-empty", "-m", message]);
    }
    let first = git(&at("engine"), &["rev-list", "--max-parents=0", "HEAD"]);
    git(&at("engine"), &["remote", "add", "origin", "git@example.com:ada/engine.git"]);
    git(&at("engine"), &["worktree", "add", "-q", "../beside", "HEAD~1"]);
    let url = format!("file://{}", at("engine").display());
    git(&folder, &["clone", "-q", &url, "clone"]);
    git(&folder, &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let id = uuid(NAMESPACE, first.as_bytes());
    for (path, top, work_tree, project, is_known) in [
        ("engine/src/deep", "engine", "main", "ada/engine", true),
        ("beside", "beside", "beside", "ada/engine", true),
        ("clone", "clone", "main", "", true),
        ("shallow", "shallow", "main", "", false),
    ] {
        let found = facts(&at(path));
        assert_eq!((&found.top, &*found.work_tree), (&at(top), work_tree), "{path}");
        assert_eq!(found.repository == id, is_known, "{path}");
        let expected = found.project;
        assert!(project.is_empty() || expected == project, "{path}: {expected}");
    }
}

#[test]
fn a_linked_work_tree_is_of_the_project_of_the_main_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = platform::canonicalize(folder.path()).expect("a path");
    let at = |name: &str| folder.join(name);
    fs::create_dir_all(at("myproject/src")).expect("folders");
    git(&at("myproject"), &["init", "-q"]);
    git(&at("myproject"), &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&folder, &["clone", "-q", "--bare", "myproject", "shared.git"]);
    git(&at("shared.git"), &["remote", "remove", "origin"]);
    // A bare repository beside a file that names it, and one with a work tree elsewhere.
    for (name, bare) in [("hidden/.bare", "myproject"), ("apart", "myproject")] {
        git(&folder, &["clone", "-q", "--bare", bare, name]);
        git(&at(name), &["remote", "remove", "origin"]);
    }
    fs::write(at("hidden/.git"), "gitdir: ./.bare\n").expect("a file");
    fs::create_dir_all(at("checkout")).expect("folders");
    git(&at("apart"), &["config", "core.bare", "false"]);
    git(&at("apart"), &["config", "core.worktree", "../checkout"]);
    fs::create_dir_all(at("far/away")).expect("folders");
    for (main, linked, expected) in [
        ("myproject", "side-branch", "myproject"),
        ("myproject", "far/away/fix", "myproject"),
        ("myproject", "myproject/inside", "myproject"),
        ("shared.git", "of-bare", "shared"),
        ("hidden", "hidden/topic", "hidden"),
        ("apart", "of-apart", "checkout"),
    ] {
        let linked = at(linked);
        git(&at(main), &["worktree", "add", "-q", "--detach", &linked.to_string_lossy()]);
        fs::create_dir_all(linked.join("src")).expect("folders");
        for place in [linked.clone(), linked.join("src")] {
            let found = facts(&place);
            assert_eq!((&found.top, &*found.project), (&linked, expected));
        }
    }
    assert_eq!(facts(&at("myproject/src")).project, "myproject");
}
