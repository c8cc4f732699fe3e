//! Tools with operations: the offered tools, and the access that a call needs, depend on the operation.

use std::sync::Arc;

use serde_json::{Value, json};
use tabellion_runtime::{
    Answer, BoxFuture, CallContext, Contract, ContractSpec, ErrorChannel, Rejection, Schema, ToolSpec,
    spec::{Operation, Operations},
};

use super::client::{Client, converse};
use crate::{
    adapter::Adapter,
    shared::ServerInfo,
    testing::{declared, spec, tool},
};
use tabellion_gateway::{Access, ApprovalPolicy, Offer};

static WIRE: Schema = Schema::plain(r#"{"type":"object"}"#);
static ALL: [ToolSpec; 2] = [
    ToolSpec { operation: Some(operation("pages/read", &["read"])), ..tool("pages", false) },
    ToolSpec { operation: Some(operation("pages/write", &["write"])), ..tool("pages", true) },
];
static TOOLS: [ToolSpec; 2] = [
    ToolSpec {
        name: "pages",
        description: "Reads and writes.",
        mutating: true,
        operations: Some(Operations { select: &["/action"], refused: &[], all: &ALL }),
        ..ToolSpec::new(&WIRE, &WIRE)
    },
    tool("burn", true),
];
static SPEC: ContractSpec = spec("pages", ErrorChannel::JsonRpc, &TOOLS);

const fn operation(label: &'static str, is: &'static [&'static str]) -> Operation {
    Operation { label, select: &["/action"], is, has: &[] }
}

/// Answers with the label of the operation that a call chooses.
struct Pages;

impl Contract for Pages {
    fn spec(&self) -> &'static ContractSpec {
        &SPEC
    }

    fn call<'a>(
        &'a self,
        _: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(async move {
            let tool = SPEC.tool(tool).ok_or(Rejection::UnknownTool)?;
            let operation = arguments.as_object().and_then(|arguments| tool.operation_of(arguments));
            let operation =
                operation.ok_or_else(|| declared("INVALID_REQUEST", -32602, "no operation", json!({})))?;
            Ok(Answer { response: json!({ "text": operation.label() }), meta: Default::default() })
        })
    }
}

fn adapter(offer: Offer) -> Adapter {
    let info = ServerInfo { name: "pages".into(), version: "1".into(), instructions: None };
    Adapter::new(vec![Arc::new(Pages)], offer, info, ApprovalPolicy::default()).expect("no names clash")
}

fn answer(text: &str) -> String {
    let text = format!(r#"{{"text":"{text}"}}"#);
    let quoted = Value::from(text.as_str());
    format!(r#"{{"content":[{{"type":"text","text":{quoted}}}],"structuredContent":{text},"isError":false}}"#)
}

#[tokio::test]
async fn a_read_only_server_offers_the_operations_that_change_nothing() {
    for (offer, written) in [
        (Offer::Everything, answer("pages/write")),
        (Offer::ReadOnly, r#"!-32602 this server is read-only, so `pages/write` is not offered"#.into()),
    ] {
        let read = answer("pages/read");
        let script = format!(
            r#"
            @ 2025-11-25
            > 1 tools/call {{"name":"pages","arguments":{{"action":"read"}}}}
            < 1 {read}
            > 2 tools/call {{"name":"pages","arguments":{{"action":"write"}}}}
            < 2 {written}
            > 3 tools/call {{"name":"pages","arguments":{{"action":"burn"}}}}
            < 3 !-32602 no operation
            > 4 tools/call {{"name":"pages"}}
            < 4 !-32602 no operation
            "#
        );
        converse(Client::over("2025-11-25", adapter(offer), 1 << 16), &script).await;
    }
}

#[test]
fn the_access_that_a_call_needs_is_its_operations() {
    for (tool, arguments, access) in [
        (&TOOLS[0], json!({ "action": "read" }), Access::Read),
        (&TOOLS[0], json!({ "action": "write" }), Access::Write),
        // The runtime refuses these to any caller.
        (&TOOLS[0], json!({ "action": 7 }), Access::Read),
        (&TOOLS[0], json!({}), Access::Read),
        (&TOOLS[1], json!({}), Access::Write),
    ] {
        let given = arguments.as_object().cloned().unwrap_or_default();
        assert_eq!(Access::needed_by(tool, &given), access, "{arguments}");
    }
}
