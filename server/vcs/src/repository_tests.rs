#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::{fs, path::PathBuf};

use super::*;
use crate::testing::{GO_ON, Playground, commit, git};

/// Prepares a repository, and says what opening it must come to: a rule of [`VcsError`], or nothing.
type Case = (&'static str, fn(&Playground) -> PathBuf, Option<&'static str>);

const CASES: &[Case] = &[
    ("a work tree", |place| place.init("ws/repo"), None),
    (
        "a folder below its top",
        |place| {
            let top = place.init("ws/repo");
            fs::create_dir_all(top.join("src/deep")).expect("folders");
            top.join("src/deep")
        },
        None,
    ),
    (
        "a bare repository",
        |place| {
            place.init("ws/repo");
            git(&place.path("ws"), &["clone", "-q", "--bare", "repo", "bare"]);
            place.path("ws/bare")
        },
        None,
    ),
    (
        "a linked work tree beside its repository",
        |place| {
            let top = place.init("ws/repo");
            git(&top, &["worktree", "add", "-q", "../linked"]);
            place.path("ws/linked")
        },
        None,
    ),
    (
        "a linked work tree of a repository outside, which knows it",
        |place| {
            let top = place.init("outside/repo");
            git(&top, &["worktree", "add", "-q", "../../ws/linked"]);
            place.path("ws/linked")
        },
        None,
    ),
    (
        "a `.git` file that leads to a repository outside",
        |place| {
            let top = place.init("outside/repo");
            fs::create_dir(place.path("ws/thief")).expect("a folder");
            fs::write(
                place.path("ws/thief/.git"),
                format!("gitdir: {}/.git\n", top.display()),
            )
            .expect("a file");
            place.path("ws/thief")
        },
        Some("repository_outside"),
    ),
    (
        "a `.git` file that leads to another's linked work tree",
        |place| {
            let top = place.init("outside/repo");
            git(&top, &["worktree", "add", "-q", "../linked"]);
            fs::create_dir(place.path("ws/thief")).expect("a folder");
            let git_file = fs::read(place.path("outside/linked/.git")).expect("a file");
            fs::write(place.path("ws/thief/.git"), git_file).expect("a file");
            place.path("ws/thief")
        },
        Some("repository_outside"),
    ),
    (
        "a `.git` file that leads to nothing",
        |place| {
            fs::create_dir(place.path("ws/thief")).expect("a folder");
            fs::write(place.path("ws/thief/.git"), "gitdir: /no/such/folder\n").expect("a file");
            place.path("ws/thief")
        },
        Some("repository_outside"),
    ),
    (
        "a `.git` file that is none",
        |place| {
            fs::create_dir(place.path("ws/thief")).expect("a folder");
            fs::write(place.path("ws/thief/.git"), "something else").expect("a file");
            place.path("ws/thief")
        },
        Some("repository_missing"),
    ),
    (
        "a `commondir` outside",
        |place| {
            let other = place.init("outside/repo");
            let top = place.init("ws/repo");
            fs::write(top.join(".git/commondir"), format!("{}/.git\n", other.display())).expect("a file");
            top
        },
        Some("repository_outside"),
    ),
    (
        "alternates inside",
        |place| {
            let other = place.init("ws/other");
            git(
                &place.path("ws"),
                &["clone", "-q", "--shared", &other.to_string_lossy(), "repo"],
            );
            place.path("ws/repo")
        },
        None,
    ),
    (
        "alternates outside",
        |place| {
            let other = place.init("outside/repo");
            git(
                &place.path("ws"),
                &["clone", "-q", "--shared", &other.to_string_lossy(), "repo"],
            );
            place.path("ws/repo")
        },
        Some("repository_outside"),
    ),
    (
        "alternates outside, of alternates inside",
        |place| {
            let far = place.init("outside/repo");
            git(
                &place.path("ws"),
                &["clone", "-q", "--shared", &far.to_string_lossy(), "near"],
            );
            git(&place.path("ws"), &["clone", "-q", "--shared", "near", "repo"]);
            place.path("ws/repo")
        },
        Some("repository_outside"),
    ),
    (
        "a submodule",
        |place| {
            let inner = place.init("ws/inner");
            let top = place.init("ws/repo");
            git(
                &top,
                &["submodule", "--quiet", "add", &inner.to_string_lossy(), "sub"],
            );
            top.join("sub")
        },
        None,
    ),
    (
        "no repository",
        |place| place.path("ws"),
        Some("repository_missing"),
    ),
    (
        "a repository around the workspace",
        |place| {
            git(&place.at, &["init", "-q"]);
            place.path("ws")
        },
        Some("repository_missing"),
    ),
    (
        "SHA-256 objects",
        |place| {
            git(
                &place.path("ws"),
                &["init", "-q", "--object-format=sha256", "repo"],
            );
            place.path("ws/repo")
        },
        Some("repository_unsupported"),
    ),
    (
        "references in a table",
        |place| {
            let top = place.init("ws/repo");
            git(&top, &["config", "core.repositoryFormatVersion", "1"]);
            git(&top, &["config", "extensions.refStorage", "reftable"]);
            top
        },
        Some("repository_unsupported"),
    ),
    (
        "a clone without history",
        |place| {
            let other = place.init("ws/other");
            let url = format!("file://{}", other.display());
            git(&place.path("ws"), &["clone", "-q", "--depth", "1", &url, "repo"]);
            place.path("ws/repo")
        },
        None,
    ),
    (
        "a configuration that is none",
        |place| {
            let top = place.init("ws/repo");
            fs::write(top.join(".git/config"), "[core\n").expect("a file");
            top
        },
        Some("repository_damaged"),
    ),
    (
        "a work tree that is configured to be outside",
        |place| {
            let top = place.init("ws/repo");
            git(
                &top,
                &[
                    "config",
                    "core.worktree",
                    &place.path("outside").to_string_lossy(),
                ],
            );
            top
        },
        None,
    ),
];

