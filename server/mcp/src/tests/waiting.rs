//! Progress of long calls, and the end of cancelled ones. Time is paused in these tests, and advances only if all tasks wait.

use serde_json::{Value, json};

use super::client::{Client, WAYS};

async fn counting(revision: &str, steps: u64, meta: Value) -> Client {
    let mut client = Client::new_over(revision, 1 << 16);
    client.speak(revision).await;
    let arguments = json!({ "text": steps.to_string() });
    let params = json!({ "name": "count", "arguments": arguments, "_meta": meta });
    client.request(json!(1), "tools/call", Some(params)).await;
    client
}

async fn cancel(client: &mut Client) {
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
}

#[tokio::test(start_paused = true)]
async fn progress_comes_in_order_and_before_the_answer() {
    for revision in WAYS {
        for token in [json!("mine"), json!(7)] {
            let mut client = counting(revision, 20, json!({ "progressToken": token })).await;
            let mut heard = vec![];
            let answer = loop {
                let message = client.receive().await.unwrap();
                if message["id"] == 1 {
                    break message;
                }
                assert_eq!(message["method"], "notifications/progress");
                assert_eq!(message["params"]["progressToken"], token);
                assert_eq!(message["params"]["total"], 20.0);
                assert_eq!(message["params"]["message"], "counting");
                heard.push(message["params"]["progress"].as_f64().unwrap());
            };
            assert_eq!(answer["result"]["structuredContent"]["text"], "20");
            // One step every 30 ms, one notification every 100 ms.
            assert_eq!(heard, [3.0, 6.0, 9.0, 13.0, 16.0, 19.0], "{revision}");
            client.end().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_or_one_without_a_token_has_no_progress() {
    for revision in WAYS {
        for (steps, meta) in [(3, json!({ "progressToken": 1 })), (20, json!({}))] {
            let mut client = counting(revision, steps, meta).await;
            assert_eq!(client.receive().await.unwrap()["id"], 1, "{revision}");
            client.end().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_stops_without_a_message() {
    for revision in WAYS {
        let mut client = counting(revision, 1_000_000, json!({ "progressToken": "mine" })).await;
        assert_eq!(client.receive().await.unwrap()["params"]["progress"], 3.0);
        cancel(&mut client).await;
        let notes = client.notes.clone();
        // The service ends only after all calls.
        client.end().await.unwrap();
        assert_eq!(notes.stored_texts(), ["cancelled at 4"], "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_cancellation_does_nothing() {
    for revision in WAYS {
        let mut client = counting(revision, 1, json!({})).await;
        assert_eq!(client.receive().await.unwrap()["id"], 1, "{revision}");
        cancel(&mut client).await;
        client.call(1, "echo", "again").await;
        assert_eq!(client.receive().await.unwrap()["result"]["structuredContent"]["text"], "again");
        client.end().await.unwrap();
    }
}
