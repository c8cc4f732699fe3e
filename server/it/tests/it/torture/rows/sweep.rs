//! One case with both sides of its change, and the results of faults at its points.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tabellion_conformance::{
    WireError,
    stepper::{Call, Counting, Effect, Fault, Stepper},
};

use super::cases::{self, Case, Work};
use crate::{
    data::{Data, Export},
    support::{Answer, Outcome, Server},
    torture::faults::{Tried, call_with_one_key, start_stepped},
};

/// Time limit of a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// A case with its data and both sides of its change.
pub(super) struct Sweep {
    pub(super) case: Case,
    pub(super) template: Data,
    before: Vec<Value>,
    after: Vec<Value>,
    /// The system calls that change a file, in a run without a fault.
    pub(super) calls: Vec<Call>,
}

/// Data of a server that was killed in the middle of a call.
pub(super) struct Crash<'a> {
    pub(super) sweep: &'a Sweep,
    data: Data,
    /// The system calls that change a file, of a start on these data and the same call, without a fault.
    pub(super) calls: Vec<Call>,
}

pub(super) struct FaultResult {
    data: Data,
    /// The server, if it still runs.
    server: Option<Server>,
    /// Its answer, if there is one.
    answer: Option<Outcome<Answer>>,
    calls: Vec<Call>,
    /// True if a killed server may have made the change before.
    may_be_made: bool,
}

/// Runs each case once without a fault; `None`, with a message, if a program can't be stepped through.
pub(super) fn sweeps(is_wanted: impl Fn(&Case) -> bool) -> Option<Vec<Sweep>> {
    let cases = cases::all().into_iter().filter(is_wanted);
    cases.map(Sweep::new).collect()
}

impl Data {
    /// Creates data in memory if possible: the tests concern system calls, not the disk.
    pub(in crate::torture) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::new_in(memory) } else { Self::new() }
    }

    pub(in crate::torture) fn copy(&self) -> Self {
        let copy = Self::in_memory();
        if self.folder().exists() {
            fs::create_dir(copy.folder()).expect("a folder");
            for entry in fs::read_dir(self.folder()).expect("a folder").flatten() {
                fs::copy(entry.path(), copy.folder().join(entry.file_name())).expect("copied");
            }
        }
        copy
    }
}

/// Returns the rows and the changes without times and random values.
fn comparable(export: &Export) -> Vec<Value> {
    let rows = export.rows.iter().map(|(entity, row)| {
        let mut row = row.clone();
        let members = row.as_object_mut().expect("a row");
        members.retain(|name, _| !name.ends_with("_at") && name != "secret");
        json!([entity, row])
    });
    let changes = export.changes.iter();
    let changes = changes.map(|change| json!([change["seq"], change["tool"], change["key"]]));
    rows.chain(changes).collect()
}

/// Makes the call with the one idempotency key.
pub(super) fn call(server: &mut Server, arguments: &Value) -> Result<Outcome<Answer>, WireError> {
    call_with_one_key(server, "entity", arguments)
}

/// Calls [`start_stepped`] with a server for `data`.
pub(super) fn step(data: &Data, counting: Counting) -> Option<(Option<Server>, Stepper)> {
    start_stepped(quiet(data), &data.beside(""), counting)
}

/// Starts a server, if it can be started.
fn serve(data: &Data) -> Option<Server> {
    Server::try_start(&mut quiet(data))
}

/// Returns the command without its standard error, where messages about faults are expected.
fn quiet(data: &Data) -> Command {
    let mut command = data.command();
    command.stderr(Stdio::null());
    command
}

impl Sweep {
    fn new(case: Case) -> Option<Self> {
        let template = Data::in_memory();
        (case.prepare)(&template);
        let undisturbed = template.copy();
        if let Work::Command(command) = case.work {
            let (code, _, said) = upkeep(&undisturbed, command);
            assert_eq!(code, Some(0), "{}: {said}", case.name);
        }
        let mut server = undisturbed.serve();
        let before = comparable(&undisturbed.checked());
        call(&mut server, &case.call).expect("an answer").expect("made");
        server.close();
        let after = comparable(&undisturbed.checked());
        assert_ne!(before, after, "{}", case.name);
        let mut sweep = Self { case, template, before, after, calls: vec![] };
        let undisturbed = sweep.run(sweep.template.copy(), sweep.case.work, None)?;
        if let Some(Err(refusal)) = undisturbed.answer {
            panic!("{}: {refusal:?}", sweep.case.name);
        }
        sweep.calls = undisturbed.calls;
        assert!(!sweep.calls.is_empty(), "{}", sweep.case.name);
        Some(sweep)
    }

    /// Does the case's work on fresh data with a fault; `None` if there are fewer points.
    pub(super) fn strike(&self, fault: Fault) -> Option<FaultResult> {
        self.struck(self.template.copy(), self.case.work, fault)
    }

