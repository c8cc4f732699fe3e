//! The catalog: the lists that clients see, and the contract behind each name. Built once, at start-up.

use std::{
    collections::{BTreeSet, HashMap, HashSet, hash_map::Entry},
    fmt,
    sync::Arc,
};

use rmcp::model::{
    Extensions, JsonObject, MetaObject, Prompt, PromptArgument, Resource, ResourceTemplate,
    ServerCapabilities, Tool, ToolAnnotations,
};
use serde_json::{Value, json};
use tabellion_runtime::{
    Contract, ContractSpec, PromptSpec, ResourceSpec, Schema, ToolSpec, openapi::SESSION_HEADER,
    spec::ResourceTemplateSpec, uri_template::UriTemplate,
};

use crate::request_origin;

/// Maximum length of a resource's URI, in bytes: a path of the system's limit, with each byte escaped, is shorter.
const MAX_URI_BYTES: usize = 16 << 10;

/// Two contracts have a tool, resource or prompt of the same name, which makes requests ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} `{name}` is in contract `{first}` {}; serve only one of them",
    other(first, second)
)]
pub struct NameClash {
    /// Kind of what has the name.
    pub kind: Kind,
    /// The common name; the URI of a resource.
    pub name: &'static str,
    /// Id of the first contract.
    pub first: &'static str,
    /// Id of the second contract.
    pub second: &'static str,
}

/// Returns the message's part about the second contract.
fn other(first: &str, second: &str) -> String {
    if first == second {
        "which is given twice".into()
    } else {
        format!("and in contract `{second}`")
    }
}

/// A kind of what contracts offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A tool.
    Tool,
    /// A resource.
    Resource,
    /// A prompt.
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

/// Which of the contracts' tools are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offer {
    /// All tools.
    #[default]
    Everything,
    /// Tools that change nothing, and of others the operations that do not.
    ReadOnly,
}

impl Offer {
    fn has(self, tool: &'static ToolSpec) -> bool {
        self == Self::Everything || tool.operations().iter().any(|operation| !operation.mutating)
    }
}

/// Everything that is offered, by kind.
#[derive(Default)]
pub(super) struct Catalog {
    pub(super) tools: CatalogSection<Tool, ToolSpec>,
    pub(super) resources: CatalogSection<Resource, ResourceSpec>,
    pub(super) templates: CatalogSection<ResourceTemplate, ResourceTemplateSpec>,
    pub(super) prompts: CatalogSection<Prompt, PromptSpec>,
    /// What endpoints of REST call beside the tools.
    calls: HashMap<&'static str, Route<ToolSpec>>,
    /// The templates as they are matched, in the contracts' order.
    patterns: Vec<(&'static str, UriTemplate)>,
    /// Labels of the contracts' tools and operations that are not offered.
    withheld: HashSet<&'static str>,
    /// The declarations of the contracts.
    contracts: Vec<&'static ContractSpec>,
    /// The contracts.
    services: Vec<Arc<dyn Contract>>,
    /// Names of the HTTP headers that a contract reads.
    headers: BTreeSet<&'static str>,
}

/// Everything of one kind.
pub(super) struct CatalogSection<Listed, Spec: 'static> {
    listed: Vec<Listed>,
    routes: HashMap<&'static str, Route<Spec>>,
}

/// The contract and declaration behind a name.
pub(super) struct Route<Spec: 'static> {
    pub(super) contract: Arc<dyn Contract>,
    pub(super) spec: &'static Spec,
}

/// A resource that a client names by its URI.
pub(super) struct FoundResource<'a> {
    pub(super) contract: &'a Arc<dyn Contract>,
    /// What it is; of a template, what all of its resources are.
    pub(super) spec: &'static ResourceSpec,
    /// The variables of its URI, if it has a template.
    pub(super) variables: Option<Value>,
}

