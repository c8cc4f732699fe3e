//! Notes with review. A note is a Markdown file whose first line is a comment with its metadata; a proposal is such a file in
//! `workflows/`. Everything is read again for each call.

mod calls;
mod export;
mod files;
mod find;
mod note;
mod parts;
mod resources;

use serde_json::{Value, json};
use tabellion_contracts::brainforge;
use tabellion_runtime::ContractSpec;

use super::{Answer, ContractServer, Library, PersonAnswer, Refusal};

pub(crate) static CONTRACT: &ContractSpec = &brainforge::CONTRACT;

/// A library of notes, served to a client of one role.
pub(super) struct Shelf {
    library: Library,
    is_agent: bool,
    /// The notes that a mutant read when it started.
    old: Option<Vec<note::Note>>,
}

/// A refusal of a call: the reason, a message, and further details.
struct Wrong {
    reason: &'static str,
    message: String,
    details: Value,
}

/// The answer to a call, unless it fails.
type Outcome = Result<Result<Answer, Wrong>, Refusal>;

fn wrong(reason: &'static str, message: impl Into<String>) -> Wrong {
    Wrong {
        reason,
        message: message.into(),
        details: json!({}),
    }
}

impl Shelf {
    pub(super) fn new(library: Library, role: Option<&str>) -> Self {
        Self {
            library,
            is_agent: role.unwrap_or("agent") == "agent",
            old: None,
        }
    }

    /// Returns the kind of author: `agent` or `person`.
    fn author(&self) -> &'static str {
        if self.is_agent { "agent" } else { "person" }
    }

    /// Decides on a proposal, or shows it, as a person.
    pub(super) fn decide(&mut self, decision: &str, parts: &[usize], instance: &str) -> Result<(), Refusal> {
        let _lock = self.library.lock()?;
        self.recover()?;
        let decided = self.decided(decision, parts, instance)?;
        decided.map_err(|why| (-32000, why.message))
    }
}

impl ContractServer for Shelf {
    fn call(&mut self, tool: &str, arguments: &Value, _: Option<PersonAnswer>) -> Result<Answer, Refusal> {
        let racing = self.racing(tool, arguments)?;
        let _lock = self.library.lock()?;
        self.recover()?;
        let outcome = match tool {
            "semantic_search" => self.search(arguments),
            "create_note" => self.create(arguments),
            "update_note" => self.update(arguments, racing),
            "create_link" => self.link(arguments),
            _ => self.export(arguments),
        };
        Ok(outcome?.unwrap_or_else(error))
    }

    fn resource(&mut self, uri: &str) -> Option<Value> {
        let _lock = self.library.lock().ok()?;
        self.recover().ok()?;
        self.read_resource(uri).ok().flatten()
    }
}

/// Returns a refusal as a result.
fn error(why: Wrong) -> Answer {
    let Wrong {
        reason,
        message,
        mut details,
    } = why;
    details["reason"] = reason.into();
    let error = json!({
        "code": "MCP_INVALID_INPUT",
        "message": message,
        "details": details,
        "constitutional_violations": [],
    });
    Answer::Error {
        message,
        body: json!({ "error": error }),
        meta: json!({ "tabellion/error": { "code": -32602, "name": "MCP_INVALID_INPUT", "data": details } }),
    }
}
