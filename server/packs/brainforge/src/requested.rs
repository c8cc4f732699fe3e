//! Instances of workflows that a request starts: a document in `workflows/` each, as for proposals.
//!
//! Front matter has the state, the history, the parameters of the request, and the data of each completed task.

use serde_json::{Map, Value, json};
use tabellion_contracts::brainforge::{CONTRACT, ToolError};
use tabellion_markdown::FrontMatter;
use tabellion_runtime::{
    spec::{Starts, WorkflowSpec},
    workflow::Instance,
    workflow_calls::NOTES,
};
use uuid::Uuid;

use super::{
    review::{self, front_matter},
    values::invalid,
};

/// Maximum size of parameters, and of the data of one task, as JSON in bytes.
const MAX_DATA: usize = 64 << 10;

/// An instance that a request started.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Requested {
    /// Id of the instance.
    pub(super) id: Uuid,
    pub(super) workflow: &'static str,
    /// State, author and history.
    pub(super) instance: Instance,
    /// The parameters of the request, with their defaults.
    pub(super) parameters: Map<String, Value>,
    /// The `notes` and `data` of each completed task, by its id.
    pub(super) tasks: Map<String, Value>,
}

impl Requested {
    /// Returns a new instance.
    pub(super) fn new(
        id: Uuid,
        workflow: &WorkflowSpec,
        instance: Instance,
        parameters: Map<String, Value>,
    ) -> Result<Self, ToolError> {
        check_size("parameters", &parameters)?;
        Ok(Self { id, workflow: workflow.id, instance, parameters, tasks: Map::new() })
    }

    /// Reads an instance's document; `None` if the document is not one.
    pub(super) fn parse(path: &str, bytes: &[u8]) -> Option<Self> {
        let front_matter = FrontMatter::parse(std::str::from_utf8(bytes).ok()?).ok()?;
        let mut members = front_matter.values();
        let instance = review::instance_of(&members)?;
        let workflow = CONTRACT.workflow(&instance.workflow)?;
        let mut object = |key| match members.remove(key) {
            None => Some(Map::new()),
            Some(Value::Object(object)) => Some(object),
            Some(_) => None,
        };
        (workflow.starts == Starts::Request).then_some(Self {
            id: review::id_of(path)?,
            workflow: workflow.id,
            instance,
            parameters: object("parameters")?,
            tasks: object("data")?,
        })
    }

    /// Returns the instance's document.
    ///
    /// # Errors
    /// If front matter can't represent a value, such as a number that is too large.
    pub(super) fn to_text(&self) -> Result<String, ToolError> {
        let instance = &self.instance;
        let some = |map: &Map<String, Value>| Some(json!(map)).filter(|_| !map.is_empty());
        let members = [
            ("workflow", Some(json!(instance.workflow))),
            ("workflow_version", Some(json!(instance.version))),
            ("state", Some(json!(instance.state))),
            ("author", Some(json!(instance.author))),
            ("author_name", instance.author_name.as_ref().map(|it| json!(it))),
            ("author_identity", instance.author_identity.as_ref().map(|it| json!(it))),
            ("parameters", some(&self.parameters)),
            ("data", some(&self.tasks)),
            ("history", Some(json!(instance.history))),
        ];
        let text = front_matter(members, "")?;
        let read = Self::parse(&review::path_of(self.id), text.as_bytes());
        if read.as_ref() != Some(self) {
            let message = "a value in `parameters` or `data` can't be kept in a document: write it as a text";
            return Err(invalid("unwritable", message));
        }
        Ok(text)
    }

    /// Keeps the notes and data of a completed task.
    pub(super) fn keep(
        &mut self,
        task: &str,
        notes: Option<&str>,
        data: Option<&Map<String, Value>>,
    ) -> Result<(), ToolError> {
        let mut kept = Map::new();
        if let Some(notes) = notes {
            kept.insert(NOTES.into(), notes.into());
        }
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            check_size("data", data)?;
            kept.insert("data".into(), data.clone().into());
        }
        if !kept.is_empty() {
            self.tasks.insert(task.into(), kept.into());
        }
        Ok(())
    }
}

fn check_size(what: &str, data: &Map<String, Value>) -> Result<(), ToolError> {
    let size = json!(data).to_string().len();
    if size <= MAX_DATA {
        return Ok(());
    }
    let message = format!(
        "`{what}` has {size} bytes of JSON, and at most {MAX_DATA} are kept: put the rest into a note"
    );
    Err(invalid("too_large", message))
}
