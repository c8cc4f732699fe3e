//! Limits of requests and sessions, and the end of the endpoint.

use std::time::Duration;

use serde_json::{Value, json};

use super::{BOTH, Limits, Place, call, text};

#[tokio::test]
async fn requests_beyond_the_limit_are_refused() {
    let place = Place::new(Limits {
        in_flight: 2,
        ..Limits::default()
    });
    let session = place.open().await;
    let slow = async {
        let first = place.post(&session, call(1, "slow", "a"));
        let second = place.alone(1, "slow", "a");
        tokio::join!(first, second)
    };
    let others = async {
        place.notes.has_begun(2).await;
        for said in [
            place.post(&session, call(3, "keep", "x")).await,
            place.alone(3, "keep", "x").await,
        ] {
            assert_eq!(said.status, 503);
            assert_eq!(said.json().await["id"], 3);
        }
        place.notes.open(2);
    };
    let ((first, second), ()) = tokio::join!(slow, others);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    // Slots are free again once the handlers have finished.
    let all = place.endpoint.idle();
    all.await;
    assert_eq!(place.post(&session, call(3, "keep", "b")).await.status, 200);
    assert_eq!(place.notes.kept(), ["a", "a", "b"]);
    place.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_session_ends_the_longest_idle_one() {
    let place = Place::new(Limits {
        sessions: 2,
        ..Limits::default()
    });
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
    let place = Place::new(Limits::default());
    let session = place.open().await;
    let slow = async {
        let in_session = place.post(&session, call(1, "slow", "a"));
        let alone = place.alone(1, "slow", "a");
        tokio::join!(in_session, alone)
    };
    let ending = async {
        place.notes.has_begun(2).await;
        place.endpoint.end();
        for said in [
            place.post(&session, call(2, "keep", "x")).await,
            place.alone(2, "keep", "x").await,
        ] {
            assert_eq!(said.status, 503);
        }
        place.notes.open(2);
        place.endpoint.idle().await;
    };
    let ((first, second), ()) = tokio::join!(slow, ending);
    assert_eq!(text(&first.json().await), "a");
    assert_eq!(text(&second.json().await), "a");
    assert_eq!(place.notes.kept(), ["a", "a"]);
}
