//! A contract as authored: its files, their content, and the schemas in them.

use serde_json::Value;
use tabellion_runtime::FailureKind;

pub use crate::keys::*;
use crate::{document::Document, names};

/// A contract with its tools, in wire order.
#[derive(Debug, Clone)]
pub struct Contract {
    /// Name of its folder.
    pub folder: String,
    /// `contract.json` as read.
    pub document: Document,
    /// The content of `contract.json`.
    pub spec: ContractSpec,
    /// The tools in the order that `contract.json` gives.
    pub tools: Vec<Tool>,
    /// SHA-256 over the texts of all files, in hexadecimal digits.
    pub digest: String,
}

impl Contract {
    /// Returns the tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Returns every schema of the contract: the tools' in wire order, then the resources'.
    pub fn schemas(&self) -> impl Iterator<Item = Authored<'_>> {
        let tools = self
            .tools
            .iter()
            .flat_map(|tool| Side::ALL.map(|side| tool.authored(side)));
        let resources = 0..self.spec.resources.len();
        tools.chain(resources.map(|i| self.resource_schema(i)))
    }

    /// Returns the schema of the resource with this index.
    pub(crate) fn resource_schema(&self, i: usize) -> Authored<'_> {
        let resource = &self.spec.resources[i];
        Authored {
            document: &self.document,
            at: format!("/resources/{i}/schema"),
            schema: &resource.schema,
            usual_name: names::resource(&resource.name),
            constant: format!("{}_RESOURCE", names::constant(&resource.name)),
        }
    }

    /// Returns the name of the error that the contract gives failures of `kind`. Those that can't happen need none.
    pub fn error_for(&self, kind: FailureKind) -> Option<&str> {
        self.spec
            .errors
            .iter()
            .find(|(_, error)| error.failures.contains(&kind))
            .map(|(name, _)| name.as_str())
    }

    /// Returns the name of the error for failures of `kind`: its own, or that of the nearest kind that has one, since an
    /// implementation may still make such a failure.
    pub(crate) fn error_or_nearest(&self, kind: FailureKind) -> Option<&str> {
        let nearest = match kind {
            FailureKind::AccessDenied => FailureKind::PathNotAllowed,
            FailureKind::PathNotAllowed => FailureKind::Invalid,
            FailureKind::RateLimited => FailureKind::Busy,
            FailureKind::Conflict | FailureKind::Declined => FailureKind::Refused,
            _ => return self.error_for(kind),
        };
        self.error_for(kind).or_else(|| self.error_or_nearest(nearest))
    }
}

/// A tool and its file.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The file as read.
    pub document: Document,
    /// Its content, with each `{"$use": …}` replaced by the named rule.
    pub spec: ToolSpec,
}

impl Tool {
    /// Returns the authored schema of one direction.
    pub fn schema(&self, side: Side) -> &Value {
        match side {
            Side::Input => &self.spec.input_schema,
            Side::Output => &self.spec.output_schema,
        }
    }

    /// Returns the authored schema with its location.
    pub fn authored(&self, side: Side) -> Authored<'_> {
        Authored {
            document: &self.document,
            at: side.pointer().into(),
            schema: self.schema(side),
            usual_name: names::root(&self.spec.name, side),
            constant: format!("{}_{}", names::constant(&self.spec.name), side.constant()),
        }
    }
}

/// The schema of a request, a response or a resource, and its location.
#[derive(Debug, Clone)]
pub struct Authored<'a> {
    /// The file that contains it.
    pub document: &'a Document,
    /// JSON pointer to it in the file.
    pub at: String,
    /// Its content, with each `{"$use": …}` replaced by the named rule.
    pub schema: &'a Value,
    /// Its Rust type, unless `x-rust-name` names another.
    pub usual_name: String,
    /// Its name in the generated `mod schema`.
    pub constant: String,
}

/// Requests or responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Requests.
    Input,
    /// Responses.
    Output,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Input, Self::Output];

    /// Returns the key of the side's schema in a tool file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Input => "inputSchema",
            Self::Output => "outputSchema",
        }
    }

    /// Returns the suffix of the names of statics with such a schema.
    fn constant(self) -> &'static str {
        match self {
            Self::Input => "INPUT",
            Self::Output => "OUTPUT",
        }
    }

    /// JSON pointer to the side's schema in a tool file.
    pub fn pointer(self) -> &'static str {
        match self {
            Self::Input => "/inputSchema",
            Self::Output => "/outputSchema",
        }
    }
}
