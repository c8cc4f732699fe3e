use proptest::prelude::*;

use super::*;

/// Returns the rule that refuses `path` as a file: always, or only if it and its folders are to be created.
fn file(path: &str) -> Verdict {
    match LibraryPath::parse(path) {
        Err(error) => Never(error.rule()),
        Ok(path) => path.check_new(0).map_or_else(|error| NotNew(error.rule()), |()| Fine),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Never(&'static str),
    NotNew(&'static str),
    Fine,
}
use Verdict::{Fine, Never, NotNew};

/// `"ok"`, or the rule that refuses `path` as a folder.
fn folder(path: &str) -> &'static str {
    LibraryDir::parse(path).map_or_else(|error| error.rule(), |_| "ok")
}

#[test]
fn files() {
    let deep = |segments: usize| format!("{}a.md", "d/".repeat(segments - 1));
    let named = |bytes: usize| format!("{}.md", "n".repeat(bytes - 3));
    let long = |bytes: usize| {
        let name = "n".repeat(200) + "/";
        let folders = name.repeat((bytes - 3) / name.len());
        format!("{folders}{}.md", "x".repeat(bytes - 3 - folders.len()))
    };
    let cases: &[(&str, Verdict)] = &[
        ("a.md", Fine),
        ("notes/plan.markdown", Fine),
        ("notes/plan.mdx", Fine),
        ("README.MD", Fine),
        ("with space.md", Fine),
        (" leading.md", Fine),
        ("café.md", Fine),
        ("日本語/ノート.md", Fine),
        ("a..b.md", Fine),
        ("a.b/c.md", Fine),
        ("git/github.md", Fine),
        ("gitignore.md", Fine),
        ("a~1.md", Fine),
        ("com.md", Fine),
        ("console.md", Fine),
        ("❤️ love.md", Fine),
        ("1️⃣ first.md", Fine),
        ("👩‍💻.md", Fine),
        ("../secret.md", Never("path_climbs")),
        ("a/../../x.md", Never("path_climbs")),
        ("a/../b.md", Never("path_climbs")),
        ("..", Never("path_climbs")),
        // 2
        ("/etc/passwd", Never("path_absolute")),
        ("//etc/x", Never("path_absolute")),
        (r"\\srv\share\x.md", Never("path_absolute")),
        (r"C:\x.md", Never("path_absolute")),
        ("C:x.md", Never("path_absolute")),
        ("c:/x.md", Never("path_absolute")),
        (r"\\?\C:\x", Never("path_absolute")),
        // 3
        ("../v-evil/s.md", Never("path_climbs")),
        // 11: never decoded
        ("%2e%2e/x.md", Fine),
        ("%252e%252e%252fx.md", Fine),
        // 12
        ("note.md\0.txt", Never("path_control")),
        ("note\0.md", Never("path_control")),
        // 13
        (".", Never("path_segment")),
        ("./a.md", Never("path_segment")),
        ("a//b.md", Never("path_segment")),
        ("a/./b.md", Never("path_segment")),
        ("", Never("path_empty")),
        ("/", Never("path_absolute")),
        ("a.md/", Never("path_segment")),
        // 14
        (r"a\..\..\x.md", Never("path_backslash")),
        (r"a\b.md", Never("path_backslash")),
        (r"\x.md", Never("path_backslash")),
        // 15
        ("CON.md", NotNew("path_reserved_name")),
        ("aux.md", NotNew("path_reserved_name")),
        ("NUL", Never("path_extension")),
        ("COM1.md", NotNew("path_reserved_name")),
        ("com¹.md", NotNew("path_reserved_name")),
        ("LPT9.md", NotNew("path_reserved_name")),
        ("LPT9.txt", Never("path_extension")),
        ("CONIN$.md", NotNew("path_reserved_name")),
        ("prn/a.md", NotNew("path_reserved_name")),
        ("con .md", NotNew("path_reserved_name")),
        // 16
        ("a./b.md", NotNew("path_trailing")),
        ("a /b.md", NotNew("path_trailing")),
        ("x.md ", Never("path_extension")),
        ("x.md.", Never("path_extension")),
        (".../x.md", Never("path_hidden")),
        (".. /x.md", Never("path_hidden")),
        (" /x.md", Never("path_trailing")),
        (" ./x.md", Never("path_trailing")),
        ("a<b.md", NotNew("path_character")),
        ("a>b.md", NotNew("path_character")),
        ("what?.md", NotNew("path_character")),
        ("a*.md", NotNew("path_character")),
        ("a|b.md", NotNew("path_character")),
        ("a\"b.md", NotNew("path_character")),
        ("a\nb.md", Never("path_control")),
        ("a\tb.md", Never("path_control")),
        ("a\u{7f}.md", Never("path_control")),
        ("a\u{85}.md", Never("path_control")),
        ("a\u{2028}b.md", Never("path_control")),
        // 17
        ("x.md:ads", Never("path_extension")),
        ("x.md:ads.md", NotNew("path_character")),
        (".git::$INDEX_ALLOCATION/x.md", Never("path_git")),
        ("GIT~1/config.md", Never("path_git")),
        ("git~1.md", Fine),
        // 18
        ("cafe\u{301}.md", NotNew("path_not_composed")),
        ("e\u{301}tudes/a.md", NotNew("path_not_composed")),
        // 20
        (".g\u{200c}it/config", Never("path_git")),
        (".GI\u{feff}T/x.md", Never("path_git")),
        // 21, 49
        ("a\u{202e}dm.md", NotNew("path_invisible")),
        ("a\u{2066}b.md", NotNew("path_invisible")),
        ("a\u{200b}b.md", NotNew("path_invisible")),
        ("a\u{200d}b.md", NotNew("path_invisible")),
        ("a\u{fe0f}.md", NotNew("path_invisible")),
        ("👩\u{200d}.md", NotNew("path_invisible")),
        ("a\u{ad}b.md", NotNew("path_invisible")),
        ("\u{feff}a.md", NotNew("path_invisible")),
        ("a\u{e0061}.md", NotNew("path_invisible")),
        ("\u{3164}.md", Never("path_hidden")),
        ("a\u{1b}[31m.md", Never("path_control")),
        // 22
        (&named(255), Fine),
        (&named(256), Never("path_too_long")),
        (&long(MAX_PATH_BYTES), Fine),
        (&long(MAX_PATH_BYTES + 1), Never("path_too_long")),
        (&deep(255), Fine),
        (&deep(256), Never("path_too_long")),
        // 23
        ("-rf.md", Fine),
        ("--output=/tmp/x.md", Fine),
        // 24
        ("a.html", Never("path_extension")),
        ("a.sh", Never("path_extension")),
        ("a.md.exe", Never("path_extension")),
        ("a", Never("path_extension")),
        ("md", Never("path_extension")),
        ("a.md/b", Never("path_extension")),
        // 26
        (".git/hooks/post-commit", Never("path_git")),
        (".git/config", Never("path_git")),
        ("sub/.git/x.md", Never("path_git")),
        (".GIT/x.md", Never("path_git")),
        (".git /x.md", Never("path_git")),
        (".git./x.md", Never("path_git")),
        // 27
        (".gitattributes", Never("path_git")),
        ("a/.gitmodules/x.md", Never("path_git")),
        (".MailMap/x.md", Never("path_git")),
        (".lfsconfig", Never("path_git")),
        ("GITMOD~1/x.md", Never("path_git")),
        ("gi7eba~1/x.md", Never("path_git")),
        ("GITATT~1/x.md", Never("path_git")),
        ("maba30~1/x.md", Never("path_git")),
        // An invisible character hides no dot.
        ("\u{200b}.obsidian/x.md", Never("path_hidden")),
        (".\u{200c}./x.md", Never("path_hidden")),
        ("a/\u{feff}.md", Never("path_hidden")),
        ("\u{200b}/x.md", Never("path_trailing")),
        // 37
        ("a\r\nCo-authored-by: x.md", Never("path_control")),
        // Hidden
        (".md", Never("path_hidden")),
        (".obsidian/x.md", Never("path_hidden")),
        ("a/.draft.md", Never("path_hidden")),
    ];
    for (path, expected) in cases {
        assert_eq!(file(path), *expected, "{path:?}");
    }
}

#[test]
fn folders() {
    let cases = [
        ("", "ok"),
        (".", "ok"),
        ("a", "ok"),
        ("a/", "ok"),
        ("a/b.c", "ok"),
        ("/", "path_absolute"),
        ("a//", "path_segment"),
        ("./", "path_segment"),
        ("./a", "path_segment"),
        ("..", "path_climbs"),
        ("a/..", "path_climbs"),
        (".git", "path_git"),
        (".github", "path_hidden"),
        ("con", "ok"),
        ("Meeting: Bob", "ok"),
        ("e\u{301}tudes", "ok"),
        ("a\\b", "path_backslash"),
        ("d:", "path_absolute"),
    ];
    for (path, expected) in cases {
        assert_eq!(folder(path), expected, "{path:?}");
    }
    assert_eq!(LibraryDir::parse(".").unwrap(), LibraryDir::ROOT);
    assert_eq!(LibraryDir::parse("a/b/").unwrap().as_str(), "a/b");
}

#[test]
fn parts() {
    let path = LibraryPath::parse("a/b/c.md").unwrap();
    assert_eq!((path.file_name(), path.parent().as_str()), ("c.md", "a/b"));
    assert_eq!(path.components().collect::<Vec<_>>(), ["a", "b", "c.md"]);
    let above: Vec<String> = path.parent().ancestors().map(|dir| dir.as_str().to_owned()).collect();
    assert_eq!(above, ["a", "a/b"]);
    assert_eq!(LibraryDir::ROOT.ancestors().count(), 0);
    assert_eq!(LibraryPath::parse("c.md").unwrap().parent(), LibraryDir::ROOT);
}

#[test]
fn messages_say_what_to_do_and_hide_nothing() {
    let message = |path: &str| {
        let checked = LibraryPath::parse(path).and_then(|path| path.check_new(0));
        checked.unwrap_err().to_string()
    };
    for (path, said) in [
        ("../secret.md", "path `../secret.md` climbs with `..`; spell the path out from the library's root"),
        ("a\u{202e}b.md", r"path `a\u{202e}b.md` has the invisible character \u{202e}; remove it"),
        (
            "cafe\u{301}.md",
            "path `cafe\u{301}.md` has a segment that is not in Unicode's composed form (NFC); write it `café.md`",
        ),
        (
            "a:b.md",
            "path `a:b.md` begins with `a:`, which is a drive on Windows; give it relative to the library's root, and rename a file or \
             folder that is called so",
        ),
        (
            "\u{200b}/x.md",
            r"path `\u{200b}/x.md` has a segment of dots, spaces or invisible characters alone; choose another name",
        ),
    ] {
        assert_eq!(message(path), said);
    }
    let long = message(&"\u{1b}".repeat(1000));
    assert!(long.chars().count() < 240 && !long.contains('\u{1b}') && long.contains('…'), "{long}");
}

#[test]
fn a_path_is_shown_with_what_hides_in_it() {
    for (path, shown) in [
        ("a b.md", "a b.md"),
        ("❤️ 👩‍💻.md", "❤️ 👩‍💻.md"),
        ("evil\u{202e}dm.md", r"evil\u{202e}dm.md"),
        ("a\u{200b}/b.md", r"a\u{200b}/b.md"),
    ] {
        assert_eq!(LibraryPath::parse(path).unwrap().to_string(), shown);
    }
}

#[test]
fn only_names_to_be_created_must_be_portable() {
    let path = LibraryPath::parse("a?/b:/c.md").unwrap();
    let rules = [0, 1, 2, 3].map(|existing| path.check_new(existing).map_err(|error| error.fault));
    let character = |c| Err(PathFault::Character(c));
    assert_eq!(rules, [character('?'), character(':'), Ok(()), Ok(())]);
}

proptest! {
    /// Accepted paths are not checked again, so they must be harmless wherever they are joined.
    #[test]
    fn a_parsed_path_stays_inside(text in "([a-cA-C.~ :*\\\\/\u{200d}\u{e9}]|\\.\\.|\\.md|git|GIT~1|con|/){0,12}(\\.md)?") {
        if let Ok(path) = LibraryPath::parse(&text) {
            prop_assert_eq!(path.as_str(), &text);
            let joined = Path::new("/library").join(path.as_path());
            prop_assert!(joined.starts_with("/library"));
            let plain = path.as_path().components().all(|part| matches!(part, std::path::Component::Normal(_)));
            prop_assert!(plain);
            prop_assert_eq!(path.as_path().components().count(), path.components().count());
            prop_assert_eq!(path.parent().file(path.file_name()).unwrap(), path);
        }
    }

    /// The walk builds paths segment by segment and must accept exactly the paths that a caller can request.
    #[test]
    fn segment_by_segment_is_the_same_as_at_once(segments in prop::collection::vec("[ab.~ ]{0,4}|[^\\pC/]{1,3}|con|\\.git|[a-c]\\.md", 1..4)) {
        let text = segments.join("/");
        let (name, folders) = segments.split_last().unwrap();
        let stepped = folders.iter().try_fold(LibraryDir::ROOT, |dir, name| dir.folder(name)).and_then(|dir| dir.file(name));
        prop_assert_eq!(stepped.is_ok(), LibraryPath::parse(&text).is_ok());
    }
}
