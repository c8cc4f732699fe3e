//! Tests the checks themselves: the reference implementation passes all of them, and each mutant fails the checks named for it; the
//! product's servers behind proxies and their mutants likewise. Innocents, which a careless check would accuse, are acquitted. A
//! golden file records the checks that each mutant fails, and the verdict of each check on each innocent, so that a weakened or
//! careless check is noticed.
//!
//! Each mutant is run against the checks named for it and against [`EVERYWHERE`], which are quick; with `--all` against all
//! checks. With `--changed`, [`changed`] chooses the mutants.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, iter,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tabellion_conformance::{
    Subject,
    check::{Profile, Severity},
    checks,
    era::Era,
    pattern::covers,
    report::{CheckReport, Verdict, progress::Silent},
    run::{self as conformance, available_jobs},
};
use tabellion_reference::{
    CorrectServer,
    innocent::INNOCENTS,
    mutant::{self, ALSO_OVER_HTTP, DATABASE_ZOO, HTTP_ZOO, REST_ZOO, Specimen},
};

use xtask::{Outcome, root, run};

use crate::{
    changed,
    times::{self, Timed},
};

/// Checks for every mutant of the reference: a defect in one place may be visible in others.
const EVERYWHERE: [&str; 4] =
    ["mutation/one-commit", "mutation/returned-id", "mutation/log-entry", "wire/tools-list"];
/// Time limit of an answer: some mutants never answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Prefix of the names of servers over HTTP in the golden file.
const OVER_HTTP: &str = "http/";
/// Checks and families that correct servers pass over HTTP.
const PASSED_OVER_HTTP: [(CorrectServer, &[&str]); 2] = [
    (
        CorrectServer::Reference,
        &[
            "http",
            "wire/handshake",
            "wire/ids",
            "wire/large-argument",
            "mutation/returned-id",
            "atomic/restart",
            "budget/memory",
        ],
    ),
    (CorrectServer::Bulletin, &["rest", "audit", "limits", "sessions"]),
];
/// Prefix of the names of innocents in the golden file.
const INNOCENT: &str = "innocent/";

/// Options of `cargo lab zoo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write the results to the golden file
    #[arg(long)]
    bless: bool,
    /// Run every server against every check that the correct one passes, and print the failures; do not compare with the
    /// golden file
    #[arg(long, conflicts_with = "bless")]
    all: bool,
    /// Give correct servers the first and last case of each check. Of the mutants, run those whose checks or expected results changed
    /// since a run of all of them last passed, and a tenth of the others, chosen by the commit
    #[arg(long, conflicts_with_all = ["bless", "only"])]
    changed: bool,
    /// Run only these servers: mutants and innocents by name, or `reference`, or a contract
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "bless")]
    only: Vec<String>,
    /// Run only the mutants of rows in PostgreSQL, in databases on this server: `postgres://USER@HOST:PORT`. They are not in the golden
    /// file
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["bless", "all", "changed"])]
    database: Option<String>,
    /// Number of servers to run in parallel; if omitted, one more than cores
    #[arg(long)]
    jobs: Option<NonZero<usize>>,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A server, and its kind.
struct Exhibit {
    /// The name in the golden file.
    name: String,
    subject: Subject,
    kind: Kind,
    /// Checks and families to run; all if empty.
    checks: Vec<&'static str>,
    eras: &'static [Era],
}

