mod meaning;
mod names;

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{Arc, Barrier},
    thread,
};

use proptest::prelude::*;
use tempfile::TempDir;

use crate::{
    Choice, CodeError, CodeFilters, CodeHit, CodeIndex, CodeQuery, Entry, Folder, MAX_FAILURES, Selection,
    State, Stop, Tree,
};

/// Files in memory.
#[derive(Debug, Clone, Default)]
struct Texts(BTreeMap<(String, String), Vec<u8>>);

impl Texts {
    fn new(files: &[(&str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| ((String::new(), path.to_string()), text.as_bytes().to_vec()))
                .collect(),
        )
    }
}

impl Tree for Texts {
    fn entries(&self, _: &Stop) -> Result<Vec<Entry>, CodeError> {
        let entry = |(branch, path): &(String, String)| Entry {
            branch: branch.clone(),
            path: path.clone(),
            blob: None,
            choice: Choice::Written,
        };
        Ok(self.0.keys().map(entry).collect())
    }

    fn read(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        Ok(self.0[&(entry.branch.clone(), entry.path.clone())].clone())
    }
}

fn query(collection: &str, text: &str, limit: usize) -> CodeQuery {
    CodeQuery { text: text.into(), collections: vec![collection.into()], limit, ..CodeQuery::default() }
}

/// Writes a file and the folders that it is in.
fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

struct Bench {
    folder: TempDir,
    index: Arc<CodeIndex>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let index = Arc::new(CodeIndex::open(&folder.path().join("code.db")).unwrap());
        Self { folder, index }
    }

    /// Opens the index as another process would, as far as locks are concerned.
    fn again(&self) -> Arc<CodeIndex> {
        Arc::new(CodeIndex::open(&self.folder.path().join("code.db")).unwrap())
    }

    fn run(&self, tree: &dyn Tree) -> (u64, u64, usize) {
        let outcome = self.index.begin("c", "run", "/c").unwrap().finish(tree, &Stop::default()).unwrap();
        (outcome.changed, outcome.removed, outcome.failed.len())
    }

    fn search(&self, text: &str) -> Vec<CodeHit> {
        self.filtered(text, &[])
    }

    fn filtered(&self, text: &str, filters: &[(&str, &str)]) -> Vec<CodeHit> {
        let mut query = query("c", text, 1000);
        for (field, value) in filters {
            query.filters.add(field, value).unwrap();
        }
        let found = self.index.search(&query, None).unwrap();
        assert_eq!(found.total, found.hits.len());
        let scores: Vec<f64> = found.hits.iter().map(|hit| hit.score).collect();
        assert!(
            scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| (0.0..=1.0).contains(score)),
            "{scores:?}"
        );
        found.hits
    }

    fn paths(&self, text: &str, filters: &[(&str, &str)]) -> Vec<String> {
        self.filtered(text, filters).into_iter().map(|hit| hit.path).collect()
    }
}

/// Words that share no part and no stem.
const WORDS: [&str; 6] = ["alpha", "beaver", "candle", "drum", "ember", "fjord"];

const PROJECT: &[(&str, &str)] = &[
    (
        "src/parser.rs",
        "/// Reads a header.\npub fn parse_http_header(line: &str) -> Header {\n    split(line, \"->\")\n}\n",
    ),
    ("src/server.rs", "fn serve() {\n    let header = parse_http_header(\"x\");\n}\n"),
    ("tests/parser.rs", "#[test]\nfn parse_http_header_works() {\n    parse_http_header(\"a: b\");\n}\n"),
    ("web/[id]/page.ts", "const page = 1;\n"),
    ("web/app.ts", "export class HeaderView { render() { return 1 } }\n"),
    ("README.md", "# Headers\n\nHow parse_http_header parses a header.\n"),
    ("notes/日本語.txt", "猫が好き\n"),
];

