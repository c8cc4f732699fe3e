//! One case, the result of a fault at one of its points, and the conditions that must hold then.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::{
    WireError,
    stepper::{Call, Counting, Effect, Fault},
};
use tempfile::TempDir;

use super::{
    Case,
    workspace::{COMMON, Files, fill, word},
};
use crate::{
    data::{Data, provenance},
    support::{Answer, Outcome, Server},
    torture::faults::start_stepped,
};

/// Time limit of an undisturbed run.
const RUN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that a run is watched whose disk fails again and again.
const HINDERED: Duration = Duration::from_secs(1);
/// Upper bound of the times that a server tries a run meanwhile.
const MAX_TRIES: usize = 5;
/// Interval between two checks if a run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Number of the log's last lines that a problem shows.
const LOGGED: usize = 4;
const COLLECTION: &str = "shop";

/// A case with its workspace, which no fault changes, and the data before the run.
pub(super) struct Sweep {
    pub(super) case: Case,
    workspace: TempDir,
    template: Data,
    files: Files,
    /// The words of removed files.
    gone: BTreeSet<usize>,
    /// The system calls that change a file, in a run without a fault.
    pub(super) calls: Vec<Call>,
}

#[derive(Debug, PartialEq)]
enum RunStatus {
    /// There is no such collection.
    Missing,
    /// The run is under way.
    Running,
    Idle(Value),
    /// It failed, with this error.
    Failed(String),
    /// The status is refused, with this message.
    Refused(String),
}

fn call(server: &mut Server, tool: &str, arguments: Value) -> Result<Outcome<Answer>, WireError> {
    server.try_call(tool, arguments, provenance())
}

fn standing(server: &mut Server) -> Result<RunStatus, WireError> {
    let asked = json!({ "action": "status", "collection": COLLECTION });
    Ok(match call(server, "index", asked)? {
        Ok(answer) => {
            let status = answer.response["collections"][0].clone();
            match status["state"].as_str() {
                Some("idle") => RunStatus::Idle(status),
                Some("failed") => RunStatus::Failed(status["error"].as_str().unwrap_or_default().into()),
                _ => RunStatus::Running,
            }
        }
        Err(refusal) if refusal.data["rule"] == "no_collection" => RunStatus::Missing,
        Err(refusal) => RunStatus::Refused(refusal.message.clone()),
    })
}

