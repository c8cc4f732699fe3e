//! The checks tried themselves: the reference implementation passes them all, and each mutant fails those that are named for
//! it; so do the small servers of the other contracts pass, and fail where they are broken. Which one fails which check is kept
//! in a golden file, so that a check that sees less is noticed.
//!
//! Each mutant is held to the checks named for it and to [`EVERYWHERE`], which are quick; to all of them with `--all`.

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
use tabellion_reference::{CorrectServer, mutant};

use crate::{Outcome, root, run};

/// Checks that every mutant of the reference is held to: what is broken in one place may be seen in others.
const EVERYWHERE: [&str; 4] = [
    "mutation/one-commit",
    "mutation/returned-id",
    "mutation/log-entry",
    "wire/tools-list",
];
/// How long a server may take for an answer: some mutants never give one.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to hold to what.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write what was found into the golden file
    #[arg(long)]
    bless: bool,
    /// Hold every server to every check that it is right for but for what it breaks, and print which fail; the golden file
    /// is left alone
    #[arg(long, conflicts_with = "bless")]
    all: bool,
    /// Only these servers: mutants by name, or `reference`, or a contract
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

/// A server to try, and what is expected of it.
struct Exhibit {
    subject: Subject,
    /// The correct server that it is, or is a mutant of.
    server: CorrectServer,
    /// What it breaks, in words; nothing, if it is correct.
    breaks: Option<&'static str>,
    /// The checks that must detect that.
    detected_by: &'static [&'static str],
}

impl Exhibit {
    /// The reference, the mutants, then the small servers.
    ///
    /// The reference is the first because it takes as long as all others: what runs beside it ends with it.
    fn all(program: &Path) -> Vec<Self> {
        let correct = |server: CorrectServer| Self {
            subject: server.subject(program, None),
            server,
            breaks: None,
            detected_by: &[],
        };
        let mutants = mutant::zoo().map(|specimen| Self {
            subject: specimen.server.subject(program, Some(specimen)),
            server: specimen.server,
            breaks: Some(specimen.breaks),
            detected_by: specimen.detected_by,
        });
        let [reference, small @ ..] = CorrectServer::ALL;
        let small = small.into_iter().map(correct);
        iter::once(correct(reference))
            .chain(mutants)
            .chain(small)
            .collect()
    }

    /// The checks and families that it is held to; all, if there are none.
    fn held_to(&self, options: &Options) -> Vec<String> {
        let only = if options.all || self.breaks.is_none() {
            self.server.passes().to_vec()
        } else if self.server == CorrectServer::Reference {
            [self.detected_by, &EVERYWHERE].concat()
        } else {
            self.detected_by.to_vec()
        };
        only.into_iter().map(String::from).collect()
    }
}

/// The checks that failed, by the name of the server.
type Matrix = BTreeMap<String, Vec<String>>;

/// Tries the right servers and the broken ones; fails where a right one is not, or a broken one is not found out.
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

/// Tries servers, some at the same time. What failed, and what is wrong with that.
fn try_all(options: &Options, wanted: &mut [Exhibit]) -> (Matrix, Vec<String>) {
    let jobs = options
        .jobs
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZero::get);
    wanted
        .iter_mut()
        .for_each(|it| it.subject.launch.patience = PATIENCE);
    let wanted = &*wanted;
    let next = AtomicUsize::new(0);
    let all = Mutex::new((Matrix::new(), Vec::new()));
    let work = || {
        while let Some(exhibit) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let since = Instant::now();
            let Some((failed, mut wrong)) = try_one(options, exhibit, jobs) else {
                continue;
            };
            let name = &exhibit.subject.name;
            println!(
                "{name:28} {:5.1} s  {}",
                since.elapsed().as_secs_f64(),
                failed.join(" ")
            );
            wrong.iter().for_each(|wrong| println!("    {wrong}"));
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            if all.0.insert(name.clone(), failed).is_some() {
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

/// The checks that one server fails, and what is wrong with that; nothing, if what should see it can't be tried here, and is
/// not so important that this would be wrong in itself.
fn try_one(options: &Options, exhibit: &Exhibit, jobs: usize) -> Option<(Vec<String>, Vec<String>)> {
    let name = &exhibit.subject.name;
    let is_right = exhibit.breaks.is_none();
    let only = exhibit.held_to(options);
    let is_everything = only.is_empty();
    let report = conformance::run(
        &exhibit.subject,
        &conformance::Options {
            seed: options.seed,
            only,
            // A right one has much to do, a broken one little.
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
    let is_untried = |check: &&CheckReport| {
        let is_named = exhibit.detected_by.contains(&check.id.as_str());
        is_named && check.verdict == Verdict::NotTestable && check.severity == Severity::Should
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
    let wrong = match exhibit.breaks {
        None => report
            .checks
            .iter()
            .filter(|check| check.severity == Severity::Must && check.verdict > Verdict::NotApplicable)
            .map(|check| {
                let why = check.reason.as_deref().unwrap_or_default();
                format!("{name} does not pass {} ({}): {why}", check.id, check.revision)
            })
            .collect(),
        Some(breaks) => exhibit
            .detected_by
            .iter()
            .filter(|id| !failed.iter().any(|failed| covers(id, failed)))
            .map(|id| format!("{name} passes {id}, although it is broken: {breaks}"))
            .collect(),
    };
    Some((failed, wrong))
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