#[cfg(unix)]
const WITH_LINKS: &[Case] = &[
    (
        "a link to a git folder outside",
        |place| {
            let other = place.init("outside/repo");
            fs::create_dir(place.path("ws/repo")).expect("a folder");
            symlink(other.join(".git"), place.path("ws/repo/.git")).expect("a link");
            place.path("ws/repo")
        },
        Some("repository_outside"),
    ),
    (
        "a link to objects outside",
        |place| replaced(place, "objects"),
        Some("repository_outside"),
    ),
    (
        "a link to references outside",
        |place| replaced(place, "refs"),
        Some("repository_outside"),
    ),
    (
        "a link to a branch outside",
        |place| replaced(place, "refs/heads/main"),
        Some("repository_outside"),
    ),
    (
        "a link to HEAD outside",
        |place| replaced(place, "HEAD"),
        Some("repository_outside"),
    ),
    (
        "a link to the configuration outside",
        |place| replaced(place, "config"),
        Some("repository_outside"),
    ),
    ("a link to hooks outside", |place| replaced(place, "hooks"), None),
    (
        "a link as `commondir`",
        |place| {
            let top = place.init("ws/repo");
            fs::write(top.join("elsewhere"), "/outside").expect("a file");
            symlink("../elsewhere", top.join(".git/commondir")).expect("a link");
            top
        },
        Some("repository_special"),
    ),
    (
        "a link as `alternates`",
        |place| {
            let top = place.init("ws/repo");
            fs::write(top.join("elsewhere"), "/outside").expect("a file");
            symlink("../../../elsewhere", top.join(".git/objects/info/alternates")).expect("a link");
            top
        },
        Some("repository_special"),
    ),
    (
        "a pipe as HEAD",
        |place| {
            let top = place.init("ws/repo");
            fs::remove_file(top.join(".git/HEAD")).expect("removed");
            let made = std::process::Command::new("mkfifo")
                .arg(top.join(".git/HEAD"))
                .status();
            assert!(made.expect("mkfifo runs").success());
            top
        },
        Some("repository_special"),
    ),
];

/// Replaces a file or folder in the git folder of a repository by a link to that of another, outside.
#[cfg(unix)]
fn replaced(place: &Playground, name: &str) -> PathBuf {
    let other = place.init("outside/repo").join(".git").join(name);
    let top = place.init("ws/repo");
    let own = top.join(".git").join(name);
    if own.is_dir() {
        fs::remove_dir_all(&own).expect("removed");
    } else {
        fs::remove_file(&own).expect("removed");
    }
    symlink(other, own).expect("a link");
    top
}

