//! `audit/agrees-with-commits`: executions and commits name each other.

use tabellion_runtime::spec::RestOperation;

use super::kept::{self, UNKNOWN};
use crate::checks::{
    prelude::*,
    rest::{
        alike::Ids,
        faces::{Conditions, Face, Faces, endpoint},
        outcome::{Done, Outcome},
        program::{self, Memory, Program},
    },
};

/// Status of an execution that was answered with a result.
pub(super) const SUCCESS: &str = "success";
/// Status of one that was answered with an error.
pub(super) const FAILED: &str = "failed";

pub(super) const CHECK: Check = Check {
    id: "audit/agrees-with-commits",
    guarantees: &["audit-of-every-call"],
    states: "Each change is one commit that names its execution, and that execution is a success and names the commit; no other commit is made.",
    explains: "Makes calls that succeed, that are refused, and that are repeated with their idempotency key, over REST and over MCP. The \
               execution of each must be what the call was: a success with the commit of the change, which for a repeated call is that of \
               the first, or failed with the error and without a commit. Each commit in git must name the execution that made it in its \
               message, and no other. An execution of another caller must look like one that does not exist.",
    cases,
    ..Check::must(judge)
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Attempt {
    /// The calls of a program, the changing ones repeated.
    Calls(Program),
    /// An execution of another caller.
    Foreign,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    endpoint(bench, RestOperation::ExecutionGet)?;
    endpoint(bench, RestOperation::ToolExecute)?;
    let programs = program::all(bench).into_iter();
    let mut cases: Vec<_> =
        programs.map(|(name, program)| Case::new(name, Attempt::Calls(program))).collect();
    cases.push(Case::new("an execution of another caller", Attempt::Foreign));
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    match case.read()? {
        Attempt::Calls(program) => calls(bench, &program),
        Attempt::Foreign => foreign(bench),
    }
}

/// A call whose execution is known.
struct KnownCall {
    /// The call, for people.
    what: String,
    tool: &'static str,
    /// Id of the execution.
    id: String,
    end: End,
}

/// The end that its record must show.
enum End {
    /// With this commit; `is_own` if the call has made it.
    Success {
        commit: Option<String>,
        is_own: bool,
    },
    Failed,
}

impl KnownCall {
    fn success(what: String, tool: &'static str, done: &Done, is_own: bool) -> Result<Self, Stop> {
        let id = done.execution.clone();
        let id = id.ok_or_else(|| fail(format!("the answer to {what} names no execution")))?;
        let commit = done.commit.clone();
        let end = End::Success { commit, is_own };
        Ok(Self { what, tool, id, end })
    }

    /// Returns the commit that the call has made.
    fn made(&self) -> Option<&str> {
        match &self.end {
            End::Success { commit, is_own: true } => commit.as_deref(),
            _ => None,
        }
    }

    /// Fails unless the execution reports the call's outcome.
    fn ensure_kept(&self, faces: &Faces<'_, '_>) -> Judgement {
        let answer = kept::ended(faces, &self.id)?;
        let found = &answer.body;
        let (status, commit) = match &self.end {
            End::Success { commit, .. } => (SUCCESS, commit.as_deref()),
            End::Failed => (FAILED, None),
        };
        let says = json!([found["execution_id"], found["tool"], found["status"], found["commit"]]);
        let expected = json!([self.id, self.tool, status, commit]);
        ensure(says == expected, || {
            format!(
                "id, tool, status and commit of the execution of {} should be {expected}: {}",
                self.what,
                answer.shown()
            )
        })?;
        ensure(found["error"].is_object() == (status == FAILED), || {
            format!(
                "the execution of {} should have an error exactly if it failed: {}",
                self.what,
                answer.shown()
            )
        })
    }
}

fn calls(bench: &Bench<'_>, program: &Program) -> Judgement {
    let mut faces = Faces::open(bench, program.role.as_deref(), &program.documents)?;
    let start = faces.scene.head();
    let mut memory = Memory::default();
    let mut known = Vec::new();
    for (place, step) in program.steps.iter().enumerate() {
        let tool = step.tool(bench)?;
        let key = tool.mutating.then(|| format!("call-{place}"));
        let mut again = memory.clone();
        let ran = program::run(&mut faces, Face::Rest, step, &mut memory, key.as_deref())?;
        let Outcome::Done(done) = &ran.outcome else {
            // The answer to a refused call names no execution, unless it comes first.
            let later = Conditions { is_async: true, ..Conditions::default() };
            let accepted = step.send_with(&faces, &mut memory, later)?;
            if accepted.status == 202 {
                let id = accepted.body["execution_id"].as_str().map(str::to_owned);
                let id = id.ok_or_else(|| {
                    fail(format!("an accepted call has no execution: {}", accepted.shown()))
                })?;
                let (what, end) = (ran.what, End::Failed);
                known.push(KnownCall { what, tool: tool.name, id, end });
            }
            continue;
        };
        ensure(ran.changes == 0 || done.commit == ran.head, || {
            format!("{} says the commit {:?}, but it made {:?}", ran.what, done.commit, ran.head)
        })?;
        known.push(KnownCall::success(ran.what, tool.name, done, ran.changes > 0)?);
        if key.is_some() {
            let second = program::run(&mut faces, Face::Mcp, step, &mut again, key.as_deref())?;
            // `rest/same-answers` judges whether it is answered alike.
            if let Outcome::Done(done) = &second.outcome {
                let what = format!("the repeated {}", second.what);
                known.push(KnownCall::success(what, tool.name, done, second.changes > 0)?);
            }
        }
    }
    for call in &known {
        call.ensure_kept(&faces)?;
    }
    ensure_commits(&faces, start.as_deref(), &known)?;
    faces.close()
}

/// Fails unless each commit since `start` names the execution that made it and no other, and each commit that an execution names is there.
fn ensure_commits(faces: &Faces<'_, '_>, start: Option<&str>, known: &[KnownCall]) -> Judgement {
    let commits = match (start, faces.scene.head()) {
        (_, None) => String::new(),
        (None, Some(_)) => faces.scene.git(&["log", "-z", "--format=%H%n%B"])?,
        (Some(start), Some(_)) => {
            let range = format!("{start}..HEAD");
            faces.scene.git(&["log", "-z", "--format=%H%n%B", &range])?
        }
    };
    let commits = commits.split('\0').filter_map(|commit| commit.split_once('\n'));
    let commits: Vec<_> = commits.collect();
    for (id, message) in &commits {
        let makers: Vec<_> = known.iter().filter(|call| call.made() == Some(id)).collect();
        let [maker] = makers.as_slice() else {
            let calls: Vec<_> = makers.iter().map(|call| &call.what).collect();
            return Err(fail(format!(
                "the commit {id} ({:?}) should be of one successful call, and is of {calls:?}",
                message.trim()
            )));
        };
        for call in known {
            let (is_it, named) = (call.id == maker.id, message.contains(&call.id));
            ensure(is_it == named, || {
                let does = if named { "names" } else { "does not name" };
                format!(
                    "the message of the commit of {} {does} the execution of {}: {:?}",
                    maker.what,
                    call.what,
                    message.trim()
                )
            })?;
        }
    }
    for call in known {
        let is_there = |made| commits.iter().any(|(id, _)| *id == made);
        ensure(call.made().is_none_or(is_there), || {
            format!("{} says a commit that is not in the history", call.what)
        })?;
    }
    Ok(())
}

fn foreign(bench: &Bench<'_>) -> Judgement {
    let other = kept::stranger(bench)?;
    let mut faces = Faces::open(bench, kept::caller(bench), [])?;
    let mut steps = program::operations(bench).filter(|tool| tool.mutating);
    let step = steps.find_map(program::example);
    let step = step.ok_or_else(|| not_applicable("no changing tool has a valid example"))?;
    let ran = program::run(&mut faces, Face::Rest, &step, &mut Memory::default(), None)?;
    let Outcome::Done(done) = &ran.outcome else {
        return Err(fail(format!("{} came to {:?}", ran.what, ran.outcome)));
    };
    let own = KnownCall::success(ran.what, step.tool(bench)?.name, done, ran.changes > 0)?;
    own.ensure_kept(&faces)?;
    let mut refusals = Vec::new();
    for (what, id) in
        [("an execution of another caller", own.id.as_str()), ("an execution that does not exist", UNKNOWN)]
    {
        let answer = kept::ask(&faces, RestOperation::ExecutionGet, &[id], Some(other))?;
        kept::refusal(bench.subject.contract, &answer, what)?;
        ensure(answer.status == 404, || format!("the status for {what} should be 404: {}", answer.shown()))?;
        refusals.push((Ids::all_alike().value(&answer.body), answer));
    }
    let [foreign, unknown] = &refusals[..] else {
        return Ok(());
    };
    ensure(foreign.0 == unknown.0, || {
        format!(
            "an execution of another caller is told from one that does not exist: {} and {}",
            foreign.1.shown(),
            unknown.1.shown()
        )
    })?;
    faces.close()
}
