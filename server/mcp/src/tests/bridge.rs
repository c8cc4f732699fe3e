//! HTTP for a client that writes lines: posts each line and turns responses into lines, so that tests over lines also run
//! over HTTP.

use std::{collections::HashMap, io, sync::Arc};

use http_body_util::BodyExt as _;
use hyper::{Request, Response, body::Bytes};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::Mutex,
    task::{AbortHandle, JoinSet},
};

use crate::{
    ServeError,
    streamable::{Body, Endpoint},
};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// The client's side of an endpoint.
struct Bridge {
    endpoint: Endpoint,
    output: Mutex<DuplexStream>,
    /// The session's id and its revision.
    session: std::sync::OnceLock<(String, String)>,
}

/// Posts each line up to the end of input, and writes the responses.
pub(super) async fn serve(
    reader: DuplexStream,
    writer: DuplexStream,
    endpoint: Endpoint,
) -> Result<(), ServeError> {
    let bridge = Arc::new(Bridge { endpoint, output: Mutex::new(writer), session: Default::default() });
    let mut lines = BufReader::new(reader).split(b'\n');
    let (mut waiting, mut streams) = (JoinSet::new(), JoinSet::new());
    let mut by_id = HashMap::<String, AbortHandle>::new();
    while let Some(line) = lines.next_segment().await.map_err(ServeError::Read)? {
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        let (id, method) = (message["id"].to_string(), message["method"].as_str());
        if method == Some("notifications/cancelled") && bridge.session.get().is_none() {
            // A stateless client cancels a request by disconnecting.
            let id = message["params"]["requestId"].to_string();
            by_id.remove(&id).iter().for_each(AbortHandle::abort);
            continue;
        }
        let exchange = bridge.clone().exchange(line, message.clone());
        if method == Some("initialize") || message["id"].is_null() || method.is_none() {
            exchange.await;
            if method == Some("initialize") && bridge.session.get().is_some() {
                streams.spawn(bridge.clone().listen());
            }
        } else {
            by_id.insert(id, waiting.spawn(exchange));
        }
    }
    // Waits for the last answers, but not for endless streams.
    bridge.endpoint.intake().close();
    while waiting.join_next().await.is_some() {}
    bridge.endpoint.intake().idle().await;
    while streams.join_next().await.is_some() {}
    Ok(())
}

impl Bridge {
    async fn exchange(self: Arc<Self>, line: Vec<u8>, message: Value) {
        let stated = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let mut request = Request::post("/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(version) = stated.as_str() {
            let method = message["method"].as_str().unwrap_or_default();
            request = request.header(VERSION, version).header("mcp-method", method);
            let params = &message["params"];
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                request = request.header("mcp-name", name);
            }
        } else if let Some((session, version)) = self.session.get()
            && message["method"] != "initialize"
        {
            request = request.header(SESSION, session).header(VERSION, version);
        }
        let response =
            self.endpoint.answer(request.body(line.into()).unwrap(), "test".into(), None, None).await;
        if let Some(session) = response.headers().get(SESSION) {
            let session = session.to_str().unwrap().to_owned();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let answer: Value = serde_json::from_slice(&body).unwrap();
            let version = answer["result"]["protocolVersion"].as_str().unwrap().to_owned();
            // A second `initialize` opens another session, which is not used.
            let _ = self.session.set((session, version));
            self.write(&body).await;
            return;
        }
        self.hand_on(response).await;
    }

    /// Reads the session's own stream.
    async fn listen(self: Arc<Self>) {
        let (session, version) = self.session.get().unwrap();
        let request = Request::get("/mcp")
            .header("accept", "text/event-stream")
            .header(SESSION, session)
            .header(VERSION, version);
        let request = request.body(Bytes::new()).unwrap();
        let response = self.endpoint.answer(request, "test".into(), None, None).await;
        self.hand_on(response).await;
    }

    async fn hand_on(&self, response: Response<Body>) {
        let is_stream = response.headers().get("content-type").is_some_and(|it| it == "text/event-stream");
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let data = frame.unwrap().into_data().unwrap();
            if !is_stream {
                self.write(&data).await;
                continue;
            }
            // Each event is one frame here.
            let lines = data.split(|byte| *byte == b'\n');
            for line in lines.filter_map(|line| line.strip_prefix(b"data: ")) {
                self.write(line).await;
            }
        }
    }

    async fn write(&self, message: &[u8]) {
        let mut output = self.output.lock().await;
        let line = [message, b"\n"].concat();
        match output.write_all(&line).await {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => panic!("{error}"),
            _ => {}
        }
    }
}
