//! Both eras of MCP, and their differences.

use super::client::{Client, session};

const HELLO: &str = r#"{"content":[{"type":"text","text":"{\"text\":\"hi\"}"}],"structuredContent":{"text":"hi"},"isError":false}"#;

#[tokio::test]
async fn sessions_of_every_revision() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        session(&format!(
            r#"
            @ {revision}
            > 1 ping
            < 1 {{}}
            > 2 tools/call {{"name":"echo","arguments":{{"text":"hi"}}}}
            < 2 {HELLO}
            > 3 tools/list {{"cursor":"2"}}
            < 3 !-32602 cursor
            > 4 tools/list {{"cursor":2}}
            < 4 !-32602
            "#
        ))
        .await;
    }
}

#[tokio::test]
async fn an_unknown_revision_gets_our_newest_of_that_era() {
    for revision in ["1999-01-01", "2025-12-31", "2026-07-28", "2099-01-01", "latest"] {
        session(&format!(
            r#"
            > 1 initialize {{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"t","version":"0"}}}}
            < 1 {{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"memory","version":"1"}},"instructions":"Speak."}}
            "#
        ))
        .await;
    }
}

/// Messages could overtake each other only on several threads, and rarely: hence the repetitions.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_sent_behind_initialize_belongs_to_the_session() {
    for _ in 0..200 {
        let mut client = Client::new(1 << 16);
        client.revision = "2025-06-18".into();
        client.open().await;
        client.call(1, "echo", "hi").await;
        assert_eq!(client.receive().await.unwrap()["id"], "open");
        let reply = client.receive().await.unwrap();
        assert_eq!(reply["result"]["structuredContent"]["text"], "hi");
        client.end().await.unwrap();
    }
}

#[tokio::test]
async fn stateless_requests_need_no_session() {
    session(&format!(
        r#"
        @ 2026-07-28
        > 1 tools/call {{"name":"echo","arguments":{{"text":"hi"}}}}
        < 1 {HELLO}
        > 2 server/discover
        < 2 {{"supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{{"tools":{{}}}},"instructions":"Speak.","ttlMs":300000,"cacheScope":"public"}}
        > 3 ping
        < 3 !-32601
        > 4 tools/list {{"cursor":"x"}}
        < 4 !-32602 cursor
        "#
    ))
    .await;
}

#[tokio::test]
async fn a_request_without_a_revision_is_told_what_to_do() {
    session(
        r#"
        >> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        < 1 !-32602 initialize
        >> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"keep","arguments":{"text":"x"}}}
        < 2 !-32602 initialize
        >> {"jsonrpc":"2.0","id":3,"method":"server/discover"}
        < 3 !-32602 server/discover
        >> {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
        < 4 !-32602 clientCapabilities
        >> {"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}
        < 5 !-32022 Unsupported protocol version
        > 6 tools/call {"name":"refuse_rpc","arguments":{"text":"a"}}
        < 6 !-32001
        "#,
    )
    .await;
}

#[tokio::test]
async fn only_tools_are_offered() {
    for revision in ["2025-11-25", "2026-07-28"] {
        session(&format!(
            r#"
            @ {revision}
            > 1 resources/list
            < 1 !-32601
            > 2 resources/templates/list
            < 2 !-32601
            > 3 resources/read {{"uri":"a:b"}}
            < 3 !-32601
            > 4 prompts/list
            < 4 !-32601
            > 5 prompts/get {{"name":"x"}}
            < 5 !-32601
            > 6 completion/complete {{"ref":{{"type":"ref/prompt","name":"x"}},"argument":{{"name":"a","value":""}}}}
            < 6 !-32601
            > 7 logging/setLevel {{"level":"debug"}}
            < 7 !-32601
            > 8 subscriptions/listen {{"notifications":{{}}}}
            < 8 !-32601
            > 9 tasks/get {{"taskId":"t"}}
            < 9 !-32601
            > 10 no/such/method
            < 10 !-32601
            > 11 resources/read {{"uri":7}}
            < 11 !-32601
            "#
        ))
        .await;
    }
}

#[tokio::test]
async fn the_eras_do_not_disturb_each_other() {
    session(&format!(
        r#"
        @ 2026-07-28
        > 1 tools/call {{"name":"echo","arguments":{{"text":"hi"}}}}
        < 1 {HELLO}
        @ 2025-06-18
        > 2 tools/call {{"name":"echo","arguments":{{"text":"hi"}}}}
        < 2 {HELLO}
        @ 2026-07-28
        > 3 tools/call {{"name":"echo","arguments":{{"text":"hi"}}}}
        < 3 {HELLO}
        "#
    ))
    .await;
}