    /// Kills a server at a point of its call, and records the calls of the next one.
    pub(super) fn crash(&self, at: usize) -> Option<Crash<'_>> {
        let effect = Effect::Kill;
        let data = self.strike(Fault { at, effect })?.data;
        let calls = self.run(data.copy(), Work::Start, None)?.calls;
        Some(Crash { sweep: self, data, calls })
    }

    fn struck(&self, data: Data, work: Work, fault: Fault) -> Option<FaultResult> {
        let result = self.run(data, work, Some(fault))?;
        let has_struck = result.calls.iter().any(|call| call.effect.is_some());
        has_struck.then_some(result)
    }

    /// Does the work under the stepper.
    fn run(&self, data: Data, work: Work, fault: Option<Fault>) -> Option<FaultResult> {
        let (server, answer, stepper) = match work {
            Work::Command(command) => (None, None, run_command(&data, command, fault)),
            Work::Start | Work::Call => {
                let counting = match work {
                    Work::Call => Counting::WhenArmed,
                    _ => Counting::FromStart(fault),
                };
                let (mut server, stepper) = step(&data, counting)?;
                if work == Work::Call {
                    stepper.arm(fault);
                }
                let answer = server.as_mut().and_then(|server| call(server, &self.case.call).ok());
                (server, answer, stepper)
            }
        };
        // The fault ends here.
        let calls = stepper.disarm();
        let is_killed = calls.iter().any(|call| call.effect == Some(Effect::Kill));
        Some(FaultResult { data, server: server.filter(|_| !is_killed), answer, calls, may_be_made: false })
    }

    pub(super) fn tried(&self, fault: Fault, struck: FaultResult) -> Tried {
        let calls = struck.calls.clone();
        Tried { case: self.case.name, fault, calls, problems: self.judge(struck) }
    }

    /// Returns all problems after the fault.
    fn judge(&self, struck: FaultResult) -> Vec<String> {
        let mut problems = vec![];
        let FaultResult { data, server, answer, calls, may_be_made } = struck;
        let is_once = calls.iter().any(|call| matches!(call.effect, Some(Effect::Fail(_))));
        if let Some(Err(refusal)) = &answer {
            if refusal.code != -32603 {
                problems.push(format!("the error is the client's: {refusal:?}"));
            }
            if is_once && !may_be_made && self.is_after(&data, "after the error", &mut problems) == Some(true)
            {
                problems.push(format!("an error was answered, and the change was made: {refusal:?}"));
            }
        }
        if let Work::Command(command) = self.case.work
            && let Err(said) = data.try_checked()
        {
            let (code, _, again) = upkeep(&data, command);
            if code != Some(0) {
                problems.push(format!("`{command}` again: {again} (data: {said})"));
                return problems;
            }
        }
        let Some(restarted) = serve(&data) else {
            problems.push("a new server does not start".into());
            return problems;
        };
        let is_after = self.is_after(&data, "after a restart", &mut problems);
        match (&answer, is_after) {
            (Some(Ok(answer)), Some(false)) => {
                problems.push(format!("{} was acknowledged, and is gone", answer.response));
            }
            (Some(Err(refusal)), Some(true)) if !may_be_made => {
                problems.push(format!("refused, and made all the same: {refusal:?}"));
            }
            _ => {}
        }
        // Repeats the call, with the server that had the fault if it still runs.
        let mut again = server.unwrap_or(restarted);
        match call(&mut again, &self.case.call) {
            Ok(Ok(answer)) => {
                let is_replayed = answer.meta.get("tabellion/replayed") == Some(&json!(true));
                if Some(is_replayed) != is_after {
                    problems
                        .push(format!("the same call again was replayed: {is_replayed}, of {is_after:?}"));
                }
            }
            other => problems.push(format!("the same call again: {other:?}")),
        }
        if self.is_after(&data, "after the same call again", &mut problems) == Some(false) {
            problems.push("the same call again was answered, and not made".into());
        }
        problems
    }

    /// Returns true if the data are those after the change; otherwise they must be those before it.
    fn is_after(&self, data: &Data, when: &str, problems: &mut Vec<String>) -> Option<bool> {
        match data.try_checked().map(|export| comparable(&export)) {
            Ok(found) if found == self.after => Some(true),
            Ok(found) if found == self.before => Some(false),
            Ok(found) => {
                let odd: Vec<_> = found.iter().filter(|it| !self.after.contains(it)).collect();
                problems.push(format!("{when}, the data are on neither side: {odd:?} of {}", found.len()));
                None
            }
            Err(said) => {
                problems.push(format!("{when}: {said}"));
                None
            }
        }
    }
}

impl Crash<'_> {
    /// Returns the case and the next server's calls, which identify equivalent crashes.
    pub(super) fn kind(&self) -> (&'static str, Vec<String>) {
        let calls = self.calls.iter().map(Call::to_string);
        (self.sweep.case.name, calls.collect())
    }

    /// Starts a server with a fault on a copy of the data, and makes the same call; `None` if there are fewer points.
    pub(super) fn strike(&self, fault: Fault) -> Option<FaultResult> {
        let struck = self.sweep.struck(self.data.copy(), Work::Start, fault)?;
        Some(FaultResult { may_be_made: true, ..struck })
    }
}

/// Returns the argument of a command of `tabellion data` in addition to the folder.
fn more(data: &Data, command: &str) -> Option<PathBuf> {
    (command == "import").then(|| data.folder().join(cases::EXPORT))
}

/// Runs a command of `tabellion data`.
fn upkeep(data: &Data, command: &str) -> (Option<i32>, String, String) {
    let more = more(data, command);
    let more = more.as_ref().map(|path| path.to_str().expect("a path in UTF-8"));
    let arguments: Vec<_> = std::iter::once(command).chain(more).collect();
    data.upkeep(&arguments)
}

/// Runs a command of `tabellion data` under the stepper, to its end.
fn run_command(data: &Data, command: &str, fault: Option<Fault>) -> Stepper {
    let mut program = std::process::Command::new(crate::support::TABELLION);
    program.args(["data", command]).args(more(data, command));
    program.arg("--data").arg(data.folder());
    program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Stepper::start(program, &[&data.beside("")], Counting::FromStart(fault));
    let (stepper, _) = started.expect("it starts");
    stepper.wait(COMMAND_TIMEOUT).expect("it ends");
    stepper
}
