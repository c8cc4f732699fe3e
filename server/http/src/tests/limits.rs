//! Slow clients, many clients, and shutdown.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{LONG, Limits, SHORT, Server, call, get, said, status, within};

#[tokio::test]
async fn a_slow_request_times_out() {
    let limits = Limits { head: SHORT, upload: SHORT, ..Limits::default() };
    let server = Server::new(limits).await;
    let keep = call("keep", "x");
    let (half_a_head, half_a_body) = (&keep[..20], &keep[..keep.len() - 5]);
    for (expected, bytes) in [("nothing", ""), ("nothing", half_a_head), ("408", half_a_body)] {
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{bytes}");
    }
    assert_eq!(server.notes.stored_texts(), [""; 0]);
    server.end().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_frees_its_slot() {
    let limits = Limits { connections: 1, unread: SHORT, ..Limits::default() };
    let server = Server::new(limits).await;
    let mut first = server.connect().await;
    let much = call("echo", &"x".repeat(16 << 20));
    first.write_all(much.as_bytes()).await.unwrap();
    server.notes.has_begun(1).await;
    let keep = call("keep", "x");
    // The first client reads nothing, and keeps its connection open.
    within(async { while status(&server.says(keep.as_bytes()).await) != "200" {} }).await;
    drop(first);
    server.end().await;
}

#[tokio::test]
async fn a_connection_beyond_the_limit_gets_503() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::new(limits).await;
    let mut first = server.connect().await;
    first.write_all(call("slow", "x").as_bytes()).await.unwrap();
    server.notes.has_begun(1).await;
    let keep = call("keep", "x");
    let said = server.says(b"").await;
    assert!(said.starts_with("HTTP/1.1 503 ") && said.contains("Retry-After"), "{said}");
    server.notes.open(1);
    drop(first);
    within(async { while status(&server.says(keep.as_bytes()).await) != "200" {} }).await;
    server.end().await;
}

#[tokio::test]
async fn connections_without_a_whole_request_give_way() {
    let keep = call("keep", "x");
    for half in [&[][..], &keep.as_bytes()[..20], &keep.as_bytes()[..keep.len() - 5]] {
        let limits = Limits { connections: 4, ..Limits::default() };
        let server = Server::new(limits).await;
        let mut busy = server.connect().await;
        busy.write_all(call("slow", "x").as_bytes()).await.unwrap();
        server.notes.has_begun(1).await;
        let mut halves = vec![];
        for _ in 0..20 {
            let mut stream = server.connect().await;
            // The server may have closed it already.
            let _ = stream.write_all(half).await;
            halves.push(stream);
        }
        assert_eq!(status(&server.says(keep.as_bytes()).await), "200", "{half:?}");
        server.notes.open(1);
        assert_eq!(status(&said(busy, b"").await), "200", "{half:?}");
        drop(halves);
        server.end().await;
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_address_leaves_connections_to_others() {
    let limits = Limits { connections: 4, local_failures: true, ..Limits::default() };
    let server = Server::new(limits).await;
    let mut busy = vec![];
    for number in 1..3 {
        let mut stream = server.connect().await;
        stream.write_all(call("slow", "x").as_bytes()).await.unwrap();
        server.notes.has_begun(number).await;
        busy.push(stream);
    }
    let keep = call("keep", "x");
    assert_eq!(status(&server.says(keep.as_bytes()).await), "503");
    let other = connect_from("127.0.0.2", &server).await;
    assert_eq!(status(&said(other, keep.as_bytes()).await), "200");
    server.notes.open(2);
    server.end().await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_caller_leaves_room_for_the_bodies_of_others() {
    let limits = Limits { body: 32 << 10, bodies: 64 << 10, ..Limits::default() };
    let server = Server::new(limits).await;
    let much = call("echo", &"x".repeat(30 << 10));
    let mut first = server.connect().await;
    first.write_all(&much.as_bytes()[..much.len() - 1]).await.unwrap();
    within(async { while status(&server.says(much.as_bytes()).await) != "503" {} }).await;
    let other = connect_from("127.0.0.2", &server).await;
    assert_eq!(status(&said(other, much.as_bytes()).await), "200");
    server.end().await;
}

/// Connects from another loopback address.
#[cfg(target_os = "linux")]
async fn connect_from(address: &str, server: &Server) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    socket.connect(server.address).await.unwrap()
}

#[tokio::test]
async fn bodies_received_at_once_are_bounded() {
    let limits = Limits { bodies: 64 << 10, ..Limits::default() };
    let server = Server::new(limits).await;
    let much = call("echo", &"x".repeat(60 << 10));
    let mut first = server.connect().await;
    first.write_all(&much.as_bytes()[..much.len() - 1]).await.unwrap();
    // Once all but the last byte of the first body has arrived, there is no room for a second one.
    within(async { while status(&server.says(much.as_bytes()).await) != "503" {} }).await;
    let rest = said(first, &much.as_bytes()[much.len() - 1..]).await;
    assert_eq!(status(&rest), "200");
    within(async { while status(&server.says(much.as_bytes()).await) != "200" {} }).await;
    server.end().await;
}

#[tokio::test]
async fn shutdown_finishes_calls() {
    let server = Server::new(Limits::default()).await;
    let Server { notes, address, stop, served, .. } = server;
    // A connection without a request does not delay the shutdown.
    let _idle = TcpStream::connect(address).await.unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let slow = tokio::spawn(async move { said(stream, call("slow", "x").as_bytes()).await });
    notes.has_begun(1).await;
    stop.send(()).unwrap();
    within(async { while TcpStream::connect(address).await.is_ok() {} }).await;
    notes.open(1);
    let said = slow.await.unwrap();
    assert_eq!(status(&said), "200", "{said}");
    within(served).await.unwrap();
    assert_eq!(notes.stored_texts(), ["x"]);
}

#[tokio::test]
async fn an_open_event_stream_does_not_delay_shutdown() {
    let limits = Limits { grace: 2 * LONG, ..Limits::default() };
    let server = Server::new(limits).await;
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    let headers = "Host: localhost\r\nConnection: close\r\nAccept: */*\r\n";
    let open = format!(
        "POST /mcp HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let opened = server.says(open.as_bytes()).await;
    let session = opened.lines().find(|line| line.starts_with("mcp-session-id: "));
    let session = session.expect("a session");
    let mut stream = server.connect().await;
    let listen = format!("GET /mcp HTTP/1.1\r\n{headers}{session}\r\n\r\n");
    stream.write_all(listen.as_bytes()).await.unwrap();
    let mut begun = [0; 15];
    stream.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    server.end().await;
    // The stream ends correctly.
    let rest = said(stream, b"").await;
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "{rest}");
}

#[tokio::test]
async fn a_rejected_request_leaves_its_connection_usable() {
    let server = Server::new(Limits::default()).await;
    let mut stream = server.connect().await;
    let head = "POST /mcp HTTP/1.1\r\nHost: unknown.example\r\nContent-Length: 5\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    // The request is rejected by its head, before the body arrives.
    tokio::time::sleep(Duration::from_millis(50)).await;
    stream.write_all(b"hello").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let answers = said(stream, get("/healthz").as_bytes()).await;
    assert!(answers.starts_with("HTTP/1.1 403") && answers.contains("HTTP/1.1 200"), "{answers}");
    server.end().await;
}