impl Catalog {
    pub(super) fn new(contracts: Vec<Arc<dyn Contract>>, offer: Offer) -> Result<Self, NameClash> {
        let mut catalog = Self::default();
        for contract in &contracts {
            let spec = contract.spec();
            catalog.contracts.push(spec);
            catalog.services.push(contract.clone());
            catalog.headers.extend(headers_of(spec));
            for tool in spec.tools {
                if !offer.has(tool) {
                    catalog.withheld.insert(tool.name);
                    continue;
                }
                let withheld = tool.operations().iter().filter(|operation| !offer.has(operation));
                catalog
                    .withheld
                    .extend(withheld.map(|operation| operation.label()));
                let place = (Kind::Tool, tool.name);
                catalog
                    .tools
                    .put(place, contract, tool, listed_tool(spec, tool))?;
            }
            for call in spec.calls.iter().filter(|call| offer.has(call)) {
                // Only the first of several contracts is served over REST.
                catalog.calls.entry(call.name).or_insert_with(|| Route {
                    contract: contract.clone(),
                    spec: call,
                });
            }
            for resource in spec.resources {
                let place = (Kind::Resource, resource.uri);
                catalog
                    .resources
                    .put(place, contract, resource, listed_resource(resource))?;
            }
            for template in spec.templates {
                let place = (Kind::Resource, template.resource.uri);
                catalog
                    .templates
                    .put(place, contract, template, listed_template(template))?;
                if let Ok(pattern) = UriTemplate::parse(template.resource.uri) {
                    catalog.patterns.push((template.resource.uri, pattern));
                }
            }
            for prompt in spec.prompts {
                let place = (Kind::Prompt, prompt.name);
                catalog
                    .prompts
                    .put(place, contract, prompt, listed_prompt(prompt))?;
            }
        }
        catalog.check_patterns()?;
        Ok(catalog)
    }

    /// Checks that no URI fits resources of two contracts. Within one, codegen has checked it.
    fn check_patterns(&self) -> Result<(), NameClash> {
        let fixed = self.resources.routes.iter();
        let fixed = fixed
            .filter_map(|(uri, route)| Some((*uri, UriTemplate::parse(uri).ok()?, route.contract.spec().id)));
        let templates = self.patterns.iter().filter_map(|(uri, pattern)| {
            let route = self.templates.route(uri)?;
            Some((*uri, pattern.clone(), route.contract.spec().id))
        });
        let all: Vec<_> = fixed.chain(templates).collect();
        for (number, (name, pattern, first)) in all.iter().enumerate() {
            let mut others = all[number + 1..].iter();
            if let Some((other, _, second)) = others.find(|(_, other, _)| pattern.overlaps(other)) {
                // A template says more than a URI that fits it.
                let name = if pattern.variables().next().is_some() {
                    *name
                } else {
                    *other
                };
                let (kind, first, second) = (Kind::Resource, *first, *second);
                return Err(NameClash {
                    kind,
                    name,
                    first,
                    second,
                });
            }
        }
        Ok(())
    }

    /// Returns the resource with this URI.
    pub(super) fn resource(&self, uri: &str) -> Option<FoundResource<'_>> {
        if uri.len() > MAX_URI_BYTES {
            return None;
        }
        if let Some(route) = self.resources.route(uri) {
            return Some(FoundResource {
                contract: &route.contract,
                spec: route.spec,
                variables: None,
            });
        }
        let (template, variables) = self
            .patterns
            .iter()
            .find_map(|(template, pattern)| Some((template, pattern.values(uri)?)))?;
        let route = self.templates.route(template)?;
        Some(FoundResource {
            contract: &route.contract,
            spec: &route.spec.resource,
            variables: Some(variables.into()),
        })
    }

    /// Returns the tool that a request calls; of a request over REST, also what its endpoint calls.
    pub(super) fn called(&self, name: &str, request: &Extensions) -> Option<&Route<ToolSpec>> {
        let call = || self.calls.get(name).filter(|_| request_origin::is_rest(request));
        self.tools.route(name).or_else(call)
    }

    /// Returns true if clients are offered this tool, or what an endpoint of REST calls.
    pub(super) fn offers(&self, name: &str) -> bool {
        self.tools.route(name).is_some() || self.calls.contains_key(name)
    }

    /// Returns true if a contract has resources.
    pub(super) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    /// Returns true if a contract has this tool, but it is not offered because it changes something.
    pub(super) fn withholds(&self, tool: &str) -> bool {
        self.withheld.contains(tool)
    }

    /// Returns the declarations of the contracts, in their order.
    pub(super) fn contracts(&self) -> &[&'static ContractSpec] {
        &self.contracts
    }

    /// Returns the tools of a contract that are offered, as they are listed over REST.
    pub(super) fn listed_over_rest(&self, contract: &ContractSpec) -> Value {
        let tools = self.tools.listed();
        let tools: Vec<_> = tools
            .iter()
            .filter_map(|tool| {
                let spec = contract.tool(&tool.name)?;
                let mut listed = json!({
                    "name": tool.name,
                    "description": tool.description,
                    "annotations": tool.annotations,
                    "rate_limit": rate_limit_of(contract, spec),
                    "input_schema": &*tool.input_schema,
                    "output_schema": tool.output_schema,
                });
                for (key, value) in rules_of(contract, spec).into_iter().flatten() {
                    listed[key] = value;
                }
                Some(listed)
            })
            .collect();
        json!({ "count": tools.len(), "tools": tools })
    }

    /// Returns the contract with this id, with its implementation.
    pub(super) fn service(&self, contract: &str) -> Option<&Arc<dyn Contract>> {
        self.services.iter().find(|service| service.spec().id == contract)
    }

    /// Returns the names of the HTTP headers that a contract reads.
    pub(super) fn headers(&self) -> impl Iterator<Item = &'static str> {
        self.headers.iter().copied()
    }

    /// Returns the capabilities that the contracts need.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        if !self.tools.is_empty() {
            capabilities.tools = Some(Default::default());
        }
        if self.has_resources() {
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

    /// Returns true if an argument of a prompt or a variable of a template can be completed.
    pub(super) fn completes(&self) -> bool {
        let prompts = self
            .prompts
            .routes
            .values()
            .flat_map(|route| route.spec.arguments);
        let templates = self
            .templates
            .routes
            .values()
            .flat_map(|route| route.spec.variables);
        prompts.chain(templates).any(|argument| argument.completes)
    }
}

