//! Lists and calls: how contracts appear in MCP.

use serde_json::json;

use super::client::{Client, session};

#[tokio::test]
async fn answers_are_structured_and_text() {
    let notes = session(
        r#"
        @ 2025-11-25
        > 1 tools/call {"name":"echo","arguments":{"text":"hi"}}
        < 1 {"content":[{"type":"text","text":"{\"text\":\"hi\"}"}],"structuredContent":{"text":"hi"},"isError":false}
        > 2 tools/call {"name":"keep","arguments":{"text":"a note"}}
        < 2 {"content":[{"type":"text","text":"{\"text\":\"a note\"}"}],"structuredContent":{"text":"a note"},"isError":false,"_meta":{"tabellion/base":"b1"}}
        @ 2026-07-28
        > 3 tools/call {"name":"keep","arguments":{"text":"two"}}
        < 3 {"content":[{"type":"text","text":"{\"text\":\"two\"}"}],"structuredContent":{"text":"two"},"isError":false,"_meta":{"tabellion/base":"b1"}}
        "#,
    )
    .await;
    assert_eq!(notes.stored_texts(), ["a note", "two"]);
    assert_eq!(notes.clients(), [Some("tester/7".into()), Some("tester/7".into()), Some("tester/8".into())]);
}

#[tokio::test]
async fn declared_errors_travel_as_the_contract_says() {
    session(
        r#"
        @ 2025-11-25
        > 1 tools/call {"name":"refuse","arguments":{"text":"a.md"}}
        < 1 {"content":[{"type":"text","text":"no such note"}],"isError":true,"_meta":{"tabellion/error":{"code":-32001,"name":"NOT_FOUND","data":{"path":"a.md"}}}}
        > 2 tools/call {"name":"refuse_rpc","arguments":{"text":"a.md"}}
        < 2 {"error":{"code":-32001,"message":"no such note","data":{"path":"a.md"}}}
        > 3 tools/call {"name":"echo_rpc","arguments":{"text":5}}
        < 3 !-32602 /text
        @ 2026-07-28
        > 4 tools/call {"name":"refuse","arguments":{"text":"a.md"}}
        < 4 {"content":[{"type":"text","text":"no such note"}],"isError":true,"_meta":{"tabellion/error":{"code":-32001,"name":"NOT_FOUND","data":{"path":"a.md"}}}}
        > 5 tools/call {"name":"refuse_rpc","arguments":{"text":"a.md"}}
        < 5 {"error":{"code":-32001,"message":"no such note","data":{"path":"a.md"}}}
        "#,
    )
    .await;
}

/// MCP has used -32002 for missing resources; since 2026-07-28, rmcp replaces it by -32602.
#[tokio::test]
async fn a_contracts_error_codes_are_its_own() {
    for revision in ["2025-11-25", "2026-07-28"] {
        session(&format!(
            r#"
            @ {revision}
            > 1 tools/call {{"name":"refuse_size_rpc","arguments":{{"text":"a"}}}}
            < 1 {{"error":{{"code":-32002,"message":"too large","data":{{"most":5}}}}}}
            "#
        ))
        .await;
    }
}

#[tokio::test]
async fn invalid_arguments_change_nothing() {
    let notes = session(
        r#"
        @ 2025-11-25
        > 1 tools/call {"name":"keep"}
        < 1 {"content":[{"type":"text","text":"/: `text` is missing"}],"isError":true,"_meta":{"tabellion/error":{"code":-32602,"name":"INVALID_REQUEST","data":{"violations":[{"rule":"required","pointer":"","message":"`text` is missing"}],"rule":"required","pointer":""}}}}
        > 2 tools/call {"name":"keep","arguments":{"text":"x","more":1}}
        < 2 {"content":[{"type":"text","text":"/more: is not known here"}],"isError":true,"_meta":{"tabellion/error":{"code":-32602,"name":"INVALID_REQUEST","data":{"violations":[{"rule":"additionalProperties","pointer":"/more","message":"is not known here"}],"rule":"additionalProperties","pointer":"/more"}}}}
        "#,
    )
    .await;
    assert_eq!(notes.stored_texts(), [] as [&str; 0]);
}

