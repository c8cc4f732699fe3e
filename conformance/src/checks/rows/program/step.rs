//! Steps of programs, as data.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::spec::{Action, EntitySpec};

/// The key of no row.
pub(super) const MISSING: &str = "no-such-row";

/// One step of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::checks::rows) enum Step {
    /// The server is closed and started again.
    Restart,
    Call(Box<Call>),
}

/// A call of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::checks::rows) struct Call {
    #[serde(with = "ActionName")]
    pub(super) action: Action,
    pub(super) entity: String,
    /// Index of the org.
    pub(super) org: usize,
    /// The row that it is about.
    pub(super) row: Choice,
    /// Values of fields; for a list, those by which rows are chosen.
    pub(super) set: Vec<(String, Choice)>,
    pub(super) limit: Option<u64>,
    pub(super) after: Option<Choice>,
    /// Label of the operation, if not the first one that does this.
    #[serde(default)]
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) names_no_org: bool,
    /// Values next to the key or the data, required or not.
    #[serde(default)]
    pub(super) beside: Beside,
    /// The caller that the call names: a row, and the index of the field that names it.
    #[serde(default)]
    pub(super) caller: Option<(Choice, usize)>,
    /// Values of the members that select the rows of a list.
    #[serde(default)]
    pub(super) filters: Vec<(String, Choice)>,
}

/// The values that a request contains next to the key or the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Beside {
    /// The required ones, correct.
    #[default]
    Required,
    /// All possible ones, correct.
    All,
    /// All possible ones, and no key.
    Alone,
    /// All possible ones, wrong.
    Wrong,
}

/// The action of an operation, as data.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Action", rename_all = "kebab-case")]
enum ActionName {
    Create,
    Get,
    Update,
    List,
    Delete,
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Choice {
    Value(Value),
    /// The key of one of the rows that are there.
    Row(usize),
    /// The key of a row of another org.
    Elsewhere(usize),
    /// The key of no row.
    Missing,
    /// The number after the largest one, or one that is not.
    Next(bool),
    /// The value that the row has.
    Same,
}

impl Call {
    pub(super) fn new(action: Action, entity: &EntitySpec) -> Self {
        Self {
            action,
            entity: entity.name.to_owned(),
            org: 0,
            row: Choice::Missing,
            set: Vec::new(),
            limit: None,
            after: None,
            label: None,
            names_no_org: false,
            beside: Beside::Required,
            caller: None,
            filters: Vec::new(),
        }
    }
}
