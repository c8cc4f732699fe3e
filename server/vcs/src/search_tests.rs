use super::*;
use crate::testing::{GO_ON, Playground, commit, git};

#[test]
fn lines_are_found_as_git_grep_finds_them() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    let long = format!("{}needle{}", "é".repeat(400), "x".repeat(400));
    commit(
        &top,
        &[
            ("a.txt", Some("first needle\nNeedle and needle\n\nlast needle")),
            ("crlf.txt", Some("one\r\nneedle two\r\n")),
            ("bom.txt", Some("\u{feff}needle at the start\n")),
            ("long.txt", Some(&long)),
            ("binary", Some("needle\0")),
            ("sub/deep.txt", Some("NEEDLE ÄRGER\nno such\n")),
            ("straße.txt", Some("K and \u{212a}elvin\n")),
            ("marks.txt", Some("a R\u{e9}sum\u{e9}\na Re\u{301}sume\u{301}\n")),
        ],
        "texts",
    );
    git(&top, &["branch", "before"]);
    commit(&top, &[("a.txt", None)], "less");
    let repository = place.open("repo").expect("a repository");
    let before = repository.revision("before").expect("a branch");
    for query in
        ["needle", "Needle", "NEEDLE", "first needle", "ärger", "ÄRGER", "needle.", "no", "absent", "k"]
    {
        let found = repository.search(&before, query, 1000, GO_ON).expect(query);
        let case = if query.chars().any(char::is_uppercase) { "--no-ignore-case" } else { "-i" };
        let arguments =
            ["-c", "core.quotePath=false", "grep", "-I", "-F", "-n", "-z", case, "-e", query, "before"];
        let printed = crate::testing::try_git(&top, &arguments).unwrap_or_default();
        // Git folds letters beyond ASCII only by the locale.
        if query.is_ascii() && query != "k" {
            let lines = printed.lines().map(|line| {
                let mut fields = line.split('\0');
                let path = fields.next().expect("a path").trim_start_matches("before:").to_owned();
                let number: u64 = fields.next().expect("a number").parse().expect("a number");
                (path, number)
            });
            let mut lines: Vec<_> = lines.collect();
            lines.sort_unstable();
            let mut ours: Vec<_> = found.lines.iter().map(|line| (line.path.clone(), line.line)).collect();
            ours.sort_unstable();
            assert_eq!(ours, lines, "{query}");
        }
        assert_eq!(found.total, found.lines.len() as u64, "{query}");
        assert_eq!(found.binary, 1, "{query}");
    }
    let folded = repository.search(&before, "k", 10, GO_ON).expect("lines");
    assert!(folded.lines.iter().any(|line| line.path == "straße.txt"));
    for query in ["r\u{e9}sum\u{e9}", "re\u{301}sum\u{e9}", "re\u{301}sume\u{301}"] {
        let found = repository.search(&before, query, 10, GO_ON).expect("lines");
        let lines: Vec<&str> = found.lines.iter().map(|line| &*line.snippet).collect();
        assert_eq!(lines, ["a R\u{e9}sum\u{e9}", "a Re\u{301}sume\u{301}"], "{query}");
    }
    let main = repository.revision("main").expect("a branch");
    let found = repository.search(&main, "first needle", 10, GO_ON).expect("lines");
    assert_eq!(found.total, 0);
}

#[test]
fn a_snippet_is_bounded_and_the_total_is_not() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    let long = format!("{}needle{}", "é".repeat(400), "x".repeat(400));
    let many = "needle\n".repeat(50);
    commit(
        &top,
        &[("long", Some(&long)), ("many", Some(&many)), ("short", Some("  a needle \r\n"))],
        "texts",
    );
    let repository = place.open("repo").expect("a repository");
    let head = repository.revision("HEAD").expect("a commit");
    let found = repository.search(&head, "needle", 3, GO_ON).expect("lines");
    assert_eq!((found.total, found.files, found.lines.len()), (52, 3, 3));
    assert_eq!(found.lines[0].path, "long");
    let snippet = &found.lines[0].snippet;
    assert_eq!(snippet.chars().count(), SNIPPET_CHARS + 2);
    assert!(
        snippet.starts_with("…é") && snippet.ends_with("x…") && snippet.contains("éneedlex"),
        "{snippet}"
    );
    let all = repository.search(&head, "needle", 100, GO_ON).expect("lines");
    assert_eq!(all.lines.last().map(|line| &*line.snippet), Some("  a needle "));
}

#[test]
fn what_is_not_searched_is_said() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    let huge = "needle\n".repeat(1 + MAX_SEARCHED_BYTES as usize / 7);
    commit(&top, &[("huge", Some(&huge)), ("small", Some("needle"))], "texts");
    let repository = place.open("repo").expect("a repository");
    let head = repository.revision("HEAD").expect("a commit");
    let found = repository.search(&head, "needle", 10, GO_ON).expect("lines");
    assert_eq!((found.total, found.too_large), (1, vec!["huge".to_owned()]));
    for (query, expected) in [
        ("", "the query is blank; give the text to look for"),
        (" \t", "the query is blank; give the text to look for"),
        ("a\nb", "the query has a line break; search is line by line, so give text from one line"),
        (&"x".repeat(4001), "the query has 4001 bytes, at most 4000; give a shorter part of the text"),
    ] {
        let error = repository.search(&head, query, 10, GO_ON).expect_err("refused");
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(repository.search(&head, "x", 10, &|| true).expect_err("cancelled").rule(), "cancelled");
}
