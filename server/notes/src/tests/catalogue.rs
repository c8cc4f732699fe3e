//! The catalogue, compared with the files.

use std::{fs, thread, time::Duration};

use chrono::DateTime;
use proptest::{collection::vec, prelude::*};
use uuid::Uuid;

use super::folder::{Folder, Follower};
use crate::{Catalogue, Problem, Selection, derived_id};

const ID: &str = "5b0d6c1e-0c8f-4f0a-8a43-1b1f6e0e5a77";
const NAMED: &str = "notes/plan-5b0d6c1e.md";

fn id() -> Uuid {
    Uuid::try_parse(ID).unwrap()
}

fn claims(text: &str) -> String {
    format!("---\nid: {ID}\n---\n{text}")
}

#[test]
fn hand_edits_are_seen_at_the_next_call() {
    let folder = Folder::with_files(&[
        ("a.md", "# one"),
        ("sub/b.md", "# two"),
        ("workflows/w.md", "waits"),
        ("c.txt", "no note"),
    ]);
    let titles =
        || folder.list(&Selection::default()).into_iter().map(|entry| entry.title).collect::<Vec<_>>();
    let mut sorted = titles();
    sorted.sort();
    assert_eq!(sorted, ["one", "two"]);
    // The new text has the same length, and may be written within the resolution of the clock.
    folder.write("a.md", "# new");
    let followed = folder.follow();
    assert!(titles().contains(&"new".into()));
    fs::remove_file(folder.path("a.md")).unwrap();
    fs::rename(folder.path("sub"), folder.path("other")).unwrap();
    assert!(folder.follow().sequence > followed.sequence);
    assert_eq!(folder.paths(&Selection::default()), ["other/b.md"]);
}

#[test]
fn nothing_is_read_again_once_its_time_is_over() {
    let folder = Folder::with_files(&[("a.md", "one"), ("b.md", "two")]);
    thread::sleep(Duration::from_millis(100));
    let sequence = folder.follow().sequence;
    let again = folder.follow();
    assert_eq!((again.read, again.sequence), (0, sequence));
    let other = Catalogue::open(&folder.beside("notes.db"), |_, _| None).unwrap();
    assert_eq!(
        other.follow(&folder.library).unwrap().read,
        0,
        "another process knows what this one has read"
    );
}

#[test]
fn filters_and_order() {
    let note = |kind: &str, tags: &str, time: &str| {
        format!("---\ntype: {kind}\ntags: [{tags}]\ncreated_at: {time}\n---\nText")
    };
    let folder = Folder::with_files(&[
        ("1.md", &note("permanent", "a, b", "2026-01-03")),
        ("2.md", &note("permanent", "a", "2026-01-01")),
        ("3.md", &note("fleeting", "b", "2026-01-02")),
    ]);
    let time = |seconds: f64| DateTime::from_timestamp_millis((seconds * 1000.0) as i64);
    let day = |day: f64| time(1_767_225_600.0 + (day - 1.0) * 86_400.0);
    let all = Selection::default;
    for (selection, paths) in [
        (all(), &["2.md", "3.md", "1.md"][..]),
        (Selection { note_type: Some("permanent".into()), ..all() }, &["2.md", "1.md"]),
        (Selection { tags: vec!["a".into(), "b".into()], ..all() }, &["1.md"]),
        (Selection { created_after: day(2.0), ..all() }, &["3.md", "1.md"]),
        (Selection { created_after: day(2.000_01), ..all() }, &["1.md"]),
        (Selection { created_before: day(2.0), ..all() }, &["2.md"]),
        (Selection { created_before: day(2.000_01), ..all() }, &["2.md", "3.md"]),
        (Selection { ids: Some(vec![derived_id("3.md"), id()]), ..all() }, &["3.md"]),
        (Selection { ids: Some(vec![]), ..all() }, &[]),
    ] {
        assert_eq!(folder.paths(&selection), paths, "{selection:?}");
        let count = folder.catalogue.read(|notes| notes.count(&selection)).unwrap();
        assert_eq!(count, paths.len());
    }
    let entries = folder.list(&all());
    let rest = folder.catalogue.read(|notes| notes.list(&all(), Some(entries[0].place()), 1)).unwrap();
    assert_eq!(rest, entries[1..2]);
    assert_eq!(folder.catalogue.read(|notes| notes.tags()).unwrap(), [("a".into(), 2), ("b".into(), 2)]);
    let folder = Folder::with_files(&[
        ("1.md", "---\nTags: [KEPT, kept]\n---\n#\u{fc}ber"),
        ("2.md", "x #kept #U\u{308}ber\n"),
        ("3.md", "---\ntags: kept\n---\n#u\u{308}ber"),
        ("secret.md", "---\nsensitive: true\ntitle: Q6: plan\n---\n"),
    ]);
    let tags = folder.catalogue.read(|notes| notes.tags()).unwrap();
    assert_eq!(tags, [("U\u{308}ber".into(), 3), ("kept".into(), 3)], "as spelled most often, then first");
    let listed = folder.list(&Selection::default());
    let tags = |path: &str| &listed.iter().find(|entry| entry.path == path).unwrap().metadata.tags;
    assert_eq!(tags("1.md"), &["KEPT", "\u{fc}ber"]);
    assert_eq!(tags("2.md"), &["kept", "U\u{308}ber"]);
    let sensitive: Vec<_> = listed.iter().filter(|entry| entry.metadata.sensitive).collect();
    assert_eq!(sensitive.iter().map(|entry| &entry.path).collect::<Vec<_>>(), ["secret.md"]);
}

