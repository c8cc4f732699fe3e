//! `audit/killed`: a server that is killed leaves executions and commits that agree.

use std::{
    thread,
    time::{Duration, Instant},
};

use tabellion_runtime::spec::RestOperation;

use super::{
    audit::{FAILED, SUCCESS},
    kept,
};
use crate::{
    checks::{
        prelude::*,
        rest::{
            faces::{Conditions, Faces, endpoint},
            program::{self, Memory, Step},
        },
    },
    launch,
};

/// Number of kills in the quick and in the full profile.
const KILLS: [u32; 2] = [10, 100];
/// Status of an execution that was cancelled.
const CANCELLED: &str = "cancelled";

pub(super) const CHECK: Check = Check {
    id: "audit/killed",
    guarantees: &["audit-of-every-call"],
    states: "After the server is killed, each execution that it has said has ended: as a success if its commit is there, and otherwise not.",
    explains: "Has changing calls accepted with `Prefer: respond-async`, and kills the server at moments from the answer until a little after \
               the call would have ended. The next server must know the execution, and soon say how it ended: as a success that names the \
               one commit that was made and that names it, or, if no commit was made, as failed or cancelled.",
    cases,
    ..Check::must(judge)
};

/// A kill during a call.
#[derive(Debug, Serialize, Deserialize)]
struct Kill {
    /// Label of the operation.
    operation: String,
    /// Delay of the kill after the call is accepted.
    microseconds: u64,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    endpoint(bench, RestOperation::ExecutionGet)?;
    endpoint(bench, RestOperation::ToolExecute)?;
    if bench.subject.launch.running().is_some() {
        return Err(launch::not_ours());
    }
    let kills = bench.pick(KILLS[0], KILLS[1]);
    let mut dice = bench.dice("moments");
    let mut cases = Vec::new();
    for tool in program::operations(bench).filter(|tool| tool.mutating && program::example(tool).is_some()) {
        let duration = duration(bench, tool)?;
        cases.extend((0..kills).map(|number| {
            let part = (f64::from(number) + dice.f64()) / f64::from(kills) * 1.2;
            let kill = Kill {
                operation: tool.label().to_owned(),
                microseconds: (duration.as_micros() as f64 * part) as u64,
            };
            Case::new(format!("`{}`, moment {} of {kills}", tool.label(), number + 1), kill)
        }));
    }
    Ok(cases)
}

/// A server, and a changing call that it can make.
struct Prepared<'b, 'a> {
    faces: Faces<'b, 'a>,
    step: Step,
    memory: Memory,
}

fn prepare<'b, 'a>(bench: &'b Bench<'a>, tool: &ToolSpec) -> Result<Prepared<'b, 'a>, Stop> {
    let mut prefixes = program::prefixes(bench).into_iter();
    let found = prefixes.find(|(of, _)| of.label() == tool.label());
    let found = found.and_then(|(of, before)| Some((before, program::example(of)?)));
    let (before, step) = found.ok_or_else(|| not_applicable("the operation has no valid example"))?;
    let (faces, mut memory) = (Faces::open(bench, kept::caller(bench), [])?, Memory::default());
    for step in before {
        step.send(&faces, &mut memory)?;
    }
    Ok(Prepared { faces, step, memory })
}

/// Measures the duration of a call.
fn duration(bench: &Bench<'_>, tool: &ToolSpec) -> Result<Duration, Stop> {
    let mut prepared = prepare(bench, tool)?;
    let since = Instant::now();
    prepared.step.send(&prepared.faces, &mut prepared.memory)?;
    let elapsed = since.elapsed();
    prepared.faces.close()?;
    Ok(elapsed)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let kill: Kill = case.read()?;
    let tool = bench.subject.contract.operation(&kill.operation);
    let tool = tool.ok_or_else(|| fail(format!("there is no operation `{}`", kill.operation)))?;
    let mut prepared = prepare(bench, tool)?;
    let before = prepared.faces.scene.view()?;
    let is_async = Conditions { is_async: true, ..Conditions::default() };
    let accepted = prepared.step.send_with(&prepared.faces, &mut prepared.memory, is_async)?;
    let Some(id) = accepted.body["execution_id"].as_str() else {
        return Err(not_applicable(format!("a valid call is not made: {}", accepted.shown())));
    };
    thread::sleep(Duration::from_micros(kill.microseconds));
    let faces = prepared.faces.killed()?;
    let ended = kept::ended(&faces, id)?;
    let after = faces.scene.view()?;
    let status = ended.body["status"].as_str().unwrap_or_default();
    let commit = ended.body["commit"].as_str();
    let made = after.library.commits_since(&before.library);
    let [made] = made.as_slice() else {
        ensure(made.is_empty(), || format!("one call is {} commits", made.len()))?;
        ensure([FAILED, CANCELLED].contains(&status) && commit.is_none(), || {
            format!("the server was killed before it made a commit, and the execution is {}", ended.shown())
        })?;
        return faces.close();
    };
    ensure(status == SUCCESS && commit == Some(made), || {
        format!("the server was killed after the commit {made}, and the execution is {}", ended.shown())
    })?;
    let message = faces.scene.git(&["log", "-1", "--format=%B", made])?;
    ensure(message.contains(id), || {
        format!("the message of the commit does not name the execution `{id}`: {:?}", message.trim())
    })?;
    faces.close()
}
