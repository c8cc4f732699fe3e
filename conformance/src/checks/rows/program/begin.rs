//! The rows with which a program of some entities begins.

use tabellion_runtime::spec::{Action, EntitySpec, FieldSpec, FieldType, RowRule, Scope};

use super::{
    operation::Operation,
    step::{Call, Choice, Step},
};
use crate::rows::values;

/// Number of the plain values of the rows with which a program of some entities begins.
pub(super) const FIRST: usize = 90;

/// Returns two entities of many with those that they must refer to, in the order in which their rows can be created, and the operations
/// on them.
pub(super) fn some_of(
    created: &[&'static EntitySpec],
    operations: &[Operation],
    number: usize,
    dice: &mut fastrand::Rng,
) -> (Vec<&'static EntitySpec>, Vec<Operation>) {
    let turn = number * 2 % created.len();
    let other = if number * 2 <= created.len() { turn + 1 } else { dice.usize(..created.len()) };
    let mut chosen: Vec<&'static EntitySpec> = Vec::new();
    for entity in [created[turn], created[other % created.len()]] {
        with_needed(entity, created, &mut chosen);
    }
    let of = operations.iter().filter(|it| chosen.iter().any(|entity| entity.name == it.entity.name));
    let of = of.copied().collect();
    (chosen, of)
}

/// Adds the entities that a row must refer to, then its own.
pub(super) fn with_needed(
    entity: &'static EntitySpec,
    created: &[&'static EntitySpec],
    chosen: &mut Vec<&'static EntitySpec>,
) {
    for (field, reference) in entity.references() {
        let is_made = field.optional || field.default.is_some() || field.is_of_store();
        let to = created.iter().find(|to| to.name == reference.to && to.name != entity.name);
        if let Some(to) = to.filter(|to| !is_made && to.scope != Scope::Root) {
            with_needed(to, created, chosen);
        }
    }
    if !chosen.iter().any(|it| it.name == entity.name) {
        chosen.push(entity);
    }
}

/// Returns the step that creates a row of an entity with the required fields alone.
pub(super) fn needed(entity: &'static EntitySpec) -> Step {
    Step::Call(Box::new(row(entity, FIRST)))
}

/// Returns the call of that step, with the `number`-th of the plain values.
pub(super) fn row(entity: &'static EntitySpec, number: usize) -> Call {
    let is_needed = |field: &&FieldSpec| {
        let is_made = field.optional
            || field.default.is_some()
            || field.from.is_some()
            || field.slug_of.is_some()
            || matches!(field.kind, FieldType::Next(_));
        !is_made && !field.is_of_store() && entity.org_field() != Some(field.name)
    };
    let value = |field: &FieldSpec| match field.kind {
        FieldType::Ref(_) => Choice::Row(0),
        _ => Choice::Value(values::plain(field, number)),
    };
    let any = entity.rules.iter().filter_map(|rule| match rule {
        RowRule::AnyOf(names) => entity.field(names[0]),
        _ => None,
    });
    let fields = entity.fields.iter().filter(is_needed).chain(any);
    Call {
        set: fields.map(|field| (field.name.to_owned(), value(field))).collect(),
        names_no_org: entity.scope == Scope::Root,
        ..Call::new(Action::Create, entity)
    }
}