#[test]
fn one_file_keeps_an_id_that_several_say() {
    for (files, kept, others) in [
        (vec![(NAMED, ""), ("a.md", "x")], NAMED, vec!["a.md"]),
        (vec![("long/path.md", ""), ("b.md", ""), ("a.md", "")], "a.md", vec!["b.md", "long/path.md"]),
    ] {
        let folder = Folder::new();
        for (path, text) in files {
            folder.write(path, claims(text));
            folder.follow();
        }
        let held = || folder.catalogue.read(|notes| notes.get(id())).unwrap().map(|entry| entry.path);
        assert_eq!(held().as_deref(), Some(kept));
        let problems = crate::problems(&folder.library).unwrap();
        assert_eq!(problems.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), others);
        let said = problems[0].1[0].to_string();
        assert_eq!(
            said,
            format!(
                "the id {ID} is that of `{kept}`; remove the line `id` here, if this is a note of its own"
            )
        );
        let copy = folder.catalogue.read(|notes| notes.entry_at(others[0])).unwrap().unwrap();
        assert_eq!(copy.id, derived_id(others[0]));
        fs::remove_file(folder.path(kept)).unwrap();
        folder.follow();
        assert_eq!(held().as_deref(), Some(others[0]));
    }
    // The id of `a.md`, until a tool wrote it into the file, which was moved afterwards.
    let folder = Folder::with_files(&[
        ("b.md", &claims("").replace(ID, &derived_id("a.md").to_string())),
        ("a.md", "new"),
    ]);
    let ids: Vec<_> =
        folder.list(&Selection::default()).into_iter().map(|entry| (entry.path, entry.id)).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&("b.md".into(), derived_id("a.md"))));
}

#[test]
fn links_that_lead_to_no_note_are_problems() {
    let link = |path: &str| format!("{{to: {}, relation: cites}}", derived_id(path));
    let links = format!("---\nlinks: [{}, {}]\n---\n", link("b.md"), link("gone.md"));
    let folder = Folder::with_files(&[("a.md", &links), ("b.md", "")]);
    let problem = Problem::Link { to: derived_id("gone.md") };
    assert_eq!(crate::problems(&folder.library).unwrap(), [("a.md".to_owned(), vec![problem])]);
}

