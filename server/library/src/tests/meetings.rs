//! Two machines that changed a library independently, and meet in the remote.

#[cfg(unix)]
use std::fs;

use super::{
    remotes::{open, tip},
    support::{Bench, change, changes, make, make_with},
};
use crate::{Acknowledge, Library, RemoteStatus};

/// The files of a library that are checked, `None` if absent.
type Files = &'static [(&'static str, Option<&'static str>)];

/// Two deeds before the machines meet, and the files and the number of conflicts that both have then.
struct Meeting {
    name: &'static str,
    first: Deed,
    second: Deed,
    files: Files,
    conflicts: usize,
}

/// An action of a machine's person or agent on her clone.
type Deed = Box<dyn Fn(&Bench, &Library)>;

fn meet(
    name: &'static str,
    first: impl Fn(&Bench, &Library) + 'static,
    second: impl Fn(&Bench, &Library) + 'static,
) -> Meeting {
    Meeting { name, first: Box::new(first), second: Box::new(second), files: &[], conflicts: 0 }
}

impl Meeting {
    fn leaves(self, files: Files) -> Self {
        Self { files, ..self }
    }

    fn leaves_conflicts(self, conflicts: usize, files: Files) -> Self {
        Self { conflicts, ..self.leaves(files) }
    }
}

fn nothing(_: &Bench, _: &Library) {}

fn write(path: &'static str, content: &'static str) -> impl Fn(&Bench, &Library) {
    move |_, library| drop(make(library, &change(path, Some(content))).unwrap())
}

fn remove(path: &'static str) -> impl Fn(&Bench, &Library) {
    move |_, library| drop(make(library, &change(path, None)).unwrap())
}

/// Saves a file without a commit.
fn save(path: &'static str, content: &'static str) -> impl Fn(&Bench, &Library) {
    move |bench, _| bench.write(path, content)
}

fn rename(bench: &Bench, _: &Library) {
    bench.git(&["mv", "notes/a.md", "moved.md"]);
    bench.git(&["commit", "-qm", "mv"]);
}

/// Makes a change in the way of a decision: with details.
fn decide(documents: Files) -> impl Fn(&Bench, &Library) {
    move |_, library| {
        let details = serde_json::Map::from_iter([("decision".to_owned(), "x".into())]);
        make_with(library, &changes(documents), &details).unwrap();
    }
}

