//! Downloads: their URLs are the only credentials.

use std::{
    fs::{self, File},
    io,
    path::PathBuf,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest as _, Sha256};

use super::{KEYS, Limits, Server, key, status};
use crate::keys::KeyFile;
use tabellion_runtime::downloads::{Download, Downloads, Opened};

/// A file with one URL.
pub(super) struct OneFile(pub(super) PathBuf);

impl Downloads for OneFile {
    fn path(&self) -> &'static str {
        "/exports/{id}"
    }

    fn open(&self, id: &str, query: &str) -> io::Result<Opened> {
        let key = match (id, query.strip_suffix("signature=right")) {
            ("notes", Some("")) => None,
            ("notes", Some(key)) => Some(key.trim_end_matches('&').into()),
            ("old", Some("")) => return Ok(Opened::Expired),
            ("gone", Some("")) => return Ok(Opened::Missing),
            _ => return Ok(Opened::Unsigned),
        };
        Ok(Opened::File(Download {
            file: Box::new(File::open(self.0.join("notes.zip"))?),
            name: "notes.zip".into(),
            media_type: "application/zip",
            key,
        }))
    }
}

async fn server() -> Server {
    Server::with_keys(Limits::default(), |file| key(file, "read")).await.0
}

async fn get(server: &Server, line: &str, headers: &str) -> String {
    let request = format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    server.says(request.as_bytes()).await
}

const HOST: &str = "Host: localhost\r\n";

#[tokio::test]
async fn every_client_that_has_the_url_may_download() {
    let server = server().await;
    // More than one chunk.
    let content = "0123456789abcdef".repeat(20_000);
    fs::write(server.folder.path().join("notes.zip"), &content).unwrap();
    let said = get(&server, "GET /mcp/exports/notes?signature=right", HOST).await;
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert_eq!((status(&said), body), ("200", &*content), "{head}");
    let head = head.to_lowercase();
    for header in [
        "content-type: application/zip",
        "content-length: 320000",
        "content-disposition: attachment; filename=\"notes.zip\"",
        "cache-control: private, no-store",
        "x-content-type-options: nosniff",
        "accept-ranges: bytes",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    let digest = BASE64_STANDARD.encode(Sha256::digest(&content));
    let digest = format!("digest: sha-256={digest}\r\n").to_lowercase();
    assert!(head.contains(&digest), "{head}");
    let said = get(&server, "HEAD /mcp/exports/notes?signature=right", HOST).await;
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.to_lowercase().contains(&digest) && body.is_empty(), "{said}");
    for (range, expected, part) in [
        ("bytes=0-3", "206", Some(0..4)),
        ("bytes=319990-", "206", Some(319_990..320_000)),
        ("bytes=-5", "206", Some(319_995..320_000)),
        ("bytes=5-999999999", "206", Some(5..320_000)),
        ("bytes=0-1,4-5", "200", Some(0..320_000)),
        ("bytes=4-1", "200", Some(0..320_000)),
        ("lines=1-2", "200", Some(0..320_000)),
        ("bytes=320000-", "416", None),
        ("bytes=-0", "416", None),
    ] {
        let headers = format!("{HOST}Range: {range}\r\n");
        let said = get(&server, "GET /mcp/exports/notes?signature=right", &headers).await;
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert_eq!(status(&said), expected, "{range}: {head}");
        if let Some(part) = part {
            assert_eq!(body, &content[part.clone()], "{range}");
            let has = head.contains(&format!("bytes {}-{}/320000", part.start, part.end - 1));
            assert_eq!(has, expected == "206", "{range}: {head}");
        }
    }
    let etag = format!("\"{}\"", BASE64_STANDARD.encode(Sha256::digest(&content)));
    for (method, headers, expected) in [
        ("GET", "Range: bytes=0-3\r\nIf-Range: \"other\"\r\n".to_owned(), "200"),
        ("HEAD", "Range: bytes=0-3\r\n".into(), "200"),
        ("HEAD", "Range: bytes=320000-\r\n".into(), "200"),
        ("GET", "If-None-Match: \"other\"\r\n".into(), "200"),
        ("GET", format!("If-None-Match: {etag}\r\n"), "304"),
        ("HEAD", format!("If-None-Match: \"other\", W/{etag}\r\n"), "304"),
        ("GET", "Range: bytes=0-3\r\nIf-None-Match: *\r\n".into(), "304"),
    ] {
        let line = format!("{method} /mcp/exports/notes?signature=right");
        let said = get(&server, &line, &format!("{HOST}{headers}")).await;
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert_eq!(status(&said), expected, "{method} {headers}{head}");
        assert!(head.contains(&format!("etag: {etag}")), "{method} {headers}{head}");
        assert_eq!(body.is_empty(), (method, expected) != ("GET", "200"), "{method} {headers}{head}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_url_that_was_made_with_a_key_ends_with_it() {
    let server = server().await;
    fs::write(server.folder.path().join("notes.zip"), "content").unwrap();
    let file = KeyFile::new(server.folder.path().join(KEYS));
    let key = file.create("Bert", None, vec!["read".parse().unwrap()]).unwrap();
    let line = format!("GET /mcp/exports/notes?{}&signature=right", key.id());
    assert_eq!(status(&get(&server, &line, HOST).await), "200");
    file.revoke(key.id()).unwrap();
    assert_eq!(status(&get(&server, &line, HOST).await), "403");
    server.end().await;
}

#[tokio::test]
async fn another_url_leads_nowhere_and_says_nothing() {
    let server = server().await;
    fs::write(server.folder.path().join("notes.zip"), "content").unwrap();
    let attacker = "Host: localhost\r\nOrigin: http://attacker.example\r\n";
    let mut refusals = vec![];
    for (line, headers, expected) in [
        ("GET /mcp/exports/notes?signature=wrong", HOST, "403"),
        ("GET /mcp/exports/notes", HOST, "403"),
        ("GET /mcp/exports/other?signature=right", HOST, "403"),
        ("GET /mcp/exports/%2e%2e%2fkeys.json?signature=right", HOST, "403"),
        ("GET /mcp/exports/old?signature=right", HOST, "410"),
        ("GET /mcp/exports/gone?signature=right", HOST, "404"),
        ("POST /mcp/exports/notes?signature=right", HOST, "405"),
        ("GET /mcp/exports/notes?signature=right", attacker, "403"),
        ("GET /mcp/exports/notes?signature=right", "Host: attacker.example\r\n", "403"),
        // Paths that are not downloads.
        ("GET /mcp/exports/?signature=right", HOST, "401"),
        ("GET /mcp/exports/notes/more?signature=right", HOST, "401"),
    ] {
        let said = get(&server, line, headers).await;
        assert_eq!(status(&said), expected, "{line}: {said}");
        assert!(!said.contains("content\r\n") && !said.ends_with("content"), "{said}");
        if expected == "403" && headers == HOST {
            refusals.push(said.split_once("\r\n\r\n").unwrap().1.to_owned());
        }
    }
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "what is missing and what is wrong look alike");
    fs::remove_file(server.folder.path().join("notes.zip")).unwrap();
    let said = get(&server, "GET /mcp/exports/notes?signature=right", HOST).await;
    assert_eq!(status(&said), "503", "{said}");
    server.end().await;
}