/// A query, its filters, and the paths that it finds, best first.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn definitions_come_first_and_filters_hold() {
    let bench = Bench::new();
    assert_eq!(bench.run(&Texts::new(PROJECT)), (7, 0, 0));
    let cases: &[Case] = &[
        (
            "parse_http_header",
            &[],
            &["src/parser.rs", "src/server.rs", "tests/parser.rs", "README.md", "web/app.ts"],
        ),
        ("parseHttpHeader", &[("path", "src")], &["src/parser.rs", "src/server.rs"]),
        ("parseHttpHeader", &[("path", "./src/")], &["src/parser.rs", "src/server.rs"]),
        ("parseHttpHeader", &[("path", "src//./server.rs")], &["src/server.rs"]),
        ("parseHttpHeader", &[("path", "sr")], &[]),
        ("猫", &[("path", "./")], &["notes/日本語.txt"]),
        ("header", &[("language", "rust"), ("path", "**/parser.rs")], &["src/parser.rs", "tests/parser.rs"]),
        ("header", &[("kind", "class")], &["web/app.ts"]),
        ("header", &[("symbol", "HeaderView")], &["web/app.ts"]),
        ("header", &[("language", "python")], &[]),
        ("header", &[("language", ".RS"), ("path", "src\\parser.rs")], &["src/parser.rs"]),
        ("header", &[("path", "*.t?")], &["web/app.ts"]),
        ("header", &[("path", "src/*.ts")], &[]),
        ("page", &[("path", "web/[id]/page.ts")], &["web/[id]/page.ts"]),
        ("page", &[("path", "web/[id]")], &["web/[id]/page.ts"]),
        ("page", &[("path", "web/[[]id]/*.ts")], &["web/[id]/page.ts"]),
        ("header", &[("kind", "Classes")], &["web/app.ts"]),
        ("header", &[("language", "Text")], &["README.md"]),
        ("\"split(line, \"", &[], &["src/parser.rs"]),
        ("\"->\"", &[], &["src/parser.rs"]),
        // A quotation may begin and end within words.
        ("\"eader(line: &s\"", &[], &["src/parser.rs"]),
        ("what does `Server.serve()` do", &[], &["src/server.rs"]),
        ("```rust\nserve()\n```", &[], &["src/server.rs"]),
        ("`parse_http_header(\"a: b\")`", &[], &["tests/parser.rs"]),
        ("猫", &[], &["notes/日本語.txt"]),
        ("no such word", &[], &[]),
        ("\"", &[], &["src/parser.rs", "src/server.rs", "tests/parser.rs"]),
        ("NEAR(* OR -", &[], &[]),
    ];
    for (query, filters, expected) in cases {
        assert_eq!(bench.paths(query, filters), *expected, "{query} {filters:?}");
    }
    let spelled = Texts::new(&[
        ("a.js", "function parsePrice() {}\n"),
        ("src/price.rs", "fn parse_price() {}\n"),
        ("price.py", "def parse_price(): pass\n"),
        (
            "a.ipynb",
            "{\n\"cell_type\": \"code\",\n\"source\": [\n\"def halve(x):\\n\",\n\" return x / 2\"\n]\n}\n",
        ),
    ]);
    let other = Bench::new();
    other.run(&spelled);
    assert_eq!(other.paths("parsePrice", &[])[0], "a.js");
    assert_eq!(other.paths("parse_price", &[])[2], "a.js");
    let hit = &other.search("halve")[0];
    assert_eq!(
        (&*hit.content, hit.start_line, &*hit.language),
        ("def halve(x):\n return x / 2\n", 4, "python")
    );
    let hit = &bench.search("parse_http_header")[0];
    assert_eq!(
        (hit.start_line, hit.end_line, hit.kind.as_str(), hit.language.as_str()),
        (1, 4, "function", "rust")
    );
    assert_eq!(hit.symbol.as_deref(), Some("fn parse_http_header"));
    assert_eq!(hit.content, PROJECT[0].1);
    let mut extensions = CodeFilters::default();
    extensions.extensions(&["*.TS".into(), ".none".into()]);
    let query = CodeQuery { filters: extensions, ..query("c", "header", 9) };
    assert_eq!(bench.index.search(&query, None).unwrap().hits[0].path, "web/app.ts");
    for (field, value) in [
        ("colour", "red"),
        ("path", "[z"),
        ("path", "../src"),
        ("path", "src\\.."),
        ("path", "/src"),
        ("language", "nope"),
        ("kind", "nope"),
    ] {
        let refused = CodeFilters::default().add(field, value);
        assert!(matches!(refused, Err(CodeError::Filter(_))), "{field}:{value}");
    }
}

#[test]
fn a_question_finds_the_abbreviation_that_code_has() {
    let bench = Bench::new();
    bench.run(&Texts::new(&[
        ("auth.py", "def check_auth(ctx): pass\n"),
        ("app.py", "def context(application): pass\n"),
        ("b.py", "auth = 1\n"),
    ]));
    let cases: &[Case] = &[
        ("how does authorization work", &[], &["auth.py", "b.py"]),
        ("check of the context", &[], &["auth.py", "app.py"]),
        ("the application", &[], &["app.py"]),
        // A name alone is that name.
        ("auth", &[], &["b.py", "auth.py"]),
        ("authorization", &[], &[]),
        ("ctx", &[], &["auth.py"]),
        ("\"authorization\"", &[], &[]),
    ];
    for (query, filters, expected) in cases {
        assert_eq!(bench.paths(query, filters), *expected, "{query}");
    }
}

