use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

const UNLIMITED: Limits = Limits { lines: usize::MAX, of_file: usize::MAX, bytes: usize::MAX };

fn scan(text: &[u8], query: &str) -> FileMatches {
    Scanner::new(matcher(query).unwrap()).scan(&mut &*text, || UNLIMITED).unwrap()
}

/// The matching lines as `number: snippet`.
fn lines(text: impl AsRef<[u8]>, query: &str) -> Vec<String> {
    let found = scan(text.as_ref(), query);
    assert_eq!(found.total as usize, found.lines.len());
    found.lines.iter().map(|(number, snippet)| format!("{number}: {snippet}")).collect()
}

#[test]
fn finds_lines() {
    let none: [&str; 0] = [];
    assert_eq!(lines("one\ntwo\r\nthree\n", "o"), ["1: one", "2: two"]);
    assert_eq!(lines("a a a\nb\na", "a"), ["1: a a a", "3: a"]);
    assert_eq!(lines("Case\ncase\n", "case"), ["1: Case", "2: case"]);
    assert_eq!(lines("Case\ncase\n", "Case"), ["1: Case"]);
    assert_eq!(lines("ÉTÉ\nété\n", "été"), ["1: ÉTÉ", "2: été"]);
    assert_eq!(lines("ÉTÉ\nété\n", "É"), ["1: ÉTÉ"]);
    assert_eq!(lines("straße\nSTRASSE\n", "straße"), ["1: straße"]);
    assert_eq!(lines("a.c\nabc\n$1 \\d\n", "a.c"), ["1: a.c"]);
    assert_eq!(lines("a.c\nabc\n$1 \\d\n", "$1 \\d"), ["3: $1 \\d"]);
    assert_eq!(lines("\u{feff}first\n", "first"), ["1: first"]);
    assert_eq!(lines("\u{feff}first\n", "\u{feff}"), none);
    assert_eq!(lines("\u{feff}", "\u{feff}"), none);
    assert_eq!(lines(b"\0\0one\0\n\0two\n", "two"), ["2: \0two"]);
    assert_eq!(lines(b"caf\xe9 one\n", "one"), ["1: caf\u{fffd} one"]);
    assert_eq!(lines("one\rtwo\rthree", "two"), ["1: one\rtwo\rthree"]);
    assert_eq!(lines("one\r\n", "one\u{2028}"), none);
    assert_eq!(lines("", "a"), none);
    let both = "r\u{e9}sum\u{e9}\nre\u{301}sume\u{301}\nRE\u{301}SUM\u{c9}\nresume\n";
    for query in ["r\u{e9}sum\u{e9}", "re\u{301}sume\u{301}", "r\u{e9}sume\u{301}"] {
        assert_eq!(scan(both.as_bytes(), query).total, 3, "{query:?}");
    }
    assert_eq!(lines("\u{212b}\n\u{c5}\n", "\u{212b}"), ["1: \u{212b}", "2: \u{c5}"]);
    assert_eq!(lines("\u{1100}\u{1161}\n", "\u{ac00}"), ["1: \u{1100}\u{1161}"]);
    assert!(matcher(&"\u{ac01}".repeat(MAX_QUERY_BYTES / 3)).is_ok());
    assert_eq!(lines("\n\n\na", "a"), ["4: a"]);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let x = |count| "x".repeat(count);
    let whole = x(239) + "é";
    assert_eq!(lines(&whole, "é"), [format!("1: {whole}")]);
    assert_eq!(lines(whole.clone() + "\r\n", "é"), [format!("1: {whole}")]);
    assert_eq!(lines(whole + "x", "é"), [format!("1: …{}éx", x(238))]);
    assert_eq!(lines(x(1000) + "é" + &x(1000), "é"), [format!("1: …{}é{}…", x(119), x(120))]);
    assert_eq!(lines("é".to_owned() + &x(1000), "é"), [format!("1: é{}…", x(239))]);
    assert_eq!(
        lines("日".repeat(100) + &"本".repeat(300), "日本"),
        [format!("1: {}{}…", "日".repeat(100), "本".repeat(140))]
    );
    assert_eq!(lines(x(1000), &x(1000)), [format!("1: {}…", x(240))]);
    assert_eq!(lines("y".to_owned() + &x(300), &x(300)), [format!("1: …{}…", x(240))]);
    assert_eq!(
        lines([b"\xff".repeat(1000), b"one".to_vec()].concat(), "one"),
        [format!("1: …{}one", "\u{fffd}".repeat(237))]
    );
}

