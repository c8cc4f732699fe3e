//! What a line or a body says: a request, a notification, a reply, nothing, or something that has to be refused.
//!
//! JSON-RPC's envelope is read by hand, so that each way of getting it wrong has its own answer, with the id
//! wherever one can be read. Batches are refused in every revision (only 2025-03-26 had them).

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

use super::json;

/// What a message says.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A request. Its params may still be wrong.
    Request(RequestId, Box<ClientRequest>),
    /// A notification.
    Notification(ClientNotification),
    /// The reply to a request of ours, if we made one of this id.
    Reply(RequestId, Result<Box<ClientResult>, ErrorData>),
    /// Nothing that wants an answer: a reply to nothing, a notification that can't be read.
    Nothing,
    /// Something that is answered at once.
    Refused(Option<RequestId>, ErrorData),
}

/// A message that is answered at once: whose it is, as far as that can be read, and with what.
pub(super) type Refused = (Option<RequestId>, Box<ErrorData>);

/// Reads a message.
pub(super) fn read(text: &[u8]) -> Incoming {
    match object(text) {
        Ok(message) => envelope(message),
        Err((id, error)) => Incoming::Refused(id, *error),
    }
}

/// The object that a message is.
pub(super) fn object(text: &[u8]) -> Result<Map<String, Value>, Refused> {
    let invalid = |id, why: &str| Err((id, ErrorData::invalid_request(why.to_owned(), None).into()));
    match json::parse(text) {
        Ok(Value::Object(message)) => Ok(message),
        Ok(Value::Array(_)) => invalid(None, "batches are not served; send one message at a time"),
        Ok(_) => invalid(None, "a message is an object"),
        Err(error) if error.is_data() => invalid(json::readable_id(text), &error.to_string()),
        Err(error) => Err((
            json::readable_id(text),
            ErrorData::parse_error(error.to_string(), None).into(),
        )),
    }
}

/// The refusal of something that is no request.
pub(super) fn refuse(id: Option<RequestId>, why: &str) -> Incoming {
    Incoming::Refused(id, ErrorData::invalid_request(why.to_owned(), None))
}

/// What the object says.
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

/// `None` where it isn't said whose reply it is. One that can't be read is an error, so that nobody waits on.
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

/// Wrong params are answered where there is somebody to answer.
fn malformed(id: Option<RequestId>) -> Incoming {
    match id {
        Some(id) => Incoming::Refused(Some(id), ErrorData::invalid_params("malformed `params`", None)),
        None => Incoming::Nothing,
    }
}

/// `None` where not even `_meta` can be read. Other wrong params make a custom request, which the adapter
/// refuses.
///
/// What rmcp would read otherwise than we must is read here: it finds a call's type by trying them all on
/// copies of the params, which may hold a whole document, and takes a list's wrong cursor for none.
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
    Some(request.unwrap_or_else(|_| CustomRequest::new(method, None).into()))
}

/// A request or notification as rmcp knows it.
fn typed<T: DeserializeOwned>(method: String, params: Option<Map<String, Value>>) -> Option<T> {
    let message = match params {
        Some(params) => json!({ "method": method, "params": params }),
        None => json!({ "method": method }),
    };
    serde_json::from_value(message).ok()
}

/// The params of `tools/call` that this server knows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: JsonObject,
    input_responses: Option<InputResponses>,
    request_state: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: JsonObject,
}

impl ToolCall {
    fn request(self) -> ClientRequest {
        let mut params = CallToolRequestParams::new(self.name).with_arguments(self.arguments);
        params.input_responses = self.input_responses;
        params.request_state = self.request_state;
        let mut request = CallToolRequest::new(params);
        request
            .extensions
            .insert(RequestMetaObject(MetaObject(self.meta)));
        request.into()
    }
}

/// The params of every list.
#[derive(Deserialize)]
struct Page {
    cursor: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: JsonObject,
}

/// The request `M` for a list.
fn page<M: Default>(params: Value) -> Result<ClientRequest, serde_json::Error>
where
    RequestOptionalParam<M, PaginatedRequestParams>: Into<ClientRequest>,
{
    let Page { cursor, meta } = Page::deserialize(params)?;
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let mut request = RequestOptionalParam::with_param(params);
    request.extensions.insert(RequestMetaObject(MetaObject(meta)));
    Ok(request.into())
}