#[test]
fn spellings_with_the_same_composed_form_are_the_same() {
    let bench = Bench::new();
    let [decomposed, composed] = [
        "def nai\u{308}ve():\n    return \"Re\u{301}sume\u{301}\"\n",
        "def na\u{ef}ve():\n    return \"R\u{e9}sum\u{e9}\"\n",
    ];
    bench.run(&Texts::new(&[
        ("a.py", decomposed),
        ("b.py", composed),
        ("notes/e\u{301}t\u{e9}.py", "return"),
    ]));
    for name in ["na\u{ef}ve", "nai\u{308}ve"] {
        assert_eq!(bench.paths("return", &[("symbol", name)]), ["a.py", "b.py"], "{name}");
    }
    for quoted in ["`R\u{e9}sum\u{e9}`", "`Re\u{301}sume\u{301}`"] {
        assert_eq!(bench.paths(quoted, &[]), ["a.py", "b.py"], "{quoted}");
    }
    for path in ["\u{e9}t\u{e9}.*", "notes/e\u{301}te\u{301}.py"] {
        assert_eq!(bench.paths("return", &[("path", path)]), ["notes/e\u{301}t\u{e9}.py"], "{path}");
    }
}

#[test]
fn who_asks_for_tests_finds_them_unless_the_project_is_about_tests() {
    let parser = ("src/parser.rs", "fn parse() {}\n");
    let runner = ("src/runner.rs", "fn run(test: &Test) {}\n");
    let example = ("examples/parse.rs", "fn header() {}\n");
    let test = ("tests/parse.rs", "fn header() {}\n");
    for (source, query, first) in [
        (parser, "header test", "tests/parse.rs"),
        (parser, "header", "examples/parse.rs"),
        (runner, "header test", "examples/parse.rs"),
    ] {
        let bench = Bench::new();
        bench.run(&Texts::new(&[source, example, test]));
        let found = bench.paths(query, &[]);
        let found = found.iter().find(|path| **path != source.0);
        assert_eq!(found.map(String::as_str), Some(first), "{query} beside {source:?}");
    }
}

#[test]
fn a_run_takes_what_changed_and_says_what_it_could_not() {
    let bench = Bench::new();
    let mut texts = Texts::new(PROJECT);
    bench.run(&texts);
    assert_eq!(bench.run(&texts), (0, 0, 0));
    let name = |path: &str| (String::new(), path.to_owned());
    texts.0.insert(name("src/server.rs"), b"fn serve_quickly() {}\n".to_vec());
    texts.0.remove(&name("web/app.ts"));
    texts.0.insert(name("README.md"), vec![0xff, 0xfe]);
    texts.0.insert(name("a.bin"), vec![0; 10]);
    assert_eq!(bench.run(&texts), (1, 2, 2));
    assert_eq!(bench.paths("serve_quickly", &[]), ["src/server.rs"]);
    assert_eq!(bench.paths("render", &[]), [""; 0]);
    let status = bench.index.status("c").unwrap().unwrap();
    assert_eq!(
        (status.state, status.files_total, status.files_done, status.files_failed),
        (State::Idle, 7, 5, 2)
    );
    let failures = status.failures.iter();
    let failures: Vec<_> = failures.map(|failed| (&*failed.path, &*failed.reason)).collect();
    assert_eq!(
        failures,
        [("README.md", "it is no UTF-8 at byte 0"), ("a.bin", "it is no text: it has a NUL")]
    );
    assert_eq!(bench.index.clear("c").unwrap(), Some((5, 5)));
    assert_eq!(bench.index.clear("c").unwrap(), None);
    assert!(bench.search("serve_quickly").is_empty() && bench.index.status("c").unwrap().is_none());
    assert_eq!(bench.run(&texts), (5, 0, 2));
    texts.0.remove(&name("README.md"));
    texts.0.extend((0..30).map(|n| (name(&format!("z/{n:02}")), vec![0])));
    assert_eq!(bench.run(&texts), (0, 0, 31));
    let failures = bench.index.status("c").unwrap().unwrap().failures;
    assert_eq!(failures.len(), MAX_FAILURES);
}