/// A line that is longer than the buffer yields the same result as in a larger one, regardless of the position of the match.
#[test]
fn lines_beyond_the_buffer() {
    for at in [
        0,
        1,
        BUFFER_BYTES - KEPT_BYTES - 1,
        BUFFER_BYTES - KEPT_BYTES,
        BUFFER_BYTES - SNIPPET_BYTES - 3,
        BUFFER_BYTES - 100,
        BUFFER_BYTES - 3,
        BUFFER_BYTES - 2,
        BUFFER_BYTES,
        3 * BUFFER_BYTES - 1,
    ] {
        for after in [0, 1, 2000, 2 * BUFFER_BYTES] {
            let (before, rest) = ("x".repeat(at), "y".repeat(after));
            let text = format!("\u{feff}first one\n{before}One{rest}one\nlast one");
            let line = format!("{before}One{rest}one");
            let expected = FileMatches {
                total: 3,
                lines: vec![
                    (1, "first one".into()),
                    (2, snippet(line.as_bytes(), at..at + 3)),
                    (3, "last one".into()),
                ],
            };
            assert_eq!(scan(text.as_bytes(), "one"), expected, "match at {at}, {after} bytes after it");
        }
    }
}

#[test]
fn queries_that_are_refused() {
    let rule = |query: &str| matcher(query).map_or_else(|error| error.rule(), |_| "ok");
    assert_eq!(rule(""), "query_empty");
    assert_eq!(rule("a\nb"), "query_multiline");
    assert_eq!(rule("a\r"), "query_multiline");
    assert_eq!(rule(&"k".repeat(MAX_QUERY_BYTES)), "ok");
    assert_eq!(rule(&"é".repeat(MAX_QUERY_BYTES / 2)), "ok");
    assert_eq!(rule(&"a".repeat(MAX_QUERY_BYTES + 1)), "query_too_long");
    assert_eq!(rule("((a*)*)*("), "ok");
}

/// A folder with files, and a search in it.
fn search_in(files: &[(String, Vec<u8>)], query: &str, limits: Limits) -> (SearchResult, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), files);
    let (root, rules) = (Root::open(place.path()).unwrap(), IgnoreRules::none());
    let found =
        search(&root, &LibraryDir::ROOT, &rules, query, limits, &|_| ControlFlow::Continue(())).unwrap();
    let listed = super::super::walk::list(&root, &LibraryDir::ROOT, true, &rules).unwrap();
    (found, listed.files.iter().map(|file| file.as_str().to_owned()).collect())
}

fn write(place: &Path, files: &[(String, Vec<u8>)]) {
    for (path, text) in files {
        fs::create_dir_all(place.join(path).parent().unwrap()).unwrap();
        fs::write(place.join(path), text).unwrap();
    }
}

#[test]
fn sees_the_files_that_are_listed() {
    let files: Vec<_> =
        ["a.md", "a/b.mdx", "a-b.md", ".hidden.md", "drafts/c.md", "text.txt", "a/.gitignore", "CON.md"]
            .iter()
            .map(|path| (path.to_string(), b"here".to_vec()))
            .chain([(".gitignore".to_owned(), b"drafts".to_vec())])
            .collect();
    let (found, listed) = search_in(&files, "here", Limits::default());
    let paths: Vec<&str> = found.matches.iter().map(|line| line.path.as_str()).collect();
    assert_eq!(paths, ["CON.md", "a-b.md", "a.md", "a/b.mdx"]);
    assert_eq!(paths, listed);
    assert_eq!((found.total_files, found.total_lines, found.truncated), (4, 4, false));
    let left_out = LeftOut { ignored: 1, hidden: 1, ..LeftOut::default() };
    assert_eq!(found.left_out, left_out);
}

