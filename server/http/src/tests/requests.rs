//! Requests: answers, rejections, headers, metrics.

use super::{Limits, Server, call, get, status};

#[tokio::test]
async fn requests_are_answered_or_refused() {
    let limits = Limits { body: 1000, ..Limits::default() };
    let server = Server::new(limits).await;
    let keep = call("keep", "x");
    let long = call("keep", &"x".repeat(1000));
    for (expected, bytes) in [
        ("200", keep.clone()),
        ("200", keep.replace("Host: localhost", "Host: 127.0.0.1:1")),
        ("404", keep.replace("/mcp ", "/ ")),
        ("404", keep.replace("/mcp ", "/mcp/ ")),
        ("404", keep.replace("/mcp ", "/mcp/../mcp ")),
        ("400", keep.replace("Host: localhost\r\n", "")),
        ("403", keep.replace("Host: localhost", "Host: attacker.example")),
        ("403", keep.replace("Accept:", "Origin: http://attacker.example\r\nAccept:")),
        ("413", long.clone()),
        (
            "413",
            format!(
                "{}Transfer-Encoding: chunked\r\n\r\n400\r\n{}\r\n0\r\n\r\n",
                keep.split("Content-Length").next().unwrap(),
                "x".repeat(1024)
            ),
        ),
        ("400", "nonsense\r\n\r\n".into()),
        ("431", format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(400_000))),
    ] {
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{bytes:.200}\n{said}");
    }
    assert_eq!(server.notes.stored_texts(), ["x", "x"]);
    server.end().await;
}

#[tokio::test]
async fn an_allowed_page_can_read_answers() {
    let server = Server::new(Limits::default()).await;
    let page = "Host: localhost\r\nOrigin: https://app.example\r\nConnection: close\r\n";
    let asked = server.says(format!("OPTIONS /mcp HTTP/1.1\r\n{page}\r\n").as_bytes()).await;
    let called = call("keep", "x").replace("Host: localhost\r\n", page);
    let called = server.says(called.as_bytes()).await;
    assert_eq!((status(&asked), status(&called)), ("204", "200"));
    for said in [asked, called] {
        assert!(said.contains("access-control-allow-origin: https://app.example\r\n"), "{said}");
    }
    let unknown = server.says(call("keep", "y").as_bytes()).await;
    assert!(!unknown.contains("access-control"), "{unknown}");
    server.end().await;
}

#[tokio::test]
async fn a_request_has_an_id_which_its_client_may_choose() {
    let server = Server::new(Limits::default()).await;
    for (given, taken) in [("mine-1", true), ("two words", false), ("", false)] {
        let bytes = call("keep", "x").replace("Accept:", &format!("X-Request-Id: {given}\r\nAccept:"));
        let said = server.says(bytes.as_bytes()).await;
        let name = said.split("x-request-id: ").nth(1).and_then(|it| it.lines().next());
        let name = name.expect("a name");
        assert_eq!(name == given, taken, "{given}: {name}");
        assert!(taken || name.len() == 16, "{name}");
    }
    server.end().await;
}

#[tokio::test]
async fn health_and_readiness_are_reported() {
    let server = Server::new(Limits::default()).await;
    let asked = async |path: &str, host: &str| {
        let asked = get(path).replace("localhost", host);
        status(&server.says(asked.as_bytes()).await).to_owned()
    };
    for (path, host, expected) in [
        ("/healthz", "10.0.0.7", "200"),
        ("/readyz", "10.0.0.7", "200"),
        ("/metrics", "10.0.0.7", "403"),
        ("/metrics", "localhost", "200"),
    ] {
        assert_eq!(asked(path, host).await, expected, "{path} of {host}");
    }
    std::fs::write(server.folder.path().join("away"), "").unwrap();
    // The last answer is repeated for a second.
    let unready = async {
        while asked("/readyz", "localhost").await != "503" {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(20), unready).await;
    assert!(in_time.is_ok(), "ready without its database");
    std::fs::remove_dir_all(server.folder.path()).unwrap();
    assert_eq!(asked("/healthz", "localhost").await, "200");
    assert_eq!(asked("/readyz", "localhost").await, "503");
    server.end().await;
}

#[tokio::test]
async fn metrics_count_what_was_done() {
    let server = Server::new(Limits::default()).await;
    for tool in ["keep", "keep", "refuse", "breach", "no_such_tool"] {
        server.says(call(tool, "Confidential").as_bytes()).await;
    }
    let said = server.says(get("/metrics").as_bytes()).await;
    for line in [
        r#"tabellion_calls_total{library="notes",tool="keep",outcome="ok"} 2"#,
        r#"tabellion_calls_total{library="notes",tool="refuse",outcome="NOT_FOUND"} 1"#,
        r#"tabellion_calls_total{library="notes",tool="breach",outcome="INTERNAL_ERROR"} 1"#,
        r#"tabellion_call_seconds_bucket{library="notes",tool="keep",le="+Inf"} 2"#,
        r#"tabellion_call_seconds_count{library="notes",tool="keep"} 2"#,
        r#"tabellion_commits_total{library="notes"} 0"#,
        r#"tabellion_requests_in_flight{library="notes"} 0"#,
    ] {
        assert!(said.contains(&format!("\n{line}\n")), "{line}\n{said}");
    }
    assert!(!said.contains("Confidential") && !said.contains("no_such_tool"), "{said}");
    let body = said.split("\r\n\r\n").nth(1).unwrap();
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("tabellion_") && name.ends_with('}'), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    server.end().await;
}
