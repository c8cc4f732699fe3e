//! The lists for clients, and the corresponding capabilities. Built once, at start-up.

use std::sync::Arc;

use rmcp::model::{
    JsonObject, MetaObject, Prompt, PromptArgument, Resource, ResourceTemplate, ServerCapabilities, Tool,
    ToolAnnotations,
};
use serde_json::Value;
use tabellion_gateway::{Catalog, rules};
use tabellion_runtime::{
    ContractSpec, PromptSpec, ResourceSpec, Schema, ToolSpec, spec::ResourceTemplateSpec,
};

/// All offered tools, resources, templates and prompts, in the contracts' order.
pub(super) struct Lists {
    pub(super) tools: Vec<Tool>,
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<ResourceTemplate>,
    pub(super) prompts: Vec<Prompt>,
}

impl Lists {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let tools = catalog.tools.iter();
        Self {
            tools: tools.map(|route| listed_tool(route.contract.spec(), route.spec)).collect(),
            resources: catalog.resources.iter().map(|route| listed_resource(route.spec)).collect(),
            templates: catalog.templates.iter().map(|route| listed_template(route.spec)).collect(),
            prompts: catalog.prompts.iter().map(|route| listed_prompt(route.spec)).collect(),
        }
    }
}

/// Returns the capabilities that the contracts need.
pub(super) fn capabilities(catalog: &Catalog) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::default();
    if !catalog.tools.is_empty() {
        capabilities.tools = Some(Default::default());
    }
    if catalog.has_resources() {
        let resources = capabilities.resources.insert(Default::default());
        resources.subscribe = Some(true);
    }
    if !catalog.prompts.is_empty() {
        capabilities.prompts = Some(Default::default());
    }
    if catalog.completes() {
        capabilities.completions = Some(Default::default());
    }
    capabilities
}

fn listed_tool(contract: &ContractSpec, spec: &'static ToolSpec) -> Tool {
    let hints = spec.annotations;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    let tool = Tool::new(spec.name, spec.description, object(&spec.input))
        .with_raw_output_schema(object(&spec.output))
        .with_annotations(annotations);
    match rules(contract, spec) {
        None => tool,
        Some(rules) => tool.with_meta(MetaObject(rules)),
    }
}

fn listed_resource(spec: &ResourceSpec) -> Resource {
    Resource::new(spec.uri, spec.name)
        .with_title(spec.title)
        .with_description(spec.description)
        .with_mime_type(spec.mime_type)
}

fn listed_template(spec: &ResourceTemplateSpec) -> ResourceTemplate {
    let resource = &spec.resource;
    ResourceTemplate::new(resource.uri, resource.name)
        .with_title(resource.title)
        .with_description(resource.description)
        .with_mime_type(resource.mime_type)
}

fn listed_prompt(spec: &PromptSpec) -> Prompt {
    let arguments = spec.arguments.iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    let arguments: Vec<_> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    Prompt::new(spec.name, Some(spec.description), arguments)
}

fn object(schema: &Schema) -> Arc<JsonObject> {
    match schema.wire() {
        Value::Object(schema) => Arc::new(schema),
        other => unreachable!("schemas of tools are objects: {other}"),
    }
}
