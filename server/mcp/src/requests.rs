//! Requests that contracts answer: tool calls, resource reads, prompts and completions.

use std::{sync::Arc, time::Instant};

use rmcp::{ErrorData, RoleServer, model::*, service::RequestContext};
use serde_json::Value;
use tabellion_runtime::{
    ArgumentSpec, CallContext, CallOrigin, Connection, Contract, ContractSpec, Rejection,
};
use tracing::Instrument;

use super::{
    caller, client_info,
    exact_error::ExactError,
    internal_error::RequestId,
    recording::{self, Asked},
    render, request_origin,
    shared::{Era, Shared},
    waiting::{self, ProgressReports},
};
use crate::access::Access;

/// Calls a tool.
pub(super) async fn call(
    shared: &Shared,
    connection: &Arc<Connection>,
    era: Era,
    params: CallToolRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let Some(route) = shared.catalog.called(&params.name, &cx.extensions) else {
        return Err(if shared.catalog.withholds(&params.name) {
            render::withheld_tool(&params.name)
        } else {
            render::unknown_tool(&params.name)
        });
    };
    let arguments = params.arguments.unwrap_or_default();
    // Arguments that choose no operation are the runtime's to refuse.
    let (contract, tool) = (
        &route.contract,
        route.spec.operation_of(&arguments).unwrap_or(route.spec),
    );
    if shared.catalog.withholds(tool.label()) {
        return Err(render::withheld_tool(tool.label()));
    }
    request_origin::allow(
        &cx.extensions,
        contract.spec(),
        Access::of(route.spec, Some(&arguments)),
    )?;
    let arguments = Value::Object(arguments);
    let approvals = &shared.approvals;
    let approval_arguments = approvals.are_needed_for(tool).then(|| arguments.clone());
    let approver = approval_arguments.as_ref().map(|arguments| match era {
        Era::Session => approvals.in_session(tool, cx),
        Era::Stateless => {
            approvals.with_call(tool, cx, arguments, params.request_state, params.input_responses)
        }
    });
    let id = RequestId::next();
    let outcome = async {
        let (mut call, reports) = context(shared, contract.spec(), cx)?;
        call.approver = approver;
        call.origin = CallOrigin {
            connection: Some(connection.clone()),
            environment: shared.environment.get().cloned(),
            ..request_origin::of(&cx.extensions, &cx.meta)
        };
        let asked = Asked {
            tool,
            arguments: &arguments,
            era,
            origin: cx.extensions.get(),
        };
        let (recorded, call) = recording::begin(shared, &**contract, connection, &asked, call).await?;
        let answer = contract.call(&call, tool.name, arguments).instrument(id.span());
        let outcome = reports.until(tool.name, answer).await;
        match recorded {
            Some(recorded) => recorded.end(&**contract, &call, outcome).await,
            None => outcome,
        }
    };
    let begun = Instant::now();
    let outcome = outcome.await;
    shared.calls.count(tool.label(), &outcome, begun.elapsed());
    if let (Err(Rejection::InputRequired(proposal)), Some(arguments)) = (&outcome, &approval_arguments) {
        let mut question = approvals.question(tool, cx, arguments, proposal);
        shared.sign(era, &mut question.meta);
        return Ok(question.into());
    }
    let result = render::outcome(contract.spec(), tool.name, outcome);
    let mut result = result.map_err(|error| ExactError::store(cx, id.mark(tool.label(), error)))?;
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
    let route = shared.catalog.resource(uri);
    let route = route.ok_or_else(|| render::unknown_resource(uri))?;
    let (contract, resource) = (route.contract, route.spec);
    request_origin::allow(&cx.extensions, contract.spec(), Access::Read)?;
    let id = RequestId::next();
    let answer = async {
        let (call, reports) = context(shared, contract.spec(), cx)?;
        let answer = match route.variables {
            None => contract.read_resource(&call, resource.name),
            Some(variables) => contract.read_instance(&call, resource.name, variables),
        };
        let answer = answer.instrument(id.span());
        reports.until(resource.name, answer).await
    };
    let answer = answer
        .await
        .map_err(|rejection| rejected(contract.spec(), rejection, (id, resource.name), cx))?;
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
    let route = shared.catalog.prompts.route(&params.name);
    let route = route.ok_or_else(|| render::unknown("prompt", &params.name))?;
    let (contract, prompt) = (&route.contract, route.spec);
    request_origin::allow(&cx.extensions, contract.spec(), Access::Read)?;
    let arguments = Value::Object(params.arguments.unwrap_or_default());
    let id = RequestId::next();
    let text = async {
        let (call, reports) = context(shared, contract.spec(), cx)?;
        let text = contract
            .get_prompt(&call, prompt.name, arguments)
            .instrument(id.span());
        reports.until(prompt.name, text).await
    };
    let text = text
        .await
        .map_err(|rejection| rejected(contract.spec(), rejection, (id, prompt.name), cx))?;
    let message = PromptMessage::new_text(Role::User, text);
    let mut result = GetPromptResult::new(vec![message]).with_description(prompt.description);
    shared.sign(era, &mut result.meta);
    Ok(result)
}

