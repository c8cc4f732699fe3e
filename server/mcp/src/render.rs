//! What a contract answers, as MCP says it.
//!
//! An [`Answer`] is a result with structured content, and the same as text for clients that know only that. A
//! declared error goes the way that its contract names. What no contract declares says nothing of its cause
//! to the client.

use rmcp::{
    ErrorData,
    model::{CallToolResult, CompletionInfo, ContentBlock, ErrorCode, JsonObject, MetaObject},
};
use serde_json::json;
use tabellion_runtime::{Answer, ContractSpec, ErrorAnswer, ErrorChannel, Failure, Rejection, Violation};

/// `_meta` key of an error that travels as a result: its code, its name and its details.
const ERROR: &str = "tabellion/error";

/// The result of a call, as the contract `spec` has it.
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
        Err(Rejection::Declared(error)) if spec.error_channel == ErrorChannel::Result => Ok(as_result(error)),
        Err(Rejection::UnknownTool) => Err(unknown_tool(tool)),
        Err(rejection) => Err(self::rejection(spec, rejection)),
    }
}

/// The error where there is no result that could tell of it.
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

/// The rejection of a call whose `_meta` names conditions that can't be met: as the contract rejects
/// arguments.
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

/// The answer to a call of a tool that no contract has.
pub(super) fn unknown_tool(name: &str) -> ErrorData {
    unknown("tool", name)
}

/// The answer to a request for a `kind` of thing that no contract has.
pub(super) fn unknown(kind: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown {kind} `{}`", name.escape_debug()), None)
}

/// The answer to a request for a resource that no contract has.
pub(super) fn unknown_resource(uri: &str) -> ErrorData {
    let message = format!("unknown resource `{}`", uri.escape_debug());
    ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
}

/// Values for an argument, no more of them than may be said.
pub(super) fn completion(mut values: Vec<String>) -> CompletionInfo {
    let total = u32::try_from(values.len()).ok();
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(values, total, has_more).expect("there are no more than may be said")
}

/// The answer where the server is wrong, whatever the reason.
pub(super) fn defect() -> ErrorData {
    ErrorData::internal_error("the server failed to answer; its log says more", None)
}

fn as_result(error: ErrorAnswer) -> CallToolResult {
    let mut meta = JsonObject::new();
    meta.insert(
        ERROR.into(),
        json!({ "code": error.code, "name": error.name, "data": error.data }),
    );
    CallToolResult::error(vec![ContentBlock::text(error.message)]).with_meta(Some(MetaObject(meta)))
}

fn as_error(error: ErrorAnswer) -> ErrorData {
    let data = (!error.data.is_empty()).then(|| error.data.into());
    ErrorData::new(ErrorCode(error.code), error.message, data)
}
