//! A changed contract breaks the build of an implementation that has not followed; and implementations can't write code that is reserved
//! for the runtime.
//!
//! `TRYBUILD=overwrite cargo test -p tabellion-evolution` rewrites the expected errors.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::{fs, path::Path};

use serde_json::{Value, json};
use support::changed;
use tabellion_codegen::generate_from;

/// Changes of the contract, by the case's file in `ui`.
fn compiles() -> Vec<(&'static str, Value)> {
    vec![
        ("unchanged", json!({})),
        (
            "description_changed",
            json!({ "set": {
            "$/read_note.json#/description": "Read one note.",
            "$/read_note.json#/inputSchema/properties/lines/description": "At most these",
        } }),
        ),
        (
            "policies_declared",
            json!({ "set": {
                "notes/contract.json#/errors/CONFLICT/failures":
                    ["conflict", "refused", "busy", "access_denied", "path_not_allowed", "declined"],
                "$/read_note.json#/paths": { "allow": ["notes/**"], "deny": ["**/.env*"] },
                "$/read_note.json#/pathIn": "notes/",
                "$/read_note.json#/errors/-": "CONFLICT",
                "$/change_note.json#/approval": { "shows": "appended" },
                "$/change_note.json#/commit": null,
                "notes/contract.json#/prompts/0/template": "{style}: {text}",
                "notes/contract.json#/errorDetails": "details",
                "notes/contract.json#/rateLimits/changing": { "calls": 5, "seconds": 1 },
                "$/change_note.json#/rateLimit": "changing",
                "$/change_note.json#/errors/-": "TOO_OFTEN",
            } }),
        ),
        (
            "callers_and_gates_declared",
            json!({ "set": {
                "notes/contract.json#/errors/CONFLICT/failures":
                    ["conflict", "refused", "busy", "declined", "unauthenticated", "violation"],
                "notes/contract.json#/errors/CONFLICT/http": 409,
                "notes/contract.json#/auth": { "roles": { "owner": { "scope": "write" }, "agent": { "kind": "agent" } } },
                "notes/contract.json#/gates": { "brevity": { "clauses": [{
                    "id": "few_lines", "tools": ["read_note"], "at": "before", "severity": "low",
                    "issue": "Too many lines", "actionable": "ask for fewer",
                    "schema": { "properties": { "request": { "properties": { "lines": { "maximum": 50 } } } } },
                    "examples": [
                        { "name": "few", "breaks": false,
                          "facts": { "tool": "read_note", "request": { "name": "a", "lines": 5 }, "caller": { "roles": ["owner"] } } },
                        { "name": "many", "breaks": true,
                          "facts": { "tool": "read_note", "request": { "name": "a", "lines": 70 }, "caller": { "roles": ["owner"] } } },
                    ],
                }] } },
                "notes/contract.json#/resources/0/roles": ["owner"],
                "$/read_note.json#/gates": ["brevity"],
                "$/read_note.json#/tags": ["reading"],
                "$/read_note.json#/errors/-": "CONFLICT",
                "$/read_log.json#/errors/-": "CONFLICT",
                "$/preview_change.json#/errors/-": "CONFLICT",
                "$/read_note.json#/roles": ["owner", "agent"],
                "$/read_log.json#/roles": ["owner"],
                "$/change_note.json#/roles": ["owner"],
                "$/preview_change.json#/roles": ["owner"],
            } }),
        ),
        (
            "optional_argument_added",
            json!({ "set": {
            "$/read_note.json#/inputSchema/properties/raw": { "type": "boolean" },
        } }),
        ),
        ("operations_unchanged", json!({ "contract": "desk" })),
        (
            "operation_described",
            json!({ "contract": "desk", "set": {
                "@/edit/write-page.json#/description": "Write all of a page.",
                "$/edit.json#/refused/append page": "append a line",
            } }),
        ),
    ]
}

