//! Random programs of operations on entities, as data.
//!
//! A step names rows by their place among those that are there when it is made, so that a program still makes sense without some of
//! its steps.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::{
    ToolSpec,
    spec::{Action, CALLER, EntitySpec, FieldSpec, FieldType, FilterBy, RowOperation, RowRule, Scope},
};

use super::spec;
use crate::{
    check::{Bench, Case},
    judgement::Stop,
    ledger::rows::Row,
    rows::{Model, Request, RowsClient, requests, requests::Said, values},
};

/// Number of steps of a program.
const STEPS: usize = 25;
/// Number of entities up to which a program has all of them.
const MAX_ENTITIES: usize = 6;
/// Number of the plain values of the rows with which a program of some entities begins.
const FIRST: usize = 90;
/// The key of no row.
const MISSING: &str = "no-such-row";
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
    /// Label of the operation, if not the first one that does this.
    #[serde(default)]
    label: Option<String>,
    /// Whether no org is named.
    #[serde(default)]
    names_no_org: bool,
    /// What stands beside the key or the data, and is required or not.
    #[serde(default)]
    beside: Beside,
    /// How the call names its caller: a row, and by which of the fields.
    #[serde(default)]
    caller: Option<(Choice, usize)>,
    /// Values of the members that select the rows of a list.
    #[serde(default)]
    filters: Vec<(String, Choice)>,
}

/// What a request says beside the key or the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Beside {
    /// What is required, rightly.
    #[default]
    Required,
    /// All that it can say, rightly.
    All,
    /// All that it can say, and no key.
    Alone,
    /// All that it can say, wrongly.
    Wrong,
}

/// An operation that programs call.
#[derive(Debug, Clone, Copy)]
struct Operation {
    entity: &'static EntitySpec,
    name: Name,
    tool: &'static ToolSpec,
    /// Whether it is the first one that does this.
    is_first: bool,
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
    let created: Vec<_> = operations
        .iter()
        .filter(|it| it.name == Name::Create && it.is_first)
        .map(|it| it.entity)
        .collect();
    if created.is_empty() {
        return Err(Stop::NotApplicable(
            "the server has no operation that creates a row".into(),
        ));
    }
    let orgs = requests::orgs_of(bench.subject.contract).len().max(1);
    let cases = (1..=many).map(|number| {
        let mut dice = bench.dice(&format!("rows {name} {number}"));
        let (first, operations) = if created.len() <= MAX_ENTITIES {
            (Vec::new(), operations.clone())
        } else {
            some_of(&created, &operations, number, &mut dice)
        };
        let begun: Vec<_> = first.into_iter().map(needed).collect();
        let further = (0..STEPS).map(|at| step(at, &operations, orgs, &mut dice));
        let steps: Vec<_> = begun.into_iter().chain(further).collect();
        Case::new(format!("program {number}"), steps)
    });
    Ok(cases.collect())
}

