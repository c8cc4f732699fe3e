//! Resources, prompts and completions of contracts, in both eras.

use std::sync::Arc;

use serde_json::json;
use tabellion_runtime::Contract;

use super::{
    client::{Client, WAYS, converse},
    page::{PROMPT, Page, RESOURCE, TEMPLATE},
};
use crate::{
    Adapter, ServerInfo,
    testing::{Memory, NOTES, RPC, adapter},
};
use tabellion_gateway::{ApprovalPolicy, Kind, NameClash, Offer};

fn page(way: &str) -> Client {
    serving(way, vec![Page::new()])
}

fn serving(way: &str, contracts: Vec<Arc<dyn Contract>>) -> Client {
    Client::over(way, adapter(contracts, ApprovalPolicy::default()), 1 << 16)
}

/// For each way of connecting: the common fields of list results, and those of read results.
fn ways() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    WAYS.into_iter().map(|way| {
        if way.starts_with("2025") {
            return (way, "", "");
        }
        let list = r#","ttlMs":300000,"cacheScope":"public""#;
        (way, list, r#","ttlMs":0,"cacheScope":"private""#)
    })
}

#[tokio::test]
async fn lists_are_the_contracts_own() {
    for (revision, fresh, _) in ways() {
        let listed = |name, uri| {
            format!(
                r#"{{"uri":"{uri}","name":"{name}","title":"A page","description":"All that it says.","mimeType":"application/json"}}"#
            )
        };
        let template = |name, uri| listed(name, uri).replacen("\"uri\"", "\"uriTemplate\"", 1);
        let templates =
            [template("line", "memory://page/{line}"), template("lines", "memory://lines{?word,after}")];
        let resources = [
            listed("page", "memory://page"),
            listed("refused", "memory://refused"),
            listed("panic", "memory://panic"),
        ];
        converse(
            page(revision),
            &format!(
                r#"
                @ {revision}
                > 1 resources/list
                < 1 {{"resources":[{}]{fresh}}}
                > 2 resources/templates/list
                < 2 {{"resourceTemplates":[{}]{fresh}}}
                > 3 prompts/list
                < 3 {{"prompts":[{{"name":"greet","description":"Greets a person.","arguments":[{{"name":"name","description":"What to say.","required":true}},{{"name":"tone","description":"What to say.","required":false}}]}}]{fresh}}}
                > 4 resources/list {{"cursor":"2"}}
                < 4 !-32602 cursor
                > 5 resources/templates/list {{"cursor":"2"}}
                < 5 !-32602 cursor
                > 6 prompts/list {{"cursor":"2"}}
                < 6 !-32602 cursor
                > 7 prompts/list {{"cursor":2}}
                < 7 !-32602 malformed
                "#,
                resources.join(","),
                templates.join(",")
            ),
        )
        .await;
    }
}

#[tokio::test]
async fn resources_are_json_and_their_errors_are_the_contracts_own() {
    for (revision, _, stale) in ways() {
        let unknown = if stale.is_empty() { -32002 } else { -32602 };
        converse(
            page(revision),
            &format!(
                r#"
                @ {revision}
                > 1 resources/read {{"uri":"memory://page"}}
                < 1 {{"contents":[{{"uri":"memory://page","mimeType":"application/json","text":"{{\"text\":\"one\"}}"}}]{stale}}}
                > 2 resources/read {{"uri":"memory://pages"}}
                < 2 !{unknown} unknown resource `memory://pages`
                > 3 resources/read {{"uri":"memory://refused"}}
                < 3 {{"error":{{"code":-32002,"message":"too large","data":{{"most":5}}}}}}
                > 4 resources/read {{"uri":"memory://panic"}}
                < 4 !-32603 the server failed to answer; its log has details
                > 5 resources/read {{"uri":7}}
                < 5 !-32602 malformed
                > 6 resources/read
                < 6 !-32602 malformed
                > 7 resources/read {{"uri":"memory://page","_meta":{{"tabellion/ifBass":"x"}}}}
                < 7 !-32602 tabellion/ifBass
                "#
            ),
        )
        .await;
    }
}

