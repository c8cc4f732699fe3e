//! A changed index equals git's own, in every version, byte for byte where git leaves a choice.

use std::{fs, path::PathBuf};

use gix::{ObjectId, objs::tree::EntryKind};
use proptest::prelude::*;
use sha1::{Digest, Sha1};

use super::{Folders, IndexError, draft, empty, look_up};
use crate::{tests::support::Bench, tree::TreeEntry};
use tabellion_platform::FileStat;

/// The index entry that a path should get.
#[derive(Debug, Clone, Copy)]
struct Entry {
    kept: TreeEntry,
    stat: FileStat,
}

fn entry(digit: char) -> Entry {
    let blob = ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap();
    Entry { kept: TreeEntry { blob, mode: EntryKind::Blob.into() }, stat: FileStat::default() }
}

fn with(index: &[u8], path: &str, entry: Option<Entry>) -> Result<Vec<u8>, IndexError> {
    with_all(index, &[(path, entry)], &Folders::new())
}

/// Returns the index with these entries at these paths, or without a path if its entry is `None`.
fn with_all(
    index: &[u8],
    changes: &[(&str, Option<Entry>)],
    folders: &Folders,
) -> Result<Vec<u8>, IndexError> {
    let kept: Vec<_> = changes.iter().map(|(path, entry)| (*path, entry.map(|entry| entry.kept))).collect();
    let stats: Vec<_> =
        changes.iter().map(|(_, entry)| entry.map_or_else(FileStat::default, |entry| entry.stat)).collect();
    Ok(draft(index.to_vec(), &kept, folders)?.finish(&stats))
}

fn index_path(bench: &Bench) -> PathBuf {
    bench.path(".git/index")
}

/// A repository with an index of `version` that has `paths`.
fn indexed(version: u8, paths: &[String]) -> Bench {
    let bench = Bench::empty();
    bench.git(&["init", "-q", "-b", "main"]);
    let blob = bench.git(&["hash-object", "-w", "-t", "blob", "/dev/null"]);
    let lines: String = paths.iter().map(|path| format!("100644 {blob}\t{path}\n")).collect();
    bench.write(".git/lines", &lines);
    feed(&bench, &["update-index", "--add", "--index-info"]);
    bench.git(&["update-index", "--index-version", &version.to_string()]);
    bench
}

fn feed(bench: &Bench, arguments: &[&str]) {
    let child = std::process::Command::new("git")
        .arg("-C")
        .arg(bench.path(""))
        .args(arguments)
        .stdin(fs::File::open(bench.path(".git/lines")).unwrap())
        .status();
    assert!(child.unwrap().success());
}

fn listed(bench: &Bench) -> String {
    bench.git(&["ls-files", "-s"])
}

fn paths() -> impl Strategy<Value = Vec<String>> {
    let segment = prop_oneof!["[ab]{1,2}", "[a-c]-?[0-9]{0,2}", "ä", "x{130,140}", "[a-z]{1,12}"];
    let path = (proptest::collection::vec(segment, 0..4), "[a-c]{1,2}")
        .prop_map(|(folders, name)| folders.into_iter().map(|f| f + "/").collect::<String>() + &name + ".md");
    proptest::collection::btree_set(path, 1..25).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// One entry of a random index is added, changed or removed, once by us and once by git: both indexes list the same
    /// entries and make the same tree, which a cached tree that is wrong would spoil.
    #[test]
    fn git_agrees(mut all in paths(), version in 2_u8..=4, pick in any::<prop::sample::Index>(), cached in any::<bool>()) {
        let path = all.remove(pick.index(all.len()));
        for (was, is) in [(false, false), (false, true), (true, false), (true, true)] {
            let before = if was { [all.clone(), vec![path.clone()]].concat() } else { all.clone() };
            let bench = indexed(version, &before);
            if cached {
                bench.git(&["write-tree"]);
            }
            let index = fs::read(index_path(&bench)).unwrap_or_else(|_| empty());
            prop_assert_eq!(look_up(&index, &path).unwrap().is_some(), was);

            bench.write(".git/blob", "other\n");
            let blob = bench.git(&["hash-object", "-w", ".git/blob"]);
            let kept = TreeEntry { blob: ObjectId::from_hex(blob.as_bytes()).unwrap(), mode: EntryKind::Blob.into() };
            let change = Entry { kept, stat: FileStat::default() };
            let ours = with(&index, &path, is.then_some(change)).unwrap();
            let mode = if is { "100644" } else { "0" };
            bench.write(".git/lines", &format!("{mode} {blob}\t{path}\n"));
            feed(&bench, &["update-index", "--add", "--index-info"]);
            let expected = (listed(&bench), bench.git(&["write-tree"]));

            fs::write(index_path(&bench), &ours).unwrap();
            prop_assert_eq!((listed(&bench), bench.git(&["write-tree"])), expected);
            prop_assert_eq!(look_up(&ours, &path).unwrap(), is.then_some(kept));
        }
    }

    #[test]
    fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0_usize..400) {
        let _ = with(&bytes, "a/b.md", Some(entry('a')));
        let mut index = empty();
        for path in ["a/b.md", "a/c.md", "b.md"] {
            index = with(&index, path, Some(entry('a'))).unwrap();
        }
        index.truncate(cut.min(index.len()));
        let _ = with(&index, "a/b.md", None);
        let _ = look_up(&index, "a/b.md");
    }
}