#[test]
fn links_are_seen_from_both_ends() {
    let link = |to: &str| {
        format!("---\nlinks:\n  - {{to: {to}, relation: supports}}\n  - {{to: {ID}, relation: cites}}\n---\n")
    };
    let nowhere = Uuid::from_u128(1).to_string();
    let folder = Folder::with_files(&[(NAMED, &claims("")), ("a.md", &link(&nowhere)), ("b.md", &link(ID))]);
    let links = folder.catalogue.read(|notes| notes.links_to(id())).unwrap();
    let mut seen: Vec<_> = links.iter().map(|found| (found.source, found.link.relation.as_str())).collect();
    seen.sort();
    let (a, b) = (derived_id("a.md"), derived_id("b.md"));
    let mut expected = vec![(a, "cites"), (b, "cites"), (b, "supports")];
    expected.sort();
    assert_eq!(seen, expected);
    assert_eq!(links.iter().map(|found| found.id).collect::<std::collections::BTreeSet<_>>().len(), 3);
    let from =
        folder.catalogue.read(|notes| Ok(notes.links_from(&notes.entry_at("a.md")?.unwrap()))).unwrap();
    assert_eq!(from[0].link.to.to_string(), nowhere);
}

#[test]
fn a_damaged_catalogue_is_filled_again() {
    let folder = Folder::with_files(&[("a.md", "one")]);
    let file = folder.beside("notes.db");
    for damage in [&b"not SQLite"[..], b""] {
        drop(Catalogue::open(&file, |_, _| None).unwrap());
        fs::write(&file, damage).unwrap();
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(folder.beside(&format!("notes.db{suffix}")));
        }
        let opened = Catalogue::open(&file, |_, _| None).unwrap();
        opened.follow(&folder.library).unwrap();
        assert_eq!(opened.read(|notes| notes.count(&Selection::default())).unwrap(), 1);
    }
    // Damage while it is open: a table is missing.
    let opened = Catalogue::open(&file, |_, _| None).unwrap();
    opened.follow(&folder.library).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch("DROP TABLE file").unwrap();
    folder.write("b.md", "two");
    opened.follow(&folder.library).unwrap();
    assert_eq!(opened.read(|notes| notes.count(&Selection::default())).unwrap(), 2);
}

#[test]
fn a_file_that_can_not_be_read_is_said_and_is_no_note() {
    let folder = Folder::with_files(&[("a.md", "one")]);
    let file = fs::File::create(folder.path("large.md")).unwrap();
    file.set_len(tabellion_library::root::MAX_FILE_BYTES + 1).unwrap();
    let followed = folder.follow();
    assert_eq!(followed.unreadable.len(), 1);
    assert_eq!(followed.unreadable[0].0, "large.md");
    assert_eq!(folder.paths(&Selection::default()), ["a.md"]);
}

#[test]
fn another_machines_version_of_a_note_is_no_second_note() {
    let note = format!("---\nid: {ID}\n---\ntext\n");
    let files = ["a.md", "a.conflict-1a2b3c4d.md", "workflows/w.conflict-1a2b3c4d.md"];
    let folder = Folder::with_files(&files.map(|path| (path, note.as_str())));
    assert_eq!(folder.paths(&Selection::default()), ["a.md"]);
    fs::rename(folder.path("a.conflict-1a2b3c4d.md"), folder.path("a.md")).unwrap();
    folder.follow();
    assert_eq!(folder.paths(&Selection::default()), ["a.md"]);
}

/// An action of a person or tool on the files.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, String),
    Remove(usize),
    Rename(usize, usize),
    Copy(usize, usize),
    Follow,
}

const PATHS: [&str; 6] = ["a.md", "b.md", NAMED, "sub/c.md", "sub/a.md", "workflows/w.md"];

fn text() -> impl Strategy<Value = String> {
    let ids =
        [ID.to_owned(), derived_id("a.md").to_string(), crate::identity::alternate_id("a.md", 1).to_string()];
    let front = prop_oneof![
        2 => Just(String::new()),
        4 => (prop::sample::select(ids.to_vec()), "[ab]", prop::option::of(1..4_u32)).prop_map(|(id, tag, day)| {
            let day = day.map(|day| format!("created_at: 2026-01-0{day}\n")).unwrap_or_default();
            format!("---\nid: {id}\ntags: [{tag}]\n{day}links: [{{to: {ID}, relation: r}}]\n---\n")
        }),
        1 => Just("---\nbroken: [\n---\n".to_owned()),
    ];
    (front, vec(prop_oneof![Just("# Head\n"), Just("text\n"), Just("## Sub\nmore\n")], 0..4))
        .prop_map(|(front, parts)| front + &parts.concat())
}

