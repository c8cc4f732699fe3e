//! Three calls at once, which share a transaction: after a fault at any of its points, each is made as a whole or not at all, no
//! acknowledged call is lost, and no refused one is there.

use serde_json::{Value, json};
use tabellion_conformance::stepper::{Call, Counting, Fault};

use super::sweep;
use crate::{
    data::{Data, Export},
    support::Server,
    torture::batch::{self, Answers, CALLERS, Struck},
};

fn id(caller: usize) -> String {
    format!("team-{caller}")
}

/// Makes the calls, all in one write.
fn call(server: &mut Server) -> Answers {
    let arguments = |caller| {
        let data = json!({ "id": id(caller), "name": id(caller) });
        json!({ "action": "create", "resource": "team", "data": data })
    };
    batch::call(server, "entity", std::array::from_fn(arguments))
}

/// Returns the number of commits: each writes the mark.
fn commits(calls: &[Call]) -> usize {
    let is_mark =
        |call: &&Call| call.name == "write" && call.paths.iter().any(|path| path.ends_with("mcb.mark"));
    calls.iter().filter(is_mark).count()
}

/// Makes the calls under the stepper; `None`, with a message, if that is not possible.
fn strike(template: &Data, fault: Option<Fault>) -> Option<Struck<Data>> {
    let data = template.copy();
    let (mut server, stepper) = sweep::step(&data, Counting::WhenArmed)?;
    // The first change of a process makes more system calls than others.
    let first = json!({ "action": "create", "resource": "team", "data": { "id": "first", "name": "first" } });
    let made = server.as_mut().map(|server| sweep::call(server, &first));
    assert!(matches!(made, Some(Ok(Ok(_)))), "it makes a change");
    stepper.arm(fault);
    let answers = server.map(|mut server| call(&mut server)).unwrap_or_default();
    let calls = stepper.disarm();
    Some(Struck { store: data, answers, calls })
}

fn made(export: &Export) -> [bool; CALLERS] {
    std::array::from_fn(|caller| {
        let is_it = |(entity, row): &(String, Value)| entity == "team" && row["id"] == *id(caller);
        export.rows.iter().any(is_it)
    })
}

/// Returns all problems after the fault.
fn judge(struck: &Struck<Data>) -> Vec<String> {
    let data = &struck.store;
    let export = match data.try_checked() {
        Ok(export) => export,
        Err(said) => return vec![said],
    };
    let (before, made) = (export.changes.len(), made(&export));
    let mut problems = struck.problems(made, |refusal| refusal.code == -32603);
    problems.extend(batch::problems_of_repetition(call(&mut data.serve()), made));
    let left = made.iter().filter(|is_made| !**is_made).count();
    match data.try_checked() {
        Ok(export) if export.changes.len() == before + left => {}
        Ok(export) => {
            problems.push(format!("{} changes, and {left} of {before} were left", export.changes.len()))
        }
        Err(said) => problems.push(said),
    }
    problems
}

#[test]
fn a_fault_at_any_point_of_a_batch_keeps_each_of_its_changes_whole() {
    let template = Data::in_memory();
    template.serve().close();
    let first = |calls: &[Call]| (commits(calls) < CALLERS).then_some(1);
    batch::sweep("batch of rows", |fault| strike(&template, fault), first, judge);
}
