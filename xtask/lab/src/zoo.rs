//! Tests the checks themselves: the reference implementation passes all of them, and each mutant fails the checks named for
//! it; the small servers of the other contracts and their mutants likewise. Innocents, which a careless check would accuse, are
//! acquitted. A golden file records which mutant fails which check, and what each check says of each innocent, so that a weakened or
//! careless check is noticed.
//!
//! Each mutant is run against the checks named for it and against [`EVERYWHERE`], which are quick; with `--all` against all
//! checks.

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
    check::{Severity, covers},
    era::Era,
    report::{CheckReport, Verdict, progress::Silent},
    run as conformance,
};
use tabellion_reference::{
    CorrectServer,
    innocent::{Acquitted, INNOCENTS},
    mutant::{self, Specimen},
};

use crate::{Outcome, root, run};

/// Checks for every mutant of the reference: a defect in one place may be visible in others.
const EVERYWHERE: [&str; 4] = [
    "mutation/one-commit",
    "mutation/returned-id",
    "mutation/log-entry",
    "wire/tools-list",
];
/// Time limit of an answer: some mutants never answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Begins the name of an innocent in the golden file.
const INNOCENT: &str = "innocent/";

/// Options of `cargo xtask zoo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write the results to the golden file
    #[arg(long)]
    bless: bool,
    /// Run every server against every check that the correct one passes, and print the failures; do not compare with the
    /// golden file
    #[arg(long, conflicts_with = "bless")]
    all: bool,
    /// Run only these servers: mutants and innocents by name, or `reference`, or a contract
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "bless")]
    only: Vec<String>,
    /// Number of servers to run in parallel; if omitted, the number of cores
    #[arg(long)]
    jobs: Option<NonZero<usize>>,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Default for Options {
    /// All servers, compared with the golden file.
    fn default() -> Self {
        Self {
            bless: false,
            all: false,
            only: Vec::new(),
            jobs: None,
            seed: 1,
        }
    }
}

/// A server, and what it is.
struct Exhibit {
    subject: Subject,
    kind: Kind,
}

