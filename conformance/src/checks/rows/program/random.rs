//! Random steps.

use serde_json::Value;
use tabellion_runtime::spec::{
    Action, CALLER, EntitySpec, FieldSpec, FieldType, FilterBy, RowOperation, Scope,
};

use super::{
    operation::Operation,
    step::{Beside, Call, Choice, Step},
};
use crate::rows::values;

/// Size up to which wrong values are part of a program, as JSON.
const MAX_WRONG: usize = 1_000;

/// Returns a step at that place of a program.
pub(super) fn step(at: usize, operations: &[Operation], orgs: usize, dice: &mut fastrand::Rng) -> Step {
    if at > 0 && dice.u8(..30) == 0 {
        return Step::Restart;
    }
    // At first rows must come into being.
    let is_early = at < 8;
    let weight = |it: &Operation| match it.action {
        Action::Create => 10,
        _ if is_early => 0,
        Action::Update => 8,
        Action::List => 4,
        Action::Delete => 3,
        Action::Get => 2,
    };
    let all: u32 = operations.iter().map(weight).sum();
    let mut left = dice.u32(..all.max(1));
    let chosen = operations.iter().find(|operation| {
        let weight = weight(operation);
        let is_it = left < weight;
        left = left.saturating_sub(weight);
        is_it
    });
    let Operation { entity, action, tool, is_first } = chosen.copied().unwrap_or(operations[0]);
    let row = match dice.u8(..10) {
        0 => Choice::Missing,
        1 => Choice::Elsewhere(dice.usize(..8)),
        _ => Choice::Row(dice.usize(..8)),
    };
    let mut call = Call {
        // Most of it is in one org, where rows meet.
        org: if dice.u8(..4) == 0 { dice.usize(..orgs) } else { 0 },
        row,
        set: match action {
            Action::Create => created(entity, dice),
            Action::Update => updated(entity, dice),
            Action::List => listed(entity, dice),
            Action::Get | Action::Delete => Vec::new(),
        },
        limit: (action == Action::List && dice.bool()).then(|| dice.u64(1..5)),
        after: (action == Action::List && dice.u8(..3) == 0).then(|| Choice::Row(dice.usize(..8))),
        label: (!is_first).then(|| tool.label().to_owned()),
        ..Call::new(action, entity)
    };
    if let Some(rows) = tool.rows {
        call.vary(entity, &rows, dice);
    }
    Step::Call(Box::new(call))
}

fn created(entity: &'static EntitySpec, dice: &mut fastrand::Rng) -> Vec<(String, Choice)> {
    let given =
        entity.fields.iter().filter(|field| !field.is_of_store() && entity.org_field() != Some(field.name));
    let mut set = Vec::new();
    for field in given {
        let is_made = field.optional
            || field.default.is_some()
            || field.from.is_some()
            || field.slug_of.is_some()
            || matches!(field.kind, FieldType::Next(_) | FieldType::Id);
        let chance = if is_made { 2 } else { 30 };
        if dice.u8(..chance) > 0 || chance == 2 && dice.bool() {
            set.push((field.name.to_owned(), choice(field, dice)));
        }
    }
    set
}

fn updated(entity: &'static EntitySpec, dice: &mut fastrand::Rng) -> Vec<(String, Choice)> {
    let settable: Vec<_> = entity
        .fields
        .iter()
        .filter(|field| !field.is_fixed() || dice.u8(..20) == 0)
        .filter(|field| entity.org_field() != Some(field.name))
        .collect();
    let many = 1 + dice.usize(..3);
    let mut set: Vec<(String, Choice)> = Vec::new();
    for _ in 0..many.min(settable.len()) {
        let field = settable[dice.usize(..settable.len())];
        if !set.iter().any(|(name, _)| name == field.name) {
            let can_stay = !field.hidden && !matches!(field.kind, FieldType::Secret { .. });
            let value = if can_stay && dice.u8(..5) == 0 { Choice::Same } else { choice(field, dice) };
            set.push((field.name.to_owned(), value));
        }
    }
    set
}

/// Returns values of fields by which rows may be listed; those that the operation does not take are left out later.
fn listed(entity: &'static EntitySpec, dice: &mut fastrand::Rng) -> Vec<(String, Choice)> {
    let choice = |field: &'static FieldSpec| (field.name.to_owned(), choice(field, dice));
    entity.fields.iter().map(choice).collect()
}

fn choice(field: &'static FieldSpec, dice: &mut fastrand::Rng) -> Choice {
    if dice.u8(..25) == 0 {
        let wrong = values::wrong(field).into_iter();
        let small: Vec<_> = wrong.filter(|(_, value)| value.to_string().len() < MAX_WRONG).collect();
        if !small.is_empty() {
            return Choice::Value(small[dice.usize(..small.len())].1.clone());
        }
    }
    match field.kind {
        FieldType::Ref(_) if field.optional && dice.u8(..4) == 0 => Choice::Value(Value::Null),
        FieldType::Ref(_) => match dice.u8(..20) {
            0 => Choice::Missing,
            1 => Choice::Elsewhere(dice.usize(..8)),
            _ => Choice::Row(dice.usize(..8)),
        },
        FieldType::Next(next) if next.strict => Choice::Next(dice.u8(..3) > 0),
        _ => Choice::Value(values::random(field, dice)),
    }
}

impl Call {
    fn vary(&mut self, entity: &'static EntitySpec, operation: &RowOperation, dice: &mut fastrand::Rng) {
        if entity.scope == Scope::Root && !matches!(self.action, Action::Get | Action::List) {
            self.names_no_org = dice.u8(..4) > 0;
        }
        let is_beside =
            |(_, field): &(&str, &str)| self.action == Action::Create || !entity.key.contains(field);
        if self.action != Action::List && operation.arguments.iter().any(is_beside) {
            self.beside = match dice.u8(..12) {
                0 => Beside::Wrong,
                1 => Beside::Alone,
                2..=4 => Beside::All,
                _ => Beside::Required,
            };
        }
        let is_callers = |field: &FieldSpec| field.from == Some(CALLER);
        if self.action == Action::Create && entity.fields.iter().any(is_callers) && dice.bool() {
            let user = if dice.u8(..5) == 0 { Choice::Missing } else { Choice::Row(dice.usize(..8)) };
            self.caller = Some((user, dice.usize(..4)));
        }
        if let Some(wildcard) = operation.wildcard
            && dice.bool()
        {
            let named = operation.arguments.iter().map(|(_, field)| *field);
            self.set = named.map(|field| (field.to_owned(), Choice::Value(wildcard.into()))).collect();
        }
        for filter in operation.filters {
            if dice.u8(..3) > 0 {
                continue;
            }
            let value = match filter.by {
                FilterBy::Value(names) => {
                    names.first().and_then(|name| entity.field(name)).map(|it| choice(it, dice))
                }
                FilterBy::Item(_) => {
                    Some(Choice::Value(values::TEXTS[dice.usize(..values::TEXTS.len())].into()))
                }
                FilterBy::Words(names) => {
                    let name = names[dice.usize(..names.len())];
                    let words = [
                        name,
                        &name.to_uppercase(),
                        &format!("{} 1", &name[1..]),
                        &format!("{name} 1 2"),
                        "0 1",
                        "A",
                        "é",
                        "no such word",
                        " ",
                    ];
                    Some(Choice::Value(words[dice.usize(..words.len())].into()))
                }
            };
            self.filters.extend(value.map(|value| (filter.member.to_owned(), value)));
        }
    }
}
