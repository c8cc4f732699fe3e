//! Three calls at once, which share a transaction: after a fault at any of its points, each is made as a whole or not at all, no
//! acknowledged call is lost, and no refused one is there.

use serde_json::{Value, json};
use tabellion_conformance::stepper::{Call, Counting, Effect, Fault};

use super::sweep;
use crate::{
    data::{Data, Export},
    support::Server,
    torture::{
        Effort,
        batch::{self, Answers, CALLERS},
        faults::{Report, at_once, each_of},
    },
};

/// Maximum number of times that the calls are made until some share a commit.
const ATTEMPTS: usize = 10;

struct Struck {
    data: Data,
    answers: Answers,
    calls: Vec<Call>,
}

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
fn strike(template: &Data, fault: Option<Fault>) -> Option<Struck> {
    let data = template.copy();
    let (mut server, stepper) = sweep::step(&data, Counting::WhenArmed)?;
    // The first change of a process makes more system calls than others.
    let first = json!({ "action": "create", "resource": "team", "data": { "id": "first", "name": "first" } });
    let made = server.as_mut().map(|server| sweep::call(server, &first));
    assert!(matches!(made, Some(Ok(Ok(_)))), "it makes a change");
    stepper.arm(fault);
    let answers = server.map(|mut server| call(&mut server)).unwrap_or_default();
    let calls = stepper.disarm();
    Some(Struck { data, answers, calls })
}

fn made(export: &Export) -> [bool; CALLERS] {
    std::array::from_fn(|caller| {
        let is_it = |(entity, row): &(String, Value)| entity == "team" && row["id"] == *id(caller);
        export.rows.iter().any(is_it)
    })
}

/// Returns all problems after the fault.
fn judge(struck: Struck) -> Vec<String> {
    let Struck { data, answers, calls } = struck;
    let is_once = calls.iter().any(|call| matches!(call.effect, Some(Effect::Fail(_))));
    let export = match data.try_checked() {
        Ok(export) => export,
        Err(said) => return vec![said],
    };
    let (mut problems, made) = (vec![], made(&export));
    let before = export.changes.len();
    for (caller, (answer, is_made)) in answers.iter().zip(made).enumerate() {
        match answer {
            Some(Ok(_)) if !is_made => problems.push(format!("{caller} was acknowledged, and is gone")),
            Some(Err(refusal)) if refusal.code != -32603 => {
                problems.push(format!("the error is the client's: {refusal:?}"));
            }
            Some(Err(refusal)) if is_made && is_once => {
                problems.push(format!("{caller} was refused, and made: {refusal:?}"));
            }
            _ => {}
        }
    }
    for (caller, answer) in call(&mut data.serve()).into_iter().enumerate() {
        match answer {
            Some(Ok(answer)) => {
                let is_replayed = answer.meta.get("tabellion/replayed") == Some(&json!(true));
                if is_replayed != made[caller] {
                    problems.push(format!("{caller} again was replayed: {is_replayed}, of {}", made[caller]));
                }
            }
            other => problems.push(format!("{caller} again: {other:?}")),
        }
    }
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
    // Without another change at the same time, a call commits alone: then the calls are repeated.
    let Some(undisturbed) = (0..ATTEMPTS).map(|_| strike(&template, None)).find(|struck| match struck {
        Some(struck) => commits(&struck.calls) < CALLERS,
        None => true,
    }) else {
        panic!("no calls share a commit");
    };
    let Some(undisturbed) = undisturbed else {
        return;
    };
    assert!(undisturbed.answers.iter().all(|answer| matches!(answer, Some(Ok(_)))));
    let effort = Effort::from_environment();
    let all: Vec<_> = each_of(&undisturbed.calls).collect();
    let some = (0..3).map(|number| all[effort.chance(number, all.len() as u64) as usize]);
    let points: Vec<_> = effort.pick_with(|| some.collect(), || effort.shuffled(all.clone()));
    let report = Report::of_all("batch of rows", points.len());
    at_once(points, |fault| {
        // A batch that is divided differently may not reach the point.
        let is_struck = |struck: &Struck| struck.calls.iter().any(|call| call.effect.is_some());
        let mut attempts = (0..ATTEMPTS).take_while(|_| !effort.is_over());
        let struck = attempts.find_map(|_| strike(&template, Some(fault)).filter(is_struck));
        if let Some(struck) = struck {
            let calls = struck.calls.clone();
            report.add("three at once", fault, &calls, judge(struck));
        }
    });
    report.finish(effort);
}
