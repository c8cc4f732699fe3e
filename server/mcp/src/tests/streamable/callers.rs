//! Callers: their permissions, rates, sessions and approvals.

use std::{sync::Arc, time::Duration};

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{BOTH, Limits, TestBudget, TestGrant, TestServer, call, grant, text};
use crate::tests::page::URI;

#[tokio::test]
async fn scopes_limit_a_key() {
    let request = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let subscriptions = json!({ "notifications": { "resourceSubscriptions": [URI] } });
    for (scope, allowed) in [
        ("read", &["list", "echo", "page"][..]),
        ("write", &["list", "echo", "keep", "page"]),
        ("read:notes", &["list", "echo"]),
        ("write:notes", &["list", "echo", "keep"]),
        ("write:page", &["list", "page"]),
        ("read:nothing", &["list"]),
    ] {
        let place = TestServer::new(Limits::default()).by(grant("Ada", &[scope]));
        let session = place.open().await;
        for (name, request) in [
            ("list", request("tools/list", json!({}))),
            ("echo", call(1, "echo", "x")),
            ("keep", call(1, "keep", "x")),
            ("page", request("resources/read", json!({ "uri": URI }))),
        ] {
            let expected = if allowed.contains(&name) { 200 } else { 403 };
            for said in [place.stateless(request.clone()).await, place.post(&session, request.clone()).await]
            {
                assert_eq!(said.status, expected, "{name} with {scope}");
                let answer = said.json().await;
                assert_eq!(answer["error"]["code"] == 403, expected == 403, "{answer}");
            }
        }
        let may_read = allowed.contains(&"page");
        let subscribe = place.post(&session, request("resources/subscribe", json!({ "uri": URI })));
        assert_eq!(subscribe.await.status == 200, may_read, "{scope}");
        let listen = place.stateless(request("subscriptions/listen", subscriptions.clone()));
        assert_eq!(listen.await.status == 200, may_read, "{scope}");
        let kept = if allowed.contains(&"keep") { vec!["x", "x"] } else { vec![] };
        assert_eq!(place.notes.stored_texts(), kept, "{scope}");
        place.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_beyond_its_rate_changes_nothing() {
    let mut place = TestServer::new(Limits::default());
    let session = place.open().await;
    place.budget = TestBudget::per_minute("ada", 6, 2);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for (in_session, request, expected) in [
        (false, call(1, "keep", "a"), 200),
        (true, call(1, "keep", "b"), 200),
        (false, call(1, "keep", "c"), 429),
        (true, call(1, "keep", "d"), 429),
        (false, call(1, "echo", "x"), 200),
        (true, call(1, "no_such_tool", "x"), 200),
        (false, list.clone(), 200),
        (true, list.clone(), 200),
        (false, call(1, "echo", "x"), 200),
        (true, call(1, "echo", "x"), 200),
        (false, call(1, "echo", "x"), 429),
        (true, list, 429),
    ] {
        let said = if in_session {
            place.post(&session, request.clone()).await
        } else {
            place.stateless(request.clone()).await
        };
        assert_eq!(said.status, expected, "{request}");
        let wait = said.retry_after.clone().and_then(|wait| wait.parse().ok());
        let answer = said.json().await;
        let named = answer["error"]["data"]["retryAfterSeconds"].as_u64();
        assert_eq!((wait, named.is_some()), (named, expected == 429), "{answer}");
    }
    assert_eq!(place.notes.stored_texts(), ["a", "b"]);
    // Other callers are not limited, and this one only for a minute.
    let mut other = place.by(None);
    other.budget = TestBudget::per_minute("bert", 6, 2);
    assert_eq!(other.alone(1, "keep", "d").await.status, 200);
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(place.alone(1, "keep", "e").await.status, 200);
    assert_eq!(place.alone(1, "keep", "f").await.status, 429);
    assert_eq!(place.notes.stored_texts(), ["a", "b", "d", "e"]);
}

#[tokio::test]
async fn a_contracts_rate_limit_sets_the_status_of_json_rpc_errors() {
    let mut place = TestServer::new(Limits::default());
    let session = place.open().await;
    place.budget = TestBudget::per_minute("ada", 60, 60);
    for (tool, in_session, expected, at) in [
        ("wait", true, 200, "/result/_meta/tabellion~1error"),
        ("wait", false, 200, "/result/_meta/tabellion~1error"),
        ("wait_rpc", true, 429, "/error"),
        ("wait_rpc", false, 429, "/error"),
    ] {
        let said = if in_session {
            place.post(&session, call(1, tool, "x")).await
        } else {
            place.stateless(call(1, tool, "x")).await
        };
        let wait = said.retry_after.clone();
        assert_eq!(said.status, expected, "{tool}");
        assert_eq!(wait.as_deref(), (expected == 429).then_some("7"), "{tool}");
        let answer = said.json().await;
        let error = answer.pointer(at).expect("an error");
        let data = json!({ "retryAfterSeconds": 7, "who": "ada" });
        assert_eq!((&error["code"], &error["data"]), (&json!(-32005), &data), "{answer}");
    }
}

#[tokio::test]
async fn a_session_belongs_to_its_owner() {
    let place = TestServer::new(Limits::default());
    let (ada, bert) = (place.by(grant("Ada", &["write"])), place.by(grant("Bert", &["write"])));
    let session = ada.open().await;
    let own = [("accept", BOTH), ("mcp-session-id", &*session)];
    for other in [&bert, &place] {
        assert_eq!(other.post(&session, call(1, "keep", "x")).await.status, 404);
        assert_eq!(other.send("GET", &own, &Value::Null).await.status, 404);
        assert_eq!(other.send("DELETE", &own, &Value::Null).await.status, 404);
    }
    assert_eq!(ada.post(&session, call(1, "keep", "a")).await.status, 200);
    assert_eq!(ada.send("DELETE", &own, &Value::Null).await.status, 204);
    assert_eq!(place.notes.stored_texts(), ["a"]);
    place.end().await;
}

#[tokio::test(start_paused = true)]
async fn revocation_ends_the_callers_streams() {
    let (good, expired) = (TestGrant::new("Ada", &["write"]), TestGrant::new("Ada", &["write"]));
    expired.revoke();
    let subscriptions = json!({ "notifications": { "resourceSubscriptions": [URI] } });
    let listen =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": subscriptions });
    let place = TestServer::new(Limits::default());
    for (grant, is_good) in [(good, true), (expired, false)] {
        let grant = Arc::new(grant);
        let place = place.by(Some(grant.clone()));
        let session = place.open().await;
        let own = [("accept", BOTH), ("mcp-session-id", &*session)];
        let mut streams =
            [place.send("GET", &own, &Value::Null).await, place.stateless(listen.clone()).await];
        let mut called = place.post(&session, call(1, "slow", "a")).await;
        if is_good {
            for stream in &mut streams {
                assert!(stream.is_stream);
                while !stream.next_is_keep_alive().await {}
            }
            grant.revoke();
        }
        let ended = async {
            for mut stream in streams {
                while stream.body.frame().await.is_some() {}
            }
        };
        // Grants are checked every 15 seconds, one stream after the other.
        let ended = tokio::time::timeout(Duration::from_secs(40), ended).await;
        assert!(ended.is_ok(), "{is_good}");
        // A request made before the revocation is still answered.
        assert!(called.is_stream);
        if !is_good {
            continue;
        }
        place.notes.open(1);
        while let Some((_, message)) = called.event().await {
            assert!(message.is_null() || *text(&message) == "a", "{message}");
        }
        assert_eq!(place.notes.stored_texts(), ["a"]);
    }
}

#[tokio::test]
async fn an_approval_belongs_to_its_caller() {
    let place = TestServer::new(Limits::default());
    let (ada, bert) = (place.by(grant("Ada", &["write"])), place.by(grant("Bert", &["write"])));
    let question = ada.alone(1, "append", "two").await.json().await;
    let mut repeated = call(2, "append", "two");
    repeated["params"]["requestState"] = question["result"]["requestState"].clone();
    repeated["params"]["inputResponses"] = json!({ "approval": { "action": "accept" } });
    assert!(repeated["params"]["requestState"].is_string(), "{question}");
    let refused = bert.stateless(repeated.clone()).await.json().await;
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("requestState"), "{refused}");
    let done = ada.stateless(repeated).await.json().await;
    assert!(done["result"]["structuredContent"].is_object(), "{done}");
    place.end().await;
}
