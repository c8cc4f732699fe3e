use std::fs;

use super::*;

/// The same script on each implementation: `$dir` is `linux::Dir` or `portable::Dir`.
macro_rules! each_promise_holds {
    ($name:ident, $dir:ty, $exchange:expr) => {
        #[test]
        fn $name() {
            let place = tempfile::tempdir().unwrap();
            let at = |name: &str| place.path().join(name);
            fs::create_dir_all(at("sub/deep")).unwrap();
            fs::write(at("sub/deep/a.md"), "a").unwrap();
            fs::write(at("b.md"), "b").unwrap();
            let dir = <$dir>::open(place.path()).unwrap();

            let read = |path: &str| match dir.open_file(path) {
                Ok(file) => io::read_to_string(file).unwrap_or_else(|error| error.kind().to_string()),
                Err(OpenError::Io(error)) => error.kind().to_string(),
                Err(other) => other.to_string(),
            };
            assert_eq!(read("sub/deep/a.md"), "a");
            assert_eq!(read("b.md"), "b");
            assert_eq!(read("c.md"), "entity not found");
            assert_eq!(read("sub/c/d.md"), "entity not found");
            assert_eq!(read("b.md/d.md"), "not a directory");
            // Windows opens a folder too; its metadata reveals that.
            #[cfg(unix)]
            assert_eq!(read("sub"), "is a directory");
            #[cfg(windows)]
            assert!(dir.open_file("sub").unwrap().metadata().unwrap().is_dir());
            assert!(matches!(dir.open_dir("b.md"), Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotADirectory));
            assert_eq!(io::read_to_string(dir.open_dir("sub/deep").unwrap().open_entry("a.md").unwrap()).unwrap(), "a");

            #[cfg(unix)]
            {
                std::os::unix::fs::symlink("b.md", at("link.md")).unwrap();
                std::os::unix::fs::symlink("sub", at("link")).unwrap();
                let _socket = std::os::unix::net::UnixListener::bind(at("socket.md")).unwrap();
                assert_eq!(read("link.md"), "a symbolic link is in the way");
                assert_eq!(read("link/deep/a.md"), "a symbolic link is in the way");
                assert_eq!(read("socket.md"), "not a regular file");
                assert!(matches!(dir.open_dir("link"), Err(OpenError::Symlink)));
                assert!(matches!(dir.open_entry("link.md"), Err(OpenError::Symlink)));
                assert_eq!(dir.kind("link").unwrap(), Some(Kind::Other));
                let expected = file_stat(&at("link").symlink_metadata().unwrap());
                assert_eq!(dir.stat("link").unwrap(), Some(expected));
            }

            let mut names = Vec::new();
            dir.entries(|name, kind| names.push((name.to_str().unwrap().to_owned(), kind))).unwrap();
            names.retain(|(name, _)| !name.contains("link") && !name.contains("socket"));
            names.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(names, [("b.md".to_owned(), Kind::File), ("sub".to_owned(), Kind::Folder)]);
            assert_eq!(dir.kind("b.md").unwrap(), Some(Kind::File));
            assert_eq!(dir.kind("c.md").unwrap(), None);
            for name in ["", ".", "..", "sub/deep", "../b.md", "b.md\0"] {
                let refused = [
                    dir.kind(name).map(drop),
                    dir.file_id(name).map(drop),
                    dir.stat(name).map(drop),
                    dir.open_entry(name).map(drop).map_err(io::Error::from),
                    dir.create_file(name).map(drop),
                    dir.create_dir(name),
                    dir.remove_file(name),
                    dir.remove_dir(name),
                    dir.exchange("b.md", &dir, name).map(drop),
                    dir.exchange(name, &dir, "b.md").map(drop),
                    dir.rename_noreplace("b.md", &dir, name),
                    dir.rename_noreplace(name, &dir, "c.md"),
                ];
                let kinds = refused.map(|result| result.err().map(|error| error.kind()));
                assert_eq!(kinds, [Some(io::ErrorKind::InvalidFilename); 12], "{name:?}");
            }
            for name in ["b.md", "sub"] {
                let expected = file_stat(&at(name).symlink_metadata().unwrap());
                assert_eq!(dir.stat(name).unwrap(), Some(expected));
            }
            assert_eq!(dir.stat("c.md").unwrap(), None);

            let deep = dir.open_dir("sub/deep").unwrap();
            assert_eq!(dir.exchange("b.md", &deep, "a.md").unwrap(), $exchange);
            assert_eq!((read("b.md"), read("sub/deep/a.md")), ("a".into(), "b".into()));
            assert!(dir.exchange("b.md", &deep, "none.md").is_err());
            assert_eq!((read("b.md"), names_in(&at("sub/deep"))), ("a".into(), vec!["a.md".to_owned()]));

            let taken = dir.rename_noreplace("b.md", &deep, "a.md").unwrap_err();
            assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
            dir.rename_noreplace("b.md", &deep, "c.md").unwrap();
            assert_eq!((read("b.md"), read("sub/deep/c.md")), ("entity not found".into(), "a".into()));

            dir.create_dir("new").unwrap();
            let new = dir.open_dir("new").unwrap();
            drop(new.create_file("a.md").unwrap());
            assert_eq!(new.create_file("a.md").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(dir.create_dir("new").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(dir.remove_dir("new").unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
            new.remove_file("a.md").unwrap();
            drop(new);
            dir.remove_dir("new").unwrap();
            assert_eq!(dir.kind("new").unwrap(), None);
            dir.sync().unwrap();
        }
    };
}

#[cfg(target_os = "linux")]
each_promise_holds!(linux, linux::Dir, Exchange::Atomic);
#[cfg(unix)]
each_promise_holds!(portable, portable::Dir, Exchange::Stepwise);
#[cfg(windows)]
each_promise_holds!(windows, windows::Dir, Exchange::Stepwise);

fn names_in(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Linux's fallback for a missing `openat2` or `renameat2` gives the same answers.
#[cfg(target_os = "linux")]
#[test]
fn linux_in_steps() {
    use rustix::fs::OFlags;

    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir_all(at("sub/deep")).unwrap();
    fs::write(at("sub/deep/a.md"), "a").unwrap();
    fs::write(at("b.md"), "b").unwrap();
    std::os::unix::fs::symlink("b.md", at("link.md")).unwrap();
    std::os::unix::fs::symlink("sub", at("link")).unwrap();
    let dir = linux::Dir::open(place.path()).unwrap();
    for path in ["sub/deep/a.md", "b.md", "link.md", "link/deep/a.md", "none/a.md", "b.md/a.md", "sub"] {
        let kernel = dir.open_file(path).map(|_| ()).map_err(|error| error.to_string());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let steps = dir.resolve_in_steps(path, flags).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(steps, kernel, "{path}");
    }
    let deep = dir.open_dir("sub/deep").unwrap();
    assert_eq!(dir.exchange_in_steps("b.md", &deep, "a.md").unwrap(), Exchange::Stepwise);
    assert_eq!(fs::read(at("b.md")).unwrap(), b"a");
    assert!(dir.exchange_in_steps("b.md", &deep, "none.md").is_err());
    assert_eq!(names_in(&at("sub/deep")), ["a.md"]);
    assert_eq!(dir.rename_by_link("b.md", &deep, "a.md").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    dir.rename_by_link("b.md", &deep, "c.md").unwrap();
    assert!(!at("b.md").exists() && at("sub/deep/c.md").exists());
}

#[test]
fn a_lock_is_held_until_dropped() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("lock");
    let held = lock_file(&path).unwrap();
    assert!(try_lock_file(&path).unwrap().is_none());
    drop(held);
    assert!(try_lock_file(&path).unwrap().is_some());
}

#[cfg(windows)]
mod on_windows {
    use std::os::windows::fs::OpenOptionsExt as _;

    use super::*;

    #[test]
    fn only_the_folders_own_spelling_names_an_entry() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("Sub")).unwrap();
        fs::write(place.path().join("Sub/Note.md"), "a").unwrap();
        let dir = Dir::open(place.path()).unwrap();
        for (path, is_found) in
            [("Sub/Note.md", true), ("Sub/note.md", false), ("sub/Note.md", false), ("Sub/NOTE.MD", false)]
        {
            assert_eq!(dir.open_file(path).is_ok(), is_found, "{path}");
        }
        assert_eq!(dir.kind("Sub").unwrap(), Some(Kind::Folder));
        assert_eq!(dir.kind("sub").unwrap(), None);
        let taken = dir.open_dir("Sub").unwrap().create_file("note.md").unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_file_that_is_not_shared_is_held_and_stays() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("a.md"), "old").unwrap();
        fs::write(at("aside"), "new").unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let held = OpenOptions::new().read(true).share_mode(0).open(at("a.md")).unwrap();
        let errors = [
            dir.exchange("a.md", &dir, "aside").unwrap_err(),
            dir.remove_file("a.md").unwrap_err(),
            rename(&at("aside"), &at("a.md")).unwrap_err(),
            remove_file(&at("a.md")).unwrap_err(),
        ];
        for error in errors {
            assert!(is_held_open(&error), "{error}");
        }
        drop(held);
        assert_eq!(fs::read(at("a.md")).unwrap(), b"old");
        assert_eq!(dir.kind("aside.swap").unwrap(), None);
        dir.exchange("a.md", &dir, "aside").unwrap();
        assert_eq!(fs::read(at("a.md")).unwrap(), b"new");
    }

    #[test]
    fn a_writer_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a.md"), "a").unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let taken = || Lease::take(dir.open_entry("a.md").unwrap());
        assert!(matches!(taken(), Leased::Unsupported));
        let writer = OpenOptions::new().append(true).open(place.path().join("a.md")).unwrap();
        assert!(matches!(taken(), Leased::BeingWritten));
        drop(writer);
        assert!(matches!(taken(), Leased::Unsupported));
    }

    #[test]
    fn a_read_only_file_is_synced_replaced_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let read_only = |name: &str| {
            fs::write(at(name), "old").unwrap();
            let mut permissions = fs::metadata(at(name)).unwrap().permissions();
            permissions.set_readonly(true);
            fs::set_permissions(at(name), permissions).unwrap();
        };
        read_only("a");
        open_to_sync(&at("a")).unwrap().sync_all().unwrap();
        assert!(fs::metadata(at("a")).unwrap().permissions().readonly());
        fs::write(at("b"), "new").unwrap();
        rename(&at("b"), &at("a")).unwrap();
        assert_eq!(fs::read(at("a")).unwrap(), b"new");
        read_only("a");
        remove_file(&at("a")).unwrap();
        read_only("b");
        Dir::open(place.path()).unwrap().remove_file("b").unwrap();
        assert_eq!(names_in(place.path()), Vec::<String>::new());
    }

    #[test]
    fn a_files_identity_survives_a_rename() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("a"), "").unwrap();
        fs::write(at("b"), "").unwrap();
        let (a, b) = (file_id_at(&at("a")), file_id_at(&at("b")));
        assert!(a.is_some() && a != b);
        fs::hard_link(at("a"), at("c")).unwrap();
        rename(&at("a"), &at("b")).unwrap();
        assert_eq!((file_id_at(&at("b")), entry_id_at(&at("c"))), (a, a));
        assert_eq!(file_id_at(&at("a")), None);
        assert_eq!(Dir::open(place.path()).unwrap().file_id("b").unwrap(), a);
    }

    #[test]
    fn a_path_longer_than_260_characters_is_served() {
        let place = tempfile::tempdir().unwrap();
        let deep = ["long".repeat(20), "long".repeat(20), "long".repeat(20), "long".repeat(20)].join("/");
        let folder = place.path().join(&deep);
        fs::create_dir_all(&folder).unwrap();
        let dir = Dir::open(&canonicalize(place.path()).unwrap()).unwrap();
        drop(dir.open_dir(&deep).unwrap().create_file("a.md").unwrap());
        assert!(dir.open_file(&format!("{deep}/a.md")).is_ok());
        assert!(folder.join("a.md").exists());
    }

    #[test]
    fn stat_fields_are_gits() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.md");
        fs::write(&path, "abc").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let since_1970 = metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
        let stat = file_stat(&metadata);
        assert_eq!(u128::from(stat.mtime.as_nanos()), since_1970.as_nanos());
        assert_eq!((stat.size, stat.device, stat.inode), (3, 0, 0));
    }
}

