//! Limits of requests and sessions, and the end of the endpoint.

use std::time::Duration;

use serde_json::{Value, json};

use super::{BOTH, Limits, TestServer, call, grant, text};

#[tokio::test]
async fn requests_beyond_the_limit_are_refused() {
    let place = TestServer::new(Limits { in_flight: 2, ..Limits::default() });
    let session = place.open().await;
    let slow = async {
        let first = place.post(&session, call(1, "slow", "a"));
        let second = place.alone(1, "slow", "a");
        tokio::join!(first, second)
    };
    let others = async {
        place.notes.has_begun(2).await;
        for said in [place.post(&session, call(3, "keep", "x")).await, place.alone(3, "keep", "x").await] {
            assert_eq!(said.status, 503);
            assert_eq!(said.json().await["id"], 3);
        }
        place.notes.open(2);
    };
    let ((first, second), ()) = tokio::join!(slow, others);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    // Slots are free again once the handlers have finished.
    let all = place.endpoint.intake().idle();
    all.await;
    assert_eq!(place.post(&session, call(3, "keep", "b")).await.status, 200);
    assert_eq!(place.notes.stored_texts(), ["a", "a", "b"]);
    place.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_session_ends_the_longest_idle_one() {
    let place = TestServer::new(Limits { sessions: 2, ..Limits::default() });
    let ping = || json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let (first, second) = (place.open().await, place.open().await);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(place.post(&first, ping()).await.status, 200);
    let third = place.open().await;
    for (session, status) in [(&first, 200), (&second, 404), (&third, 200)] {
        assert_eq!(place.post(session, ping()).await.status, status);
    }
    // A session with an open stream is in use.
    let listen = async |session: &str| {
        let headers = [("accept", BOTH), ("mcp-session-id", session)];
        place.send("GET", &headers, &Value::Null).await
    };
    let held = [listen(&first).await, listen(&third).await];
    let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } } });
    let headers = [("accept", BOTH), ("content-type", "application/json")];
    assert_eq!(place.send("POST", &headers, &message).await.status, 503);
    drop(held);
    assert_eq!(place.send("POST", &headers, &message).await.status, 200);
    place.end().await;
}

#[tokio::test]
async fn a_stopping_endpoint_finishes_requests_and_accepts_none() {
    let place = TestServer::new(Limits::default());
    let session = place.open().await;
    let slow = async {
        let in_session = place.post(&session, call(1, "slow", "a"));
        let alone = place.alone(1, "slow", "a");
        tokio::join!(in_session, alone)
    };
    let ending = async {
        place.notes.has_begun(2).await;
        place.endpoint.intake().close();
        for said in [place.post(&session, call(2, "keep", "x")).await, place.alone(2, "keep", "x").await] {
            assert_eq!(said.status, 503);
        }
        place.notes.open(2);
        place.endpoint.intake().idle().await;
    };
    let ((first, second), ()) = tokio::join!(slow, ending);
    assert_eq!(text(&first.json().await), "a");
    assert_eq!(text(&second.json().await), "a");
    assert_eq!(place.notes.stored_texts(), ["a", "a"]);
}

#[tokio::test]
async fn a_caller_has_at_most_half_of_the_requests_and_of_the_sessions() {
    let place = TestServer::new(Limits { in_flight: 4, sessions: 4 });
    let [ada, bert] = ["Ada", "Bert"].map(|name| place.by(grant(name, &["write"])));
    let ping = || json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let others = bert.open().await;
    let [first, second, third] = [ada.open().await, ada.open().await, ada.open().await];
    for (place, session, status) in
        [(&ada, &first, 404), (&ada, &second, 200), (&ada, &third, 200), (&bert, &others, 200)]
    {
        assert_eq!(place.post(session, ping()).await.status, status);
    }
    let slow = async { tokio::join!(ada.alone(1, "slow", "a"), ada.post(&third, call(1, "slow", "a"))) };
    let meanwhile = async {
        place.notes.has_begun(2).await;
        for said in [ada.alone(2, "keep", "x").await, ada.post(&third, call(2, "keep", "x")).await] {
            assert_eq!(said.status, 503);
            assert!(said.json().await.to_string().contains("2 requests of yours"));
        }
        assert_eq!(bert.alone(3, "keep", "b").await.status, 200);
        place.notes.open(2);
    };
    let _ = tokio::join!(slow, meanwhile);
    place.endpoint.intake().idle().await;
    assert_eq!(ada.alone(4, "keep", "c").await.status, 200);
    assert_eq!(place.notes.stored_texts(), ["b", "a", "a", "c"]);
    place.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_callers_with_most_idle_sessions_give_way() {
    let place = TestServer::new(Limits { sessions: 3, ..Limits::default() });
    let [ada, bert, carl] = ["Ada", "Bert", "Carl"].map(|name| place.by(grant(name, &["write"])));
    let ping = || json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let berts = bert.open().await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let [first, second] = [ada.open().await, ada.open().await];
    let carls = carl.open().await;
    let open =
        [ada.post(&first, ping()).await.status.as_u16(), ada.post(&second, ping()).await.status.as_u16()];
    assert!(open == [404, 200] || open == [200, 404], "{open:?}");
    assert_eq!(bert.post(&berts, ping()).await.status, 200);
    assert_eq!(carl.post(&carls, ping()).await.status, 200);
    place.end().await;
}
