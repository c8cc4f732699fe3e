use proptest::prelude::*;

use super::*;

/// `"ok"`, or the rule that refuses `path` as a file.
fn file(path: &str) -> &'static str {
    LibraryPath::parse(path).map_or_else(|error| error.rule(), |_| "ok")
}

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
    let cases: &[(&str, &str)] = &[
        ("a.md", "ok"),
        ("notes/plan.markdown", "ok"),
        ("notes/plan.mdx", "ok"),
        ("README.MD", "ok"),
        ("with space.md", "ok"),
        (" leading.md", "ok"),
        ("café.md", "ok"),
        ("日本語/ノート.md", "ok"),
        ("a..b.md", "ok"),
        ("a.b/c.md", "ok"),
        ("git/github.md", "ok"),
        ("gitignore.md", "ok"),
        ("a~1.md", "ok"),
        ("com.md", "ok"),
        ("console.md", "ok"),
        ("❤️ love.md", "ok"),
        ("1️⃣ first.md", "ok"),
        ("👩‍💻.md", "ok"),
        ("../secret.md", "path_climbs"),
        ("a/../../x.md", "path_climbs"),
        ("a/../b.md", "path_climbs"),
        ("..", "path_climbs"),
        // 2
        ("/etc/passwd", "path_absolute"),
        ("//etc/x", "path_absolute"),
        (r"\\srv\share\x.md", "path_absolute"),
        (r"C:\x.md", "path_absolute"),
        ("C:x.md", "path_absolute"),
        ("c:/x.md", "path_absolute"),
        (r"\\?\C:\x", "path_absolute"),
        // 3
        ("../v-evil/s.md", "path_climbs"),
        // 11: never decoded
        ("%2e%2e/x.md", "ok"),
        ("%252e%252e%252fx.md", "ok"),
        // 12
        ("note.md\0.txt", "path_control"),
        ("note\0.md", "path_control"),
        // 13
        (".", "path_segment"),
        ("./a.md", "path_segment"),
        ("a//b.md", "path_segment"),
        ("a/./b.md", "path_segment"),
        ("", "path_empty"),
        ("/", "path_absolute"),
        ("a.md/", "path_segment"),
        // 14
        (r"a\..\..\x.md", "path_backslash"),
        (r"a\b.md", "path_backslash"),
        (r"\x.md", "path_backslash"),
        // 15
        ("CON.md", "path_reserved_name"),
        ("aux.md", "path_reserved_name"),
        ("NUL", "path_reserved_name"),
        ("COM1.md", "path_reserved_name"),
        ("com¹.md", "path_reserved_name"),
        ("LPT9.txt", "path_reserved_name"),
        ("CONIN$.md", "path_reserved_name"),
        ("prn/a.md", "path_reserved_name"),
        ("con .md", "path_reserved_name"),
        // 16
        ("a./b.md", "path_trailing"),
        ("a /b.md", "path_trailing"),
        ("x.md ", "path_trailing"),
        ("x.md.", "path_trailing"),
        (".../x.md", "path_trailing"),
        ("a<b.md", "path_character"),
        ("a>b.md", "path_character"),
        ("what?.md", "path_character"),
        ("a*.md", "path_character"),
        ("a|b.md", "path_character"),
        ("a\"b.md", "path_character"),
        ("a\nb.md", "path_control"),
        ("a\tb.md", "path_control"),
        ("a\u{7f}.md", "path_control"),
        ("a\u{85}.md", "path_control"),
        ("a\u{2028}b.md", "path_control"),
        // 17
        ("x.md:ads", "path_character"),
        ("GIT~1/config.md", "path_git"),
        ("git~1.md", "ok"),
        // 18
        ("cafe\u{301}.md", "path_not_composed"),
        ("e\u{301}tudes/a.md", "path_not_composed"),
        // 20
        (".g\u{200c}it/config", "path_git"),
        (".GI\u{feff}T/x.md", "path_git"),
        // 21, 49
        ("a\u{202e}dm.md", "path_invisible"),
        ("a\u{2066}b.md", "path_invisible"),
        ("a\u{200b}b.md", "path_invisible"),
        ("a\u{200d}b.md", "path_invisible"),
        ("a\u{fe0f}.md", "path_invisible"),
        ("👩\u{200d}.md", "path_invisible"),
        ("a\u{ad}b.md", "path_invisible"),
        ("\u{feff}a.md", "path_invisible"),
        ("a\u{e0061}.md", "path_invisible"),
        ("\u{3164}.md", "path_invisible"),
        ("a\u{1b}[31m.md", "path_control"),
        // 22
        (&named(255), "ok"),
        (&named(256), "path_too_long"),
        (&long(MAX_PATH_BYTES), "ok"),
        (&long(MAX_PATH_BYTES + 1), "path_too_long"),
        (&deep(255), "ok"),
        (&deep(256), "path_too_long"),
        // 23
        ("-rf.md", "ok"),
        ("--output=/tmp/x.md", "ok"),
        // 24
        ("a.html", "path_extension"),
        ("a.sh", "path_extension"),
        ("a.md.exe", "path_extension"),
        ("a", "path_extension"),
        ("md", "path_extension"),
        ("a.md/b", "path_extension"),
        // 26
        (".git/hooks/post-commit", "path_git"),
        (".git/config", "path_git"),
        ("sub/.git/x.md", "path_git"),
        (".GIT/x.md", "path_git"),
        (".git /x.md", "path_git"),
        (".git./x.md", "path_git"),
        // 27
        (".gitattributes", "path_git"),
        ("a/.gitmodules/x.md", "path_git"),
        (".MailMap/x.md", "path_git"),
        (".lfsconfig", "path_git"),
        ("GITMOD~1/x.md", "path_git"),
        ("gi7eba~1/x.md", "path_git"),
        ("GITATT~1/x.md", "path_git"),
        ("maba30~1/x.md", "path_git"),
        // 37
        ("a\r\nCo-authored-by: x.md", "path_control"),
        // Hidden
        (".md", "path_hidden"),
        (".obsidian/x.md", "path_hidden"),
        ("a/.draft.md", "path_hidden"),
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
        ("con", "path_reserved_name"),
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
    let above: Vec<String> = path
        .parent()
        .ancestors()
        .map(|dir| dir.as_str().to_owned())
        .collect();
    assert_eq!(above, ["a", "a/b"]);
    assert_eq!(
        LibraryDir::ROOT.ancestors().count() + LibraryDir::ROOT.components().count(),
        0
    );
    assert_eq!(LibraryPath::parse("c.md").unwrap().parent(), LibraryDir::ROOT);
}

