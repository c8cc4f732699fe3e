//! Validates a server's messages against MCP's official schemas.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use serde_json::{Value, json};

const WITHOUT: &str =
    "official MCP schemas not found (shared/data/mcp-schema, or set TABELLION_DATA): not validated";

/// Validates a message against `revision`'s schema; `method` is the answered request's, if it is an answer.
pub(super) fn check(revision: &str, method: Option<&str>, message: &Value) {
    let revision = match revision {
        "2024-11-05" | "2025-03-26" => "2025-06-18", // the oldest revision that we have the schema of
        known => known,
    };
    // Until 2025-06-18 the schema required an id in every error, unlike JSON-RPC.
    if revision == "2025-06-18" && message.get("id").is_none() {
        return;
    }
    assert_valid(revision, "JSONRPCMessage", message);
    if let Some(result) = message.get("result") {
        let definition = match method {
            _ if result["resultType"] == "input_required" => "InputRequiredResult",
            Some("initialize") => "InitializeResult",
            Some("server/discover") => "DiscoverResult",
            Some("tools/list") => "ListToolsResult",
            Some("tools/call") => "CallToolResult",
            Some("resources/list") => "ListResourcesResult",
            Some("resources/templates/list") => "ListResourceTemplatesResult",
            Some("resources/read") => "ReadResourceResult",
            Some("subscriptions/listen") => "SubscriptionsListenResult",
            Some("prompts/list") => "ListPromptsResult",
            Some("prompts/get") => "GetPromptResult",
            Some("completion/complete") => "CompleteResult",
            _ => "Result",
        };
        assert_valid(revision, definition, result);
    }
    if message.get("method").is_some() {
        let definition = match message.get("id") {
            Some(_) => "ServerRequest", // which 2026-07-28 doesn't have
            None => "ServerNotification",
        };
        assert_valid(revision, definition, message);
    }
}

fn assert_valid(revision: &str, definition: &str, value: &Value) {
    let Some(validator) = validator(revision, definition) else {
        return;
    };
    if let Err(error) = validator.validate(value) {
        panic!("not a {definition} of {revision}: {error} at `{}`\n{value:#}", error.instance_path());
    }
}

fn validator(revision: &str, definition: &str) -> Option<Arc<Validator>> {
    type Key = (String, String);
    static VALIDATORS: LazyLock<Mutex<HashMap<Key, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let folder = folder();
        if folder.is_none() {
            eprintln!("{WITHOUT}");
        }
        folder
    });

    let folder = FOLDER.as_deref()?;
    let mut validators = VALIDATORS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (revision.to_owned(), definition.to_owned());
    Some(validators.entry(key).or_insert_with(|| Arc::new(compile(folder, revision, definition))).clone())
}

fn compile(folder: &Path, revision: &str, definition: &str) -> Validator {
    let text = fs::read(folder.join(revision).with_extension("json")).expect("every revision has a schema");
    let mut schema: Value = serde_json::from_slice(&text).expect("schemas are JSON");
    let place = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
    schema["$ref"] = json!(format!("#/{place}/{definition}"));
    jsonschema::validator_for(&schema).expect("official schemas compile")
}

fn folder() -> Option<PathBuf> {
    let given = env::var_os("TABELLION_DATA").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/data"));
    given.into_iter().chain(above).map(|data| data.join("mcp-schema")).find(|folder| folder.is_dir())
}
