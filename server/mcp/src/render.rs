//! Converts a contract's answers to MCP.
//!
//! An [`Answer`] becomes a result with structured content, and the same as text for older clients. Further texts repeat the parts of
//! `_meta` that a model needs, because many clients keep `_meta` from it. A declared error is sent on the contract's error channel. Other
//! errors do not reveal their cause to the client.

use rmcp::{
    ErrorData,
    model::{CallToolResult, CompletionInfo, ContentBlock, ErrorCode, JsonObject, MetaObject},
};
use serde_json::{Value, json};
use tabellion_gateway::CallError;
use tabellion_runtime::{
    Answer, ContractSpec, ErrorAnswer,
    meta::{REVIEW, TOTAL, TRUNCATED, WARNINGS},
};

/// `_meta` key of an error that is sent as a result: its code, name and details.
const ERROR: &str = "tabellion/error";
/// Error code for a caller without the needed scope.
pub(super) const FORBIDDEN: ErrorCode = ErrorCode(403);
/// Error code for a caller that exceeded its rate limit.
const TOO_MANY: ErrorCode = ErrorCode(429);

/// Converts the answer to a call.
pub(super) fn answer(Answer { response, meta }: Answer) -> CallToolResult {
    let mut result = CallToolResult::structured(response);
    let warnings = meta.get(WARNINGS).and_then(Value::as_array).into_iter().flatten();
    let warnings = warnings.filter_map(Value::as_str).map(|warning| format!("Warning: {warning}"));
    let remarks = review(&meta).into_iter().chain(truncated(&meta)).chain(warnings);
    result.content.extend(remarks.map(ContentBlock::text));
    if meta.is_empty() { result } else { result.with_meta(Some(MetaObject(meta))) }
}

/// Returns a sentence for people if the change needs a review.
fn review(meta: &JsonObject) -> Option<String> {
    let review = meta.get(REVIEW)?;
    let place = |key: &str| review.get(key).and_then(Value::as_str);
    let place = place("url").map(str::to_owned).or_else(|| Some(format!("`{}`", place("command")?)))?;
    Some(format!("Waits for a review: {place}"))
}

/// Returns a sentence for the model if the answer is truncated.
fn truncated(meta: &JsonObject) -> Option<String> {
    meta.get(TRUNCATED)?;
    let total = meta.get(TOTAL).map_or_else(String::new, |total| format!(" of {total} in all"));
    Some(format!(
        "This is a part{total}: give a larger `limit`, or the last one as `after`, if the tool takes it, or ask for less, such as one \
         folder or a longer text."
    ))
}

/// Converts an error of the gateway to one of JSON-RPC.
pub(super) fn error(error: CallError) -> ErrorData {
    match error {
        CallError::NotOffered { message } => ErrorData::invalid_params(message, None),
        CallError::Forbidden { message, data } => ErrorData::new(FORBIDDEN, message, Some(data.into())),
        CallError::TooMany { limit, seconds } => {
            let data = CallError::too_many_details(limit, seconds);
            ErrorData::new(TOO_MANY, CallError::too_many(seconds), Some(data.into()))
        }
        CallError::Declared(error) => as_error(error),
        CallError::Internal { data } => ErrorData::internal_error(CallError::INTERNAL, Some(data.into())),
        CallError::Approval(_) => defect(),
    }
}

pub(super) fn unknown(kind: &str, name: &str) -> ErrorData {
    error(CallError::unknown(kind, name))
}

pub(super) fn unknown_resource(uri: &str) -> ErrorData {
    let message = format!("unknown resource `{}`", uri.escape_debug());
    ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
}

/// Returns completion values, cut to the protocol's limit.
pub(super) fn completion(mut values: Vec<String>) -> CompletionInfo {
    let total = u32::try_from(values.len()).ok();
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(values, total, has_more).expect("the values are cut to the limit")
}

/// Returns the error for every defect of the server.
pub(super) fn defect() -> ErrorData {
    ErrorData::internal_error("the server failed to answer; its log has details", None)
}

/// Converts an error of a contract to a result.
pub(super) fn as_result(spec: &ContractSpec, error: ErrorAnswer) -> CallToolResult {
    let body = spec.error_body(&error);
    let mut meta = JsonObject::new();
    meta.insert(
        ERROR.into(),
        json!({ "code": error.code, "name": error.name, "data": spec.details(&error) }),
    );
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.message)]);
    result.structured_content = body;
    result.with_meta(Some(MetaObject(meta)))
}

fn as_error(error: ErrorAnswer) -> ErrorData {
    let data = (!error.data.is_empty()).then(|| error.data.into());
    ErrorData::new(ErrorCode(error.code), error.message, data)
}
