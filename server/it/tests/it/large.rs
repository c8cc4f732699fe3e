//! Notes larger than those of any real library: each tool answers, or refuses and names the limit, and the server survives.
//! The test prints time and memory.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Library, Server, edit, process};

/// A hundred megabytes of lines, and fifty of one line; five in unoptimized builds.
const LINES: &str = "lines.md";
const ONE_LINE: &str = "line.md";
const WORDS: usize = if cfg!(debug_assertions) { 1_000_000 } else { 10_000_000 };
const LIMIT: &str = "67108864";

fn large() -> Library {
    let library = Library::with(&[("a.md", "# A\n")]);
    library.put(LINES, "All work and no play makes a long note.\n".repeat(2_500_000));
    library.put(ONE_LINE, "play ".repeat(WORDS));
    library
}

/// Returns the peak memory of a server in megabytes.
fn peak_memory(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process(&server.target))).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a number");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number") / 1024
}

#[test]
#[cfg(target_os = "linux")]
fn each_tool_answers_or_refuses_large_notes() {
    let library = large();
    let section = |path: &str| edit(path, "append", "", "more\n");
    let write = |path: &str| json!({ "path": path, "content": "short\n" });
    // Tool, note, arguments, and true if the note's size leads to a refusal.
    let cases: [(&str, &str, Value, bool); 12] = [
        ("read_markdown", LINES, json!({ "path": LINES }), true),
        ("read_markdown", ONE_LINE, json!({ "path": ONE_LINE }), false),
        ("preview_markdown_change", LINES, section(LINES), true),
        ("preview_markdown_change", ONE_LINE, section(ONE_LINE), false),
        ("search_markdown", LINES, json!({ "query": "no play" }), false),
        ("search_markdown", ONE_LINE, json!({ "query": "play play" }), false),
        ("edit_markdown", LINES, section(LINES), true),
        ("edit_markdown", ONE_LINE, section(ONE_LINE), false),
        ("write_markdown", LINES, write(LINES), true),
        ("write_markdown", ONE_LINE, write(ONE_LINE), false),
        ("delete_markdown", LINES, json!({ "path": LINES, "confirm": true }), true),
        ("delete_markdown", ONE_LINE, json!({ "path": ONE_LINE, "confirm": true }), false),
    ];
    for (tool, path, request, refused) in cases {
        let mut server = library.serve();
        let since = Instant::now();
        let outcome = server.call(tool, request);
        let (taken, memory) = (since.elapsed(), peak_memory(&server));
        println!(
            "{tool} {path}: {memory} MB, {taken:.1?}, {}",
            if outcome.is_ok() { "answered" } else { "refused" }
        );
        match outcome {
            Ok(_) => assert!(!refused, "{tool} {path}"),
            Err(refusal) => {
                assert!(refused, "{tool} {path}: {refusal:?}");
                assert!(refusal.message.contains(LIMIT), "{}", refusal.message);
            }
        }
        assert!(taken < Duration::from_secs(60), "{tool} {path}: {taken:?}");
        server.call("read_markdown", json!({ "path": "a.md" })).expect("the server lives");
        server.close();
    }
}
