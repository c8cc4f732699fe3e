//! Posts one message to an MCP server over HTTP/1.1, as a client. Used to test a configuration, not to serve.

use std::{io, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{
    Method, Request, StatusCode, Uri,
    body::Bytes,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde_json::Value;
use tokio::runtime;

use crate::{client, tls};

/// Maximum size of an answer, in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// The header with the session's id.
const SESSION: &str = "mcp-session-id";

/// The reason that a message got no answer.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The URL is not absolute.
    #[error("not a URL; write one as in `http://127.0.0.1:8000/mcp`")]
    Url,
    /// Connecting failed, or the connection broke.
    #[error("{0}; is the server running?")]
    Io(#[from] io::Error),
    /// TLS can't be set up.
    #[error("TLS: {0}")]
    Tls(#[from] tls::TlsError),
    /// The answer is not HTTP.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// The server refused.
    #[error("the server answered with {0}{note}", note = note(*.0))]
    Status(StatusCode),
    /// The answer is not JSON, neither as a whole nor as an event.
    #[error("the answer is not a message of MCP")]
    Answer,
    /// The answer took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
}

fn note(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; check the key",
        StatusCode::NOT_FOUND => "; check the URL's path: a library is at `/mcp` or `/mcp/NAME`",
        _ => "",
    }
}

/// Posts `message` to the server at `url` and returns its answer (`null` for a notification) and the session's id.
///
/// # Errors
/// [`PostError`].
pub fn post(
    url: &str,
    key: Option<&str>,
    session: Option<&str>,
    message: &Value,
    timeout: Duration,
) -> Result<(Value, Option<String>), PostError> {
    let url: Uri = url.parse().map_err(|_| PostError::Url)?;
    if url.host().is_none() || !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err(PostError::Url);
    }
    let mut request = client::request(Method::POST, &url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream");
    if let Some(key) = key {
        request = request.header(AUTHORIZATION, format!("Bearer {key}"));
    }
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    let request = request.body(Full::new(Bytes::from(message.to_string()))).map_err(|_| PostError::Url)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let answered = tokio::time::timeout(timeout, answer(&url, request)).await;
        answered.unwrap_or(Err(PostError::Timeout(timeout)))
    })
}

async fn answer(url: &Uri, request: Request<Full<Bytes>>) -> Result<(Value, Option<String>), PostError> {
    let is_secure = url.scheme_str() == Some("https");
    let tls = is_secure.then(tls::client).transpose()?.map(Arc::new);
    let answer = client::send::<PostError>(url, tls, request).await?;
    if !answer.status().is_success() {
        return Err(PostError::Status(answer.status()));
    }
    let session = answer.headers().get(SESSION);
    let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
    let bytes = client::body(answer, MAX_ANSWER_BYTES).await.ok_or(PostError::Answer)?;
    Ok((message(&bytes).ok_or(PostError::Answer)?, session))
}

/// Returns the message of a body: JSON, or the first event with an answer.
fn message(body: &[u8]) -> Option<Value> {
    let text = str::from_utf8(body).ok()?.trim();
    if text.is_empty() {
        return Some(Value::Null);
    }
    if let Ok(message) = serde_json::from_str(text) {
        return Some(message);
    }
    let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    events
        .filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok())
        .find(|message| message.get("id").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_json_or_an_event() {
        for (body, expected) in [
            ("", Some("null")),
            ("{\"id\":1}", Some("{\"id\":1}")),
            (": hi\nevent: message\ndata: {\"method\":\"x\"}\n\ndata: {\"id\":2}\n\n", Some("{\"id\":2}")),
            ("<html>", None),
        ] {
            let found = message(body.as_bytes()).map(|message| message.to_string());
            assert_eq!(found.as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for url in ["", "notes", "/mcp", "ftp://notes.example/mcp", "http://"] {
            let error = post(url, None, None, &Value::Null, Duration::from_secs(1));
            assert!(matches!(error, Err(PostError::Url)), "{url}: {error:?}");
        }
    }
}