#[tokio::test]
async fn a_uri_that_fits_a_template_has_its_variables() {
    for (revision, _, stale) in ways() {
        let unknown = if stale.is_empty() { -32002 } else { -32602 };
        let read = |uri: &str, text: &str| {
            let text = json!(json!({ "text": text }).to_string());
            format!(
                r#"{{"contents":[{{"uri":"{uri}","mimeType":"application/json","text":{text}}}]{stale}}}"#
            )
        };
        converse(
            page(revision),
            &format!(
                r#"
                @ {revision}
                > 1 resources/read {{"uri":"memory://page/%C3%A4%2F1"}}
                < 1 {}
                > 2 resources/read {{"uri":"memory://lines"}}
                < 2 {}
                > 3 resources/read {{"uri":"memory://lines?after=2&word=a%26b"}}
                < 3 {}
                > 4 resources/read {{"uri":"memory://page/none"}}
                < 4 {{"error":{{"code":-32001,"message":"no such line"}}}}
                > 5 resources/read {{"uri":"memory://page/"}}
                < 5 !{unknown} unknown resource `memory://page/`
                > 6 resources/read {{"uri":"memory://page/a/b"}}
                < 6 !{unknown} unknown resource `memory://page/a/b`
                > 7 resources/read {{"uri":"memory://lines?colour=a"}}
                < 7 !{unknown} unknown resource `memory://lines?colour=a`
                > 8 resources/read {{"uri":"memory://page/{{line}}"}}
                < 8 {}
                "#,
                read("memory://page/%C3%A4%2F1", "line {\"line\":\"ä/1\"} one"),
                read("memory://lines", "lines {} one"),
                read("memory://lines?after=2&word=a%26b", "lines {\"after\":\"2\",\"word\":\"a&b\"} one"),
                read("memory://page/{line}", "line {\"line\":\"{line}\"} one"),
            ),
        )
        .await;
    }
}

#[tokio::test]
async fn prompts_are_texts_and_their_arguments_complete() {
    for (revision, ..) in ways() {
        let hundred: Vec<_> =
            [4].into_iter().chain(40..50).chain(400..489).map(|number| number.to_string()).collect();
        let hundred = serde_json::to_string(&hundred).unwrap();
        converse(
            page(revision),
            &format!(
                r#"
                @ {revision}
                > 1 prompts/get {{"name":"greet","arguments":{{"name":"Ada"}}}}
                < 1 {{"description":"Greets a person.","messages":[{{"role":"user","content":{{"type":"text","text":"Greet Ada!"}}}}]}}
                > 2 prompts/get {{"name":"greet"}}
                < 2 {{"error":{{"code":-32602,"message":"/name: is missing"}}}}
                > 3 prompts/get {{"name":"great"}}
                < 3 !-32602 unknown prompt `great`
                > 4 prompts/get {{"arguments":{{}}}}
                < 4 !-32602 malformed
                > 5 completion/complete {{"ref":{{"type":"ref/prompt","name":"greet"}},"argument":{{"name":"name","value":"99"}}}}
                < 5 {{"completion":{{"values":["99","990","991","992","993","994","995","996","997","998","999"],"total":11,"hasMore":false}}}}
                > 6 completion/complete {{"ref":{{"type":"ref/prompt","name":"greet"}},"argument":{{"name":"name","value":"4"}}}}
                < 6 {{"completion":{{"values":{hundred},"total":111,"hasMore":true}}}}
                > 7 completion/complete {{"ref":{{"type":"ref/prompt","name":"greet"}},"argument":{{"name":"tone","value":""}}}}
                < 7 {{"completion":{{"values":[],"total":0,"hasMore":false}}}}
                > 8 completion/complete {{"ref":{{"type":"ref/prompt","name":"greet"}},"argument":{{"name":"colour","value":""}}}}
                < 8 !-32602 unknown argument `colour`
                > 9 completion/complete {{"ref":{{"type":"ref/prompt","name":"great"}},"argument":{{"name":"name","value":""}}}}
                < 9 !-32602 unknown prompt `great`
                > 10 completion/complete {{"ref":{{"type":"ref/resource","uri":"memory://page"}},"argument":{{"name":"name","value":""}}}}
                < 10 !-32602 unknown resource template `memory://page`
                > 12 completion/complete {{"ref":{{"type":"ref/resource","uri":"memory://page/{{line}}"}},"argument":{{"name":"line","value":"a"}}}}
                < 12 {{"completion":{{"values":["a1","a2"],"total":2,"hasMore":false}}}}
                > 13 completion/complete {{"ref":{{"type":"ref/resource","uri":"memory://page/{{line}}"}},"argument":{{"name":"word","value":"a"}}}}
                < 13 !-32602 unknown argument `word`
                > 14 completion/complete {{"ref":{{"type":"ref/resource","uri":"memory://lines{{?word,after}}"}},"argument":{{"name":"word","value":"a"}}}}
                < 14 {{"completion":{{"values":[],"total":0,"hasMore":false}}}}
                > 11 completion/complete {{"ref":{{"type":"ref/prompt"}}}}
                < 11 !-32602 malformed
                "#
            ),
        )
        .await;
    }
}

