//! `resources`: data that a client can read as a whole.

use std::collections::BTreeMap;

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec::{self, ArgumentSpec};

use super::{Emitted, Example, Key, examples::judge, key::NO_SCHEMA, lookups};
use crate::{
    algebra,
    changes::Changes,
    contract::{Authored, Contract},
    leak::{self, list},
    names,
    problem::Problem,
    rust::{literal, schemas, text},
    views,
};

/// Data that a client can read as a whole.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub name: &'static str,
    /// Empty if there is a template instead.
    #[serde(default)]
    pub uri: &'static str,
    pub uri_template: Option<&'static str>,
    #[serde(default)]
    pub variables: Vec<ArgumentSpec>,
    pub title: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
    #[serde(default)]
    pub roles: Vec<&'static str>,
    pub schema: Value,
    #[serde(default)]
    pub examples: Vec<Example>,
}

pub(super) struct Resources;

impl Key for Resources {
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let mut uris = BTreeMap::new();
        for (i, resource) in contract.spec.resources.iter().enumerate() {
            if resource.uri_template.is_none()
                && let Some(first) = uris.insert(&resource.uri, &resource.name)
            {
                problems.push(contract.document.problem(
                    format!("/resources/{i}/uri"),
                    format!("`{}` is also the URI of resource `{first}`", resource.uri),
                    "give each resource a different URI",
                ));
            }
            lint_examples(&contract.resource_schema(i), resource, problems);
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let resources = [old, new].map(|of| of.spec.resources.iter().map(|it| (it.name, it)));
        changes.by_name("resource", resources, resource);
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let resources = fixed(contract);
        if resources.is_empty() {
            return Emitted::default();
        }
        let count = Literal::usize_unsuffixed(resources.len());
        let specs = resources.iter().map(|(i, resource)| declaration(contract, *i, resource.uri));
        Emitted {
            fields: quote!(resources: &RESOURCES,),
            items: vec![quote! {
                /// The resources, in the order in which clients see them.
                pub static RESOURCES: [spec::ResourceSpec; #count] = [#(#specs),*];
            }],
            signatures: resources.iter().map(|(_, resource)| signature(resource)).collect(),
            methods: methods(contract).into(),
            ..Emitted::default()
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        let resources = fixed(contract).into_iter();
        table.resources = list(resources.map(|(i, resource)| entry(contract, i, resource.uri)));
    }
}

/// Returns the resources without a template, each with its index among all resources.
fn fixed(contract: &Contract) -> Vec<(usize, &Resource)> {
    let all = contract.spec.resources.iter().enumerate();
    all.filter(|(_, resource)| resource.uri_template.is_none()).collect()
}

/// Compares resources: all contents must have been possible before.
fn resource(changes: &mut Changes<'_>, name: &str, old: &Resource, new: &Resource) {
    if old.uri != new.uri && old.uri_template.is_none() && new.uri_template.is_none() {
        changes.breaking(format!("resource `{name}` changed its URI from `{}` to `{}`", old.uri, new.uri));
    }
    if old.mime_type != new.mime_type {
        changes.breaking(format!("resource `{name}` changed its media type"));
    }
    if (&old.title, &old.description) != (&new.title, &new.description) {
        changes.compatible(format!("resource `{name}` changed its description"));
    }
    let [before, after] = [old, new].map(|resource| views::enforced(&resource.schema));
    if before == after {
        return;
    }
    match (algebra::covers(&before, &after), algebra::covers(&after, &before)) {
        (Some(true), Some(true)) => {}
        (Some(true), _) => changes.compatible(format!("resource `{name}` has fewer possible contents")),
        (Some(false), _) => {
            changes.breaking(format!("resource `{name}` can have contents that were impossible before"))
        }
        (None, _) => changes.breaking(format!(
            "it can't be proved that resource `{name}` has no contents that were impossible before"
        )),
    }
}

/// Returns the entry of a resource, or of a family of resources, in the table.
pub(super) fn entry(contract: &Contract, i: usize, uri: &'static str) -> spec::ResourceSpec {
    let schema = leak::schema(&contract.resource_schema(i));
    spec::ResourceSpec { schema, ..without_schema(&contract.spec.resources[i], uri) }
}

/// Returns the Rust of the [`entry`] of a resource, which refers to the schema's static.
pub(super) fn declaration(contract: &Contract, i: usize, uri: &'static str) -> TokenStream {
    let schema = schemas::name(&contract.resource_schema(i));
    let entry = without_schema(&contract.spec.resources[i], uri);
    literal::with_fields(&entry, &[("schema", quote!(&schema::#schema))])
}

fn without_schema(resource: &Resource, uri: &'static str) -> spec::ResourceSpec {
    let Resource { name, title, description, mime_type, .. } = *resource;
    spec::ResourceSpec { name, uri, title, description, mime_type, schema: &NO_SCHEMA }
}

fn signature(resource: &Resource) -> TokenStream {
    let docs = text::docs(&format!("Resource `{}`: {}", resource.uri, resource.description));
    let [read, version] = names::resource_methods(resource.name).map(|name| text::ident(&name));
    let response = text::ident(&names::resource(resource.name));
    quote! {
        #docs
        fn #read(&self, cx: &ReadCx<'_>) -> impl Future<Output = Result<#response, ToolError>> + Send;

        /// Returns a version tag, which changes whenever the resource's content does. Cheap: it is asked for often.
        fn #version(&self, cx: &ReadCx<'_>) -> impl Future<Output = Result<String, ToolError>> + Send;
    }
}

/// Returns the methods of `impl Contract` that find a resource by its name.
fn methods(contract: &Contract) -> [TokenStream; 2] {
    let check = contract
        .spec
        .auth
        .as_ref()
        .map(|_| quote!(tabellion_runtime::auth::check_resource::<ToolError>(&CONTRACT, name, call)?;));
    let resources = fixed(contract).into_iter().map(|(_, resource)| resource).enumerate();
    let (reads, versions): (Vec<_>, Vec<_>) = resources
        .map(|(i, resource)| {
            let (name, i) = (&resource.name, Literal::usize_unsuffixed(i));
            let [read, version] = names::resource_methods(name).map(|name| text::ident(&name));
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
    let read = quote! {
        fn read_resource<'a>(
            &'a self,
            call: &'a CallContext,
            name: &'a str,
        ) -> BoxFuture<'a, Result<Answer, Rejection>>
    };
    let version = quote! {
        fn resource_version<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, Rejection>>
    };
    let (name, unknown) = (quote!(name), quote!(Err(Rejection::Unknown)));
    [
        lookups::method(&read, check.as_ref(), &name, &reads, &unknown),
        lookups::method(&version, None, &name, &versions, &unknown),
    ]
}

/// Checks the examples of one resource.
fn lint_examples(authored: &Authored<'_>, resource: &Resource, problems: &mut Vec<Problem>) {
    let at = authored.at.trim_end_matches("/schema");
    let examples = resource.examples.iter().enumerate();
    let examples = examples
        .filter_map(|(i, example)| Some((format!("{at}/examples/{i}"), example, example.output.as_ref()?)));
    judge(authored, "output", examples, problems);
}
