//! Downloads: their URLs are credentials, and nothing else is needed or helps.

use std::{
    fs::{self, File},
    io,
    path::PathBuf,
};

use super::{Limits, Server, status};
use crate::{
    Download, Downloads,
    keys::{KeyFile, KeyRing},
};

/// A file that one URL leads to.
pub(super) struct OneFile(pub(super) PathBuf);

impl Downloads for OneFile {
    fn open(&self, id: &str, query: &str) -> io::Result<Option<Download>> {
        let key = match (id, query.strip_suffix("signature=right")) {
            ("notes", Some("")) => None,
            ("notes", Some(key)) => Some(key.trim_end_matches('&').into()),
            _ => return Ok(None),
        };
        Ok(Some(Download {
            file: File::open(self.0.join("notes.zip"))?,
            name: "notes.zip".into(),
            media_type: "application/zip",
            key,
        }))
    }
}

async fn server() -> Server {
    Server::with_keys(Limits::default(), |folder| {
        let file = KeyFile::at(folder.join("keys.json"));
        file.create("Ada", None, vec!["read".parse().unwrap()]).unwrap();
        Some(KeyRing::new(file).unwrap())
    })
    .await
}

async fn get(server: &Server, line: &str, headers: &str) -> String {
    let request = format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    server.says(request.as_bytes()).await
}

const HOST: &str = "Host: localhost\r\n";

#[tokio::test]
async fn every_client_that_has_the_url_may_download() {
    let server = server().await;
    // More than is read at a time.
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
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_url_that_was_made_with_a_key_ends_with_it() {
    let server = server().await;
    fs::write(server.folder.path().join("notes.zip"), "content").unwrap();
    let file = KeyFile::at(server.folder.path().join("keys.json"));
    let key = file.create("Bert", None, vec!["read".parse().unwrap()]).unwrap();
    let line = format!("GET /mcp/exports/notes?{}&signature=right", key.id());
    assert_eq!(status(&get(&server, &line, HOST).await), "200");
    file.revoke(key.id()).unwrap();
    assert_eq!(status(&get(&server, &line, HOST).await), "404");
    server.end().await;
}

#[tokio::test]
async fn another_url_leads_nowhere_and_says_nothing() {
    let server = server().await;
    fs::write(server.folder.path().join("notes.zip"), "content").unwrap();
    let attacker = "Host: localhost\r\nOrigin: http://attacker.example\r\n";
    let mut refusals = vec![];
    for (line, headers, expected) in [
        ("GET /mcp/exports/notes?signature=wrong", HOST, "404"),
        ("GET /mcp/exports/notes", HOST, "404"),
        ("GET /mcp/exports/other?signature=right", HOST, "404"),
        ("GET /mcp/exports/%2e%2e%2fkeys.json?signature=right", HOST, "404"),
        ("HEAD /mcp/exports/notes?signature=right", HOST, "405"),
        ("POST /mcp/exports/notes?signature=right", HOST, "405"),
        ("GET /mcp/exports/notes?signature=right", attacker, "403"),
        (
            "GET /mcp/exports/notes?signature=right",
            "Host: attacker.example\r\n",
            "403",
        ),
        // No route of downloads.
        ("GET /mcp/exports/?signature=right", HOST, "401"),
        ("GET /mcp/exports/notes/more?signature=right", HOST, "401"),
    ] {
        let said = get(&server, line, headers).await;
        assert_eq!(status(&said), expected, "{line}: {said}");
        assert!(
            !said.contains("content\r\n") && !said.ends_with("content"),
            "{said}"
        );
        if expected == "404" {
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
