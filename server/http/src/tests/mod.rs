//! A server on its own socket, and misbehaving clients. All limits are small; tests wait for an answer or a close, not for a time.

mod credentials;
mod downloads;
mod limits;
mod origins;
mod requests;
mod rest;
mod rest_requests;
mod routes;
mod tls;

use std::{collections::BTreeMap, fs, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use super::{Credentials, Guard, Hook, HookSecret, Limits, Mount, OAuth, Site, serve};
use crate::{
    keys::{KeyFile, KeyRing},
    tls::Certificates,
};
use tabellion_runtime::Contract;

use tabellion_gateway::ApprovalPolicy;
use tabellion_mcp::{
    streamable::{self, Endpoint},
    testing::{Memory, NOTES, Origins, adapter},
};

/// Longer than any answer takes, and much shorter than a test's time limit.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

struct Server {
    notes: Arc<Memory>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    folder: TempDir,
}

impl Server {
    async fn new(limits: Limits) -> Self {
        Self::with(limits, |_| Credentials::default()).await
    }

    /// Returns a server that requires keys, and the result of `create`, which adds keys to its key file.
    async fn with_keys<T>(limits: Limits, create: impl FnOnce(&KeyFile) -> T) -> (Self, T) {
        let mut created = None;
        let credentials = |folder: &Path| {
            let file = KeyFile::new(folder.join(KEYS));
            created = Some(create(&file));
            Credentials { keys: Some(KeyRing::new(file).unwrap().into()), ..Credentials::default() }
        };
        let server = Self::with(limits, credentials).await;
        (server, created.unwrap())
    }

    /// A server that requires credentials, whose files are in the folder.
    async fn with(limits: Limits, credentials: impl FnOnce(&Path) -> Credentials) -> Self {
        Self::over(limits, credentials, None).await
    }

    /// The same, over TLS if there are certificates.
    async fn over(
        limits: Limits,
        credentials: impl FnOnce(&Path) -> Credentials,
        certificates: Option<Arc<Certificates>>,
    ) -> Self {
        let notes = Memory::new(&NOTES);
        let contracts: Vec<Arc<dyn Contract>> = vec![notes.clone(), Arc::new(Origins::default())];
        let adapter = adapter(contracts, ApprovalPolicy::default());
        let endpoint = Endpoint::new(adapter, streamable::Limits::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let guard = Guard::new(address, &[], &["https://app.example".into()]).unwrap();
        let folder = TempDir::new().unwrap();
        let mount = Mount {
            name: "notes".into(),
            folders: vec![folder.path().into()],
            is_reachable: {
                let away = folder.path().join("away");
                Arc::new(move || !away.exists())
            },
            counts: Box::new(Default::default),
            rest: Mount::rest(&endpoint),
            endpoint: Arc::new(endpoint),
            downloads: Some(Arc::new(downloads::OneFile(folder.path().into()))),
            hook: hook(folder.path()),
        };
        let site =
            Site::new(guard, credentials(folder.path()), BTreeMap::from([("/mcp".into(), mount)]), limits);
        let (stop, stopped) = oneshot::channel();
        let until = async { stopped.await.unwrap() };
        let served = tokio::spawn(serve(listener, site.into(), certificates, until));
        Self { notes, address, stop, served, folder }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Returns the answer to these bytes, up to the end of the connection.
    async fn says(&self, bytes: &[u8]) -> String {
        said(self.connect().await, bytes).await
    }

    async fn end(self) {
        self.stop.send(()).unwrap();
        within(self.served).await.unwrap();
    }
}

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("it ends")
}

async fn said(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> String {
    // A server may answer and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut said = vec![];
    let _ = within(stream.read_to_end(&mut said)).await;
    String::from_utf8_lossy(&said).into_owned()
}

fn status(said: &str) -> &str {
    said.split(' ').nth(1).unwrap_or("nothing")
}

/// A self-contained call, as bytes.
fn call(tool: &str, text: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{text}"}},"_meta":{meta}}}}}"#
    );
    let headers = "Host: localhost\r\nConnection: close\r\nAccept: */*\r\nContent-Type: application/json\r\n\
                   MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n";
    format!("POST /mcp HTTP/1.1\r\n{headers}Mcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Creates a key of Ada, and returns it.
fn key(file: &KeyFile, scope: &str) -> String {
    file.create("Ada", None, vec![scope.parse().unwrap()]).unwrap().reveal()
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

/// The file of keys in the served folder.
const KEYS: &str = "keys.json";
/// The secret of the webhook.
const HOOK_SECRET: &str = "0123456789abcdef";
/// The file in the served folder that marks the arrival of a webhook.
const HEARD: &str = "heard";

fn hook(folder: &Path) -> Option<Hook> {
    let (secret, heard) = (folder.join("hook-secret"), folder.join(HEARD));
    fs::write(&secret, HOOK_SECRET).unwrap();
    Some(Hook {
        secret: Arc::new(HookSecret::read(&secret).unwrap()),
        fetch: Box::new(move || fs::write(&heard, "").unwrap()),
    })
}
