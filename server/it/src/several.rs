//! A server with one tool more than `tabellion` has: it changes several documents in one call.
//!
//! No contract does that yet, but the runtime and the library can. The fault sweeps drive this program to prove that such a
//! change is as indivisible as a change of one document.

use std::{error::Error, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion::PACKS;
use tabellion_contracts::braindrive_markdown::{self, ToolError};
use tabellion_gateway::{ApprovalPolicy, Offer};
use tabellion_library::{Library, Options};
use tabellion_mcp::{Adapter, ServerInfo, serve_stdio};
use tabellion_pack::Grounds;
use tabellion_runtime::{
    Annotations, Answer, BoxFuture, CallContext, Change, Content, Contract, ContractSpec, Edit, Failure,
    FailureKind, Rejection, Schema, Staged, ToolSpec, WriteCx, dispatch,
};

const INPUT: &str = r#"{ "type": "object", "required": ["documents"], "additionalProperties": false, "properties": {
    "documents": { "type": "array", "items": { "type": "object", "required": ["path"], "properties": {
        "path": { "type": "string" }, "content": { "type": "string" }
} } } } }"#;
const OUTPUT: &str = r#"{ "type": "object", "required": ["git_commit_sha"], "properties": {
    "git_commit_sha": { "type": "string" }
} }"#;

static TOOLS: [ToolSpec; 1] = [ToolSpec {
    name: "change_documents",
    description: "Writes the documents that have content, and deletes the others.",
    annotations: Annotations { read_only: false, destructive: true, idempotent: false, open_world: false },
    mutating: true,
    commit: Some("/git_commit_sha"),
    errors: &["INVALID_PARAMS", "NOT_FOUND", "CONFLICT", "REFUSED", "BUSY", "TOO_LARGE", "IO_ERROR"],
    ..ToolSpec::new(&REQUEST, &RESPONSE)
}];
static REQUEST: Schema = Schema::plain(INPUT);
static RESPONSE: Schema = Schema::plain(OUTPUT);

static CONTRACT: ContractSpec = ContractSpec {
    id: "several-documents",
    tools: &TOOLS,
    guarantees: &[],
    previews: &[],
    log: None,
    ..braindrive_markdown::CONTRACT
};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Request {
    documents: Vec<DocumentAfter>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct DocumentAfter {
    path: String,
    content: Option<String>,
}

#[derive(Debug, Serialize)]
struct Response {
    git_commit_sha: String,
}

/// The contract over a library.
struct SeveralDocuments(Arc<Library>);

impl SeveralDocuments {
    async fn change(&self, cx: &WriteCx<'_>, request: Request) -> Result<Staged<Response>, ToolError> {
        let edits = request.documents.into_iter().map(|document| Edit {
            path: document.path,
            content: document.content.map_or(Content::Delete, |content| Content::Write(content.into())),
        });
        let change = Change::new(edits.collect(), "change_documents", "change several documents");
        let change = change.map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()))?;
        Ok(cx.stage(change, |receipt| Response { git_commit_sha: receipt.commit().to_string() }))
    }
}

impl Contract for SeveralDocuments {
    fn spec(&self) -> &'static ContractSpec {
        &CONTRACT
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        _: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(dispatch::mutate(&TOOLS[0], self, &*self.0, call, arguments, |service, cx, request| {
            Box::pin(service.change(cx, request))
        }))
    }
}

/// Serves `--library DIR` on standard input and output.
pub(crate) fn serve(arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let folder: PathBuf =
        arguments.skip_while(|argument| argument != "--library").nth(1).ok_or("which library?")?.into();
    let library = Arc::new(Library::open(&folder, Options::default())?);
    let grounds = Grounds { library: Some(Arc::clone(&library)), ..Grounds::default() };
    let (of_the_product, _) = PACKS.service(PACKS.default_name(), &grounds)?;
    let several: Arc<dyn Contract> = Arc::new(SeveralDocuments(library));
    let info = ServerInfo {
        name: "several-documents".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        instructions: None,
    };
    let contracts = vec![of_the_product, several];
    let adapter = Adapter::new(contracts, Offer::default(), info, ApprovalPolicy::default())?;
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(serve_stdio(adapter, std::future::pending()));
    runtime.shutdown_background();
    Ok(served?)
}
