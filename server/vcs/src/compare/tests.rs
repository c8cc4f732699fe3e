use std::{collections::HashSet, fs, path::Path, time::Instant};

use super::*;
use crate::testing::{GO_ON, Random, commit, git, open, try_git};

/// A line of `git diff --numstat`: additions and deletions, unless it is binary; old path, if renamed; path.
type Line = (Option<(u64, u64)>, Option<String>, String);

/// Returns git's comparison; `None` if it fails.
fn reference(top: &Path, base: &str, target: &str) -> Option<Vec<Line>> {
    let attributes = format!("--attr-source={target}");
    let range = format!("{base}...{target}");
    let printed = try_git(top, &[&attributes, "diff", "--numstat", "-z", "-M", &range])?;
    let mut fields = printed.split('\0');
    let mut lines = Vec::new();
    while let Some(line) = fields.next().filter(|line| !line.is_empty()) {
        let mut columns = line.splitn(3, '\t');
        let mut column = || columns.next().expect("a column");
        let (added, deleted, path) = (column(), column(), column());
        let counts = added.parse().ok().zip(deleted.parse().ok());
        let (old, path) = match path {
            "" => (fields.next().map(str::to_owned), fields.next().expect("a path")),
            path => (None, path),
        };
        lines.push((counts, old, path.to_owned()));
    }
    Some(lines)
}

fn ours(repository: &GitRepository, base: &str, target: &str) -> Option<Vec<Line>> {
    let revision = |name| repository.revision(name).expect("a commit");
    match repository.compare(&revision(base), &revision(target), GO_ON) {
        Ok(comparison) => Some(comparison.files.into_iter().map(line).collect()),
        // Git reports no differences for a clone that lacks objects either.
        Err(VcsError::Unrelated { .. } | VcsError::Damaged { .. }) => None,
        Err(error) => panic!("{base}...{target}: {error}"),
    }
}

fn line(change: FileChange) -> Line {
    let counts = (!change.binary).then_some((change.additions, change.deletions));
    (counts, change.old_path, change.path)
}

/// Totals of comparisons, and their differences.
#[derive(Debug, Default)]
struct Agreement {
    comparisons: usize,
    files: usize,
    renames: usize,
    /// Files whose numbers differ.
    counts: Vec<String>,
    /// Files with different rename sources.
    paths: Vec<String>,
}

impl Agreement {
    fn add(&mut self, what: &str, expected: Option<Vec<Line>>, found: Option<Vec<Line>>) {
        assert_eq!(expected.is_some(), found.is_some(), "{what}");
        let (expected, found) = (expected.unwrap_or_default(), found.unwrap_or_default());
        self.comparisons += 1;
        self.files += expected.len();
        self.renames += expected.iter().filter(|(_, old, _)| old.is_some()).count();
        if expected == found {
            return;
        }
        let names = |lines: &[Line]| -> HashSet<(Option<String>, String)> {
            let names = lines.iter().map(|(_, old, path)| (old.clone(), path.clone()));
            names.collect()
        };
        let (of_git, ours) = (names(&expected), names(&found));
        for (old, path) in of_git.symmetric_difference(&ours) {
            self.paths.push(format!("{what}: {old:?} {path}"));
        }
        for (one, other) in expected.iter().flat_map(|one| found.iter().map(move |other| (one, other))) {
            if (&one.1, &one.2) == (&other.1, &other.2) && one.0 != other.0 {
                self.counts.push(format!("{what}: {} git {:?}, here {:?}", one.2, one.0, other.0));
            }
        }
        let order = |lines: &[Line]| lines.iter().map(|(_, _, path)| path.clone()).collect::<Vec<_>>();
        if of_git == ours {
            assert_eq!(order(&expected), order(&found), "{what}");
        }
    }
}

/// Compares `count` pairs of commits of the repository at `top`.
fn pairs(top: &Path, count: usize, seed: u64) -> Agreement {
    let repository = open(top);
    let commits = git(top, &["rev-list", "--all"]);
    let commits: Vec<_> = commits.lines().collect();
    let mut random = Random(seed);
    let mut agreement = Agreement::default();
    for at in 0..count {
        let base = random.below(commits.len());
        // Half of the pairs are near each other.
        let target = match at % 2 {
            0 => random.below(commits.len()),
            _ => base.saturating_sub(random.below(30)),
        };
        let (base, target) = (commits[base], commits[target]);
        let what = format!("{base}...{target}");
        agreement.add(&what, reference(top, base, target), ours(&repository, base, target));
    }
    agreement
}