fn step() -> impl Strategy<Value = Step> {
    let path = 0..PATHS.len();
    prop_oneof![
        4 => (path.clone(), text()).prop_map(|(path, text)| Step::Write(path, text)),
        1 => path.clone().prop_map(Step::Remove),
        1 => (path.clone(), path.clone()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (path.clone(), path).prop_map(|(from, to)| Step::Copy(from, to)),
        3 => Just(Step::Follow),
    ]
}

/// Returns all content of a catalogue, except for its internal numbers.
fn dump(catalogue: &Catalogue) -> String {
    let dumped = catalogue.read(|notes| {
        let entries = notes.list(&Selection::default(), None, usize::MAX)?;
        let mut lines = vec![];
        for entry in &entries {
            let fields =
                (entry.id, &entry.path, &entry.title, &entry.metadata, entry.created_at, entry.modified_at);
            lines.push(format!("{fields:?} {:?} {:?}", notes.links_to(entry.id)?, notes.bytes(entry)?));
        }
        lines.push(format!("{:?}", notes.tags()?));
        Ok(lines.join("\n"))
    });
    dumped.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_catalogue_that_followed_changes_equals_one_made_anew(steps in vec(step(), 1..24)) {
        let folder = Folder::new();
        fs::create_dir_all(folder.path("sub")).unwrap();
        fs::create_dir_all(folder.path("notes")).unwrap();
        fs::create_dir_all(folder.path("workflows")).unwrap();
        let mut follower = Follower::default();
        for (number, step) in steps.iter().chain([&Step::Follow]).enumerate() {
            let path = |path: &usize| folder.path(PATHS[*path]);
            // Impossible steps are skipped.
            match step {
                Step::Write(to, text) => fs::write(path(to), text).unwrap(),
                Step::Remove(at) => drop(fs::remove_file(path(at))),
                Step::Rename(from, to) => drop(fs::rename(path(from), path(to))),
                Step::Copy(from, to) if from != to => drop(fs::copy(path(from), path(to))),
                Step::Copy(..) => {}
                Step::Follow => {
                    let followed = folder.follow();
                    follower.take(&folder.catalogue, followed.sequence);
                    let anew = Catalogue::open(&folder.beside(&format!("anew{number}.db")), |_, _| None).unwrap();
                    let end = anew.follow(&folder.library).unwrap().sequence;
                    prop_assert_eq!(dump(&folder.catalogue), dump(&anew));
                    let mut other = Follower::default();
                    other.take(&anew, end);
                    prop_assert_eq!(&follower.documents, &other.documents);
                }
            }
        }
    }
}

#[test]
fn a_value_is_kept_until_its_document_or_its_history_changes() {
    let (one, two) = ([1; 20], [2; 20]);
    let paths = |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect());
    for (head, changed, expected) in [
        ("b", paths(&[]), [true, true]),
        ("b", paths(&["a.md"]), [false, true]),
        ("b", None, [false, false]),
        // The current commit again.
        ("a", None, [true, true]),
    ] {
        let folder = Folder::new();
        let Folder { catalogue, .. } = &folder;
        let go_to = |head, changed| {
            let changed_since = |before: &str| {
                assert_ne!(before, "", "there is no commit before the first call");
                changed
            };
            catalogue.go_to(head, changed_since).unwrap();
        };
        let value = |path, content| catalogue.read(|notes| notes.value(path, content)).unwrap();
        go_to("a", None);
        let values = ["a.md", "b.md"].map(|path| (path.to_owned(), one, path.to_owned()));
        catalogue.keep("other", &values).unwrap();
        assert_eq!(value("a.md", &one), None);
        catalogue.keep("a", &values).unwrap();
        assert_eq!(value("a.md", &two), None);
        go_to(head, changed);
        let is_kept = ["a.md", "b.md"].map(|path| value(path, &one).as_deref() == Some(path));
        assert_eq!(is_kept, expected);
    }
}
