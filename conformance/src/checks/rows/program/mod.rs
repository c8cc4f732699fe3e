//! Random programs of operations on entities, as data, and programs aimed at single rules.
//!
//! A step names rows by their place among those that are there when it is made, so that a program still makes sense without some of
//! its steps.
//!
//! | module | is for |
//! |---|---|
//! | [`operation`] | the operations that the server has |
//! | [`begin`] | the rows with which a program begins |
//! | [`random`] | random steps |
//! | [`aimed`] | steps that a wrong engine for one rule can't pass |
//! | [`request`], [`place`] | the request that a step makes of the rows that are there |

mod aimed;
mod begin;
mod operation;
mod place;
mod random;
mod request;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::spec::{Action, EntitySpec};

use self::operation::Operation;
use super::basics::spec;
use crate::{
    check::{Bench, Case},
    judgement::Stop,
    rows::requests,
};

/// Number of steps of a program.
const STEPS: usize = 25;
/// Number of entities up to which a program has all of them.
const MAX_ENTITIES: usize = 6;
/// The key of no row.
const MISSING: &str = "no-such-row";

/// One step of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::checks::rows) enum Step {
    /// The server is closed and started again.
    Restart,
    /// A call.
    Call(Box<Call>),
}

/// A call of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::checks::rows) struct Call {
    action: Name,
    entity: String,
    /// Index of the org.
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
    /// True if no org is named.
    #[serde(default)]
    names_no_org: bool,
    /// Values next to the key or the data, required or not.
    #[serde(default)]
    beside: Beside,
    /// The caller that the call names: a row, and the index of the field that names it.
    #[serde(default)]
    caller: Option<(Choice, usize)>,
    /// Values of the members that select the rows of a list.
    #[serde(default)]
    filters: Vec<(String, Choice)>,
}

/// The values that a request contains next to the key or the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Beside {
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
    /// The value that the row has.
    Same,
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

impl Call {
    fn new(action: Name, entity: &EntitySpec) -> Self {
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

/// Returns random programs, which depend on the seed alone.
pub(super) fn cases(bench: &Bench<'_>, name: &str, many: usize) -> Result<Vec<Case>, Stop> {
    let operations = operation::all(bench)?;
    let created = operation::created(&operations);
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
            begin::some_of(&created, &operations, number, &mut dice)
        };
        let begun: Vec<_> = first.into_iter().map(begin::needed).collect();
        let further = (0..STEPS).map(|at| random::step(at, &operations, orgs, &mut dice));
        let steps: Vec<_> = begun.into_iter().chain(further).collect();
        Case::new(format!("program {number}"), steps)
    });
    Ok(cases.collect())
}

/// Returns the programs that are aimed at single rules of the contract's entities.
pub(super) fn aimed(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let operations = operation::all(bench)?;
    let programs = aimed::programs(spec(bench)?, &operations).into_iter();
    let cases = programs.map(|(name, steps)| Case::new(name, steps));
    Ok(cases.collect())
}

/// Returns the names of the entities that a program is about.
pub(super) fn entities(steps: &[Step]) -> Vec<&str> {
    let names = steps.iter().filter_map(|step| match step {
        Step::Call(call) => Some(call.entity.as_str()),
        Step::Restart => None,
    });
    names.collect()
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
