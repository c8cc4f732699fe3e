//! A contract as authored: its files, their content, and the schemas in them.

use serde_json::Value;
use tabellion_runtime::{
    FailureKind,
    spec::{Operation, RowOperation},
};

pub use crate::keys::*;
use crate::{document::Document, names, views};

/// A contract with its tools, in wire order.
#[derive(Debug, Clone)]
pub struct Contract {
    /// Name of the folder.
    pub folder: String,
    /// `contract.json` as read.
    pub document: Document,
    /// The decoded content of `contract.json`.
    pub spec: ContractSpec,
    /// The tools, in the order of `contract.json`.
    pub tools: Vec<Tool>,
    /// The entities, in the order of `contract.json`.
    pub entities: Vec<Entity>,
    /// SHA-256 over the texts of all files, in hexadecimal digits.
    pub digest: String,
}

impl Contract {
    /// Returns the tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Returns the operations that are methods of the implementation: all that do not follow from an entity.
    pub(crate) fn methods(&self) -> impl Iterator<Item = &Tool> {
        self.operations().filter(|operation| operation.rows.is_none())
    }

    /// Returns the entity of that name.
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.file.name == name)
    }

    /// Returns every operation, in wire order; each call runs one of them. A tool without `select` is one operation.
    pub fn operations(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().flat_map(Tool::operations)
    }

    /// Returns the operation with this label.
    pub fn operation(&self, label: &str) -> Option<&Tool> {
        self.operations().find(|operation| operation.label() == label)
    }

    /// Returns every schema of the contract: the tools' in wire order, each before its operations', then the resources'.
    pub fn schemas(&self) -> impl Iterator<Item = Authored<'_>> {
        let tools = self.tools.iter().flat_map(|tool| {
            let all = std::iter::once(tool).chain(&tool.parts);
            all.flat_map(|tool| Side::ALL.map(|side| tool.authored(side)))
        });
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
            kind: SchemaKind::Authored,
            is_request: false,
            usual_name: names::resource(resource.name),
            constant: format!("{}_RESOURCE", names::constant(resource.name)),
        }
    }

    /// Returns the name of the contract's error for failures of `kind`. Failures that can't happen need none.
    pub fn error_for(&self, kind: FailureKind) -> Option<&'static str> {
        self.spec.errors.iter().find(|(_, error)| error.failures.contains(&kind)).map(|(name, _)| *name)
    }

    /// Returns the name of the error for failures of `kind`: its own, or that of the nearest kind with an error, since an implementation
    /// may still make such a failure.
    pub(crate) fn error_or_nearest(&self, kind: FailureKind) -> Option<&'static str> {
        let nearest = match kind {
            FailureKind::AccessDenied => FailureKind::PathNotAllowed,
            FailureKind::PathNotAllowed => FailureKind::Invalid,
            FailureKind::RateLimited => FailureKind::Busy,
            FailureKind::Unauthenticated | FailureKind::Violation => FailureKind::AccessDenied,
            FailureKind::Conflict | FailureKind::Declined => FailureKind::Refused,
            _ => return self.error_for(kind),
        };
        self.error_for(kind).or_else(|| self.error_or_nearest(nearest))
    }
}

/// A tool, or one of its operations, and its file.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The file as read.
    pub document: Document,
    /// The file's content, with each `{"$use": …}` replaced by the named rule. For a tool with operations, the union of their schemas; for an
    /// operation, its own content and the tool's.
    pub spec: ToolSpec,
    /// The selection of the operation's requests; `None` for a tool.
    pub operation: Option<Operation>,
    /// The operations of a tool with `select`, in the order of their names.
    pub parts: Vec<Self>,
    /// Set for an operation that follows from an entity, and so has no method.
    pub rows: Option<RowOperation>,
}

impl Tool {
    /// Returns the operations: its parts, or itself.
    pub fn operations(&self) -> &[Self] {
        if self.spec.select.is_empty() { std::slice::from_ref(self) } else { &self.parts }
    }

