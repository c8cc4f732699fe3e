//! Small input that is expensive, or claims to be: each is tried on a server that may have one gigabyte of address space.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::{
    http::{Request, Url},
    ledger::git,
};

use crate::{
    http,
    support::{Library, Server, TABELLION, process},
    terminal,
};

/// Address space of a server, in kibibytes.
const ADDRESS_SPACE: usize = 1 << 20;
/// Upper bound of the time for the work of the background, in unoptimized builds on a machine that is in use.
const WORK_TIMEOUT: Duration = Duration::from_secs(120);
const MIB: usize = 1 << 20;

/// Returns a command with a limit of memory. Glibc's arenas take address space and no memory, so there are few.
fn limited(command: &Command) -> Command {
    let mut limited = Command::new("sh");
    let script = format!("ulimit -v {ADDRESS_SPACE} && exec \"$0\" \"$@\"");
    limited.args(["-c", &script]).arg(command.get_program());
    limited.args(command.get_args()).env("MALLOC_ARENA_MAX", "1");
    limited
}

/// Makes git objects by plumbing, which takes anything.
struct Trees {
    git: std::process::Child,
}

impl Trees {
    fn spawn(library: &Library) -> Self {
        let git = Command::new("git")
            .arg("-C")
            .arg(library.root())
            .args(["mktree", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Self { git: git.expect("git") }
    }

    /// Returns the id of the tree with these entries, as `git ls-tree` shows them.
    fn tree(&mut self, entries: &str) -> String {
        let input = self.git.stdin.as_mut().expect("a pipe");
        input.write_all(format!("{}\n\n", entries.trim_end()).as_bytes()).expect("git reads");
        let mut id = [0; 41];
        let output = self.git.stdout.as_mut().expect("a pipe");
        output.read_exact(&mut id).expect("git writes");
        String::from_utf8_lossy(&id[..40]).into_owned()
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        drop(self.git.stdin.take());
        let _ = self.git.wait();
    }
}

/// Commits a folder of `levels` nested trees, each of which has the next under each of `names`, in addition to HEAD's entries.
fn nest(library: &Library, levels: usize, names: &[&str]) {
    nest_file(library, "a.md", levels, names);
}

/// As [`nest`]; the innermost tree has a file of this name.
fn nest_file(library: &Library, file: &str, levels: usize, names: &[&str]) {
    let top = git(library.root(), &["ls-tree", "HEAD"]).expect("a tree");
    let blob = git(library.root(), &["rev-parse", "HEAD:note.md"]).expect("a note");
    let mut trees = Trees::spawn(library);
    let mut tree = trees.tree(&format!("100644 blob {}\t{file}", blob.trim()));
    for _ in 0..levels {
        let entries = names.iter().map(|name| format!("040000 tree {tree}\t{name}\n"));
        tree = trees.tree(&entries.collect::<String>());
    }
    let top = trees.tree(&format!("{top}040000 tree {tree}\tnested"));
    commit(library, &top);
}

/// Commits a tree on top of HEAD.
fn commit(library: &Library, tree: &str) {
    let run = |arguments: &[&str]| git(library.root(), arguments).expect("git").trim().to_owned();
    let commit = run(&["commit-tree", "-p", "HEAD", "-m", "more", tree]);
    run(&["update-ref", "HEAD", &commit]);
}

/// Replaces the object named `name` by one whose header claims six gigabytes.
fn claim_much(library: &Library, name: &str, kind: &str) {
    let id = git(library.root(), &["rev-parse", name]).expect("an object");
    let (folder, rest) = id.trim().split_at(2);
    let path = library.path(&format!(".git/objects/{folder}/{rest}"));
    fs::remove_file(&path).expect("a loose object");
    fs::write(path, zlib(format!("{kind} {}\0x", 6_usize << 30).as_bytes())).expect("an object");
}

/// Returns `data` in zlib's format, stored.
fn zlib(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("a short one");
    let (a, b) = data.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    let block = [&[0x78, 0x01, 1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), data];
    [&block.concat()[..], &(b << 16 | a).to_be_bytes()].concat()
}

/// A repository: its name, and the function that makes it of a library with the committed note `note.md`.
type Repository = (&'static str, fn(&Library));

/// One for each walk: through paths, through levels, and to objects.
const SOME: [Repository; 3] = [
    ("billions of paths", |library| nest(library, 32, &["a", "b"])),
    ("20,000 nested folders", |library| nest(library, 20_000, &["a"])),
    ("a tree that claims gigabytes", |library| {
        claim_much(library, "HEAD^{tree}", "tree");
    }),
];

const OTHERS: [Repository; 4] = [
    ("billions of paths in the past", |library| {
        let before = git(library.root(), &["rev-parse", "HEAD^{tree}"]).expect("a tree");
        nest(library, 32, &["a", "b"]);
        commit(library, before.trim());
    }),
    ("billions of folders without a document", |library| {
        nest_file(library, "a.txt", 32, &["a", "b"]);
    }),
    ("folders of 400,000 folders", |library| {
        let names: Vec<_> = (0..400_000).map(|number| number.to_string()).collect();
        nest(library, 3, &names.iter().map(String::as_str).collect::<Vec<_>>());
    }),
    ("a note that claims gigabytes", |library| {
        claim_much(library, "HEAD:note.md", "blob");
        library.put("note.md", "# Other\n");
    }),
];

fn made(make: fn(&Library)) -> Library {
    let library = Library::with(&[("note.md", "# Note\n")]);
    make(&library);
    library
}

#[test]
fn commands_end_in_order_in_some_repositories() {
    commands_end_in_order(&SOME);
}

#[test]
fn commands_end_in_order_in_all_others() {
    commands_end_in_order(&OTHERS);
}

#[test]
#[cfg(target_os = "linux")]
fn the_server_survives_some_repositories() {
    the_server_survives(&SOME);
}

#[test]
#[cfg(target_os = "linux")]
fn the_server_survives_all_others() {
    the_server_survives(&OTHERS);
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_of_code_survives_some_repositories() {
    a_server_of_code_survives(&SOME);
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_of_code_survives_all_others() {
    a_server_of_code_survives(&OTHERS);
}

fn is_orderly(status: ExitStatus) -> bool {
    status.code().is_some_and(|code| code < 100)
}

fn commands_end_in_order(repositories: &[Repository]) {
    for (name, make) in repositories {
        let library = made(*make);
        for command in ["status", "diff", "log", "doctor"] {
            let begun = Instant::now();
            let mut program = Command::new(TABELLION);
            program.args([command, "--library"]).arg(library.root());
            let output = limited(&program).output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(is_orderly(output.status), "{name}: {command}: {}: {said}", output.status);
            println!("{name}: {command}: {:?}, {}", begun.elapsed(), output.status);
        }
    }
}

#[cfg(target_os = "linux")]
fn the_server_survives(repositories: &[Repository]) {
    for (name, make) in repositories {
        let library = made(*make);
        for start in ["first", "second"] {
            let begun = Instant::now();
            let mut server = Server::start(&mut limited(&library.command()));
            let path = format!("{start}.md");
            let written = server.call("write_markdown", json!({ "path": path, "content": "# New\n" }));
            // A tree that can't be read permits no change.
            assert_eq!(written.is_err(), name.starts_with("a tree"), "{name}: {written:?}");
            let read = server.call("read_markdown", json!({ "path": path }));
            assert_eq!(read.is_err(), written.is_err(), "{name}: {read:?}");
            if written.is_ok() {
                wait_for_cache(&library, name);
            }
            let log = server.call("get_markdown_activity_log", json!({}));
            println!(
                "{name}: {:?}, {} MiB, log: {}",
                begun.elapsed(),
                peak(process(&server.target)),
                log.is_ok()
            );
            server.close();
        }
    }
}

#[cfg(target_os = "linux")]
fn a_server_of_code_survives(repositories: &[Repository]) {
    for (name, make) in repositories {
        let library = made(*make);
        let root = library.root();
        let begun = Instant::now();
        // The branch does not exist if the case made no commit.
        let _ = git(root, &["branch", "before", "HEAD~1"]);
        let head = git(root, &["symbolic-ref", "--short", "HEAD"]).expect("a branch");
        let (head, data) = (head.trim(), tempfile::TempDir::new().expect("a folder"));
        let mut command = Command::new(TABELLION);
        command.args(["serve", "--contract", "mcb", "--data"]).arg(data.path());
        command.arg("--workspace").arg(root);
        let mut server = Server::start(&mut limited(&command));
        let collection = "bombs";
        for (tool, request) in [
            ("vcs", json!({ "action": "list_repositories", "repo_path": root })),
            (
                "vcs",
                json!({ "action": "compare_branches", "repo_id": "*", "repo_path": root, "base_branch": "before", "target_branch": head }),
            ),
            (
                "vcs",
                json!({ "action": "search_branch", "repo_id": "*", "repo_path": root, "query": "x", "target_branch": head }),
            ),
            (
                "vcs",
                json!({ "action": "index_repository", "repo_id": "*", "repo_path": root, "branches": [head], "include_commits": true }),
            ),
            ("index", json!({ "action": "start", "path": root, "collection": collection })),
            ("index", json!({ "action": "git_index", "path": root, "collection": collection })),
            ("validate", json!({ "action": "run", "path": root })),
        ] {
            let answer = server.call(tool, request.clone());
            println!(
                "{name}: {tool} {}: {:?}, {} MiB",
                request["action"],
                begun.elapsed(),
                peak(process(&server.target))
            );
            if let Err(refusal) = answer {
                println!("    {}", refusal.message);
            }
        }
        let status = || json!({ "action": "status", "collection": collection });
        let until = Instant::now() + WORK_TIMEOUT;
        while server.call("index", status()).is_ok_and(|status| status.to_string().contains("running")) {
            assert!(Instant::now() < until, "{name}: the run does not end");
            thread::sleep(Duration::from_millis(100));
        }
        let alive = server.call("index", json!({ "action": "status" }));
        assert!(alive.is_ok(), "{name}: {alive:?}");
        println!("{name}: {:?}, {} MiB", begun.elapsed(), peak(process(&server.target)));
        server.close();
    }
}

#[test]
fn a_run_that_ended_the_server_twice_is_not_tried_again() {
    let library = made(|_| {});
    let file = |name: &str| library.path(&format!(".git/tabellion/{name}"));
    let fixed = || terminal::run(&library, &["doctor", "--fix", "--yes"], "").code;
    let write = |server: &mut Server, path: &str| {
        server.call("write_markdown", json!({ "path": path, "content": "# New\n" }))
    };
    library.put(".git/tabellion/log.sqlite-attempts", "2");
    let mut server = library.serve();
    write(&mut server, "a.md").expect("it works without the cache");
    thread::sleep(Duration::from_secs(1));
    let log = server.call("get_markdown_activity_log", json!({}));
    assert!(log.expect("a log").to_string().contains("a.md"));
    server.close();
    assert!(!file("log.sqlite").exists());
    assert_eq!(fixed(), 0);
    let mut server = library.serve();
    write(&mut server, "b.md").expect("a change");
    wait_for_cache(&library, "permitted again");
    server.close();
    assert!(!file("log.sqlite-attempts").exists(), "a clean end is an end");

    library.put(".git/tabellion/recovery-attempts", "2");
    library.put(".git/tabellion/intent", "torn");
    let mut server = library.serve();
    let refused = write(&mut server, "c.md").expect_err("it is not recovered");
    assert!(refused.message.contains("doctor --fix"), "{refused:?}");
    server.call("read_markdown", json!({ "path": "b.md" })).expect("reading works");
    server.close();
    assert_eq!(fixed(), 0);
    write(&mut library.serve(), "c.md").expect("a change");
}

#[test]
fn a_note_behind_billions_of_paths_is_read() {
    let library = made(|_| {});
    let mut command = library.command();
    command.args(["--contract", "brainforge", "--as", "owner"]);
    let serve = || Server::start(&mut limited(&command));
    let mut server = serve();
    let note = json!({ "content": "# Locks\n\nThey are held.", "note_type": "permanent" });
    let note = server.call("create_note", note).expect("a note");
    server.close();
    nest(&library, 32, &["a", "b"]);
    let mut server = serve();
    let uri = format!("note://{}", note["note_id"].as_str().expect("an id"));
    let read = server.target.request("resources/read", json!({ "uri": uri }));
    let read = read.expect("an answer");
    assert!(read["result"]["contents"][0].is_object(), "{read}");
    server.close();
}

/// Waits until the log's cache knows the commits.
fn wait_for_cache(library: &Library, name: &str) {
    let file = |ending: &str| -> PathBuf { library.path(&format!(".git/tabellion/log.sqlite{ending}")) };
    let until = Instant::now() + WORK_TIMEOUT;
    let mut still = 0;
    while still < 5 {
        assert!(Instant::now() < until, "{name}: the cache is never written");
        thread::sleep(Duration::from_millis(100));
        still = if file("").exists() && !file("-attempts").exists() { still + 1 } else { 0 };
    }
}

/// Returns the peak memory of a process, in mebibytes.
fn peak(id: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    number.unwrap_or_default() >> 10
}

#[test]
#[cfg(target_os = "linux")]
fn a_message_of_many_values_is_refused() {
    let library = made(|_| {});
    let mut server = Server::start(&mut limited(&library.command()));
    for (part, end) in [("[[],[]],", "0"), ("{\"a\":{}},", "0"), ("\"\",", "0"), ("\"a\":{},", "0")] {
        let many = part.repeat(44 * MIB / part.len());
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"x":[{many}{end}]}}}}"#);
        server.target.send(&line).expect("it reads");
        let answer = server.target.receive().expect("an answer");
        assert_eq!(answer["error"]["code"], if part.starts_with("\"a") { -32700 } else { -32600 });
    }
    println!("{} MiB", peak(process(&server.target)));
    server.close();
}

/// Opens a session; returns the answer's status.
fn initialize(url: &Url, client: &Value) -> u16 {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": client,
    } });
    let mut request = Request::new("POST").with("Accept", "*/*").with("Content-Type", "application/json");
    request.body = message.to_string().into_bytes();
    request.send(url, WORK_TIMEOUT).expect("an answer").status
}

