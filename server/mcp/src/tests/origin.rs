//! The origin of calls: data of a request, its connection and the server reaches the contract.

use std::sync::Arc;

use serde_json::{Value, json};
use tabellion_runtime::{BoxFuture, ContractSpec, Discovered, Environment, Transport};

use super::client::{Client, WAYS, converse};
use crate::{
    adapter::Adapter,
    testing::{Origins, adapter},
};
use tabellion_gateway::ApprovalPolicy;

/// A server that is started in a mode.
#[derive(Debug)]
struct Night;

impl Environment for Night {
    fn mode(&self, contract: &ContractSpec) -> Option<String> {
        (contract.id == "origins").then(|| "night".into())
    }

    fn configured(&self, _: &str) -> Option<Value> {
        None
    }

    fn discovers(&self, _: Transport) -> bool {
        false
    }

    fn discover(&self) -> BoxFuture<'_, Arc<Discovered>> {
        Box::pin(async { Arc::default() })
    }
}

fn origins() -> Adapter {
    adapter(vec![Arc::new(Origins::default())], ApprovalPolicy::default())
}

/// The answer to a call with this `_meta` on this connection.
fn answer(way: &str, meta: Value, connection: u64, mode: Option<&str>) -> String {
    let said = json!({
        "http": way.ends_with("HTTP"), "meta": meta, "headers": [], "holder": null, "connection": connection, "mode": mode,
    });
    let text = json!({ "text": said.to_string() });
    json!({ "content": [{ "type": "text", "text": text.to_string() }], "structuredContent": text, "isError": false })
        .to_string()
}

#[tokio::test]
async fn calls_of_a_client_share_a_connection_and_stateless_ones_over_http_do_not() {
    for way in WAYS {
        let second = u64::from(way == "2026-07-28 over HTTP");
        let [one, two] =
            [json!({ "writer": "Ada", "tabellion/provenance": { "writer": "Bert" } }), json!({ "x": [1] })];
        let call =
            |meta: &Value| json!({ "name": "tell_origin", "arguments": { "text": "" }, "_meta": meta });
        let script = format!(
            "@ {way}\n> 1 tools/call {}\n< 1 {}\n> 2 tools/call {}\n< 2 {}\n",
            call(&one),
            answer(way, one.clone(), 0, None),
            call(&two),
            answer(way, two.clone(), second, None),
        );
        converse(Client::over(way, origins(), 1 << 16), &script).await;
    }
}

#[tokio::test]
async fn the_servers_environment_reaches_every_client() {
    for way in WAYS {
        let adapter = origins().with_environment(Arc::new(Night)).for_another();
        let call = json!({ "name": "tell_origin", "arguments": { "text": "" } });
        let answer = answer(way, json!({}), 0, Some("night"));
        let script = format!("@ {way}\n> 1 tools/call {call}\n< 1 {answer}\n");
        converse(Client::over(way, adapter, 1 << 16), &script).await;
    }
}

#[tokio::test]
async fn provenance_that_is_no_object_is_refused() {
    for meta in [json!("Ada"), json!(["Ada"]), json!(null)] {
        let call = json!({ "name": "tell_origin", "arguments": { "text": "" }, "_meta": { "tabellion/provenance": meta } });
        let error = "`tabellion/provenance` must be an object of fields of provenance";
        let (rule, pointer) = ("meta", "/_meta/tabellion~1provenance");
        let data = json!({
            "violations": [{ "rule": rule, "pointer": pointer, "message": error }], "rule": rule, "pointer": pointer,
        });
        let answer = json!({
            "content": [{ "type": "text", "text": format!("/_meta/tabellion~1provenance: {error}") }], "isError": true,
            "_meta": { "tabellion/error": { "code": -32602, "name": "INVALID_REQUEST", "data": data } },
        });
        let script = format!("@ 2025-11-25\n> 1 tools/call {call}\n< 1 {answer}\n");
        converse(Client::over("2025-11-25", origins(), 1 << 16), &script).await;
    }
}