#[test]
fn a_run_that_stopped_or_died_is_interrupted_and_one_at_a_time_runs() {
    let bench = Bench::new();
    let other = bench.again();
    let run = bench.index.begin("c", "first", "/c").unwrap();
    for index in [&bench.index, &other] {
        assert_eq!(index.status("c").unwrap().unwrap().state, State::Indexing);
        assert!(matches!(index.begin("c", "second", "/c"), Err(CodeError::Busy)));
        assert!(matches!(index.clear("c"), Err(CodeError::Busy)));
    }
    drop(run);
    assert_eq!(other.status("c").unwrap().unwrap().state, State::Interrupted);
    let stop = Stop::default();
    stop.stop();
    let run = other.begin("c", "second", "/c").unwrap();
    assert!(matches!(run.finish(&Texts::new(PROJECT), &stop), Err(CodeError::Ended)));
    assert_eq!(bench.index.status("c").unwrap().unwrap().state, State::Interrupted);
    let missing = Folder::new(bench.folder.path(), "missing", Selection::default());
    assert!(other.begin("c", "third", "/c").unwrap().finish(&missing, &Stop::default()).is_err());
    let status = bench.index.status("c").unwrap().unwrap();
    assert!(status.state == State::Failed && status.error.is_some_and(|error| error.contains("missing")));
    // Files that another process indexed are found at once.
    other.begin("c", "fourth", "/c").unwrap().finish(&Texts::new(PROJECT), &Stop::default()).unwrap();
    assert_eq!(bench.paths("serve", &[]), ["src/server.rs"]);
}

#[test]
fn a_run_waits_as_long_as_another_process_writes_unless_it_is_to_end() {
    let bench = Bench::new();
    let stop = Stop::default();
    let runs = ["waits", "ends"].map(|key| bench.index.begin(key, "run", "/c").unwrap());
    let other = tabellion_sqlite::CODE.connect(&bench.folder.path().join("code.db")).unwrap();
    let writes = crate::write::begin(&other).unwrap();
    thread::scope(|scope| {
        let [waits, ends] = runs;
        let waits = scope.spawn(|| waits.finish(&Texts::new(PROJECT), &Stop::default()));
        stop.stop();
        assert!(matches!(ends.finish(&Texts::new(PROJECT), &stop), Err(CodeError::Busy)));
        assert!(!waits.is_finished());
        drop(writes);
        assert!(waits.join().unwrap().is_ok());
    });
    assert_eq!(bench.index.status("ends").unwrap().unwrap().state, State::Interrupted);
    assert_eq!(bench.index.status("waits").unwrap().unwrap().state, State::Idle);
}

#[test]
fn a_damaged_index_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("code.db");
    for damage in [&b"no database"[..], &[0; 8192], b""] {
        fs::write(&path, damage).unwrap();
        let index = Arc::new(CodeIndex::open(&path).unwrap());
        assert_eq!(index.keys().unwrap(), [""; 0]);
        index.begin("c", "run", "/c").unwrap().finish(&Texts::new(PROJECT), &Stop::default()).unwrap();
        drop(index);
    }
}

#[test]
fn an_index_that_another_version_made_anew_is_neither_read_nor_written() {
    let bench = Bench::new();
    bench.run(&Texts::new(PROJECT));
    let run = bench.index.begin("c", "other", "/c").unwrap();
    let newer = tabellion_sqlite::CODE.connect(&bench.folder.path().join("code.db")).unwrap();
    newer.pragma_update(None, "user_version", tabellion_sqlite::CODE.format + 1).unwrap();
    assert!(matches!(run.finish(&Texts::new(&[]), &Stop::default()), Err(CodeError::Remade)));
    assert!(matches!(bench.index.search(&query("c", "serve", 1), None), Err(CodeError::Remade)));
    let files: i64 = newer.query_row("SELECT count(*) FROM file", [], |row| row.get(0)).unwrap();
    assert!(files > 0);
}

#[cfg(unix)]
#[test]
fn an_index_whose_file_was_removed_is_opened_anew() {
    for beside in [&["-wal", "-shm"][..], &[]] {
        let bench = Bench::new();
        bench.run(&Texts::new(PROJECT));
        assert!(bench.index.is_in_place());
        for ending in beside.iter().chain(&[""]) {
            fs::remove_file(bench.folder.path().join(format!("code.db{ending}"))).unwrap();
        }
        assert!(!bench.index.is_in_place());
        let anew = bench.again();
        assert_eq!(anew.keys().unwrap(), [""; 0]);
        anew.begin("c", "run", "/c").unwrap().finish(&Texts::new(PROJECT), &Stop::default()).unwrap();
        drop(bench.index);
        for index in [&anew, &Arc::new(CodeIndex::open(&bench.folder.path().join("code.db")).unwrap())] {
            assert!(index.is_in_place());
            assert_eq!(index.search(&query("c", "serve", 9), None).unwrap().hits.len(), 1);
        }
    }
}

