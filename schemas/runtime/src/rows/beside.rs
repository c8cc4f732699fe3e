//! Changes that can be made concurrently with others of their org: unique indexes, foreign keys and the lock of the changed row protect all
//! the data that their rules have read.

use super::{RowChange, RowEdit, RowsChange};
use crate::spec::{EntitySpec, FieldSpec, FieldType, Next, RowsSpec};

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
            // A removal reads all rows that refer to this one.
            RowEdit::Remove => false,
            RowEdit::Insert(row) => {
                let is_marked = |field: &&FieldSpec| {
                    !field.one_true_in.is_empty() && row.get(field.name) == Some(&true.into())
                };
                let is_counted = |field: &&FieldSpec| match field.kind {
                    FieldType::Next(next) => !is_unique(entity, field.name, next),
                    _ => false,
                };
                entity.acyclic.is_empty()
                    && !entity
                        .fields
                        .iter()
                        .any(|field| is_marked(&field) || is_counted(&field))
            }
            RowEdit::Patch(set) => set.keys().all(|name| {
                entity
                    .field(name)
                    .is_some_and(|field| !is_read_elsewhere(spec, entity, field))
            }),
        }
    }
}

/// Returns true if an index ensures that a number is used once.
fn is_unique(entity: &EntitySpec, name: &'static str, next: Next) -> bool {
    let is_of_next = |field: &&str| *field == name || next.within.contains(field);
    entity.uniques.iter().any(|unique| {
        unique.while_null.is_none() && unique.fields.contains(&name) && unique.fields.iter().all(is_of_next)
    })
}

/// Returns true if rules of other rows depend on a field, in more than a unique value.
fn is_read_elsewhere(spec: &RowsSpec, entity: &'static EntitySpec, field: &'static FieldSpec) -> bool {
    let name = field.name;
    let is_link = match field.kind {
        FieldType::Ref(reference) => reference.acyclic,
        FieldType::Next(next) => !is_unique(entity, name, next),
        _ => false,
    };
    let is_mark = entity.fields.iter().any(|other| {
        !other.one_true_in.is_empty() && (other.name == name || other.one_true_in.contains(&name))
    });
    let is_edge = entity
        .acyclic
        .iter()
        .any(|edges| edges.from == name || edges.to == name || edges.by == Some(name));
    let is_counted_within = entity.fields.iter().any(|other| match other.kind {
        FieldType::Next(next) => next.within.contains(&name),
        _ => false,
    });
    let is_compared = spec
        .referring(entity)
        .any(|(_, _, reference)| reference.same.contains(&name));
    let names_the_caller = spec
        .caller
        .is_some_and(|caller| caller.entity == entity.name && caller.by.contains(&name));
    is_link || is_mark || is_edge || is_counted_within || is_compared || names_the_caller
}
