//! `run`: runs the checks against a server.

use std::{
    io::Write,
    num::NonZero,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{
    outputs::{self, Outputs},
    server::Server,
    trouble::Trouble,
};
use tabellion_conformance::{
    Subject,
    base::{self, Base},
    check::Profile,
    checks, contracts,
    era::Era,
    exit,
    judgement::Stop,
    known::KnownFailures,
    pattern::covers,
    probe::{self, ServerInfo},
    promises, replay,
    report::{
        Rating, Report,
        progress::Progress,
        terminal::{self, Extras, RerunCommand},
        visible,
    },
    run::{self, Options},
};

/// Time after which a smoke run starts no check.
const SMOKE_BUDGET: Duration = Duration::from_secs(45);
/// Time after which a run by a server's declarations starts no check, unless another is given: a first verdict comes within a minute.
const DECLARED_BUDGET: Duration = Duration::from_secs(45);
/// Time after which a run by promises starts no check, unless another is given.
const PROMISED_BUDGET: Duration = Duration::from_secs(200);
/// Timeout for an answer in a run by promises.
const PROMISED_ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for an answer in a smoke run, or in a run by declarations.
const SMOKE_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Which checks to run, and how.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// How many checks and cases to run; `smoke` runs some of the most telling ones for about a minute
    #[arg(long, value_parser = super::profiles(), default_value = "quick")]
    profile: Profile,
    /// Run only these checks or families
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    only: Vec<String>,
    /// Skip these checks or families
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    skip: Vec<String>,
    /// Protocol revisions to test; by default all that the server speaks (in the quick profile, older ones with the wire checks
    /// only)
    #[arg(long, value_delimiter = ',', value_name = "REVISION")]
    era: Vec<String>,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many cases to run in parallel; by default one per core
    #[arg(long)]
    jobs: Option<NonZero<usize>>,
    /// Start no case after this time; checks not reached count as not shown. In the smoke profile and without a contract, where 45 is
    /// the default, and with promises, where it is 200, they count as not run
    #[arg(long, value_name = "SECONDS")]
    time_budget: Option<u64>,
    /// A TOML file of known failures: `[[known]]` with `check`, `reason` and optionally `revision`
    #[arg(long, value_name = "FILE")]
    known_failing: Option<PathBuf>,
    /// Save failing cases in this folder, for `replay`
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Print only failures and the summary
    #[arg(long, short)]
    quiet: bool,
    /// Write the report as JSON, for `report`
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    json: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    server: Server,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Trouble> {
    arguments
        .json
        .as_deref()
        .into_iter()
        .chain(arguments.outputs.files())
        .try_for_each(outputs::ensure_folder)?;
    let mut subject = arguments.server.subject(None)?;
    let mut options = arguments.options()?;
    // A server without a contract has fewer checks; they are selected again below.
    if run::selected(&subject, &options).next().is_none() {
        return Err(Trouble::Usage("no check is selected".to_owned()));
    }
    let since = Instant::now();
    let ServerInfo { eras, identity } = probe::probe(&subject).map_err(Trouble::Harness)?;
    // A server that starts slowly is not taken for one that does not answer.
    let short = SMOKE_ANSWER_TIMEOUT.max(since.elapsed()).min(subject.launch.patience);
    subject.era = eras.last().copied().unwrap_or(subject.era);
    let is_short = arguments.server.patience.is_none();
    let patience = subject.launch.patience;
    if is_short {
        subject.launch.patience = short;
    }
    let (mut subject, left_out) = arguments.server.by_declaration(subject)?;
    let is_declared = contracts::is_declared(subject.contract);
    let is_promised = promises::are_of(subject.contract);
    if !(is_declared || is_short && options.profile == Profile::Smoke) {
        subject.launch.patience = patience;
    }
    if is_promised && is_short {
        subject.launch.patience = short.max(PROMISED_ANSWER_TIMEOUT);
    }
    if (is_declared || is_promised) && options.profile == Profile::Quick {
        let usual = if is_promised { PROMISED_BUDGET } else { DECLARED_BUDGET };
        options.time_budget.get_or_insert(usual);
        options.leaves_rest = true;
    }
    if run::selected(&subject, &options).next().is_none() {
        return Err(Trouble::Usage("no check is selected".to_owned()));
    }
    if options.eras.is_empty() {
        options.rest_in_last_era = options.profile == Profile::Quick;
        options.eras = match (options.profile, eras.last()) {
            (Profile::Smoke, Some(last)) => vec![*last],
            _ => eras,
        };
    }
    if let Some(identity) = identity.as_ref().filter(|_| !arguments.server.is_named()) {
        subject.name.clone_from(&identity.name);
    }
    subject.era = options.eras.last().copied().unwrap_or(subject.era);
    if subject.launch.running().is_some() {
        // An external server serves one folder.
        options.jobs = 1;
    }
    let not_judged = if is_declared {
        eprintln!(
            "note: {} is judged by what its tools declare; an adapter (`template`) or `--contract` adds promises",
            visible::line(&subject.name)
        );
        left_out
    } else {
        arguments.server.report_missing_tools(&subject)?;
        checks::not_judged(subject.contract)
    };
    for part in not_judged {
        eprintln!("note: not judged: {}", visible::line(&part));
    }
    place(&subject, &mut options)?;
    let progress = Progress::new(arguments.quiet, run::plan(&subject, &options).len());
    let mut report = run::run(&subject, &options, &progress);
    report.server.identity = identity.map(|it| format!("{} {}", it.name, it.version).trim_end().to_owned());
    let outdated = options.known.outdated(&report);
    let again = arguments.again();
    let with = Extras {
        quiet: arguments.quiet,
        again: Some(&again),
        saved: arguments.save.as_deref(),
        outdated: &outdated,
        leaves_rest: options.leaves_rest,
    };
    print(&terminal::rest(&report, with))?;
    arguments.write(&report)?;
    Ok(exit_code(&report))
}

/// Chooses the place of the libraries of a run, and reports it if it is not the usual one.
fn place(subject: &Subject, options: &mut Options) -> Result<(), Trouble> {
    let (name, usual) = (visible::line(&subject.name), tempfile::env::temp_dir());
    match base::find(subject) {
        Ok(Base::Usual) => {}
        Ok(Base::Elsewhere(folder)) => {
            eprintln!(
                "note: {name} permits `{}`, whatever library it is given; the libraries of this run are in `{}`",
                usual.display(),
                folder.display()
            );
            // The only override of the folder.
            let _ = tempfile::env::override_temp_dir(&folder);
        }
        Ok(Base::Nowhere) => {
            let Some(promise) = promises::of_confinement(subject.contract) else {
                return Ok(());
            };
            eprintln!(
                "note: {name} permits `{}`, whatever library it is given, and refuses libraries in other places: what is outside of one can't be \
                 told, and `{}` is not judged",
                usual.display(),
                promise.guarantee.id
            );
            options.skip.extend(promise.checks.iter().map(|id| (*id).to_owned()));
        }
        Err(Stop::Harness(why)) => return Err(Trouble::Harness(why)),
        // The checks report this in more detail.
        Err(_) => {}
    }
    Ok(())
}

impl Arguments {
    fn options(&self) -> Result<Options, Trouble> {
        for pattern in self.only.iter().chain(&self.skip) {
            if !checks::all().any(|check| covers(pattern, check.id)) {
                let hint = checks::did_you_mean(pattern);
                return Err(Trouble::Usage(format!("there is no check `{pattern}`{hint}")));
            }
        }
        let era = |revision: &String| {
            Era::from_revision(revision).ok_or_else(|| {
                let known = Era::ALL.map(Era::revision).join(", ");
                format!("there are no checks for revision `{revision}`; there are for {known}")
            })
        };
        let known = match &self.known_failing {
            Some(file) => KnownFailures::parse(&file.to_string_lossy(), &super::trouble::read(file)?)?,
            None => KnownFailures::default(),
        };
        let budget = (self.profile == Profile::Smoke).then_some(SMOKE_BUDGET);
        Ok(Options {
            profile: self.profile,
            seed: self.seed,
            jobs: self.jobs.map_or_else(run::available_jobs, NonZero::get),
            only: self.only.clone(),
            skip: self.skip.clone(),
            eras: self.era.iter().map(era).collect::<Result<_, _>>()?,
            rest_in_last_era: false,
            verdicts_alone: false,
            leaves_rest: self.profile == Profile::Smoke,
            time_budget: self.time_budget.map(Duration::from_secs).or(budget),
            known,
        })
    }

    /// Returns the command line that repeats the run.
    fn again(&self) -> RerunCommand {
        let mut what = Vec::new();
        if self.profile != Profile::Quick {
            what.push(format!("--profile {}", self.profile.name()));
        }
        if !self.era.is_empty() {
            what.push(format!("--era {}", self.era.join(",")));
        }
        what.push(format!("--seed {}", self.seed));
        let (options, command) = self.server.again();
        RerunCommand { what, options, command }
    }

    fn write(&self, report: &Report) -> Result<(), Trouble> {
        let json = || {
            let json = serde_json::to_string_pretty(report);
            json.map(|json| json + "\n").map_err(|error| Trouble::Harness(error.to_string()))
        };
        outputs::write(self.json.as_deref(), json)?;
        if !self.outputs.is_empty() {
            self.outputs.write(std::slice::from_ref(report), &self.server.file())?;
        }
        if let Some(folder) = &self.save {
            replay::save(report, folder)
                .map_err(|error| Trouble::Harness(format!("`{}`: {error}", folder.display())))?;
        }
        Ok(())
    }
}

/// Prints text, with colours if standard output is a terminal.
pub(super) fn print(text: &str) -> Result<(), Trouble> {
    let mut out = anstream::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    done.map_err(|error| Trouble::Harness(format!("can't print the report: {error}")))
}

fn exit_code(report: &Report) -> u8 {
    if report.count(Rating::Trouble) > 0 {
        exit::HARNESS
    } else if !report.is_passed() {
        exit::BROKEN
    } else if report.count(Rating::Unexpected) > 0 {
        exit::UNEXPECTED_PASS
    } else {
        exit::PASSED
    }
}