#[test]
#[cfg(target_os = "linux")]
fn idle_sessions_hold_little() {
    let library = made(|_| {});
    let mut command = library.command();
    command.args(["--http", "127.0.0.1:0"]);
    let server = http::Server::start(limited(&command).stdin(Stdio::null()));
    let client = json!({ "name": "t", "version": "0", "title": "x".repeat(20 * MIB) });
    let [few, more] = [3, 9].map(|sessions| {
        for _ in 0..sessions {
            assert_eq!(initialize(&server.url(), &client), 200);
        }
        peak(server.id())
    });
    assert!(more < few + 60, "{few} MiB, then {more} MiB");
    let short: Value = json!({ "name": "t", "version": "0" });
    assert_eq!(initialize(&server.url(), &short), 200);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn half_sent_requests_keep_no_one_out() {
    let library = made(|_| {});
    let mut command = library.command();
    command.args(["--http", "127.0.0.1:0"]);
    let server = http::Server::start(limited(&command).stdin(Stdio::null()));
    let url = server.url();
    for half in [
        "",
        "POST /mcp HTTP/1.1\r\nHost: local",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ] {
        let held: Vec<_> = (0..600)
            .map(|_| {
                let mut stream = TcpStream::connect(url.authority()).expect("a connection");
                // The server may have closed it already.
                let _ = stream.write_all(half.as_bytes());
                stream
            })
            .collect();
        let client = json!({ "name": "t", "version": "0" });
        assert_eq!(initialize(&url, &client), 200, "{half:?}");
        drop(held);
    }
    assert_eq!(server.terminate(), Some(0));
}
