//! Parses the message on a line or in a body: a request, a notification, a reply, or a message to refuse.
//!
//! The JSON-RPC envelope is parsed by hand, so that each defect has its own error, with the id if one can be read. Batches
//! are refused in every revision (only 2025-03-26 had them).

use rmcp::{
    ErrorData,
    model::{
        CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientNotification, ClientRequest,
        ClientResult, ConstString as _, CustomRequest, InputResponses, JsonObject, ListPromptsRequestMethod,
        ListResourceTemplatesRequestMethod, ListResourcesRequestMethod, ListToolsRequestMethod, MetaObject,
        PaginatedRequestParams, RequestId, RequestMetaObject, RequestOptionalParam,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use tabellion_gateway::json;

/// A received message.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A request. Its params may still be invalid.
    Request(RequestId, Box<ClientRequest>),
    Notification(ClientNotification),
    /// A reply to a request of the server.
    Reply(RequestId, Result<Box<ClientResult>, ErrorData>),
    /// A message to ignore: a reply without an id, or an unreadable notification.
    Nothing,
    /// A message to answer with an error at once.
    Refused(Option<RequestId>, ErrorData),
}

/// The answer to a refused message: its id, if it can be read, and the error.
pub(super) type Refused = (Option<RequestId>, Box<ErrorData>);

/// Parses a message.
pub(super) fn read(text: &[u8]) -> Incoming {
    match object(text) {
        Ok(message) => envelope(message),
        Err((id, error)) => Incoming::Refused(id, *error),
    }
}

/// Parses a message's JSON object.
pub(super) fn object(text: &[u8]) -> Result<Map<String, Value>, Refused> {
    let invalid = |id, why: &str| Err((id, ErrorData::invalid_request(why.to_owned(), None).into()));
    match json::parse(text) {
        Ok(Value::Object(message)) => Ok(message),
        Ok(Value::Array(_)) => invalid(None, "batches are not served; send one message at a time"),
        Ok(_) => invalid(None, "a message is an object"),
        Err(error) => {
            let id = readable_id(text);
            let refusal = match json::advice(text, &error) {
                None if error.is_data() => return invalid(id, &error.to_string()),
                Some(advice) if id.is_some() => ErrorData::invalid_params(advice, None),
                Some(advice) => ErrorData::parse_error(advice, None),
                None => ErrorData::parse_error(error.to_string(), None),
            };
            Err((id, refusal.into()))
        }
    }
}

/// Returns the `id` of a message that can't be parsed, as far as it can be read.
pub(super) fn readable_id(text: &[u8]) -> Option<RequestId> {
    RequestId::deserialize(json::readable_id(text)?).ok()
}

/// Returns the refusal of a message that is not a request.
pub(super) fn refuse(id: Option<RequestId>, why: &str) -> Incoming {
    Incoming::Refused(id, ErrorData::invalid_request(why.to_owned(), None))
}

/// Reads the envelope of a message.
pub(super) fn envelope(mut message: Map<String, Value>) -> Incoming {
    let method = message.remove("method");
    if method.is_none() && (message.contains_key("result") || message.contains_key("error")) {
        return reply(message).unwrap_or(Incoming::Nothing);
    }
    let Ok(id) = message.remove("id").map(RequestId::deserialize).transpose() else {
        return refuse(None, "`id` must be a string or a 64-bit integer");
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse(id, "`jsonrpc` must be \"2.0\"");
    }
    let Some(Value::String(method)) = method else {
        return refuse(id, "`method` must be a string");
    };
    let params = match message.remove("params") {
        None | Some(Value::Null) => None,
        Some(Value::Object(params)) => Some(params),
        Some(_) => return malformed(id),
    };
    let Some(id) = id else {
        return typed(method, params).map_or(Incoming::Nothing, Incoming::Notification);
    };
    match request(method, params) {
        Some(request) => Incoming::Request(id, Box::new(request)),
        None => malformed(Some(id)),
    }
}

/// Returns `None` if the reply has no id. An unreadable reply becomes an error, so that its waiter is released.
fn reply(mut message: Map<String, Value>) -> Option<Incoming> {
    let id = RequestId::deserialize(message.remove("id")?).ok()?;
    let result = match message.remove("error") {
        Some(error) => serde_json::from_value(error).map(Err),
        None => serde_json::from_value(message.remove("result").unwrap_or_default())
            .map(|result| Ok(Box::new(result))),
    };
    let unreadable = |_| Err(ErrorData::invalid_request("a reply that can't be read", None));
    Some(Incoming::Reply(id, result.unwrap_or_else(unreadable)))
}

/// Returns an error for invalid params; a notification can't be answered.
fn malformed(id: Option<RequestId>) -> Incoming {
    match id {
        Some(id) => Incoming::Refused(Some(id), ErrorData::invalid_params("malformed `params`", None)),
        None => Incoming::Nothing,
    }
}

/// Returns `None` if even `_meta` can't be read. Other invalid params make a custom request, which the adapter refuses; its params are
/// the reason, as a text.
///
/// Methods that rmcp would parse differently are parsed here: it detects a call's type by trying every type on a copy of the
/// params, which may hold a whole document, and it treats an invalid cursor of a list as an absent one.
fn request(method: String, params: Option<Map<String, Value>>) -> Option<ClientRequest> {
    let object = |params: Option<_>| Value::Object(params.unwrap_or_default());
    let request = match method.as_str() {
        CallToolRequestMethod::VALUE => ToolCall::deserialize(object(params)).map(ToolCall::request),
        ListToolsRequestMethod::VALUE => page::<ListToolsRequestMethod>(object(params)),
        ListResourcesRequestMethod::VALUE => page::<ListResourcesRequestMethod>(object(params)),
        ListResourceTemplatesRequestMethod::VALUE => {
            page::<ListResourceTemplatesRequestMethod>(object(params))
        }
        ListPromptsRequestMethod::VALUE => page::<ListPromptsRequestMethod>(object(params)),
        _ => return typed(method, params),
    };
    Some(request.unwrap_or_else(|why| CustomRequest::new(method, Some(why.to_string().into())).into()))
}

/// Converts to a request or notification of rmcp.
fn typed<T: DeserializeOwned>(method: String, params: Option<Map<String, Value>>) -> Option<T> {
    let message = match params {
        Some(params) => json!({ "method": method, "params": params }),
        None => json!({ "method": method }),
    };
    serde_json::from_value(message).ok()
}

/// The supported params of `tools/call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall {
    name: String,
    arguments: Option<JsonObject>,
    input_responses: Option<InputResponses>,
    request_state: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<JsonObject>,
}

impl ToolCall {
    fn request(self) -> ClientRequest {
        let mut params =
            CallToolRequestParams::new(self.name).with_arguments(self.arguments.unwrap_or_default());
        params.input_responses = self.input_responses;
        params.request_state = self.request_state;
        let mut request = CallToolRequest::new(params);
        request.extensions.insert(RequestMetaObject(MetaObject(self.meta.unwrap_or_default())));
        request.into()
    }
}

/// The params of every list request.
#[derive(Deserialize)]
struct Page {
    cursor: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<JsonObject>,
}

/// Returns the request `M` for a list.
fn page<M: Default>(params: Value) -> Result<ClientRequest, serde_json::Error>
where
    RequestOptionalParam<M, PaginatedRequestParams>: Into<ClientRequest>,
{
    let Page { cursor, meta } = Page::deserialize(params)?;
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let mut request = RequestOptionalParam::with_param(params);
    request.extensions.insert(RequestMetaObject(MetaObject(meta.unwrap_or_default())));
    Ok(request.into())
}
