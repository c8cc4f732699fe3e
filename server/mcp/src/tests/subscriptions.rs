//! Notifications of changed resources, in both eras. Time is paused in these tests, and advances only if all tasks wait.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    client::{Client, WAYS},
    page::{Page, URI},
};
use crate::{adapter::MAX_SUBSCRIPTIONS, testing::adapter};
use tabellion_gateway::ApprovalPolicy;

const UPDATED: &str = "notifications/resources/updated";

fn client() -> (Arc<Page>, Client) {
    client_over("")
}

/// Connects over the named way.
fn client_over(way: &str) -> (Arc<Page>, Client) {
    let page = Page::new();
    let adapter = adapter(vec![page.clone()], ApprovalPolicy::default());
    (page, Client::over(way, adapter, 1 << 16))
}

/// Subscribes to `uris`, as the revision requires.
async fn subscribe(client: &mut Client, id: u64, uris: &[&str]) -> Value {
    if client.revision == "2026-07-28" {
        let params = json!({ "notifications": { "resourceSubscriptions": uris } });
        client.request(json!(id), "subscriptions/listen", Some(params)).await;
        let said = client.receive().await.unwrap();
        assert_eq!(said["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(said["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        return said["params"]["notifications"]["resourceSubscriptions"].clone();
    }
    for uri in uris {
        client.request(json!(id), "resources/subscribe", Some(json!({ "uri": uri }))).await;
        assert_eq!(client.receive().await.unwrap()["result"], json!({}));
    }
    json!(uris)
}

async fn unsubscribe(client: &mut Client, id: u64) {
    if client.revision == "2026-07-28" {
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.send(cancel.to_string()).await;
    } else {
        client.request(json!("end"), "resources/unsubscribe", Some(json!({ "uri": URI }))).await;
        assert_eq!(client.receive().await.unwrap()["result"], json!({}));
    }
    rest().await;
}

/// Lets the server detect changes.
async fn rest() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

async fn told(client: &mut Client, id: u64) {
    let said = client.receive().await.unwrap();
    assert_eq!((&said["method"], &said["params"]["uri"]), (&json!(UPDATED), &json!(URI)));
    if client.revision == "2026-07-28" {
        assert_eq!(said["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
}

/// Asserts that no message is pending.
async fn quiet(client: &mut Client) {
    client.request(json!("quiet"), "tools/list", None).await;
    assert_eq!(client.receive().await.unwrap()["id"], "quiet");
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_is_notified_of_each_change_until_it_unsubscribes() {
    for revision in WAYS {
        let (page, mut client) = client_over(revision);
        client.speak(revision).await;
        page.set("before");
        assert_eq!(subscribe(&mut client, 1, &[URI]).await, json!([URI]));
        page.set("right after the answer");
        told(&mut client, 1).await;
        for text in ["two", "gone", "three"] {
            page.set(text);
            told(&mut client, 1).await;
        }
        rest().await;
        quiet(&mut client).await;
        for text in ["four", "five"] {
            page.set(text);
        }
        told(&mut client, 1).await;
        rest().await;
        quiet(&mut client).await;
        unsubscribe(&mut client, 1).await;
        page.set("unheard");
        rest().await;
        quiet(&mut client).await;
        client.end().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn resources_without_subscribers_are_not_polled() {
    for revision in WAYS {
        let (page, mut client) = client_over(revision);
        client.speak(revision).await;
        rest().await;
        assert_eq!(page.looks(), 0, "{revision}");
        subscribe(&mut client, 1, &[URI]).await;
        rest().await;
        assert!((3..=6).contains(&page.looks()), "{revision}: {}", page.looks());
        unsubscribe(&mut client, 1).await;
        let looks = page.looks();
        rest().await;
        assert_eq!(page.looks(), looks, "{revision}");
        client.end().await.unwrap();
        rest().await;
        assert_eq!(page.looks(), looks, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_ends_subscriptions_at_once() {
    for revision in WAYS {
        let (page, mut client) = client_over(revision);
        client.speak(revision).await;
        subscribe(&mut client, 1, &[URI]).await;
        let began = tokio::time::Instant::now();
        client.leave().await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(100), "{revision}");
        let looks = page.looks();
        rest().await;
        assert_eq!(page.looks(), looks, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_session_has_one_subscription_to_a_resource() {
    let (page, mut client) = client();
    client.speak("2025-06-18").await;
    for _ in 0..500 {
        subscribe(&mut client, 1, &[URI]).await;
    }
    page.set("two");
    told(&mut client, 1).await;
    rest().await;
    quiet(&mut client).await;
    unsubscribe(&mut client, 1).await;
    unsubscribe(&mut client, 1).await;
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        client.request(json!(2), method, Some(json!({ "uri": "memory://none" }))).await;
        assert_eq!(client.receive().await.unwrap()["error"]["code"], -32002, "{method}");
        client.request(json!(3), method, Some(json!({ "uri": [] }))).await;
        assert_eq!(client.receive().await.unwrap()["error"]["code"], -32602, "{method}");
    }
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_existing_resources_are_accepted() {
    let (page, mut client) = client();
    let cases = [
        (vec![], Value::Null),
        (vec!["memory://none"], Value::Null),
        (vec!["memory://none", URI], json!([URI])),
        (vec!["memory://panic"], json!(["memory://panic"])),
    ];
    for (id, (uris, accepted)) in (1..).zip(cases) {
        assert_eq!(subscribe(&mut client, id, &uris).await, accepted, "{uris:?}");
    }
    let params = json!({ "notifications": { "toolsListChanged": true, "resourcesListChanged": true } });
    client.request(json!(8), "subscriptions/listen", Some(params)).await;
    assert_eq!(client.receive().await.unwrap()["params"]["notifications"], json!({}));
    // A repeated URI is notified once.
    subscribe(&mut client, 9, &[URI, URI]).await;
    page.set("two");
    let mut heard = [client.receive().await.unwrap(), client.receive().await.unwrap()]
        .map(|said| said["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64());
    heard.sort_unstable();
    assert_eq!(heard, [Some(3), Some(9)]);
    rest().await;
    quiet(&mut client).await;
    client.request(json!(10), "subscriptions/listen", Some(json!({ "notifications": 7 }))).await;
    assert_eq!(client.receive().await.unwrap()["error"]["code"], -32602);
    client.leave().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn subscriptions_of_the_eras_are_separate() {
    for (revision, method, params) in [
        ("2025-11-25", "subscriptions/listen", json!({ "notifications": {} })),
        ("2026-07-28", "resources/subscribe", json!({ "uri": URI })),
        ("2026-07-28", "resources/unsubscribe", json!({ "uri": URI })),
    ] {
        let (_, mut client) = client();
        client.speak(revision).await;
        client.request(json!(1), method, Some(params)).await;
        assert_eq!(client.receive().await.unwrap()["error"]["code"], -32601, "{method}");
        client.end().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn subscriptions_leave_room_for_requests() {
    let (_, mut client) = client();
    let most = MAX_SUBSCRIPTIONS as u64;
    for id in 0..most {
        subscribe(&mut client, id, &[URI]).await;
    }
    for id in most..most + 300 {
        let params = json!({ "notifications": { "resourceSubscriptions": [URI] } });
        client.request(json!(id), "subscriptions/listen", Some(params)).await;
        assert_eq!(client.receive().await.unwrap()["error"]["code"], -32600);
    }
    quiet(&mut client).await;
    unsubscribe(&mut client, 0).await;
    subscribe(&mut client, 1000, &[URI]).await;
    client.leave().await.unwrap();
}

/// Each resource of a template is watched separately.
#[tokio::test(start_paused = true)]
async fn a_resource_of_a_template_notifies_of_its_own_changes() {
    for way in WAYS {
        let (page, mut client) = client_over(way);
        client.speak(way).await;
        page.set("a1 b1");
        let uris = ["memory://page/a", "memory://page/b", "memory://page/a/b"];
        let known = if client.revision == "2026-07-28" { &uris[..] } else { &uris[..2] };
        let said = subscribe(&mut client, 9, known).await;
        assert_eq!(said, json!(uris[..2]));
        for (text, uri) in [("a1 b2", uris[1]), ("a2 b2", uris[0])] {
            page.set(text);
            rest().await;
            let said = client.receive().await.unwrap();
            assert_eq!((&said["method"], &said["params"]["uri"]), (&json!(UPDATED), &json!(uri)), "{way}");
            quiet(&mut client).await;
        }
        unsubscribe(&mut client, 9).await;
        client.end().await.unwrap();
    }
}
