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
            assert_eq!(read("sub"), "is a directory");
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
            }

            let mut names = Vec::new();
            dir.entries(|name, kind| names.push((name.to_str().unwrap().to_owned(), kind))).unwrap();
            names.retain(|(name, _)| !name.contains("link") && !name.contains("socket"));
            names.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(names, [("b.md".to_owned(), Kind::File), ("sub".to_owned(), Kind::Folder)]);
            assert_eq!(dir.kind("b.md").unwrap(), Some(Kind::File));
            assert_eq!(dir.kind("c.md").unwrap(), None);

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
            dir.remove_dir("new").unwrap();
            assert_eq!(dir.kind("new").unwrap(), None);
            dir.sync().unwrap();
        }
    };
}

#[cfg(target_os = "linux")]
each_promise_holds!(linux, linux::Dir, Exchange::Atomic);
each_promise_holds!(portable, portable::Dir, Exchange::Stepwise);

fn names_in(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// What Linux falls back on where `openat2` or `renameat2` is missing answers as they do.
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
    for path in [
        "sub/deep/a.md",
        "b.md",
        "link.md",
        "link/deep/a.md",
        "none/a.md",
        "b.md/a.md",
        "sub",
    ] {
        let kernel = dir.open_file(path).map(|_| ()).map_err(|error| error.to_string());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let steps = dir
            .resolve_in_steps(path, flags)
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert_eq!(steps, kernel, "{path}");
    }
    let deep = dir.open_dir("sub/deep").unwrap();
    assert_eq!(
        dir.exchange_in_steps("b.md", &deep, "a.md").unwrap(),
        Exchange::Stepwise
    );
    assert_eq!(fs::read(at("b.md")).unwrap(), b"a");
    assert!(dir.exchange_in_steps("b.md", &deep, "none.md").is_err());
    assert_eq!(names_in(&at("sub/deep")), ["a.md"]);
    assert_eq!(
        dir.rename_by_link("b.md", &deep, "a.md").unwrap_err().kind(),
        io::ErrorKind::AlreadyExists
    );
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
