//! Runs the conformance suite against the program and against the examples of `tabellion-codegen`: each contract, over each
//! transport that it is served over.
//!
//! Checks of all servers run concurrently: no core waits for the last check of one. Each run names the guarantees that it must show;
//! otherwise a check that no longer applies would go unnoticed.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use tabellion_conformance::{
    Subject,
    check::{Check, Profile, Severity},
    checks, contracts,
    era::Era,
    launch::{Launch, Reach},
    report::{CheckReport, Observer, Report, Verdict},
    run::{self, Options},
};
use tempfile::TempDir;
use xtask::{Outcome, root};

use crate::times::{self, Timed};

/// The program with all servers.
const PROGRAM: &str = "tabellion-under-test";
/// Concurrent checks for each core: servers under test mostly wait for a disk or a clock.
const CHECKS_PER_CORE: usize = 2;
const URL: &str = "http://127.0.0.1:{port}/mcp";

/// Options of `cargo lab suite`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many checks and cases to run
    #[arg(long, value_parser = tabellion_conformance_cli::profiles(), default_value = "quick")]
    profile: Profile,
    /// Run only the servers whose names contain this
    #[arg(long, value_name = "NAME", default_value = "")]
    only: String,
}

/// A server, and the checks that it must pass.
struct Run {
    name: &'static str,
    contract: &'static str,
    /// The program's arguments, separated by spaces, as all lists here.
    serve: &'static str,
    access: Access,
    eras: &'static [Era],
    /// Checks and families; all if empty.
    only: &'static str,
    shows: Shows,
    /// Checks with severity `Must` that can't be shown there.
    unshown: &'static str,
}

/// Transport, and the suite's means to be a caller of a role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Lines,
    /// As [`Lines`](Self::Lines); the server takes the caller's role as an argument, and a person decides at the terminal.
    LinesWithRoles,
    /// As [`Lines`](Self::Lines); the library is shared through a remote, which acknowledges its changes.
    LinesShared,
    Http,
    /// As [`Http`](Self::Http); the server takes a file of keys as its last argument, and each role has a key.
    HttpWithKeys,
}

