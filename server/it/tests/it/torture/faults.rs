//! A crash, a full disk and a failing disk at each system call by which a mutation, or its recovery, changes a file.
//!
//! After each fault, the library is as before or as after the mutation: files, index, commits and log agree, no file is left
//! over, an acknowledged change is there, and a refused one is not. The same call with the same idempotency key then leads to
//! the one commit, and a call based on the other side's content is a conflict.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Deref,
    path::Path,
    process::{Command, Stdio},
    sync::Mutex,
    thread,
    time::Instant,
};

use serde_json::{Value, json};
use tabellion_conformance::{
    Target, WireError,
    stepper::{Call, Counting, Effect, Errno, Fault, Stepper, StepperError},
};

use super::{
    Effort,
    cases::{self, Case},
    disk::{Disk, Side, Sides, content_id, copy, judge_log},
    mount::Mount,
};
use crate::support::{Answer, Library, Outcome, Server};

const EFFECTS: [Effect; 5] = [
    Effect::Kill,
    Effect::Fail(Errno::ENOSPC),
    Effect::FailOn(Errno::ENOSPC),
    Effect::Fail(Errno::EIO),
    Effect::FailOn(Errno::EIO),
];

/// Returns each fault at each call that it can happen at.
pub(super) fn each_of(calls: &[Call]) -> impl Iterator<Item = Fault> + '_ {
    let able = |call: &Call| EFFECTS.into_iter().filter(|effect| effect.is_of(call.name)).collect::<Vec<_>>();
    let all = (1..).zip(calls);
    all.flat_map(move |(at, call)| able(call).into_iter().map(move |effect| Fault { at, effect }))
}

/// The number of points tried concurrently; each is a server that mostly waits.
const WORKERS: usize = 3;
/// Upper bound of the system calls of a recovery.
const MAX_RECOVERY_CALLS: usize = 60;

/// A case with its library and both sides of its mutation.
struct Sweep {
    case: Case,
    template: MountedLibrary,
    sides: Sides,
    /// The ids of the first document's content.
    before: Value,
    after: Value,
    /// The number of the mutation's system calls that change a file.
    points: usize,
}

/// The result of one fault.
struct FaultResult {
    library: MountedLibrary,
    /// The server, if it still runs.
    server: Option<Server>,
    /// Its answer, if any.
    answer: Option<Outcome<Answer>>,
    calls: Vec<Call>,
}

#[test]
fn a_fault_at_any_point_keeps_a_mutation_atomic() {
    let Some(sweeps) = sweeps(cases::all()) else {
        return;
    };
    let effort = Effort::from_environment();
    let longest = sweeps.iter().map(|sweep| sweep.points).max().unwrap_or_default();
    let all = (1..=longest).flat_map(|at| sweeps.iter().map(move |sweep| (sweep, at)));
    let all = all.flat_map(|(sweep, at)| EFFECTS.map(|effect| (sweep, Fault { at, effect })));
    let some = (0..).zip(&sweeps).map(|(number, sweep)| {
        let chance = |at, below: usize| effort.chance(at, below as u64) as usize;
        let (at, effect) = (1 + chance(number, sweep.points), EFFECTS[number as usize % EFFECTS.len()]);
        (sweep, Fault { at, effect })
    });
    try_points("mutation", effort, effort.choose(some, all), |(sweep, fault)| {
        Some(sweep.tried(fault, sweep.strike(fault)?))
    });
}

#[test]
fn a_fault_at_any_point_keeps_a_recovery_atomic() {
    let effort = Effort::from_environment();
    // Edits are recovered like overwritten documents.
    let cases = cases::all().into_iter().filter(|case| case.tool != "edit_markdown");
    let Some(sweeps) = sweeps(cases.take(effort.pick(2, usize::MAX)).collect()) else {
        return;
    };
    let effort = Effort::from_environment();
    let kinds = Mutex::new(Kinds::new());
    let deaths = sweeps.iter().flat_map(|sweep| (1..=sweep.points).map(move |at| (sweep, at)));
    at_once(deaths.filter(|(_, at)| effort.pick(at % 9 == 0, true)).collect(), |(sweep, at)| {
        if let Some((kind, library)) = sweep.crash(at) {
            let mut kinds = kinds.lock().expect("no panic");
            kinds.entry((sweep.case.name, kind)).or_insert((sweep, library));
        }
    });
    let crashes: Vec<_> = kinds.into_inner().expect("no panic").into_values().collect();
    // Making the crashes takes long, and does not count in the time for the points.
    let effort = Effort::from_environment();
    let all = (1..MAX_RECOVERY_CALLS).flat_map(|at| crashes.iter().map(move |crash| (crash, at)));
    let all = all.flat_map(|(crash, at)| EFFECTS.map(|effect| (crash, Fault { at, effect })));
    let some = (0..).zip(&crashes).map(|(number, crash)| {
        let effect = EFFECTS[number as usize % EFFECTS.len()];
        (crash, Fault { at: 4 + effort.chance(number, 6) as usize, effect })
    });
    try_points("recovery", effort, effort.choose(some, all), |((sweep, crashed), fault)| {
        Some(sweep.tried(fault, sweep.strike_recovery(crashed, fault)?))
    });
}

