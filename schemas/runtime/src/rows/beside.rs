//! Changes that can be made concurrently with others of their org: unique indexes, foreign keys and the lock of the changed row protect all
//! the data that their rules have read. All others must have the lock of their org alone, for the reasons that [`lone_changes`] returns.

use std::fmt;

use super::{Row, RowChange, RowEdit, RowsChange};
use crate::spec::{Action, EntitySpec, FieldSpec, FieldType, Next, RowsSpec};

/// A change of a row that must be alone in its org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoneChange {
    /// Create, update or delete.
    pub action: Action,
    /// The field whose value makes it so: set to `true` in a new row, or updated. `None`: all changes with this action.
    pub field: Option<&'static str>,
    /// The reason.
    pub reason: LoneReason,
}

/// Reason for which a change must be alone in its org: its rules, or those of other changes, read rows that no index or lock protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoneReason {
    /// All rows that refer to a removed row are read.
    Referring,
    /// Edges between rows must not form a circle.
    Circle,
    /// One row at most has the mark.
    Mark,
    /// The next number is read from other rows, and no index ensures that it is used once.
    Number,
    /// Other rows are numbered within rows with the same value.
    Numbered,
    /// References require the same value in both rows.
    Compared,
    /// The row of a caller is found by the value.
    Caller,
}

impl fmt::Display for LoneReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Referring => "all rows that refer to it are read",
            Self::Circle => "its edges must not form a circle",
            Self::Mark => "one row at most has the mark",
            Self::Number => "no unique index has its number",
            Self::Numbered => "rows are numbered within it",
            Self::Compared => "references require the same value in both rows",
            Self::Caller => "callers are found by it",
        })
    }
}

impl Action {
    /// Returns true if an operation with this action may be planned concurrently with others of its org. All others, methods and
    /// deletions among them, have the lock of their org alone from the beginning.
    pub fn begins_beside_others(self) -> bool {
        matches!(self, Self::Create | Self::Update)
    }
}

/// Returns the changes of an entity's rows that must be alone in their org.
pub fn lone_changes(spec: &RowsSpec, entity: &'static EntitySpec) -> Vec<LoneChange> {
    let updates = entity
        .fields
        .iter()
        .filter(|field| !field.fixed)
        .filter_map(|field| lone_update(spec, entity, field));
    lone_creations(entity).chain(updates).chain([REMOVAL]).collect()
}

const REMOVAL: LoneChange = LoneChange { action: Action::Delete, field: None, reason: LoneReason::Referring };

impl RowsChange {
    /// Returns true if the change can be planned and made concurrently with others of this kind.
    pub fn fits_beside_others(&self, spec: &RowsSpec) -> bool {
        self.rows().iter().all(|change| change.fits_beside_others(spec))
    }
}

impl RowChange {
    fn fits_beside_others(&self, spec: &RowsSpec) -> bool {
        let entity = self.entity;
        match &self.edit {
            RowEdit::Remove => false,
            RowEdit::Insert(row) => !lone_creations(entity).any(|lone| lone.is_of_row(row)),
            RowEdit::Patch(set) => set.keys().all(|name| {
                entity.field(name).is_some_and(|field| lone_update(spec, entity, field).is_none())
            }),
        }
    }
}

impl LoneChange {
    /// Returns true if the creation of a row is such a change.
    fn is_of_row(&self, row: &Row) -> bool {
        self.field.is_none_or(|name| row.get(name) == Some(&true.into()))
    }
}

fn lone_creations(entity: &'static EntitySpec) -> impl Iterator<Item = LoneChange> {
    let creation = |field, reason| LoneChange { action: Action::Create, field, reason };
    let circle = (!entity.acyclic.is_empty()).then(|| creation(None, LoneReason::Circle));
    let of_fields = entity.fields.iter().filter_map(move |field| match field.kind {
        _ if !field.one_true_in.is_empty() => Some(creation(Some(field.name), LoneReason::Mark)),
        FieldType::Next(next) if !is_unique(entity, field.name, next) => {
            Some(creation(None, LoneReason::Number))
        }
        _ => None,
    });
    circle.into_iter().chain(of_fields)
}

/// Returns true if an index ensures that a number is used once.
fn is_unique(entity: &EntitySpec, name: &'static str, next: Next) -> bool {
    let is_of_next = |field: &&str| *field == name || next.within.contains(field);
    entity.uniques.iter().any(|unique| {
        unique.while_null.is_none() && unique.fields.contains(&name) && unique.fields.iter().all(is_of_next)
    })
}

/// Returns the update of a field if rules of other rows depend on the field, in more than a unique value.
fn lone_update(
    spec: &RowsSpec,
    entity: &'static EntitySpec,
    field: &'static FieldSpec,
) -> Option<LoneChange> {
    let name = field.name;
    let is_link = matches!(field.kind, FieldType::Ref(reference) if reference.acyclic);
    let is_edge = || {
        let mut edges = entity.acyclic.iter();
        edges.any(|edges| edges.from == name || edges.to == name || edges.by == Some(name))
    };
    let is_mark = || {
        let mut marks = entity.fields.iter().filter(|mark| !mark.one_true_in.is_empty());
        marks.any(|mark| mark.name == name || mark.one_true_in.contains(&name))
    };
    let is_number = || matches!(field.kind, FieldType::Next(next) if !is_unique(entity, name, next));
    let is_numbered_within = || {
        let mut fields = entity.fields.iter();
        fields.any(|other| matches!(other.kind, FieldType::Next(next) if next.within.contains(&name)))
    };
    let is_compared = || spec.referring(entity).any(|(_, _, reference)| reference.same.contains(&name));
    let names_the_caller =
        || spec.caller.is_some_and(|caller| caller.entity == entity.name && caller.by.contains(&name));
    let reason = if is_link || is_edge() {
        LoneReason::Circle
    } else if is_mark() {
        LoneReason::Mark
    } else if is_number() {
        LoneReason::Number
    } else if is_numbered_within() {
        LoneReason::Numbered
    } else if is_compared() {
        LoneReason::Compared
    } else if names_the_caller() {
        LoneReason::Caller
    } else {
        return None;
    };
    Some(LoneChange { action: Action::Update, field: Some(name), reason })
}
