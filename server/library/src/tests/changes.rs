//! Every operation in every state of a file, compared with git's view of the result.

use sha1::{Digest, Sha1};

use super::support::{Bench, change, make, path};
use crate::Difference;

/// Brings `notes/a.md` into a state that a person can leave.
type Left = fn(&Bench);

/// A state, and the number of commits that a change then makes.
type State = (&'static str, usize, Left);

const STATES: [State; 5] = [
    ("clean", 1, |_| {}),
    ("dirty", 2, |bench| bench.write("notes/a.md", "dirty\n")),
    ("staged", 2, |bench| {
        bench.write("notes/a.md", "staged\n");
        bench.git(&["add", "-A"]);
    }),
    ("untracked", 2, |bench| {
        bench.git(&["rm", "-q", "--cached", "notes/a.md"]);
        bench.git(&["commit", "-q", "-m", "untrack"]);
    }),
    ("executable", 1, |bench| {
        bench.git(&["update-index", "--chmod=+x", "notes/a.md"]);
        bench.git(&["commit", "-q", "-m", "mode"]);
        bench.git(&["checkout", "-q", "--", "notes/a.md"]);
    }),
];

#[test]
fn each_change_to_each_state_is_one_commit_that_git_agrees_with() {
    for (state, commits, bring_about) in STATES {
        for content in [Some("new\n"), Some(""), None] {
            let bench = Bench::new();
            bring_about(&bench);
            let before = (bench.head(), bench.read("notes/a.md").unwrap());
            let shown = format!("{state} -> {content:?}");

            let commit = make(&bench.library(), &change("notes/a.md", content)).expect(&shown);

            assert_eq!(bench.head(), commit, "{shown}");
            assert_eq!(bench.read("notes/a.md").as_deref(), content, "{shown}");
            // The index is valid and has the system's stat fields for the document: git need not read it.
            let index = std::fs::read(bench.path(".git/index")).unwrap();
            let (all, checksum) = index.split_at(index.len() - 20);
            assert_eq!(Sha1::digest(all)[..], *checksum, "{shown}");
            assert_eq!(bench.git(&["diff-files"]), "", "{shown}");
            assert_eq!(bench.status(), "", "{shown}");
            // The index makes HEAD's tree, also from its cached trees.
            assert_eq!(bench.git(&["write-tree"]), bench.git(&["rev-parse", "HEAD^{tree}"]), "{shown}");
            let count = bench.git(&["rev-list", "--count", &format!("{}..HEAD", before.0)]);
            assert_eq!(count, commits.to_string(), "{shown}");
            assert_eq!(
                bench.git(&["show", "HEAD~1:notes/a.md"]),
                before.1.trim_end(),
                "{shown}: not recorded"
            );
            for commit in bench.git(&["rev-list", &format!("{}..HEAD", before.0)]).lines() {
                let touched = bench.git(&["diff-tree", "-r", "--name-only", "--no-commit-id", commit]);
                assert_eq!(touched, "notes/a.md", "{shown}");
            }
            assert_eq!(bench.git(&["log", "-1", "--format=%an/%cn"]), "Ann/Tabellion", "{shown}");
            bench.assert_sound();
        }
    }
}

/// States in which the index has a version of `notes/a.md` that neither HEAD nor the file has.
const ONLY_STAGED: [(&str, Left); 3] = [
    ("staged and dirty", |bench| {
        bench.write("notes/a.md", "staged\n");
        bench.git(&["add", "-A"]);
        bench.write("notes/a.md", "dirty\n");
    }),
    ("staged and restored", |bench| {
        bench.write("notes/a.md", "staged\n");
        bench.git(&["add", "-A"]);
        bench.write("notes/a.md", "old a\n");
    }),
    ("untracked by the index", |bench| {
        bench.git(&["rm", "-q", "--cached", "notes/a.md"]);
    }),
];

#[test]
fn a_version_that_is_only_staged_is_not_thrown_away() {
    for (state, bring_about) in ONLY_STAGED {
        for content in [Some("new\n"), None] {
            let bench = Bench::new();
            bring_about(&bench);
            let before = (bench.head(), bench.status(), bench.git(&["ls-files", "--stage"]));
            make(&bench.library(), &change("notes/a.md", content)).expect_err(state);
            let after = (bench.head(), bench.status(), bench.git(&["ls-files", "--stage"]));
            assert_eq!(before, after, "{state} -> {content:?}");
        }
    }
}

#[test]
fn a_new_file_gets_its_folders_and_a_deleted_one_takes_empty_ones_along() {
    let bench = Bench::new();
    let library = bench.library();
    make(&library, &change("x/y/z.md", Some("new\n"))).unwrap();
    assert_eq!(bench.git(&["show", "HEAD:x/y/z.md"]), "new");
    assert_eq!(bench.status(), "");
    make(&library, &change("x/y/z.md", None)).unwrap();
    assert!(!bench.path("x").exists());
    assert_eq!(bench.status(), "");
    assert_eq!(library.read(&path("x/y/z.md")).unwrap(), None);
    bench.assert_sound();
}

#[test]
fn documents_that_commits_changed_are_named_unless_it_may_be_any() {
    let bench = Bench::new();
    let library = bench.library();
    let commit = |path: &str, text: &str| {
        bench.write(path, text);
        bench.git(&["add", "--all"]);
        bench.git(&["commit", "-q", "-m", "next"]);
        bench.head()
    };
    let first = bench.head();
    commit("notes/a.md", "other");
    let back = commit("notes/a.md", "old a\n");
    let last = commit("new.md", "new");
    bench.git(&["switch", "-q", "-c", "side", &first]);
    let side = commit("notes/b.md", "other");
    bench.git(&["merge", "-q", "-s", "ours", "-m", "merge", &last]);
    let merge = bench.head();
    for (known, head, expected) in [
        (&first, &first, Some(&[][..])),
        (&first, &back, Some(&["notes/a.md"])),
        (&first, &last, Some(&["new.md", "notes/a.md"])),
        (&back, &last, Some(&["new.md"])),
        (&last, &first, None),
        (&last, &side, None),
        (&side, &merge, None),
    ] {
        let changed = library.changed_since(known, head).unwrap();
        let changed = changed.map(|paths| {
            let mut paths: Vec<_> = paths.into_iter().collect();
            paths.sort();
            paths
        });
        let expected = expected.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect());
        assert_eq!(changed, expected);
    }
}

#[test]
fn only_what_differs_in_the_checkout_is_uncommitted() {
    let bench = Bench::new();
    bench.write("far/b.md", "b\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-m", "far"]);
    bench.git(&["sparse-checkout", "set", "notes"]);
    assert!(!bench.path("far").exists());
    bench.write("notes/new.md", "new\n");
    bench.git(&["add", "-N", "notes/new.md"]);
    let library = bench.library();
    let uncommitted = || library.uncommitted().unwrap().documents;
    let found: Vec<_> = uncommitted().into_iter().map(|it| (it.path, it.difference)).collect();
    assert_eq!(found, [("notes/new.md".to_owned(), Difference::Untracked)]);
    make(&library, &change("notes/new.md", Some("changed\n"))).unwrap();
    assert_eq!(uncommitted(), []);
    assert_eq!(bench.status(), "");
}
