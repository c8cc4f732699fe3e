use std::fs;

use super::*;
use crate::testing::{GO_ON, Playground, git};

#[test]
fn all_repositories_of_a_folder_are_listed() {
    let place = Playground::new();
    let top = place.init("ws/one");
    git(&top, &["branch", "topic"]);
    git(&top, &["worktree", "add", "-q", "../linked", "topic"]);
    let head = git(&top, &["rev-parse", "HEAD"]);
    place.init("ws/one/nested/inner");
    place.init("ws/a/b/c");
    place.init("ws/a/b/c/too-deep");
    place.init("ws/one/target/skipped");
    git(&place.path("ws"), &["clone", "-q", "--bare", "one", "bare"]);
    git(&place.path("ws"), &["init", "-q", "-b", "trunk", "empty"]);
    let detached = place.init("ws/detached");
    git(&detached, &["checkout", "-q", "--detach"]);
    git(&detached, &["branch", "-q", "-m", "main", "develop"]);
    let damaged = place.init("ws/damaged");
    fs::write(damaged.join(".git/config"), "[core\n").expect("a file");
    git(&top, &["submodule", "--quiet", "add", &place.path("ws/a/b/c").to_string_lossy(), "sub"]);
    place.init("outside/other");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../outside/other", place.path("ws/link")).expect("a link");

    let folder = place.workspaces.folder(".").expect("a folder");
    let list = repositories(&place.workspaces, &folder, GO_ON).expect("a list");
    let ws = place.path("ws");
    let relative = |path: &str| {
        let path = Path::new(path).strip_prefix(&ws).expect("it is inside");
        path.to_string_lossy().replace('\\', "/")
    };
    let found = list
        .repositories
        .iter()
        .map(|found| (relative(&found.path), found.default_branch.as_deref(), found.head.is_some()));
    let found: Vec<_> = found.collect();
    let name = |path: &str, branch, head| (path.to_owned(), branch, head);
    assert_eq!(
        found,
        [
            name("a/b/c", Some("main"), true),
            name("bare", Some("main"), true),
            name("detached", Some("develop"), true),
            name("empty", Some("trunk"), false),
            name("linked", Some("main"), true),
            name("one", Some("main"), true),
            name("one/nested/inner", Some("main"), true),
            name("one/sub", Some("main"), true),
        ]
    );
    let unreadable: Vec<_> =
        list.unreadable.iter().map(|(path, error)| (relative(path), error.rule())).collect();
    assert_eq!(unreadable, [("damaged".to_owned(), "repository_damaged")]);
    assert!(!list.truncated);

    let of = |path: &str| list.repositories.iter().find(|found| relative(&found.path) == path).expect(path);
    assert_eq!(of("one").head.as_deref(), Some(&*head));
    for same in ["bare", "linked"] {
        assert_eq!(of(same).id, of("one").id, "{same}");
    }
    assert_eq!(of("one").id, crate::facts(&top).repository);
    assert_eq!(of("one/sub").id, of("a/b/c").id);
    let ids: std::collections::BTreeSet<_> = list.repositories.iter().map(|found| &found.id).collect();
    assert_eq!(ids.len(), 5, "{ids:?}");
}

#[test]
fn the_default_branch_is_the_remotes_or_a_known_name() {
    let place = Playground::new();
    for (branches, head, origin, expected) in [
        (&["main", "topic"][..], "topic", None, Some("main")),
        (&["master", "topic"], "topic", None, Some("master")),
        (&["main", "develop"], "main", Some("develop"), Some("develop")),
        (&["topic"], "topic", Some("develop"), Some("develop")),
        (&["topic", "other"], "topic", Some("main"), Some("main")),
        (&["a", "b"], "b", None, Some("b")),
    ] {
        let name = format!("ws/{}-{head}-{}", branches.join("-"), origin.unwrap_or("none"));
        let top = place.init(&name);
        git(&top, &["checkout", "-q", "--detach"]);
        git(&top, &["branch", "-q", "-D", "main"]);
        for branch in branches {
            git(&top, &["branch", branch]);
        }
        git(&top, &["checkout", "-q", head]);
        if let Some(origin) = origin {
            git(&top, &["update-ref", &format!("refs/remotes/origin/{origin}"), "HEAD"]);
            let target = format!("refs/remotes/origin/{origin}");
            git(&top, &["symbolic-ref", "refs/remotes/origin/HEAD", &target]);
        }
        let repository = place.open(&top.to_string_lossy()).expect("a repository");
        let found = repository.default_branch().expect("a branch");
        assert_eq!(found.as_deref(), expected, "{name}");
        // A comparison with it is not one of the checked-out branch with itself.
        match repository.default_revision() {
            Ok(base) => assert_eq!(Some(&*base.name), expected, "{name}"),
            Err(error) => {
                let expected = "no branch is known to be the default one; branches are `a`, `b`";
                assert_eq!(error.to_string(), expected, "{name}");
            }
        }
    }
}
