//! Approval by a person, in both eras. Time is paused in these tests, and advances only if all tasks wait.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    client::{Client, WAYS},
    page::Page,
};
use crate::testing::adapter;
use tabellion_gateway::{ApprovalMode, ApprovalPolicy};

const SESSION: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Returns a client that supports forms, unless `able` contains other capabilities.
async fn client_of(revision: &str, able: Value, approval: ApprovalPolicy) -> (Arc<Page>, Client) {
    let page = Page::new();
    let mut client = Client::over(revision, adapter(vec![page.clone()], approval), 1 << 20);
    client.able = able;
    client.speak(revision).await;
    (page, client)
}

async fn client(revision: &str) -> (Arc<Page>, Client) {
    client_of(revision, json!({ "elicitation": {} }), ApprovalPolicy::default()).await
}

fn call(tool: &str, text: &str) -> Value {
    json!({ "name": tool, "arguments": { "text": text } })
}

/// Returns the same call with the question's state and an answer.
fn repeated(call: &Value, question: &Value, answer: Value) -> Value {
    let mut call = call.clone();
    call["requestState"] = question["result"]["requestState"].clone();
    call["inputResponses"] = json!({ "approval": answer });
    call
}

async fn ask(client: &mut Client, id: u64, call: &Value) -> Value {
    client.request(json!(id), "tools/call", Some(call.clone())).await;
    client.receive().await.unwrap()
}

/// Returns the form shown to the person, in either era.
fn form(question: &Value) -> &Value {
    let request = match question.get("result") {
        Some(result) => &result["inputRequests"]["approval"],
        None => question,
    };
    assert_eq!(request["method"], "elicitation/create", "{question}");
    &request["params"]
}

/// Answers a question as the revision requires; returns the result of the call.
async fn reply(client: &mut Client, id: u64, call: &Value, question: &Value, answer: Value) -> Value {
    if client.revision == STATELESS {
        return ask(client, id, &repeated(call, question, answer)).await;
    }
    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
    client.send(reply.to_string()).await;
    client.receive().await.unwrap()
}