#[test]
fn only_the_folder_asked_for() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), &[("a/x.md".into(), b"here".to_vec()), ("ab/x.md".into(), b"here".to_vec())]);
    let root = Root::open(place.path()).unwrap();
    let run = |dir: &str, cancelled| {
        let dir = LibraryDir::parse(dir).unwrap();
        search(&root, &dir, &IgnoreRules::none(), "here", Limits::default(), &|_| {
            if cancelled { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    };
    assert_eq!(run("a", false).unwrap().matches[0].path.as_str(), "a/x.md");
    assert_eq!(run("a", false).unwrap().total_lines, 1);
    assert_eq!(run("b", false).unwrap_err().rule(), "folder_not_found");
    assert_eq!(run("a", true).unwrap_err().rule(), "search_cancelled");
}

/// Unreadable files are counted and do not end the search.
#[test]
fn unreadable_files_are_counted() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
    let kept = Mutex::new(FirstMatches::new(UNLIMITED));
    let scanner = Scanner::new(matcher("a").unwrap());
    let mut searcher = Searcher { scanner, total_lines: 0, total_files: 0, unreadable: 0 };
    let path = || LibraryPath::parse("a.md").unwrap();
    searcher.search(path(), &mut Broken, &kept);
    searcher.search(path(), &mut &b"a"[..], &kept);
    assert_eq!((searcher.unreadable, searcher.total_files), (1, 1));
}

/// The simple case folding of the letters that the model writes with.
fn folded(c: char) -> char {
    match c {
        'A' => 'a',
        'K' | '\u{212a}' => 'k',
        'S' | 'ſ' => 's',
        'É' => 'é',
        'Σ' | 'ς' => 'σ',
        'ẞ' => 'ß',
        other => other,
    }
}

/// The whole of search in its simplest form: read everything, inspect each line, stop when full.
fn model(files: &[(String, Vec<u8>)], query: &str, limits: Limits) -> SearchResult {
    let exact = query.chars().any(char::is_uppercase);
    let fold = |text: &str| text.chars().map(|c| if exact { c } else { folded(c) }).collect::<String>();
    let (mut expected, mut bytes, mut full) = (SearchResult::default(), 0, false);
    let sorted: BTreeMap<_, _> = files.iter().cloned().collect();
    for (path, text) in sorted {
        let text = String::from_utf8(text).unwrap();
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let before = expected.total_lines;
        for (number, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !fold(line).contains(&fold(query)) {
                continue;
            }
            expected.total_lines += 1;
            if expected.total_lines - before > limits.of_file as u64 {
                continue;
            }
            bytes += line.len();
            full = full || expected.matches.len() == limits.lines || bytes > limits.bytes;
            if !full {
                let path = LibraryPath::parse(&path).unwrap();
                expected.matches.push(LineMatch { path, line: number as u64 + 1, snippet: line.to_owned() });
            }
        }
        expected.total_files += u64::from(expected.total_lines > before);
    }
    expected.truncated = expected.total_lines > expected.matches.len() as u64;
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn equals_a_line_by_line_scan(
        files in prop::collection::btree_map("[ab]{1,2}(/[ab]{1,2}){0,2}\\.md", "\u{feff}?([aAkK\u{212a}sSſéÉσςΣßẞ ]{0,6}\r?\n|[ak ]{0,3}\r?){0,12}", 0..12),
        query in "[aksſéσςß ]{1,2}|[aAkKsSéΣẞ]{1,2}|\u{feff}",
        limits in (0usize..12, 0usize..6, 0usize..60).prop_map(|(lines, of_file, bytes)| Limits { lines, of_file, bytes }),
    ) {
        let files: Vec<_> = files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
        let expected = model(&files, &query, limits);
        for _ in 0..2 {
            prop_assert_eq!(&search_in(&files, &query, limits).0, &expected);
        }
    }
}
