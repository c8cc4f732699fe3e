//! Notes in answers of writing calls.

use tabellion_conformance::checks::prelude::*;

/// The state of a written note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Status {
    /// It is part of the library.
    Made,
    /// It waits for a person, who decides on the instance with this id.
    Waits(String),
}

/// A note as a call wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) id: String,
    pub(super) version: u64,
    pub(super) status: Status,
}

impl Written {
    /// Reads an answer; `instance` is the id of the instance that its `_meta` names.
    ///
    /// # Errors
    /// The failure of an answer that lacks an id or a number, or is pending without an instance.
    pub(super) fn read(answer: &Value, instance: Option<&str>) -> Result<Self, Stop> {
        let whole = || fail(format!("the answer lacks something: {answer}"));
        let id = answer["note_id"].as_str().ok_or_else(whole)?;
        let version = ["version", "new_version"].iter().find_map(|key| answer[key].as_u64());
        let said = answer["review_workflow_id"].as_str().or(instance);
        let status = match answer["status"].as_str() {
            Some("pending_review") => Status::Waits(said.ok_or_else(whole)?.to_owned()),
            Some("created" | "updated") => Status::Made,
            _ => return Err(whole()),
        };
        Ok(Self { id: id.to_owned(), version: version.ok_or_else(whole)?, status })
    }

    /// Returns the id of the instance for its review.
    pub(super) fn instance(&self) -> Result<&str, Stop> {
        match &self.status {
            Status::Waits(instance) => Ok(instance),
            Status::Made => Err(fail(format!(
                "version {} of note {} is part of the library at once, although it must wait for a person",
                self.version, self.id
            ))),
        }
    }
}
