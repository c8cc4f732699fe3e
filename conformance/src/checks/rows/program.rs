//! Random programs of operations on entities, as data.
//!
//! A step names rows by their place among those that are there when it is made, so that a program still makes sense without some of
//! its steps.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::spec::{Action, EntitySpec, FieldSpec, FieldType, Scope};

use super::{has, spec};
use crate::{
    check::{Bench, Case},
    judgement::Stop,
    ledger::rows::Row,
    rows::{Model, Request, RowsClient, requests, requests::Said, values},
};

/// Number of steps of a program.
const STEPS: usize = 25;
/// Size up to which wrong values are part of a program, as JSON.
const MAX_WRONG: usize = 1_000;

/// One step of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Step {
    /// The server is closed and started again.
    Restart,
    /// A call.
    Call(Box<Call>),
}

/// A call of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    action: Name,
    entity: String,
    /// Which of the orgs.
    org: usize,
    /// The row that it is about.
    row: Choice,
    /// Values of fields; for a list, those by which rows are chosen.
    set: Vec<(String, Choice)>,
    limit: Option<u64>,
    after: Option<Choice>,
}

/// What an operation does, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    Create,
    Get,
    Update,
    List,
    Delete,
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    /// This value.
    Value(Value),
    /// The key of one of the rows that are there.
    Row(usize),
    /// The key of a row of another org.
    Elsewhere(usize),
    /// The key of no row.
    Missing,
    /// The number after the largest one, or one that is not.
    Next(bool),
}

impl Name {
    const ALL: [(Self, Action, u32); 5] = [
        (Self::Create, Action::Create, 10),
        (Self::Update, Action::Update, 8),
        (Self::Delete, Action::Delete, 3),
        (Self::Get, Action::Get, 2),
        (Self::List, Action::List, 4),
    ];

    fn action(self) -> Action {
        match self {
            Self::Create => Action::Create,
            Self::Get => Action::Get,
            Self::Update => Action::Update,
            Self::List => Action::List,
            Self::Delete => Action::Delete,
        }
    }
}

/// Returns random programs, which depend on the seed alone.
pub(super) fn cases(bench: &Bench<'_>, name: &str, many: usize) -> Result<Vec<Case>, Stop> {
    let operations = operations(bench)?;
    if !operations.iter().any(|(_, name)| *name == Name::Create) {
        return Err(Stop::NotApplicable(
            "the server has no operation that creates a row".into(),
        ));
    }
    let orgs = requests::orgs(spec(bench)?).len().max(1);
    let cases = (1..=many).map(|number| {
        let mut dice = bench.dice(&format!("rows {name} {number}"));
        let steps: Vec<_> = (0..STEPS)
            .map(|at| step(at, &operations, orgs, &mut dice))
            .collect();
        Case::new(format!("program {number}"), steps)
    });
    Ok(cases.collect())
}

/// Returns the operations that the server has, each with its entity.
fn operations(bench: &Bench<'_>) -> Result<Vec<(&'static EntitySpec, Name)>, Stop> {
    let entities = spec(bench)?.entities.iter();
    let all = entities.flat_map(|entity| Name::ALL.map(|(name, action, _)| (entity, name, action)));
    let had = all.filter(|(entity, _, action)| has(bench, entity.name, &[*action]));
    Ok(had.map(|(entity, name, _)| (entity, name)).collect())
}

