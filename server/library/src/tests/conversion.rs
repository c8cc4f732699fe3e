//! Files with CRLF: the disk keeps the written bytes, git stores its own conversion and sees no difference.

use super::support::{Bench, change, make, path};

/// Attributes, `core.autocrlf`, and true if git then keeps CRLF.
const CASES: [(&str, &str, bool); 11] = [
    ("", "false", true),
    ("", "true", false),
    ("", "input", false),
    ("*.md text", "false", false),
    ("*.md text=auto", "false", false),
    ("*.md -text", "true", true),
    ("*.md binary", "input", true),
    ("*.md eol=crlf", "false", false),
    ("*.md text=auto eol=lf", "false", false),
    ("*.md crlf", "false", false),
    ("*.md -crlf", "true", true),
];

#[test]
fn git_sees_no_difference() {
    for (attributes, auto, keeps) in CASES {
        let shown = format!("{attributes:?}, autocrlf {auto}");
        let bench = Bench::new();
        bench.git(&["config", "core.autocrlf", auto]);
        bench.write(".gitattributes", &format!("{attributes}\n"));
        bench.git(&["add", "-A"]);
        bench.git(&["commit", "-q", "-m", "attributes", "--allow-empty"]);
        let library = bench.library();

        make(&library, &change("new.md", Some("a\r\nb\r\n"))).unwrap();
        assert_eq!(bench.read("new.md").unwrap(), "a\r\nb\r\n", "{shown}");
        assert_eq!(bench.status(), "", "{shown}");
        assert_eq!(bench.git(&["show", "HEAD:new.md"]).contains('\r'), keeps, "{shown}");
        assert!(!library.read(&path("new.md")).unwrap().unwrap().dirty, "{shown}");

        // Only a real change by a person is recorded as one.
        let before = bench.head();
        make(&library, &change("new.md", Some("c\r\n"))).unwrap();
        assert_eq!(bench.git(&["rev-list", "--count", &format!("{before}..HEAD")]), "1", "{shown}");
        assert_eq!(bench.status(), "", "{shown}");
        bench.assert_sound();
    }
}

#[test]
fn a_file_that_git_keeps_with_crlf_stays_so_under_auto() {
    let bench = Bench::new();
    bench.write("notes/a.md", "a\r\n");
    bench.git(&["-c", "core.autocrlf=false", "commit", "-q", "-a", "-m", "crlf"]);
    bench.write(".gitattributes", "*.md text=auto\n");
    make(&bench.library(), &change("notes/a.md", Some("b\r\n"))).unwrap();
    assert!(bench.git(&["cat-file", "-p", "HEAD:notes/a.md"]).contains("b"));
    assert_eq!(bench.status(), "?? .gitattributes");
    assert_eq!(bench.git(&["rev-list", "--count", "HEAD"]), "3");
}
