use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

struct TestLibrary {
    folder: tempfile::TempDir,
    root: Root,
}

impl TestLibrary {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("library/sub")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/a.md"), "outside").unwrap();
        let root = Root::open(&folder.path().join("library")).unwrap();
        Self { folder, root }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("library").join(path)
    }

    /// Returns the text at `path`, `"none"`, or the rule it breaks.
    fn read(&self, path: &str) -> String {
        match self.root.read(&LibraryPath::parse(path).unwrap()) {
            Ok(Some(file)) => String::from_utf8(file.bytes).unwrap(),
            Ok(None) => "none".into(),
            Err(error) => error.rule().into(),
        }
    }
}

#[test]
fn reads_only_regular_files_inside() {
    let place = TestLibrary::new();
    fs::write(place.path("sub/a.md"), "inside").unwrap();
    fs::create_dir(place.path("folder.md")).unwrap();
    fs::write(place.path("empty.md"), "").unwrap();
    let mut expected = vec![
        ("sub/a.md", "inside"),
        ("empty.md", ""),
        ("none.md", "none"),
        ("none/a.md", "none"),
        ("empty.md/a.md", "none"),
        ("folder.md", "file_not_regular"),
    ];
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("../../outside", place.path("sub/out")).unwrap();
        symlink("../outside/a.md", place.path("out.md")).unwrap();
        symlink("sub/a.md", place.path("alias.md")).unwrap();
        symlink("nowhere", place.path("dangling.md")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(place.path("socket.md")).unwrap();
        expected.extend([
            ("out.md", "file_symlink"),
            ("sub/out/a.md", "file_symlink"),
            ("sub/out/none.md", "file_symlink"),
            ("alias.md", "file_symlink"),
            ("dangling.md", "file_symlink"),
            ("socket.md", "file_not_regular"),
        ]);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        // The pipe has no writer: opening it for reading would block for ever.
        mknodat(CWD, place.path("pipe.md"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        expected.push(("pipe.md", "file_not_regular"));
    }
    for (path, text) in expected {
        assert_eq!(place.read(path), text, "{path}");
    }
}

#[test]
fn stops_at_the_size_limit() {
    let place = TestLibrary::new();
    let sized = |size| fs::File::create(place.path("a.md")).unwrap().set_len(size).unwrap();
    sized(MAX_FILE_BYTES);
    assert_eq!(place.read("a.md").len() as u64, MAX_FILE_BYTES);
    sized(MAX_FILE_BYTES + 7);
    let error = place.root.read(&LibraryPath::parse("a.md").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a.md` has 67108871 bytes, more than the 67108864 that are read; split it"
    );
}

#[test]
fn errors_have_the_systems_cause() {
    let place = TestLibrary::new();
    fs::write(place.path("a.md"), "text").unwrap();
    let path = LibraryPath::parse("a.md").unwrap();
    let file = place.root.read(&path).unwrap().unwrap();
    let metadata = fs::metadata(place.path("a.md")).unwrap();
    assert_eq!(file.modified, metadata.modified().unwrap());
    assert_eq!((file.mode, file.id), (platform::mode(&metadata), platform::file_id_at(&place.path("a.md"))));
    // Root may read everything, so the mapping alone is tried.
    let denied = FileError::io(&path, io::ErrorKind::PermissionDenied.into());
    assert_eq!(denied.rule(), "file_denied");
}

/// The root may be a symbolic link; it stays the folder that was opened.
#[cfg(target_os = "linux")]
#[test]
fn the_root_itself_may_be_a_link() {
    let place = TestLibrary::new();
    fs::write(place.path("a.md"), "inside").unwrap();
    let at = |name: &str| place.folder.path().join(name);
    std::os::unix::fs::symlink("library", at("link")).unwrap();
    let root = Root::open(&at("link")).unwrap();
    assert_eq!(root.path(), at("library").canonicalize().unwrap());
    let held = || root.read(&LibraryPath::parse("a.md").unwrap()).unwrap().unwrap().bytes;
    fs::remove_file(at("link")).unwrap();
    std::os::unix::fs::symlink("outside", at("link")).unwrap();
    assert_eq!(held(), b"inside");
    fs::rename(at("library"), at("moved")).unwrap();
    fs::rename(at("outside"), at("library")).unwrap();
    assert_eq!(held(), b"inside");
}

/// A folder that becomes a link to the outside at any moment never leads there.
#[cfg(target_os = "linux")]
#[test]
fn a_swapped_folder_leads_nowhere() {
    let place = TestLibrary::new();
    fs::write(place.path("sub/a.md"), "inside").unwrap();
    std::os::unix::fs::symlink("../outside", place.path("link")).unwrap();
    let (done, dir) = (AtomicBool::new(false), place.root.dir());
    let mut seen = std::collections::BTreeSet::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                dir.exchange("sub", dir, "link").unwrap();
            }
        });
        for _ in 0..20_000 {
            seen.insert(place.read("sub/a.md"));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(seen.iter().all(|text| text == "inside" || text == "file_symlink"), "{seen:?}");
}

#[test]
fn a_missing_name_stands_for_its_only_other_composition() {
    let place = TestLibrary::new();
    for folder in ["Re\u{301}sume\u{301}s", "both é", "both e\u{301}"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    // The last two are compositions of one name, neither of them NFC or NFD.
    for name in [
        "cafe\u{301}.md",
        "naïve.md",
        "Re\u{301}sume\u{301}s/e\u{301}.md",
        "both é/a.md",
        "é.md",
        "e\u{301}.md",
        "o\u{308}ö\u{304}.md",
        "öo\u{308}\u{304}.md",
    ] {
        fs::write(place.path(name), "").unwrap();
    }
    for (asked, found) in [
        ("café.md", "cafe\u{301}.md"),
        ("cafe\u{301}.md", "cafe\u{301}.md"),
        ("nai\u{308}ve.md", "naïve.md"),
        ("CAFÉ.md", "CAFÉ.md"),
        ("Résumés/é.md", "Re\u{301}sume\u{301}s/e\u{301}.md"),
        ("Résumés/new é.md", "Re\u{301}sume\u{301}s/new é.md"),
        ("Résumés/sub/é.md", "Re\u{301}sume\u{301}s/sub/é.md"),
        ("new é/é.md", "new é/é.md"),
        ("é.md", "é.md"),
        ("e\u{301}.md", "e\u{301}.md"),
        ("both é/new.md", "both é/new.md"),
        ("both e\u{301}/new.md", "both e\u{301}/new.md"),
        ("öȫ.md", "öȫ.md"),
    ] {
        let path = place.root.true_path(&LibraryPath::parse(asked).unwrap());
        assert_eq!(path.as_str(), found, "{asked}");
    }
    for (asked, found) in [("Résumés", "Re\u{301}sume\u{301}s"), ("both é", "both é"), ("none é", "none é")]
    {
        let folder = place.root.true_folder(&LibraryDir::parse(asked).unwrap());
        assert_eq!(folder.as_str(), found, "{asked}");
    }
}

#[test]
fn twins() {
    let place = TestLibrary::new();
    fs::create_dir(place.path("Docs")).unwrap();
    for name in ["Docs/Note.md", "straße.md", "cafe\u{301}.md", "ΣΑΣ.md", "K.md", "1\u{fe0f}\u{20e3}.md"]
    {
        fs::write(place.path(name), "").unwrap();
    }
    let cases = [
        ("new.md", None),
        ("Docs/new.md", None),
        ("none/new.md", None),
        ("Docs/Note.md", None),
        ("Docs/note.md", Some("Docs/Note.md")),
        ("docs/new.md", Some("Docs")),
        ("SUB/deeper/new.md", Some("sub")),
        ("STRASSE.md", Some("straße.md")),
        ("STRAẞE.md", Some("straße.md")),
        ("café.md", Some("cafe\u{301}.md")),
        ("CAFÉ.md", Some("cafe\u{301}.md")),
        ("σας.md", Some("ΣΑΣ.md")),
        ("k.md", Some("K.md")),
        ("1\u{20e3}.md", Some("1\u{fe0f}\u{20e3}.md")),
    ];
    for (path, expected) in cases {
        let twin = place.root.case_twin(&LibraryPath::parse(path).unwrap()).unwrap();
        assert_eq!(twin.as_deref(), expected, "{path}");
    }
}

/// A folder that ignores case needs a mount; there, `NOTE.md` is refused next to `Note.md`.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_distinguishes_case_is_not_taken_for_another() {
    for names in [&[][..], &["1.2"], &["Note.md"], &["a", "A"], &["é"]] {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert!(!super::ignores_case(&Dir::open(folder.path()).unwrap()).unwrap(), "{names:?}");
    }
    assert_eq!(super::swap_case("Note É-1.md"), "nOTE É-1.MD");
}
