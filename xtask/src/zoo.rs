//! The checks tried themselves: the reference implementation passes them all, and each mutant fails those that are named for
//! it. Which mutant fails which check is kept in a golden file, so that a check that sees less is noticed.
//!
//! Each mutant is held to the checks named for it and to [`EVERYWHERE`], which are quick; to all of them with `--all`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
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
    check::{Check, Severity},
    reference::{
        self,
        mutant::{Specimen, ZOO},
    },
    report::{CheckReport, Verdict},
    run::{self as conformance, Observer, covers},
    subject::Era,
};

use crate::{Outcome, root, run};

/// Checks that every mutant is held to: what is broken in one place may be seen in others.
const EVERYWHERE: [&str; 4] = [
    "mutation/one-commit",
    "mutation/returned-id",
    "mutation/log-entry",
    "wire/tools-list",
];
/// How long a server may take for an answer: some mutants never give one.
const PATIENCE: Duration = Duration::from_secs(20);
/// The name of what is no mutant.
const REFERENCE: &str = "reference";

/// What to hold to what.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write what was found into the golden file
    #[arg(long)]
    bless: bool,
    /// Hold every mutant to every check, and print which fail; the golden file is left alone
    #[arg(long, conflicts_with = "bless")]
    all: bool,
    /// Only these mutants, or `reference`
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "bless")]
    only: Vec<String>,
    /// How many servers to try at the same time; as many as there are cores, if not given
    #[arg(long)]
    jobs: Option<NonZero<usize>>,
    /// Where all that is chosen at random comes from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Default for Options {
    /// Everything, against the golden file.
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

/// The checks that failed, by the name of the server.
type Matrix = BTreeMap<String, Vec<String>>;

/// Tries the reference and the zoo; fails where the reference is not right or a mutant is not found out.
pub(crate) fn keep(options: &Options) -> Outcome {
    run::cargo(&["build", "--quiet", "--package", "tabellion-conformance", "--bins"])?;
    let program = run::built("tabellion-reference")?;
    let since = Instant::now();
    let is_wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let specimens = ZOO.iter().map(Some).chain([None]);
    let wanted: Vec<_> = specimens
        .filter(|specimen| is_wanted(specimen.map_or(REFERENCE, |specimen| specimen.name)))
        .collect();
    let (found, wrong) = try_all(options, &program, &wanted);
    println!(
        "{} servers in {:.0} s",
        wanted.len(),
        since.elapsed().as_secs_f64()
    );
    let mut wrong: Vec<_> = wrong;
    if !options.all {
        wrong.extend(compare(options, &found)?);
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

/// Tries servers, some at the same time. What failed, and what is wrong with that.
fn try_all(options: &Options, program: &Path, wanted: &[Option<&Specimen>]) -> (Matrix, Vec<String>) {
    let jobs = options
        .jobs
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let all = Mutex::new((Matrix::new(), Vec::new()));
    let work = || {
        while let Some(specimen) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let since = Instant::now();
            let mut subject = reference::subject(program, *specimen);
            subject.launch.patience = PATIENCE;
            let (failed, mut wrong) = try_one(options, &subject, *specimen, jobs);
            println!(
                "{:28} {:5.1} s  {}",
                subject.name,
                since.elapsed().as_secs_f64(),
                failed.join(" ")
            );
            wrong.iter().for_each(|wrong| println!("    {wrong}"));
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.0.insert(subject.name, failed);
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

/// The checks that one server fails, and what is wrong with that.
fn try_one(
    options: &Options,
    subject: &Subject,
    specimen: Option<&Specimen>,
    jobs: usize,
) -> (Vec<String>, Vec<String>) {
    let named = specimen.map(|specimen| specimen.killed_by).unwrap_or_default();
    let mut only: Vec<String> = named
        .iter()
        .chain(&EVERYWHERE)
        .map(|id| String::from(*id))
        .collect();
    if options.all || specimen.is_none() {
        only.clear();
    }
    let report = conformance::run(
        subject,
        &conformance::Options {
            seed: options.seed,
            only,
            // It has everything to do, while each mutant has little.
            jobs: if specimen.is_none() { jobs } else { 1 },
            eras: if specimen.is_none() {
                Era::ALL.to_vec()
            } else {
                vec![Era::Stateless]
            },
            rest_in_last_era: true,
            verdicts_alone: specimen.is_some(),
            ..conformance::Options::default()
        },
        &Unseen,
    );
    let is_bad = |check: &&CheckReport| check.verdict == Verdict::Fail;
    let mut failed: Vec<_> = report
        .checks
        .iter()
        .filter(is_bad)
        .map(|check| check.id.clone())
        .collect();
    failed.dedup();
    let mut wrong = Vec::new();
    match specimen {
        None => {
            let must = report
                .checks
                .iter()
                .filter(|check| check.severity == Severity::Must);
            for check in must.filter(|check| check.verdict > Verdict::NotApplicable) {
                let why = check.reason.as_deref().unwrap_or_default();
                wrong.push(format!(
                    "the reference does not pass {} ({}): {why}",
                    check.id, check.revision
                ));
            }
        }
        Some(specimen) => {
            for id in specimen.killed_by {
                if !failed.iter().any(|failed| covers(id, failed)) {
                    wrong.push(format!(
                        "{} passes {id}, although {}",
                        specimen.name, specimen.breaks
                    ));
                }
            }
        }
    }
    (failed, wrong)
}

/// Compares with the golden file, or writes it.
fn compare(options: &Options, found: &Matrix) -> Outcome<Vec<String>> {
    let path = golden();
    let mut text = String::from(
        "# Which checks each mutant fails, of those it is held to. Generated by `cargo xtask zoo --bless`.\n",
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

/// Nobody looks at the single checks.
struct Unseen;

impl Observer for Unseen {
    fn begins(&self, _: &Check, _: Era, _: usize) {}
    fn case_done(&self, _: &Check) {}
    fn ends(&self, _: &CheckReport) {}
}
