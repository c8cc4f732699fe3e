//! Names given by a person that the library would not permit: an existing file keeps its name in every change, and only new ones
//! are refused.

use tabellion_runtime::{FailureKind, Snapshot};

use super::support::{Bench, begin, change, make, refusal};
use crate::path::LibraryDir;

/// Existing paths, for each a new path with the same flaw, and the rule that refuses it.
const NAMES: [(&str, &str, &str); 11] = [
    ("What is X?.md", "What is Y?.md", "path_character"),
    ("12:30 meeting.md", "12:45 meeting.md", "path_character"),
    ("\"quoted\".md", "\"unquoted\".md", "path_character"),
    ("a<b>|c*.md", "<.md", "path_character"),
    ("aux.md", "com1.md", "path_reserved_name"),
    ("Cafe\u{301}.md", "the\u{301}.md", "path_not_composed"),
    ("می\u{200c}خواهم.md", "نمی\u{200c}خواهم.md", "path_invisible"),
    ("evil\u{202e}dm.md", "live\u{202e}dm.md", "path_invisible"),
    ("Re\u{301}sume\u{301}s/a.md", "Re\u{301}sume\u{301}/a.md", "path_not_composed"),
    ("Meeting: Bob/a?.md", "Meeting: Eve/a.md", "path_character"),
    ("ends. /dot./a.md", "ends. /dot /a.md", "path_trailing"),
];

/// Each name, before git knows it and after.
#[test]
fn existing_files_are_changed_under_their_own_names() {
    let bench = Bench::new();
    for (name, ..) in NAMES {
        bench.write(name, "# Theirs\n");
    }
    let library = bench.library();
    let mut listed: Vec<_> = NAMES.iter().map(|(name, ..)| *name).collect();
    listed.extend(["notes/a.md", "notes/b.md", "plan.md"]);
    listed.sort_unstable();
    let listing = library.list(&LibraryDir::ROOT, true).unwrap();
    assert_eq!(listing.files.iter().map(|file| file.as_str()).collect::<Vec<_>>(), listed);
    for (name, ..) in NAMES {
        let theirs = Snapshot::read(&library, name).unwrap().unwrap();
        assert_eq!(theirs.bytes, b"# Theirs\n", "{name}");
        for text in ["# Theirs\nmine\n", "# Theirs\nmine\nagain\n"] {
            make(&library, &change(name, Some(text))).unwrap();
            assert_eq!(bench.read(name).as_deref(), Some(text), "{name}");
        }
        let kept = |revision: &str| bench.try_git(&["show", &format!("{revision}:{name}")]).1;
        assert_eq!(kept("HEAD~2"), "# Theirs", "adopted {name}");
        assert_eq!(kept("HEAD"), "# Theirs\nmine\nagain", "{name}");
        let entry = library.activity(1).unwrap().remove(0);
        assert_eq!(entry.paths, [name]);
    }
    assert_eq!(bench.status(), "");
    for (name, ..) in NAMES {
        make(&library, &change(name, None)).unwrap();
        assert_eq!(bench.read(name), None, "{name}");
    }
    assert_eq!(bench.status(), "");
    bench.assert_sound();
}

#[test]
fn new_files_are_not_given_such_names() {
    let bench = Bench::new();
    for (name, ..) in NAMES {
        bench.write(name, "# Theirs\n");
    }
    let library = bench.library();
    let (head, status) = (bench.head(), bench.status());
    for (_, name, rule) in NAMES {
        let refused = refusal(&library, &change(name, Some("x\n")));
        assert_eq!(refused.kind, FailureKind::Invalid, "{name}: {refused}");
        assert_eq!(refused.data["violations"][0]["rule"], rule, "{name}: {refused}");
    }
    // A name that can be used, in a folder that exists.
    for (name, ..) in NAMES.iter().filter(|(name, ..)| name.contains('/')) {
        let folder = name.rsplit_once('/').unwrap().0;
        make(&library, &change(&format!("{folder}/new.md"), Some("x\n"))).unwrap();
        make(&library, &change(&format!("{folder}/new.md"), None)).unwrap();
    }
    assert_ne!(bench.head(), head);
    assert_eq!(bench.status(), status);
    bench.assert_sound();
}

/// The other composition of a name is the same name, in every snapshot.
#[test]
fn a_name_is_found_in_either_composition() {
    let bench = Bench::new();
    bench.write("Re\u{301}sume\u{301}s/Cafe\u{301}.md", "old\n");
    bench.write("naïve.md", "old\n");
    let library = bench.library();
    for (asked, found) in [
        ("Résumés/Café.md", "Re\u{301}sume\u{301}s/Cafe\u{301}.md"),
        ("nai\u{308}ve.md", "naïve.md"),
        ("Résumés/neu é.md", "Re\u{301}sume\u{301}s/neu é.md"),
        ("other é.md", "other é.md"),
    ] {
        assert_eq!(Snapshot::true_path(&library, asked).unwrap(), found);
        assert_eq!(begin(&library).view().true_path(asked).unwrap(), found);
        // A look-alike twin is not created.
        if bench.read(found).is_some() {
            let refused = refusal(&library, &change(asked, Some("twin\n")));
            assert_eq!(refused.kind, FailureKind::Refused, "{refused}");
        }
    }
}
