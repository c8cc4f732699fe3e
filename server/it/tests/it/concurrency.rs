//! A reader beside git, which changes the files.

use std::thread;

use serde_json::json;
use tabellion_conformance::ledger;

use crate::support::Library;

/// Git removes the document and writes it again, in several steps.
#[test]
fn a_reader_sees_one_whole_branch_while_git_switches() {
    let contents = ["one\n", "another\n"].map(|line| line.repeat(50_000));
    let library = Library::with(&[("long.md", &contents[0])]);
    let git = |arguments: &[&str]| ledger::git(library.root(), arguments).expect("git");
    git(&["switch", "--quiet", "--create", "other"]);
    library.put("long.md", &contents[1]);
    library.commit_all("other");
    let mut server = library.serve();
    thread::scope(|scope| {
        let switching = scope.spawn(|| {
            for _ in 0..150 {
                git(&["switch", "--quiet", "main"]);
                git(&["switch", "--quiet", "other"]);
            }
        });
        while !switching.is_finished() {
            let read = server.call("read_markdown", json!({ "path": "long.md" }));
            let content = read.expect("it is there")["content"].take();
            let length = content.as_str().map(str::len);
            assert!(contents.iter().any(|whole| content == **whole), "{length:?} bytes");
        }
    });
    server.close();
}