/// Compares the capabilities with the answers to requests of all kinds.
#[tokio::test]
async fn capabilities_match_what_contracts_have() {
    const REQUESTS: [(&str, &str, &str); 12] = [
        ("tools", "tools/list", "{}"),
        ("tools", "tools/call", r#"{"name":"none"}"#),
        ("tools", "tools/call", "{}"),
        ("resources", "resources/list", "{}"),
        ("resources", "resources/templates/list", "{}"),
        ("resources", "resources/read", r#"{"uri":"none"}"#),
        ("resources", "resources/read", r#"{"uri":7}"#),
        ("prompts", "prompts/list", "{}"),
        ("prompts", "prompts/get", r#"{"name":"none"}"#),
        ("prompts", "prompts/get", r#"{"name":7}"#),
        (
            "completions",
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"a","value":""}}"#,
        ),
        ("completions", "completion/complete", "{}"),
    ];
    let everything =
        json!({ "tools": {}, "resources": { "subscribe": true }, "prompts": {}, "completions": {} });
    let cases = [
        (vec![Memory::new(&NOTES) as Arc<dyn Contract>], json!({ "tools": {} })),
        (vec![Page::with_spec(&RESOURCE)], json!({ "resources": { "subscribe": true } })),
        (vec![Page::with_spec(&TEMPLATE)], json!({ "resources": { "subscribe": true } })),
        (vec![Page::with_spec(&PROMPT)], json!({ "prompts": {} })),
        (vec![Page::with_spec(&PROMPT), Memory::new(&NOTES)], json!({ "tools": {}, "prompts": {} })),
        (vec![Page::new()], everything),
    ];
    for (contracts, expected) in cases {
        for (revision, ..) in ways() {
            let mut client = serving(revision, contracts.clone());
            client.speak(revision).await;
            let hello = if client.revision == "2026-07-28" { "server/discover" } else { "initialize" };
            let params = json!({ "protocolVersion": client.revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
            client.request(json!("hello"), hello, Some(params)).await;
            let capabilities = client.receive().await.unwrap()["result"]["capabilities"].take();
            assert_eq!(capabilities, expected);
            for (of, method, params) in REQUESTS {
                let params = serde_json::from_str(params).unwrap();
                client.request(json!(1), method, Some(params)).await;
                let reply = client.receive().await.unwrap();
                let refused = reply["error"]["code"] == -32601;
                assert_eq!(refused, capabilities.get(of).is_none(), "{method} of {capabilities}: {reply}");
            }
            client.end().await.unwrap();
        }
    }
}

#[test]
fn a_name_in_two_contracts_is_refused() {
    let cases: [(Vec<Arc<dyn Contract>>, _); 5] = [
        (
            vec![Memory::new(&RPC), Memory::new(&NOTES), Memory::new(&NOTES)],
            Some((Kind::Tool, "echo", "notes", "notes", "which is given twice")),
        ),
        (
            vec![Page::new(), Page::with_spec(&RESOURCE)],
            Some((Kind::Resource, "memory://page", "page", "resource", "and in contract `resource`")),
        ),
        (
            vec![Page::with_spec(&RESOURCE), Page::with_spec(&TEMPLATE)],
            Some((Kind::Resource, "memory://{any}", "resource", "template", "and in contract `template`")),
        ),
        (
            vec![Page::with_spec(&PROMPT), Page::new()],
            Some((Kind::Prompt, "greet", "prompt", "page", "and in contract `page`")),
        ),
        (vec![Page::with_spec(&PROMPT), Page::with_spec(&RESOURCE), Memory::new(&NOTES)], None),
    ];
    for (contracts, expected) in cases {
        let info = ServerInfo { name: "memory".into(), version: "1".into(), instructions: None };
        let clash = Adapter::new(contracts, Offer::Everything, info, ApprovalPolicy::default()).err();
        let message = clash.as_ref().map(ToString::to_string).unwrap_or_default();
        let said = expected.is_none_or(|(.., said)| message.contains(said));
        assert!(said, "{message}");
        let expected = expected.map(|(kind, name, first, second, _)| NameClash { kind, name, first, second });
        assert_eq!(clash, expected);
    }
}

#[tokio::test]
async fn without_a_session_there_is_no_method_of_sessions() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let opening =
        r#""protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"t","version":"0"},"#;
    for way in WAYS.into_iter().filter(|way| way.starts_with("2026")) {
        for (method, params) in [
            ("initialize", ""),
            ("initialize", opening),
            ("ping", ""),
            ("logging/setLevel", ""),
            ("logging/setLevel", r#""level":"info","#),
            ("resources/subscribe", ""),
            ("resources/subscribe", r#""uri":"memory://page","#),
            ("resources/unsubscribe", ""),
            ("resources/unsubscribe", r#""uri":"memory://page","#),
        ] {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{meta}}}}}"#);
            converse(page(way), &format!(">> {line}\n< 1 !-32601")).await;
        }
    }
}
