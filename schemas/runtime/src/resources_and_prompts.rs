//! Dispatch of resources, prompts and completions to the trait's methods. None of them changes anything.
//!
//! A prompt's text is rendered here, not by the implementation, so that it equals the template byte for byte.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answer::{Answer, Rejection},
    call::{Notes, ReadCx},
    context::CallContext,
    failure::{ContractError, Failure},
    future::BoxFuture,
    ground::{Documents, Ground, State},
    pointer,
    schema::Violation,
    spec::{ContractSpec, PromptSpec, ResourceSpec, ResourceTemplateSpec},
    store::{self, Store},
    template,
};

/// A method without arguments on an implementation `S`, its future boxed.
pub type ResourceMethod<S, Response, Error, G = Documents> =
    for<'c> fn(&'c S, &'c ReadCx<'c, G>) -> BoxFuture<'c, Result<Response, Error>>;

/// A method on an implementation `S` from a client's texts to the requested values: from the arguments of a prompt to its template's
/// values, or from the variables of a URI to the resource.
pub type PromptMethod<S, Arguments, Values, Error, G = Documents> =
    for<'c> fn(&'c S, &'c ReadCx<'c, G>, Arguments) -> BoxFuture<'c, Result<Values, Error>>;

/// A completion's method on an implementation `S`: from a prefix to values, best first.
pub type CompletionMethod<S, Error, G = Documents> =
    for<'c> fn(&'c S, &'c ReadCx<'c, G>, &'c str) -> BoxFuture<'c, Result<Vec<String>, Error>>;

/// Returns one state for all reads of a method.
async fn snapshot<Error: ContractError, G: Ground>(
    store: &dyn Store<G>,
) -> Result<Option<State<'_, G>>, Rejection> {
    let snapshot = store.snapshot().await;
    snapshot.map_err(|failure| declared(Error::from(failure)))
}

/// Calls a resource's method.
///
/// # Errors
/// See [`Rejection`].
pub async fn resource<S, Response, Error, G>(
    resource: &'static ResourceSpec,
    service: &S,
    store: &dyn Store<G>,
    call: &CallContext,
    method: ResourceMethod<S, Response, Error, G>,
) -> Result<Answer, Rejection>
where
    Response: Serialize,
    Error: ContractError,
    G: Ground,
{
    let (notes, snapshot) = (Notes::default(), snapshot::<Error, G>(store).await?);
    let cx = ReadCx::new(call, store::view(store, &snapshot), &notes);
    let response = method(service, &cx).await.map_err(declared)?;
    answered(resource, response, notes)
}

/// Returns the answer of a resource, if its content is valid.
fn answered(resource: &ResourceSpec, response: impl Serialize, notes: Notes) -> Result<Answer, Rejection> {
    let response = serde_json::to_value(response).map_err(|error| Rejection::breach(resource.name, error))?;
    resource
        .schema
        .check(&response)
        .map_err(|violations| Rejection::breach(resource.name, Failure::violations(&violations)))?;
    Ok(Answer { response, meta: notes.take() })
}

/// Calls the method that returns a resource's version tag.
///
/// # Errors
/// See [`Rejection`].
pub async fn version<S, Error: ContractError, G: Ground>(
    service: &S,
    store: &dyn Store<G>,
    call: &CallContext,
    method: ResourceMethod<S, String, Error, G>,
) -> Result<String, Rejection> {
    let notes = Notes::default();
    let cx = ReadCx::new(call, store.view(), &notes);
    method(service, &cx).await.map_err(declared)
}

/// Calls the method of a template's resources, with the variables of the URI.
///
/// # Errors
/// See [`Rejection`].
pub async fn instance<S, Variables, Response, Error, G>(
    template: &'static ResourceTemplateSpec,
    service: &S,
    store: &dyn Store<G>,
    call: &CallContext,
    variables: Value,
    method: PromptMethod<S, Variables, Response, Error, G>,
) -> Result<Answer, Rejection>
where
    Variables: DeserializeOwned,
    Response: Serialize,
    Error: ContractError,
    G: Ground,
{
    let resource = &template.resource;
    let variables =
        Variables::deserialize(variables).map_err(|error| Rejection::breach(resource.name, error))?;
    let (notes, snapshot) = (Notes::default(), snapshot::<Error, G>(store).await?);
    let cx = ReadCx::new(call, store::view(store, &snapshot), &notes);
    let response = method(service, &cx, variables).await.map_err(declared)?;
    answered(resource, response, notes)
}

/// Calls the method that returns the version tag of a template's resource.
///
/// # Errors
/// See [`Rejection`].
pub async fn instance_version<S, Variables, Error, G>(
    template: &'static ResourceTemplateSpec,
    service: &S,
    store: &dyn Store<G>,
    variables: Value,
    method: PromptMethod<S, Variables, String, Error, G>,
) -> Result<String, Rejection>
where
    Variables: DeserializeOwned,
    Error: ContractError,
    G: Ground,
{
    let variables = Variables::deserialize(variables)
        .map_err(|error| Rejection::breach(template.resource.name, error))?;
    let (call, notes) = (CallContext::default(), Notes::default());
    let cx = ReadCx::new(&call, store.view(), &notes);
    method(service, &cx, variables).await.map_err(declared)
}

