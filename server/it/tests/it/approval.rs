//! A person's approval with the built server: nothing is written without it, and no other call waits for it.

use serde_json::{Value, json};
use tabellion_conformance::Target;

use crate::support::{Answer, Library, Outcome, Server, outcome};

const MEMORY: &str = ".claude/memory/best_practices.md";
const CONTRACTS: [&str; 4] = ["--contract", "learning-os", "--contract", "braindrive-markdown"];
const ABLE: &str = r#"{"elicitation":{}}"#;

/// A call that was put to the person.
struct Asked {
    call: i64,
    question: Value,
}

impl Asked {
    fn message(&self) -> &str {
        self.question["params"]["message"].as_str().expect("a message")
    }
}

/// A session with a client that can ask its person; `arguments` beside those for the contracts.
fn serve(library: &Library, arguments: &[&str]) -> Target {
    let mut target =
        Target::start(library.command().args(CONTRACTS).args(arguments)).expect("the server starts");
    let able: Value = serde_json::from_str(ABLE).expect("JSON");
    let client = json!({ "name": "tester", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": able, "clientInfo": client });
    target.request("initialize", params).expect("a handshake");
    target
}

/// Calls a tool, and sees what its person sees.
fn ask(target: &mut Target, tool: &str, arguments: Value) -> Asked {
    let call = target
        .post("tools/call", json!({ "name": tool, "arguments": arguments }))
        .expect("sent");
    let question = target.receive().expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    Asked { call, question }
}

fn reply(target: &mut Target, asked: &Asked, action: &str) -> Outcome<Answer> {
    let reply = json!({ "jsonrpc": "2.0", "id": asked.question["id"], "result": { "action": action } });
    target.send(reply.to_string()).expect("sent");
    let message = target.receive().expect("an answer");
    assert_eq!(message["id"], asked.call, "{message}");
    outcome(&message)
}

fn practice(text: &str) -> Value {
    json!({ "file": "best_practices.md", "content": text })
}

fn write(text: &str) -> Value {
    json!({ "path": "a.md", "content": text })
}

#[test]
fn exactly_the_approved_change_is_written() {
    let library = Library::with(&[(MEMORY, "- one\n"), ("a.md", "old\n")]);
    let mut target = serve(&library, &["--approve", "write_markdown"]);
    let before = library.ledger();

    for action in ["decline", "cancel"] {
        let asked = ask(&mut target, "write_memory_entry", practice("- two\n"));
        assert!(asked.message().ends_with("\n\n- two\n"), "{}", asked.message());
        assert!(asked.message().contains(MEMORY));
        reply(&mut target, &asked, action).expect_err("not approved");
        let asked = ask(&mut target, "write_markdown", write("new\n"));
        assert!(
            asked.message().ends_with("@@ -1 +1 @@\n-old\n+new\n"),
            "{}",
            asked.message()
        );
        reply(&mut target, &asked, action).expect_err("not approved");
        assert_eq!(library.ledger(), before);
    }

    let asked = ask(&mut target, "write_memory_entry", practice("- two\n"));
    reply(&mut target, &asked, "accept").expect("written");
    assert_eq!(library.get(MEMORY), b"- one\n- two\n");
    let asked = ask(&mut target, "write_markdown", write("new\n"));
    reply(&mut target, &asked, "accept").expect("written");
    assert_eq!(library.get("a.md"), b"new\n");
    assert_eq!(library.ledger().commits_since(&before).len(), 2);
    target.close().expect("it exits");
}

/// While a person decides, other calls of the same server and of a second server write, also to the same file.
#[test]
fn other_calls_do_not_wait_for_a_person() {
    let library = Library::with(&[(MEMORY, "- one\n"), ("a.md", "old\n")]);
    let mut target = serve(&library, &["--approve", "write_markdown"]);
    let mut other: Server = library.serve_with(&[&CONTRACTS[..], &["--approval", "auto"]].concat());

    let appending = ask(&mut target, "write_memory_entry", practice("- last\n"));
    let writing = ask(&mut target, "write_markdown", write("new\n"));
    other
        .call("write_memory_entry", practice("- two\n"))
        .expect("written");
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
fn a_client_without_forms_is_told_about_the_option() {
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
        server
            .call("write_markdown", write("new\n"))
            .expect("needs no approval");
        server.close();
    }
}

/// Since 2026-07-28 the call is answered with the question, and repeated with the answer.
#[test]
fn a_repeated_call_carries_the_answer() {
    let library = Library::with(&[(MEMORY, "- one\n")]);
    let mut target = Target::start(library.command().args(CONTRACTS)).expect("the server starts");
    let able: Value = serde_json::from_str(ABLE).expect("JSON");
    let params = json!({
        "name": "write_memory_entry",
        "arguments": practice("- two\n"),
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": able,
        },
    });
    let before = library.ledger();
    let asked = target.request("tools/call", params.clone()).expect("an answer");
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(library.ledger(), before);
    let key = asked["result"]["inputRequests"]
        .as_object()
        .and_then(|all| all.keys().next());
    let mut repeated = params;
    repeated["requestState"] = asked["result"]["requestState"].clone();
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
