//! States that permit no change, and their messages; afterwards nothing has changed.

use std::fs;

use tabellion_runtime::FailureKind::{self, Busy, Conflict, Invalid, NotFound, Refused};

use super::support::{Bench, change, make, refusal};
use crate::{Created, ExternalPolicy, Library, OpenError, Options};

/// A name, the changed path, the kind of the refusal, a part of its message, and its cause.
type Case = (&'static str, &'static str, FailureKind, &'static str, fn(&Bench));

const CASES: [Case; 16] = [
    ("merge", "notes/a.md", Refused, "a merge is in progress", |b| b.write(".git/MERGE_HEAD", "x")),
    ("rebase", "notes/a.md", Refused, "a rebase is in progress", |b| b.write(".git/rebase-merge/x", "")),
    ("bisect", "notes/a.md", Refused, "a bisection is in progress", |b| b.write(".git/BISECT_LOG", "")),
    ("detached", "notes/a.md", Refused, "HEAD is detached", |b| drop(b.git(&["switch", "-q", "--detach"]))),
    ("ignored", "x.md", Refused, "ignored by git", |b| b.write(".gitignore", "x.md\n")),
    ("read-only", "notes/a.md", Refused, "read-only", |b| chmod(b, "notes/a.md", 0o444)),
    ("symlink", "l.md", Refused, "symbolic link", |b| link(b, "plan.md", "l.md")),
    ("dangling symlink", "l.md", Refused, "symbolic link", |b| link(b, "nowhere", "l.md")),
    ("symlinked folder", "l/x.md", Refused, "symbolic link", |b| link(b, "/tmp", "l")),
    ("folder", "d.md", Refused, "not a regular file", |b| fs::create_dir(b.path("d.md")).unwrap()),
    ("file above", "plan.md/x.md", Refused, "plan.md", |_| {}),
    ("case twin", "notes/A.md", Refused, "`notes/a.md`", |_| {}),
    ("twin of a folder", "Notes/x.md", Refused, "`notes`", |_| {}),
    ("climbing", "../x.md", Invalid, "climbs", |_| {}),
    ("index lock", "notes/a.md", Busy, "index.lock", |b| b.write(".git/index.lock", "")),
    ("branch lock", "notes/a.md", Busy, "main.lock", |b| b.write(".git/refs/heads/main.lock", "")),
];

fn chmod(bench: &Bench, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(bench.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

fn link(bench: &Bench, to: &str, name: &str) {
    std::os::unix::fs::symlink(to, bench.path(name)).unwrap();
}

/// All state that a refused change must preserve.
#[derive(Debug, PartialEq)]
struct State {
    head: String,
    status: String,
    content: Option<String>,
    locks: [bool; 2],
}

impl State {
    fn capture(bench: &Bench, path: &str) -> Self {
        Self {
            head: bench.head(),
            status: bench.status(),
            content: bench.read(path),
            locks: ["index.lock", "refs/heads/main.lock"].map(|lock| bench.path(".git").join(lock).exists()),
        }
    }
}

#[test]
fn each_refusal_says_why_and_changes_nothing() {
    for (shown, path, kind, said, bring_about) in CASES {
        let bench = Bench::new();
        bring_about(&bench);
        let (before, objects) = (State::capture(&bench, path), bench.git(&["count-objects"]));
        let failure = refusal(&bench.library(), &change(path, Some("new\n")));
        assert_eq!(failure.kind, kind, "{shown}: {failure}");
        assert!(failure.message.contains(said), "{shown}: {failure}");
        assert_eq!(State::capture(&bench, path), before, "{shown}");
        // A held lock is detected only after the objects were written.
        if kind != Busy {
            assert_eq!(bench.git(&["count-objects"]), objects, "{shown}");
        }
    }
}

#[test]
fn conflicted_entries_are_refused() {
    let bench = Bench::new();
    let blob = bench.git(&["rev-parse", "HEAD:notes/a.md"]);
    bench.git(&["update-index", "--force-remove", "notes/a.md"]);
    for stage in 1..=3 {
        bench.write(".git/entry", &format!("100644 {blob} {stage}\tnotes/a.md\n"));
        let mut child = std::process::Command::new("git")
            .arg("-C")
            .arg(bench.path(""))
            .args(["update-index", "--index-info"])
            .stdin(fs::File::open(bench.path(".git/entry")).unwrap())
            .spawn()
            .unwrap();
        assert!(child.wait().unwrap().success());
    }
    fs::remove_file(bench.path(".git/entry")).unwrap();
    let failure = refusal(&bench.library(), &change("notes/a.md", Some("new\n")));
    assert_eq!(failure.kind, Refused);
    assert!(failure.message.contains("merge conflict"), "{failure}");
    assert_eq!(bench.read("notes/a.md").as_deref(), Some("old a\n"));
    assert_eq!(bench.leftovers(), Vec::<String>::new());
}

#[test]
fn a_missing_document_is_not_deleted() {
    let bench = Bench::new();
    let failure = refusal(&bench.library(), &change("none.md", None));
    assert_eq!(failure.kind, NotFound);
}

#[test]
fn uncommitted_bytes_can_be_a_reason() {
    let bench = Bench::new();
    bench.write("notes/a.md", "dirty\n");
    let library =
        Library::open(&bench.path(""), Options { external: ExternalPolicy::Refuse, ..Options::default() })
            .unwrap();
    let failure = refusal(&library, &change("notes/a.md", Some("new\n")));
    assert_eq!(failure.kind, Conflict);
    assert_eq!(bench.read("notes/a.md").as_deref(), Some("dirty\n"));
    make(&library, &change("plan.md", Some("new\n"))).unwrap();
}

#[test]
fn repositories_that_are_not_supported_are_refused_at_opening() {
    type Case = (&'static [&'static str], fn(&OpenError) -> bool);
    const CASES: [Case; 3] = [
        (&["init", "-q", "--bare"], |error| matches!(error, OpenError::Bare(_))),
        (&["init", "-q", "--object-format=sha256"], |error| matches!(error, OpenError::Unsupported { .. })),
        (&["init", "-q", "--ref-format=reftable"], |error| matches!(error, OpenError::Unsupported { .. })),
    ];
    for (command, is_right) in CASES {
        let bench = Bench::empty();
        bench.git(command);
        let error = Library::open(&bench.path(""), Options::default()).err().unwrap();
        assert!(is_right(&error), "{command:?}: {error}");
    }
    let bench = Bench::new();
    assert!(matches!(Library::open(&bench.path(".git"), Options::default()), Err(OpenError::Bare(_))));
}

#[test]
fn opening_makes_what_is_missing() {
    let bench = Bench::empty();
    bench.write("there.md", "there\n");
    let inner = bench.path("");
    let library = Library::open(&inner, Options::default()).unwrap();
    assert_eq!(bench.git(&["rev-list", "--count", "main"]), "1");
    assert_eq!(bench.status(), "?? there.md");
    let commit = make(&library, &change("there.md", Some("new\n"))).unwrap();
    assert_eq!(bench.head(), commit);
    assert_eq!(bench.git(&["show", "HEAD~1:there.md"]), "there");
    assert_eq!(bench.git(&["rev-list", "--count", "main"]), "3");
    assert_eq!(bench.status(), "");
    bench.assert_sound();
    assert_eq!(library.created(), Some(&Created::Repository));
    assert_eq!(bench.library().created(), None);
    let missing = bench.path("not");
    let library = Library::open(&missing, Options::default()).unwrap();
    assert_eq!(library.created(), Some(&Created::Folder { similar: None }));
    assert!(!missing.join(".git").exists(), "a folder in a repository is a library in that repository");
}

#[test]
fn a_folder_in_a_repository_and_an_unborn_branch_work() {
    let bench = Bench::empty();
    bench.git(&["init", "-q", "-b", "trunk"]);
    fs::create_dir(bench.path("docs")).unwrap();
    let library = Library::open(&bench.path("docs/notes"), Options::default()).unwrap();
    make(&library, &change("a/b.md", Some("1\n"))).unwrap();
    make(&library, &change("a/b.md", Some("2\n"))).unwrap();
    assert_eq!(bench.git(&["show", "HEAD:docs/notes/a/b.md"]), "2");
    assert_eq!(bench.status(), "");
    let entries = library.activity(10).unwrap();
    assert_eq!(entries.iter().map(|entry| &*entry.paths[0]).collect::<Vec<_>>(), ["a/b.md", "a/b.md"]);
    bench.write("docs/other.md", "x");
    let outer = bench.library();
    make(&outer, &change("docs/other.md", None)).unwrap();
    assert_eq!(library.activity(10).unwrap().len(), 2);
    assert_eq!(outer.activity(10).unwrap().len(), 3);
    bench.assert_sound();
}

#[test]
fn a_linked_working_tree_and_a_submodule_work() {
    let bench = Bench::new();
    bench.git(&["worktree", "add", "-q", "-b", "side", "linked"]);
    let library = Library::open(&bench.path("linked"), Options::default()).unwrap();
    let main = bench.head();
    let commit = make(&library, &change("notes/a.md", Some("new\n"))).unwrap();
    assert_eq!(bench.git(&["rev-parse", "side"]), commit);
    assert_eq!(bench.head(), main);
    assert_eq!(super::support::git(&bench.path("linked"), &["status", "--porcelain"]).1, "");
    bench.assert_sound();

    let outer = Bench::new();
    let url = bench.path("").display().to_string();
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    let library = Library::open(&outer.path("sub"), Options::default()).unwrap();
    make(&library, &change("notes/a.md", Some("in sub\n"))).unwrap();
    assert_eq!(super::support::git(&outer.path("sub"), &["status", "--porcelain"]).1, "");
    let failure = refusal(&outer.library(), &change("sub/notes/a.md", Some("from outside\n")));
    assert_eq!(failure.kind, Refused, "{failure}");
}

#[test]
fn configured_programs_do_not_run() {
    let bench = Bench::new();
    let trap = "touch trapped; false";
    for hook in ["pre-commit", "post-commit", "reference-transaction", "post-index-change", "commit-msg"] {
        bench.write(&format!(".git/hooks/{hook}"), &format!("#!/bin/sh\n{trap}\n"));
        chmod(&bench, &format!(".git/hooks/{hook}"), 0o755);
    }
    for key in ["core.fsmonitor", "filter.trap.smudge", "gpg.program", "diff.external"] {
        bench.git(&["config", key, trap]);
    }
    bench.git(&["config", "commit.gpgsign", "true"]);
    bench.write(".gitattributes", "*.md filter=trap\n");
    make(&bench.library(), &change("notes/a.md", Some("new\n"))).unwrap();
    assert!(!bench.path("trapped").exists());
    assert_eq!(bench.git(&["-c", "core.fsmonitor=", "show", "HEAD:notes/a.md"]), "new");
}
