//! Requests that contracts answer: tool calls, resource reads, prompts and completions.

use std::sync::Arc;

use rmcp::{ErrorData, RoleServer, model::*, service::RequestContext};
use serde_json::Value;
use tabellion_gateway::{Access, CallError, CallRequest, Client, Requester};
use tabellion_runtime::{ArgumentSpec, Connection, Contract, ErrorChannel};

use super::{
    exact_error::ExactError,
    render,
    shared::{Era, Shared},
    waiting,
};

pub(super) fn requester(cx: &RequestContext<RoleServer>) -> Requester<'_> {
    let client = cx.client_info();
    Requester {
        client: client.map(|client| Client::new(&client.name, &client.version)),
        ..anonymous(&cx.extensions, &cx.meta)
    }
}

/// Returns the requester of a request, without the client program.
pub(super) fn anonymous<'a>(request: &'a Extensions, meta: &'a JsonObject) -> Requester<'a> {
    Requester { origin: request.get(), client: None, meta }
}

/// Calls a tool.
pub(super) async fn call(
    shared: &Shared,
    connection: &Arc<Connection>,
    era: Era,
    params: CallToolRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let route = shared.gateway.tool(&params.name).map_err(render::error)?;
    let (approvals, spec) = (&shared.approvals, route.contract.spec());
    let (client, reports) = waiting::client(cx);
    let mut needs_approval = None;
    let request = CallRequest {
        arguments: params.arguments.unwrap_or_default(),
        requester: requester(cx),
        connection: connection.clone(),
        in_session: era == Era::Session,
        awaited: None,
        client,
        approver: Box::new(|tool, arguments| {
            needs_approval = Some((tool, arguments.clone()));
            match era {
                Era::Session => approvals.in_session(tool, cx),
                Era::Stateless => {
                    approvals.with_call(tool, cx, arguments, params.request_state, params.input_responses)
                }
            }
        }),
    };
    let outcome = shared.gateway.call(route, request).await;
    reports.end().await;
    let mut result = match outcome {
        Ok(answer) => render::answer(answer),
        Err(CallError::Declared(error)) if spec.error_channel == ErrorChannel::Result => {
            render::as_result(spec, error)
        }
        Err(CallError::Approval(proposal)) => {
            let (tool, arguments) = needs_approval.ok_or_else(render::defect)?;
            let mut question = approvals.question(tool, cx, &arguments, &proposal);
            shared.sign(era, &mut question.meta);
            return Ok(question.into());
        }
        Err(error) => return Err(refused(error, cx)),
    };
    shared.sign(era, &mut result.meta);
    Ok(result.into())
}

/// Reads a resource. Its content is JSON as text.
pub(super) async fn read(
    shared: &Shared,
    era: Era,
    uri: &str,
    cx: &RequestContext<RoleServer>,
) -> Result<ReadResourceResult, ErrorData> {
    let route = shared.gateway.catalog().resource(uri);
    let route = route.ok_or_else(|| render::unknown_resource(uri))?;
    let (contract, resource) = (route.contract, route.spec);
    let (client, reports) = waiting::client(cx);
    let call = shared.gateway.reading(contract.spec(), &requester(cx), client);
    let call = call.map_err(|error| refused(error, cx))?;
    let answer = match route.variables {
        None => contract.read_resource(&call, resource.name),
        Some(variables) => contract.read_instance(&call, resource.name, variables),
    };
    let answer = shared.gateway.read(contract.spec(), resource.name, answer).await;
    reports.end().await;
    let answer = answer.map_err(|error| refused(error, cx))?;
    let content = ResourceContents::text(answer.response.to_string(), uri);
    let mut result = ReadResourceResult::new(vec![content.with_mime_type(resource.mime_type)]);
    result.meta = (!answer.meta.is_empty()).then_some(MetaObject(answer.meta));
    shared.sign(era, &mut result.meta);
    Ok(result)
}

/// Renders a prompt.
pub(super) async fn prompt(
    shared: &Shared,
    era: Era,
    params: GetPromptRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<GetPromptResult, ErrorData> {
    let route = shared.gateway.catalog().prompts.route(&params.name);
    let route = route.ok_or_else(|| render::unknown("prompt", &params.name))?;
    let (contract, prompt) = (&route.contract, route.spec);
    let arguments = Value::Object(params.arguments.unwrap_or_default());
    let (client, reports) = waiting::client(cx);
    let call = shared.gateway.reading(contract.spec(), &requester(cx), client);
    let call = call.map_err(|error| refused(error, cx))?;
    let text = contract.get_prompt(&call, prompt.name, arguments);
    let text = shared.gateway.read(contract.spec(), prompt.name, text).await;
    reports.end().await;
    let message = PromptMessage::new_text(Role::User, text.map_err(|error| refused(error, cx))?);
    let mut result = GetPromptResult::new(vec![message]).with_description(prompt.description);
    shared.sign(era, &mut result.meta);
    Ok(result)
}

/// The subject of a completion: an argument of a prompt, or a variable of a template.
struct Completed<'a> {
    contract: &'a Arc<dyn Contract>,
    /// Name of the prompt or template.
    of: &'static str,
    is_prompt: bool,
    argument: &'static ArgumentSpec,
}

impl<'a> Completed<'a> {
    /// # Errors
    /// If there is no such prompt or template, or it has no such argument.
    fn find(shared: &'a Shared, reference: &Reference, argument: &str) -> Result<Self, ErrorData> {
        let (contract, of, found, is_prompt) = match reference {
            Reference::Prompt(PromptReference { name, .. }) => {
                let route = shared.gateway.catalog().prompts.route(name);
                let route = route.ok_or_else(|| render::unknown("prompt", name))?;
                (&route.contract, route.spec.name, route.spec.argument(argument), true)
            }
            Reference::Resource(ResourceTemplateReference { uri, .. }) => {
                let route = shared.gateway.catalog().templates.route(uri);
                let route = route.ok_or_else(|| render::unknown("resource template", uri))?;
                (&route.contract, route.spec.resource.name, route.spec.variable(argument), false)
            }
            _ => {
                let message = "only arguments of prompts and variables of resource templates are completed";
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(Self {
            contract,
            of,
            is_prompt,
            argument: found.ok_or_else(|| render::unknown("argument", argument))?,
        })
    }
}

/// Completes an argument of a prompt, or a variable of a template.
pub(super) async fn completion(
    shared: &Shared,
    era: Era,
    params: CompleteRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let ArgumentInfo { name, value, .. } = params.argument;
    let Completed { contract, of, is_prompt, argument } = Completed::find(shared, &params.r#ref, &name)?;
    let values = if argument.completes {
        let (client, reports) = waiting::client(cx);
        let call = shared.gateway.reading(contract.spec(), &requester(cx), client);
        let call = call.map_err(|error| refused(error, cx))?;
        let values = if is_prompt {
            contract.complete(&call, of, argument.name, &value)
        } else {
            contract.complete_variable(&call, of, argument.name, &value)
        };
        let values = shared.gateway.read(contract.spec(), of, values).await;
        reports.end().await;
        values
    } else {
        requester(cx).allow(contract.spec(), Access::Read).map(|()| vec![])
    };
    let values = values.map_err(|error| refused(error, cx))?;
    let mut result = CompleteResult::new(render::completion(values));
    shared.sign(era, &mut result.meta);
    Ok(result)
}

/// Returns the error of a request, which is sent unchanged.
fn refused(error: CallError, cx: &RequestContext<RoleServer>) -> ErrorData {
    ExactError::store(cx, render::error(error))
}