    /// Returns the name of a tool, or `tool/name` of an operation.
    pub fn label(&self) -> &'static str {
        self.operation.map_or(self.spec.name, |operation| operation.label)
    }

    /// Returns the base of the operation's method and type names in Rust.
    pub(crate) fn rust_base(&self) -> String {
        self.label().replace('/', "_")
    }

    /// Returns the authored schema of one direction.
    pub fn schema(&self, side: Side) -> &Value {
        match side {
            Side::Input => &self.spec.input_schema,
            Side::Output => &self.spec.output_schema,
        }
    }

    /// Returns the authored schema with its location.
    pub fn authored(&self, side: Side) -> Authored<'_> {
        let base = self.rust_base();
        Authored {
            document: &self.document,
            at: self.pointer(side).into(),
            schema: self.schema(side),
            kind: match (side, &self.operation) {
                (Side::Input, Some(operation)) if self.rows.is_none() => {
                    SchemaKind::Narrowed(operation.select)
                }
                (Side::Input, None) if !self.spec.select.is_empty() => SchemaKind::WireOnly,
                (Side::Output, None) if !self.spec.select.is_empty() => SchemaKind::Union,
                (_, Some(_)) if self.rows.is_some() => SchemaKind::Derived,
                _ => SchemaKind::Authored,
            },
            is_request: side == Side::Input,
            usual_name: side.type_name(&base),
            constant: format!("{}_{}", names::constant(&base), side.constant()),
        }
    }

    /// Returns the JSON pointer to the side's schema in the file.
    pub(crate) fn pointer(&self, side: Side) -> &'static str {
        match (side, &self.operation) {
            (Side::Input, None) => "/inputSchema",
            (Side::Output, None) => "/outputSchema",
            (Side::Input, Some(_)) => "/request",
            (Side::Output, Some(_)) => "/response",
        }
    }
}

/// The schema of a request, a response or a resource, and its location.
#[derive(Debug, Clone)]
pub struct Authored<'a> {
    /// The file with the schema.
    pub document: &'a Document,
    /// JSON pointer to the schema in the file.
    pub at: String,
    /// The schema's content, with each `{"$use": …}` replaced by the named rule.
    pub schema: &'a Value,
    /// The schema's origin.
    pub kind: SchemaKind,
    /// True if it describes requests.
    pub is_request: bool,
    /// The name of its Rust type, unless `x-rust-name` names another.
    pub usual_name: String,
    /// The name of its static in the generated `mod schema`.
    pub constant: String,
}

impl Authored<'_> {
    /// Returns the text from which the runtime makes its views. A request of a type has no members that the type would drop.
    pub(crate) fn text(&self) -> Value {
        let mut text = self.schema.clone();
        if self.is_request
            && self.kind.is_typed()
            && let Some(members) = text.as_object_mut()
        {
            members.insert(views::CLOSED.into(), true.into());
        }
        text
    }

    /// Returns the enforced view.
    pub(crate) fn enforced(&self) -> Value {
        views::enforced(&self.text())
    }
}

/// The origin and the use of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaKind {
    /// It is written in a file and becomes a Rust type.
    Authored,
    /// The request of an operation, narrowed from the tool's. Its Rust type lacks the selectors, to which these JSON pointers lead.
    Narrowed(&'static [&'static str]),
    /// The request of a tool with operations, written in a file. Only clients see it.
    WireOnly,
    /// The response of a tool with operations, made of theirs. Only clients see it.
    Union,
    /// The request or response of an operation that follows from an entity. It has no Rust type.
    Derived,
}

impl SchemaKind {
    /// Returns true if it has a Rust type.
    pub(crate) fn is_typed(self) -> bool {
        matches!(self, Self::Authored | Self::Narrowed(_))
    }
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
    /// Both sides.
    pub const ALL: [Self; 2] = [Self::Input, Self::Output];

    /// Returns the default name of the type of a tool's requests or responses: `ReadNoteRequest`.
    pub(crate) fn type_name(self, tool: &str) -> String {
        let suffix = match self {
            Self::Input => "Request",
            Self::Output => "Response",
        };
        names::suffixed(tool, suffix)
    }

    /// Returns the suffix of statics with such a schema.
    fn constant(self) -> &'static str {
        match self {
            Self::Input => "INPUT",
            Self::Output => "OUTPUT",
        }
    }
}