/// What a server is, and so what is expected of the checks.
#[derive(Clone, Copy)]
enum Kind {
    /// It passes.
    Correct(CorrectServer),
    /// The checks named for it fail.
    Mutant(&'static Specimen),
    /// The checks named for it do not accuse it.
    Innocent(&'static Acquitted),
}

impl Exhibit {
    /// Returns the name in the golden file.
    fn name(&self) -> String {
        match self.kind {
            Kind::Innocent(innocent) => format!("{INNOCENT}{}", innocent.name),
            Kind::Correct(_) | Kind::Mutant(_) => self.subject.name.clone(),
        }
    }

    /// The reference, the mutants, the innocents, then the small servers.
    ///
    /// The reference is first because it takes as long as all others together.
    fn all(program: &Path) -> Vec<Self> {
        let correct = |server: CorrectServer| Self {
            subject: server.subject(program, None),
            kind: Kind::Correct(server),
        };
        let mutants = mutant::zoo().map(|specimen| Self {
            subject: specimen.server.subject(program, Some(specimen)),
            kind: Kind::Mutant(specimen),
        });
        let innocents = INNOCENTS.iter().map(|innocent| Self {
            subject: innocent.subject(program),
            kind: Kind::Innocent(innocent),
        });
        let [reference, small @ ..] = CorrectServer::ALL;
        let small = small.into_iter().map(correct);
        iter::once(correct(reference))
            .chain(mutants)
            .chain(innocents)
            .chain(small)
            .collect()
    }

    /// Returns the checks to run; all if empty.
    fn held_to(&self, options: &Options) -> Vec<String> {
        let only = match self.kind {
            Kind::Correct(server) => server.passes().to_vec(),
            Kind::Mutant(specimen) if options.all => specimen.server.passes().to_vec(),
            Kind::Mutant(specimen) if specimen.server == CorrectServer::Reference => {
                [specimen.detected_by, &EVERYWHERE].concat()
            }
            Kind::Mutant(specimen) => specimen.detected_by.to_vec(),
            Kind::Innocent(innocent) => innocent.acquitted_by.to_vec(),
        };
        only.into_iter().map(String::from).collect()
    }
}

/// Failed checks by name of the server; of an innocent, each check with its verdict.
type Matrix = BTreeMap<String, Vec<String>>;

/// Runs the correct servers and the mutants; fails if a correct one fails a check, or a mutant is not detected.
pub(crate) fn keep(options: &Options) -> Outcome {
    let program = run::program("tabellion-reference", &[])?;
    let since = Instant::now();
    let mut wanted = Exhibit::all(&program);
    wanted.retain(|it| options.only.is_empty() || options.only.contains(&it.subject.name));
    let (found, mut wrong) = try_all(options, &mut wanted);
    println!(
        "{} servers in {:.0} s",
        wanted.len(),
        since.elapsed().as_secs_f64()
    );
    if options.bless && found.len() < wanted.len() {
        return Err(
            "what could not be tried here would be missing from the golden file: bless it elsewhere".into(),
        );
    }
    if !options.all {
        wrong.extend(compare(options, &found)?);
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

/// Runs servers, several in parallel. Returns the failed checks, and what is wrong with them.
fn try_all(options: &Options, wanted: &mut [Exhibit]) -> (Matrix, Vec<String>) {
    let jobs = options
        .jobs
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZero::get);
    wanted
        .iter_mut()
        .for_each(|it| it.subject.launch.patience = ANSWER_TIMEOUT);
    let wanted = &*wanted;
    let next = AtomicUsize::new(0);
    let all = Mutex::new((Matrix::new(), Vec::new()));
    let work = || {
        while let Some(exhibit) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let since = Instant::now();
            let Some((failed, mut wrong)) = try_one(options, exhibit, jobs) else {
                continue;
            };
            let name = &exhibit.name();
            println!(
                "{name:28} {:5.1} s  {}",
                since.elapsed().as_secs_f64(),
                failed.join(" ")
            );
            wrong.iter().for_each(|wrong| println!("    {wrong}"));
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
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
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the checks that a server fails, and what is wrong with them; `None` if no check that detects the defect can run
/// here, unless that is itself an error.
fn try_one(options: &Options, exhibit: &Exhibit, jobs: usize) -> Option<(Vec<String>, Vec<String>)> {
    let name = &exhibit.name();
    let is_right = matches!(exhibit.kind, Kind::Correct(_));
    let only = exhibit.held_to(options);
    let is_everything = only.is_empty();
    let report = conformance::run(
        &exhibit.subject,
        &conformance::Options {
            seed: options.seed,
            only,
            // A correct server has much to do, a mutant little.
            jobs: if is_right { jobs } else { 1 },
            eras: if is_everything && is_right {
                Era::ALL.to_vec()
            } else {
                vec![Era::Stateless]
            },
            rest_in_last_era: true,
            verdicts_alone: !is_right,
            ..conformance::Options::default()
        },
        &Silent,
    );
    let detected_by = match exhibit.kind {
        Kind::Mutant(specimen) => specimen.detected_by,
        Kind::Correct(_) => &[],
        Kind::Innocent(_) => return Some(acquittal(name, &report.checks)),
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
        Kind::Correct(_) | Kind::Innocent(_) => report
            .checks
            .iter()
            .filter(|check| check.severity == Severity::Must && check.verdict > Verdict::NotApplicable)
            .map(|check| {
                let why = check.reason.as_deref().unwrap_or_default();
                format!("{name} does not pass {} ({}): {why}", check.id, check.revision)
            })
            .collect(),
        Kind::Mutant(Specimen { breaks, .. }) => detected_by
            .iter()
            .filter(|id| !failed.iter().any(|failed| covers(id, failed)))
            .map(|id| format!("{name} passes {id}, although it is broken: {breaks}"))
            .collect(),
    };
    Some((failed, wrong))
}

/// Returns the checks of an innocent with their verdicts, and those that accuse it: they fail, and their failure breaks a guarantee or
/// is all that they are about.
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
        "# Which checks each mutant fails, of those it is held to, and what checks say of each innocent. Generated by `cargo xtask \
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
            format!("not as in conformance/zoo.golden; if that is right, `cargo xtask zoo --bless`: {line}")
        })
        .collect())
}

fn golden() -> PathBuf {
    root().join("conformance/zoo.golden")
}
