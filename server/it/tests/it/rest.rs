//! Contracts over REST. That a contract declares endpoints is all it takes: here one does that has none.

use std::{path::Path, sync::Arc};

use http_body_util::BodyExt as _;
use hyper::{Method, Request, body::Bytes};
use serde_json::{Value, json};
use tabellion::contracts::{self, Grounds};
use tabellion_contracts::braindrive_markdown::CONTRACT;
use tabellion_library as library;
use tabellion_mcp::{
    Adapter, ApprovalPolicy, Offer, ServerInfo,
    rest::RestRequest,
    streamable::{Endpoint, Limits},
};
use tabellion_runtime::{
    Answer, BoxFuture, CallContext, Contract, ContractSpec, Rejection,
    spec::{ErrorStatus, RestEndpoint, RestMethod, RestOperation},
};

use crate::support::Library;

const fn status(error: &'static str, status: u16) -> ErrorStatus {
    ErrorStatus {
        error,
        reason: None,
        status,
    }
}

/// What a contract says for REST, beside what it has.
static FACE: ContractSpec = ContractSpec {
    rest: &[
        RestEndpoint {
            method: RestMethod::Post,
            path: "/call/{tool}",
            is: RestOperation::ToolExecute,
            ..RestEndpoint::NEW
        },
        RestEndpoint {
            method: RestMethod::Get,
            path: "/api.json",
            is: RestOperation::OpenApi,
            ..RestEndpoint::NEW
        },
    ],
    statuses: &[
        status("INVALID_PARAMS", 422),
        status("NOT_FOUND", 404),
        status("CONFLICT", 409),
        status("IO_ERROR", 500),
    ],
    ..CONTRACT
};

/// The contract with its face.
struct Faced(Arc<dyn Contract>);

impl Contract for Faced {
    fn spec(&self) -> &'static ContractSpec {
        &FACE
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        self.0.call(call, tool, arguments)
    }
}

fn serve(root: &Path) -> Arc<Endpoint> {
    let library = library::Library::open(root, library::Options::default()).expect("a library");
    let grounds = Grounds {
        library: Some(Arc::new(library)),
        ..Grounds::default()
    };
    let contract = contracts::service(CONTRACT.id, &grounds).expect("a contract");
    let info = ServerInfo {
        name: "faced".into(),
        version: "1".into(),
        instructions: None,
    };
    let contracts: Vec<Arc<dyn Contract>> = vec![Arc::new(Faced(contract))];
    let adapter = Adapter::new(contracts, Offer::Everything, info, ApprovalPolicy::default());
    Arc::new(Endpoint::new(adapter.expect("no names clash"), Limits::default()))
}

/// Returns the status, the ETag and the body of the answer to a request.
async fn ask(
    endpoint: &Arc<Endpoint>,
    (is, tool): (RestOperation, &str),
    headers: &[(&str, String)],
    body: &Value,
) -> (u16, Option<String>, Value) {
    let asked = FACE.endpoint(is).expect("it is in the face");
    let method = Method::from_bytes(asked.method.to_string().as_bytes()).expect("a method");
    let mut request = Request::builder()
        .method(method)
        .uri(asked.path_with(&[tool]))
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let body = Bytes::from(body.to_string());
    let request = request.header("content-length", body.len()).body(body);
    let response = endpoint.answer_rest(RestRequest {
        path: asked.path_with(&[tool]),
        request: request.expect("a request"),
        name: "r1".into(),
        grant: None,
        budget: None,
    });
    let response = response.await;
    let status = response.status().as_u16();
    let etag = response.headers().get("etag");
    let etag = etag.map(|etag| etag.to_str().expect("it is ASCII").to_owned());
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, etag, serde_json::from_slice(&body).expect("JSON"))
}

#[tokio::test]
async fn a_contract_that_declares_endpoints_is_served_there() {
    let library = Library::empty();
    let endpoint = serve(library.root());
    let execute = |tool| (RestOperation::ToolExecute, tool);
    let write = |text: &str| json!({ "path": "a.md", "content": text });
    let key = [("idempotency-key", "one".to_owned())];
    let (status, _, made) = ask(&endpoint, execute("write_markdown"), &key, &write("# A\n")).await;
    assert_eq!((status, &made["status"]), (200, &json!("success")), "{made}");
    // The same again is the same call.
    let (_, _, again) = ask(&endpoint, execute("write_markdown"), &key, &write("# A\n")).await;
    assert_eq!(again["result"], made["result"]);
    let (status, _, reused) = ask(&endpoint, execute("write_markdown"), &key, &write("# B\n")).await;
    assert_eq!(
        (status, &reused["error"]["code"]),
        (409, &json!("CONFLICT")),
        "{reused}"
    );
    // What was read is what a change is conditional on.
    let path = json!({ "path": "a.md" });
    let (status, etag, read) = ask(&endpoint, execute("read_markdown"), &[], &path).await;
    assert_eq!(
        (status, &read["result"]["content"]),
        (200, &json!("# A\n")),
        "{read}"
    );
    let base = [("if-match", etag.expect("what is read has an ETag"))];
    let (status, ..) = ask(&endpoint, execute("write_markdown"), &base, &write("# B\n")).await;
    assert_eq!(status, 200);
    let (status, _, stale) = ask(&endpoint, execute("write_markdown"), &base, &write("# C\n")).await;
    assert_eq!(
        (status, &stale["error"]["code"]),
        (409, &json!("CONFLICT")),
        "{stale}"
    );
    let (status, _, missing) = ask(
        &endpoint,
        execute("read_markdown"),
        &[],
        &json!({ "path": "b.md" }),
    )
    .await;
    assert_eq!(
        (status, &missing["error"]["code"]),
        (404, &json!("NOT_FOUND")),
        "{missing}"
    );
    let (status, _, outside) = ask(
        &endpoint,
        execute("read_markdown"),
        &[],
        &json!({ "path": "../b.md" }),
    )
    .await;
    assert_eq!(
        (status, &outside["error"]["code"]),
        (422, &json!("INVALID_PARAMS")),
        "{outside}"
    );
    let (_, _, described) = ask(&endpoint, (RestOperation::OpenApi, ""), &[], &json!({})).await;
    let paths = described["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), CONTRACT.tools.len() + 1);
    assert!(paths.contains_key("/call/write_markdown"));
    assert_eq!(
        std::fs::read_to_string(library.root().join("a.md")).expect("it is there"),
        "# B\n"
    );
}