/// Returns two entities of many with those that they must refer to, in the order in which their rows can be created, and the operations
/// on them.
fn some_of(
    created: &[&'static EntitySpec],
    operations: &[Operation],
    number: usize,
    dice: &mut fastrand::Rng,
) -> (Vec<&'static EntitySpec>, Vec<Operation>) {
    let turn = number * 2 % created.len();
    let other = if number * 2 <= created.len() {
        turn + 1
    } else {
        dice.usize(..created.len())
    };
    let mut chosen: Vec<&'static EntitySpec> = Vec::new();
    for entity in [created[turn], created[other % created.len()]] {
        with_needed(entity, created, &mut chosen);
    }
    let of = operations
        .iter()
        .filter(|it| chosen.iter().any(|entity| entity.name == it.entity.name));
    let of = of.copied().collect();
    (chosen, of)
}

/// Adds the entities that a row must refer to, then its own.
fn with_needed(
    entity: &'static EntitySpec,
    created: &[&'static EntitySpec],
    chosen: &mut Vec<&'static EntitySpec>,
) {
    for (field, reference) in entity.references() {
        let is_made = field.optional || field.default.is_some() || field.is_of_store();
        let to = created
            .iter()
            .find(|to| to.name == reference.to && to.name != entity.name);
        if let Some(to) = to.filter(|to| !is_made && to.scope != Scope::Root) {
            with_needed(to, created, chosen);
        }
    }
    if !chosen.iter().any(|it| it.name == entity.name) {
        chosen.push(entity);
    }
}

/// Returns the step that creates a row of an entity with what it needs alone.
fn needed(entity: &'static EntitySpec) -> Step {
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
        _ => Choice::Value(values::plain(field, FIRST)),
    };
    let any = entity.rules.iter().filter_map(|rule| match rule {
        RowRule::AnyOf(names) => entity.field(names[0]),
        _ => None,
    });
    let fields = entity.fields.iter().filter(is_needed).chain(any);
    Step::Call(Box::new(Call {
        set: fields
            .map(|field| (field.name.to_owned(), value(field)))
            .collect(),
        names_no_org: entity.scope == Scope::Root,
        ..Call::of(Name::Create, entity)
    }))
}

/// Returns the operations that the server has.
fn operations(bench: &Bench<'_>) -> Result<Vec<Operation>, Stop> {
    let contract = bench.subject.contract;
    let mut all = Vec::new();
    for entity in spec(bench)?.entities {
        for (name, action, _) in Name::ALL {
            let first = requests::find(contract, entity.name, action);
            let of = contract.operations().filter(|tool| {
                let does = |rows: RowOperation| rows.entity == entity.name && rows.action == action;
                tool.rows.is_some_and(does) && bench.subject.adapter.has(tool, None)
            });
            for tool in of {
                let is_first = first.is_some_and(|first| std::ptr::eq(first, tool));
                let is_of_other_tool = first.is_none_or(|first| first.name != tool.name);
                let is_own = tool.rows.is_some_and(|rows| !rows.set.is_empty());
                if is_first || is_of_other_tool || is_own {
                    all.push(Operation {
                        entity,
                        name,
                        tool,
                        is_first,
                    });
                }
            }
        }
    }
    Ok(all)
}

fn step(at: usize, operations: &[Operation], orgs: usize, dice: &mut fastrand::Rng) -> Step {
    if at > 0 && dice.u8(..30) == 0 {
        return Step::Restart;
    }
    // At first rows must come into being.
    let is_early = at < 8;
    let weight = |it: &Operation| match it.name {
        Name::Create => 10,
        _ if is_early => 0,
        name => Name::ALL.iter().find(|(it, ..)| *it == name).map_or(0, |it| it.2),
    };
    let all: u32 = operations.iter().map(weight).sum();
    let mut left = dice.u32(..all.max(1));
    let chosen = operations.iter().find(|operation| {
        let weight = weight(operation);
        let is_it = left < weight;
        left = left.saturating_sub(weight);
        is_it
    });
    let Operation {
        entity,
        name,
        tool,
        is_first,
    } = chosen.copied().unwrap_or(operations[0]);
    let row = match dice.u8(..10) {
        0 => Choice::Missing,
        1 => Choice::Elsewhere(dice.usize(..8)),
        _ => Choice::Row(dice.usize(..8)),
    };
    let mut call = Call {
        // Most of it is in one org, where rows meet.
        org: if dice.u8(..4) == 0 { dice.usize(..orgs) } else { 0 },
        row,
        set: match name {
            Name::Create => created(entity, dice),
            Name::Update => updated(entity, dice),
            Name::List => listed(entity, dice),
            Name::Get | Name::Delete => Vec::new(),
        },
        limit: (name == Name::List && dice.bool()).then(|| dice.u64(1..5)),
        after: (name == Name::List && dice.u8(..3) == 0).then(|| Choice::Row(dice.usize(..8))),
        label: (!is_first).then(|| tool.label().to_owned()),
        ..Call::of(name, entity)
    };
    if let Some(rows) = tool.rows {
        call.vary(entity, &rows, dice);
    }
    Step::Call(Box::new(call))
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
    fn of(action: Name, entity: &EntitySpec) -> Self {
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

    /// Varies what only some operations can say.
    fn vary(&mut self, entity: &'static EntitySpec, operation: &RowOperation, dice: &mut fastrand::Rng) {
        if entity.scope == Scope::Root && !matches!(self.action, Name::Get | Name::List) {
            self.names_no_org = dice.u8(..4) > 0;
        }
        let is_beside =
            |(_, field): &(&str, &str)| self.action == Name::Create || !entity.key.contains(field);
        if self.action != Name::List && operation.arguments.iter().any(is_beside) {
            self.beside = match dice.u8(..12) {
                0 => Beside::Wrong,
                1 => Beside::Alone,
                2..=4 => Beside::All,
                _ => Beside::Required,
            };
        }
        let is_callers = |field: &FieldSpec| field.from == Some(CALLER);
        if self.action == Name::Create && entity.fields.iter().any(is_callers) && dice.bool() {
            let user = if dice.u8(..5) == 0 {
                Choice::Missing
            } else {
                Choice::Row(dice.usize(..8))
            };
            self.caller = Some((user, dice.usize(..4)));
        }
        if let Some(wildcard) = operation.wildcard
            && dice.bool()
        {
            let named = operation.arguments.iter().map(|(_, field)| *field);
            self.set = named
                .map(|field| (field.to_owned(), Choice::Value(wildcard.into())))
                .collect();
        }
        for filter in operation.filters {
            if dice.u8(..3) > 0 {
                continue;
            }
            let value = match filter.by {
                FilterBy::Value(names) => names
                    .first()
                    .and_then(|name| entity.field(name))
                    .map(|it| choice(it, dice)),
                FilterBy::Item(_) => Some(Choice::Value(
                    values::TEXTS[dice.usize(..values::TEXTS.len())].into(),
                )),
                FilterBy::Words(names) => {
                    let name = names[dice.usize(..names.len())];
                    let words = [
                        name,
                        &name.to_uppercase(),
                        &format!("{} 1", &name[1..]),
                        "A",
                        "é",
                        "no such word",
                        " ",
                    ];
                    Some(Choice::Value(words[dice.usize(..words.len())].into()))
                }
            };
            self.filters
                .extend(value.map(|value| (filter.member.to_owned(), value)));
        }
    }

    /// Returns the request for the rows that are there; `None` if it makes no sense with them.
    pub(super) fn request(&self, rows: &RowsClient<'_>, model: &Model) -> Option<Request> {
        let entity = rows.spec.entity(&self.entity)?;
        let orgs = rows.org_keys();
        let org = orgs.get(self.org % orgs.len().max(1)).cloned();
        let org = org.filter(|_| !self.names_no_org);
        let place = Place {
            rows,
            model,
            org: org.as_deref(),
        };
        let tool = rows.tool(entity, self.action.action(), self.label.as_deref())?;
        let operation = tool.rows?;
        let mut said = Said {
            org: org.clone(),
            ..Said::default()
        };
        for (name, choice) in &self.set {
            let Some(field) = entity.field(name) else { continue };
            let is_taken = operation.arguments.iter().any(|(_, field)| field == name);
            if self.action == Name::List && !is_taken {
                continue;
            }
            if let Some(value) = place.value(entity, field, choice, &said.data) {
                said.data.insert(name.clone(), value);
            }
        }
        match self.action {
            Name::Create => self.say_beside_data(&place, entity, tool, &mut said),
            Name::List => said.key = std::mem::take(&mut said.data),
            Name::Get | Name::Update | Name::Delete => {
                said.key = place.key(entity, &self.row)?;
                self.say_beside_key(&place, entity, tool, &mut said);
            }
        }
        if operation.limit.is_some() {
            said.limit = self.limit;
        }
        if operation.after.is_some() && entity.key.len() == 1 {
            let after = self.after.as_ref().and_then(|after| place.row(entity, after));
            let by = operation.after_by.unwrap_or(entity.key[0]);
            said.after = after.and_then(|row| row.get(by).cloned());
        }
        for (member, choice) in &self.filters {
            let by = operation.filters.iter().find(|filter| filter.member == member);
            let field = by.and_then(|filter| match filter.by {
                FilterBy::Value(names) => entity.field(names.first()?),
                FilterBy::Item(name) => entity.field(name),
                FilterBy::Words(names) => entity.field(names.first()?),
            });
            if let Some(value) = field.and_then(|field| place.value(entity, field, choice, &Row::new())) {
                said.filters.insert(member.clone(), value);
            }
        }
        said.caller = place.caller(self.caller.as_ref());
        rows.request_by(tool, said).ok()?
    }

    /// Says what stands beside the data of a new row.
    fn say_beside_data(
        &self,
        place: &Place<'_>,
        entity: &'static EntitySpec,
        tool: &ToolSpec,
        said: &mut Said,
    ) {
        let arguments = tool.rows.map_or(&[][..], |rows| rows.arguments);
        let required = requests::required(tool);
        for field in arguments.iter().filter_map(|(_, name)| entity.field(name)) {
            if let Some(copy) = field.copy.filter(|_| required.contains(&field.name)) {
                let of = entity.field(copy.reference).and_then(|of| match of.kind {
                    FieldType::Ref(reference) => place.rows.spec.entity(reference.to),
                    _ => None,
                });
                let key = said.data.get(copy.reference);
                let row = of.zip(key).and_then(|(of, key)| {
                    let mut rows = place.model.visible(of, place.org);
                    rows.find(|row| row.get(of.key[0]) == Some(key))
                });
                let value = row.and_then(|row| row.get(copy.field).cloned());
                said.data
                    .insert(field.name.to_owned(), value.unwrap_or_else(|| MISSING.into()));
            }
            let Some(value) = said.data.get(field.name).cloned() else {
                continue;
            };
            match self.beside {
                Beside::Required => {}
                // It stands there twice.
                Beside::All | Beside::Alone => drop(said.key.insert(field.name.to_owned(), value)),
                Beside::Wrong => drop(said.key.insert(field.name.to_owned(), MISSING.into())),
            }
        }
    }

    /// Says what the row that a key names must have besides.
    fn say_beside_key(
        &self,
        place: &Place<'_>,
        entity: &'static EntitySpec,
        tool: &ToolSpec,
        said: &mut Said,
    ) {
        let arguments = tool.rows.map_or(&[][..], |rows| rows.arguments);
        let required = requests::required(tool);
        let key = said.key.clone();
        let is_it = |row: &&Row| key.iter().all(|(name, value)| row.get(name) == Some(value));
        let row = place.model.visible(entity, place.org).find(is_it);
        for (_, name) in arguments.iter().filter(|(_, name)| !key.contains_key(*name)) {
            if self.beside == Beside::Required && !required.contains(name) {
                continue;
            }
            let value = row.and_then(|row| row.get(*name).cloned());
            let value = value.filter(|_| self.beside != Beside::Wrong);
            said.key
                .insert((*name).to_owned(), value.unwrap_or_else(|| MISSING.into()));
        }
        if self.beside == Beside::Alone && !required.iter().any(|name| key.contains_key(*name)) {
            said.key.retain(|name, _| !key.contains_key(name));
        }
    }
}

/// The rows that a step can name.
struct Place<'m> {
    rows: &'m RowsClient<'m>,
    model: &'m Model,
    org: Option<&'m str>,
}

impl Place<'_> {
    /// Returns one of the rows.
    fn row(&self, entity: &'static EntitySpec, choice: &Choice) -> Option<&Row> {
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
                Some(all[number % all.len()])
            }
            _ => None,
        }
    }

    /// Returns the key of a row.
    fn key(&self, entity: &'static EntitySpec, choice: &Choice) -> Option<Row> {
        if *choice == Choice::Missing {
            let missing = |name: &&str| ((*name).to_owned(), json!(MISSING));
            return Some(entity.key.iter().map(missing).collect());
        }
        self.row(entity, choice).map(|row| requests::key_of(entity, row))
    }

    /// Returns how the call names its caller: by a field of a row, or by the default one's key.
    fn caller(&self, named: Option<&(Choice, usize)>) -> Option<String> {
        let caller = self.rows.spec.caller?;
        let entity = self.rows.spec.entity(caller.entity)?;
        let Some((choice, by)) = named else {
            return Some(caller.default.to_owned());
        };
        let by = caller.by[by % caller.by.len()];
        let value = self.row(entity, choice).and_then(|row| row.get(by)?.as_str());
        Some(value.unwrap_or(MISSING).to_owned())
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