#[test]
fn damaged_rows_end_no_search() {
    const VALUES: [&str; 7] = ["-1", "0", "1000000", "'[]'", "x''", "x'00ff'", "randomblob(300)"];
    let columns = [
        ("segment", &["chunks", "words", "buckets"][..]),
        ("bucket", &["words"]),
        ("file", &["segment", "first", "lengths", "texts", "blob"]),
        ("content", &["chunks", "text"]),
    ];
    for (table, columns) in columns {
        for (column, value) in columns.iter().flat_map(|column| VALUES.map(|value| (column, value))) {
            let bench = Bench::new();
            bench.run(&Texts::new(PROJECT));
            let file = rusqlite::Connection::open(bench.folder.path().join("code.db")).unwrap();
            // Values of the wrong type are refused by SQLite; texts take any.
            let sql = format!("UPDATE {table} SET {column} = {value}");
            if file.execute(&sql, []).is_err() {
                continue;
            }
            for text in ["header", "parse_http_header", "\"header\" line", "test header"] {
                // An error or fewer hits; the thread goes on.
                if let Ok(found) = bench.again().search(&query("c", text, 10), None) {
                    assert!(found.hits.len() <= found.total, "{sql}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn folders_are_read_by_their_ignore_rules_and_the_selection() {
    const EVERYTHING: &str = ".gitignore .hidden/h.rs a.rs large.cc src/.ignore src/f.py";
    const WITHOUT_SRC: &str = ".gitignore .hidden/h.rs a.rs large.cc";
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (path, text) in [
        (".gitignore", "*.log\n/build\n"),
        ("a.rs", "fn a() {}"),
        ("b.log", "log"),
        ("build/c.rs", "fn c() {}"),
        ("target/d.rs", "fn d() {}"),
        ("src/node_modules/e.js", "e"),
        ("src/f.py", "def f(): pass"),
        ("src/.ignore", "g.py\n"),
        ("src/g.py", "def g(): pass"),
        (".hidden/h.rs", "fn h() {}"),
        (".git/config", "[core]"),
        ("large.cc", &"x".repeat(2000)),
    ] {
        write(&root, path, text);
    }
    let all = Selection { max_file_size: 1000, ..Selection::default() };
    let of = |selection: &Selection| {
        let entries = Folder::new(&root, "", selection.clone()).entries(&Stop::default()).unwrap();
        entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>().join(" ")
    };
    let cases = [
        (all.clone(), EVERYTHING),
        (
            Selection { extensions: vec!["*.RS".into(), "python".into()], ..all.clone() },
            ".hidden/h.rs a.rs src/f.py",
        ),
        (Selection { extensions: vec!["*".into()], ..all.clone() }, EVERYTHING),
        (Selection { extensions: vec!["C++".into()], ..all.clone() }, "large.cc"),
        (Selection { exclude_dirs: vec!["src".into()], ..all.clone() }, WITHOUT_SRC),
        (Selection { exclude_dirs: vec!["src/".into()], ..all.clone() }, WITHOUT_SRC),
        (Selection { exclude_dirs: vec!["./src".into()], ..all.clone() }, WITHOUT_SRC),
        (Selection { exclude_dirs: vec!["/src".into()], ..all.clone() }, WITHOUT_SRC),
        (Selection { exclude_dirs: vec!["x/src".into()], ..all.clone() }, EVERYTHING),
        (Selection { ignore_patterns: vec!["./src/**".into()], ..all.clone() }, WITHOUT_SRC),
        (
            Selection { ignore_patterns: vec!["./*.rs".into()], ..all.clone() },
            ".gitignore .hidden/h.rs large.cc src/.ignore src/f.py",
        ),
        (
            Selection { ignore_patterns: vec!["*.rs".into(), "!a.rs".into(), ".*".into()], ..all.clone() },
            "a.rs large.cc src/f.py",
        ),
    ];
    for (selection, expected) in cases {
        assert_eq!(of(&selection), expected, "{selection:?}");
    }
    let without = vec!["src".into(), "a.rs".into()];
    let entries = Folder::new(&root, "", all.clone()).without(without).entries(&Stop::default()).unwrap();
    let paths: Vec<_> = entries.iter().map(|entry| &*entry.path).collect();
    assert_eq!(paths, [".gitignore", ".hidden/h.rs", "large.cc"]);
    // The root is taken even if its name is one that is skipped.
    let entries = Folder::new(root.join("target"), "", all.clone()).entries(&Stop::default()).unwrap();
    assert_eq!(entries.len(), 1);
    let bench = Bench::new();
    assert_eq!(bench.run(&Folder::new(&root, "", all)), (5, 0, 1));
}

#[test]
fn secrets_minified_files_and_submodules_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("/*! licence */\n{}\n", "var a=1;function b(){return secret};".repeat(100));
    let lines = "function b() { return secret }\n".repeat(100);
    let files = [
        (".env", "KEY=secret\n"),
        (".env.local", "KEY=secret\n"),
        ("deploy/prod.env", "KEY=secret\n"),
        (".env.example", "KEY=secret\n"),
        ("keys/server.pem", "secret\n"),
        ("home/.aws/credentials", "secret\n"),
        ("web/app.min.js", "secret()\n"),
        ("web/bundle.js", &long),
        ("web/style.css", &long),
        ("web/app.js", &lines),
        ("web/short.js", "secret()\n"),
        ("src/environment.rs", "fn secret() {}\n"),
        ("data.txt", &long),
        (".git/HEAD", ""),
        ("sub/.git", "gitdir: ../.git/modules/sub\n"),
        ("sub/secret.rs", "fn secret() {}\n"),
    ];
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    let plain = [".env.example", "data.txt", "src/environment.rs", "web/app.js", "web/short.js"];
    // Lines that take the files, the files that they add, and the number of files left out.
    for (lines, more, left_out) in
        [(&[][..], &[][..], 9), (&["!.env", "!web/bundle.js"], &[".env", "web/bundle.js"], 7)]
    {
        let bench = Bench::new();
        let selection = Selection {
            ignore_patterns: lines.iter().map(|line| line.to_string()).collect(),
            ..Selection::default()
        };
        bench.run(&Folder::new(folder.path(), "", selection));
        let mut found: Vec<String> = bench.paths("secret", &[]);
        found.sort();
        found.dedup();
        let mut expected = [&plain[..], more].concat();
        expected.sort_unstable();
        assert_eq!(found, expected);
        let status = bench.index.status("c").unwrap().unwrap();
        assert_eq!(
            (status.files_total, status.files_done, status.files_left_out),
            (14, 14 - left_out, left_out)
        );
        // A file that becomes one of them is removed.
        fs::write(folder.path().join("web/short.js"), &long).unwrap();
        bench.run(&Folder::new(folder.path(), "", Selection::default()));
        assert!(!bench.paths("secret", &[]).contains(&"web/short.js".to_owned()));
        fs::write(folder.path().join("web/short.js"), "secret()\n").unwrap();
    }
}

#[test]
fn files_are_left_out_by_names_in_any_case_and_sources_are_not() {
    let selection = Selection::default();
    let choose = selection.choose(Path::new("/project")).unwrap();
    let secrets = ".ENV a/.env.Local .envrc credentials.json service-account.json kubeconfig home/.kube/config .dockerconfigjson \
                   passwords.txt secret.txt conf/Secrets.yaml secrets.yml .bash_history wp-config.php google-services.json Server.PEM \
                   .dev.vars .dev.vars.staging android/key.properties keystore.properties local.properties secrets.prod.yaml \
                   ios/Secrets.xcconfig api_keys.json .env-prod .env_prod a.env.local deploy_rsa id_ed25519_sk AuthKey_1.p8 .yarnrc .credentials \
                   gcp-service-account.json shop-firebase-adminsdk-1.json google-credentials.json client-secret.json prod.tfvars.json \
                   terraform.rc credentials.tfrc.json .vault_pass.txt vault-password auth.json home/.m2/settings.xml .sentryclirc .databrickscfg \
                   kaggle.json gh/hosts.yml sftp-config.json .vscode/sftp.json rclone.conf ngrok.yml home/.bundle/config \
                   www.example.com.key .npmrc _netrc .zsh_history .git-credentials application_default_credentials.json terraform.tfstate.backup a.min.css a.js.map";
    let others = ".env.example .Env.Sample secret.rs credentials.py secrets/store.go src/secrets/mod.rs password.ts Password.java \
                  passwords.css kube/config.go kubeconfig/load.go secrets.md environment.env.rs keys.js history.txt .env.local.example \
                  example.env prod.sample.env secrets.example.yaml credentials.template.json locales/en/auth.json settings.xml config.json \
                  keys.properties vault_pass.py src/rsa.c monkey.properties tokens.json prod.tfvars.example .github/secret_scanning.yml";
    for (paths, expected) in [(secrets, Choice::LeftOut), (others, Choice::Written)] {
        for path in paths.split_whitespace() {
            assert_eq!(choose(path), Some(expected), "{path}");
        }
    }
}

#[test]
fn folders_are_left_out_by_name_or_path_and_what_is_no_folder_within_is_refused() {
    // A folder as written, and the expected exclusion of `a/src/x.rs` and of `src/x.rs`.
    for (written, expected) in [
        ("src", Some([true, true])),
        ("src\\", Some([true, true])),
        ("a/src", Some([true, false])),
        ("/project/src", Some([false, true])),
        (".", None),
        ("../src", None),
        ("src/*", None),
        ("/project", None),
    ] {
        let selection = Selection { exclude_dirs: vec![written.into()], ..Selection::default() };
        let chosen = selection.choose(Path::new("/project"));
        let found = chosen.map(|choose| ["a/src/x.rs", "src/x.rs"].map(|path| choose(path).is_none())).ok();
        assert_eq!(found, expected, "{written}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_if_asked_and_never_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("in");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("a.rs"), "fn inside() {}").unwrap();
    fs::write(folder.path().join("b.rs"), "fn outside() {}").unwrap();
    std::os::unix::fs::symlink("a.rs", root.join("link.rs")).unwrap();
    std::os::unix::fs::symlink("../b.rs", root.join("out.rs")).unwrap();
    std::os::unix::fs::symlink("..", root.join("up")).unwrap();
    let bench = Bench::new();
    let run = bench.run(&Folder::new(&root, "", Selection::default()));
    assert_eq!(run, (1, 0, 0), "a link is no file");
    assert_eq!(bench.paths("inside outside", &[]), ["a.rs"]);
    bench.run(&Folder::new(&root, "", Selection { follow_symlinks: true, ..Selection::default() }));
    assert!(bench.paths("outside", &[]).is_empty());
    let mut found = bench.paths("inside", &[]);
    found.sort();
    assert_eq!(found[..2], ["a.rs", "link.rs"]);
}

#[test]
fn two_processes_index_and_search_at_the_same_time() {
    let bench = Bench::new();
    let others: Vec<_> = (0..2).map(|_| bench.again()).collect();
    let start = Barrier::new(2);
    thread::scope(|scope| {
        for (number, index) in others.iter().enumerate() {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let key = format!("c{number}");
                for round in 0..20 {
                    let text = format!("fn word{round}() {{}}\n");
                    let texts = Texts::new(&[("a.rs", text.as_str()), ("b.rs", "fn other() {}\n")]);
                    index.begin(&key, "run", "/c").unwrap().finish(&texts, &Stop::default()).unwrap();
                    let query = query(&key, &format!("word{round}"), 9);
                    assert_eq!(index.search(&query, None).unwrap().hits[0].path, "a.rs");
                }
            });
        }
    });
    assert_eq!(bench.index.keys().unwrap(), ["c0", "c1"]);
}

/// A project as a model: paths, and the words of each file.
fn projects() -> impl Strategy<Value = Vec<BTreeMap<u8, Vec<u8>>>> {
    let files = prop::collection::btree_map(0_u8..12, prop::collection::vec(0_u8..6, 0..5), 0..12);
    prop::collection::vec(files, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After any runs, the index has the same hits, with the same scores, as an index made anew; and each file that has a word is found
    /// by it.
    #[test]
    fn an_index_that_followed_changes_equals_one_made_anew(projects in projects()) {
        let bench = Bench::new();
        for project in &projects {
            let texts: Vec<(String, String)> = project
                .iter()
                .map(|(path, words)| {
                    let body: String = words.iter().map(|word| format!("fn {}() {{}}\n\n", WORDS[usize::from(*word)])).collect();
                    (format!("d{}/f{path}.rs", path % 3), format!("use a;\n\n{body}"))
                })
                .collect();
            let borrowed: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            bench.run(&Texts::new(&borrowed));
            let anew = Bench::new();
            anew.run(&Texts::new(&borrowed));
            for query in WORDS {
                let (found, expected) = (bench.search(query), anew.search(query));
                prop_assert_eq!(&found, &expected);
                let mut paths: Vec<&str> = found.iter().map(|hit| hit.path.as_str()).collect();
                paths.sort();
                paths.dedup();
                let mut having: Vec<&str> = borrowed.iter().filter(|(_, text)| text.contains(&format!("{query}("))).map(|(path, _)| *path).collect();
                having.sort();
                prop_assert_eq!(paths, having);
            }
        }
    }

    #[test]
    fn any_text_is_a_query(text in any::<String>(), quoted in any::<String>()) {
        let bench = Bench::new();
        bench.run(&Texts::new(PROJECT));
        bench.search(&text);
        bench.search(&format!("{text} \"{quoted}\""));
    }
}

#[test]
fn a_path_can_be_anything_that_a_folder_has() {
    let folder = Path::new("/");
    for pattern in ["", "#", "a b", "*.[ch]"] {
        let selection = Selection { ignore_patterns: vec![pattern.into()], ..Selection::default() };
        assert!(selection.choose(folder).is_ok(), "{pattern}");
    }
}

#[test]
fn a_run_whose_process_ended_twice_has_failed_until_one_is_begun_anew() {
    let bench = Bench::new();
    let state = || {
        let status = bench.index.status("c").unwrap().unwrap();
        (status.state, status.error.is_some())
    };
    // A dropped run has the same state as one whose process ended.
    for _ in 0..2 {
        drop(bench.index.begin("c", "first", "/c").unwrap());
        assert_eq!(state(), (State::Interrupted, false));
    }
    for _ in 0..2 {
        let begun = bench.index.begin("c", "first", "/c").map(drop);
        assert!(matches!(begun, Err(CodeError::Abandoned)), "{begun:?}");
        assert_eq!(state(), (State::Failed, true));
    }
    let failures = || crate::failures(&bench.folder.path().join("code.db")).unwrap();
    assert_eq!(failures(), [("/c".to_owned(), CodeError::Abandoned.to_string())]);
    let anew = bench.index.begin("c", "second", "/c").unwrap();
    assert_eq!(failures(), []);
    let stop = Stop::default();
    stop.stop();
    // A run that was stopped is not counted.
    let ended = anew.finish(&Texts::new(&[("a.rs", "fn a() {}")]), &stop);
    assert!(matches!(ended, Err(CodeError::Ended | CodeError::Busy)), "{ended:?}");
    drop(bench.index.begin("c", "second", "/c").unwrap());
    drop(bench.index.begin("c", "second", "/c").unwrap());
    // A stored file is progress: the next process has different work.
    let texts = Texts::new(&[("a.rs", "fn a() {}")]);
    bench.index.begin("c", "third", "/c").unwrap().finish(&texts, &Stop::default()).unwrap();
    assert_eq!(state(), (State::Idle, false));
}

/// Irregular files that a clone may have in place of rules or sources: the run continues without them, and does not wait.
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_read() {
    for name in [".ignore", ".gitignore", "sub/.gitignore", ".git/info/exclude", "a.rs", "sub"] {
        for kind in ["pipe", "device", "large"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(folder.path().join("b.rs"), "fn inside() {}").unwrap();
            match kind {
                "pipe" => {
                    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success())
                }
                "device" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                _ => fs::File::create(&path).unwrap().set_len(6_000_000_000).unwrap(),
            }
            let bench = Bench::new();
            bench.run(&Folder::new(folder.path(), "", Selection::default()));
            assert_eq!(bench.paths("inside", &[]), ["b.rs"], "{kind} as {name}");
        }
    }
}

/// A folder is exchanged for a link to one outside after the files were listed, before they are read.
#[cfg(unix)]
#[test]
fn a_folder_that_becomes_a_link_during_a_run_leads_nowhere() {
    struct Exchanging<'t>(Folder, &'t Path);
    impl Tree for Exchanging<'_> {
        fn entries(&self, stop: &Stop) -> Result<Vec<Entry>, CodeError> {
            let entries = self.0.entries(stop)?;
            fs::rename(self.1.join("ws/zz"), self.1.join("ws/old")).unwrap();
            std::os::unix::fs::symlink(self.1.join("outside"), self.1.join("ws/zz")).unwrap();
            Ok(entries)
        }

        fn read(&self, entry: &Entry) -> io::Result<Vec<u8>> {
            self.0.read(entry)
        }
    }
    for follow_symlinks in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [("ws/zz/a.rs", "fn inside() {}"), ("outside/a.rs", "fn outside() {}")] {
            write(folder.path(), path, text);
        }
        let selection = Selection { follow_symlinks, ..Selection::default() };
        let bench = Bench::new();
        let tree = Exchanging(Folder::new(folder.path().join("ws"), "", selection), folder.path());
        assert_eq!(bench.run(&tree), (0, 0, 1), "{follow_symlinks}");
        assert!(bench.paths("outside", &[]).is_empty());
    }
}

/// Links that lead out are not followed, so no count reveals the files there; and links that lead around end.
#[cfg(unix)]
#[test]
fn links_reveal_nothing_of_what_is_outside() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in ["ws/in/a.rs", "ws/beside/b.rs", "outside/c.rs"] {
        write(folder.path(), path, "fn x() {}");
    }
    for (link, target) in [
        ("ws/in/out", "../../outside".to_owned()),
        ("ws/in/file.rs", "../../outside/c.rs".to_owned()),
        ("ws/in/absolute", at("outside").display().to_string()),
        ("ws/in/beside", "../beside".to_owned()),
        ("ws/in/through", "again/../../../outside".to_owned()),
        ("ws/in/self", "self".to_owned()),
        ("ws/in/around", ".".to_owned()),
        ("ws/in/again", "here".to_owned()),
        ("ws/in/here/up", "..".to_owned()),
    ] {
        fs::create_dir_all(at(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, at(link)).unwrap();
    }
    fs::write(at("ws/in/here/d.rs"), "fn x() {}").unwrap();
    let selection = Selection { follow_symlinks: true, ..Selection::default() };
    let entries = Folder::new(at("ws"), "in", selection).entries(&Stop::default()).unwrap();
    let paths: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["a.rs", "again/d.rs", "here/d.rs"]);
}