/// This repository, if its history is available.
#[test]
fn comparisons_of_this_repository_equal_gits() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(top) = try_git(top, &["rev-parse", "--show-toplevel"]) else {
        eprintln!("skipped: the sources are in no git repository");
        return;
    };
    let top = Path::new(top.trim_end());
    let workspaces = crate::Workspaces::new(&[top.to_owned()], top).expect("a workspace");
    let at = workspaces.folder(".").expect("a folder");
    if let Err(error) = GitRepository::open(&workspaces, &at, GO_ON) {
        eprintln!("skipped: {error}");
        return;
    }
    let agreement = pairs(top, 40, 7);
    assert_eq!((agreement.counts, agreement.paths), (vec![], vec![]));
}

/// `TABELLION_TEST_REPOSITORIES` has paths of repositories, as `PATH` has folders.
#[test]
#[ignore = "measures on foreign repositories"]
fn comparisons_of_other_repositories_equal_gits() {
    let tops = std::env::var_os("TABELLION_TEST_REPOSITORIES").expect("paths of repositories");
    for top in std::env::split_paths(&tops) {
        let started = Instant::now();
        let agreement = pairs(&top, 200, 3);
        eprintln!(
            "{}: {} comparisons, {} files, {} renames; {} other numbers, {} other renames ({:?})",
            top.display(),
            agreement.comparisons,
            agreement.files,
            agreement.renames,
            agreement.counts.len(),
            agreement.paths.len(),
            started.elapsed(),
        );
        for line in agreement.counts.iter().chain(&agreement.paths).take(40) {
            eprintln!("  {line}");
        }
    }
}

/// Text of lines from a small set, so that many are common.
fn random_text(random: &mut Random) -> String {
    let lines = random.below(60);
    let end = ["", "\n", "\r\n"][random.below(3)];
    let mut text = String::new();
    for _ in 0..lines {
        let line = match random.below(4) {
            0 => String::new(),
            1 => "}".into(),
            2 => format!("line {}", random.below(12)),
            _ => format!("{} {}", "a longer line ".repeat(random.below(9)), random.below(40)),
        };
        text.push_str(&line);
        text.push_str(if random.below(20) == 0 { "\r\n" } else { "\n" });
    }
    text.push_str("the end");
    text.push_str(end);
    text
}

/// Returns a text with some lines replaced, moved or removed.
fn edited(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    for _ in 0..random.below(12) {
        let at = random.below(lines.len().max(1));
        match random.below(4) {
            0 if !lines.is_empty() => drop(lines.remove(at)),
            1 => lines.insert(at, "new\n"),
            2 => lines.insert(at, "\n"),
            _ => {
                let to = random.below(lines.len().max(1));
                if at < lines.len() && to < lines.len() {
                    lines.swap(at, to);
                }
            }
        }
    }
    lines.concat()
}

