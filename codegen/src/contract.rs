//! A contract as it was written: its files, what they say, and the schemas in them.

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
    /// What `contract.json` says.
    pub spec: ContractSpec,
    /// The tools in the order that `contract.json` gives.
    pub tools: Vec<Tool>,
    /// SHA-256 over the texts of all files, in hexadecimal digits.
    pub digest: String,
}

impl Contract {
    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Every schema of the contract: the tools' in wire order, then the resources'.
    pub fn schemas(&self) -> impl Iterator<Item = Authored<'_>> {
        let tools = self
            .tools
            .iter()
            .flat_map(|tool| Side::ALL.map(|side| tool.authored(side)));
        let resources = 0..self.spec.resources.len();
        tools.chain(resources.map(|i| self.resource_schema(i)))
    }

    /// The schema of the resource with this index.
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

    /// Name of the error that failures of `kind` become.
    pub fn error_for(&self, kind: FailureKind) -> Option<&str> {
        self.spec
            .errors
            .iter()
            .find(|(_, error)| error.failures.contains(&kind))
            .map(|(name, _)| name.as_str())
    }
}

/// A tool and the file it stands in.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The file as read.
    pub document: Document,
    /// What it says, with each `{"$use": …}` replaced by the rule it names.
    pub spec: ToolSpec,
}

impl Tool {
    /// The authored schema of one direction.
    pub fn schema(&self, side: Side) -> &Value {
        match side {
            Side::Input => &self.spec.input_schema,
            Side::Output => &self.spec.output_schema,
        }
    }

    /// The same, with where it stands.
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

/// The schema of a request, a response or a resource, and where it stands.
#[derive(Debug, Clone)]
pub struct Authored<'a> {
    /// The file that it stands in.
    pub document: &'a Document,
    /// JSON pointer to it in the file.
    pub at: String,
    /// What it says, with each `{"$use": …}` replaced by the rule it names.
    pub schema: &'a Value,
    /// The Rust type that it becomes, unless it has a name of its own.
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

    /// The key of the side's schema in a tool file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Input => "inputSchema",
            Self::Output => "outputSchema",
        }
    }

    /// The end of the name of a static with such a schema.
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
