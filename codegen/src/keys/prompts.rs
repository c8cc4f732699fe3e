//! `prompts`: texts for a model, made from templates.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use tabellion_runtime::{
    spec::{self, PromptSpec},
    template::placeholders,
};

use super::{Emitted, Key, lookups};
use crate::{
    changes::Changes,
    contract::Contract,
    leak::list,
    names,
    problem::Problem,
    rust::{literal, text},
};

pub(super) struct Prompts;

impl Key for Prompts {
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for (i, prompt) in contract.spec.prompts.iter().enumerate() {
            if !prompt.arguments.is_empty() && placeholders(prompt.template).is_empty() {
                problems.push(contract.document.problem(
                    format!("/prompts/{i}/arguments"),
                    "the template has no placeholder, so the prompt ignores its arguments",
                    "write `{name}` where a value belongs, or remove the arguments",
                ));
            }
            for wrong in misspelt(prompt) {
                problems.push(contract.document.problem(
                    format!("/prompts/{i}/template"),
                    format!("`{wrong}` is no placeholder, so the model gets it as it is"),
                    "write a placeholder as `{name}`, of lower-case letters, digits and `_`, and put a space or a quotation mark after any \
                     other `{`",
                ));
            }
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let prompts = [old, new].map(|of| of.spec.prompts.iter().map(|it| (it.name, it)));
        changes.by_name("prompt", prompts, prompt);
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let prompts = &contract.spec.prompts;
        if prompts.is_empty() {
            return Emitted::default();
        }
        let count = Literal::usize_unsuffixed(prompts.len());
        let specs = prompts.iter().map(literal::expression);
        let mut methods = vec![get(prompts)];
        if prompts.iter().any(|prompt| completing(prompt).next().is_some()) {
            methods.push(complete(prompts));
        }
        Emitted {
            fields: quote!(prompts: &PROMPTS,),
            items: vec![quote! {
                /// The prompts, in the order in which clients see them.
                pub static PROMPTS: [spec::PromptSpec; #count] = [#(#specs),*];
            }],
            types: prompts.iter().flat_map(types).collect(),
            signatures: prompts.iter().map(signature).collect(),
            methods,
            ..Emitted::default()
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.prompts = list(contract.spec.prompts.iter().copied());
    }
}

/// Returns the parts of the template that look like placeholders and are none.
fn misspelt(prompt: &PromptSpec) -> Vec<&str> {
    let known = placeholders(prompt.template);
    let parts = prompt.template.match_indices('{').filter_map(|(open, _)| {
        let part = &prompt.template[open..];
        let end = part[1..].find(['{', '}', '\n']).map_or(part.len(), |end| end + 1);
        let (name, closed) = (&part[1..end], part[end..].starts_with('}'));
        let is_name = closed && known.contains(&name);
        let means_one =
            known.contains(&name.trim()) || prompt.arguments.iter().any(|it| it.name == name.trim());
        let looks_so = name.starts_with(|c: char| c.is_alphabetic() || c == '_') || means_one;
        (looks_so && !is_name).then(|| &part[..end + usize::from(closed)])
    });
    parts.collect()
}

/// Compares arguments: a valid request must stay valid.
fn prompt(changes: &mut Changes<'_>, name: &str, old: &PromptSpec, new: &PromptSpec) {
    let of = |argument: &str| format!("argument `{argument}` of prompt `{name}`");
    for before in old.arguments {
        let Some(after) = new.arguments.iter().find(|after| after.name == before.name) else {
            changes.breaking(format!("{} was removed", of(before.name)));
            continue;
        };
        match (before.required, after.required) {
            (false, true) => changes.breaking(format!("{} is required now", of(before.name))),
            (true, false) => changes.compatible(format!("{} is no longer required", of(before.name))),
            _ => {}
        }
        lookups::compare_completion(
            changes,
            &of(before.name),
            (before.completes, before.description),
            (after.completes, after.description),
        );
    }
    for after in new.arguments {
        if old.arguments.iter().any(|before| before.name == after.name) {
            continue;
        }
        if after.required {
            changes.breaking(format!("{} was added and is required", of(after.name)));
        } else {
            changes.compatible(format!("{} was added", of(after.name)));
        }
    }
    if old.description != new.description {
        changes.compatible(format!("prompt `{name}` changed its description"));
    }
    if old.template != new.template {
        changes.compatible(format!("prompt `{name}` changed its text"));
    }
}

fn signature(prompt: &PromptSpec) -> TokenStream {
    let docs = text::docs(&format!(
        "Prompt: {}\n\nReturns the values of the placeholders; the runtime renders the text.",
        prompt.description
    ));
    let method = text::ident(&names::prompt_method(prompt.name));
    let [arguments, values] = names::prompt(prompt.name).map(|name| text::ident(&name));
    let completions = completing(prompt).map(|argument| {
        let what = format!("argument `{argument}` of prompt `{}`", prompt.name);
        lookups::completion_signature(prompt.name, argument, &what)
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

/// Returns the types of a prompt's arguments and of its template's missing values.
fn types(prompt: &PromptSpec) -> [TokenStream; 2] {
    let [arguments, values] = names::prompt(prompt.name).map(|name| text::ident(&name));
    let fields = prompt.arguments.iter().map(|argument| {
        let kind = if argument.required { quote!(String) } else { quote!(Option<String>) };
        let (docs, field) = (text::docs(argument.description), field(argument.name, &kind));
        quote!(#docs #field)
    });
    let about = text::docs(&format!("The arguments of prompt `{}`.", prompt.name));
    let arguments = quote! {
        #about
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct #arguments {
            #(#fields,)*
        }
    };
    let fields = placeholders(prompt.template);
    let fields = fields.into_iter().map(|name| field(name, &quote!(String)));
    let about = text::docs(&format!("The placeholder values of prompt `{}`.", prompt.name));
    let values = quote! {
        #about
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct #values {
            #(#fields,)*
        }
    };
    [arguments, values]
}

/// Returns a field, with its JSON name if that differs in Rust.
pub(super) fn field(wire: &str, kind: &TokenStream) -> TokenStream {
    let name = names::value_name(wire);
    let rename = (name != wire).then(|| quote!(#[serde(rename = #wire)]));
    let name = text::ident(&name);
    quote!(#rename pub #name: #kind)
}

/// Returns the method of `impl Contract` that finds a prompt by its name.
fn get(prompts: &[PromptSpec]) -> TokenStream {
    let prompts = prompts.iter().enumerate();
    let arms = prompts.map(|(i, prompt)| {
        let (name, i) = (prompt.name, Literal::usize_unsuffixed(i));
        let method = text::ident(&names::prompt_method(name));
        quote! {
            #name => resources_and_prompts::prompt(
                &PROMPTS[#i], implementation, &**store, call, arguments,
                |service, cx, arguments| Box::pin(service.#method(cx, arguments)),
            ).await,
        }
    });
    let signature = quote! {
        fn get_prompt<'a>(
            &'a self,
            call: &'a CallContext,
            name: &'a str,
            arguments: Value,
        ) -> BoxFuture<'a, Result<String, Rejection>>
    };
    let arms: Vec<_> = arms.collect();
    lookups::method(&signature, None, &quote!(name), &arms, &quote!(Err(Rejection::Unknown)))
}

/// Returns the method of `impl Contract` that finds an argument by its name.
fn complete(prompts: &[PromptSpec]) -> TokenStream {
    let arms = prompts
        .iter()
        .flat_map(|prompt| completing(prompt).map(|argument| lookups::completion_arm(prompt.name, argument)));
    let signature = quote! {
        fn complete<'a>(
            &'a self,
            call: &'a CallContext,
            prompt: &'a str,
            argument: &'a str,
            value: &'a str,
        ) -> BoxFuture<'a, Result<Vec<String>, Rejection>>
    };
    let (named, arms) = (quote!((prompt, argument)), arms.collect::<Vec<_>>());
    let otherwise = quote!(resources_and_prompts::without_values(&CONTRACT, prompt, argument));
    lookups::method(&signature, None, &named, &arms, &otherwise)
}

fn completing(prompt: &PromptSpec) -> impl Iterator<Item = &str> {
    let arguments = prompt.arguments.iter().filter(|argument| argument.completes);
    arguments.map(|argument| argument.name)
}
