//! The catalog: the contract behind each name in the clients' lists. Built once, at start-up.

use std::{
    collections::{BTreeSet, HashMap, HashSet, hash_map::Entry},
    fmt,
    sync::Arc,
};

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    Contract, ContractSpec, PromptSpec, ResourceSpec, ToolSpec, openapi::SESSION_HEADER,
    spec::ResourceTemplateSpec, uri_template::UriTemplate,
};

/// Maximum length of a resource's URI, in bytes: a path of the system's limit, with each byte escaped, is shorter.
const MAX_URI_BYTES: usize = 16 << 10;

/// Two contracts have a tool, resource or prompt of the same name, which makes requests ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} `{name}` is in contract `{first}` {}; serve only one of them", other(first, second))]
pub struct NameClash {
    /// Kind of the object with the name.
    pub kind: Kind,
    /// The common name; the URI of a resource.
    pub name: &'static str,
    /// Id of the first contract.
    pub first: &'static str,
    /// Id of the second contract.
    pub second: &'static str,
}

/// Returns the part of the message about the second contract.
fn other(first: &str, second: &str) -> String {
    if first == second { "which is given twice".into() } else { format!("and in contract `{second}`") }
}

/// A kind of objects that contracts offer.
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

/// The offered subset of the contracts' tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offer {
    /// All tools.
    #[default]
    Everything,
    /// Tools, and operations of other tools, that make no changes.
    ReadOnly,
}

impl Offer {
    fn has(self, tool: &'static ToolSpec) -> bool {
        self == Self::Everything || tool.operations().iter().any(|operation| !operation.mutating)
    }
}

/// All offered tools, resources, templates, prompts and calls.
#[derive(Default)]
pub struct Catalog {
    /// The tools.
    pub tools: Section<ToolSpec>,
    /// The resources, by URI.
    pub resources: Section<ResourceSpec>,
    /// The templates of resources, by URI.
    pub templates: Section<ResourceTemplateSpec>,
    /// The prompts.
    pub prompts: Section<PromptSpec>,
    /// The calls that a contract declares in addition to its tools.
    calls: HashMap<&'static str, Route<ToolSpec>>,
    /// The parsed templates, in the contracts' order.
    patterns: Vec<(&'static str, UriTemplate)>,
    /// Labels of the contracts' tools and operations that are not offered.
    withheld: HashSet<&'static str>,
    contracts: Vec<Arc<dyn Contract>>,
    /// Names of the HTTP headers that a contract reads.
    headers: BTreeSet<&'static str>,
}

/// All objects of one kind, in the contracts' order.
pub struct Section<Spec: 'static> {
    order: Vec<&'static str>,
    routes: HashMap<&'static str, Route<Spec>>,
}

/// The contract and declaration behind a name.
pub struct Route<Spec: 'static> {
    /// The contract.
    pub contract: Arc<dyn Contract>,
    /// The declaration.
    pub spec: &'static Spec,
}

/// A resource that a client names by its URI.
pub struct FoundResource<'a> {
    /// Its contract.
    pub contract: &'a Arc<dyn Contract>,
    /// Its declaration; for a template, that of all its resources.
    pub spec: &'static ResourceSpec,
    /// The variables of its URI, if it has a template.
    pub variables: Option<Value>,
}

impl Catalog {
    pub(crate) fn new(contracts: Vec<Arc<dyn Contract>>, offer: Offer) -> Result<Self, NameClash> {
        let mut catalog = Self::default();
        for contract in &contracts {
            let spec = contract.spec();
            catalog.contracts.push(contract.clone());
            catalog.headers.extend(headers_of(spec));
            for tool in spec.tools {
                if !offer.has(tool) {
                    catalog.withheld.insert(tool.name);
                    continue;
                }
                let withheld = tool.operations().iter().filter(|operation| !offer.has(operation));
                catalog.withheld.extend(withheld.map(|operation| operation.label()));
                catalog.tools.put((Kind::Tool, tool.name), contract, tool)?;
            }
            for call in spec.calls.iter().filter(|call| offer.has(call)) {
                // The name belongs to the first contract that declares it.
                catalog
                    .calls
                    .entry(call.name)
                    .or_insert_with(|| Route { contract: contract.clone(), spec: call });
            }
            for resource in spec.resources {
                let place = (Kind::Resource, resource.uri);
                catalog.resources.put(place, contract, resource)?;
            }
            for template in spec.templates {
                let place = (Kind::Resource, template.resource.uri);
                catalog.templates.put(place, contract, template)?;
                if let Ok(pattern) = UriTemplate::parse(template.resource.uri) {
                    catalog.patterns.push((template.resource.uri, pattern));
                }
            }
            for prompt in spec.prompts {
                catalog.prompts.put((Kind::Prompt, prompt.name), contract, prompt)?;
            }
        }
        catalog.check_patterns()?;
        Ok(catalog)
    }

