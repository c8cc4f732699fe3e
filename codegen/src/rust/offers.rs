//! Resources and prompts: their methods in the trait, their types, and the way to them.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use tabellion_runtime::template::placeholders;

use super::text;
use crate::{
    contract::{Contract, Prompt, Resource},
    names,
};

/// The trait's methods.
pub(super) fn signatures(contract: &Contract) -> Vec<TokenStream> {
    let resources = contract.spec.resources.iter().map(of_resource);
    let prompts = contract.spec.prompts.iter().map(of_prompt);
    resources.chain(prompts).collect()
}

fn of_resource(resource: &Resource) -> TokenStream {
    let docs = text::docs(&format!("Resource `{}`: {}", resource.uri, resource.description));
    let [read, version] = names::resource_methods(&resource.name).map(|name| ident(&name));
    let response = ident(&names::resource(&resource.name));
    quote! {
        #docs
        fn #read(&self, cx: &ReadCx<'_>) -> impl Future<Output = Result<#response, ToolError>> + Send;

        /// A text that is another one once that resource reads otherwise. Cheap: it is asked for often.
        fn #version(&self, cx: &ReadCx<'_>) -> impl Future<Output = Result<String, ToolError>> + Send;
    }
}

fn of_prompt(prompt: &Prompt) -> TokenStream {
    let docs = text::docs(&format!(
        "Prompt: {}\n\nAnswers with the values for the placeholders; the text is put together from them.",
        prompt.description
    ));
    let method = ident(&names::prompt_method(&prompt.name));
    let [arguments, values] = names::prompt(&prompt.name).map(|name| ident(&name));
    let completions = completing(prompt).map(|argument| {
        let docs = text::docs(&format!(
            "Values for argument `{argument}` of prompt `{}` that `value` may be the beginning of, best first.",
            prompt.name
        ));
        let method = ident(&names::completion_method(&prompt.name, argument));
        quote! {
            #docs
            fn #method(
                &self,
                cx: &ReadCx<'_>,
                value: &str,
            ) -> impl Future<Output = Result<Vec<String>, ToolError>> + Send;
        }
    });
    quote! {
        #docs
        fn #method(
            &self,
            cx: &ReadCx<'_>,
            arguments: #arguments,
        ) -> impl Future<Output = Result<#values, ToolError>> + Send;
        #(#completions)*
    }
}

/// What clients say to prompts, and what the templates lack.
pub(super) fn types(contract: &Contract) -> Vec<TokenStream> {
    let prompts = contract.spec.prompts.iter();
    prompts
        .flat_map(|prompt| {
            let [arguments, values] = names::prompt(&prompt.name).map(|name| ident(&name));
            let fields = prompt.arguments.iter().map(|argument| {
                let kind = if argument.required {
                    quote!(String)
                } else {
                    quote!(Option<String>)
                };
                let (docs, field) = (text::docs(&argument.description), field(&argument.name, &kind));
                quote!(#docs #field)
            });
            let about = text::docs(&format!("What a client says to prompt `{}`.", prompt.name));
            let arguments = quote! {
                #about
                #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
                #[serde(deny_unknown_fields)]
                pub struct #arguments {
                    #(#fields,)*
                }
            };
            let fields = placeholders(&prompt.template);
            let fields = fields.into_iter().map(|name| field(name, &quote!(String)));
            let about = text::docs(&format!("What the template of prompt `{}` lacks.", prompt.name));
            let values = quote! {
                #about
                #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
                pub struct #values {
                    #(#fields,)*
                }
            };
            [arguments, values]
        })
        .collect()
}