/// The kind of a server, which determines the expected verdicts.
#[derive(Clone, Copy)]
enum Kind {
    /// It passes.
    Correct,
    /// These checks fail.
    Mutant(&'static Specimen, &'static [&'static str]),
    /// The checks named for it do not accuse it.
    Innocent,
}

impl Exhibit {
    /// Returns a server that is judged in the stateless era.
    fn new(subject: Subject, kind: Kind, checks: &[&'static str]) -> Self {
        Self { name: subject.name.clone(), subject, kind, checks: checks.to_vec(), eras: &[Era::Stateless] }
    }

    /// Returns it with a prefix in the golden file.
    fn below(self, prefix: &str) -> Self {
        Self { name: format!("{prefix}{}", self.name), ..self }
    }

    /// Returns it judged in all eras if its server is the reference; the other servers speak only the stateless one.
    fn in_its_eras(self, server: CorrectServer) -> Self {
        if server == CorrectServer::Reference { Self { eras: &Era::ALL, ..self } } else { self }
    }

    /// Returns all servers. Those that take longest are first; otherwise they would run alone at the end.
    fn all(program: &Path, options: &Options) -> Vec<Self> {
        if let Some(server) = &options.database {
            let mutant = |specimen: &'static Specimen| {
                let subject = tabellion_reference::in_database(server, program, specimen);
                Self::new(subject, Kind::Mutant(specimen, specimen.detected_by), specimen.detected_by)
            };
            return DATABASE_ZOO.iter().map(mutant).collect();
        }
        let [reference, behind_proxies @ ..] = CorrectServer::ALL;
        let correct = |server: CorrectServer| {
            let all: Vec<_> = checks::for_contract(server.contract()).map(|check| check.id).collect();
            let checks = if server.passes().is_empty() { &all } else { server.passes() };
            Self::new(server.subject(program, None), Kind::Correct, checks).in_its_eras(server)
        };
        let mutants = mutant::zoo().map(|specimen| {
            let checks = match specimen.server {
                _ if options.all => specimen.server.passes().to_vec(),
                CorrectServer::Reference => [specimen.detected_by, &EVERYWHERE].concat(),
                _ => specimen.detected_by.to_vec(),
            };
            let subject = specimen.server.subject(program, Some(specimen));
            Self::new(subject, Kind::Mutant(specimen, specimen.detected_by), &checks)
        });
        let innocents = INNOCENTS.iter().map(|innocent| {
            Self::new(innocent.subject(program), Kind::Innocent, innocent.acquitted_by).below(INNOCENT)
        });
        let over_http =
            |server: CorrectServer, kind: Kind, specimen: Option<&Specimen>, checks: &[&'static str]| {
                let subject = tabellion_reference::over_http(server, program, specimen);
                Self::new(subject, kind, checks).below(OVER_HTTP).in_its_eras(server)
            };
        let also = ALSO_OVER_HTTP.iter().filter_map(|(name, ids)| Some((Specimen::find(name).ok()?, *ids)));
        let own = HTTP_ZOO.iter().chain(REST_ZOO).map(|specimen| (specimen, specimen.detected_by));
        let mutants_over_http = own.chain(also).map(|(specimen, ids)| {
            over_http(specimen.server, Kind::Mutant(specimen, ids), Some(specimen), ids)
        });
        let correct_over_http =
            PASSED_OVER_HTTP.map(|(server, ids)| over_http(server, Kind::Correct, None, ids));
        iter::once(correct(reference))
            .chain(innocents)
            .chain(behind_proxies.into_iter().map(correct))
            .chain(correct_over_http)
            .chain(mutants)
            .chain(mutants_over_http)
            .collect()
    }
}

/// Failed checks by name of the server; of an innocent, each check with its verdict.
type Matrix = BTreeMap<String, Vec<String>>;

/// Runs the correct servers and the mutants; fails if a correct one fails a check, or a mutant is not detected.
pub(crate) fn keep(options: &Options) -> Outcome {
    // Proxies stand before the product's servers.
    run::program("tabellion-under-test")?;
    let program = run::program("tabellion-reference")?;
    let since = Instant::now();
    let mut wanted = Exhibit::all(&program, options);
    if options.changed {
        let is_chosen = changed::since_all_passed(&golden())?;
        wanted.retain(|it| match it.kind {
            Kind::Mutant(_, detected_by) => is_chosen(&it.name, detected_by),
            Kind::Correct | Kind::Innocent => true,
        });
    }
    wanted.retain(|it| options.only.is_empty() || options.only.contains(&it.subject.name));
    let (found, mut wrong) = try_all(options, &mut wanted)?;
    println!("{} servers in {:.0} s", wanted.len(), since.elapsed().as_secs_f64());
    if options.bless && found.len() < wanted.len() {
        return Err(
            "what could not be tried here would be missing from the golden file: bless it elsewhere".into()
        );
    }
    if !options.all && options.database.is_none() {
        wrong.extend(compare(options, &found)?);
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    let is_whole = !options.changed && options.only.is_empty() && options.database.is_none();
    if is_whole && !options.bless && found.len() == wanted.len() {
        changed::record()?;
    }
    Ok(())
}

/// Runs servers, several in parallel, and keeps their times. Returns the failed checks, and messages about unexpected results.
fn try_all(options: &Options, wanted: &mut [Exhibit]) -> Outcome<(Matrix, Vec<String>)> {
    // Servers under test wait for disks and clocks.
    let jobs = options.jobs.map_or_else(|| available_jobs() + 1, NonZero::get);
    wanted.iter_mut().for_each(|it| it.subject.launch.patience = ANSWER_TIMEOUT);
    let wanted = &*wanted;
    let next = AtomicUsize::new(0);
    let all = Mutex::new((Matrix::new(), Vec::new(), Vec::new()));
    let work = || {
        while let Some(exhibit) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let since = Instant::now();
            let Some((failed, mut wrong)) = try_one(options, exhibit, jobs) else {
                continue;
            };
            let name = &exhibit.name;
            println!("{name:28} {:5.1} s  {}", since.elapsed().as_secs_f64(), failed.join(" "));
            wrong.iter().for_each(|wrong| println!("    {wrong}"));
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.2.push(Timed {
                group: "zoo".into(),
                name: name.to_owned(),
                seconds: since.elapsed().as_secs_f64(),
            });
            if all.0.insert(name.to_owned(), failed).is_some() {
                wrong.push(format!("two servers are called {name}"));
            }
            all.1.append(&mut wrong);
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(work);
        }
        work();
    });
    let (found, wrong, timed) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    times::keep("zoo", timed)?;
    Ok((found, wrong))
}

/// Returns the checks that a server fails, and the problems with them; `None` if no check that detects the defect can run
/// here, unless that is itself an error.
fn try_one(options: &Options, exhibit: &Exhibit, jobs: usize) -> Option<(Vec<String>, Vec<String>)> {
    let name = &exhibit.name;
    let is_right = matches!(exhibit.kind, Kind::Correct);
    let report = conformance::run(
        &exhibit.subject,
        &conformance::Options {
            profile: if options.changed && is_right { Profile::Smoke } else { Profile::Quick },
            seed: options.seed,
            only: exhibit.checks.iter().map(|id| String::from(*id)).collect(),
            // A mutant has little to do, the others much.
            jobs: if matches!(exhibit.kind, Kind::Mutant(..)) { 1 } else { jobs },
            eras: exhibit.eras.to_vec(),
            rest_in_last_era: true,
            verdicts_alone: !is_right,
            ..conformance::Options::default()
        },
        &Silent,
    );
    let detected_by = match exhibit.kind {
        Kind::Mutant(_, detected_by) => detected_by,
        Kind::Correct => &[],
        Kind::Innocent => return Some(acquittal(name, &report.checks)),
    };
    let is_untried = |check: &&CheckReport| {
        let is_named = detected_by.contains(&check.id.as_str());
        is_named && check.verdict == Verdict::NotShown && check.severity == Severity::Should
    };
    if let Some(check) = report.checks.iter().find(is_untried) {
        let why = check.reason.as_deref().unwrap_or_default();
        println!("{name:28} {} can't be tried here: {why}", check.id);
        return None;
    }
    let mut failed: Vec<_> = report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Fail)
        .map(|check| check.id.clone())
        .collect();
    failed.dedup();
    let wrong = match exhibit.kind {
        Kind::Correct | Kind::Innocent => report
            .checks
            .iter()
            .filter(|check| check.severity == Severity::Must && check.verdict > Verdict::NotApplicable)
            .map(|check| {
                let why = check.reason.as_deref().unwrap_or_default();
                format!("{name} does not pass {} ({}): {why}", check.id, check.revision)
            })
            .collect(),
        Kind::Mutant(Specimen { breaks, .. }, _) => detected_by
            .iter()
            .filter(|id| !failed.iter().any(|failed| covers(id, failed)))
            .map(|id| {
                let tried = report.checks.iter().find(|check| covers(id, &check.id));
                let verdict = tried.map_or("not run", CheckReport::word).to_lowercase();
                let why = tried.and_then(|check| check.reason.as_deref()).unwrap_or_default();
                format!("{name} does not fail {id} ({verdict}), although it is broken: {breaks}; {why}")
            })
            .collect(),
    };
    Some((failed, wrong))
}

