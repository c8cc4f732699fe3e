//! The start and the end of a service. Time is paused in these tests, and advances only if all tasks wait.

use std::{io, time::Duration};

use serde_json::{Value, json};

use super::client::Client;
use crate::{
    ServeError, in_flight, serve,
    testing::{Memory, NOTES, adapter},
};
use tabellion_gateway::ApprovalPolicy;

const MAX_IN_FLIGHT: usize = in_flight::MAX as usize;

/// Lets every pending task run.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn ids(messages: &[Value]) -> Vec<u64> {
    let mut ids: Vec<_> = messages.iter().map(|message| message["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side() {
    let mut client = Client::new(1 << 16);
    client.call(1, "slow", "a").await;
    client.call(2, "slow", "b").await;
    client.notes.has_begun(2).await;
    client.call(3, "echo", "hi").await;
    assert_eq!(client.receive().await.unwrap()["id"], 3);
    client.notes.open(2);
    let replies = [client.receive().await.unwrap(), client.receive().await.unwrap()];
    assert_eq!(ids(&replies), [1, 2]);
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_id_in_flight_is_refused_and_the_first_reply_comes() {
    let mut client = Client::new(1 << 16);
    client.call(1, "slow", "first").await;
    client.notes.has_begun(1).await;
    client.call(1, "keep", "second").await;
    assert_eq!(client.receive().await.unwrap()["error"]["code"], -32600);
    client.notes.open(1);
    assert_eq!(client.receive().await.unwrap()["result"]["structuredContent"]["text"], "first");
    assert_eq!(client.notes.stored_texts(), ["first"]);
    client.call(1, "echo", "free again").await;
    assert_eq!(client.receive().await.unwrap()["result"]["structuredContent"]["text"], "free again");
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_mutation_is_made_and_not_answered() {
    let mut client = Client::new(1 << 16);
    client.call(1, "slow", "whole").await;
    client.notes.has_begun(1).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    client.call(2, "echo", "hi").await;
    assert_eq!(client.receive().await.unwrap()["id"], 2);
    client.notes.open(1);
    let notes = client.notes.clone();
    client.end().await.unwrap();
    assert_eq!(notes.stored_texts(), ["whole"]);
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_calls_in_flight_stops_the_reading() {
    let mut client = Client::new(1 << 20);
    for id in 0..MAX_IN_FLIGHT + 44 {
        client.call(id as u64, "slow", "x").await;
    }
    settle().await;
    assert_eq!(client.notes.begun(), MAX_IN_FLIGHT);
    client.notes.open(MAX_IN_FLIGHT + 44);
    let mut replies = vec![];
    for _ in 0..MAX_IN_FLIGHT + 44 {
        replies.push(client.receive().await.unwrap());
    }
    assert_eq!(ids(&replies), (0..MAX_IN_FLIGHT as u64 + 44).collect::<Vec<_>>());
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn cancelled_calls_count_as_long_as_they_run() {
    let mut client = Client::new(1 << 20);
    for id in 0..MAX_IN_FLIGHT as u64 + 44 {
        client.call(id, "slow", "x").await;
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.send(cancel.to_string()).await;
    }
    settle().await;
    assert_eq!(client.notes.begun(), MAX_IN_FLIGHT);
    client.notes.open(MAX_IN_FLIGHT + 44);
    client.notes.has_begun(MAX_IN_FLIGHT + 44).await;
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn unread_replies_stop_the_reading() {
    let mut client = Client::new(1 << 10);
    let text = "x".repeat(1 << 10);
    let calls = MAX_IN_FLIGHT as u64 + 44;
    let send = async {
        for id in 0..calls {
            client.call(id, "keep", &text).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(1), send).await.is_err());
    assert!(client.notes.begun() <= MAX_IN_FLIGHT, "{}", client.notes.begun());
    client.orphan();
    client.leave().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn unread_refusals_stop_the_reading() {
    let mut client = Client::new(1 << 10);
    let send = async {
        loop {
            client.send("nonsense").await;
        }
    };
    let sent = tokio::time::timeout(Duration::from_millis(1), send).await;
    assert!(sent.is_err());
    client.orphan();
    client.leave().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn lines_do_not_mix() {
    let mut client = Client::new(64);
    let text = "y".repeat(1_000);
    let mut replies = vec![];
    for id in 0..8 {
        client.call(id, "slow", &text).await;
    }
    client.notes.open(8);
    for _ in 0..8 {
        replies.push(client.receive().await.unwrap());
    }
    assert_eq!(ids(&replies), (0..8).collect::<Vec<_>>());
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn mutations_finish_after_the_end_of_input() {
    let mut client = Client::new(1 << 16);
    client.call(1, "slow", "last words").await;
    client.notes.has_begun(1).await;
    let notes = client.notes.clone();
    let opened = async {
        settle().await;
        notes.open(1);
    };
    let (ended, ()) = tokio::join!(client.leave(), opened);
    ended.unwrap();
    assert_eq!(notes.stored_texts(), ["last words"]);
}

#[tokio::test(start_paused = true)]
async fn an_orphan_finishes_mutations_and_ends_with_its_input_open() {
    let mut client = Client::new(1 << 16);
    client.call(1, "slow", "last words").await;
    client.notes.has_begun(1).await;
    client.orphan();
    let notes = client.notes.clone();
    settle().await;
    notes.open(1);
    let (messages, ended) = client.ended().await;
    ended.unwrap();
    assert_eq!((ids(&messages), notes.stored_texts()), (vec![1], vec!["last words".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_ends_the_service_after_its_mutations() {
    let mut client = Client::new(1 << 16);
    client.call(1, "slow", "a").await;
    client.call(2, "slow", "b").await;
    client.notes.has_begun(2).await;
    client.call(3, "echo", "unread").await;
    let notes = client.notes.clone();
    let opened = async {
        for _ in 0..2 {
            settle().await;
            notes.open(1);
        }
    };
    let (ended, ()) = tokio::join!(client.stop_reading(), opened);
    ended.unwrap();
    assert_eq!(notes.stored_texts(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn neither_a_blocked_reply_nor_an_endless_call_keeps_the_service() {
    let mut client = Client::new(64);
    client.call(1, "echo", &"x".repeat(1_000)).await;
    client.call(2, "slow", "never").await;
    client.notes.has_begun(2).await;
    client.leave().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_broken_output_is_reported() {
    let output = tokio::io::join(tokio::io::empty(), FullDisk);
    let input: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let adapter = adapter(vec![Memory::new(&NOTES)], ApprovalPolicy::default());
    let ended = serve(input, output, adapter, std::future::pending()).await;
    assert!(matches!(ended, Err(ServeError::Write(error)) if error.kind() == io::ErrorKind::StorageFull));
}

/// An output that can't be written to.
struct FullDisk;

impl tokio::io::AsyncWrite for FullDisk {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        std::task::Poll::Ready(Err(io::ErrorKind::StorageFull.into()))
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}