/// Returns the reason for declining.
fn why(reply: &Value) -> &str {
    assert_eq!(reply["error"]["code"], -32010, "{reply}");
    reply["error"]["message"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_persons_answer_decides() {
    let cases = [
        (json!({ "action": "accept", "content": {} }), Ok("onetwo")),
        (json!({ "action": "accept" }), Ok("onetwo")),
        (json!({ "action": "decline" }), Err("declined")),
        (json!({ "action": "cancel" }), Err("dismissed")),
    ];
    for revision in WAYS {
        for (answer, expected) in &cases {
            let (page, mut client) = client(revision).await;
            let append = call("append", "two");
            let question = ask(&mut client, 1, &append).await;
            assert_eq!(form(&question)["message"], "Append this to `page.md`?\n\ntwo");
            assert_eq!(form(&question)["requestedSchema"], json!({ "type": "object", "properties": {} }));
            assert_eq!(page.text(), "one");
            let said = reply(&mut client, 2, &append, &question, answer.clone()).await;
            match expected {
                Ok(text) => {
                    assert_eq!(said["result"]["structuredContent"]["text"], *text);
                    assert_eq!(page.text(), *text);
                }
                Err(reason) => {
                    assert!(why(&said).contains(reason), "{said}");
                    assert_eq!(page.text(), "one");
                }
            }
            client.end().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn policy_and_client_decide_whether_a_person_is_asked() {
    use ApprovalMode::{Auto, Deny, Prompt};
    let (form, empty, url, none) = (
        json!({ "elicitation": { "form": {}, "url": {} } }),
        json!({ "elicitation": {} }),
        json!({ "elicitation": { "url": {} } }),
        json!({}),
    );
    // The result of a call; `None` if the person is asked.
    let cases = [
        (Prompt, &form, None),
        (Prompt, &empty, None),
        (Prompt, &url, Some(Err("--approval auto"))),
        (Prompt, &none, Some(Err("--approval auto"))),
        (Auto, &form, None),
        (Auto, &url, Some(Ok(()))),
        (Auto, &none, Some(Ok(()))),
        (Deny, &form, Some(Err("--approval deny"))),
        (Deny, &none, Some(Err("--approval deny"))),
    ];
    for revision in WAYS {
        for (mode, able, expected) in &cases {
            let policy = ApprovalPolicy { mode: *mode, ..ApprovalPolicy::default() };
            let (page, mut client) = client_of(revision, (*able).clone(), policy).await;
            let said = ask(&mut client, 1, &call("append", "two")).await;
            match expected {
                None => drop(self::form(&said).clone()),
                Some(Ok(())) => assert_eq!(said["result"]["structuredContent"]["text"], "onetwo"),
                Some(Err(advice)) => assert!(why(&said).contains(advice), "{said}"),
            }
            assert_eq!(page.text() == "onetwo", matches!(expected, Some(Ok(()))));
            client.leave().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_adds_approval_to_a_tool() {
    for revision in WAYS {
        for tools in [vec![], vec!["overwrite".to_owned()]] {
            let policy =
                ApprovalPolicy { tools: tools.iter().cloned().collect(), ..ApprovalPolicy::default() };
            let (page, mut client) = client_of(revision, json!({ "elicitation": {} }), policy).await;
            let overwrite = call("overwrite", "new\r\u{1b}[2K\u{202e}");
            let mut said = ask(&mut client, 1, &overwrite).await;
            if !tools.is_empty() {
                let shown = "Change `page.md`?\n\nnew\\u{d}\\u{1b}[2K\\u{202e}";
                assert_eq!(form(&said)["message"], shown);
                assert_eq!(page.text(), "one");
                said = reply(&mut client, 2, &overwrite, &said, json!({ "action": "accept" })).await;
            }
            assert_eq!(said["result"]["structuredContent"]["text"], "new\r\u{1b}[2K\u{202e}");
            client.end().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadably_long_proposal_is_not_shown() {
    for revision in WAYS {
        for (length, shown) in [(1 << 16, true), ((1 << 16) + 1, false)] {
            let (_, mut client) = client(revision).await;
            let said = ask(&mut client, 1, &call("append", &"x".repeat(length))).await;
            if shown {
                form(&said);
            } else {
                assert!(why(&said).contains("65537 bytes"), "{said}");
            }
            client.leave().await.unwrap();
        }
    }
}

/// Tries the state of another call, a used state, and malformed answers.
#[tokio::test(start_paused = true)]
async fn an_approval_is_valid_once_and_for_its_call() {
    let accept = json!({ "action": "accept" });
    let append = call("append", "two");
    let (page, mut client) = client(STATELESS).await;
    let question = ask(&mut client, 1, &append).await;
    let sealed = question["result"]["requestState"].as_str().unwrap();
    let state = |state: &str| {
        let mut call = repeated(&append, &question, accept.clone());
        call["requestState"] = state.into();
        call
    };
    let flipped: String =
        sealed[..sealed.len() - 1].to_owned() + if sealed.ends_with('A') { "B" } else { "A" };
    let refused = [
        (repeated(&call("append", "three"), &question, accept.clone()), "with these arguments"),
        (state(""), "with these arguments"),
        (state("rs1.x.y"), "with these arguments"),
        (state(&flipped), "with these arguments"),
        (repeated(&append, &question, json!("accept")), "not an answer"),
        (repeated(&append, &question, json!({ "action": "agree" })), "not an answer"),
    ];
    for (id, (call, reason)) in (2..).zip(&refused) {
        let said = ask(&mut client, id, call).await;
        assert!(why(&said).contains(reason), "{call}: {said}");
    }
    assert_eq!(page.text(), "one");
    // Without a readable answer, the question is repeated.
    let mut unanswered = repeated(&append, &question, accept.clone());
    unanswered["inputResponses"] = json!({ "other": accept });
    form(&ask(&mut client, 20, &unanswered).await);
    let mut unsealed = repeated(&append, &question, accept.clone());
    unsealed.as_object_mut().unwrap().remove("requestState");
    form(&ask(&mut client, 21, &unsealed).await);
    assert_eq!(page.text(), "one");

    let repeat = repeated(&append, &question, accept.clone());
    assert_eq!(ask(&mut client, 30, &repeat).await["result"]["structuredContent"]["text"], "onetwo");
    assert!(why(&ask(&mut client, 31, &repeat).await).contains("has been used"));
    assert_eq!(page.text(), "onetwo");
    client.end().await.unwrap();
}

/// Each process has its own key.
#[tokio::test(start_paused = true)]
async fn another_server_rejects_an_approval() {
    let append = call("append", "two");
    let (_, mut first) = client(STATELESS).await;
    let (page, mut second) = client(STATELESS).await;
    let question = ask(&mut first, 1, &append).await;
    let said = ask(&mut second, 1, &repeated(&append, &question, json!({ "action": "accept" }))).await;
    assert!(why(&said).contains("with these arguments"));
    assert_eq!(page.text(), "one");
    first.end().await.unwrap();
    second.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_same_arguments_in_another_order_are_the_same_call() {
    let (_, mut client) = client(STATELESS).await;
    let mut append = json!({ "name": "append", "arguments": { "text": "two", "b": { "c": 1, "d": 2 } } });
    let question = ask(&mut client, 1, &append).await;
    append["arguments"] = json!({ "b": { "d": 2, "c": 1 }, "text": "two" });
    let said = ask(&mut client, 2, &repeated(&append, &question, json!({ "action": "accept" }))).await;
    assert_eq!(said["result"]["structuredContent"]["text"], "onetwo");
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_changed_proposal_is_shown_again() {
    let policy = ApprovalPolicy { tools: ["overwrite".into()].into(), ..ApprovalPolicy::default() };
    let (page, mut client) = client_of(STATELESS, json!({ "elicitation": {} }), policy).await;
    let accept = json!({ "action": "accept" });
    let (overwrite, append) = (call("overwrite", "new"), call("append", "!"));
    let outdated = ask(&mut client, 1, &overwrite).await;
    let appended = ask(&mut client, 2, &append).await;
    page.set("by hand");
    let question = ask(&mut client, 3, &repeated(&overwrite, &outdated, accept.clone())).await;
    form(&question);
    assert_eq!(page.text(), "by hand");
    // The appended text is unchanged.
    let said = ask(&mut client, 4, &repeated(&append, &appended, accept.clone())).await;
    assert_eq!(said["result"]["structuredContent"]["text"], "by hand!");
    page.set("by hand");
    let said = ask(&mut client, 5, &repeated(&overwrite, &question, accept)).await;
    assert_eq!(said["result"]["structuredContent"]["text"], "new");
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_approval_expires() {
    let able = json!({ "elicitation": {} });
    let policy = |timeout| ApprovalPolicy { timeout, ..ApprovalPolicy::default() };
    let append = call("append", "two");
    let accept = json!({ "action": "accept" });

    let (page, mut client) = client_of(STATELESS, able.clone(), policy(Duration::ZERO)).await;
    let question = ask(&mut client, 1, &append).await;
    // The expiry of the seal uses the system's clock, which is not paused.
    std::thread::sleep(Duration::from_millis(5));
    let said = ask(&mut client, 2, &repeated(&append, &question, accept.clone())).await;
    assert!(why(&said).contains("expired"), "{said}");
    assert_eq!(page.text(), "one");
    client.end().await.unwrap();

    let (page, mut client) = client_of(SESSION, able, policy(Duration::from_secs(60))).await;
    let question = ask(&mut client, 1, &append).await;
    tokio::time::sleep(Duration::from_secs(59)).await;
    let withdrawn = client.receive().await.unwrap();
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    assert!(why(&client.receive().await.unwrap()).contains("did not answer"));
    let late = json!({ "jsonrpc": "2.0", "id": question["id"], "result": accept });
    client.send(late.to_string()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(page.text(), "one");
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn other_calls_continue_during_an_approval() {
    let (page, mut client) = client(SESSION).await;
    let question = ask(&mut client, 1, &call("append", "two")).await;
    for id in 2..300 {
        let said = ask(&mut client, id, &call("overwrite", "new")).await;
        assert_eq!(said["result"]["structuredContent"]["text"], "new");
    }
    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } });
    client.send(reply.to_string()).await;
    assert_eq!(client.receive().await.unwrap()["result"]["structuredContent"]["text"], "newtwo");
    assert_eq!(page.text(), "newtwo");
    client.end().await.unwrap();
}

/// Fills all slots with calls that wait for a person.
#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_person_leave_room_for_the_answers() {
    let (page, mut client) = client(SESSION).await;
    for id in 0..400 {
        client.request(json!(id), "tools/call", Some(call("append", "."))).await;
    }
    let mut questions = vec![];
    for _ in 0..400 {
        let said = client.receive().await.unwrap();
        if said.get("method").is_some() {
            questions.push(said["id"].clone());
        } else {
            assert!(why(&said).contains("64 other calls"), "{said}");
        }
    }
    assert_eq!(questions.len(), 64);
    for id in questions {
        let reply = json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept" } });
        client.send(reply.to_string()).await;
        assert!(client.receive().await.unwrap().get("result").is_some());
    }
    assert_eq!(page.text(), "one".to_owned() + &".".repeat(64));
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_withdraws_its_question() {
    let (page, mut client) = client(SESSION).await;
    let question = ask(&mut client, 1, &call("append", "two")).await;
    let began = tokio::time::Instant::now();
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    let withdrawn = client.receive().await.unwrap();
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    assert!(began.elapsed() < Duration::from_millis(100));
    assert_eq!(page.text(), "one");
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_vanishes_ends_the_wait() {
    for orphaned in [false, true] {
        let (page, mut client) = client(SESSION).await;
        form(&ask(&mut client, 1, &call("append", "two")).await);
        let began = tokio::time::Instant::now();
        if orphaned {
            client.orphan();
            let (said, ended) = client.ended().await;
            assert!(why(&said[0]).contains("the server is stopping"), "{said:?}");
            ended.unwrap();
        } else {
            client.leave().await.unwrap();
        }
        assert!(began.elapsed() < Duration::from_millis(100), "{orphaned}");
        assert_eq!(page.text(), "one");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_question_is_no_approval() {
    let replies = [
        json!({ "error": { "code": -32601, "message": "no such method" } }),
        json!({ "error": { "code": -32603, "message": "accept" } }),
        json!({ "error": "accept" }),
        json!({ "result": {} }),
        json!({ "result": { "action": "agree" } }),
        json!({ "result": { "content": { "action": "accept" } } }),
        json!({ "result": "accept" }),
    ];
    for reply in replies {
        let (page, mut client) = client(SESSION).await;
        let question = ask(&mut client, 1, &call("append", "two")).await;
        let mut reply = reply;
        reply["jsonrpc"] = "2.0".into();
        reply["id"] = question["id"].clone();
        client.send(reply.to_string()).await;
        let said = client.receive().await.unwrap();
        assert!(why(&said).contains("could not ask"), "{reply}: {said}");
        assert_eq!(page.text(), "one");
        client.end().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn replies_to_nothing_are_ignored() {
    let (page, mut client) = client(SESSION).await;
    for line in [
        r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept"}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{"action":"accept"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
    ] {
        client.send(line).await;
    }
    form(&ask(&mut client, 1, &call("append", "two")).await);
    assert_eq!(page.text(), "one");
    client.leave().await.unwrap();
}
