use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;

/// A library in the folder `inside` of a fresh git repository.
struct TestLibrary {
    folder: tempfile::TempDir,
    root: Root,
    rules: IgnoreRules,
}

impl TestLibrary {
    /// `files` are paths in the work tree and their contents; a path that ends in `/` is an empty folder.
    fn new(inside: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work_dir = folder.path();
        gix::init(work_dir).unwrap();
        fs::create_dir_all(work_dir.join(inside)).unwrap();
        for (path, text) in files {
            let path = work_dir.join(path);
            if path.to_str().unwrap().ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        let root = Root::open(&work_dir.join(inside)).unwrap();
        let excludes_file = Some(work_dir.join(".git/excludes-file"));
        let rules = IgnoreRules::new(&root, work_dir, &work_dir.join(".git"), excludes_file, false).unwrap();
        Self { folder, root, rules }
    }

    /// Returns everything listed, folders with a closing `/`; or the rule that the folder breaks.
    fn list(&self, dir: &str, recursive: bool) -> Vec<String> {
        match list(&self.root, &LibraryDir::parse(dir).unwrap(), recursive, &self.rules) {
            Ok(listing) => {
                assert_eq!(listing.total, listing.files.len() + listing.folders.len());
                assert!(listing.files.is_sorted() && listing.folders.is_sorted());
                let folders = listing.folders.iter().map(|folder| format!("{}/", folder.as_str()));
                listing.files.iter().map(|file| file.as_str().to_owned()).chain(folders).collect()
            }
            Err(error) => vec![error.rule().to_owned()],
        }
    }

    fn exclusion(&self, path: &str) -> Option<Exclusion> {
        exclusion(&self.root, &LibraryPath::parse(path).unwrap(), &self.rules).unwrap()
    }
}

#[test]
fn shows_markdown_and_folders_that_are_part_of_the_library() {
    let place = TestLibrary::new(
        "",
        &[
            ("b.md", ""),
            ("a/c.markdown", ""),
            ("a/d/e.MDX", ""),
            ("a-b.md", ""),
            ("a/text.txt", ""),
            ("empty/", ""),
            (".hidden.md", ""),
            (".obsidian/x.md", ""),
            ("what?.md", ""),
            ("cafe\u{301}.md", ""),
            ("con/x.md", ""),
            ("module/.git", "gitdir: ../elsewhere"),
            ("module/x.md", ""),
            ("deep/clone/.git/", ""),
            ("deep/clone/sub/x.md", ""),
            ("node_modules/x.md", ""),
            ("a/drafts/x.md", ""),
            ("a/kept.md", ""),
            (".gitignore", "node_modules/\ndrafts\nkept.md\n"),
            ("a/.gitignore", "!kept.md"),
            (".ignore", "*"),
            (".rgignore", "*"),
            ("excluded.md", ""),
            ("foreign.md", ""),
            (".git/info/exclude", "/excluded.md"),
            (".git/excludes-file", "foreign.md"),
        ],
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("b.md", place.folder.path().join("link.md")).unwrap();
        std::os::unix::fs::symlink("a", place.folder.path().join("link")).unwrap();
    }
    let all = [
        "a-b.md",
        "a/c.markdown",
        "a/d/e.MDX",
        "a/kept.md",
        "b.md",
        "cafe\u{301}.md",
        "con/x.md",
        "what?.md",
        "a/",
        "a/d/",
        "con/",
        "deep/",
        "empty/",
    ];
    assert_eq!(place.list("", true), all);
    assert_eq!(
        place.list("", false),
        ["a-b.md", "b.md", "cafe\u{301}.md", "what?.md", "a/", "con/", "deep/", "empty/"]
    );
    assert_eq!(place.list("a", true), ["a/c.markdown", "a/d/e.MDX", "a/kept.md", "a/d/"]);
    assert_eq!(place.list("a/", false), ["a/c.markdown", "a/kept.md", "a/d/"]);
    assert_eq!(place.list("deep", false), [""; 0]);
    for (dir, rule) in [
        ("none", "folder_not_found"),
        ("b.md", "folder_is_file"),
        ("b.md/x", "folder_is_file"),
        ("node_modules", "folder_ignored"),
        ("a/drafts/none", "folder_ignored"),
        ("module", "folder_other_repository"),
        ("deep/clone/sub", "folder_other_repository"),
        #[cfg(unix)]
        ("link", "folder_symlink"),
        #[cfg(unix)]
        ("link/d", "folder_symlink"),
    ] {
        assert_eq!((dir, place.list(dir, true)), (dir, vec![rule.to_owned()]));
    }
    for (path, expected) in [
        ("b.md", None),
        ("new/new.md", None),
        ("new/drafts/new.md", Some(Exclusion::Ignored)),
        ("new/kept.md", Some(Exclusion::Ignored)),
        ("a/new/kept.md", None),
        ("module/new.md", Some(Exclusion::OtherRepository)),
    ] {
        assert_eq!((path, place.exclusion(path)), (path, expected));
    }
}

#[test]
#[cfg(unix)]
fn what_is_left_out_is_counted_by_reason() {
    use std::os::unix::{ffi::OsStrExt, fs::symlink};
    let files = [
        ("a.md", ""),
        ("text.txt", ""),
        (".hidden.md", ""),
        (".obsidian/x.md", ""),
        (".DS_Store", ""),
        ("line\nbreak.md", ""),
        (r"back\slash.md", ""),
        ("c:drive.md", ""),
        ("GIT~1/x.md", ""),
        ("module/.git", ""),
        ("sub/module/.git", ""),
        ("sub/.hidden.md", ""),
        ("drafts/a.md", ""),
        ("draft.md", ""),
        (".gitignore", "draft*"),
    ];
    let place = TestLibrary::new("", &files);
    let at = |name: &str| place.folder.path().join(name);
    symlink("a.md", at("link.md")).unwrap();
    symlink("sub", at("link")).unwrap();
    symlink("text.txt", at("link.txt")).unwrap();
    for name in [&b"caf\xe9.md"[..], b"caf\xe9", b"caf\xe9.txt"] {
        let name = at("").join(std::ffi::OsStr::from_bytes(name));
        if name.extension().is_none() {
            fs::create_dir(name).unwrap();
        } else {
            fs::write(name, "").unwrap();
        }
    }
    let here = LeftOut {
        ignored: 2,
        hidden: 2,
        not_regular: 2,
        other_repository: 1,
        unreadable: 0,
        name: 4,
        not_unicode: 2,
    };
    let mut below = here;
    below += LeftOut { hidden: 1, other_repository: 1, ..LeftOut::default() };
    for (recursive, expected) in [(false, here), (true, below)] {
        let listing = list(&place.root, &LibraryDir::ROOT, recursive, &place.rules).unwrap();
        assert_eq!(listing.left_out, expected);
    }
    let limits = crate::search::Limits::default();
    let found = crate::search::search(&place.root, &LibraryDir::ROOT, &place.rules, "x", limits, &|_| {
        ControlFlow::Continue(())
    });
    assert_eq!(found.unwrap().left_out, below);
}

#[test]
fn rules_above_the_library_count() {
    let files = [
        (".gitignore", "/docs/top.md\n*.mdx\n"),
        ("docs/.gitignore", "/notes/middle.md\n!b.mdx\n"),
        ("docs/notes/top.md", ""),
        ("docs/notes/middle.md", ""),
        ("docs/notes/a.mdx", ""),
        ("docs/notes/b.mdx", ""),
        ("docs/notes/sub/middle.md", ""),
    ];
    let place = TestLibrary::new("docs/notes", &files);
    assert_eq!(place.list("", true), ["b.mdx", "sub/middle.md", "top.md", "sub/"]);
    assert_eq!(place.exclusion("middle.md"), Some(Exclusion::Ignored));

    let ignored = TestLibrary::new("docs/notes", &[(".gitignore", "docs/\n"), ("docs/notes/a.md", "")]);
    assert_eq!(ignored.list("", true), ["folder_ignored"]);
    assert_eq!(ignored.exclusion("a.md"), Some(Exclusion::Ignored));
}

#[test]
fn the_repositorys_configuration_is_read() {
    let place =
        TestLibrary::new("", &[("a.md", ""), ("B.md", ""), (".gitignore", "b.md"), (".git/mine", "a.md")]);
    let config = place.folder.path().join(".git/config");
    let mine = place.folder.path().join(".git/mine");
    let mut file = fs::OpenOptions::new().append(true).open(config).unwrap();
    writeln!(file, "[core]\n\texcludesFile = \"{}\"\n\tignoreCase = true", mine.display()).unwrap();
    let repository = gix::open_opts(place.folder.path(), gix::open::Options::isolated()).unwrap();
    let rules = IgnoreRules::of_repository(&place.root, &repository).unwrap();
    assert_eq!(list(&place.root, &LibraryDir::ROOT, true, &rules).unwrap().total, 0);
}

#[test]
fn a_listing_is_bounded() {
    const ALL: usize = 5 * MAX_ENTRIES / 2;
    let mut parts = [FoundEntries::default(), FoundEntries::default()];
    for number in (0..ALL).rev() {
        let file = LibraryDir::ROOT.file(&format!("{number:07}.md")).unwrap();
        // Nearly all to one thread, which thus has more than it may hold.
        let part = &mut parts[usize::from(number % 10 == 0)];
        part.add([Entry::File(file)]);
        assert!(part.entries.len() < 2 * MAX_ENTRIES);
    }
    let [first, second] = parts;
    let listing = first.merge(second).into_listing();
    assert_eq!((listing.total, listing.truncated), (ALL, true));
    assert_eq!((listing.files.len(), listing.files[MAX_ENTRIES - 1].as_str()), (MAX_ENTRIES, "0099999.md"));
}

/// The remaining threads must not wait for the one that is gone.
#[test]
fn a_panic_in_one_thread_ends_the_walk() {
    let place = TestLibrary::new("", &[("a/a.md", ""), ("b/b.md", ""), ("c.md", "")]);
    let panicked = AtomicBool::new(false);
    let walked = std::panic::catch_unwind(|| {
        let once = |_: &mut (), _: WalkItem<'_>| {
            assert!(panicked.swap(true, Ordering::Relaxed), "on purpose");
            ControlFlow::Continue(())
        };
        walk(&place.root, &LibraryDir::ROOT, &place.rules, || (), once).is_ok()
    });
    assert!(walked.is_err());
}