fn check_case((name, prepare, expected): &Case) {
    let place = Playground::new();
    let at = prepare(&place);
    let opened = place.open(&at.to_string_lossy());
    let rule = opened.as_ref().err().map(VcsError::rule);
    assert_eq!(rule, *expected, "{name}: {opened:?}");
    if let Ok(repository) = opened {
        assert!(repository.path().starts_with(place.path("ws")), "{name}");
        let head = repository
            .revision("HEAD")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            head.commit.to_string(),
            git(&at, &["rev-parse", "HEAD"]),
            "{name}"
        );
    }
}

#[test]
fn nothing_of_a_repository_is_outside_of_the_workspaces() {
    CASES.iter().for_each(check_case);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_in_gits_folder_are_judged() {
    WITH_LINKS.iter().for_each(check_case);
}

#[test]
fn an_error_says_what_to_do_and_not_where_things_are() {
    let place = Playground::new();
    let other = place.init("outside/repo");
    git(
        &place.path("ws"),
        &["clone", "-q", "--shared", &other.to_string_lossy(), "repo"],
    );
    let error = place.open("repo").expect_err("it borrows objects").to_string();
    assert!(
        error.contains("keeps objects outside of the workspaces"),
        "{error}"
    );
    assert!(error.contains("git repack -a -d"), "{error}");
    assert!(!error.contains("outside/repo"), "{error}");
    git(&place.path("ws/repo"), &["repack", "-q", "-a", "-d"]);
    fs::remove_file(place.path("ws/repo/.git/objects/info/alternates")).expect("removed");
    place.open("repo").expect("it has its own objects now");
}

#[test]
fn a_cancelled_caller_gets_no_repository() {
    let place = Playground::new();
    place.init("ws/repo");
    let at = place.workspaces.folder("repo").expect("a folder");
    let opened = GitRepository::open(&place.workspaces, &at, &|| true);
    assert_eq!(opened.expect_err("cancelled").rule(), "cancelled");
    commit(&place.path("ws/repo"), &[], "more");
    GitRepository::open(&place.workspaces, &at, GO_ON).expect("a repository");
}

#[test]
fn a_configuration_outside_is_not_read() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    fs::write(place.path("outside/config"), "[from]\n\toutside = yes\n").expect("a file");
    let included = place.path("outside/config");
    git(&top, &["config", "include.path", &included.to_string_lossy()]);
    assert_eq!(git(&top, &["config", "from.outside"]), "yes");
    let repository = place.open("repo").expect("a repository");
    assert!(repository.git.config_snapshot().string("from.outside").is_none());
}

/// Makes `ws/repo` with the branches `main` and `topic`, and a clone of it.
fn cloned(place: &Playground, options: &[&str]) -> GitRepository {
    let other = place.init("ws/repo");
    git(&other, &["config", "uploadpack.allowFilter", "true"]);
    git(&other, &["checkout", "-q", "-b", "topic"]);
    commit(&other, &[("file", Some("topic"))], "topic");
    git(&other, &["checkout", "-q", "main"]);
    commit(&other, &[("file", Some("main"))], "main");
    let url = format!("file://{}", other.display());
    let clone = ["clone", "-q", "--no-single-branch", "--no-checkout"];
    git(&place.path("ws"), &[&clone, options, &[&url, "clone"]].concat());
    place.open("clone").expect("a repository")
}

#[test]
fn a_clone_that_lacks_something_is_told_how_to_get_it() {
    for (options, remedy) in [
        (&["--depth", "1"][..], "--unshallow"),
        (&["--filter=blob:none"], "--refetch"),
    ] {
        let place = Playground::new();
        let repository = cloned(&place, options);
        let revision = |name| repository.revision(name).expect("a branch");
        let compared = repository.compare(&revision("topic"), &revision("main"), GO_ON);
        let error = compared.expect_err("something is missing");
        assert_eq!(error.rule(), "repository_incomplete", "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
    }
    let place = Playground::new();
    let repository = cloned(&place, &[]);
    let revision = |name| repository.revision(name).expect("a branch");
    repository
        .compare(&revision("topic"), &revision("main"), GO_ON)
        .expect("a whole clone has all of it");
}
