//! A crash and a full disk at each system call of a recorded call, from the record of its execution to its answer.
//!
//! After each fault, executions and commits agree, according to `tabellion audit --check`: each commit has a successful execution, each
//! success its commit. An acknowledged call has both.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Map, Value, json};
use tabellion_conformance::{
    Target,
    stepper::{Counting, Effect, Fault, Stepper},
};
use tempfile::TempDir;

use super::{
    Effort,
    disk::copy,
    faults::{Tried, each_of, start_stepped, try_points},
};
use crate::support::{Answer, Outcome, Server, TABELLION, ended, outcome};

/// Number of points that the short form tries.
const FEW: usize = 12;

fn serve(library: &Path) -> Command {
    let mut command = Command::new(TABELLION);
    command.args(["serve", "--contract", "brainforge", "--as", "owner", "--library"]);
    command.arg(library).stderr(Stdio::null());
    command
}

fn create(target: &mut Target, title: &str) -> Option<Outcome<Answer>> {
    let arguments = json!({
        "content": "A note with more than ten characters.",
        "note_type": "permanent",
        "metadata": { "title": title },
    });
    let message = target.call("create_note", arguments, Map::new()).ok()?;
    Some(said(&message))
}

/// Returns the answer; errors of the contract have structured content.
fn said(message: &Value) -> Outcome<Answer> {
    let mut message = message.clone();
    if message["result"]["isError"] == true {
        let result = message["result"].as_object_mut().expect("a result");
        result.remove("structuredContent");
    }
    outcome(&message)
}

/// A library with one note, made by a server.
fn template() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let mut target = Server::start(&mut serve(folder.path())).target;
    create(&mut target, "first").expect("an answer").expect("made");
    target.close().expect("it ends");
    folder
}

fn stepped(library: &Path, fault: Option<Fault>) -> Option<(Option<Outcome<Answer>>, Stepper)> {
    let (server, stepper) = start_stepped(serve(library), library, Counting::WhenArmed)?;
    stepper.arm(fault);
    let answer = create(&mut server.expect("a handshake").target, "second");
    Some((answer, stepper))
}

fn audit(library: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(TABELLION);
    command.arg("audit").args(arguments).arg("--library").arg(library);
    let (code, said, _) = ended(&mut command);
    (code == Some(0), said)
}

fn judge(library: &Path, answer: Option<&Outcome<Answer>>) -> Vec<String> {
    let mut problems = vec![];
    let (agree, said) = audit(library, &["--check", "--json"]);
    if !agree {
        problems.push(format!("executions and commits disagree: {said}"));
    }
    let (_, made) = audit(library, &["--json", "--status", "success"]);
    let made = made.lines().filter(|line| line.contains("\"create_note\"")).count();
    match answer {
        Some(Ok(_)) if made != 2 => {
            problems.push(format!("acknowledged, and {made} executions of 2 are successes"));
        }
        Some(Err(refusal)) if made != 1 => {
            problems.push(format!("refused, and {made} executions of 1 are successes: {refusal:?}"));
        }
        _ => {}
    }
    let (_, open) = audit(library, &["--json", "--status", "running"]);
    if !open.is_empty() {
        problems.push(format!("an execution runs for ever: {open}"));
    }
    problems
}

#[test]
fn a_fault_at_any_point_leaves_executions_and_commits_in_agreement() {
    let template = template();
    let copied = || {
        let folder = TempDir::new().expect("a folder");
        copy(template.path(), folder.path()).expect("a copy");
        folder
    };
    let undisturbed = copied();
    let Some((answer, stepper)) = stepped(undisturbed.path(), None) else {
        return;
    };
    let calls = stepper.disarm();
    assert!(matches!(answer, Some(Ok(_))), "{answer:?}");
    assert_eq!(judge(undisturbed.path(), answer.as_ref()), [""; 0]);
    let effort = Effort::from_environment();
    let kills = (1..=calls.len()).step_by(calls.len().div_ceil(FEW).max(1));
    let some = kills.map(|at| Fault { at, effect: Effect::Kill });
    try_points("recorded call", effort, effort.choose(some, each_of(&calls)), |fault| {
        let folder = copied();
        let (answer, stepper) = stepped(folder.path(), Some(fault))?;
        let calls = stepper.disarm();
        Some(Tried { case: "create", fault, calls, problems: judge(folder.path(), answer.as_ref()) })
    });
}