/// Waits until a run is over; returns its status by then.
fn settled(server: &mut Server, timeout: Duration) -> Result<RunStatus, WireError> {
    let since = Instant::now();
    loop {
        let standing = standing(server)?;
        let is_over = !matches!(standing, RunStatus::Running | RunStatus::Refused(_));
        if is_over || since.elapsed() > timeout {
            return Ok(standing);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

impl Sweep {
    /// Runs the case once without a fault; `None`, with a message, if a program can't be stepped through.
    pub(super) fn new(case: Case) -> Option<Self> {
        let workspace = TempDir::new().expect("a folder");
        let mut sweep = Self {
            case,
            template: Data::in_memory(),
            files: Files::new(),
            gone: BTreeSet::new(),
            calls: vec![],
            workspace,
        };
        let earlier = fill(sweep.workspace.path(), case.of_branches, false);
        sweep.files.clone_from(&earlier);
        let mut server = sweep.serve(&sweep.template)?;
        if case.is_again {
            sweep.ends_a_run(&mut server).unwrap_or_else(|problem| panic!("{}: {problem}", case.name));
            sweep.files = fill(sweep.workspace.path(), case.of_branches, true);
            let there: BTreeSet<_> = sweep.files.values().copied().collect();
            sweep.gone = earlier.into_values().filter(|number| !there.contains(number)).collect();
        }
        server.close();
        sweep.calls = sweep.run(&sweep.template.copy(), None)?.calls;
        assert!(!sweep.calls.is_empty(), "{}", case.name);
        Some(sweep)
    }

    fn command(&self, data: &Data) -> Command {
        let mut command = data.command();
        command.arg("--workspace").arg(self.workspace.path());
        // No vectors: only the run changes files.
        command.env("TABELLION_MODEL", data.beside("no model"));
        let log = File::options().create(true).append(true).open(data.beside("log"));
        command.stderr(log.expect("a file"));
        command
    }

    fn serve(&self, data: &Data) -> Option<Server> {
        Server::try_start(&mut self.command(data))
    }

    /// Begins a run.
    fn begin(&self, server: &mut Server) -> Result<Outcome<Answer>, WireError> {
        let action = if self.case.of_branches { "git_index" } else { "start" };
        let asked = json!({ "action": action, "path": self.workspace.path(), "collection": COLLECTION });
        call(server, "index", asked)
    }

    /// Begins a run, waits for it, and checks the search after it.
    fn ends_a_run(&self, server: &mut Server) -> Result<(), String> {
        let begun = self.begin(server).map_err(|error| error.to_string())?;
        begun.map_err(|refusal| format!("a run is refused, which nothing hinders: {refusal:?}"))?;
        match settled(server, RUN_TIMEOUT).map_err(|error| error.to_string())? {
            RunStatus::Idle(status) => self.holds(server, &status),
            other => Err(format!("a run that nothing hinders is {other:?}")),
        }
    }
}

/// The result of a fault.
struct Struck {
    /// The answer to the call that begins the run, if there is one.
    answer: Option<Outcome<Answer>>,
    /// The server, if it still runs, and the run's status while the disk failed.
    server: Option<(Server, RunStatus)>,
    calls: Vec<Call>,
    /// The server's log by then.
    log: String,
}

impl Sweep {
    /// Runs a server under the stepper; `None`, with a message, if a program can't be stepped through.
    fn run(&self, data: &Data, fault: Option<Fault>) -> Option<Struck> {
        let (server, stepper) = start_stepped(self.command(data), &data.folder(), Counting::WhenArmed)?;
        let mut server = server.expect("a handshake");
        stepper.arm(fault);
        let answer = self.begin(&mut server).ok();
        let log = || fs::read_to_string(data.beside("log")).unwrap_or_default();
        let timeout = match fault.map(|fault| fault.effect) {
            Some(Effect::FailOn(_)) => HINDERED,
            _ => RUN_TIMEOUT,
        };
        let mut standing = settled(&mut server, timeout);
        let since = Instant::now();
        // On a slow machine, the run may not have been tried once by then.
        while matches!(standing, Ok(RunStatus::Running))
            && !log().contains("ERROR")
            && since.elapsed() < RUN_TIMEOUT
        {
            standing = settled(&mut server, POLL_INTERVAL);
        }
        let log = log();
        // The fault ends here.
        let calls = stepper.disarm();
        Some(Struck { answer, server: standing.ok().map(|standing| (server, standing)), calls, log })
    }

    /// Returns the calls up to a fault, and all problems after it; `None` if there are fewer points.
    pub(super) fn strike(&self, fault: Fault) -> Option<(Vec<Call>, Vec<String>)> {
        let data = self.template.copy();
        let struck = self.run(&data, Some(fault))?;
        let has_struck = struck.calls.iter().any(|call| call.effect.is_some());
        let up_to_it = struck.calls.iter().take(fault.at).cloned().collect();
        has_struck.then(|| (up_to_it, self.judge(&data, fault, struck)))
    }

    fn judge(&self, data: &Data, fault: Fault, struck: Struck) -> Vec<String> {
        let mut problems = vec![];
        let Struck { answer, server, log, .. } = struck;
        let is_killed = fault.effect == Effect::Kill;
        if server.is_none() != is_killed {
            problems.push(format!("whether the server is there: {}", server.is_some()));
        }
        if let Some(Err(refusal)) = &answer
            && refusal.code != -32603
        {
            problems.push(format!("the error is the client's: {refusal:?}"));
        }
        let tries = log.matches("a collection of code can't be indexed").count();
        if tries > MAX_TRIES {
            problems.push(format!("the run is tried {tries} times: {:?}", log.lines().last()));
        }
        if let Some((mut server, then)) = server {
            let is_said = match &then {
                RunStatus::Failed(error) | RunStatus::Refused(error) => !error.is_empty(),
                RunStatus::Running => log.contains("ERROR"),
                RunStatus::Missing => matches!(answer, Some(Err(_))),
                RunStatus::Idle(_) => true,
            };
            if !is_said {
                problems.push(format!("nothing says why the run is {then:?}: {log:?}"));
            }
            match settled(&mut server, RUN_TIMEOUT) {
                Ok(RunStatus::Idle(_) | RunStatus::Failed(_) | RunStatus::Missing) => {}
                other => {
                    let log = fs::read_to_string(data.beside("log")).unwrap_or_default();
                    let lines: Vec<_> = log.lines().collect();
                    let last = &lines[lines.len().saturating_sub(LOGGED)..];
                    problems.push(format!("the same server does not end the run: {other:?}, {last:#?}"));
                }
            }
            server.close();
        }
        let Some(mut next) = self.serve(data) else {
            problems.push("a new server does not start".into());
            return problems;
        };
        // An unacknowledged run may be there only if the server died.
        let is_begun = matches!(answer, Some(Ok(_)));
        match settled(&mut next, RUN_TIMEOUT) {
            Ok(RunStatus::Idle(status)) if is_begun => problems.extend(self.holds(&mut next, &status).err()),
            Ok(RunStatus::Failed(error)) if !is_killed && !error.is_empty() => {}
            Ok(RunStatus::Missing | RunStatus::Idle(_)) if !is_begun => {}
            other => problems.push(format!("with the next server, the run is {other:?}, after {answer:?}")),
        }
        problems.extend(self.ends_a_run(&mut next).err());
        next.close();
        problems
    }

    /// Returns an error unless each file is found once, with its word, and no removed file is.
    fn holds(&self, server: &mut Server, status: &Value) -> Result<(), String> {
        let many = self.files.len();
        let counts = ["files_total", "files_done", "chunks"].map(|name| &status[name]);
        if counts != [many, many, many] || status["files_failed"] != 0 || !status["error"].is_null() {
            return Err(format!("{many} files are indexed, and the status is {status}"));
        }
        let all = found(server, COMMON)?;
        let expected: Vec<_> =
            self.files.keys().map(|(branch, path)| ((*branch).to_owned(), path.clone())).collect();
        if all != expected {
            return Err(format!("`{COMMON}` finds {all:?}, not {expected:?}"));
        }
        for ((branch, path), number) in &self.files {
            let found = found(server, &word(*number))?;
            if found != [((*branch).to_owned(), path.clone())] {
                return Err(format!("the word of `{path}` finds {found:?}"));
            }
        }
        for number in &self.gone {
            let found = found(server, &word(*number))?;
            if !found.is_empty() {
                return Err(format!("the word of a file that is gone finds {found:?}"));
            }
        }
        Ok(())
    }
}

/// Returns the hits of a word, by branch and path.
fn found(server: &mut Server, word: &str) -> Result<Vec<(String, String)>, String> {
    let asked = json!({ "resource": "code", "query": word, "collection": COLLECTION, "limit": 1000 });
    let answer = call(server, "search", asked).map_err(|error| error.to_string())?;
    let answer = answer.map_err(|refusal| format!("the search is refused: {refusal:?}"))?;
    let hits = answer.response["results"].as_array().cloned().unwrap_or_default();
    let text = |hit: &Value, name: &str| hit[name].as_str().unwrap_or_default().to_owned();
    let has = |hit: &&Value| text(hit, "content").contains(word);
    let mut places: Vec<_> =
        hits.iter().filter(has).map(|hit| (text(hit, "branch"), text(hit, "file_path"))).collect();
    places.sort();
    Ok(places)
}
