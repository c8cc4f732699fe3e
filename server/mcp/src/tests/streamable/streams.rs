//! Broken streams, and clients that disconnect.

use std::time::Duration;

use serde_json::Value;

use super::{Limits, TestServer, call, text};

#[tokio::test(start_paused = true)]
async fn a_broken_stream_resumes_where_it_was() {
    let place = TestServer::new(Limits::default());
    let session = place.open().await;
    let mut stream = place.post(&session, call(1, "slow", "a")).await;
    assert!(stream.is_stream, "what takes long is answered with a stream");
    let (first, nothing) = stream.event().await.unwrap();
    assert_eq!(nothing, Value::Null);
    drop(stream);
    place.notes.open(1);
    // The answer arrives while no reader is connected, and can be read more than once.
    for _ in 0..2 {
        let headers =
            [("accept", "text/event-stream"), ("mcp-session-id", &*session), ("last-event-id", &*first)];
        let mut again = place.send("GET", &headers, &Value::Null).await;
        assert_eq!(again.event().await.unwrap(), (first.clone(), Value::Null));
        let (_, answer) = again.event().await.unwrap();
        assert_eq!(text(&answer), "a");
        assert_eq!(again.event().await, None);
    }
    // Older clients parse each event as a message.
    let headers = [
        ("accept", "text/event-stream"),
        ("mcp-session-id", &*session),
        ("mcp-protocol-version", "2025-06-18"),
        ("last-event-id", &*first),
    ];
    let mut again = place.send("GET", &headers, &Value::Null).await;
    assert_eq!(text(&again.event().await.unwrap().1), "a");
    // Resuming at an event already read, or at an unknown one, yields no event.
    for last in ["1-1", "77-0"] {
        let headers =
            [("accept", "text/event-stream"), ("mcp-session-id", &*session), ("last-event-id", last)];
        let mut again = place.send("GET", &headers, &Value::Null).await;
        while let Some((id, message)) = again.event().await {
            assert_eq!((&*id, message), (last, Value::Null));
        }
    }
    assert_eq!(place.notes.stored_texts(), ["a"]);
    place.end().await;
}

#[tokio::test]
async fn a_call_in_a_session_continues_after_its_client_hangs_up() {
    let place = TestServer::new(Limits::default());
    let session = place.open().await;
    tokio::select! {
        _ = place.post(&session, call(1, "slow", "a")) => panic!("it waits"),
        () = place.notes.has_begun(1) => {}
    }
    place.notes.open(1);
    place.end().await;
    assert_eq!(place.notes.stored_texts(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn hanging_up_cancels_a_stateless_call() {
    // Before the first event, and afterwards.
    for after in [Duration::from_millis(100), Duration::from_secs(10)] {
        let place = TestServer::new(Limits::default());
        let reading = async {
            let mut said = place.alone(1, "count", "1000000").await;
            while said.event().await.is_some() {}
        };
        let _ = tokio::time::timeout(after, reading).await;
        place.end().await;
        let kept = place.notes.stored_texts();
        assert!(matches!(&*kept, [kept] if kept.starts_with("cancelled at ")), "{after:?}: {kept:?}");
    }
}