#[tokio::test]
async fn malformed_calls_and_unknown_tools_are_invalid_params() {
    let notes = session(
        r#"
        @ 2025-11-25
        > 1 tools/call
        < 1 !-32602 malformed
        > 2 tools/call {"arguments":{"text":"x"}}
        < 2 !-32602 malformed `params` for `tools/call`: missing field `name`
        > 3 tools/call {"name":7}
        < 3 !-32602 malformed
        > 4 tools/call {"name":"keep","arguments":["x"]}
        < 4 !-32602 malformed
        > 5 tools/call {"name":"keep","arguments":null,"_meta":null}
        < 5 {"content":[{"type":"text","text":"/: `text` is missing"}],"isError":true,"_meta":{"tabellion/error":{"code":-32602,"name":"INVALID_REQUEST","data":{"violations":[{"rule":"required","pointer":"","message":"`text` is missing"}],"rule":"required","pointer":""}}}}
        > 6 tools/call {"name":"keep","arguments":{"text":"x"},"_meta":5}
        < 6 !-32602 malformed
        > 7 tools/call {"name":"kept","arguments":{"text":"x"}}
        < 7 !-32602 unknown tool `kept`
        > 8 tools/call ["keep"]
        < 8 !-32602 malformed
        @ 2026-07-28
        > 9 tools/call {"name":"kept"}
        < 9 !-32602 unknown tool `kept`
        > 10 tools/call {}
        < 10 !-32602 malformed
        "#,
    )
    .await;
    assert_eq!(notes.stored_texts(), [] as [&str; 0]);
}

#[tokio::test]
async fn invalid_preconditions_are_invalid_arguments() {
    let notes = session(
        r#"
        @ 2025-11-25
        > 1 tools/call {"name":"keep","arguments":{"text":"x"},"_meta":{"tabellion/ifBass":"b"}}
        < 1 {"content":[{"type":"text","text":"/_meta/tabellion~1ifBass: `tabellion/ifBass` is not known; known are `tabellion/ifBase`, `tabellion/idempotencyKey`, `tabellion/provenance` and `tabellion/session`"}],"isError":true,"_meta":{"tabellion/error":{"code":-32602,"name":"INVALID_REQUEST","data":{"violations":[{"rule":"meta","pointer":"/_meta/tabellion~1ifBass","message":"`tabellion/ifBass` is not known; known are `tabellion/ifBase`, `tabellion/idempotencyKey`, `tabellion/provenance` and `tabellion/session`"}],"rule":"meta","pointer":"/_meta/tabellion~1ifBass"}}}}
        > 2 tools/call {"name":"echo_rpc","arguments":{"text":"x"},"_meta":{"tabellion/ifBase":7}}
        < 2 !-32602 tabellion/ifBase
        > 3 tools/call {"name":"echo_rpc","arguments":{"text":"x"},"_meta":{"tabellion/ifBase":"b","other/key":7,"progressToken":1}}
        < 3 {"content":[{"type":"text","text":"{\"text\":\"x\"}"}],"structuredContent":{"text":"x"},"isError":false}
        "#,
    )
    .await;
    assert_eq!(notes.begun(), 0);
}

#[tokio::test]
async fn defects_reveal_nothing_and_the_server_continues() {
    session(
        r#"
        @ 2025-11-25
        > 1 tools/call {"name":"panic","arguments":{"text":"secret"}}
        < 1 !-32603 the server failed to answer; its log has details
        > 2 tools/call {"name":"breach","arguments":{"text":"secret"}}
        < 2 !-32603 the server failed to answer; its log has details
        > 3 tools/call {"name":"echo","arguments":{"text":"hi"}}
        < 3 {"content":[{"type":"text","text":"{\"text\":\"hi\"}"}],"structuredContent":{"text":"hi"},"isError":false}
        "#,
    )
    .await;
}

#[tokio::test]
async fn a_list_is_the_contracts_own_and_always_the_same() {
    let mut client = Client::new(1 << 16);
    client.speak("2025-11-25").await;
    let mut lists = vec![];
    for _ in 0..3 {
        client.request(json!(1), "tools/list", None).await;
        lists.push(client.receive().await.unwrap().to_string());
    }
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[0], lists[2]);
    let echo = r#"{"name":"echo","description":"Says what it is told.","inputSchema":{"type":"object","required":["text"],"properties":{"text":{"type":"string"}},"additionalProperties":false},"outputSchema":{"properties":{"text":{"type":"string"}},"type":"object","required":["text"]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#;
    assert!(lists[0].contains(echo), "{}", lists[0]);
    let names: Vec<_> =
        lists[0].split(r#"{"name":""#).skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "echo",
            "count",
            "keep",
            "slow",
            "panic",
            "breach",
            "refuse",
            "wait",
            "echo_rpc",
            "refuse_rpc",
            "refuse_size_rpc",
            "wait_rpc"
        ]
    );
    client.end().await.unwrap();
}