/// Libraries in which a server died, by case and by leftovers.
type Kinds<'a> = BTreeMap<(&'static str, Vec<String>), (&'a Sweep, MountedLibrary)>;

/// Does `work` for all of `what`, several concurrently.
pub(super) fn at_once<T: Send>(what: Vec<T>, work: impl Fn(T) + Sync) {
    let left = Mutex::new(what.into_iter());
    let next = || left.lock().expect("no panic").next();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(one) = next() {
                    work(one);
                }
            });
        }
    });
}

/// Runs each case once without a fault; `None`, with a message, if a program can't be stepped through. Cases with a mount
/// are skipped, with a message, if mounting is not permitted.
fn sweeps(cases: Vec<Case>) -> Option<Vec<Sweep>> {
    let templates = cases.into_iter().filter_map(|case| match MountedLibrary::empty(&case) {
        Ok(template) => Some((case, template)),
        Err(error) => {
            eprintln!("SKIPPED, `{}`: {error}", case.name);
            None
        }
    });
    templates.map(|(case, template)| Sweep::new(case, template)).collect()
}

impl Sweep {
    fn new(case: Case, template: MountedLibrary) -> Option<Self> {
        (case.prepare)(&template);
        let undisturbed = MountedLibrary::copy_of(&template, &case);
        if case.makes_repository {
            undisturbed.serve().close();
        }
        let before_id = content_id(&undisturbed, case.paths[0]);
        let before = Disk::read(&undisturbed).expect("a library");
        undisturbed
            .serve()
            .call(case.tool, case.arguments.clone())
            .unwrap_or_else(|refusal| panic!("{}: {refusal:?}", case.name));
        let mut sweep = Self {
            after: content_id(&undisturbed, case.paths[0]),
            sides: Sides {
                before,
                after: Disk::read(&undisturbed).expect("a library"),
                makes_repository: case.makes_repository,
            },
            before: before_id,
            case,
            template,
            points: 0,
        };
        sweep.points = sweep.count()?;
        Some(sweep)
    }

    /// Returns the number of points at which a fault can occur.
    fn count(&self) -> Option<usize> {
        let library = MountedLibrary::copy_of(&self.template, &self.case);
        let (server, stepper) = step(&library, Counting::FromStart(None))?;
        let mut server = server.expect("a handshake");
        if !self.case.makes_repository {
            stepper.arm(None);
        }
        self.call(&mut server).expect("an answer").expect("done");
        Some(stepper.disarm().len())
    }

    fn call(&self, server: &mut Server) -> Result<Outcome<Answer>, WireError> {
        call_with_one_key(server, self.case.tool, &self.case.arguments)
    }

    /// Makes the call on a fresh copy of the library with a fault; `None` if there are fewer points.
    fn strike(&self, fault: Fault) -> Option<FaultResult> {
        let library = MountedLibrary::copy_of(&self.template, &self.case);
        let counting =
            if self.case.makes_repository { Counting::FromStart(Some(fault)) } else { Counting::WhenArmed };
        let (mut server, stepper) = step(&library, counting)?;
        if !self.case.makes_repository {
            stepper.arm(Some(fault));
        }
        let answer = server.as_mut().and_then(|server| self.call(server).ok());
        Self::struck(library, server, stepper, answer)
    }

    /// Starts a server with a fault on a copy of a library in which a previous server died.
    fn strike_recovery(&self, crashed: &Library, fault: Fault) -> Option<FaultResult> {
        let library = MountedLibrary::copy_of(crashed, &self.case);
        let (server, stepper) = step(&library, Counting::FromStart(Some(fault)))?;
        Self::struck(library, server, stepper, None)
    }

    fn struck(
        library: MountedLibrary,
        server: Option<Server>,
        stepper: Stepper,
        answer: Option<Outcome<Answer>>,
    ) -> Option<FaultResult> {
        let has_struck = stepper.has_struck();
        // The fault ends here.
        let calls = stepper.disarm();
        let is_there = server.is_some() && !calls.iter().any(|call| call.effect == Some(Effect::Kill));
        has_struck.then(|| FaultResult { library, server: server.filter(|_| is_there), answer, calls })
    }