/// Returns the checks of an innocent with their verdicts, and those that accuse it: they fail, and their failure breaks a guarantee or
/// is their only subject.
fn acquittal(name: &str, checks: &[CheckReport]) -> (Vec<String>, Vec<String>) {
    let accuses = |check: &&CheckReport| {
        let fails = check.verdict >= Verdict::HarnessError;
        fails
            && (!check.breaks.is_empty()
                || check.guarantees.is_empty()
                || check.verdict == Verdict::HarnessError)
    };
    let verdict = |check: &CheckReport| format!("{} ({})", check.id, check.word().to_lowercase());
    let accused = |check: &CheckReport| {
        let why = check.reason.as_deref().unwrap_or_default();
        format!("{name} is innocent, but {} accuses it: {why}", check.id)
    };
    let wrong = checks.iter().filter(accuses).map(accused).collect();
    (checks.iter().map(verdict).collect(), wrong)
}

/// Compares the results to the golden file, or writes it.
fn compare(options: &Options, found: &Matrix) -> Outcome<Vec<String>> {
    let path = golden();
    let mut text = String::from(
        "# Which checks each mutant fails, of those it is held to, and what checks say of each innocent. Generated by `cargo lab \
         zoo --bless`.\n",
    );
    for (name, failed) in found {
        let line = format!("{name:28} {}", failed.join(" "));
        writeln!(text, "{}", line.trim_end())?;
    }
    if options.bless {
        fs::write(path, text)?;
        return Ok(Vec::new());
    }
    let golden = fs::read_to_string(path)?;
    let expected: Vec<_> = golden.lines().collect();
    let differs = text.lines().skip(1).filter(|line| !expected.contains(line));
    Ok(differs
        .map(|line| {
            format!("not as in conformance/zoo.golden; if that is right, `cargo lab zoo --bless`: {line}")
        })
        .collect())
}

fn golden() -> PathBuf {
    root().join("conformance/zoo.golden")
}
