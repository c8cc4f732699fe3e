//! Invalid lines: each is answered, and the next line is served.

use serde_json::json;

use super::client::{Client, session, session_of_lines};
use crate::lines::MAX_LENGTH;

#[tokio::test]
async fn lines_that_are_not_json() {
    session(
        r#"
        @ 2025-11-25
        >> nonsense
        < - !-32700
        >> {"jsonrpc":"2.0","id":1,"method":"ping"
        < 1 !-32700
        >> {"jsonrpc":"2.0","id":"a","method":"ping"}}
        < "a" !-32700
        >> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\ud800"}}}
        < 2 !-32602 surrogate
        >> {"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":"\ud800"}},"id":3}
        < 3 !-32602 surrogate
        >> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"text":1e999}}}
        < 4 !-32602 as a text
        >> {"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":1e999}}}
        < - !-32700 as a text
        >> {"jsonrpc":"2.0","id":"\ud800","method":"ping"}
        < - !-32700 surrogate
        >> {"jsonrpc":"2.0","method":"ping","params":nope,"id":5}
        < - !-32700
        >> {"id":6,"id":7,"jsonrpc":"2.0","method":"ping","params":{"x":"\ud800"}}
        < - !-32600
        > 8 ping
        < 8 {}
        "#,
    )
    .await;
}

#[tokio::test]
async fn envelopes_that_are_wrong() {
    session(
        r#"
        @ 2025-11-25
        >> [{"jsonrpc":"2.0","id":1,"method":"ping"}]
        < - !-32600 batches
        >> []
        < - !-32600 batches
        >> "ping"
        < - !-32600 object
        >> {"id":1,"method":"ping"}
        < 1 !-32600 jsonrpc
        >> {"jsonrpc":"1.0","id":1,"method":"ping"}
        < 1 !-32600 jsonrpc
        >> {"jsonrpc":"2.0","id":1}
        < 1 !-32600 method
        >> {"jsonrpc":"2.0","id":1,"method":["ping"]}
        < 1 !-32600 method
        >> {"jsonrpc":"2.0","id":null,"method":"ping"}
        < - !-32600 id
        >> {"jsonrpc":"2.0","id":1.5,"method":"ping"}
        < - !-32600 id
        >> {"jsonrpc":"2.0","id":{"a":1},"method":"ping"}
        < - !-32600 id
        >> {"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}
        < - !-32600 id
        >> {"jsonrpc":"2.0","id":1e30,"method":"ping"}
        < - !-32600 id
        >> {"jsonrpc":"2.0","id":1,"method":"ping","params":[]}
        < 1 !-32602 malformed
        >> {"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}
        < 1 !-32602 malformed
        >> {"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}
        < 1 !-32602 malformed
        >> {"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}
        < 9223372036854775807 {}
        "#,
    )
    .await;
}

#[tokio::test]
async fn a_duplicate_key_is_refused() {
    let notes = session(
        r#"
        @ 2025-11-25
        >> {"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}
        < 1 !-32600 twice
        >> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"keep","arguments":{"text":"a","text":"b"}}}
        < 1 !-32600 twice
        >> {"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}
        < - !-32600 twice
        "#,
    )
    .await;
    assert_eq!(notes.begun(), 0);
}

#[tokio::test]
async fn a_message_with_too_many_values_is_refused() {
    const MANY: usize = 1 << 20;
    let (lists, objects) = ("[],".repeat(MANY), "{\"a\":".repeat(100) + "[" + &"[0,[1]],".repeat(MANY));
    for (id, message) in [
        ("1", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":[{lists}0]}}}}"#)),
        ("1", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{objects}"#)),
        ("-", format!(r#"{{"jsonrpc":"2.0","id":[{lists}0],"method":"ping"}}"#)),
    ] {
        session(&format!(
            "@ 2025-11-25\n>> {message}\n< {id} !-32600 at most 100000 values\n> 2 ping\n< 2 {{}}\n"
        ))
        .await;
    }
}

#[tokio::test]
async fn lines_without_an_answer() {
    session_of_lines(
        r#"
        >> {"jsonrpc":"2.0","method":"notifications/initialized"}
        >> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        >> {"jsonrpc":"2.0","method":"no/such/notification","params":{"a":1}}
        >> {"jsonrpc":"2.0","method":"tools/call","params":{"name":"keep","arguments":{"text":"x"}}}
        >> {"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}
        >> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}
        >> {"jsonrpc":"2.0","id":1,"result":{}}
        >> {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}
        >> {"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}
        >>
        >>
        @ 2025-11-25
        > 1 ping
        < 1 {}
        "#,
    )
    .await;
}

#[tokio::test]
async fn numbers_keep_their_place() {
    session(
        r#"
        @ 2025-11-25
        > 1 tools/call {"name":"keep","arguments":{"text":-0}}
        < 1 {"content":[{"type":"text","text":"/text: a text was expected, a number was given"}],"isError":true,"_meta":{"tabellion/error":{"code":-32602,"name":"INVALID_REQUEST","data":{"violations":[{"rule":"type","pointer":"/text","message":"a text was expected, a number was given"}],"rule":"type","pointer":"/text"}}}}
        >> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo_rpc","arguments":{"text":1e308}}}
        < 2 !-32602 /text
        >> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo_rpc","arguments":{"text":123456789012345678901234567890}}}
        < 3 !-32602 64 bits
        "#,
    )
    .await;
}

#[tokio::test]
async fn bytes_that_are_not_utf_8() {
    let mut client = Client::new(1 << 16);
    client.speak("2025-11-25").await;
    client.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\xfe\"}}").await;
    let refusal = client.receive().await.unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(1), &json!(-32700)));
    client.send(b"\xff\xfe").await;
    assert_eq!(client.receive().await.unwrap()["error"]["code"], -32700);
    client.end().await.unwrap();
}

#[tokio::test]
async fn a_nesting_bomb_with_a_readable_id() {
    let mut client = Client::new(1 << 16);
    client.speak("2025-11-25").await;
    let bomb = "[".repeat(100_000) + &"]".repeat(100_000);
    for (line, code) in [
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{bomb}}}}}"#), -32602),
        (format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":{bomb}}},"id":1}}"#), -32602),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{}"#, "[".repeat(100_000)),
            -32700,
        ),
    ] {
        client.send(line).await;
        let refusal = client.receive().await.unwrap();
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(1), &json!(code)));
    }
    client.end().await.unwrap();
}

#[tokio::test]
async fn an_argument_of_30_megabytes_is_data() {
    let mut client = Client::new(1 << 20);
    client.speak("2025-11-25").await;
    let text = "x".repeat(30_000_000);
    client.call(1, "keep", &text).await;
    let reply = client.receive().await.unwrap();
    assert!(reply["result"]["structuredContent"]["text"] == text.as_str());
    assert!(client.notes.stored_texts() == [text]);
    client.end().await.unwrap();
}

#[tokio::test]
async fn an_overlong_line_is_skipped() {
    let mut client = Client::new(1 << 20);
    client.speak("2025-11-25").await;
    client.send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(MAX_LENGTH))).await;
    let refusal = client.receive().await.unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(1), &json!(-32600)));
    client.send("y".repeat(3 * MAX_LENGTH / 2)).await;
    let refusal = client.receive().await.unwrap();
    assert_eq!((refusal.get("id"), &refusal["error"]["code"]), (None, &json!(-32600)));
    client.call(2, "echo", "hi").await;
    assert_eq!(client.receive().await.unwrap()["id"], 2);
    client.end().await.unwrap();
}