    /// Returns the library after a kill at this point, with its leftovers, if there is something to recover.
    fn crash(&self, at: usize) -> Option<(Vec<String>, MountedLibrary)> {
        let effect = Effect::Kill;
        let library = self.strike(Fault { at, effect })?.library;
        let contents = self.case.paths.iter().map(|path| content_id(&library, path));
        let mut left: Vec<_> = contents.map(|id| id.to_string()).collect();
        for folder in [".git", ".git/tabellion", ".git/refs/heads", "notes", "notes/x"] {
            for entry in fs::read_dir(library.path(folder)).into_iter().flatten() {
                left.push(entry.ok()?.file_name().to_string_lossy().into_owned());
            }
        }
        left.sort();
        library.path(".git/tabellion/intent").exists().then_some((left, library))
    }

    fn tried(&self, fault: Fault, struck: FaultResult) -> Tried {
        let calls = struck.calls.clone();
        Tried { case: self.case.name, fault, calls, problems: self.judge(struck) }
    }

    /// Returns all problems after the fault.
    fn judge(&self, struck: FaultResult) -> Vec<String> {
        let mut problems = vec![];
        let FaultResult { library, server, answer, calls } = struck;
        let once = calls.iter().any(|call| matches!(call.effect, Some(Effect::Fail(_))));

        for path in &self.case.paths {
            let document = fs::read(library.path(path)).ok();
            let sides = [&self.sides.before, &self.sides.after].map(|side| side.document(path));
            if !sides.contains(&document.as_deref()) {
                problems.push(format!("`{path}` is torn: {document:?}"));
            }
        }
        if let Some(Err(refusal)) = &answer {
            if refusal.name != "IO_ERROR" || !refusal.message.contains('`') {
                problems.push(format!("the error does not say what and where: {refusal:?}"));
            }
            if once {
                let (side, _) = self.sides.judge(&library, &mut problems);
                if side == Side::After {
                    problems.push("an error was answered, and the change was made".into());
                }
            }
        }

        // A separate server recovers the library.
        let mut restarted = match serve(&library) {
            Ok(server) => server,
            Err(said) => {
                problems.push(format!("a new server does not start: {said}"));
                return problems;
            }
        };
        let (side, disk) = self.sides.judge(&library, &mut problems);
        judge_log(&mut restarted, &disk, &mut problems);
        match &answer {
            Some(Ok(answer)) if side == Side::Before || answer.response["git_commit_sha"] != disk.head() => {
                problems.push(format!("{} was acknowledged; HEAD is {}", answer.response, disk.head()));
            }
            Some(Err(refusal)) if side == Side::After => {
                problems.push(format!("refused, and made all the same: {refusal:?}"));
            }
            _ => {}
        }
        self.judge_stale(&mut restarted, side, &mut problems);

        // Repeats the call, with the server that had the fault if it still runs.
        let mut again = match server {
            Some(server) => {
                restarted.close();
                server
            }
            None => restarted,
        };
        self.judge_repeated(&library, &mut again, side, &disk, &mut problems);
        problems
    }

    /// Checks that a call based on the other side's content is a conflict.
    fn judge_stale(&self, server: &mut Server, side: Side, problems: &mut Vec<String>) {
        let other = match side {
            Side::Before => &self.after,
            Side::After => &self.before,
        };
        let request = json!({ "path": self.case.paths[0], "content": "stale\n" });
        match server.call_with("write_markdown", request, json!({ "tabellion/ifBase": other })) {
            Err(refusal) if refusal.name == "CONFLICT" => {}
            answer => problems.push(format!("`ifBase` is stale, and the answer {answer:?}")),
        }
    }

    /// Checks that the same call with the same key leads to one commit in all, whose id is in the answer.
    fn judge_repeated(
        &self,
        library: &Library,
        server: &mut Server,
        side: Side,
        disk: &Disk,
        problems: &mut Vec<String>,
    ) {
        let answer = match self.call(server) {
            Ok(Ok(answer)) => answer,
            other => return problems.push(format!("the same call again: {other:?}")),
        };
        let (now, after) = self.sides.judge(library, problems);
        let commit = &answer.response["git_commit_sha"];
        if now == Side::Before || commit != after.head() {
            problems.push(format!("the same call again named {commit}; HEAD is {}", after.head()));
        }
        let replayed = answer.meta.get("tabellion/replayed") == Some(&json!(true));
        if replayed != (side == Side::After) || replayed && commit != disk.head() {
            problems.push(format!("the same call again was replayed: {replayed}, of {side:?}"));
        }
        judge_log(server, &after, problems);
    }
}

/// Makes the call with the one idempotency key.
pub(super) fn call_with_one_key(
    server: &mut Server,
    tool: &str,
    arguments: &Value,
) -> Result<Outcome<Answer>, WireError> {
    server.try_call(tool, arguments.clone(), json!({ "tabellion/idempotencyKey": "the-one" }))
}