/// What is completed: an argument of a prompt, or a variable of a template.
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
                let route = shared.catalog.prompts.route(name);
                let route = route.ok_or_else(|| render::unknown("prompt", name))?;
                (
                    &route.contract,
                    route.spec.name,
                    route.spec.argument(argument),
                    true,
                )
            }
            Reference::Resource(ResourceTemplateReference { uri, .. }) => {
                let route = shared.catalog.templates.route(uri);
                let route = route.ok_or_else(|| render::unknown("resource template", uri))?;
                (
                    &route.contract,
                    route.spec.resource.name,
                    route.spec.variable(argument),
                    false,
                )
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
    let completed = Completed::find(shared, &params.r#ref, &name)?;
    let Completed {
        contract,
        of,
        is_prompt,
        argument,
    } = completed;
    request_origin::allow(&cx.extensions, contract.spec(), Access::Read)?;
    let id = RequestId::next();
    let values = async {
        if !argument.completes {
            return Ok(vec![]);
        }
        let (call, reports) = context(shared, contract.spec(), cx)?;
        let values = if is_prompt {
            contract.complete(&call, of, argument.name, &value)
        } else {
            contract.complete_variable(&call, of, argument.name, &value)
        };
        let values = values.instrument(id.span());
        reports.until(of, values).await
    };
    let values = values
        .await
        .map_err(|rejection| rejected(contract.spec(), rejection, (id, of), cx))?;
    let mut result = CompleteResult::new(render::completion(values));
    shared.sign(era, &mut result.meta);
    Ok(result)
}

/// Returns the caller and preconditions of a call, and the progress reports to its client.
fn context(
    shared: &Shared,
    contract: &ContractSpec,
    cx: &RequestContext<RoleServer>,
) -> Result<(CallContext, ProgressReports), Rejection> {
    let client = cx
        .client_info()
        .map(client_info::brief)
        .map(|client| format!("{}/{}", client.name, client.version));
    let mut call = CallContext::from_meta(client, &cx.meta)
        .map_err(|violations| render::bad_conditions(contract, &violations))?;
    if let Some(grant) = request_origin::grant(&cx.extensions) {
        call.author = Some(grant.author());
        call.org = grant.org().map(Arc::from);
        call.user = grant.user().map(Arc::from);
    }
    call.caller = caller::of(shared, contract, cx);
    call.identity = match &call.caller {
        Some(caller) => Some(caller.identity.clone()),
        None => caller::identity(shared, cx),
    };
    call.counted_as = request_origin::counted_as(&cx.extensions).cloned();
    let (client, reports) = waiting::client(cx);
    Ok((call.with_caller(client), reports))
}

/// Returns the error for methods whose results can't carry one.
fn rejected(
    contract: &ContractSpec,
    rejection: Rejection,
    (id, what): (RequestId, &str),
    cx: &RequestContext<RoleServer>,
) -> ErrorData {
    ExactError::store(cx, id.mark(what, render::rejection(contract, rejection)))
}