/// Likewise, for changes that must not compile until the implementation follows.
fn breaks() -> Vec<(&'static str, Value)> {
    let both = |pointer: &str, value: Value| {
        json!({ "set": {
            format!("$/preview_change.json#/inputSchema/properties/change/{pointer}"): value,
            format!("$/change_note.json#/inputSchema/properties/change/{pointer}"): value,
        } })
    };
    vec![
        (
            "tool_added",
            json!({
                "copy": { "$/read_log.json": "$/count_notes.json" },
                "set": { "notes/contract.json#/tools/-": "count_notes" },
                "then_set": { "$/count_notes.json#/name": "count_notes" },
            }),
        ),
        (
            "tool_removed",
            json!({
                "set": { "notes/contract.json#/tools": ["preview_change", "change_note", "read_log"] },
                "delete": ["$/read_note.json"],
            }),
        ),
        (
            "argument_renamed",
            json!({
                "remove": ["$/read_note.json#/inputSchema/properties/lines", "$/read_note.json#/examples/2"],
                "set": { "$/read_note.json#/inputSchema/properties/most": { "type": "integer", "default": 20 } },
            }),
        ),
        (
            "response_field_required",
            json!({
                "set": {
                    "$/read_note.json#/outputSchema/properties/size": { "type": "integer" },
                    "$/read_note.json#/outputSchema/required/-": "size",
                    "$/read_note.json#/examples/3/output/size": 5,
                },
            }),
        ),
        ("variant_added", both("properties/type/enum/-", json!("prepend"))),
        (
            "resource_added",
            json!({ "set": { "notes/contract.json#/resources/-": {
                "name": "count",
                "uri": "notes://count",
                "title": "Count",
                "description": "How many notes there are.",
                "mimeType": "application/json",
                "schema": {
                    "type": "object",
                    "required": ["count"],
                    "properties": { "count": { "type": "integer" } },
                },
            } } }),
        ),
        ("resource_removed", json!({ "set": { "notes/contract.json#/resources": [] } })),
        (
            "resource_field_required",
            json!({
                "set": {
                    "notes/contract.json#/resources/0/schema/required/-": "kind",
                    "notes/contract.json#/resources/0/examples/1/output/kind": "final",
                },
            }),
        ),
        (
            "prompt_added",
            json!({ "set": { "notes/contract.json#/prompts/-": {
                "name": "greet", "description": "Greet.", "template": "Hello, {name}!",
            } } }),
        ),
        (
            "prompt_argument_renamed",
            json!({ "set": { "notes/contract.json#/prompts/0/arguments/1/name": "manner" } }),
        ),
        (
            "placeholder_added",
            json!({ "set": { "notes/contract.json#/prompts/0/template": "{style}: {text} ({length})" } }),
        ),
        (
            "argument_completes",
            json!({ "set": { "notes/contract.json#/prompts/0/arguments/1/completes": true } }),
        ),
        (
            "becomes_mutating",
            json!({
                "set": {
                    "$/read_log.json#/mutating": true,
                    "$/read_log.json#/annotations/readOnlyHint": false,
                    "$/read_log.json#/errors": ["INVALID", "CONFLICT", "TOO_OFTEN", "FAILED"],
                    "$/read_log.json#/commit": "/commit",
                    "$/read_log.json#/outputSchema/required/-": "commit",
                    "$/read_log.json#/outputSchema/properties/commit": { "type": "string" },
                },
            }),
        ),
        (
            "operation_added",
            json!({
                "contract": "desk",
                "copy": { "@/edit/delete-page.json": "@/edit/delete-line.json" },
                "remove": ["$/edit.json#/refused"],
                "then_set": { "@/edit/delete-line.json#/is": ["delete", "line"], "@/edit/delete-line.json#/examples": [
                    { "name": "one", "valid": true, "input": { "action": "delete", "resource": "line", "path": "a.md" } },
                    { "name": "none", "valid": false, "rule": "a_page",
                      "input": { "action": "delete", "resource": "line", "path": "A" } },
                ] },
            }),
        ),
        ("operation_removed", json!({ "contract": "desk", "delete": ["@/edit/append-line.json"] })),
        (
            "operation_takes_more",
            json!({ "contract": "desk", "set": {
                "@/look/pages.json#/request": { "required": ["path"], "properties": { "path": {} } },
                "@/look/pages.json#/examples": [
                    { "name": "one", "valid": true, "input": { "at": "pages", "path": "a.md" } },
                    { "name": "none", "valid": false, "rule": "a_page", "input": { "at": "pages", "path": "A" } },
                ],
            } }),
        ),
        (
            "operation_becomes_reading",
            json!({
                "contract": "desk",
                "set": { "@/edit/append-line.json#/mutating": false },
                "remove": ["@/edit/append-line.json#/commit"],
            }),
        ),
    ]
}

/// Writes the files of the changed contract to the paths that the case includes. The texts have one name for all cases: no compiler reads
/// them.
fn prepare(name: &str, change: &Value) -> String {
    let files = generate_from(&changed(change), "cargo build")
        .unwrap_or_else(|problems| panic!("{name}: {problems}"));
    let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui/generated");
    fs::create_dir_all(&generated).unwrap();
    for (file, text) in files.iter().filter(|(file, _)| *file != "mod.rs") {
        let file = if file.ends_with(".rs") { &format!("{name}.rs") } else { file };
        fs::write(generated.join(file), text).unwrap();
    }
    format!("tests/ui/{name}.rs")
}

#[test]
fn an_implementation_has_to_follow_its_contract() {
    let cases = trybuild::TestCases::new();
    for (name, change) in compiles() {
        cases.pass(prepare(name, &change));
    }
    for (name, change) in breaks() {
        cases.compile_fail(prepare(name, &change));
    }
    for name in [
        "answer_without_staging",
        "reading_tool_stages",
        "forged_receipt",
        "made_receipt",
        "unknown_fact",
        "other_ground",
    ] {
        cases.compile_fail(format!("tests/ui/{name}.rs"));
    }
}
