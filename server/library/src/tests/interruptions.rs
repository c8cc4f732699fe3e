//! A transaction stopped after each of its steps, by an error or by death, leaves either everything old or everything new.

use std::fs;

use super::support::{Bench, change, changes, make};
use crate::{
    Interrupted, Library,
    checkpoint::{Checkpoint, Interruption, Watch},
};
use tabellion_runtime::{Change, Content, Failure, FailureKind, StoreError};

const STEPS: [Checkpoint; 6] = [
    Checkpoint::Written,
    Checkpoint::Locked,
    Checkpoint::Swapped,
    Checkpoint::Indexed,
    Checkpoint::Committed,
    Checkpoint::Published,
];

/// A name, the change, the number of commits it makes, and a person's earlier action.
type Case = (&'static str, fn() -> Change, usize, fn(&Bench));

const CASES: [Case; 13] = [
    ("write", || change("notes/a.md", Some("new\n")), 1, |_| {}),
    ("delete", || change("notes/a.md", None), 1, |_| {}),
    (
        "delete the last of its folder",
        || change("notes/a.md", None),
        1,
        |bench| {
            bench.git(&["rm", "-q", "notes/b.md"]);
            bench.git(&["commit", "-q", "-m", "rm"]);
        },
    ),
    ("create", || change("x/y/z.md", Some("new\n")), 1, |_| {}),
    ("adopt", || change("notes/a.md", Some("new\n")), 2, |bench| bench.write("notes/a.md", "dirty\n")),
    ("write the same", || change("notes/a.md", Some("old a\n")), 1, |_| {}),
    ("two: write", || changes(&[("notes/a.md", Some("new\n")), ("plan.md", Some("new too\n"))]), 1, |_| {}),
    (
        "two: create in new folders",
        || changes(&[("x/y/z.md", Some("new\n")), ("x/z.md", Some("new too\n"))]),
        1,
        |_| {},
    ),
    ("two: rename", || changes(&[("notes/z.md", Some("old a\n")), ("notes/a.md", None)]), 1, |_| {}),
    ("two: delete all of a folder", || changes(&[("notes/a.md", None), ("notes/b.md", None)]), 1, |_| {}),
    (
        "two: adopt both",
        || changes(&[("notes/a.md", Some("new\n")), ("plan.md", None)]),
        2,
        |bench| {
            bench.write("notes/a.md", "dirty\n");
            bench.write("plan.md", "dirty too\n");
        },
    ),
    (
        "adopt a move from a folder that is gone",
        || change("notes/z.md", Some("new\n")).moved_from(Some("gone/z.md".into())),
        2,
        |bench| {
            bench.write("gone/z.md", "old z\n");
            bench.commit_all();
            fs::rename(bench.path("gone/z.md"), bench.path("notes/z.md")).unwrap();
            fs::remove_dir(bench.path("gone")).unwrap();
        },
    ),
    ("many: create, in a pack", many, 1, |_| {}),
];

/// A change whose objects are written as a pack.
fn many() -> Change {
    let paths = ["x/1.md", "x/2.md", "x/3/1.md", "x/3/2.md", "x/4/1.md"];
    changes(&paths.map(|path| (path, Some(path))))
}

fn stop_at(step: Checkpoint, how: fn() -> Interruption) -> Watch {
    Box::new(move |reached| if reached == step { Err(how()) } else { Ok(()) })
}

fn an_error() -> Interruption {
    Interruption::Failed(StoreError::Failure(Failure::new(FailureKind::Io, "no space left")))
}

#[track_caller]
fn assert_old_or_new(bench: &Bench, before: &Before, case: &Case, is_new: bool, shown: &str) {
    let (_, make_change, commits, _) = case;
    let change = make_change();
    let new = change.edits().iter().map(|edit| text(&edit.content)).collect();
    let found: Vec<_> = change.edits().iter().map(|edit| bench.read(&edit.path)).collect();
    assert_eq!(found, if is_new { new } else { before.contents.clone() }, "{shown}");
    let made = bench.git(&["rev-list", "--count", &format!("{}..HEAD", before.head)]);
    assert_eq!(made, if is_new { commits.to_string() } else { "0".into() }, "{shown}");
    assert_eq!(bench.status(), if is_new { "" } else { &before.status }, "{shown}");
    assert_eq!(bench.git(&["rev-parse", "HEAD@{0}"]), bench.head(), "{shown}: log of HEAD");
    let folders = bench.path("x").exists();
    assert_eq!(folders, is_new && change.edits()[0].path.starts_with("x/"), "{shown}: folders");
    bench.assert_sound();
}

fn text(content: &Content) -> Option<String> {
    content.bytes().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

struct Before {
    head: String,
    /// The documents of the change.
    contents: Vec<Option<String>>,
    status: String,
}

#[test]
fn each_step_can_be_the_last() {
    for case in &CASES {
        for step in STEPS {
            stop_and_check(Bench::new(), case, step, "error", an_error);
            stop_and_check(Bench::new(), case, step, "death", || Interruption::Killed);
        }
    }
}

#[test]
fn each_step_can_be_the_last_on_two_devices() {
    for case in &CASES {
        for step in STEPS {
            let Some(bench) = Bench::on_two_devices() else {
                return;
            };
            stop_and_check(bench, case, step, "death", || Interruption::Killed);
        }
    }
}

fn stop_and_check(bench: Bench, case: &Case, step: Checkpoint, how_shown: &str, how: fn() -> Interruption) {
    case.3(&bench);
    let change = case.1();
    let before = Before {
        head: bench.head(),
        contents: change.edits().iter().map(|edit| bench.read(&edit.path)).collect(),
        status: bench.status(),
    };
    let shown = format!("{} stopped at {step:?} by {how_shown}", case.0);

    let library = bench.watched(stop_at(step, how));
    let outcome = make(&library, &change);
    drop(library);

    let committed = matches!(step, Checkpoint::Committed | Checkpoint::Published);
    if how_shown == "death" {
        assert!(outcome.is_err(), "{shown}");
        let mut paths: Vec<_> = change.edits().iter().map(|edit| edit.path.clone()).collect();
        paths.extend_from_slice(change.moved());
        paths.sort();
        let forecast = if committed { Interrupted::Completes(paths) } else { Interrupted::Undoes(paths) };
        assert_eq!(interrupted(&bench), forecast, "{shown}");
        drop(bench.library());
        assert_eq!(interrupted(&bench), Interrupted::Nothing, "{shown}");
    } else {
        assert_eq!(outcome.is_ok(), committed, "{shown}: {outcome:?}");
    }
    assert_old_or_new(&bench, &before, case, committed, &shown);
    if !committed {
        make(&bench.library(), &change).expect(&shown);
        assert_old_or_new(&bench, &before, case, true, &format!("{shown}, then again"));
    }
}

fn interrupted(bench: &Bench) -> Interrupted {
    let library = Library::inspect(&bench.path("")).unwrap();
    library.interrupted().unwrap()
}

/// A person's edits between a crash and the next start, and the file's expected content.
#[test]
fn a_persons_changes_after_a_crash_stay() {
    use Checkpoint::{Committed, Swapped};
    type Deed = (&'static str, Checkpoint, &'static str, &'static str, fn(&Bench));
    const DEEDS: [Deed; 5] = [
        ("saves before the commit", Swapped, "mine\n", " M notes/a.md", |bench| {
            bench.write("notes/a.md", "mine\n")
        }),
        ("saves after the commit", Committed, "mine\n", " M notes/a.md", |bench| {
            bench.write("notes/a.md", "mine\n")
        }),
        ("removes the locks", Committed, "new\n", "", |bench| {
            std::fs::remove_file(bench.path(".git/index.lock")).unwrap();
        }),
        ("removes the locks and stages", Committed, "new\n", "M  plan.md", |bench| {
            std::fs::remove_file(bench.path(".git/index.lock")).unwrap();
            bench.write("plan.md", "staged\n");
            bench.git(&["add", "plan.md"]);
        }),
        ("removes the locks and commits", Swapped, "old a\n", "", |bench| {
            for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
                std::fs::remove_file(bench.path(&format!(".git/{lock}"))).unwrap();
            }
            bench.write("plan.md", "theirs\n");
            bench.git(&["commit", "-q", "-m", "theirs", "plan.md"]);
        }),
    ];
    for (shown, step, content, status, deed) in DEEDS {
        let bench = Bench::new();
        let library = bench.watched(stop_at(step, || Interruption::Killed));
        make(&library, &change("notes/a.md", Some("new\n"))).unwrap_err();
        drop(library);
        deed(&bench);
        drop(bench.library());
        assert_eq!(bench.read("notes/a.md").as_deref(), Some(content), "{shown}");
        assert_eq!(bench.status(), status, "{shown}");
        bench.assert_sound();
    }
}

/// Effects of a power failure before the answer, on a file system that does not keep the order of names.
#[test]
fn a_branch_without_its_objects_is_taken_back() {
    let one = || change("notes/new.md", Some("new\n"));
    type Loss = (fn() -> Bench, fn() -> Change, fn(&Bench));
    let losses: [Loss; 4] = [
        (Bench::unborn, one, lose_tree),
        (Bench::new, one, lose_tree),
        (Bench::new, many, |bench| lose_of_pack(bench, "idx")),
        (Bench::new, many, |bench| lose_of_pack(bench, "pack")),
    ];
    for (bench, change, lose) in losses {
        let bench = bench();
        let before = bench.try_git(&["rev-parse", "--verify", "HEAD"]);
        let library = bench.watched(stop_at(Checkpoint::Committed, || Interruption::Killed));
        make(&library, &change()).unwrap_err();
        drop(library);
        lose(&bench);

        drop(bench.library());

        assert_eq!(bench.try_git(&["rev-parse", "--verify", "HEAD"]), before);
        for edit in change().edits() {
            assert_eq!(bench.read(&edit.path), None);
        }
        let alone = |name: &String| name.ends_with(".pack");
        assert!(!packs(&bench).iter().any(alone), "a pack without its index");
        make(&bench.library(), &change()).unwrap();
        assert_eq!(bench.status(), "");
        bench.assert_sound();
    }
}

fn lose_tree(bench: &Bench) {
    let tree = bench.git(&["rev-parse", "HEAD:notes"]);
    std::fs::remove_file(bench.path(&format!(".git/objects/{}/{}", &tree[..2], &tree[2..]))).unwrap();
}

fn lose_of_pack(bench: &Bench, extension: &str) {
    let names = packs(bench);
    let lost = names.iter().find(|name| name.ends_with(extension)).unwrap();
    std::fs::remove_file(bench.path(".git/objects/pack").join(lost)).unwrap();
}

/// Returns the names of the files of packs.
fn packs(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path(".git/objects/pack")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_index_that_lost_its_bytes_is_made_from_the_one_before() {
    let bench = Bench::new();
    bench.write("plan.md", "staged\n");
    bench.git(&["add", "plan.md"]);
    let library = bench.watched(stop_at(Checkpoint::Published, || Interruption::Killed));
    make(&library, &change("notes/a.md", Some("new\n"))).unwrap_err();
    drop(library);
    std::fs::write(bench.path(".git/index"), "").unwrap();
    drop(bench.library());
    assert_eq!(bench.status(), "M  plan.md");
    bench.assert_sound();
}

/// A program that has the old file open writes to it after the exchange. Equal bytes are kept once.
#[test]
fn a_save_that_comes_too_late_is_kept() {
    let benches = [
        (Some(Bench::new()), ".git/tabellion/content-0", ".git/tabellion"),
        (Bench::on_two_devices(), "notes/.tabellion-content-0", "notes"),
    ];
    for (bench, aside, kept_in) in benches {
        let Some(bench) = bench else { continue };
        for content in ["new\n", "newer\n"] {
            let aside = bench.path(aside);
            let library = bench.watched(Box::new(move |step| {
                if step == Checkpoint::Committed {
                    // Not the leased file, which is protected, but a different file in its place.
                    let other = aside.with_extension("other");
                    std::fs::write(&other, "late\n").unwrap();
                    std::fs::rename(other, &aside).unwrap();
                }
                Ok(())
            }));
            make(&library, &change("notes/a.md", Some(content))).unwrap();
            assert_eq!(bench.read("notes/a.md").as_deref(), Some(content), "{kept_in}");
        }
        let entries = std::fs::read_dir(bench.path(kept_in)).unwrap();
        let late: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().contains("late-"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        assert_eq!(late, ["late\n"], "{kept_in}");
        let others = bench.leftovers().into_iter().filter(|name| !name.contains("late-"));
        assert_eq!(others.count(), 0, "{kept_in}");
    }
}
