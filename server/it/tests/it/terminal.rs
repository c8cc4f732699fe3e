//! The commands for people: their output, their exit codes, and that only `init`, `undo` and `call` make changes.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tabellion_conformance::ledger;

use crate::support::{Library, TABELLION};

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command in the library's folder, with `input` on standard input.
pub(crate) fn run(library: &Library, arguments: &[&str], input: &str) -> Reply {
    run_at(Path::new("/nonexistent"), library, arguments, input)
}

/// As [`run`], with this home folder, where MCP clients keep their configuration.
pub(crate) fn run_at(home: &Path, library: &Library, arguments: &[&str], input: &str) -> Reply {
    let mut command = Command::new(TABELLION);
    command.args(arguments).current_dir(library.root());
    command
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("NO_COLOR")
        .env_remove("BRAINDRIVE_LIBRARY_PATH");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // A command that does not read its input may have ended.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Reply {
        code: output.status.code().expect("a code"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs a command that must succeed; returns its output.
fn shown(library: &Library, arguments: &[&str]) -> String {
    let reply = run(library, arguments, "");
    assert_eq!(reply.code, 0, "{arguments:?}: {reply:?}");
    reply.stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the id of the last commit.
pub(crate) fn head(library: &Library) -> String {
    let id = ledger::git(library.root(), &["rev-parse", "HEAD"]).expect("a commit");
    id.trim().to_owned()
}

/// Writes a document by a tool; returns the commit.
fn write(library: &Library, path: &str, content: &str) -> String {
    let call = ["call", "braindrive-markdown", "write_markdown", "--json", "--path", path, "--content", "-"];
    let reply = run(library, &call, content);
    assert_eq!(reply.code, 0, "{reply:?}");
    json(&reply.stdout)["response"]["git_commit_sha"].as_str().expect("a commit").to_owned()
}

#[test]
fn the_log_and_an_entry_are_shown() {
    let library =
        Library::with(&[("plan.md", "# Plan\n\none\n"), ("other.md", "x\n"), ("re\u{301}s.md", "y\n")]);
    let first = write(&library, "plan.md", "# Plan\n\ntwo\n");
    let second = write(&library, "notes/new.md", "new\n");
    let third = write(&library, "r\u{e9}s.md", "z\n");
    let absolute = library.path("notes/new.md");
    let absolute = absolute.to_str().expect("text");
    let log = shown(&library, &["log"]);
    assert!(log.find(&second[..10]) < log.find(&first[..10]), "newest first: {log}");
    for (arguments, commits) in [
        (&["log", "--json"][..], &[&third, &second, &first][..]),
        (&["log", "--json", "-n", "1"], &[&third]),
        (&["log", "--json", "plan.md"], &[&first]),
        (&["log", "--json", "./notes/"], &[&second]),
        (&["log", "--json", absolute], &[&second]),
        (&["log", "--json", "notes/new.md", "--library", "notes"], &[&second]),
        (&["log", "--json", "r\u{e9}s.md"], &[&third]),
        (&["log", "--json", "not"], &[]),
        (&["log", "--json", "other.md"], &[]),
    ] {
        let reply = run(&library, arguments, "");
        let found: Vec<_> =
            reply.stdout.lines().map(|line| json(line)["commit"].as_str().unwrap().to_owned()).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), commits, "{arguments:?}");
        assert_eq!(
            reply.code,
            i32::from(arguments.contains(&"not")),
            "{arguments:?}: a mistyped path is refused"
        );
    }
    let entry = shown(&library, &["show", &first[..7]]);
    for part in [&*first, "-one\n+two\n", "write_markdown", "+1 -1 lines", "client   tabellion/"] {
        assert!(entry.contains(part), "{part}: {entry}");
    }
    let entry = json(&shown(&library, &["show", "--json", &second]));
    assert_eq!(entry["changes"][0]["created"], true);
    assert_eq!(entry["changes"][0]["diff"], "--- /dev/null\n+++ b/notes/new.md\n@@ -0,0 +1 @@\n+new\n");
}

#[test]
fn a_path_that_no_document_has_is_refused() {
    let library = Library::with(&[("a.md", "a\n")]);
    write(&library, "a.md", "b\n");
    for command in ["log", "diff"] {
        for path in ["none.md", "none/../a.md", "..", "../a.md", "/", "/etc/passwd"] {
            let reply = run(&library, &[command, path], "");
            assert_eq!((reply.code, reply.stdout.as_str()), (1, ""), "{command} {path}");
            let said = format!("is called `{path}`, and no entry names it");
            assert!(reply.stderr.contains(&said), "{command} {path}: {reply:?}");
        }
    }
    for command in ["log", "audit"] {
        assert_eq!(run(&library, &[command, "-n", "0"], "").code, 2, "{command}");
    }
}

#[test]
fn a_wrong_entry_is_refused_with_advice() {
    let library = Library::with(&[("a.md", "a\n")]);
    let by_hand = head(&library);
    for command in ["show", "undo"] {
        for (entry, message, help) in [
            ("xyz", "`xyz` is not a commit id", "`tabellion log` lists the entries"),
            ("abc", "at least 4", "`tabellion log` lists the entries"),
            ("00000000", "no commit of this branch begins with", "`tabellion log` lists the entries"),
            (&by_hand, "is not an entry of this library's log", "git revert"),
        ] {
            let reply = run(&library, &[command, entry], "");
            assert_eq!((reply.code, reply.stdout.as_str()), (1, ""), "{command} {entry}");
            let lines: Vec<_> = reply.stderr.lines().collect();
            assert!(lines[0].starts_with("error: ") && lines[0].contains(message), "{reply:?}");
            assert!(lines[1].starts_with("  help: ") && lines[1].contains(help), "{reply:?}");
        }
    }
}

/// The document before the entry and after it, a person's version, and the result of undoing: the text, or a part of the
/// refusal.
type UndoCase = (&'static str, &'static str, Option<&'static str>, Result<&'static str, &'static str>);

#[test]
fn undo_is_one_commit_or_changes_nothing() {
    let cases: [UndoCase; 6] = [
        ("a\nb\nc\nd\n", "a\nB\nc\nd\n", None, Ok("a\nb\nc\nd\n")),
        ("a\nb\nc\nd\n", "a\nB\nc\nd\n", Some("a\nB\nc\nd\ne\n"), Ok("a\nb\nc\nd\ne\n")),
        ("a\nb\nc\nd\n", "a\nB\nc\nd\n", Some("a\nX\nc\nd\n"), Err("<<<<<<< as it is now\nX\n=======\nb\n")),
        ("a\nb\nc\nd\n", "a\nB\nc\nd\n", Some("a\nb\nc\nd\n"), Err("nothing to undo")),
        ("", "new\n", None, Ok("")),
        ("", "new\n", Some("newer\n"), Err("was created by this entry and has changed since")),
    ];
    for (before, after, by_hand, expected) in cases {
        let library = Library::with(&[("other.md", "x\n")]);
        if !before.is_empty() {
            library.put("a.md", before);
            library.commit_all("by hand");
        }
        let entry = write(&library, "a.md", after);
        if let Some(text) = by_hand {
            library.put("a.md", text);
        }
        let preview = run(&library, &["undo", "--dry-run", &entry], "");
        assert_eq!(preview.code, i32::from(expected.is_err()), "{preview:?}");
        let (entries, commit) = (shown(&library, &["log", "--json"]), head(&library));
        let reply = run(&library, &["undo", &entry], "");
        let log = shown(&library, &["log", "--json"]);
        let found = if library.path("a.md").exists() { library.get("a.md") } else { vec![] };
        match expected {
            Ok(text) => {
                assert_eq!(
                    (reply.code, String::from_utf8(found).unwrap()),
                    (0, text.to_owned()),
                    "{reply:?}"
                );
                assert!(reply.stdout.ends_with(&preview.stdout), "the preview is the result: {reply:?}");
                assert_eq!(log.lines().count(), entries.lines().count() + 1, "one entry");
                assert!(log.ends_with(&entries), "no other entry changes");
                assert!(shown(&library, &["status"]).contains("possible"));
            }
            Err(part) => {
                assert_eq!((reply.code, reply.stdout.as_str()), (1, ""), "{reply:?}");
                assert!(reply.stderr.contains(part), "{part}: {reply:?}");
                assert_eq!(String::from_utf8(found).unwrap(), by_hand.unwrap(), "never forced");
                assert_eq!((log, head(&library)), (entries, commit));
            }
        }
    }
}

/// A full disk behind standard output does not undo a change.
#[test]
#[cfg(target_os = "linux")]
fn a_change_whose_answer_cant_be_written_is_named() {
    let library = Library::with(&[("n.md", "# N\n")]);
    let first = write(&library, "a.md", "# A\n");
    let into_full = |arguments: &[&str]| {
        let mut command = Command::new(TABELLION);
        command.args(arguments).current_dir(library.root()).stdin(Stdio::null());
        let output = command.stdout(std::fs::File::create("/dev/full").expect("a device")).output();
        String::from_utf8(output.expect("it runs").stderr).expect("text")
    };
    let write = ["call", "braindrive-markdown", "write_markdown", "--path", "b.md", "--content", "x"];
    let undo = ["undo", &*first];
    for (arguments, done) in [
        (&write[..], "the call was made in "),
        (&[&write[..6], &["y", "--json"]].concat(), "the call was made in "),
        (&undo, "undone in "),
    ] {
        let stderr = into_full(arguments);
        let commit = head(&library);
        assert!(stderr.contains(&format!("{done}{}", &commit[..7])), "{arguments:?}: {stderr}");
    }
    let stderr = into_full(&["key", "create", "--keys", "keys.json", "--name", "Ada"]);
    assert!(stderr.contains("no key was made"), "{stderr}");
    assert_eq!(shown(&library, &["key", "list", "--keys", "keys.json"]), "");
}

#[test]
fn an_undone_entry_can_be_undone_too() {
    let library = Library::with(&[("a.md", "one\n")]);
    let entry = write(&library, "a.md", "two\n");
    let undone = json(&shown(&library, &["undo", "--json", &entry]));
    assert_eq!((undone["undone"].as_str(), library.get("a.md")), (Some(&*entry), b"one\n".to_vec()));
    shown(&library, &["undo", undone["commit"].as_str().unwrap()]);
    assert_eq!(library.get("a.md"), b"two\n");
}

#[test]
fn an_entry_that_git_wrote_again_is_undone_if_it_changes_what_it_says() {
    for (more, expected) in
        [("", Ok("one\n")), ("by hand\n", Err("was amended, and changes more than its entry says"))]
    {
        let library = Library::with(&[("a.md", "one\n")]);
        write(&library, "a.md", "two\n");
        library.put("a.md", format!("two\n{more}"));
        ledger::git(library.root(), &["commit", "--quiet", "--all", "--amend", "--no-edit"]).unwrap();
        let reply = run(&library, &["undo", &head(&library)], "");
        match expected {
            Ok(text) => assert_eq!((reply.code, library.get("a.md")), (0, text.into()), "{reply:?}"),
            Err(part) => assert!(reply.code == 1 && reply.stderr.contains(part), "{reply:?}"),
        }
    }
}

#[test]
fn a_deleted_file_comes_back_as_git_checks_it_out() {
    let library = Library::with(&[(".gitattributes", "* text eol=crlf\n"), ("a.md", "one\r\n")]);
    let reply =
        run(&library, &["call", "braindrive-markdown", "delete_markdown", "--path", "a.md", "--confirm"], "");
    assert_eq!(reply.code, 0, "{reply:?}");
    shown(&library, &["undo", &head(&library)]);
    assert_eq!(library.get("a.md"), b"one\r\n");
}

#[test]
fn an_entry_of_a_folder_above_is_named() {
    let library = Library::with(&[("a.md", "one\n"), ("sub/b.md", "b\n")]);
    let entry = write(&library, "a.md", "two\n");
    let sub = library.path("sub");
    let reply = run(&library, &["undo", &entry, "--library", sub.to_str().expect("text")], "");
    assert!(reply.stderr.contains("changed `a.md`, which is outside of this library's folder"), "{reply:?}");
}

#[test]
fn what_is_not_committed_is_shown() {
    let library = Library::with(&[
        ("a.md", "a\n"),
        ("dir/b.md", "b\n"),
        ("c.md", "c\n"),
        (".gitignore", "ignored.md\n"),
    ]);
    assert_eq!(shown(&library, &["diff"]), "");
    library.put("a.md", "A\n");
    std::fs::remove_file(library.path("dir/b.md")).unwrap();
    library.put("new.md", "new\n");
    library.put("re\u{301}s.md", "y\n");
    let new = library.path("new.md");
    let new = new.to_str().expect("text");
    library.put("ignored.md", "x\n");
    let diff = shown(&library, &["diff"]);
    assert_eq!(
        diff,
        "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-a\n+A\n--- a/dir/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
    );
    for (arguments, states) in [
        (&["diff", "--json"][..], &["modified", "deleted"][..]),
        (&["diff", "--json", "dir"], &["deleted"]),
        (&["diff", "--json", "c.md"], &[]),
        (&["diff", "--json", "new.md"], &["untracked"]),
        (&["diff", "--json", new], &["untracked"]),
        (&["diff", "--json", "r\u{e9}s.md"], &["untracked"]),
        (&["diff", "--json", "--untracked"], &["modified", "deleted", "untracked", "untracked"]),
    ] {
        let shown = shown(&library, arguments);
        let found: Vec<_> =
            shown.lines().map(|line| json(line)["state"].as_str().unwrap().to_owned()).collect();
        assert_eq!(found, states, "{arguments:?}");
    }
    let status = json(&shown(&library, &["status", "--json"]));
    assert_eq!((&status["ready"], &status["branch"]), (&true.into(), &"main".into()));
    assert_eq!(status["uncommitted"].as_array().unwrap().len(), 4, "{status}");
}

/// A command line in which `~` is a space of an argument, standard input, the exit code, and a part of the output.
#[test]
fn a_tool_is_called_with_its_fields_as_options() {
    let library = Library::with(&[("a.md", "# A\n\ntext\n")]);
    let append = "{\"path\":\"a.md\",\"operation\":{\"type\":\"append\",\"content\":\"x\"}}";
    let conditional = format!("braindrive-markdown edit_markdown --json-arguments {append} --if-base null");
    let edit = |arguments: &str| format!("braindrive-markdown edit_markdown --operation-type {arguments}");
    let remember = |arguments: &str| format!("learning-os write_memory_entry --file {arguments}");
    for (line, input, code, part) in [
        ("braindrive-markdown read_markdown --path a.md", "", 0, "# A\n\ntext\n"),
        // A value that begins like an option.
        (&edit("append --path a.md --operation-content -~b\n"), "", 0, "success: true"),
        ("braindrive-markdown edit_markdown --json-arguments -", append, 0, "git_commit_sha: "),
        (&conditional, "", 1, "error: `a.md` already exists"),
        (&edit("appendix --path a.md --operation-content x"), "", 2, "replace_section"),
        (&edit("append --operation-content x"), "", 2, "--path <TEXT>"),
        ("braindrive-markdown read_markdown --path ../a.md", "", 1, "error: `--path`: "),
        (
            "braindrive-markdown read_markdown --path b.md",
            "",
            1,
            "error: there is no file `b.md`; list its folder",
        ),
        ("braindrive-markdown read_markdown --path b.md --json", "", 1, "\"name\":\"NOT_FOUND\""),
        ("braindrive-markdown no_tool", "", 2, "unrecognized subcommand 'no_tool'"),
        ("safe-markdown-editor get_document", "", 2, "--document <PATH>"),
        ("safe-markdown-editor get_document --document a.md", "", 0, "# A\n"),
        (&remember("best_practices.md --content x"), "", 1, "approve it with `--yes`"),
        (&remember("decisions.jsonl --entry {"), "", 1, "is not JSON"),
        (&remember("best_practices.md --content - --yes"), "kept\n", 0, ""),
    ] {
        let words: Vec<_> =
            ["call"].into_iter().chain(line.split(' ')).map(|word| word.replace('~', " ")).collect();
        let arguments: Vec<_> = words.iter().map(String::as_str).collect();
        let reply = run(&library, &arguments, input);
        assert_eq!(reply.code, code, "{arguments:?}: {reply:?}");
        let said = [reply.stdout.as_str(), reply.stderr.as_str()].concat();
        assert!(said.contains(part), "{arguments:?}: {part}: {reply:?}");
    }
    assert_eq!(library.get("a.md"), b"# A\n\ntext\n- b\n\nx");
    assert_eq!(
        library.get(".claude/memory/best_practices.md"),
        b"kept\n",
        "what was not approved was not written"
    );
}

#[test]
fn every_tool_has_help_a_completion_and_a_manual_page() {
    let library = Library::empty();
    let bash = shown(&library, &["completions", "bash"]);
    for contract in tabellion_contracts::CONTRACTS {
        for tool in contract.tools {
            assert!(bash.contains(tool.name), "{}", tool.name);
            let help = shown(&library, &["call", contract.id, tool.name, "-h"]);
            assert!(help.starts_with(tool.description.lines().next().unwrap()), "{help}");
            for field in tool.input.wire()["required"].as_array().into_iter().flatten() {
                let option = format!("--{}", field.as_str().unwrap().replace('_', "-"));
                assert!(help.contains(&option) && bash.contains(&option), "{option}: {help}");
            }
            let page = shown(&library, &["man", "call", contract.id, tool.name]);
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{page}");
        }
    }
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        assert!(shown(&library, &["completions", shell]).contains("edit_markdown"), "{shell}");
    }
    assert!(shown(&library, &["man"]).contains("doctor"));
    for (command, part) in [
        (&["brainforge", "create_note"][..], "[OPTIONS] \\-\\-content <TEXT>"),
        (&["safe-markdown-editor", "update_section"], "\\-\\-document <PATH> "),
        (&["braindrive-markdown", "read_markdown"], concat!("\"tabellion ", env!("CARGO_PKG_VERSION"))),
    ] {
        let page = shown(&library, &[&["man", "call"], command].concat());
        assert!(page.contains(part), "{page}");
    }
    assert_eq!(run(&library, &["man", "no-such"], "").code, 1);
}

#[test]
fn commands_that_look_create_nothing() {
    for arguments in
        [&["log"][..], &["status"], &["diff"], &["show", "abcdef"], &["undo", "abcdef"], &["doctor"]]
    {
        let library = Library::empty();
        let reply = run(&library, arguments, "");
        assert_eq!(reply.code, 1, "{arguments:?}");
        assert!([reply.stdout, reply.stderr].concat().contains("tabellion init"), "{arguments:?}");
        assert_eq!(std::fs::read_dir(library.root()).unwrap().count(), 0, "{arguments:?}");
    }
}

#[test]
fn init_creates_a_library_once() {
    let library = Library::empty();
    for (folder, part) in [
        (".", "created a git repository"),
        (".", "is a library already (branch `main`); nothing was changed"),
        ("a/b", "is a library already"),
        ("a/c", "in the git repository"),
    ] {
        std::fs::create_dir_all(library.path("a/b")).unwrap();
        let said = shown(&library, &["init", folder]);
        assert!(said.contains(part), "{folder}: {said}");
    }
    let other = Library::empty();
    assert!(shown(&other, &["init", "x/y"]).contains("created the folder"));
    let reply = run(&other, &["init", "/etc"], "");
    assert_eq!(reply.code, 1);
    assert!(reply.stderr.contains("belongs to the system"), "{reply:?}");
}

#[test]
fn colours_are_for_terminals() {
    let library = Library::with(&[("a.md", "a\n")]);
    library.put("a.md", "b\n");
    for (arguments, coloured) in [
        (&["diff"][..], false),
        (&["diff", "--color", "always"], true),
        (&["diff", "--color", "never"], false),
        (&["status", "--color", "always"], true),
        (&["doctor"], false),
        (&["doctor", "--color", "always"], true),
    ] {
        assert_eq!(shown(&library, arguments).contains('\u{1b}'), coloured, "{arguments:?}");
    }
}
