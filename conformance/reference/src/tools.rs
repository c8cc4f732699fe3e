//! The contract's tools.

use serde_json::{Map, Value, json};
use tabellion_contracts::braindrive_markdown::{
    CONTRACT, DeleteMarkdownRequest, EditMarkdownRequest, EditOperation, GetMarkdownActivityLogRequest,
    ListMarkdownFilesRequest, PreviewMarkdownChangeRequest, ReadMarkdownRequest, SearchMarkdownRequest,
    ToolError, WriteMarkdownRequest, tool,
};
use tabellion_runtime::{
    CallContext, ContractError, ErrorAnswer, Failure, FailureKind, Precondition, ToolSpec, context::BASE,
};

use super::{
    change::{Change, Receipt},
    failed,
    library::{Library, rfc3339},
    markdown,
    mutant::{self, Mutant, is},
    path, preview,
};

/// A response, and its `_meta`.
type AnswerWithMeta = (Value, Map<String, Value>);

/// Executes a call with this `_meta`.
pub(super) fn call(
    library: &Library,
    tool: &'static ToolSpec,
    arguments: Value,
    meta: &Map<String, Value>,
) -> Result<AnswerWithMeta, ErrorAnswer> {
    let answer = checked(library, tool, arguments, meta).map_err(ContractError::answer);
    if answer.is_err() && is(Mutant::LogsRefusals) {
        library.git.ask(&["commit", "--allow-empty", "--message", "refused"]);
    }
    answer
}

fn checked(
    library: &Library,
    tool: &'static ToolSpec,
    arguments: Value,
    meta: &Map<String, Value>,
) -> Result<AnswerWithMeta, ToolError> {
    let arguments = mutant::change_arguments(library, tool, arguments);
    tool.input.check(&arguments).map_err(|violations| Failure::violations(&violations))?;
    if is(Mutant::AsciiOnly) && !arguments.to_string().is_ascii() {
        let message = "arguments must be ASCII; use other letters";
        return Err(Failure::new(FailureKind::Invalid, message).into());
    }
    let context =
        CallContext::from_meta(None, meta).map_err(|violations| Failure::violations(&violations))?;
    if context.idempotency_key.is_some() || context.if_base.is_some() && !tool.mutating {
        let message = "idempotency keys are not supported, and `tabellion/ifBase` only with tools that change documents";
        return Err(Failure::new(FailureKind::Invalid, message).into());
    }
    let (response, meta) = answer(library, tool, arguments, context.if_base.as_ref())?;
    let response = mutant::change_response(tool, response);
    let has_any_shape = is(Mutant::ReturnsShortId) || is(Mutant::WrongOutputShape);
    let shaped = if has_any_shape { Ok(()) } else { tool.output.check(&response) };
    shaped.map_err(|violations| {
        let message = format!("internal error: the answer violates the contract: {}", violations[0]);
        Failure::new(FailureKind::Io, message)
    })?;
    Ok((response, meta))
}