#[test]
fn messages_say_what_to_do_and_hide_nothing() {
    let message = |path: &str| LibraryPath::parse(path).unwrap_err().to_string();
    assert_eq!(
        message("../secret.md"),
        "path `../secret.md` climbs with `..`; spell the path out from the library's root"
    );
    assert_eq!(
        message("a\u{202e}b.md"),
        r"path `a\u{202e}b.md` has the invisible character \u{202e}; remove it"
    );
    assert_eq!(
        message("cafe\u{301}.md"),
        "path `cafe\u{301}.md` has a segment that is not in Unicode's composed form (NFC); write it `café.md`"
    );
    let long = message(&"\u{1b}".repeat(1000));
    assert!(
        long.chars().count() < 240 && !long.contains('\u{1b}') && long.contains('…'),
        "{long}"
    );
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

    /// The walk builds paths segment by segment and must take exactly what a caller can ask for.
    #[test]
    fn segment_by_segment_is_the_same_as_at_once(segments in prop::collection::vec("[ab.~ ]{0,4}|\\PC{1,3}|con|\\.git|[a-c]\\.md", 1..4)) {
        let text = segments.join("/");
        let (name, folders) = segments.split_last().unwrap();
        let stepped = folders.iter().try_fold(LibraryDir::ROOT, |dir, name| dir.folder(name)).and_then(|dir| dir.file(name));
        prop_assert_eq!(stepped.is_ok(), LibraryPath::parse(&text).is_ok());
    }
}