fn step(
    at: usize,
    operations: &[(&'static EntitySpec, Name)],
    orgs: usize,
    dice: &mut fastrand::Rng,
) -> Step {
    if at > 0 && dice.u8(..30) == 0 {
        return Step::Restart;
    }
    // At first rows must come into being.
    let is_early = at < 8;
    let weight = |(_, name): &(&EntitySpec, Name)| match name {
        Name::Create => 10,
        _ if is_early => 0,
        name => Name::ALL.iter().find(|(it, ..)| it == name).map_or(0, |it| it.2),
    };
    let all: u32 = operations.iter().map(weight).sum();
    let mut left = dice.u32(..all.max(1));
    let chosen = operations.iter().find(|operation| {
        let weight = weight(operation);
        let is_it = left < weight;
        left = left.saturating_sub(weight);
        is_it
    });
    let (entity, action) = chosen.copied().unwrap_or(operations[0]);
    let row = match dice.u8(..10) {
        0 => Choice::Missing,
        1 => Choice::Elsewhere(dice.usize(..8)),
        _ => Choice::Row(dice.usize(..8)),
    };
    Step::Call(Box::new(Call {
        action,
        entity: entity.name.to_owned(),
        // Most of it is in one org, where rows meet.
        org: if dice.u8(..4) == 0 { dice.usize(..orgs) } else { 0 },
        row,
        set: match action {
            Name::Create => created(entity, dice),
            Name::Update => updated(entity, dice),
            Name::List => listed(entity, dice),
            Name::Get | Name::Delete => Vec::new(),
        },
        limit: (action == Name::List && dice.bool()).then(|| dice.u64(1..5)),
        after: (action == Name::List && dice.u8(..3) == 0).then(|| Choice::Row(dice.usize(..8))),
    }))
}

fn created(entity: &'static EntitySpec, dice: &mut fastrand::Rng) -> Vec<(String, Choice)> {
    let given = entity
        .fields
        .iter()
        .filter(|field| !field.is_of_store() && entity.org_field() != Some(field.name));
    let mut set = Vec::new();
    for field in given {
        let is_made = field.optional
            || field.default.is_some()
            || field.from.is_some()
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
            set.push((field.name.to_owned(), choice(field, dice)));
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
        let small: Vec<_> = wrong
            .filter(|(_, value)| value.to_string().len() < MAX_WRONG)
            .collect();
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
    /// Returns the request for the rows that are there; `None` if it makes no sense with them.
    pub(super) fn request(&self, rows: &RowsClient<'_>, model: &Model) -> Option<Request> {
        let entity = rows.spec.entity(&self.entity)?;
        let orgs = requests::orgs(rows.spec);
        let org = orgs.get(self.org % orgs.len().max(1)).cloned();
        let place = Place {
            rows,
            model,
            org: org.as_deref(),
        };
        let tool = rows
            .request(entity, self.action.action(), Row::new(), Row::new())
            .ok()?;
        let mut said = Said {
            org: org.clone(),
            ..Said::default()
        };
        for (name, choice) in &self.set {
            let Some(field) = entity.field(name) else { continue };
            let is_taken = tool.operation.arguments.iter().any(|(_, field)| field == name);
            if self.action == Name::List && !is_taken {
                continue;
            }
            if let Some(value) = place.value(entity, field, choice, &said.data) {
                said.data.insert(name.clone(), value);
            }
        }
        match self.action {
            Name::Create => {}
            Name::List => said.key = std::mem::take(&mut said.data),
            Name::Get | Name::Update | Name::Delete => said.key = place.key(entity, &self.row)?,
        }
        if tool.operation.limit.is_some() {
            said.limit = self.limit;
        }
        if tool.operation.after.is_some() && entity.key.len() == 1 {
            let after = self.after.as_ref().and_then(|after| place.key(entity, after));
            said.after = after.and_then(|key| key.get(entity.key[0]).cloned());
        }
        rows.request_of(entity, self.action.action(), said).ok()
    }
}

/// The rows that a step can name.
struct Place<'m> {
    rows: &'m RowsClient<'m>,
    model: &'m Model,
    org: Option<&'m str>,
}

impl Place<'_> {
    /// Returns the key of a row.
    fn key(&self, entity: &'static EntitySpec, choice: &Choice) -> Option<Row> {
        let all: Vec<_> = match choice {
            Choice::Elsewhere(_) => {
                let here: Vec<_> = self.model.visible(entity, self.org).collect();
                let all = self.model.all(entity).iter();
                all.filter(|row| !here.contains(row)).collect()
            }
            _ => self.model.visible(entity, self.org).collect(),
        };
        match choice {
            Choice::Row(number) | Choice::Elsewhere(number) if !all.is_empty() => {
                Some(requests::key_of(entity, all[number % all.len()]))
            }
            Choice::Missing => {
                let missing = |name: &&str| ((*name).to_owned(), json!("no-such-row"));
                Some(entity.key.iter().map(missing).collect())
            }
            _ => None,
        }
    }

    /// Returns the value of a field of a row, of which `known` is known already; `None` if there is none.
    fn value(
        &self,
        entity: &'static EntitySpec,
        field: &FieldSpec,
        choice: &Choice,
        known: &Row,
    ) -> Option<Value> {
        match (choice, field.kind) {
            (Choice::Value(value), _) => Some(value.clone()),
            (Choice::Next(is_right), FieldType::Next(next)) => {
                let is_same = |row: &&Row| next.within.iter().all(|name| row.get(*name) == known.get(*name));
                let same = self.model.visible(entity, self.org).filter(is_same);
                let largest = same.filter_map(|row| row.get(field.name)?.as_i64()).max();
                Some((largest.unwrap_or(0) + if *is_right { 1 } else { 9 }).into())
            }
            (choice, FieldType::Ref(reference)) => {
                let to = self.rows.spec.entity(reference.to)?;
                if to.scope == Scope::Root && entity.org_field() == Some(field.name) {
                    return None;
                }
                self.key(to, choice)?.get(to.key[0]).cloned()
            }
            _ => None,
        }
    }
}

/// Returns smaller programs: fewer steps, then fewer values.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    let Ok(steps) = case.read::<Vec<Step>>() else {
        return Vec::new();
    };
    let mut smaller = crate::check::fewer_steps::<Step>(case);
    for (number, step) in steps.iter().enumerate() {
        let Step::Call(call) = step else { continue };
        for gone in 0..call.set.len() {
            let mut fewer = call.clone();
            fewer.set.remove(gone);
            let mut steps = steps.clone();
            steps[number] = Step::Call(fewer);
            smaller.push(Case::new(case.name.clone(), steps));
        }
    }
    smaller
}
