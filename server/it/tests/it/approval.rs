//! Approval by a person, with the built server: nothing is written without approval, and other calls do not wait for it.

use serde_json::{Value, json};
use tabellion_conformance::{Target, ledger};

use crate::support::{Answer, Library, Outcome, Server, outcome, stateless};

const MEMORY: &str = ".claude/memory/best_practices.md";
const CONTRACTS: [&str; 4] = ["--contract", "learning-os", "--contract", "braindrive-markdown"];

/// Returns the capabilities of a client that supports elicitation.
fn able() -> Value {
    json!({ "elicitation": {} })
}

/// A call whose approval was requested from the person.
struct ApprovalRequest {
    call: i64,
    question: Value,
}

impl ApprovalRequest {
    fn message(&self) -> &str {
        self.question["params"]["message"].as_str().expect("a message")
    }
}

/// Starts a session with a client that supports elicitation; `arguments` are added to those for the contracts.
fn serve(library: &Library, arguments: &[&str]) -> Target {
    let mut target =
        Target::start(library.command().args(CONTRACTS).args(arguments)).expect("the server starts");
    target.initialize_as("2025-11-25", &able()).expect("a handshake");
    target
}

/// Calls a tool, and returns the request that the client shows.
fn ask(target: &mut Target, tool: &str, arguments: Value) -> ApprovalRequest {
    let call = target.post("tools/call", json!({ "name": tool, "arguments": arguments })).expect("sent");
    let question = target.receive().expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    ApprovalRequest { call, question }
}

fn reply(target: &mut Target, pending: &ApprovalRequest, action: &str) -> Outcome<Answer> {
    let reply = json!({ "jsonrpc": "2.0", "id": pending.question["id"], "result": { "action": action } });
    target.send(reply.to_string()).expect("sent");
    let message = target.receive().expect("an answer");
    assert_eq!(message["id"], pending.call, "{message}");
    outcome(&message)
}

fn practice(text: &str) -> Value {
    json!({ "file": "best_practices.md", "content": text })
}

fn write(text: &str) -> Value {
    json!({ "path": "a.md", "content": text })
}

#[test]
fn the_server_writes_exactly_the_approved_content() {
    let library = Library::with(&[(MEMORY, "- one\n"), ("a.md", "old\n")]);
    let mut target = serve(&library, &["--approve", "write_markdown"]);
    let before = library.ledger();

    for action in ["decline", "cancel"] {
        let pending = ask(&mut target, "write_memory_entry", practice("- two\n"));
        assert!(pending.message().ends_with("\n\n- two\n"), "{}", pending.message());
        assert!(pending.message().contains(MEMORY));
        reply(&mut target, &pending, action).expect_err("not approved");
        let pending = ask(&mut target, "write_markdown", write("new\n"));
        assert!(pending.message().ends_with("@@ -1 +1 @@\n-old\n+new\n"), "{}", pending.message());
        reply(&mut target, &pending, action).expect_err("not approved");
        assert_eq!(library.ledger(), before);
    }

    let pending = ask(&mut target, "write_memory_entry", practice("- two\n"));
    reply(&mut target, &pending, "accept").expect("written");
    assert_eq!(library.get(MEMORY), b"- one\n- two\n");
    let pending = ask(&mut target, "write_markdown", write("new\n"));
    reply(&mut target, &pending, "accept").expect("written");
    assert_eq!(library.get("a.md"), b"new\n");
    assert_eq!(library.ledger().commits_since(&before).len(), 2);
    target.close().expect("it exits");
}

#[test]
fn a_question_says_what_happens_to_the_file() {
    let library = Library::with(&[("a.md", "old\n"), ("empty.md", "")]);
    let approved = ["--approve", "write_markdown,delete_markdown,edit_markdown"];
    let mut target = serve(&library, &approved);
    let delete = |path: &str| json!({ "path": path, "confirm": true });
    let append = json!({ "path": "a.md", "operation": { "type": "append", "content": "new\n" } });
    for (tool, arguments, expected) in [
        (
            "write_markdown",
            json!({ "path": "b.md", "content": "new\n" }),
            "Create `b.md`?\n\n--- /dev/null\n+++ b/b.md\n@@ -0,0 +1 @@\n+new\n",
        ),
        ("write_markdown", json!({ "path": "c.md", "content": "" }), "Create `c.md`?\n\nThe file is empty."),
        ("edit_markdown", append, "Change `a.md`?\n\n--- a/a.md\n+++ b/a.md\n@@ -1 +1,3 @@\n old\n+\n+new\n"),
        (
            "write_markdown",
            json!({ "path": "a.md", "content": "old\n\nnew\n" }),
            "Change `a.md`?\n\nIts content stays the same.",
        ),
        (
            "delete_markdown",
            delete("a.md"),
            "Delete `a.md`?\n\n--- a/a.md\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-old\n-\n-new\n",
        ),
        ("delete_markdown", delete("empty.md"), "Delete `empty.md`?\n\nThe file is empty."),
    ] {
        let pending = ask(&mut target, tool, arguments);
        assert_eq!(pending.message(), expected);
        reply(&mut target, &pending, "accept").expect("done");
    }
    target.close().expect("it exits");
}