/// Calls [`start_stepped`] with a server for `library`.
pub(super) fn step(library: &Library, counting: Counting) -> Option<(Option<Server>, Stepper)> {
    start_stepped(quiet(library), library.root(), counting)
}

/// Steps through a server that changes files in `folder`; returns its session if the handshake succeeded. `None`, with a message, if
/// that is not possible.
pub(super) fn start_stepped(
    command: Command,
    folder: &Path,
    counting: Counting,
) -> Option<(Option<Server>, Stepper)> {
    match Target::start_stepped(command, &[folder], counting) {
        Err(error @ (StepperError::Denied(_) | StepperError::Unsupported)) => {
            eprintln!("SKIPPED, no fault was tried: {error}");
            None
        }
        started => {
            let (mut target, stepper) = started.expect("the server starts");
            let session = target.initialize("2025-11-25").is_ok().then_some(Server { target });
            Some((session, stepper))
        }
    }
}

/// Starts a server; returns its standard error if it ends at once.
pub(super) fn serve(library: &Library) -> Result<Server, String> {
    let mut target = Target::start(&mut quiet(library)).expect("the server starts");
    match target.initialize("2025-11-25") {
        Ok(_) => Ok(Server { target }),
        Err(_) => {
            let again = quiet(library).stdin(Stdio::null()).stderr(Stdio::piped()).output();
            Err(String::from_utf8_lossy(&again.expect("it starts").stderr).into_owned())
        }
    }
}

/// Returns the command without its standard error, where messages about faults are expected.
fn quiet(library: &Library) -> Command {
    let mut command = library.command();
    command.stderr(Stdio::null());
    command
}

/// A library of a case, with the file systems mounted in it.
pub(super) struct MountedLibrary {
    // Unmounted before its folder is removed.
    _mount: Option<Mount>,
    library: Library,
}

impl Deref for MountedLibrary {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.library
    }
}

impl MountedLibrary {
    /// Creates a library in memory if possible: the tests concern system calls, not the disk.
    pub(super) fn empty(case: &Case) -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        let library = if memory.is_dir() { Library::empty_in(memory) } else { Library::empty() };
        let library = library.served_by(case.server);
        let mount = |folder: &str| {
            fs::create_dir(library.path(folder))?;
            Mount::over(&library.path(folder))
        };
        Ok(Self { _mount: case.mounted.map(mount).transpose()?, library })
    }

    pub(super) fn copy_of(template: &Library, case: &Case) -> Self {
        let place = Self::empty(case).expect("a folder");
        copy(template.root(), place.root()).expect("a copy");
        place
    }
}

/// A point that was reached, with the calls up to it and the problems after it.
pub(super) struct Tried {
    pub(super) case: &'static str,
    pub(super) fault: Fault,
    pub(super) calls: Vec<Call>,
    pub(super) problems: Vec<String>,
}

impl Tried {
    /// Returns the problems, if there are any, with the point and its calls.
    fn report(&self) -> Option<String> {
        let Self { case, fault: Fault { at, effect }, calls, problems } = self;
        let calls: String = calls.iter().map(|call| format!("    {call}\n")).collect();
        let problems = problems.join("\n  ");
        (!problems.is_empty()).then(|| format!("{case}, {effect} at {at}:\n  {problems}\n{calls}"))
    }
}

/// Tries these points of `what`, several concurrently, until the time is over; `try_point` returns `None` for a point that is not
/// reached. Prints the results for each case and effect; fails if any point was bad.
pub(super) fn try_points<P: Send>(
    what: &str,
    effort: Effort,
    points: Vec<P>,
    try_point: impl Fn(P) -> Option<Tried> + Sync,
) {
    let (since, chosen) = (Instant::now(), points.len());
    let results = Mutex::new(BTreeMap::<_, Vec<_>>::new());
    at_once(points, |point| {
        if !effort.is_over()
            && let Some(tried) = try_point(point)
        {
            let kind = (tried.case, tried.fault.effect.to_string());
            results.lock().expect("no panic").entry(kind).or_default().push(tried.report());
        }
    });
    let results = results.into_inner().expect("no panic");
    let tried: usize = results.values().map(Vec::len).sum();
    let end = if effort.is_over() { ", when the time was over" } else { "" };
    println!("{what}: {tried} of {chosen} points in {} s{end}", since.elapsed().as_secs());
    let mut bad = String::new();
    for ((case, effect), reports) in results {
        let tried = reports.len();
        let problems: Vec<_> = reports.into_iter().flatten().collect();
        println!("  {case}, {effect}: {tried} points, {} bad", problems.len());
        bad += &problems.concat();
    }
    assert!(bad.is_empty(), "{bad}");
    assert!(tried > 0, "no point was tried");
}
