//! A contract as a server sees it: its declaration, and the calls that it accepts.

use serde_json::Value;

use crate::{
    answer::{Answer, Rejection},
    context::CallContext,
    failure::{ErrorAnswer, Failure},
    future::BoxFuture,
    resources_and_prompts,
    spec::ContractSpec,
};

/// The code of JSON-RPC.
const INTERNAL_ERROR: i32 = -32603;

/// A contract with an implementation. Generated code implements it as `Service`.
pub trait Contract: Send + Sync {
    /// Returns the contract's declaration.
    fn spec(&self) -> &'static ContractSpec;

    /// Calls a tool.
    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>>;

    /// Returns the contract's error for a failure that ends a call before its method. Contracts with `executions` have one for every kind.
    fn error_for(&self, failure: Failure) -> ErrorAnswer {
        let Failure { message, data, .. } = failure;
        ErrorAnswer { name: "INTERNAL_ERROR", code: INTERNAL_ERROR, message, data }
    }

    /// Reads a resource.
    fn read_resource<'a>(
        &'a self,
        call: &'a CallContext,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        let _ = (call, name);
        Box::pin(async { Err(Rejection::Unknown) })
    }

    /// Returns a version tag, which changes whenever the resource's content does. Cheap: it is called often.
    fn resource_version<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, Rejection>> {
        let _ = name;
        Box::pin(async { Err(Rejection::Unknown) })
    }

    /// Reads a resource of a template. `variables` are those of its URI.
    fn read_instance<'a>(
        &'a self,
        call: &'a CallContext,
        template: &'a str,
        variables: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        let _ = (call, template, variables);
        Box::pin(async { Err(Rejection::Unknown) })
    }

    /// As [`resource_version`](Self::resource_version), of a resource of a template.
    fn instance_version<'a>(
        &'a self,
        template: &'a str,
        variables: Value,
    ) -> BoxFuture<'a, Result<String, Rejection>> {
        let _ = (template, variables);
        Box::pin(async { Err(Rejection::Unknown) })
    }

    /// Returns values for a variable of a template that begin with `value`, best first; empty if the variable has no completion.
    fn complete_variable<'a>(
        &'a self,
        call: &'a CallContext,
        template: &'a str,
        variable: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
        let _ = (call, template, variable, value);
        Box::pin(async { Ok(vec![]) })
    }

    /// Renders a prompt.
    fn get_prompt<'a>(
        &'a self,
        call: &'a CallContext,
        name: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<String, Rejection>> {
        let _ = (call, name, arguments);
        Box::pin(async { Err(Rejection::Unknown) })
    }

    /// Returns values for an argument of a prompt that begin with `value`, best first; empty if the argument has no completion.
    fn complete<'a>(
        &'a self,
        call: &'a CallContext,
        prompt: &'a str,
        argument: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
        let _ = (call, value);
        Box::pin(async move { resources_and_prompts::without_values(self.spec(), prompt, argument) })
    }
}
