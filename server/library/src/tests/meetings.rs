//! Two machines that changed a library independently, and meet in the remote.

#[cfg(unix)]
use std::fs;

use super::{
    remotes::{open, tip},
    support::{Bench, change, changes, make, make_with},
};
use crate::{Acknowledge, Library, RemoteStatus};

/// An action of a machine's person or agent on her clone, before the machines meet.
type Deed = fn(&Bench, &Library);

fn write(path: &'static str, content: &'static str) -> impl Fn(&Bench, &Library) {
    move |_, library| drop(make(library, &change(path, Some(content))).unwrap())
}

/// Makes a change in the way of a decision: with details.
fn decide(library: &Library, documents: &[(&str, Option<&str>)]) {
    let details = serde_json::Map::from_iter([("decision".to_owned(), "x".into())]);
    make_with(library, &changes(documents), &details).unwrap();
}

#[test]
fn machines_meet_in_the_remote() {
    const NOTE: &str = "# Note\n\n## One\n\none\n\n## Two\n\ntwo\n";
    /// A name, deeds of both machines, the files that both have then (`None` if absent), and the number of conflicts.
    type Case = (&'static str, Deed, Deed, &'static [(&'static str, Option<&'static str>)], usize);
    let cases: [Case; 24] = [
        ("one side alone", |b, l| write("plan.md", "a\n")(b, l), |_, _| {}, &[("plan.md", Some("a\n"))], 0),
        ("a new folder", |b, l| write("x/y/z.md", "a\n")(b, l), |_, _| {}, &[("x/y/z.md", Some("a\n"))], 0),
        (
            "different files",
            |b, l| write("plan.md", "a\n")(b, l),
            |b, l| write("notes/a.md", "b\n")(b, l),
            &[("plan.md", Some("a\n")), ("notes/a.md", Some("b\n"))],
            0,
        ),
        (
            "different sections",
            |b, l| write("note.md", "# Note\n\n## One\n\nONE\n\n## Two\n\ntwo\n")(b, l),
            |b, l| write("note.md", "# Note\n\n## One\n\none\n\n## Two\n\nTWO\n")(b, l),
            &[("note.md", Some("# Note\n\n## One\n\nONE\n\n## Two\n\nTWO\n"))],
            0,
        ),
        (
            "items of one list",
            |b, l| write("plan.md", "old plan\n- a\n")(b, l),
            |b, l| write("plan.md", "old plan\n- b\n")(b, l),
            &[("plan.md", Some("old plan\n- a\n- b\n"))],
            0,
        ),
        (
            "the same line",
            |b, l| write("plan.md", "plan a\n")(b, l),
            |b, l| write("plan.md", "plan b\n")(b, l),
            &[("plan.md", Some("plan a\n"))],
            1,
        ),
        (
            "the same new file",
            |b, l| write("new.md", "a\n")(b, l),
            |b, l| write("new.md", "b\n")(b, l),
            &[("new.md", Some("a\n"))],
            1,
        ),
        (
            "removed and changed",
            |_, l| drop(make(l, &change("notes/a.md", None)).unwrap()),
            |b, l| write("notes/a.md", "b\n")(b, l),
            &[("notes/a.md", Some("b\n"))],
            0,
        ),
        (
            "changed and removed",
            |b, l| write("notes/a.md", "a\n")(b, l),
            |_, l| drop(make(l, &change("notes/a.md", None)).unwrap()),
            &[("notes/a.md", Some("a\n"))],
            0,
        ),
        (
            "renamed and changed",
            |b, _| drop(b.git(&["mv", "notes/a.md", "moved.md"]) + &b.git(&["commit", "-qm", "mv"])),
            |b, l| write("notes/a.md", "b\n")(b, l),
            &[("notes/a.md", None), ("moved.md", Some("b\n"))],
            0,
        ),
        (
            "changed and renamed",
            |b, l| write("notes/a.md", "a\n")(b, l),
            |b, _| drop(b.git(&["mv", "notes/a.md", "moved.md"]) + &b.git(&["commit", "-qm", "mv"])),
            &[("notes/a.md", None), ("moved.md", Some("a\n"))],
            0,
        ),
        (
            "a save that is not committed, elsewhere",
            |b, l| write("plan.md", "a\n")(b, l),
            |b, _| b.write("notes/b.md", "mine\n"),
            &[("plan.md", Some("a\n"))],
            0,
        ),
        (
            "a save that is not committed, in the way",
            |b, l| write("plan.md", "old plan\n- a\n")(b, l),
            |b, _| b.write("plan.md", "old plan\n- mine\n"),
            &[("plan.md", Some("old plan\n- a\n- mine\n"))],
            0,
        ),
        (
            "an untracked file, in the way",
            |b, l| write("new.md", "a\n")(b, l),
            |b, _| b.write("new.md", "mine\n"),
            &[("new.md", Some("a\n"))],
            1,
        ),
        (
            "the same save on both",
            |b, l| write("plan.md", "same\n")(b, l),
            |b, _| b.write("plan.md", "same\n"),
            &[("plan.md", Some("same\n"))],
            0,
        ),
        (
            "files that are no documents",
            |b, _| {
                b.write("image.png", "a\u{0}b");
                b.write("run.sh", "#!/bin/sh\n");
                #[cfg(unix)]
                fs::set_permissions(b.path("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
                    .unwrap();
                b.write(".obsidian/app.json", "{}\n");
                b.git(&["add", "-A"]);
                b.git(&["commit", "-qm", "files"]);
            },
            |b, l| write("plan.md", "b\n")(b, l),
            &[("image.png", Some("a\u{0}b")), (".obsidian/app.json", Some("{}\n")), ("plan.md", Some("b\n"))],
            0,
        ),
        (
            "a folder emptied",
            |b, _| drop(b.git(&["rm", "-qr", "notes"]) + &b.git(&["commit", "-qm", "rm"])),
            |_, _| {},
            &[("notes/a.md", None), ("notes", None)],
            0,
        ),
        (
            "a decision that comes second is taken back as a whole",
            |_, l| decide(l, &[("plan.md", Some("no\n"))]),
            |_, l| {
                decide(l, &[("plan.md", Some("yes\n")), ("notes/a.md", Some("b\n")), ("new.md", Some("b\n"))])
            },
            &[("plan.md", Some("no\n")), ("notes/a.md", Some("old a\n")), ("new.md", None)],
            3,
        ),
        (
            "both decided alike",
            |_, l| decide(l, &[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("new\n"))]),
            |_, l| decide(l, &[("plan.md", Some("yes, b\n")), ("notes/a.md", Some("new\n"))]),
            &[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("new\n"))],
            1,
        ),
        (
            "both decided, of other parts",
            |_, l| decide(l, &[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("old a\n- a\n"))]),
            |_, l| decide(l, &[("plan.md", Some("yes, b\n")), ("notes/a.md", Some("old a\n- b\n"))]),
            &[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("old a\n- a\n"))],
            2,
        ),
        (
            "a decision that comes second removed a note",
            |_, l| decide(l, &[("plan.md", Some("no\n"))]),
            |_, l| decide(l, &[("plan.md", Some("yes\n")), ("notes/a.md", None)]),
            &[("plan.md", Some("no\n")), ("notes/a.md", Some("old a\n"))],
            1,
        ),
        (
            "two decisions, one after the other",
            |_, l| decide(l, &[("plan.md", Some("no\n"))]),
            |_, l| {
                decide(l, &[("new.md", Some("yes\n")), ("notes/a.md", Some("b\n"))]);
                decide(l, &[("plan.md", Some("yes\n")), ("notes/a.md", Some("c\n"))]);
            },
            &[("plan.md", Some("no\n")), ("notes/a.md", Some("old a\n")), ("new.md", None)],
            3,
        ),
        (
            "a decision whose note was edited since",
            |_, l| decide(l, &[("plan.md", Some("no\n"))]),
            |b, l| {
                decide(l, &[("plan.md", Some("yes\n")), ("notes/a.md", Some("b\n"))]);
                write("notes/a.md", "b\nmine\n")(b, l);
            },
            &[("plan.md", Some("no\n")), ("notes/a.md", Some("b\nmine\n"))],
            1,
        ),
        (
            "a change of several documents without details",
            |b, l| write("plan.md", "a\n")(b, l),
            |_, l| drop(make(l, &changes(&[("plan.md", Some("b\n")), ("notes/a.md", Some("b\n"))])).unwrap()),
            &[("plan.md", Some("a\n")), ("notes/a.md", Some("b\n"))],
            1,
        ),
    ];
    for (name, first, second, files, conflicts) in cases {
        let ([a, b], shared) = Bench::shared();
        let [here, there] = [&a, &b].map(|bench| open(bench, shared.path(), Acknowledge::Local));
        make(&here, &change("note.md", Some(NOTE))).unwrap();
        here.sync(false).unwrap();
        there.sync(false).unwrap();
        first(&a, &here);
        second(&b, &there);
        let mine = b.read("notes/b.md");
        here.sync(false).unwrap();
        there.sync(false).unwrap_or_else(|error| panic!("{name}: {error}"));
        here.sync(false).unwrap();
        for bench in [&a, &b] {
            for (path, content) in files {
                assert_eq!(bench.read(path).as_deref(), *content, "{name}: {path}");
                assert_eq!(bench.path(path).exists(), content.is_some(), "{name}: {path}");
            }
            bench.assert_sound();
            assert_eq!(bench.head(), tip(shared.path()), "{name}");
        }
        assert_eq!(a.status(), "", "{name}");
        assert_eq!(b.status().is_empty(), !name.contains("elsewhere"), "{name}: {}", b.status());
        assert_eq!(b.read("notes/b.md"), mine.filter(|_| !name.contains("emptied")), "{name}");
        for library in [&here, &there] {
            let found = library.conflicts().unwrap();
            assert_eq!(found.len(), conflicts, "{name}: {found:?}");
            assert_eq!(library.remote_state().unwrap().status, RemoteStatus::Published, "{name}");
        }
        // Each side's entries are in the other's log, and no merge is one.
        let [one, other] = [&here, &there].map(|library| library.activity(50).unwrap().entries);
        assert_eq!(one, other, "{name}");
        assert!(one.iter().all(|entry| entry.tool == "a_tool"), "{name}");
    }
}