/// Calls a prompt's method, and renders the template with its values.
///
/// # Errors
/// See [`Rejection`].
pub async fn prompt<S, Arguments, Values, Error, G>(
    prompt: &'static PromptSpec,
    service: &S,
    store: &dyn Store<G>,
    call: &CallContext,
    arguments: Value,
    method: PromptMethod<S, Arguments, Values, Error, G>,
) -> Result<String, Rejection>
where
    Arguments: DeserializeOwned,
    Values: Serialize,
    Error: ContractError,
    G: Ground,
{
    let violations = violations(prompt, &arguments);
    if !violations.is_empty() {
        return Err(declared(Error::from(Failure::violations(&violations))));
    }
    let arguments =
        Arguments::deserialize(arguments).map_err(|error| Rejection::breach(prompt.name, error))?;
    let (notes, snapshot) = (Notes::default(), snapshot::<Error, G>(store).await?);
    let cx = ReadCx::new(call, store::view(store, &snapshot), &notes);
    let values = method(service, &cx, arguments).await.map_err(declared)?;
    let values = serde_json::to_value(values).map_err(|error| Rejection::breach(prompt.name, error))?;
    template::render(prompt.template, &values)
        .ok_or_else(|| Rejection::breach(prompt.name, "the template has a placeholder without a value"))
}

/// Calls the method that completes an argument of a prompt.
///
/// # Errors
/// See [`Rejection`].
pub async fn completion<S, Error: ContractError, G: Ground>(
    service: &S,
    store: &dyn Store<G>,
    call: &CallContext,
    value: &str,
    method: CompletionMethod<S, Error, G>,
) -> Result<Vec<String>, Rejection> {
    let notes = Notes::default();
    let cx = ReadCx::new(call, store.view(), &notes);
    method(service, &cx, value).await.map_err(declared)
}

/// Returns no values, for an argument without completion.
///
/// # Errors
/// If the contract has no such prompt, or the prompt no such argument.
pub fn without_values(spec: &ContractSpec, prompt: &str, argument: &str) -> Result<Vec<String>, Rejection> {
    let found = spec.prompt(prompt).and_then(|prompt| prompt.argument(argument));
    found.map(|_| vec![]).ok_or(Rejection::Unknown)
}

/// Returns the violations of a prompt's arguments.
fn violations(prompt: &PromptSpec, arguments: &Value) -> Vec<Violation> {
    let said = |rule: &'static str, pointer: String, message: String| Violation {
        rule: rule.into(),
        pointer,
        message,
    };
    let Some(members) = arguments.as_object() else {
        return vec![said("type", String::new(), "arguments are an object".into())];
    };
    let missing = prompt
        .arguments
        .iter()
        .filter(|argument| argument.required && !members.contains_key(argument.name))
        .map(|argument| said("required", String::new(), format!("`{}` is missing", argument.name)));
    let wrong = members.iter().filter_map(|(name, value)| {
        let pointer = pointer::push("", name);
        if prompt.argument(name).is_none() {
            let message = format!("`{}` is not known here", name.escape_debug());
            Some(said("additionalProperties", pointer, message))
        } else if value.is_string() {
            None
        } else {
            Some(said("type", pointer, "must be a string".into()))
        }
    });
    missing.chain(wrong).collect()
}

fn declared(error: impl ContractError) -> Rejection {
    Rejection::Declared(error.answer())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::ArgumentSpec;

    #[test]
    fn a_prompt_takes_its_arguments_and_no_others_as_texts() {
        const fn argument(name: &'static str, required: bool) -> ArgumentSpec {
            ArgumentSpec { name, description: "", required, completes: false }
        }
        const PROMPT: PromptSpec = PromptSpec {
            name: "tidy",
            description: "",
            arguments: &[argument("name", true), argument("style", false)],
            template: "",
        };
        for (arguments, expected) in [
            (json!({ "name": "a" }), &[][..]),
            (json!({ "name": "a", "style": "b" }), &[]),
            (json!({ "style": "b" }), &[("required", "")]),
            (json!({ "name": 1 }), &[("type", "/name")]),
            (json!({ "name": "a", "style": null }), &[("type", "/style")]),
            (json!({ "name": "a", "a/b": "c" }), &[("additionalProperties", "/a~1b")]),
            (json!({ "other": 1 }), &[("required", ""), ("additionalProperties", "/other")]),
            (json!([]), &[("type", "")]),
        ] {
            let found = violations(&PROMPT, &arguments);
            let found: Vec<_> = found.iter().map(|it| (&*it.rule, &*it.pointer)).collect();
            assert_eq!(found, expected, "{arguments}");
        }
    }
}