    /// Checks that no URI matches resources of two contracts. Within one, codegen has checked it.
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
                // A template is more informative than a URI that matches it.
                let name = if pattern.variables().next().is_some() { *name } else { *other };
                let (kind, first, second) = (Kind::Resource, *first, *second);
                return Err(NameClash { kind, name, first, second });
            }
        }
        Ok(())
    }

    /// Returns the resource with this URI.
    pub fn resource(&self, uri: &str) -> Option<FoundResource<'_>> {
        if uri.len() > MAX_URI_BYTES {
            return None;
        }
        if let Some(route) = self.resources.route(uri) {
            return Some(FoundResource { contract: &route.contract, spec: route.spec, variables: None });
        }
        let (template, variables) =
            self.patterns.iter().find_map(|(template, pattern)| Some((template, pattern.values(uri)?)))?;
        let route = self.templates.route(template)?;
        Some(FoundResource {
            contract: &route.contract,
            spec: &route.spec.resource,
            variables: Some(variables.into()),
        })
    }

    /// Returns the call that a contract declares in addition to its tools.
    pub(crate) fn call(&self, name: &str) -> Option<&Route<ToolSpec>> {
        self.calls.get(name)
    }

    /// Returns true if this tool, or this call in addition to the tools, is offered.
    pub fn offers(&self, name: &str) -> bool {
        self.tools.route(name).is_some() || self.calls.contains_key(name)
    }

    /// Returns true if a contract has resources.
    pub fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    /// Returns true if a contract has this tool, but it is not offered because it makes changes.
    pub fn withholds(&self, tool: &str) -> bool {
        self.withheld.contains(tool)
    }

    /// Returns the declarations of the contracts, in their order.
    pub fn contracts(&self) -> impl Iterator<Item = &'static ContractSpec> {
        self.contracts.iter().map(|contract| contract.spec())
    }

    /// Returns the contract with this id, with its implementation.
    pub fn contract(&self, id: &str) -> Option<&Arc<dyn Contract>> {
        self.contracts.iter().find(|contract| contract.spec().id == id)
    }

    /// Returns the names of the HTTP headers that a contract reads.
    pub fn headers(&self) -> impl Iterator<Item = &'static str> {
        self.headers.iter().copied()
    }

    /// Returns the values of the headers that a contract reads, looked up in `values` by name. Values that are not text are left out.
    pub fn read_headers<'v, Values: Iterator<Item = &'v [u8]>>(
        &self,
        values: impl Fn(&'static str) -> Values,
    ) -> Arc<[(String, String)]> {
        let read = self.headers().flat_map(|name| {
            let values = values(name).filter_map(|value| str::from_utf8(value).ok());
            values.map(|value| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
        });
        read.collect()
    }

    /// Returns true if an argument of a prompt or a variable of a template can be completed.
    pub fn completes(&self) -> bool {
        let prompts = self.prompts.routes.values().flat_map(|route| route.spec.arguments);
        let templates = self.templates.routes.values().flat_map(|route| route.spec.variables);
        prompts.chain(templates).any(|argument| argument.completes)
    }
}

impl<Spec> Section<Spec> {
    fn put(
        &mut self,
        (kind, name): (Kind, &'static str),
        contract: &Arc<dyn Contract>,
        spec: &'static Spec,
    ) -> Result<(), NameClash> {
        match self.routes.entry(name) {
            Entry::Occupied(other) => Err(NameClash {
                kind,
                name,
                first: other.get().contract.spec().id,
                second: contract.spec().id,
            }),
            Entry::Vacant(place) => {
                place.insert(Route { contract: contract.clone(), spec });
                self.order.push(name);
                Ok(())
            }
        }
    }

    /// Returns true if no object of this kind is offered.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns all objects of this kind, in the contracts' order.
    pub fn iter(&self) -> impl Iterator<Item = &Route<Spec>> {
        self.order.iter().filter_map(|name| self.route(name))
    }

    /// Returns the contract and declaration behind a name.
    pub fn route(&self, name: &str) -> Option<&Route<Spec>> {
        self.routes.get(name)
    }
}

impl<Spec> Default for Section<Spec> {
    fn default() -> Self {
        Self { order: vec![], routes: HashMap::new() }
    }
}

/// Returns the names of the headers from which a contract takes modes, provenance and sessions.
fn headers_of(spec: &'static ContractSpec) -> impl Iterator<Item = &'static str> {
    let modes = spec.modes.and_then(|modes| modes.header);
    let fields = spec.provenance.map_or(&[][..], |provenance| provenance.fields);
    let session = spec.sessions.map(|_| SESSION_HEADER);
    modes.into_iter().chain(session).chain(fields.iter().flat_map(|field| field.headers.iter().copied()))
}

/// Returns the tool's tags, the names of its gates, and the need for a known caller; `None` if the contract has none of these.
pub fn rules(contract: &ContractSpec, tool: &'static ToolSpec) -> Option<Map<String, Value>> {
    let has_tags = contract.tools.iter().any(|tool| !tool.tags.is_empty());
    if contract.auth.is_none() && contract.gates.is_empty() && !has_tags {
        return None;
    }
    let operations = tool.operations();
    let passes = |name: &str| {
        let mut gates = operations.iter().flat_map(|operation| operation.gates);
        gates.any(|gate| gate.name == name)
    };
    let gates: Vec<_> = contract.gates.iter().map(|gate| gate.name).filter(|name| passes(name)).collect();
    let is_guarded = operations.iter().any(|operation| !operation.roles.is_empty());
    let rules: [(&str, Value); 3] = [
        ("tags", json!(tool.tags)),
        (contract.gate_members.gates, json!(gates)),
        ("requires_auth", is_guarded.into()),
    ];
    Some(rules.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
