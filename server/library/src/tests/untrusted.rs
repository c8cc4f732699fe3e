//! Files that a clone may have in place of git's own, and a library that is moved away.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use tabellion_platform::each_below;
use tabellion_runtime::{Failure, Store};

use crate::{Library, Options};

use super::support::{Bench, change, make, path, refusal, wait};

fn put(kind: &str, at: &Path) {
    let _ = fs::remove_file(at);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(at).status().unwrap().success()),
        "device" => symlink("/dev/zero", at).unwrap(),
        _ => fs::File::create(at).unwrap().set_len(6_000_000_000).unwrap(),
    }
}

/// Each of these blocked all writers, or took all memory.
#[test]
fn rules_and_attributes_that_are_no_regular_files_block_nothing() {
    for name in [
        ".gitignore",
        "notes/.gitignore",
        ".git/info/exclude",
        "elsewhere",
        "notes/.gitattributes",
        ".git/info/attributes",
    ] {
        for kind in ["pipe", "device", "large"] {
            let shown = format!("{kind} as {name}");
            let bench = Bench::new();
            let at = bench.path(name);
            put(kind, &at);
            for option in ["core.excludesFile", "core.attributesFile"].iter().filter(|_| name == "elsewhere")
            {
                bench.git(&["config", option, at.to_str().unwrap()]);
            }
            let library = bench.library();
            library.read(&path("plan.md")).unwrap();
            // Without its attributes, git's conversion of a file is unknown.
            if let Err(error) = make(&library, &change("notes/a.md", Some("new\r\n"))) {
                let said = format!("{error:?}");
                assert!(said.contains("the attributes file"), "{shown}: {said}");
            }
            make(&library, &change("plan.md", Some("new plan\n"))).map(drop).unwrap_or_else(|error| {
                assert!(name.contains("info/attributes") || name == "elsewhere", "{shown}: {error:?}");
            });
        }
    }
}

#[test]
fn a_repository_with_a_pipe_among_gits_files_is_refused_at_opening() {
    for name in [
        "HEAD",
        "config",
        "index",
        "packed-refs",
        "refs/heads/main",
        "objects/info/alternates",
        "tabellion",
        "tabellion/log.sqlite",
        "tabellion/lock",
        "tabellion/a/b",
    ] {
        for kind in ["pipe", "device"] {
            let bench = Bench::new();
            put(kind, &bench.path(".git").join(name));
            let error =
                Library::open(&bench.path(""), Options::default()).map(drop).expect_err(name).to_string();
            assert!(error.contains(name) && error.contains("regular file"), "{kind} as {name}: {error}");
        }
    }
}

/// A reflog that is a link appended lines to the user's own files, such as those that a shell runs.
#[test]
fn nothing_is_written_through_links_in_gits_folder() {
    for (name, is_refused) in [
        ("logs/HEAD", false),
        ("logs/refs/heads/main", false),
        ("logs/refs", false),
        ("logs", false),
        ("refs/heads", true),
        ("refs", true),
    ] {
        for exists in [true, false] {
            let bench = Bench::new();
            let (at, outside) = (bench.path(".git").join(name), bench.path("outside"));
            fs::rename(&at, &outside).unwrap();
            if !exists && !is_refused {
                let removed = fs::remove_file(&outside);
                removed.or_else(|_| fs::remove_dir_all(&outside)).unwrap();
            }
            symlink(&outside, &at).unwrap();
            let look = || {
                let mut found = vec![(outside.clone(), fs::read(&outside).ok())];
                each_below(&outside, 8, |path, _| {
                    found.push((path.to_owned(), fs::read(path).ok()));
                    true
                });
                (outside.exists(), found)
            };
            let before = look();
            let made = make(&bench.library(), &change("plan.md", Some("new plan\n")));
            assert_eq!(made.is_err(), is_refused, "{name}: {made:?}");
            assert_eq!(look(), before, "{name}");
        }
    }
}

/// A folder that no program of git writes: it was written anew unchanged, or ended a debug build.
#[test]
fn a_folder_with_entries_in_no_order_is_not_changed() {
    for names in [["b.md", "a.md"], ["a.md", "a.md"], ["a", "a.md"]] {
        let bench = Bench::new();
        let blob = bench.git(&["rev-parse", "HEAD:plan.md"]);
        let blob = gix::ObjectId::from_hex(blob.trim().as_bytes()).unwrap();
        let entry = |name: &str| [format!("100644 {name}\0").as_bytes(), blob.as_slice()].concat();
        fs::write(bench.path("tree"), names.map(entry).concat()).unwrap();
        let tree = bench.git(&["hash-object", "-t", "tree", "--literally", "-w", "tree"]);
        fs::remove_file(bench.path("tree")).unwrap();
        let commit = bench.git(&["commit-tree", "-p", "HEAD", "-m", "odd", tree.trim()]);
        bench.git(&["update-ref", "HEAD", commit.trim()]);
        let made = make(&bench.library(), &change("new.md", Some("new\n")));
        assert_eq!(made.is_ok(), names == ["a", "a.md"], "{names:?}: {made:?}");
        if let Err(error) = made {
            assert!(format!("{error:?}").contains("in no order"), "{error:?}");
        }
    }
}

#[test]
fn what_the_configuration_includes_is_a_regular_file() {
    for (kind, is_fine) in
        [("pipe", false), ("device", false), ("large", false), ("none", true), ("itself", false)]
    {
        for (key, name) in [("include.path", "included"), ("includeIf.gitdir:x.path", "included")] {
            let bench = Bench::new();
            let at = bench.path(".git").join(name);
            match kind {
                "none" => {}
                "itself" => fs::write(&at, "[include]\n\tpath = included\n").unwrap(),
                _ => put(kind, &at),
            }
            bench.git(&["config", key, name]);
            let opened = Library::open(&bench.path(""), Options::default()).map(drop);
            assert_eq!(opened.is_ok(), is_fine, "{kind}: {opened:?}");
        }
    }
}

/// Begins to read.
fn snapshot(library: &Library) -> Result<(), Failure> {
    wait(Store::snapshot(library)).map(drop)
}

#[test]
fn a_library_that_was_moved_away_is_neither_read_nor_made_again() {
    let bench = Bench::new();
    let library = bench.library();
    make(&library, &change("plan.md", Some("new plan\n"))).unwrap();
    let (folder, moved) = (bench.path(""), bench.path("").with_extension("moved"));
    fs::rename(&folder, &moved).unwrap();
    let failure = refusal(&library, &change("plan.md", Some("newer plan\n")));
    assert_eq!(failure.data["rule"], "library_gone", "{failure}");
    assert!(!folder.exists(), "{failure}");
    assert_eq!(snapshot(&library).err(), Some(failure));
    fs::create_dir(&folder).unwrap();
    assert!(snapshot(&library).is_err(), "another folder is not the library");
    fs::remove_dir(&folder).unwrap();
    fs::rename(&moved, &folder).unwrap();
    snapshot(&library).unwrap();
    let (git, aside) = (bench.path(".git"), bench.path("aside"));
    fs::rename(&git, &aside).unwrap();
    assert!(
        snapshot(&library).is_err() && !library.is_there(),
        "a folder without its repository is no library"
    );
    fs::rename(&aside, &git).unwrap();
    snapshot(&library).unwrap();
    make(&library, &change("plan.md", Some("newest plan\n"))).unwrap();
    bench.assert_sound();
}