fn answer(
    library: &Library,
    tool: &'static ToolSpec,
    arguments: Value,
    base: Option<&Precondition>,
) -> Result<AnswerWithMeta, ToolError> {
    let malformed = failed("read the arguments");
    match tool.name {
        tool::READ_MARKDOWN => {
            let request: ReadMarkdownRequest = serde_json::from_value(arguments).map_err(malformed)?;
            path::check(&request.path)?;
            let document = library.read(&request.path)?.ok_or_else(|| no_document(&request.path))?;
            if is(Mutant::ReadWrites) {
                library.git.ask(&["add", "--all"]);
            }
            let again = || Some(library.read(&request.path).ok()??.found.bytes);
            let bytes = mutant::read_in_parts(document.found.bytes, again);
            let response = json!({
                "content": mutant::returned_text(&request.path, text(&bytes)?),
                "metadata": {
                    "size": bytes.len(),
                    "last_modified": rfc3339(document.found.modified),
                    "git_commit": document.commit,
                },
            });
            let mut meta = meta_entry(BASE, document.blob);
            if document.dirty {
                meta.insert("tabellion/dirty".into(), true.into());
            }
            Ok((response, meta))
        }
        tool::LIST_MARKDOWN_FILES => {
            let request: ListMarkdownFilesRequest = serde_json::from_value(arguments).map_err(malformed)?;
            let (files, folders) = library.list(folder(&request.path)?, request.recursive)?;
            Ok((json!({ "files": files, "folders": folders }), Map::new()))
        }
        tool::SEARCH_MARKDOWN => {
            let request: SearchMarkdownRequest = serde_json::from_value(arguments).map_err(malformed)?;
            let below = folder(request.path.as_deref().unwrap_or_default())?;
            Ok((json!({ "results": library.search(below, &request.query)? }), Map::new()))
        }
        tool::PREVIEW_MARKDOWN_CHANGE => {
            let request: PreviewMarkdownChangeRequest =
                serde_json::from_value(arguments).map_err(malformed)?;
            let PreviewMarkdownChangeRequest { path, operation } = request;
            path::check(&path)?;
            let document = library.read(&path)?.ok_or_else(|| no_document(&path))?;
            let old = mutant::preview_base(library, &path, text(&document.found.bytes)?);
            let plan = markdown::plan(&old, &operation)
                .or_else(|refusal| mutant::preview_of_refused(&old, refusal))?;
            library.check_ignored(&path)?;
            let response = json!({
                "diff": preview::diff(&path, &old, &plan.text),
                "summary": preview::summary(&old, &operation, &plan),
                "risk_level": preview::risk(&old, &plan),
            });
            if is(Mutant::PreviewWrites) {
                edit(library, &path, &operation, None)?;
            }
            Ok((response, meta_entry(BASE, document.blob)))
        }
        tool::WRITE_MARKDOWN => {
            let request: WriteMarkdownRequest = serde_json::from_value(arguments).map_err(malformed)?;
            let new = mutant::damage(request.content);
            let receipt = library.change(&request.path, base, &|old| {
                let operation = if old.is_some() { "overwrite" } else { "create" };
                Ok(whole(operation, old.unwrap_or_default(), Some(new.clone())))
            })?;
            Ok(mutation(receipt))
        }
        tool::EDIT_MARKDOWN => {
            let request: EditMarkdownRequest = serde_json::from_value(arguments).map_err(malformed)?;
            edit(library, &request.path, &request.operation, base)
        }
        tool::DELETE_MARKDOWN => {
            let request: DeleteMarkdownRequest = serde_json::from_value(arguments).map_err(malformed)?;
            let receipt = library.change(&request.path, base, &|old| {
                Ok(whole("delete", old.ok_or_else(|| no_document(&request.path))?, None))
            })?;
            Ok(mutation(receipt))
        }
        tool::GET_MARKDOWN_ACTIVITY_LOG => {
            let request: GetMarkdownActivityLogRequest =
                serde_json::from_value(arguments).map_err(malformed)?;
            let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
            Ok((json!({ "entries": library.log(limit)? }), Map::new()))
        }
        name => Err(Failure::new(FailureKind::Io, format!("`{name}` is not implemented")).into()),
    }
}

pub(super) fn find(name: &str) -> Option<&'static ToolSpec> {
    CONTRACT.tool(name)
}

fn edit(
    library: &Library,
    path: &str,
    operation: &EditOperation,
    base: Option<&Precondition>,
) -> Result<AnswerWithMeta, ToolError> {
    if is(Mutant::RefusesValid) && matches!(operation, EditOperation::InsertAfter { .. }) {
        return Err(Failure::new(FailureKind::Refused, "insert_after is not supported").into());
    }
    let receipt = library.change(path, base, &|old| {
        let old = text(old.ok_or_else(|| no_document(path))?)?;
        let plan = mutant::change_plan(markdown::plan(&old, operation)?, operation);
        Ok(Change {
            operation: markdown::named(operation).0,
            summary: preview::summary(&old, operation, &plan),
            bytes: Some(plan.text.into_bytes()),
        })
    })?;
    Ok(mutation(receipt))
}

/// Returns a change of the whole document.
fn whole(operation: &'static str, old: &[u8], new: Option<String>) -> Change {
    let (come, go) = preview::counts(&String::from_utf8_lossy(old), new.as_deref().unwrap_or_default());
    let summary = format!("{operation}: +{come} -{go} lines");
    Change { operation, summary, bytes: new.map(String::into_bytes) }
}

fn mutation(receipt: Receipt) -> AnswerWithMeta {
    let meta = receipt.blob.map_or_else(Map::new, |blob| meta_entry(BASE, blob));
    (json!({ "success": true, "git_commit_sha": receipt.commit }), meta)
}

/// Returns the folder that a request names, without redundant dots and slashes.
fn folder(path: &str) -> Result<&str, Failure> {
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() || path == "." {
        return Ok("");
    }
    path::check_folder(path)?;
    Ok(path)
}

/// Returns a document's text, or a failure with the position of the first invalid byte.
fn text(bytes: &[u8]) -> Result<String, Failure> {
    if is(Mutant::ReplacesInvalidUtf8) {
        return Ok(String::from_utf8_lossy(bytes).into_owned());
    }
    String::from_utf8(bytes.to_vec()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("the document is not UTF-8 at byte {at}; convert it with an editor first");
        Failure::new(FailureKind::Refused, message)
    })
}

fn no_document(path: &str) -> Failure {
    let message = format!("document `{path}` not found; list its folder to see the documents");
    Failure::new(FailureKind::NotFound, message)
}

fn meta_entry(key: &str, value: String) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value.into())])
}