/// A field, with what it is called in JSON where Rust has a word for something else.
fn field(wire: &str, kind: &TokenStream) -> TokenStream {
    let name = names::value_name(wire);
    let rename = (name != wire).then(|| quote!(#[serde(rename = #wire)]));
    let name = ident(&name);
    quote!(#rename pub #name: #kind)
}

/// The methods of `impl Contract` that find a resource, a prompt or an argument by its name.
pub(super) fn dispatch(contract: &Contract) -> Vec<TokenStream> {
    let mut methods = vec![];
    if !contract.spec.resources.is_empty() {
        methods.extend(resources(contract));
    }
    if !contract.spec.prompts.is_empty() {
        methods.push(prompts(contract));
    }
    if contract
        .spec
        .prompts
        .iter()
        .any(|prompt| completing(prompt).next().is_some())
    {
        methods.push(completions(contract));
    }
    methods
}

fn resources(contract: &Contract) -> [TokenStream; 2] {
    let resources = contract.spec.resources.iter().enumerate();
    let (reads, versions): (Vec<_>, Vec<_>) = resources
        .map(|(i, resource)| {
            let (name, i) = (&resource.name, Literal::usize_unsuffixed(i));
            let [read, version] = names::resource_methods(name).map(|name| ident(&name));
            (
                quote! {
                    #name => resources_and_prompts::resource(
                        &RESOURCES[#i], implementation, &**store, call,
                        |service, cx| Box::pin(service.#read(cx)),
                    ).await,
                },
                quote! {
                    #name => resources_and_prompts::version(
                        implementation, &**store, &CallContext::default(),
                        |service, cx| Box::pin(service.#version(cx)),
                    ).await,
                },
            )
        })
        .unzip();
    [
        quote! {
            fn read_resource<'a>(
                &'a self,
                call: &'a CallContext,
                name: &'a str,
            ) -> BoxFuture<'a, Result<Answer, Rejection>> {
                let (implementation, store) = (&self.implementation, &self.store);
                Box::pin(async move {
                    match name {
                        #(#reads)*
                        _ => Err(Rejection::Unknown),
                    }
                })
            }
        },
        quote! {
            fn resource_version<'a>(
                &'a self,
                name: &'a str,
            ) -> BoxFuture<'a, Result<String, Rejection>> {
                let (implementation, store) = (&self.implementation, &self.store);
                Box::pin(async move {
                    match name {
                        #(#versions)*
                        _ => Err(Rejection::Unknown),
                    }
                })
            }
        },
    ]
}

fn prompts(contract: &Contract) -> TokenStream {
    let prompts = contract.spec.prompts.iter().enumerate();
    let arms = prompts.map(|(i, prompt)| {
        let (name, i) = (&prompt.name, Literal::usize_unsuffixed(i));
        let method = ident(&names::prompt_method(name));
        quote! {
            #name => resources_and_prompts::prompt(
                &PROMPTS[#i], implementation, &**store, call, arguments,
                |service, cx, arguments| Box::pin(service.#method(cx, arguments)),
            ).await,
        }
    });
    quote! {
        fn get_prompt<'a>(
            &'a self,
            call: &'a CallContext,
            name: &'a str,
            arguments: Value,
        ) -> BoxFuture<'a, Result<String, Rejection>> {
            let (implementation, store) = (&self.implementation, &self.store);
            Box::pin(async move {
                match name {
                    #(#arms)*
                    _ => Err(Rejection::Unknown),
                }
            })
        }
    }
}

fn completions(contract: &Contract) -> TokenStream {
    let arms = contract.spec.prompts.iter().flat_map(|prompt| {
        completing(prompt).map(|argument| {
            let name = &prompt.name;
            let method = ident(&names::completion_method(name, argument));
            quote! {
                (#name, #argument) => resources_and_prompts::completion(
                    implementation, &**store, call, value,
                    |service, cx, value| Box::pin(service.#method(cx, value)),
                ).await,
            }
        })
    });
    quote! {
        fn complete<'a>(
            &'a self,
            call: &'a CallContext,
            prompt: &'a str,
            argument: &'a str,
            value: &'a str,
        ) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
            let (implementation, store) = (&self.implementation, &self.store);
            Box::pin(async move {
                match (prompt, argument) {
                    #(#arms)*
                    _ => resources_and_prompts::without_values(&CONTRACT, prompt, argument),
                }
            })
        }
    }
}

fn completing(prompt: &Prompt) -> impl Iterator<Item = &str> {
    let arguments = prompt.arguments.iter().filter(|argument| argument.completes);
    arguments.map(|argument| argument.name.as_str())
}

fn ident(name: &str) -> Ident {
    format_ident!("{name}")
}