#[test]
fn machines_meet_in_the_remote() {
    const NOTE: &str = "# Note\n\n## One\n\none\n\n## Two\n\ntwo\n";
    const OPEN: &str = "---\nworkflow: a_review\nstate: open\nhistory:\n  - to: open\n    at: 1\n---\n";
    const APPROVED: &str = "---\nworkflow: a_review\nstate: approved\nhistory:\n  - to: open\n    at: 1\n  - to: approved\n    at: 2\n---\n";
    const APPROVED_LATER: &str = "---\nworkflow: a_review\nstate: approved\nhistory:\n  - to: open\n    at: 1\n  - to: approved\n    at: 3\n---\n";
    let meetings = [
        meet("one side alone", write("plan.md", "a\n"), nothing).leaves(&[("plan.md", Some("a\n"))]),
        meet("a new folder", write("x/y/z.md", "a\n"), nothing).leaves(&[("x/y/z.md", Some("a\n"))]),
        meet("different files", write("plan.md", "a\n"), write("notes/a.md", "b\n"))
            .leaves(&[("plan.md", Some("a\n")), ("notes/a.md", Some("b\n"))]),
        meet(
            "different sections",
            write("note.md", "# Note\n\n## One\n\nONE\n\n## Two\n\ntwo\n"),
            write("note.md", "# Note\n\n## One\n\none\n\n## Two\n\nTWO\n"),
        )
        .leaves(&[("note.md", Some("# Note\n\n## One\n\nONE\n\n## Two\n\nTWO\n"))]),
        meet("items of one list", write("plan.md", "old plan\n- a\n"), write("plan.md", "old plan\n- b\n"))
            .leaves(&[("plan.md", Some("old plan\n- a\n- b\n"))]),
        meet("the same line", write("plan.md", "plan a\n"), write("plan.md", "plan b\n"))
            .leaves_conflicts(1, &[("plan.md", Some("plan a\n"))]),
        meet("the same new file", write("new.md", "a\n"), write("new.md", "b\n"))
            .leaves_conflicts(1, &[("new.md", Some("a\n"))]),
        meet("a file that is no document", write("c.ini", "a\n"), write("c.ini", "b\n"))
            .leaves_conflicts(1, &[("c.ini", Some("a\n"))]),
        meet("removed and changed", remove("notes/a.md"), write("notes/a.md", "b\n"))
            .leaves(&[("notes/a.md", Some("b\n"))]),
        meet("changed and removed", write("notes/a.md", "a\n"), remove("notes/a.md"))
            .leaves(&[("notes/a.md", Some("a\n"))]),
        meet("renamed and changed", rename, write("notes/a.md", "b\n"))
            .leaves(&[("notes/a.md", None), ("moved.md", Some("b\n"))]),
        meet("changed and renamed", write("notes/a.md", "a\n"), rename)
            .leaves(&[("notes/a.md", None), ("moved.md", Some("a\n"))]),
        meet(
            "a save that is not committed, elsewhere",
            write("plan.md", "a\n"),
            save("notes/b.md", "mine\n"),
        )
        .leaves(&[("plan.md", Some("a\n"))]),
        meet(
            "a save that is not committed, in the way",
            write("plan.md", "old plan\n- a\n"),
            save("plan.md", "old plan\n- mine\n"),
        )
        .leaves(&[("plan.md", Some("old plan\n- a\n- mine\n"))]),
        meet("an untracked file, in the way", write("new.md", "a\n"), save("new.md", "mine\n"))
            .leaves_conflicts(1, &[("new.md", Some("a\n"))]),
        meet("the same save on both", write("plan.md", "same\n"), save("plan.md", "same\n"))
            .leaves(&[("plan.md", Some("same\n"))]),
        meet(
            "files that are no documents",
            |b, _| {
                b.write("image.png", "a\u{0}b");
                b.write("run.sh", "#!/bin/sh\n");
                #[cfg(unix)]
                fs::set_permissions(b.path("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
                    .unwrap();
                b.write(".obsidian/app.json", "{}\n");
                b.commit_all();
            },
            write("plan.md", "b\n"),
        )
        .leaves(&[
            ("image.png", Some("a\u{0}b")),
            (".obsidian/app.json", Some("{}\n")),
            ("plan.md", Some("b\n")),
        ]),
        meet(
            "a folder emptied",
            |b, _| drop(b.git(&["rm", "-qr", "notes"]) + &b.git(&["commit", "-qm", "rm"])),
            nothing,
        )
        .leaves(&[("notes/a.md", None), ("notes", None)]),
        meet(
            "a decision that comes second is taken back as a whole",
            decide(&[("plan.md", Some("no\n"))]),
            decide(&[("plan.md", Some("yes\n")), ("notes/a.md", Some("b\n")), ("new.md", Some("b\n"))]),
        )
        .leaves_conflicts(3, &[("plan.md", Some("no\n")), ("notes/a.md", Some("old a\n")), ("new.md", None)]),
        meet(
            "both decided alike",
            decide(&[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("new\n"))]),
            decide(&[("plan.md", Some("yes, b\n")), ("notes/a.md", Some("new\n"))]),
        )
        .leaves_conflicts(1, &[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("new\n"))]),
        meet(
            "both approved, and the history would merge",
            decide(&[("workflow.md", Some(APPROVED)), ("notes/a.md", Some("a\n"))]),
            decide(&[("workflow.md", Some(APPROVED_LATER)), ("notes/a.md", Some("a\n"))]),
        )
        .leaves_conflicts(1, &[("workflow.md", Some(APPROVED)), ("notes/a.md", Some("a\n"))]),
        meet(
            "both decided, of other parts",
            decide(&[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("old a\n- a\n"))]),
            decide(&[("plan.md", Some("yes, b\n")), ("notes/a.md", Some("old a\n- b\n"))]),
        )
        .leaves_conflicts(2, &[("plan.md", Some("yes, a\n")), ("notes/a.md", Some("old a\n- a\n"))]),
        meet(
            "a decision that comes second removed a note",
            decide(&[("plan.md", Some("no\n"))]),
            decide(&[("plan.md", Some("yes\n")), ("notes/a.md", None)]),
        )
        .leaves_conflicts(1, &[("plan.md", Some("no\n")), ("notes/a.md", Some("old a\n"))]),
        meet("two decisions, one after the other", decide(&[("plan.md", Some("no\n"))]), |b, l| {
            decide(&[("new.md", Some("yes\n")), ("notes/a.md", Some("b\n"))])(b, l);
            decide(&[("plan.md", Some("yes\n")), ("notes/a.md", Some("c\n"))])(b, l);
        })
        .leaves_conflicts(3, &[("plan.md", Some("no\n")), ("notes/a.md", Some("old a\n")), ("new.md", None)]),
        meet("a decision whose note was edited since", decide(&[("plan.md", Some("no\n"))]), |b, l| {
            decide(&[("plan.md", Some("yes\n")), ("notes/a.md", Some("b\n"))])(b, l);
            write("notes/a.md", "b\nmine\n")(b, l);
        })
        .leaves_conflicts(1, &[("plan.md", Some("no\n")), ("notes/a.md", Some("b\nmine\n"))]),
        meet("a change of several documents without details", write("plan.md", "a\n"), |_, l| {
            drop(make(l, &changes(&[("plan.md", Some("b\n")), ("notes/a.md", Some("b\n"))])).unwrap())
        })
        .leaves_conflicts(1, &[("plan.md", Some("a\n")), ("notes/a.md", Some("b\n"))]),
    ];
    for Meeting { name, first, second, files, conflicts } in meetings {
        let ([a, b], shared) = Bench::shared();
        let [here, there] = [&a, &b].map(|bench| open(bench, shared.path(), Acknowledge::Local));
        make(
            &here,
            &changes(&[("note.md", Some(NOTE)), ("workflow.md", Some(OPEN)), ("c.ini", Some("c\n"))]),
        )
        .unwrap();
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
        let [one, other] = [&here, &there].map(|library| library.activity(50).unwrap());
        assert_eq!(one, other, "{name}");
        assert!(one.iter().all(|entry| entry.tool == "a_tool"), "{name}");
    }
}
