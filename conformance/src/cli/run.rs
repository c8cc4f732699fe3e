//! `run`: tries a server.

use std::num::NonZero;

use crate::{
    adapter::Adapter,
    check::{Check, Profile},
    exit,
    report::{CheckReport, Report, Verdict},
    run::{self, Observer, Options},
    subject::{Era, Launch, Subject},
};

/// What to try, and how.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The contract that the server is held to
    #[arg(long)]
    contract: String,
    /// How much to try
    #[arg(long, value_enum, default_value = "quick")]
    profile: Profile,
    /// Where all that is chosen at random comes from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many cases to try at the same time; as many as there are cores, if not given
    #[arg(long)]
    jobs: Option<NonZero<usize>>,
    /// Only these checks, or families of checks
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// All but these checks, or families of checks
    #[arg(long, value_delimiter = ',')]
    skip: Vec<String>,
    /// Revisions of the protocol to speak
    #[arg(long, value_delimiter = ',', default_value = "2025-11-25")]
    era: Vec<String>,
    /// The command that serves a library, which `{library}` in it stands for
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, String> {
    let subject = Subject {
        name: arguments.command[0].clone(),
        contract: super::contract(&arguments.contract)?,
        launch: Launch::of(arguments.command.clone()),
        adapter: Adapter::Native,
        era: Era::Session,
    };
    let era = |revision: &String| {
        Era::of(revision).ok_or_else(|| {
            let known = Era::ALL.map(Era::revision).join(", ");
            format!("there are no checks for revision `{revision}`, but for {known}")
        })
    };
    let options = Options {
        profile: arguments.profile,
        seed: arguments.seed,
        jobs: arguments.jobs.map_or_else(
            || std::thread::available_parallelism().map_or(1, NonZero::get),
            NonZero::get,
        ),
        only: arguments.only.clone(),
        skip: arguments.skip.clone(),
        eras: arguments.era.iter().map(era).collect::<Result<_, _>>()?,
    };
    let report = run::run(&subject, &options, &Lines);
    Ok(exit_code(&report))
}

fn exit_code(report: &Report) -> u8 {
    let harness = |check: &CheckReport| check.verdict == Verdict::HarnessError;
    if report.checks.iter().any(harness) {
        exit::HARNESS
    } else if report.is_passed() {
        exit::PASSED
    } else {
        exit::BROKEN
    }
}

/// Prints a line for each check.
struct Lines;

impl Observer for Lines {
    fn begins(&self, _: &Check, _: Era, _: usize) {}

    fn case_done(&self, _: &Check) {}

    fn ends(&self, report: &CheckReport) {
        let verdict = format!("{:?}", report.verdict);
        println!(
            "{verdict:13} {:30} {:4} cases  {:.1} s",
            report.id, report.cases, report.seconds
        );
        if let Some(reason) = &report.reason {
            println!("              {reason}");
        }
    }
}