/// Other kinds of entries in the place of a file, and the errors of reading them; by the system's own method, and by that of older
/// kernels.
#[cfg(target_os = "linux")]
#[test]
fn only_regular_files_of_the_folder_itself_are_read() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir_all(at("in/sub")).unwrap();
    fs::write(at("in/sub/a"), "text").unwrap();
    fs::write(at("out"), "outside").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("in/pipe")).status().unwrap().success());
    for (target, link) in
        [("../out", "in/out"), ("/dev/zero", "in/zero"), ("sub", "in/link"), ("link/a", "in/through")]
    {
        std::os::unix::fs::symlink(target, at(link)).unwrap();
    }
    let dir = Dir::open(&at("in")).unwrap();
    for (path, limit, expected) in [
        ("sub/a", 4, "text"),
        ("sub/a", 3, "4 bytes, more than the 3 that are read"),
        ("sub", 4, "not a regular file"),
        ("pipe", 4, "not a regular file"),
        ("zero", 4, "a symbolic link is in the way"),
        ("out", 9, "a symbolic link is in the way"),
        ("link/a", 4, "a symbolic link is in the way"),
    ] {
        let read = dir.read(path, limit).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(read.unwrap_or_else(|error| error.to_string()), expected, "{path}");
    }
    for (path, expected) in
        [("through", Some("sub/a")), ("link/a", Some("sub/a")), ("out", None), ("zero", None), ("pipe", None)]
    {
        assert_eq!(dir.resolve_links(".", path).ok().as_deref(), expected, "{path}");
    }
    assert!(dir.resolve_links("sub", "through").is_err(), "it is not in `sub`");
    for (path, is_regular) in
        [("in/sub/a", true), ("in/through", true), ("in/pipe", false), ("in/zero", false), ("in", false)]
    {
        assert_eq!(open_regular(&at(path)).is_ok(), is_regular, "{path}");
    }
    assert!(open_to_write(&at("in/pipe"), OpenOptions::new().write(true)).is_err());
}

#[cfg(unix)]
#[test]
fn a_walk_has_a_budget() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("d/".repeat(walk::MAX_WALK_DEPTH + 1))).unwrap();
    let root = Dir::open(place.path()).unwrap();
    let walk = |cancelled: &dyn Fn() -> bool| {
        let walk = walk::Walk {
            root: &root,
            start: ".",
            without: &[],
            takes: &|_, _| true,
            follows_links: false,
            cancelled,
        };
        walk.files().map(|files| files.paths)
    };
    assert!(matches!(walk(&|| false), Err(walk::WalkError::Budget(_))));
    assert!(matches!(walk(&|| true), Err(walk::WalkError::Cancelled)));
}
