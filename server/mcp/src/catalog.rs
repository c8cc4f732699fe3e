//! What there is: the lists that clients see, and the contract behind each name. Made once, at start-up.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::Arc,
};

use rmcp::model::{JsonObject, Prompt, PromptArgument, Resource, ServerCapabilities, Tool, ToolAnnotations};
use tabellion_runtime::{Contract, PromptSpec, ResourceSpec, Schema, ToolSpec};

/// Two contracts have something of the same name, so that a request could mean either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} `{name}` is in contract `{first}` {}; serve only one of them",
    other(first, second)
)]
pub struct NameClash {
    /// What it is.
    pub kind: Kind,
    /// Its name; of a resource, the URI.
    pub name: &'static str,
    /// Id of the contract that was given first.
    pub first: &'static str,
    /// Id of the other one.
    pub second: &'static str,
}

/// How a message goes on after the first contract.
fn other(first: &str, second: &str) -> String {
    if first == second {
        "which is given twice".into()
    } else {
        format!("and in contract `{second}`")
    }
}

/// What a contract can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something to call.
    Tool,
    /// Something to read.
    Resource,
    /// A text for a model.
    Prompt,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
        })
    }
}

/// Which of the contracts' tools there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offer {
    /// All.
    #[default]
    Everything,
    /// Those that change nothing.
    ReadOnly,
}

impl Offer {
    fn has(self, tool: &ToolSpec) -> bool {
        self == Self::Everything || !tool.mutating
    }
}

/// All that is offered of what all contracts have.
#[derive(Default)]
pub(super) struct Catalog {
    pub(super) tools: Shelf<Tool, ToolSpec>,
    pub(super) resources: Shelf<Resource, ResourceSpec>,
    pub(super) prompts: Shelf<Prompt, PromptSpec>,
}

/// Everything of one kind.
pub(super) struct Shelf<Listed, Spec: 'static> {
    listed: Vec<Listed>,
    routes: HashMap<&'static str, Route<Spec>>,
}

/// Where requests for one thing go.
pub(super) struct Route<Spec: 'static> {
    pub(super) contract: Arc<dyn Contract>,
    pub(super) spec: &'static Spec,
}

impl Catalog {
    pub(super) fn new(contracts: Vec<Arc<dyn Contract>>, offer: Offer) -> Result<Self, NameClash> {
        let mut catalog = Self::default();
        for contract in &contracts {
            let spec = contract.spec();
            for tool in spec.tools.iter().filter(|tool| offer.has(tool)) {
                let place = (Kind::Tool, tool.name);
                catalog.tools.put(place, contract, tool, listed_tool(tool))?;
            }
            for resource in spec.resources {
                let place = (Kind::Resource, resource.uri);
                catalog
                    .resources
                    .put(place, contract, resource, listed_resource(resource))?;
            }
            for prompt in spec.prompts {
                let place = (Kind::Prompt, prompt.name);
                catalog
                    .prompts
                    .put(place, contract, prompt, listed_prompt(prompt))?;
            }
        }
        Ok(catalog)
    }

    /// Exactly what there is.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        if !self.tools.is_empty() {
            capabilities.tools = Some(Default::default());
        }
        if !self.resources.is_empty() {
            let resources = capabilities.resources.insert(Default::default());
            resources.subscribe = Some(true);
        }
        if !self.prompts.is_empty() {
            capabilities.prompts = Some(Default::default());
        }
        if self.completes() {
            capabilities.completions = Some(Default::default());
        }
        capabilities
    }

    /// Whether values of any prompt's argument can be offered.
    pub(super) fn completes(&self) -> bool {
        let mut arguments = self
            .prompts
            .routes
            .values()
            .flat_map(|route| route.spec.arguments);
        arguments.any(|argument| argument.completes)
    }
}

impl<Listed, Spec> Shelf<Listed, Spec> {
    fn put(
        &mut self,
        (kind, name): (Kind, &'static str),
        contract: &Arc<dyn Contract>,
        spec: &'static Spec,
        listed: Listed,
    ) -> Result<(), NameClash> {
        match self.routes.entry(name) {
            Entry::Occupied(other) => Err(NameClash {
                kind,
                name,
                first: other.get().contract.spec().id,
                second: contract.spec().id,
            }),
            Entry::Vacant(place) => {
                place.insert(Route {
                    contract: contract.clone(),
                    spec,
                });
                self.listed.push(listed);
                Ok(())
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// All of it as clients see it, in the contracts' order.
    pub(super) fn listed(&self) -> &[Listed] {
        &self.listed
    }

    pub(super) fn route(&self, name: &str) -> Option<&Route<Spec>> {
        self.routes.get(name)
    }
}

impl<Listed, Spec> Default for Shelf<Listed, Spec> {
    fn default() -> Self {
        Self {
            listed: vec![],
            routes: HashMap::new(),
        }
    }
}

fn listed_tool(spec: &ToolSpec) -> Tool {
    let hints = spec.annotations;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Tool::new(spec.name, spec.description, object(spec.input))
        .with_raw_output_schema(object(spec.output))
        .with_annotations(annotations)
}

fn listed_resource(spec: &ResourceSpec) -> Resource {
    Resource::new(spec.uri, spec.name)
        .with_title(spec.title)
        .with_description(spec.description)
        .with_mime_type(spec.mime_type)
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

fn object(shape: &Schema) -> Arc<JsonObject> {
    Arc::new(serde_json::from_str(shape.wire).expect("generated schemas are JSON objects"))
}