/// Makes a commit of random changes: edits, additions, deletions, renames with and without edits, modes, links, binary files.
fn random_commit(top: &Path, random: &mut Random, number: usize) {
    const NAMES: [&str; 12] = [
        "a.txt",
        "b.txt",
        "c.bin",
        "d",
        "sub/a.txt",
        "sub/b.txt",
        "sub/deep/a.txt",
        "x/y",
        "sub.txt",
        "é.txt",
        "with space",
        "x.md",
    ];
    let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
    for _ in 0..1 + random.below(6) {
        let mut path = top.join(NAMES[random.below(NAMES.len())]);
        if random.below(3) == 0 {
            path = top.join(format!("moved{}/{}", random.below(3), random.below(20)));
        }
        let other = match random.below(3) {
            0 => top.join(NAMES[random.below(NAMES.len())]),
            _ => top.join(format!("moved{}/{}", random.below(3), random.below(20))),
        };
        let blocked = |path: &Path| path.is_dir() || path.ancestors().skip(1).any(is_file);
        if blocked(&path) || blocked(&other) {
            continue;
        }
        for path in [&path, &other] {
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        }
        let action = random.below(14);
        if !is_file(&path) || path.is_symlink() {
            drop(fs::remove_file(&path));
            fs::write(&path, random_text(random)).expect("a file");
            continue;
        }
        let text = fs::read(&path).expect("a file");
        let text = String::from_utf8_lossy(&text).into_owned();
        match action {
            0 => fs::remove_file(&path).expect("removed"),
            1 | 9 if path != other => fs::rename(&path, &other).expect("renamed"),
            2 | 10..=12 if path != other => {
                drop(fs::remove_file(&other));
                fs::write(&other, edited(&text, random)).expect("a file");
                fs::remove_file(&path).expect("removed");
            }
            3 => fs::write(&path, text.into_bytes().into_iter().chain([0, 1]).collect::<Vec<_>>())
                .expect("a file"),
            #[cfg(unix)]
            4 => {
                fs::remove_file(&path).expect("removed");
                std::os::unix::fs::symlink("somewhere/else", &path).expect("a link");
            }
            #[cfg(unix)]
            5 => {
                use std::os::unix::fs::PermissionsExt;
                let mode = if random.below(2) == 0 { 0o755 } else { 0o644 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
            }
            6 => fs::write(&path, "").expect("a file"),
            _ => fs::write(&path, edited(&text, random)).expect("a file"),
        }
    }
    let attributes = [
        "*.bin -diff\n",
        "*.txt binary\n",
        "a.txt diff\n*.txt -diff\n",
        "[attr]raw -diff\n*.md raw\n",
        "sub/** -diff\n",
        "*.txt diff=special\n",
    ];
    match random.below(6) {
        0 => {
            fs::write(top.join(".gitattributes"), attributes[random.below(attributes.len())]).expect("a file")
        }
        1 if top.join("sub").is_dir() => {
            fs::write(top.join("sub/.gitattributes"), "a.txt diff\nb.txt -diff\n").expect("a file");
        }
        2 => drop(fs::remove_file(top.join(".gitattributes"))),
        _ => {}
    }
    commit(top, &[], &number.to_string());
}

#[test]
fn comparisons_of_random_repositories_equal_gits() {
    let mut random = Random(11);
    let mut agreement = Agreement::default();
    for _ in 0..4 {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        git(top, &["init", "-q"]);
        git(top, &["config", "diff.special.binary", "true"]);
        commit(top, &[], "first");
        for number in 0..30 {
            if number % 8 == 7 {
                // A branch from an earlier commit, and a merge of it.
                git(top, &["checkout", "-q", "-B", "other", "HEAD~3"]);
                random_commit(top, &mut random, number);
                git(top, &["checkout", "-q", "main"]);
                git(top, &["merge", "-q", "-s", "ours", "-m", "merge", "other"]);
            }
            random_commit(top, &mut random, number);
        }
        let some = pairs(top, 25, random.0);
        agreement.comparisons += some.comparisons;
        agreement.files += some.files;
        agreement.renames += some.renames;
        agreement.counts.extend(some.counts);
        agreement.paths.extend(some.paths);
    }
    assert_eq!((&agreement.counts[..], &agreement.paths[..]), (&[][..], &[][..]));
    assert!(agreement.files > 300 && agreement.renames > 20, "{agreement:?}");
}

/// Each case: files of two commits, with their text; and the expected change of each path, which must equal git's.
#[test]
fn each_kind_of_change_is_told() {
    use FileStatus::{Added, Deleted, Modified, Renamed};
    let lines = |from: usize, to: usize| (from..to).map(|line| format!("line {line}\n")).collect::<String>();
    let ten = lines(10, 20);
    type Files<'a> = &'a [(&'a str, &'a str)];
    type Expected<'a> = &'a [(&'a str, Option<&'a str>, FileStatus, u64, u64, bool)];
    let (half, less) = (lines(10, 15) + &lines(90, 95), lines(10, 14) + &lines(90, 96));
    let cases: &[(Files<'_>, Files<'_>, Expected<'_>)] = &[
        (&[], &[("a", &ten)], &[("a", None, Added, 10, 0, false)]),
        (&[], &[("a", "")], &[("a", None, Added, 0, 0, false)]),
        (&[("a", "x")], &[("a", "x\n")], &[("a", None, Modified, 1, 1, false)]),
        (&[("a", &ten)], &[], &[("a", None, Deleted, 0, 10, false)]),
        (&[("a", &ten)], &[("b", &ten)], &[("b", Some("a"), Renamed, 0, 0, false)]),
        (&[("a", "")], &[("b", "")], &[("b", Some("a"), Renamed, 0, 0, false)]),
        (&[("a", &ten)], &[("b", &half)], &[("b", Some("a"), Renamed, 5, 5, false)]),
        (
            &[("a", &ten)],
            &[("b", &less)],
            &[("a", None, Deleted, 0, 10, false), ("b", None, Added, 10, 0, false)],
        ),
        (&[("a", "x\0")], &[("a", "y\0")], &[("a", None, Modified, 0, 0, true)]),
        (&[("a", "x\0")], &[("c/a", "x\0")], &[("c/a", Some("a"), Renamed, 0, 0, true)]),
        // Among identical files, the one with the same base name is the source; or else the first.
        (
            &[("p/x", &ten), ("q/y", &ten)],
            &[("r/y", &ten)],
            &[("p/x", None, Deleted, 0, 10, false), ("r/y", Some("q/y"), Renamed, 0, 0, false)],
        ),
        (
            &[("p/x", &ten), ("q/y", &ten)],
            &[("r/z", &ten)],
            &[("q/y", None, Deleted, 0, 10, false), ("r/z", Some("p/x"), Renamed, 0, 0, false)],
        ),
        // A folder in place of a file.
        (&[("a", &ten)], &[("a/b", &half)], &[("a/b", Some("a"), Renamed, 5, 5, false)]),
        (
            &[("a", "x\n"), ("a.b", "y\n")],
            &[("a/c", "z\n"), ("a.b", "y\n")],
            &[("a", None, Deleted, 0, 1, false), ("a/c", None, Added, 1, 0, false)],
        ),
    ];
    for (before, after, expected) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        git(top, &["init", "-q"]);
        let write = |files: Files<'_>| -> Vec<(String, Option<String>)> {
            files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect()
        };
        let make = |files: Vec<(String, Option<String>)>, name: &str| {
            for entry in fs::read_dir(top).expect("a folder").flatten() {
                if entry.file_name() != ".git" {
                    let path = entry.path();
                    let removed =
                        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
                    removed.expect("removed");
                }
            }
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
            commit(top, &files, name);
            git(top, &["tag", name]);
        };
        make(write(before), "one");
        make(write(after), "two");
        let repository = open(top);
        let revision = |name| repository.revision(name).expect("a tag");
        let found = repository.compare(&revision("one"), &revision("two"), GO_ON).expect("a comparison");
        let told = found.files.iter().map(|file| {
            let FileChange { path, old_path, status, additions, deletions, binary, .. } = file;
            (path.as_str(), old_path.as_deref(), *status, *additions, *deletions, *binary)
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told, *expected, "{before:?} {after:?}");
        let totals = expected.iter().fold((0, 0), |sum, file| (sum.0 + file.3, sum.1 + file.4));
        assert_eq!((found.additions, found.deletions), totals);
        assert_eq!(reference(top, "one", "two"), ours(&repository, "one", "two"), "{before:?} {after:?}");
    }
}

#[test]
fn only_the_targets_side_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path();
    git(top, &["init", "-q"]);
    commit(top, &[("a", Some("a\n"))], "first");
    git(top, &["checkout", "-q", "-b", "topic"]);
    commit(top, &[("b", Some("b\n"))], "second");
    git(top, &["checkout", "-q", "main"]);
    commit(top, &[("c", Some("c\n"))], "third");
    git(top, &["checkout", "-q", "--orphan", "alone"]);
    commit(top, &[("d", Some("d\n"))], "other");
    let repository = open(top);
    let revision = |name| repository.revision(name).expect("a branch");
    let found = repository.compare(&revision("main"), &revision("topic"), GO_ON).expect("a comparison");
    assert_eq!(found.merge_base.to_string(), git(top, &["merge-base", "main", "topic"]));
    assert_eq!(found.files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["b"]);
    let unrelated =
        repository.compare(&revision("main"), &revision("alone"), GO_ON).expect_err("nothing in common");
    assert_eq!(
        unrelated.to_string(),
        "`main` and `alone` have no commit in common; compare branches of one history"
    );
    let cancelled = repository.compare(&revision("main"), &revision("topic"), &|| true);
    assert_eq!(cancelled.expect_err("cancelled").rule(), "cancelled");
}

