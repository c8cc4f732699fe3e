//! Random programs of operations on entities, as data, and programs aimed at single rules.
//!
//! A step names rows by their place among those that are there when it is made, so that a program still makes sense without some of
//! its steps.
//!
//! | module | is for |
//! |---|---|
//! | [`step`] | steps, as data |
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
mod step;

pub(super) use self::step::{Call, Step};
use super::basics::spec;
use crate::{checks::prelude::*, rows::requests};

/// Number of steps of a program.
const STEPS: usize = 25;
/// Number of entities up to which a program has all of them.
const MAX_ENTITIES: usize = 6;
/// Returns random programs, which depend on the seed alone.
pub(super) fn cases(bench: &Bench<'_>, name: &str, many: usize) -> Result<Vec<Case>, Stop> {
    let operations = operation::all(bench)?;
    let created = operation::created(&operations);
    let created = nonempty(created, "the server has no operation that creates a row")?;
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