impl<Listed, Spec> CatalogSection<Listed, Spec> {
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

    /// Returns the list that clients see, in the contracts' order.
    pub(super) fn listed(&self) -> &[Listed] {
        &self.listed
    }

    pub(super) fn route(&self, name: &str) -> Option<&Route<Spec>> {
        self.routes.get(name)
    }
}

impl<Listed, Spec> Default for CatalogSection<Listed, Spec> {
    fn default() -> Self {
        Self {
            listed: vec![],
            routes: HashMap::new(),
        }
    }
}

/// Returns the names of the headers from which a contract takes modes and provenance.
fn headers_of(spec: &'static ContractSpec) -> impl Iterator<Item = &'static str> {
    let modes = spec.modes.and_then(|modes| modes.header);
    let fields = spec.provenance.map_or(&[][..], |provenance| provenance.fields);
    let session = spec.sessions.map(|_| SESSION_HEADER);
    modes
        .into_iter()
        .chain(session)
        .chain(fields.iter().flat_map(|field| field.headers.iter().copied()))
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
    match rules_of(contract, spec) {
        None => tool,
        Some(rules) => tool.with_meta(MetaObject(rules)),
    }
}

/// Returns the tool's tags, the names of its gates, and whether callers must be known; `None` if the contract has none of these.
fn rules_of(contract: &ContractSpec, tool: &'static ToolSpec) -> Option<JsonObject> {
    let has_tags = contract.tools.iter().any(|tool| !tool.tags.is_empty());
    if contract.auth.is_none() && contract.gates.is_empty() && !has_tags {
        return None;
    }
    let operations = tool.operations();
    let passes = |name: &str| {
        let mut gates = operations.iter().flat_map(|operation| operation.gates);
        gates.any(|gate| gate.name == name)
    };
    let gates: Vec<_> = contract
        .gates
        .iter()
        .map(|gate| gate.name)
        .filter(|name| passes(name))
        .collect();
    let is_guarded = operations.iter().any(|operation| !operation.roles.is_empty());
    let rules: [(&str, Value); 3] = [
        ("tags", json!(tool.tags)),
        ("constitutional_gates", json!(gates)),
        ("requires_auth", is_guarded.into()),
    ];
    Some(
        rules
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

/// Returns how often a caller may call a tool; `null` if that is not limited. Operations of a tool that have limits of their own are not
/// listed.
fn rate_limit_of(contract: &ContractSpec, tool: &ToolSpec) -> Value {
    let limit = tool
        .rate_limit
        .and_then(|name| contract.rate_limits.iter().find(|limit| limit.name == name));
    limit.map_or(Value::Null, |limit| {
        json!({ "limit": limit.name, "requests": limit.calls, "seconds": limit.seconds, "per": limit.per })
    })
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
