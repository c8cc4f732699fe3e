//! The learning OS: a greeting, the files of a repository, and an append-only memory.
//!
//! The contract declares which paths can be read and that entries need a person's approval; the runtime enforces both.

use std::sync::Arc;

use tabellion_contracts::learning_os::{
    CONTRACT, HelloRequest, HelloResponse, LearningOs, ReadRepoFileRequest, ReadRepoFileResponse, Service,
    ToolError, WriteMemoryEntryRequest, WriteMemoryEntryResponse, tool,
};
use tabellion_runtime::{Change, Content, Contract, Failure, FailureKind, ReadCx, Staged, WriteCx, context};

use crate::flaws::conflict;
use tabellion_library::{Library, path::LibraryPath};
use tabellion_markdown::diff;

/// Size limit of a file that is read, in bytes ("100KB max file size").
const MAX_READ_BYTES: usize = 100 * 1024;
/// Size limit of an entry without its line end, in bytes ("Max 5KB per entry").
const MAX_ENTRY_BYTES: usize = 5 * 1024;
/// Size limit of an entry, text or JSON, in characters. The schema states it for text.
const MAX_ENTRY_CHARACTERS: usize = 5000;

/// Returns the contract, served from `library`.
pub(super) fn service(library: Arc<Library>) -> Arc<dyn Contract> {
    Arc::new(Service::new(Memory { library: Arc::clone(&library) }, library))
}

struct Memory {
    library: Arc<Library>,
}

impl LearningOs for Memory {
    async fn hello(&self, _: &ReadCx<'_>, request: HelloRequest) -> Result<HelloResponse, ToolError> {
        Ok(HelloResponse { greeting: format!("Hello, {}!", request.name) })
    }

    async fn read_repo_file(
        &self,
        cx: &ReadCx<'_>,
        request: ReadRepoFileRequest,
    ) -> Result<ReadRepoFileResponse, ToolError> {
        let path = |path: &str| {
            LibraryPath::of_any_file(path)
                .map_err(|error| ToolError::path_not_allowed(error.to_string()).with("rule", error.rule()))
        };
        let path = path(&cx.true_path(path(&request.path)?.as_str())?)?;
        let Some(document) = cx.read(path.as_str())? else {
            return Ok(ReadRepoFileResponse {
                content: None,
                exists: false,
                error: Some(format!("there is no file `{path}`")),
            });
        };
        if document.bytes.len() > MAX_READ_BYTES {
            return Err(too_large(format!("`{path}`"), "bytes", document.bytes.len(), MAX_READ_BYTES));
        }
        cx.note(context::BASE, document.id);
        if self.library.read(&path)?.is_some_and(|file| file.dirty) {
            cx.note(context::DIRTY, true);
        }
        let content = String::from_utf8(document.bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let message = format!("`{path}` is not text: it is not UTF-8 at byte {offset}");
            ToolError::invalid_params(message).with("offset", offset)
        })?;
        cx.warn([conflict(&path, &content)]);
        Ok(ReadRepoFileResponse { content: Some(content), exists: true, error: None })
    }

    async fn write_memory_entry(
        &self,
        cx: &WriteCx<'_>,
        request: WriteMemoryEntryRequest,
    ) -> Result<Staged<WriteMemoryEntryResponse>, ToolError> {
        let folder =
            CONTRACT.tool(tool::WRITE_MEMORY_ENTRY).and_then(|tool| tool.path_in).unwrap_or_default();
        let path = format!("{folder}{}", request.file);
        // The contract's rules define which field belongs to which file.
        let text = match (&request.entry, request.content) {
            (Some(entry), _) => serde_json::to_string(entry)
                .map_err(|error| Failure::new(FailureKind::Io, error.to_string()))?,
            (None, content) => content.unwrap_or_default(),
        };
        let characters = text.chars().count();
        for (size, unit, limit) in
            [(text.len(), "bytes", MAX_ENTRY_BYTES), (characters, "characters", MAX_ENTRY_CHARACTERS)]
        {
            if size > limit {
                return Err(too_large("the entry".into(), unit, size, limit));
            }
        }
        let old = cx.read(&path)?.map_or_else(Vec::new, |document| document.bytes);
        let mut bytes = old.clone();
        append(&mut bytes, &text);
        let (added, removed) =
            diff::line_counts(&String::from_utf8_lossy(&old), &String::from_utf8_lossy(&bytes));
        let message = format!("appended to `{path}`");
        let summary = format!("append: +{added} -{removed} lines");
        let change = Change::one(path, Content::Write(bytes), "append", summary);
        Ok(cx.stage(change, |_| WriteMemoryEntryResponse { success: true, message: Some(message) }))
    }
}

/// Appends an entry as it is. Lines that have no end get that of the file.
fn append(bytes: &mut Vec<u8>, text: &str) {
    // Readers of JSON lines don't accept a lone `\r` as a line ending.
    let ending = match tabellion_markdown::ending_of(&String::from_utf8_lossy(bytes)) {
        "\r\n" => "\r\n",
        _ => "\n",
    };
    end_line(bytes, ending);
    bytes.extend(text.as_bytes());
    end_line(bytes, ending);
}

/// Ends the last line if it has no line ending.
fn end_line(bytes: &mut Vec<u8>, ending: &str) {
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.extend(ending.as_bytes());
    }
}

fn too_large(what: String, unit: &str, size: usize, limit: usize) -> ToolError {
    let message = format!("{what} has {size} {unit}, and at most {limit} are allowed");
    ToolError::size_limit_exceeded(message).with("size", size).with("limit", limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_appended_as_it_is_between_line_endings_of_the_file() {
        for (old, text, new) in [
            ("", "one\ntwo", "one\ntwo\n"),
            ("a\r\nb", "one", "a\r\nb\r\none\r\n"),
            ("a\r\n", "one\ntwo", "a\r\none\ntwo\r\n"),
            ("a\n", "one\r\ntwo\n", "a\none\r\ntwo\n"),
            ("a\r", "one", "a\r\none\n"),
        ] {
            let mut bytes = old.as_bytes().to_vec();
            append(&mut bytes, text);
            assert_eq!(String::from_utf8(bytes).unwrap(), new, "{old:?} {text:?}");
        }
    }
}
