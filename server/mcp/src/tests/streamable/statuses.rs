//! Statuses of HTTP, and refused requests.

use serde_json::{Value, json};

use super::{BOTH, Limits, TestServer, call, text};

#[tokio::test]
async fn invalid_http_is_refused() {
    let place = TestServer::new(Limits::default());
    let session = place.open().await;
    let own = ("mcp-session-id", session.as_str());
    let (both, json_) = (("accept", BOTH), ("content-type", "application/json"));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let reply = json!({ "jsonrpc": "2.0", "id": 9, "result": {} });
    let new = ("mcp-protocol-version", "2026-07-28");
    for (status, method, headers, body) in [
        (200, "POST", &[both, json_, own][..], &ping),
        (202, "POST", &[both, json_, own], &note),
        (202, "POST", &[both, json_, own], &reply),
        (406, "POST", &[json_, own], &ping),
        (406, "POST", &[("accept", "application/json"), json_, own], &ping),
        (415, "POST", &[both, own], &ping),
        (415, "POST", &[both, ("content-type", "text/plain"), own], &ping),
        (400, "POST", &[both, json_, own], &json!([])),
        (400, "POST", &[both, json_], &note),
        (400, "POST", &[both, json_], &call(1, "keep", "x")),
        (404, "POST", &[both, json_, ("mcp-session-id", "guess")], &ping),
        (404, "POST", &[both, json_, ("mcp-session-id", "guess")], &note),
        (400, "POST", &[both, json_, own, own], &ping),
        (400, "POST", &[both, json_, own, ("mcp-protocol-version", "1999-01-01")], &ping),
        (405, "PUT", &[both, json_, own], &ping),
        (405, "PATCH", &[both, json_, own], &ping),
        (406, "GET", &[("accept", "application/json"), own], &Value::Null),
        (400, "GET", &[both], &Value::Null),
        (404, "GET", &[both, ("mcp-session-id", "guess")], &Value::Null),
        (405, "GET", &[both, new], &Value::Null),
        (400, "GET", &[both, own, ("last-event-id", "nonsense")], &Value::Null),
        (405, "DELETE", &[new, own], &Value::Null),
        (400, "DELETE", &[], &Value::Null),
        (404, "DELETE", &[("mcp-session-id", "guess")], &Value::Null),
        (204, "DELETE", &[own], &Value::Null),
        (404, "DELETE", &[own], &Value::Null),
        (404, "POST", &[both, json_, own], &ping),
        (404, "GET", &[both, own], &Value::Null),
    ] {
        let said = place.send(method, headers, body).await;
        assert_eq!(said.status, status, "{method} {headers:?} {body}");
    }
    assert_eq!(place.notes.stored_texts(), [""; 0]);
    place.end().await;
}

#[tokio::test]
async fn without_a_session_the_methods_of_sessions_are_not_found() {
    let place = TestServer::new(Limits::default());
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "no/such/method",
    ] {
        let said =
            place.stateless(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} })).await;
        assert_eq!((said.status.as_u16(), method), (404, method));
        let message = format!("the method `{method}` is not served");
        assert_eq!(said.json().await["error"], json!({ "code": -32601, "message": message }));
    }
    place.end().await;
}

#[tokio::test]
async fn an_id_is_free_again_when_it_has_its_answer() {
    let place = TestServer::new(Limits::default());
    let session = place.open().await;
    let slow = place.post(&session, call(1, "slow", "a"));
    let others = async {
        place.notes.has_begun(1).await;
        let again = place.post(&session, call(1, "keep", "b")).await;
        assert_eq!(again.status, 400);
        assert_eq!(again.json().await["error"]["code"], -32600);
        // In another session, the same id is a different request.
        let other = place.open().await;
        let other = place.post(&other, call(1, "keep", "c")).await;
        assert_eq!(text(&other.json().await), "c");
        place.notes.open(1);
    };
    let (slow, ()) = tokio::join!(slow, others);
    assert_eq!(text(&slow.json().await), "a");
    let again = place.post(&session, call(1, "keep", "d")).await;
    assert_eq!(text(&again.json().await), "d");
    assert_eq!(place.notes.stored_texts(), ["c", "a", "d"]);
    place.end().await;
}
