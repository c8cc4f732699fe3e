//! Mutants with a tool that the contract does not have.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{super::library::Library, Mutant, is};

/// A tool in addition to the contract's.
struct Beside {
    mutant: Mutant,
    name: &'static str,
    /// Properties of the schema; all but `below` are required.
    properties: fn() -> Value,
    /// Returns the answer, or `None` if the call fails.
    call: fn(&Path, &Value) -> Option<String>,
}

const TOOLS: [Beside; 4] = [
    Beside {
        mutant: Mutant::HasOneMoreTool,
        name: "head_of_file",
        properties: || json!({ "file": { "type": "string" }, "below": {} }),
        call: head,
    },
    Beside {
        mutant: Mutant::StopsAmidBatch,
        name: "write_all",
        properties: || {
            let text = json!({ "type": "string" });
            let file = json!({ "type": "object", "properties": { "path": text, "content": text }, "required": ["path", "content"] });
            json!({ "files": { "type": "array", "items": file } })
        },
        call: |library, arguments| {
            let files = arguments["files"].as_array()?.iter();
            let write =
                |file: &Value| fs::write(path(library, &file["path"])?, file["content"].as_str()?).ok();
            let _ = files.map_while(write).count();
            Some("all written".into())
        },
    },
    Beside {
        mutant: Mutant::MovesText,
        name: "move_file",
        properties: || json!({ "source": { "type": "string" }, "destination": { "type": "string" } }),
        call: |library, arguments| {
            let (from, to) =
                (path(library, &arguments["source"])?, path(library, &arguments["destination"])?);
            let text = String::from_utf8_lossy(&fs::read(&from).ok()?).replace("\r\n", "\n");
            fs::write(to, text).and_then(|()| fs::remove_file(from)).ok()?;
            Some("moved".into())
        },
    },
    Beside {
        mutant: Mutant::SavesAnew,
        name: "add_line",
        properties: || json!({ "path": { "type": "string" }, "text": { "type": "string" } }),
        call: |library, arguments| {
            let file = path(library, &arguments["path"])?;
            let text = fs::read_to_string(&file).ok()? + arguments["text"].as_str()?;
            fs::remove_file(&file).and_then(|()| fs::write(&file, text)).ok()?;
            Some("added".into())
        },
    },
];

/// Returns the first characters of any file, or of one in the folders that a call permits.
fn head(library: &Path, arguments: &Value) -> Option<String> {
    let path = library.join(arguments["file"].as_str()?).canonicalize().ok()?;
    let is_below = |folder: &Value| path.starts_with(folder.as_str().unwrap_or_default());
    let is_permitted = match &arguments["below"] {
        Value::Array(folders) => folders.iter().any(is_below),
        _ => true,
    };
    fs::read_to_string(&path).ok().filter(|_| is_permitted)
}

/// Returns the path of a file in the library.
fn path(library: &Path, named: &Value) -> Option<PathBuf> {
    let path = library.join(named.as_str()?);
    (path.starts_with(library) && !named.as_str()?.contains("..")).then_some(path)
}

/// Returns the result of a call of an unknown tool, if not an error.
pub(in super::super) fn unknown_tool(library: &Library, name: &str, arguments: &Value) -> Option<Value> {
    let Some(tool) = TOOLS.iter().find(|tool| is(tool.mutant) && tool.name == name) else {
        return is(Mutant::UnknownToolIsFine).then(|| json!({ "content": [], "isError": false }));
    };
    let answer = (tool.call)(&library.folder.path, arguments);
    let (text, is_error) = answer.map_or(("no such file".to_owned(), true), |text| (text, false));
    Some(json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
}

/// Adds the tool to the list of tools.
pub(super) fn add_tool(tools: &mut Vec<Value>) {
    for tool in TOOLS.iter().filter(|tool| is(tool.mutant)) {
        let properties = (tool.properties)();
        let required = properties.as_object().into_iter().flatten();
        let required: Vec<_> = required.map(|(name, _)| name).filter(|name| *name != "below").collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        tools.push(json!({ "name": tool.name, "inputSchema": schema }));
    }
}