#[test]
fn unsupported_indexes_are_refused() {
    let mut index = empty();
    for path in ["a.md", "b/c.md"] {
        index = with(&index, path, Some(entry('a'))).unwrap();
    }
    let refused = |path: &str| with(&index, path, Some(entry('a'))).unwrap_err();
    assert_eq!(refused("a.md/x.md"), IndexError::InTheWay("a.md".into()));
    assert_eq!(refused("b"), IndexError::InTheWay("b/c.md".into()));
    assert!(matches!(with(b"", "a", None), Err(IndexError::Damaged(_))));
    let mut newer = index.clone();
    newer[7] = 5;
    assert_eq!(with(&newer, "a", None), Err(IndexError::Version(5)));
    let mut split = index[..index.len() - 20].to_vec();
    split.extend(b"link\0\0\0\0");
    split.extend([0; 20]);
    assert_eq!(with(&split, "a", None), Err(IndexError::Split));
}

#[test]
fn extensions_and_a_missing_checksum_stay() {
    let bench = Bench::new();
    bench.git(&["config", "index.skipHash", "true"]);
    bench.git(&["config", "index.threads", "2"]);
    bench.git(&["update-index", "--untracked-cache", "--force-write-index"]);
    bench.git(&["status"]);
    let index = fs::read(index_path(&bench)).unwrap();
    assert_eq!(index[index.len() - 20..], [0; 20]);
    let found = look_up(&index, "notes/a.md").unwrap().unwrap();
    let same = Entry { kept: found, stat: FileStat::default() };
    let changed = with(&index, "notes/a.md", Some(same)).unwrap();
    for name in [b"TREE", b"UNTR"] {
        let has = |index: &[u8]| index.windows(4).any(|window| window == name);
        assert!(has(&index) && has(&changed), "{name:?}");
    }
    assert_eq!(changed[changed.len() - 20..], [0; 20]);
    let without = with(&index, "notes/a.md", None).unwrap();
    assert!(!without.windows(4).any(|window| window == b"UNTR"));
}

/// Entries added, changed and removed together, in any order, with stat fields that are known only at the end.
#[test]
fn a_draft_is_finished_at_the_right_places() {
    for version in 2..=4 {
        let paths = ["a.md", "b/c.md", "b/d.md", "e.md", "f.md"].map(str::to_owned);
        let bench = indexed(version, &paths);
        bench.git(&["write-tree"]);
        let index = fs::read(index_path(&bench)).unwrap();
        let told = |size: u32, digit| {
            let stat = FileStat { size, ..FileStat::default() };
            Some(Entry { stat, ..entry(digit) })
        };
        let changes = [
            ("f.md", told(1, '1')),
            ("b/c-added-before.md", told(2, '2')),
            ("b/d.md", None),
            ("a.md", told(3, '3')),
        ];
        let ours = with_all(&index, &changes, &Folders::new()).unwrap();
        fs::write(index_path(&bench), &ours).unwrap();
        let (all, checksum) = ours.split_at(ours.len() - 20);
        assert_eq!(Sha1::digest(all)[..], *checksum, "version {version}");
        let debug = bench.git(&["ls-files", "--debug"]);
        let sizes: Vec<_> = debug
            .lines()
            .filter_map(|line| line.trim().strip_prefix("size: ")?.split_whitespace().next())
            .collect();
        assert_eq!(sizes, ["3", "2", "0", "0", "1"], "version {version}: {debug}");
        let step_by_step = changes
            .iter()
            .fold(index, |index, change| with_all(&index, &[*change], &Folders::new()).unwrap());
        assert_eq!(ours, step_by_step, "version {version}");
    }
}
