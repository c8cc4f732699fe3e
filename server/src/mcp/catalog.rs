//! Which tools there are: the list that clients see, and the contract behind each name. Made once, at
//! start-up.

use std::{collections::HashMap, sync::Arc};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use tabellion_schemas::{Contract, Shape, ToolSpec};

/// Two contracts have a tool of the same name, so that a call could mean either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool `{tool}` is in contract `{first}` and in contract `{second}`; serve only one of them")]
pub struct NameClash {
    /// The name.
    pub tool: &'static str,
    /// Id of the contract that was given first.
    pub first: &'static str,
    /// Id of the other one.
    pub second: &'static str,
}

/// All tools of all contracts.
pub(super) struct Catalog {
    listed: Vec<Tool>,
    routes: HashMap<&'static str, Route>,
}

/// Where the calls of one tool go.
pub(super) struct Route {
    pub(super) contract: Arc<dyn Contract>,
    pub(super) tool: &'static ToolSpec,
}

impl Catalog {
    pub(super) fn new(contracts: Vec<Arc<dyn Contract>>) -> Result<Self, NameClash> {
        let mut catalog = Self {
            listed: vec![],
            routes: HashMap::new(),
        };
        for contract in contracts {
            let spec = contract.spec();
            for tool in spec.tools {
                catalog.listed.push(listed(tool));
                let route = Route {
                    contract: contract.clone(),
                    tool,
                };
                if let Some(other) = catalog.routes.insert(tool.name, route) {
                    let first = other.contract.spec().id;
                    return Err(NameClash {
                        tool: tool.name,
                        first,
                        second: spec.id,
                    });
                }
            }
        }
        Ok(catalog)
    }

    /// The tools as clients see them, in the contracts' order.
    pub(super) fn listed(&self) -> &[Tool] {
        &self.listed
    }

    pub(super) fn route(&self, name: &str) -> Option<&Route> {
        self.routes.get(name)
    }
}

fn listed(spec: &ToolSpec) -> Tool {
    let hints = spec.annotations;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Tool::new(spec.name, spec.description, object(&spec.input))
        .with_raw_output_schema(object(&spec.output))
        .with_annotations(annotations)
}

fn object(shape: &Shape) -> Arc<JsonObject> {
    Arc::new(serde_json::from_str(shape.wire).expect("generated schemas are JSON objects"))
}