/// A person is not asked about a change that can't be made.
#[test]
fn a_change_that_cannot_be_made_is_refused_before_the_question() {
    for expected in ["HEAD", "merge", "ignore"] {
        let library = Library::with(&[("a.md", "old\n")]);
        let git = |arguments: &[&str]| ledger::git(library.root(), arguments).expect("git");
        match expected {
            "HEAD" => drop(git(&["checkout", "--quiet", "--detach"])),
            "merge" => library.put(".git/MERGE_HEAD", git(&["rev-parse", "HEAD"])),
            _ => library.put(".gitignore", ".claude/\n"),
        }
        let mut target = serve(&library, &[]);
        let call = json!({ "name": "write_memory_entry", "arguments": practice("- two\n") });
        let answer = target.request("tools/call", call).expect("an answer, and no question");
        let refusal = outcome(&answer).expect_err("refused");
        assert!(refusal.message.contains(expected), "{refusal:?}");
        target.close().expect("it exits");
    }
}

/// While an approval is pending, the same server and a second one write, also to the file in question.
#[test]
fn a_pending_approval_does_not_block_other_calls() {
    let library = Library::with(&[(MEMORY, "- one\n"), ("a.md", "old\n")]);
    let mut target = serve(&library, &["--approve", "write_markdown"]);
    let mut other: Server = library.serve_with(&[&CONTRACTS[..], &["--approval", "auto"]].concat());

    let appending = ask(&mut target, "write_memory_entry", practice("- last\n"));
    let writing = ask(&mut target, "write_markdown", write("new\n"));
    other.call("write_memory_entry", practice("- two\n")).expect("written");
    other.call("write_markdown", write("theirs\n")).expect("written");
    let delete = json!({ "name": "delete_markdown", "arguments": { "path": "a.md", "confirm": true } });
    let deleted = target.request("tools/call", delete).expect("an answer");
    outcome(&deleted).expect("deleted");
    other.call("write_markdown", write("theirs\n")).expect("written");

    reply(&mut target, &appending, "accept").expect("written behind the other's");
    assert_eq!(library.get(MEMORY), b"- one\n- two\n- last\n");
    let before = library.ledger();
    let refusal = reply(&mut target, &writing, "accept").expect_err("another document than was shown");
    assert!(refusal.message.contains("repeat the call"), "{}", refusal.message);
    assert_eq!(library.ledger(), before);
    assert_eq!(library.get("a.md"), b"theirs\n");
    target.close().expect("it exits");
    other.close();
}

#[test]
fn a_client_without_elicitation_gets_advice() {
    for (option, granted) in [("prompt", false), ("auto", true), ("deny", false)] {
        let library = Library::empty();
        let mut server = library.serve_with(&[&CONTRACTS[..], &["--approval", option]].concat());
        let before = library.ledger();
        match server.call("write_memory_entry", practice("- one\n")) {
            Ok(_) => assert!(granted, "{option}"),
            Err(refusal) => {
                assert!(!granted, "{option}");
                assert_eq!(refusal.code, -32000);
                assert!(refusal.message.contains("--approval"), "{}", refusal.message);
                assert_eq!(library.ledger(), before);
            }
        }
        server.call("write_markdown", write("new\n")).expect("needs no approval");
        server.close();
    }
}

/// Since 2026-07-28 the answer to the call is the question, and the client repeats the call with the decision.
#[test]
fn a_repeated_call_carries_the_decision() {
    let library = Library::with(&[(MEMORY, "- one\n")]);
    let mut target = Target::start(library.command().args(CONTRACTS)).expect("the server starts");
    let params = json!({
        "name": "write_memory_entry",
        "arguments": practice("- two\n"),
        "_meta": stateless(&able()),
    });
    let before = library.ledger();
    let pending = target.request("tools/call", params.clone()).expect("an answer");
    assert_eq!(pending["result"]["resultType"], "input_required", "{pending}");
    assert_eq!(library.ledger(), before);
    let key = pending["result"]["inputRequests"].as_object().and_then(|all| all.keys().next());
    let mut repeated = params;
    repeated["requestState"] = pending["result"]["requestState"].clone();
    repeated["inputResponses"] = json!({ key.expect("a question"): { "action": "accept" } });
    let mut edited = repeated.clone();
    edited["arguments"] = practice("- three\n");
    for (call, written) in [(&edited, false), (&repeated, true), (&repeated, false)] {
        let message = target.request("tools/call", call.clone()).expect("an answer");
        assert_eq!(outcome(&message).is_ok(), written, "{message}");
    }
    assert_eq!(library.get(MEMORY), b"- one\n- two\n");
    assert_eq!(library.ledger().commits_since(&before).len(), 1);
    target.close().expect("it exits");
}