/// More new files than git compares with all deleted ones: those under the same base name are found, others are not.
#[test]
fn too_many_files_are_compared_by_base_name_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path();
    git(top, &["init", "-q"]);
    // Written as a stream: adding thousands of files one by one takes minutes.
    let mut stream = String::new();
    for (mark, folder, extra) in [(1, "old", "before"), (2, "new", "after")] {
        stream.push_str(&format!(
            "commit refs/heads/main\nmark :{mark}\ncommitter Ada <a@example.com> {mark} +0000\ndata 0\n"
        ));
        stream.push_str(if mark == 1 { "" } else { "from :1\ndeleteall\n" });
        for file in 0..1003 {
            let text = format!(
                "{file} first line of it\n{file} second line of it\n{file} third line\n{extra} {file}\n"
            );
            let name = if file == 0 { "same".to_owned() } else { format!("{folder}{file}") };
            stream.push_str(&format!("M 644 inline {folder}/{name}\ndata {}\n{text}\n", text.len()));
        }
    }
    fs::write(top.join("stream"), stream).expect("a file");
    let stream = fs::File::open(top.join("stream")).expect("a file");
    let import = std::process::Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(top)
        .stdin(stream)
        .status();
    assert!(import.expect("git runs").success());
    git(top, &["tag", "before", "main~1"]);
    let found = ours(&open(top), "before", "main").expect("a comparison");
    assert_eq!(Some(&found), reference(top, "before", "main").as_ref());
    let renamed: Vec<_> = found.iter().filter(|(_, old, _)| old.is_some()).collect();
    assert_eq!(renamed, [&(Some((1, 1)), Some("old/same".to_owned()), "new/same".to_owned())]);
}
