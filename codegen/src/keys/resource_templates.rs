//! `uriTemplate` and `variables` of resources: families of resources, one for each URI that fits a template.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use tabellion_runtime::{
    spec::{self, ArgumentSpec},
    uri_template::UriTemplate,
};

use super::{Emitted, Key, Resource, lookups, prompts::field, resources};
use crate::{
    changes::Changes,
    contract::Contract,
    leak::list,
    names,
    problem::Problem,
    rust::{literal, text},
};

pub(super) struct ResourceTemplates;

/// Returns the resources with a template, each with its index among all resources.
fn templates(contract: &Contract) -> Vec<(usize, &Resource, &'static str)> {
    let all = contract.spec.resources.iter().enumerate();
    all.filter_map(|(i, resource)| Some((i, resource, resource.uri_template?))).collect()
}

/// Returns true if a URI must have the variable.
fn is_required(template: &str, variable: &ArgumentSpec) -> bool {
    let parsed = UriTemplate::parse(template);
    parsed.is_ok_and(|parsed| parsed.variables().any(|(name, required)| name == variable.name && required))
}

impl Key for ResourceTemplates {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let mut parsed: Vec<(&str, UriTemplate)> = vec![];
        for (i, resource) in contract.spec.resources.iter().enumerate() {
            let (key, text) = match &resource.uri_template {
                Some(template) => ("uriTemplate", *template),
                None => ("uri", resource.uri),
            };
            let at = format!("/resources/{i}/{key}");
            let template = match UriTemplate::parse(text) {
                Ok(template) => template,
                Err(error) if resource.uri_template.is_some() => {
                    let help = "RFC 6570, level 1, and `{?name,name}` at the end";
                    problems.push(contract.document.problem(at, error.to_string(), help));
                    continue;
                }
                // A URI with characters outside of templates' fits none.
                Err(_) => continue,
            };
            variables(contract, i, resource, &template, problems);
            // Two equal URIs are reported elsewhere.
            let overlaps = |(other, of): &&(&str, UriTemplate)| of.overlaps(&template) && *other != text;
            let is_equal = |(other, _): &(&str, UriTemplate)| *other == text;
            let first = parsed.iter().find(overlaps).map(|(other, _)| *other);
            let same = resource.uri_template.is_some().then(|| parsed.iter().find(|of| is_equal(of)));
            if let Some(other) = first.or(same.flatten().map(|(other, _)| *other)) {
                problems.push(contract.document.problem(
                    at,
                    format!("a URI can fit both `{text}` and `{other}`"),
                    "make them differ in text outside of the braces",
                ));
            }
            parsed.push((text, template));
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        for before in &old.spec.resources {
            let after = new.spec.resources.iter().find(|after| after.name == before.name);
            if let Some(after) = after {
                compare(changes, before, after);
            }
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let templates = templates(contract);
        if templates.is_empty() {
            return Emitted::default();
        }
        let count = Literal::usize_unsuffixed(templates.len());
        let specs =
            templates.iter().map(|(i, resource, template)| declaration(contract, *i, resource, template));
        Emitted {
            fields: quote!(templates: &TEMPLATES,),
            items: vec![quote! {
                /// The templates of resources, in the order in which clients see them.
                pub static TEMPLATES: [spec::ResourceTemplateSpec; #count] = [#(#specs),*];
            }],
            types: templates.iter().map(|(_, resource, template)| arguments(resource, template)).collect(),
            signatures: templates
                .iter()
                .map(|(_, resource, template)| signature(resource, template))
                .collect(),
            methods: methods(contract, &templates),
            ..Emitted::default()
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.templates =
            list(templates(contract).into_iter().map(|(i, resource, template)| spec::ResourceTemplateSpec {
                resource: resources::entry(contract, i, template),
                variables: described(resource, template),
            }));
    }
}

/// Checks that exactly the template's variables are described.
fn variables(
    contract: &Contract,
    i: usize,
    resource: &Resource,
    template: &UriTemplate,
    problems: &mut Vec<Problem>,
) {
    if resource.uri_template.is_none() {
        return;
    }
    for (name, _) in template.variables() {
        if !resource.variables.iter().any(|variable| variable.name == name) {
            problems.push(contract.document.problem(
                format!("/resources/{i}/variables"),
                format!("`{name}` of the template is not described"),
                "add it to `variables`",
            ));
        }
    }
    for (j, variable) in resource.variables.iter().enumerate() {
        let mut named = template.variables();
        let is_second = resource.variables[..j].iter().any(|other| other.name == variable.name);
        if is_second || !named.any(|(name, _)| name == variable.name) {
            problems.push(contract.document.problem(
                format!("/resources/{i}/variables/{j}"),
                format!("`{}` is not in the template, or is described twice", variable.name),
                "remove it, or correct its spelling",
            ));
        }
    }
}

/// A URI that fitted must still fit, with the same values.
fn compare(changes: &mut Changes<'_>, old: &Resource, new: &Resource) {
    let name = &old.name;
    match (&old.uri_template, &new.uri_template) {
        (None, None) => return,
        (Some(before), Some(after)) if before == after => {}
        (Some(before), Some(after)) if only_adds_to_query(before, after) => {
            changes.compatible(format!("resource `{name}` takes more in its URI: `{after}`"));
        }
        (before, after) => {
            let [before, after] = [(before, old), (after, new)]
                .map(|(template, resource)| template.as_ref().unwrap_or(&resource.uri));
            changes.breaking(format!("resource `{name}` changed its URI from `{before}` to `{after}`"));
        }
    }
    for before in &old.variables {
        let Some(after) = new.variables.iter().find(|after| after.name == before.name) else {
            continue;
        };
        let words = format!("variable `{}` of resource `{name}`", before.name);
        lookups::compare_completion(
            changes,
            &words,
            (before.completes, before.description),
            (after.completes, after.description),
        );
    }
}

/// Returns true if every URI of the old template fits the new one with the same values.
fn only_adds_to_query(old: &str, new: &str) -> bool {
    let path = |text: &str| text.split("{?").next().map(str::to_owned);
    let [Ok(before), Ok(after)] = [old, new].map(UriTemplate::parse) else {
        return false;
    };
    path(old) == path(new)
        && before.variables().all(|variable| after.variables().any(|other| other == variable))
}

/// Returns the entries of a template's variables in the table.
fn described(resource: &Resource, template: &str) -> &'static [ArgumentSpec] {
    list(
        resource
            .variables
            .iter()
            .map(|variable| ArgumentSpec { required: is_required(template, variable), ..*variable }),
    )
}

fn declaration(contract: &Contract, i: usize, resource: &Resource, template: &'static str) -> TokenStream {
    let declared = resources::declaration(contract, i, template);
    let variables = literal::expression(&described(resource, template));
    quote!(spec::ResourceTemplateSpec { resource: #declared, variables: #variables })
}

/// Returns the type of the variables of a URI.
fn arguments(resource: &Resource, template: &str) -> TokenStream {
    let name = text::ident(&names::variables(resource.name));
    let docs = text::docs(&format!("The variables of `{template}`."));
    let fields = resource.variables.iter().map(|variable| {
        let kind = if is_required(template, variable) { quote!(String) } else { quote!(Option<String>) };
        let (docs, field) = (text::docs(variable.description), field(variable.name, &kind));
        quote!(#docs #field)
    });
    quote! {
        #docs
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct #name {
            #(#fields,)*
        }
    }
}

fn signature(resource: &Resource, template: &str) -> TokenStream {
    let docs = text::docs(&format!("Resources `{template}`: {}", resource.description));
    let [read, version] = names::resource_methods(resource.name).map(|name| text::ident(&name));
    let response = text::ident(&names::resource(resource.name));
    let variables = text::ident(&names::variables(resource.name));
    let completions = resource.variables.iter().filter(|variable| variable.completes).map(|variable| {
        let what = format!("`{}` of `{template}`", variable.name);
        lookups::completion_signature(resource.name, variable.name, &what)
    });
    quote! {
        #docs
        fn #read(
            &self,
            cx: &ReadCx<'_>,
            variables: #variables,
        ) -> impl Future<Output = Result<#response, ToolError>> + Send;

        /// Returns a version tag, which changes whenever the resource's content does. Cheap: it is asked for often.
        fn #version(
            &self,
            cx: &ReadCx<'_>,
            variables: #variables,
        ) -> impl Future<Output = Result<String, ToolError>> + Send;
        #(#completions)*
    }
}

/// Returns the methods of `impl Contract` that find a template by its name.
fn methods(contract: &Contract, templates: &[(usize, &Resource, &str)]) -> Vec<TokenStream> {
    let check =
        contract.spec.auth.as_ref().map(
            |_| quote!(tabellion_runtime::auth::check_resource::<ToolError>(&CONTRACT, template, call)?;),
        );
    let (reads, versions): (Vec<_>, Vec<_>) = templates
        .iter()
        .enumerate()
        .map(|(i, (_, resource, _))| {
            let (name, i) = (&resource.name, Literal::usize_unsuffixed(i));
            let [read, version] = names::resource_methods(name).map(|name| text::ident(&name));
            (
                quote! {
                    #name => resources_and_prompts::instance(
                        &TEMPLATES[#i], implementation, &**store, call, variables,
                        |service, cx, variables| Box::pin(service.#read(cx, variables)),
                    ).await,
                },
                quote! {
                    #name => resources_and_prompts::instance_version(
                        &TEMPLATES[#i], implementation, &**store, variables,
                        |service, cx, variables| Box::pin(service.#version(cx, variables)),
                    ).await,
                },
            )
        })
        .unzip();
    let unknown = quote!(Err(Rejection::Unknown));
    let read = quote! {
        fn read_instance<'a>(
            &'a self,
            call: &'a CallContext,
            template: &'a str,
            variables: Value,
        ) -> BoxFuture<'a, Result<Answer, Rejection>>
    };
    let version = quote! {
        fn instance_version<'a>(
            &'a self,
            template: &'a str,
            variables: Value,
        ) -> BoxFuture<'a, Result<String, Rejection>>
    };
    let template = quote!(template);
    let mut methods = vec![
        lookups::method(&read, check.as_ref(), &template, &reads, &unknown),
        lookups::method(&version, None, &template, &versions, &unknown),
    ];
    let completions = templates.iter().flat_map(|(_, resource, _)| {
        let completing = resource.variables.iter().filter(|variable| variable.completes);
        completing.map(|variable| lookups::completion_arm(resource.name, variable.name))
    });
    let completions: Vec<_> = completions.collect();
    if !completions.is_empty() {
        let signature = quote! {
            fn complete_variable<'a>(
                &'a self,
                call: &'a CallContext,
                template: &'a str,
                variable: &'a str,
                value: &'a str,
            ) -> BoxFuture<'a, Result<Vec<String>, Rejection>>
        };
        let (named, none) = (quote!((template, variable)), quote!(Ok(vec![])));
        methods.push(lookups::method(&signature, check.as_ref(), &named, &completions, &none));
    }
    methods
}
