//! Converts a contract's answers to MCP.
//!
//! An [`Answer`] becomes a result with structured content, and the same as text for older clients. A declared error is sent
//! as the contract's error channel says. Other errors do not tell the client their cause.

use rmcp::{
    ErrorData,
    model::{CallToolResult, CompletionInfo, ContentBlock, ErrorCode, JsonObject, MetaObject},
};
use serde_json::json;
use tabellion_runtime::{Answer, ContractSpec, ErrorAnswer, ErrorChannel, Failure, Rejection, Violation};

/// `_meta` key of an error that is sent as a result: its code, name and details.
pub(super) const ERROR: &str = "tabellion/error";

/// Converts the outcome of a call.
pub(super) fn outcome(
    spec: &ContractSpec,
    tool: &str,
    outcome: Result<Answer, Rejection>,
) -> Result<CallToolResult, ErrorData> {
    match outcome {
        Ok(Answer { response, meta }) => {
            let result = CallToolResult::structured(response);
            Ok(if meta.is_empty() {
                result
            } else {
                result.with_meta(Some(MetaObject(meta)))
            })
        }
        Err(Rejection::Declared(error)) if spec.error_channel == ErrorChannel::Result => {
            Ok(as_result(spec, error))
        }
        Err(Rejection::UnknownTool) => Err(unknown_tool(tool)),
        Err(rejection) => Err(self::rejection(spec, rejection)),
    }
}

/// Converts a rejection to a JSON-RPC error.
pub(super) fn rejection(spec: &ContractSpec, rejection: Rejection) -> ErrorData {
    let (name, detail) = match rejection {
        Rejection::Declared(error) => return as_error(error),
        Rejection::Breach { tool, detail } => (tool, detail),
        Rejection::UnknownTool | Rejection::Unknown | Rejection::InputRequired(_) => {
            ("", "a rejection that fits no request of this kind".into())
        }
    };
    tracing::error!(
        contract = spec.id,
        name,
        "the implementation broke its contract (detail: level debug)"
    );
    // May quote what a handler made of a note.
    tracing::debug!(contract = spec.id, name, detail, "breach");
    defect()
}

/// Returns the rejection of a call with invalid preconditions in `_meta`: the same as for invalid arguments.
pub(super) fn bad_conditions(spec: &ContractSpec, violations: &[Violation]) -> Rejection {
    let code = ErrorCode::INVALID_PARAMS.0;
    let declared = spec.errors.iter().find(|error| error.code == code);
    let Failure { message, data, .. } = Failure::violations(violations);
    Rejection::Declared(match declared {
        Some(error) => spec.answer(error, message, data),
        None => ErrorAnswer {
            name: "INVALID_PARAMS",
            code,
            message,
            data,
        },
    })
}

/// Returns the error for an unknown tool.
pub(super) fn unknown_tool(name: &str) -> ErrorData {
    unknown("tool", name)
}

/// Returns the error for a tool that a server that changes nothing does not offer. For clients it is an unknown tool.
pub(super) fn withheld_tool(name: &str) -> ErrorData {
    let message = format!(
        "this server is read-only, so `{name}` is not offered; its operator can start it without `--read-only`"
    );
    ErrorData::invalid_params(message, None)
}

/// Returns the error for an unknown `kind`.
pub(super) fn unknown(kind: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown {kind} `{}`", name.escape_debug()), None)
}

/// Returns the error for an unknown resource.
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

fn as_result(spec: &ContractSpec, error: ErrorAnswer) -> CallToolResult {
    let body = spec.error_body(&error);
    let mut meta = JsonObject::new();
    meta.insert(
        ERROR.into(),
        json!({ "code": error.code, "name": error.name, "data": error.data }),
    );
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.message)]);
    result.structured_content = body;
    result.with_meta(Some(MetaObject(meta)))
}

fn as_error(error: ErrorAnswer) -> ErrorData {
    let data = (!error.data.is_empty()).then(|| error.data.into());
    ErrorData::new(ErrorCode(error.code), error.message, data)
}
