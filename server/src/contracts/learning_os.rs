//! The learning OS: a greeting, the files of a repository, and a memory that only grows.
//!
//! Which paths may be read, and that a person approves of an entry, stands in the contract and is seen to by the runtime.

use std::sync::Arc;

use tabellion_contracts::learning_os::{
    CONTRACT, HelloRequest, HelloResponse, LearningOs, ReadRepoFileRequest, ReadRepoFileResponse, Service,
    ToolError, WriteMemoryEntryRequest, WriteMemoryEntryResponse, tool,
};
use tabellion_runtime::{Change, Content, Contract, Failure, FailureKind, ReadCx, Staged, WriteCx, context};

use tabellion_library::{Library, path::LibraryPath};

/// The most bytes of a file that is read ("100KB max file size").
const MOST_READ: usize = 100 * 1024;
/// The most bytes of an entry, without the line's end ("Max 5KB per entry").
const MOST_WRITTEN: usize = 5 * 1024;
/// The most characters of an entry, whether of text or of JSON: what the schema says of the one.
const MOST_CHARACTERS: usize = 5000;

/// The contract over a library.
pub(super) fn over(library: Arc<Library>) -> Arc<dyn Contract> {
    Arc::new(Service::new(Memory, library))
}

/// All it knows is in the store.
struct Memory;

impl LearningOs for Memory {
    async fn hello(&self, _: &ReadCx<'_>, request: HelloRequest) -> Result<HelloResponse, ToolError> {
        Ok(HelloResponse {
            greeting: format!("Hello, {}!", request.name),
        })
    }

    async fn read_repo_file(
        &self,
        cx: &ReadCx<'_>,
        request: ReadRepoFileRequest,
    ) -> Result<ReadRepoFileResponse, ToolError> {
        let path = LibraryPath::of_any_file(&request.path)
            .map_err(|error| ToolError::path_not_allowed(error.to_string()).with("rule", error.rule()))?;
        let Some(document) = cx.read(path.as_str())? else {
            return Ok(ReadRepoFileResponse {
                content: None,
                exists: false,
                error: Some(format!("there is no file `{path}`")),
            });
        };
        if document.bytes.len() > MOST_READ {
            return Err(too_large(
                format!("`{path}`"),
                "bytes",
                document.bytes.len(),
                MOST_READ,
            ));
        }
        cx.note(context::BASE, document.id);
        let content = String::from_utf8(document.bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let message = format!("`{path}` is no text: it is not UTF-8 at byte {offset}");
            ToolError::invalid_params(message).with("offset", offset)
        })?;
        Ok(ReadRepoFileResponse {
            content: Some(content),
            exists: true,
            error: None,
        })
    }

    async fn write_memory_entry(
        &self,
        cx: &WriteCx<'_>,
        request: WriteMemoryEntryRequest,
    ) -> Result<Staged<WriteMemoryEntryResponse>, ToolError> {
        let folder = CONTRACT
            .tool(tool::WRITE_MEMORY_ENTRY)
            .and_then(|tool| tool.path_in)
            .unwrap_or_default();
        let path = format!("{folder}{}", request.file);
        // The contract has rules for which of them goes with which file.
        let text = match (&request.entry, request.content) {
            (Some(entry), _) => serde_json::to_string(entry)
                .map_err(|error| Failure::new(FailureKind::Io, error.to_string()))?,
            (None, content) => content.unwrap_or_default(),
        };
        let characters = text.chars().count();
        for (size, unit, limit) in [
            (text.len(), "bytes", MOST_WRITTEN),
            (characters, "characters", MOST_CHARACTERS),
        ] {
            if size > limit {
                return Err(too_large("the entry".into(), unit, size, limit));
            }
        }
        let mut bytes = cx.read(&path)?.map_or_else(Vec::new, |document| document.bytes);
        let before = bytes.len();
        end_line(&mut bytes);
        bytes.extend(text.as_bytes());
        end_line(&mut bytes);
        let lines = bytes[before..].iter().filter(|byte| **byte == b'\n').count();
        let message = format!("appended to `{path}`");
        let summary = format!("append: +{lines} -0 lines");
        let change = Change::one(path, Content::Write(bytes), "append", summary);
        Ok(cx.stage(change, |_| WriteMemoryEntryResponse {
            success: true,
            message: Some(message),
        }))
    }
}

/// Ends the last line, if there is one without an end.
fn end_line(bytes: &mut Vec<u8>) {
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
}

fn too_large(what: String, unit: &str, size: usize, limit: usize) -> ToolError {
    let message = format!("{what} has {size} {unit}, and at most {limit} are allowed");
    ToolError::size_limit_exceeded(message)
        .with("size", size)
        .with("limit", limit)
}