/// Guarantees that a run must show to hold, unless its profile is `smoke`.
enum Shows {
    All,
    AllBut(&'static str),
    These(&'static str),
}

const DEFAULT: Run = Run {
    name: "",
    contract: "",
    serve: "",
    access: Access::Lines,
    eras: &Era::ALL,
    only: "",
    shows: Shows::All,
    unshown: "",
};

/// All runs, in the order in which their checks start.
const RUNS: &[Run] = &[
    Run {
        name: "brainforge over http",
        contract: "brainforge",
        serve: "serve --contract brainforge --library {library} --http 127.0.0.1:{port} --keys",
        access: Access::HttpWithKeys,
        eras: &[Era::Session],
        only: "auth gates links notes export rest audit limits sessions",
        shows: Shows::These(
            "auth-required gates-before-execution violations-write-nothing links-are-sound search-is-bounded \
            export-is-whole rest-is-mcp audit-of-every-call limits-hold sessions-end",
        ),
        ..DEFAULT
    },
    Run {
        name: "brainforge over stdio",
        contract: "brainforge",
        serve: "serve --contract brainforge --library {library}",
        access: Access::LinesWithRoles,
        eras: &[Era::Stateless],
        // `schema` and `wire` make more exports than the ten that are permitted in an hour, and would wait.
        only: "auth gates pure paths mutation budget review versions links notes export",
        // REST and the records of calls need HTTP.
        shows: Shows::AllBut("rest-is-mcp audit-of-every-call limits-hold sessions-end"),
        ..DEFAULT
    },
    Run {
        name: "braindrive-markdown over stdio",
        contract: "braindrive-markdown",
        serve: "serve --library {library}",
        ..DEFAULT
    },
    Run {
        name: "braindrive-markdown on several machines",
        contract: "braindrive-markdown",
        serve: "serve --library {library}",
        access: Access::LinesShared,
        only: "remote",
        shows: Shows::These(""),
        ..DEFAULT
    },
    Run { name: "desk over stdio", contract: "desk", serve: "desk {library}", ..DEFAULT },
    Run {
        name: "learning-os over stdio",
        contract: "learning-os",
        serve: "serve --library {library} --contract learning-os",
        // It has no tool that reads the log.
        shows: Shows::AllBut("log-entry-per-entry"),
        ..DEFAULT
    },
    Run {
        name: "safe-markdown-editor over stdio",
        contract: "safe-markdown-editor",
        serve: "serve --library {library} --contract safe-markdown-editor --document {document}",
        // It has no tool that reads the log.
        shows: Shows::AllBut("log-entry-per-edit"),
        ..DEFAULT
    },
    Run { name: "tracker over stdio", contract: "tracker", serve: "tracker {data}", ..DEFAULT },
    Run {
        name: "bulletin over stdio",
        contract: "bulletin",
        serve: "bulletin {library}",
        access: Access::LinesWithRoles,
        eras: &[Era::Stateless],
        ..DEFAULT
    },
    Run {
        name: "mcb over stdio",
        contract: "mcb",
        serve: "serve --contract mcb --data {data} --workspace {workspace} --provenance strict",
        eras: &[Era::Stateless],
        // `wire` and `schema` take long with 148 operations, and the other contracts' runs judge the same code.
        only: "pure operations rows orgs secrets index search vcs validate provenance modes errors memory",
        ..DEFAULT
    },
    Run {
        name: "mcb over http in one mode",
        contract: "mcb",
        serve: "serve --contract mcb --data {data} --workspace {workspace} --http 127.0.0.1:{port} --mode server-hybrid",
        access: Access::Http,
        eras: &[Era::Session],
        // Recovery after a kill does not depend on the transport, and takes longest.
        only: "index/status index/incremental index/outside search vcs",
        shows: Shows::These(
            "any-text-is-a-query filters-hold scores-descend status-is-true index-is-the-files \
            one-hit-a-chunk exact-names-are-found nothing-outside-is-read branches-are-gits repositories-are-listed \
            impact-is-counted",
        ),
        ..DEFAULT
    },
    Run {
        name: "mcb over http in all modes",
        contract: "mcb",
        serve: "serve --contract mcb --data {data} --workspace {workspace} --http 127.0.0.1:{port}",
        access: Access::Http,
        eras: &[Era::Session],
        // The texts of errors do not depend on the transport, and take longest.
        only: "provenance modes errors/channel rows/one-change",
        shows: Shows::These(
            "provenance-required parent-when-delegated modes-hold errors-are-json-rpc one-change-per-mutation",
        ),
        ..DEFAULT
    },
    Run {
        name: "mcb over http for files of the client's machine",
        contract: "mcb",
        serve: "serve --contract mcb --data {data} --workspace {workspace} --http 127.0.0.1:{port} --mode client-hybrid",
        access: Access::Http,
        eras: &[Era::Session],
        only: "validate",
        shows: Shows::These("rules-are-listed findings-are-data metrics-are-counted"),
        ..DEFAULT
    },
    Run {
        name: "braindrive-markdown over http",
        contract: "braindrive-markdown",
        serve: "serve --library {library} --http 127.0.0.1:{port}",
        access: Access::Http,
        only: "concurrent http mutation wire",
        shows: Shows::These(""),
        ..DEFAULT
    },
    Run {
        name: "tracker over http",
        contract: "tracker",
        serve: "tracker {data} 127.0.0.1:{port}",
        access: Access::Http,
        only: "operations rows orgs secrets",
        // The time at which an answer is sent can't be observed over HTTP.
        unshown: "rows/synced-before-answer",
        ..DEFAULT
    },
    Run {
        name: "bulletin over http",
        contract: "bulletin",
        serve: "bulletin {library} 127.0.0.1:{port}",
        access: Access::HttpWithKeys,
        eras: &[Era::Session],
        only: "auth gates",
        ..DEFAULT
    },
];

impl Run {
    /// Returns the server and the checks to run; keys are made in `folder`.
    fn prepare(&self, program: &Path, folder: &Path, profile: Profile) -> Outcome<(Subject, Options)> {
        let example = root().join("codegen/examples").join(self.contract).join("schemas").join(self.contract);
        let contract =
            if example.is_dir() { contracts::load(&example)? } else { contracts::find(self.contract)? };
        let word = |word: &Path| word.to_str().map(String::from).ok_or("a path is not UTF-8");
        let mut command = vec![word(program)?];
        command.extend(words(self.serve).map(String::from));
        let mut launch = Launch::new(Vec::new());
        // The examples take no mode.
        let takes_mode = contract.modes.is_some() && words(self.serve).next() == Some("serve");
        launch.mode = takes_mode.then(|| "--mode={mode}".into());
        match self.access {
            Access::Lines => {}
            Access::LinesWithRoles => {
                launch.role = Some("--as={role}".into());
                // A person reads the proposals that wait, and decides on them.
                let review = format!("'{}' review", program.display());
                launch.show = Some(format!("{review} show {{id}} --library {{library}}"));
                launch.decide = Some(format!(
                    "{review} {{decision}} {{id}} -m decided --library {{library}} \
                     $(for part in {{parts}}; do printf ' --part %s' $part; done)"
                ));
            }
            Access::LinesShared => {
                // The records of libraries that are shared belong to the user.
                launch.environment = vec![("XDG_STATE_HOME".into(), "{library}/../state".into())];
                launch.share = Some(format!(
                    "'{}' remote set {{remote}} --acknowledge remote --library {{library}}",
                    program.display()
                ));
            }
            Access::Http | Access::HttpWithKeys => launch.reach = Reach::Http(URL.into()),
        }
        if self.access == Access::HttpWithKeys {
            let keys = folder.join(format!("{}.json", self.contract));
            launch.role_headers = make_keys(program, &keys)?;
            launch.clock_offset = Some("TABELLION_CLOCK_OFFSET".into());
            command.push(word(&keys)?);
        }
        launch.command = command;
        let subject = Subject { name: self.name.into(), launch, ..Subject::new(contract, Vec::new()) };
        let mut options = Options {
            profile,
            only: words(self.only).map(String::from).collect(),
            eras: self.eras.to_vec(),
            rest_in_last_era: true,
            ..Options::default()
        };
        if profile == Profile::Smoke {
            let selected = run::selected(&subject, &options).map(|check| check.id);
            options.only =
                selected.filter(|id| checks::smoke().any(|it| it == *id)).map(String::from).collect();
            options.eras.drain(..options.eras.len() - 1);
        }
        Ok((subject, options))
    }

    /// Returns a message for each check that fails, or that did not show a guarantee although it should.
    fn problems(&self, report: &Report) -> Vec<String> {
        let is_broken = |check: &&CheckReport| match check.verdict {
            Verdict::Pass | Verdict::NotApplicable => false,
            Verdict::NotShown => {
                check.severity == Severity::Must && !words(self.unshown).any(|id| id == check.id)
            }
            Verdict::HarnessError | Verdict::Fail => true,
        };
        let message = |check: &CheckReport| {
            let why = check.reason.as_deref().unwrap_or_default();
            format!("{}: {} ({}) {}: {why}", self.name, check.id, check.revision, check.word().to_lowercase())
        };
        let mut problems: Vec<_> = report.checks.iter().filter(is_broken).map(message).collect();
        if report.checks.is_empty() {
            problems.push(format!("{}: no check was run", self.name));
        }
        if report.profile != Profile::Smoke {
            let is_shown = |id: &str| {
                let mut all = report.guarantees.iter();
                all.any(|it| it.id == id && it.tried > 0 && it.verdict == Verdict::Pass)
            };
            let all = report.guarantees.iter().map(|it| it.id.as_str());
            let wanted: Vec<_> = match &self.shows {
                Shows::All => all.collect(),
                Shows::AllBut(these) => all.filter(|id| !words(these).any(|it| it == *id)).collect(),
                Shows::These(these) => words(these).collect(),
            };
            let missing = wanted.into_iter().filter(|id| !is_shown(id));
            problems
                .extend(missing.map(|id| format!("{}: guarantee `{id}` was not shown to hold", self.name)));
        }
        problems
    }
}

/// Returns the items of a list.
fn words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split_whitespace()
}

/// Makes a key for each role; returns the headers of the roles' calls.
fn make_keys(program: &Path, keys: &Path) -> Outcome<Vec<(String, String, String)>> {
    let roles = [
        ("owner", &["--scope", "write"][..]),
        ("reviewer", &["--scope", "review"]),
        ("reader", &["--scope", "read"]),
        ("agent", &["--scope", "write", "--agent", "helper@1"]),
    ];
    let header = |(role, arguments): (&str, &[&str])| {
        let mut command = Command::new(program);
        command.args(["key", "create", "--name", "Ada", "--keys"]).arg(keys);
        let secret = String::from_utf8(command.args(arguments).output()?.stdout)?;
        Outcome::Ok((role.into(), "Authorization".into(), format!("Bearer {}", secret.trim())))
    };
    roles.into_iter().map(header).collect()
}

/// Prints each check that does not pass.
struct Printed;

impl Observer for Printed {
    fn begins(&self, _: &Check, _: Era, _: usize) {}