/// Returns the paths that git itself would ignore.
fn git_ignored(work_dir: &Path, paths: &[String]) -> BTreeSet<String> {
    let mut git = Command::new("git");
    git.current_dir(work_dir).args([
        "-c",
        "core.excludesFile=.git/excludes-file",
        "check-ignore",
        "--no-index",
        "-z",
        "--stdin",
    ]);
    let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut asked = git.stdin.take().unwrap();
    asked.write_all(paths.join("\0").as_bytes()).unwrap();
    drop(asked);
    let answer = String::from_utf8(git.wait_with_output().unwrap().stdout).unwrap();
    answer.split_terminator('\0').map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The walk, the single query, and git agree for any rules at any place.
    #[test]
    fn git_agrees(rules in prop::collection::vec(rules_file(), 6), inside in prop::sample::select(vec!["", "a", "a/b"])) {
        let folders = ["", "a", "b", "a/b", "a/a", "a/b/a", "a/b/b", "b/a"];
        let names = ["a.md", "b.md", "ab.md", "a b.md", "[a].md"];
        let paths: Vec<String> = folders.iter().flat_map(|dir| names.map(|name| join(dir, name))).collect();
        let homes = [".gitignore", "a/.gitignore", "a/b/.gitignore", "b/.gitignore", ".git/info/exclude", ".git/excludes-file"];
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).chain(homes.into_iter().zip(rules.iter().map(String::as_str))).collect();
        let place = TestLibrary::new(inside, &files);

        let ignored = git_ignored(place.folder.path(), &paths);
        let own = |path: &String| if inside.is_empty() { Some(path.clone()) } else { Some(path.strip_prefix(inside)?.strip_prefix('/')?.to_owned()) };
        let visible: BTreeSet<String> = paths.iter().filter(|path| !ignored.contains(*path)).filter_map(own).collect();
        let listed: BTreeSet<String> = place.list("", true).into_iter().filter(|path| path.ends_with(".md")).collect();
        prop_assert_eq!(&listed, &visible);
        for path in paths.iter().filter_map(own) {
            prop_assert_eq!(place.exclusion(&path).is_none(), visible.contains(&path), "{}", path);
        }
    }
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

/// Generates the text of a `.gitignore`, mostly about existing files.
fn rules_file() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "*", "**", "?", "[ab]", "[!a]", ".md", "a.md", "\\[", " ", "\\ ", "#", "a b",
    ]);
    let pattern = (
        prop::sample::select(vec!["", "", "", "!", "/", "!/", "**/", "\\!"]),
        prop::collection::vec(prop_oneof![3 => piece, 1 => Just("/")], 0..4),
        prop::sample::select(vec!["", "", "/", " ", "/**", "\r"]),
    );
    let lines = pattern.prop_map(|(start, pieces, end)| format!("{start}{}{end}\n", pieces.concat()));
    prop::collection::vec(lines.prop_filter("gix and git differ", |line| is_common_ground(line)), 0..4)
        .prop_map(|lines| lines.concat())
}

/// Leaves out the two unusual forms named in the module's documentation.
fn is_common_ground(line: &str) -> bool {
    let pattern = line.trim_end().trim_start_matches('!');
    let glued = |segment: &str| segment.contains("**") && segment != "**";
    !pattern.contains("//") && !pattern.split('/').any(glued)
}