    fn case_done(&self, _: &Check) {}

    fn ends(&self, report: &CheckReport) {
        if !matches!(report.verdict, Verdict::Pass | Verdict::NotApplicable) {
            let why = report.reason.as_deref().unwrap_or_default();
            println!("{} ({}) {}: {why}", report.id, report.revision, report.word().to_lowercase());
        }
    }
}

/// Runs the suite against all servers.
///
/// # Errors
/// If a server fails a check, or a guarantee is not shown to hold.
pub(crate) fn judge(arguments: &Arguments) -> Outcome {
    let since = Instant::now();
    let program: PathBuf = xtask::run::program(PROGRAM)?;
    let keys: TempDir = tempfile::tempdir()?;
    let wanted: Vec<_> = RUNS.iter().filter(|run| run.name.contains(&arguments.only)).collect();
    if wanted.is_empty() {
        return Err(format!("no server's name contains `{}`", arguments.only).into());
    }
    let runs = wanted.iter().map(|run| run.prepare(&program, keys.path(), arguments.profile));
    let runs = runs.collect::<Outcome<Vec<_>>>()?;
    let reports = run::run_all(&runs, CHECKS_PER_CORE * run::available_jobs(), &Printed);
    let mut problems = Vec::new();
    let mut timed = Vec::new();
    for (run, report) in wanted.iter().zip(&reports) {
        let seconds: f64 = report.checks.iter().map(|check| check.seconds).sum();
        println!("{:48} {:4} checks, {seconds:6.1} s", run.name, report.checks.len());
        problems.extend(run.problems(report));
        timed.extend(report.checks.iter().map(|check| Timed {
            group: run.name.into(),
            name: format!("{} ({})", check.id, check.revision),
            seconds: check.seconds,
        }));
    }
    times::keep("suite", timed)?;
    println!("{} servers in {:.0} s", reports.len(), since.elapsed().as_secs_f64());
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}
